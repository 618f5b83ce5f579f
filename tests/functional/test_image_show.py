"""``mxenv image show`` says what an image is, and reads no layer of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _attested import key_pair
from _layouts import file, image
from _locked import debian_lock, write_lock
from click.testing import CliRunner

from mxenv.api import building, showing
from mxenv.cli import _image_words
from mxenv.cli._front import FRONT
from mxenv.errors import LayoutError
from mxenv.stores import Descriptor, ImageDescription

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A layout with an image in it, signed; every layer of it is taken away again."""
    lock = write_lock(tmp_path, debian_lock(tmp_path, "metax.kmd >= 3.8"))
    private, _ = key_pair(tmp_path, "site")
    out = tmp_path / "dist"
    made = building.build(lock, out=out, cache=tmp_path / "cache", with_base=True, sign=private)
    for layer in made.layers:
        (out / "blobs" / "sha256" / layer.made.digest.removeprefix("sha256:")).unlink()
    return out


def run(*words: str) -> str:
    result = CliRunner().invoke(FRONT, ["image", "show", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_tells_people_what_they_ask_first(built: Path) -> None:
    told = run(f"oci:{built}")
    for line in (
        "packages       alpha 1.0",
        "               beta 2.0+metax3.5.3",
        "               and 1 of the base",
        "needs of host  metax.kmd >= 3.8",
        "start gate     asks the host first",
        "attached       lock, snapshot, verdict, sbom, provenance, signature",
    ):
        assert line in told
    assert "(as it says; --key PUB checks)" in told
    assert "+ alpha==1.0" in told


@pytest.mark.parametrize("accelerator", ["metax", "none"])
def test_of_an_image_that_was_held_against_no_matrix_tells_no_outcome(
    tmp_path: Path, accelerator: str
) -> None:
    lock = write_lock(tmp_path, replace(debian_lock(tmp_path), accelerator=accelerator))
    building.build(lock, out=tmp_path / "dist", cache=tmp_path / "cache", with_base=True)
    assert ("when locked" in run(f"oci:{tmp_path / 'dist'}")) == (accelerator == "metax")


def test_tells_programs_all_of_it(built: Path) -> None:
    told = json.loads(run(f"oci:{built}", "--format", "json"))
    assert told["schema"] == "mxenv.shown/1"
    assert told["made_by_mxenv"] is True
    assert told["lock"]["packages"] == {"alpha": "1.0", "beta": "2.0+metax3.5.3"}
    assert [layer["by_mxenv"] for layer in told["layers"]] == [False, True, True, True]
    assert told["size"] == sum(layer["size"] for layer in told["layers"])
    assert told["signatures_verified"] is False


def test_says_whether_a_key_signed_it(built: Path, tmp_path: Path) -> None:
    _, other = key_pair(tmp_path, "other")
    assert str(tmp_path / "site.pub.pem") in run(
        f"oci:{built}", "--key", str(tmp_path / "site.pub.pem")
    )
    assert "none of the keys that were named" in run(f"oci:{built}", "--key", str(other))


def test_writes_what_is_attached(built: Path, tmp_path: Path) -> None:
    run(f"oci:{built}", "--save", str(tmp_path / "papers"))
    assert sorted(path.name for path in (tmp_path / "papers").iterdir()) == [
        "2.signature.dsse.json",
        "provenance.json",
        "pylock.toml",
        "sbom.cdx.json",
        "signature.dsse.json",
        "snapshot.json",
        "verdict.json",
    ]


def test_of_an_image_that_lost_its_referrers_tells_what_its_labels_say(built: Path) -> None:
    path = built / "index.json"
    index = json.loads(path.read_text())
    index["manifests"] = [one for one in index["manifests"] if "artifactType" not in one]
    path.write_text(json.dumps(index))
    told = run(f"oci:{built}")
    assert "(inside only)" in told
    assert "nothing that mxenv knows" in told
    assert re.search(r"signed by +nobody", told)
    assert "packages" not in told


def test_of_somebody_else_s_image_says_so_and_tells_what_is_there(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "other", [file("a", "b")], config={"Cmd": ["sh", "-c", "a\x1b[31m b"]}
    )
    told = run(f"oci:{layout}")
    assert re.search(r"made by +not mxenv, as far as it says", told)
    assert "in 1 layer\n" in told
    assert "sh -c" in told
    assert "\x1b" not in told
    assert "start gate" not in told
    assert json.loads(run(f"oci:{layout}", "--format", "json"))["lock"] is None


def test_a_lock_of_a_later_mxenv_is_left_out(built: Path) -> None:
    shown = showing.show(f"oci:{built}")
    assert shown.lock is not None
    told = _image_words.lines(replace(shown, lock=None), whole=False)
    assert "packages" not in told
    assert "needs of host" not in told


def test_names_twenty_packages_and_all_if_asked(built: Path) -> None:
    shown = showing.show(f"oci:{built}")
    assert shown.lock is not None
    many = tuple(replace(shown.lock.packages[0], name=f"p{n:02}") for n in range(30))
    shown = replace(shown, lock=replace(shown.lock, packages=many, provided=()))
    short = _image_words.lines(shown, whole=False)["packages"]
    assert isinstance(short, list)
    assert short[-1] == "and 10"
    whole = _image_words.lines(shown, whole=True)["packages"]
    assert isinstance(whole, list)
    assert len(whole) == 30


def test_a_script_that_made_a_layer_is_one_line_and_whole_if_asked(built: Path) -> None:
    shown = showing.show(f"oci:{built}")
    script = "/bin/sh -euc\tmake it\n" + "then test\r\n" * 20
    shown = replace(shown, layers=(replace(shown.layers[0], title=script),))
    (short,) = _image_words.lines(shown, whole=False)["layers"]
    assert "/bin/sh -euc make it then test then test" in short
    assert (len(short), short[-1]) == (100 + 13, "…")
    (whole,) = _image_words.lines(shown, whole=True)["layers"]
    assert whole.endswith("then test then test")


@pytest.mark.parametrize(
    "history", [None, "none", [], [{"created_by": "x"}] * 3, [{"empty_layer": 1}, 7]]
)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_history_of_any_length_leaves_every_layer_told(history: object, count: int) -> None:
    layers = tuple(
        Descriptor(media_type="x", digest=f"sha256:{n:064}", size=n) for n in range(count)
    )
    one = Descriptor(media_type="x", digest="sha256:" + "a" * 64, size=1)
    described = ImageDescription(
        manifest=one, config=one, configuration={"history": history}, layers=layers, diff_ids=()
    )
    assert [layer.size for layer in showing._layers(described)] == list(range(count))


def test_what_is_no_image_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="nothing: is not there"):
        showing.show(f"oci:{tmp_path / 'nothing'}")


@pytest.mark.parametrize(
    ("count", "said"), [(999, "999 B"), (1500, "1.5 kB"), (20_000_000_000, "20.0 GB")]
)
def test_sizes_read_as_people_say_them(count: int, said: str) -> None:
    assert _image_words.size(count) == said


def test_help_names_what_can_be_shown() -> None:
    assert "docker-archive:FILE" in CliRunner().invoke(FRONT, ["image", "show", "--help"]).output
