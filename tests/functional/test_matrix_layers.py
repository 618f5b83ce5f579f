"""What a matrix is made of: shipped rows, a site's, a whole one from elsewhere; signed, or not."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from mxenv.api import matrices, signing
from mxenv.cli._front import FRONT
from mxenv.errors import MatrixError, UsageError

GOOD = Path(__file__).parent.parent / "recordings" / "c500-8cards"
HEAD = 'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n'
SAID = 'evidence = [{ link = "x", who = "us", grade = "site" }]\n'
BAD = '[[broken]]\nid = "ours"\ntext = "it hangs"\nwhen = ["metax.kmd == 3.8.30"]\n' + SAID
"""Speaks of the node that is good otherwise."""
FINE = '[[series]]\nid = "more"\ncards = ["X1", "X2"]\n' + SAID


def mxenv(*arguments: str | Path, **environ: str) -> Result:
    environ = {"MXENV_CONFIG": "", **environ}
    return CliRunner().invoke(FRONT, [str(one) for one in arguments], env=environ)


def check(*arguments: str | Path, **environ: str) -> Result:
    return mxenv("check", GOOD, *arguments, **environ)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(HEAD + BAD)
    return path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of key pairs that openssl and ssh-keygen made."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("own", "other"):
        key = folder / f"{name}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        public = folder / f"{name}.pub"
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    rsa = folder / "rsa.pem"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "rsa", "-out", rsa], check=True, capture_output=True
    )
    subprocess.run(
        ["openssl", "pkey", "-in", rsa, "-pubout", "-out", folder / "rsa.pub"], check=True
    )
    return folder


class TestSites:
    def test_a_row_of_the_site_counts_and_its_file_is_named(self, site: Path) -> None:
        result = check("--matrix", site)
        assert result.exit_code == 1
        assert f"{site}:broken:ours" in result.stdout

    def test_the_variable_names_files_as_well_and_adds_to_the_option(
        self, site: Path, tmp_path: Path
    ) -> None:
        more = tmp_path / "more.toml"
        more.write_text(HEAD + FINE)
        paths = f"{site}:{more}"
        assert check(MXENV_MATRIX_PATH=paths).exit_code == 1
        assert check("--matrix", more, MXENV_MATRIX_PATH=str(site)).exit_code == 1

    def test_a_file_that_is_named_twice_is_one_file(self, site: Path) -> None:
        assert check("--matrix", site, MXENV_MATRIX_PATH=str(site)).exit_code == 1

    def test_a_shipped_row_is_overridden_with_a_reason_that_is_shown(self, tmp_path: Path) -> None:
        path = tmp_path / "site.toml"
        row = (
            '[[rule]]\nid = "ours"\noverrides = "metax.toml:rule:torch-abi"\n'
            'reason = "patched here"\ntext = "any torch"\nrequires = ["kernel.release >= 99"]\n'
        )
        path.write_text(HEAD + row + SAID)
        result = check("--matrix", path)
        assert result.exit_code == 1
        assert f"{path}:rule:ours" in result.stdout
        assert "stands in the place of metax.toml:rule:torch-abi: patched here" in result.stdout
        gone = mxenv("matrix", "why", "torch-abi", "--matrix", path)
        assert gone.exit_code == 2
        path.write_text(HEAD + row.replace("torch-abi", "torch-abl") + SAID)
        refused = check("--matrix", path)
        assert (refused.exit_code, refused.stdout) == (5, "")
        assert "did you mean 'metax.toml:rule:torch-abi'?" in refused.stderr

    def test_the_site_can_vouch_for_a_shipped_row(self, tmp_path: Path) -> None:
        path = tmp_path / "site.toml"
        said = 'link = "ticket 9"\nwho = "us"\ngrade = "site"\n'
        path.write_text(HEAD + '[[evidence]]\nrow = "metax.toml:rule:torch-abi"\n' + said)
        result = mxenv("matrix", "why", "torch-abi", "--matrix", path)
        assert result.stdout.splitlines()[-1].strip() == "us (site) ticket 9"


class TestConfiguration:
    def own(self, tmp_path: Path, text: str) -> dict[str, str]:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return {"MXENV_CONFIG": str(path)}

    def test_its_matrices_count_and_lie_beside_it(self, site: Path, tmp_path: Path) -> None:
        own = self.own(tmp_path, f'matrices = ["{site.name}"]\n')
        assert check(**own).exit_code == 1

    def test_a_gate_takes_no_word_from_it(self, site: Path, tmp_path: Path) -> None:
        own = self.own(tmp_path, f'matrices = ["{site.name}"]\n')
        assert mxenv("gate", GOOD, **own).exit_code == 0
        assert mxenv("gate", GOOD, "--matrix", site, **own).exit_code == 1

    def test_it_gives_options_their_defaults_and_the_command_line_has_the_last_word(
        self, tmp_path: Path
    ) -> None:
        own = self.own(tmp_path, '[options]\nformat = "json"\n[options.check]\nenv = "/nowhere"\n')
        assert "no Python environment '/nowhere'" in check(**own).stderr
        result = check("--env", "/opt/conda", **own)
        assert json.loads(result.stdout)["outcome"] == "compatible"
        text = check("--env", "/opt/conda", "--format", "text", **own).stdout
        assert text.startswith("c500-8cards: COMPATIBLE")
        by_variable = check(MXENV_CHECK_ENV="/opt/conda", **own)
        assert by_variable.exit_code == 0

    def test_the_usual_file_is_found(self, site: Path, tmp_path: Path) -> None:
        folder = tmp_path / "mxenv"
        folder.mkdir()
        (folder / "config.toml").write_text(f'matrices = ["{site}"]\n')
        runner = CliRunner(env={"MXENV_CONFIG": None, "XDG_CONFIG_HOME": str(tmp_path)})
        assert runner.invoke(FRONT, ["check", str(GOOD)]).exit_code == 1
        home = tmp_path / "home"
        shutil.copytree(folder, home / ".config" / "mxenv")
        for relative in (None, "relative"):
            environ = {"MXENV_CONFIG": None, "XDG_CONFIG_HOME": relative, "HOME": str(home)}
            assert CliRunner(env=environ).invoke(FRONT, ["check", str(GOOD)]).exit_code == 1
        nowhere = {"MXENV_CONFIG": None, "XDG_CONFIG_HOME": None, "HOME": "relative"}
        assert CliRunner(env=nowhere).invoke(FRONT, ["check", str(GOOD)]).exit_code == 0

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("matrices = ", "not TOML"),
            ('matrixes = ["x"]\n', "matrixes: unknown field"),
            ('matrixes = ["x"]\n', "did you mean 'matrices'?"),
            ("matrices = 3\n", "matrices: a number where an array of strings belongs"),
            ("options = 3\n", "options: a number where a table belongs"),
            ('[options.chek]\nenv = "x"\n', "options.chek: no command"),
            ('[options.chek]\nenv = "x"\n', "did you mean 'check'?"),
            ("[options]\ncheck = 3\n", "options.check: no option of all commands"),
            ('[options]\nenv = "x"\n', "options.env: no option of all commands"),
            ('[options.check]\nenw = "x"\n', "options.check.enw: no option"),
            ('[options.check]\nenw = "x"\n', "did you mean 'env'?"),
            ('[options.check]\nformat = "yaml"\n', "options.check.format: 'yaml' is not one of"),
            ("[options.check]\njobs = 0\n", "options.check.jobs: 0 is not in the range"),
            ('[options.check]\nnagios = "yes"\n', "options.check.nagios: neither true nor false"),
            ('[options.check]\non = "x"\n', "options.check.on: no array"),
            ("[options.check.env]\nx = 1\n", "options.check.env"),
            ("[options.gate]\nallow-waivers = true\n", "options.gate: a gate takes none of its"),
        ],
    )
    def test_one_that_is_broken_is_told_and_nothing_is_done(
        self, tmp_path: Path, text: str, said: str
    ) -> None:
        result = check(**self.own(tmp_path, text))
        assert (result.exit_code, result.stdout) == (5, "")
        assert said in result.stderr
        assert "config.toml" in result.stderr

    def test_a_file_that_is_named_must_be_there(self, tmp_path: Path) -> None:
        result = check(MXENV_CONFIG=str(tmp_path / "missing.toml"))
        assert result.exit_code == 5
        assert "MXENV_CONFIG names it" in result.stderr
        (tmp_path / "b.toml").write_bytes(b"\xff")
        assert check(MXENV_CONFIG=str(tmp_path / "b.toml")).exit_code == 5

    def test_options_of_commands_within_commands_have_defaults_too(self, tmp_path: Path) -> None:
        own = self.own(tmp_path, "[options.matrix.nearest]\ncount = 1\n")
        result = mxenv("matrix", "nearest", GOOD, "--format", "json", **own)
        assert len(json.loads(result.stdout)["ways"]) == 1
        bad = self.own(tmp_path, "[options.matrix.nearest]\ncont = 1\n")
        assert "options.matrix.nearest.cont: no option" in mxenv("matrix", "show", **bad).stderr


class TestWholeMatrices:
    def export(self, tmp_path: Path, *more: str | Path) -> tuple[Path, Any]:
        out = tmp_path / "whole.json"
        result = mxenv("matrix", "export", out, *more, "--format", "json")
        assert result.exit_code == 0, result.stderr
        return out, json.loads(result.stdout)

    def test_the_digest_is_the_same_wherever_it_is_read(self, site: Path, tmp_path: Path) -> None:
        out, said = self.export(tmp_path, "--matrix", site)
        result = check("--matrix", out, "--format", "json")
        assert result.exit_code == 1
        (verdict,) = json.loads(result.stdout)["verdicts"]
        assert verdict["matrix"] == said["digest"]
        (direct,) = json.loads(check("--matrix", site, "--format", "json").stdout)["verdicts"]
        assert direct["matrix"] == said["digest"]

    def test_equal_matrices_are_equal_bytes(self, site: Path, tmp_path: Path) -> None:
        first = self.export(tmp_path, "--matrix", site)[0].read_bytes()
        assert self.export(tmp_path, "--matrix", site)[0].read_bytes() == first
        again = self.export(tmp_path, "--matrix", tmp_path / "whole.json")[0].read_bytes()
        assert again == first

    def test_it_is_unpacked_as_it_was_written(self, site: Path, tmp_path: Path) -> None:
        out, said = self.export(tmp_path, "--matrix", site)
        folder = tmp_path / "folder"
        for _ in range(2):
            result = mxenv("matrix", "import", out, "--out", folder, "--format", "json")
            assert json.loads(result.stdout)["digest"] == said["digest"]
        assert (folder / "site.toml").read_text() == site.read_text()
        (folder / "site.toml").write_text("# mine\n")
        refused = mxenv("matrix", "import", out, "--out", folder)
        assert refused.exit_code == 2
        assert (folder / "site.toml").read_text() == "# mine\n"

    def test_one_that_was_altered_is_refused(self, site: Path, tmp_path: Path) -> None:
        out, _ = self.export(tmp_path, "--matrix", site)
        out.write_text(out.read_text().replace("3.8.30 ", "3.8.31 ").replace("== 3.8.30", "== 1.0"))
        for command in (("check", GOOD, "--matrix", out), ("matrix", "import", out, "--out", "x")):
            result = mxenv(*command)
            assert (result.exit_code, result.stdout) == (5, "")
            assert "was altered" in result.stderr

    def test_what_cannot_be_one_is_refused(self, site: Path, tmp_path: Path) -> None:
        out, _ = self.export(tmp_path)
        assert check("--matrix", out, "--matrix", out).exit_code == 5
        assert mxenv("matrix", "import", site, "--out", tmp_path / "x").exit_code == 5
        twin = tmp_path / "twin"
        twin.mkdir()
        (twin / "site.toml").write_text(HEAD + FINE)
        result = mxenv(
            *("matrix", "export", tmp_path / "y.json"),
            *("--matrix", site, "--matrix", twin / "site.toml"),
        )
        assert result.exit_code == 5
        assert "two files are called 'site.toml'" in result.stderr

    def test_nothing_at_all_is_no_matrix_of_what_is_shipped(self, site: Path) -> None:
        alone = matrices.load(matrices.Sources(site=(site,), alone=True))
        assert [row.row for row in alone.rows] == [f"{site}:broken:ours"]


class TestSignatures:
    def test_a_signed_matrix_counts_and_openssl_agrees(self, site: Path, keys: Path) -> None:
        assert mxenv("matrix", "sign", site, "--key", keys / "own.pem").exit_code == 0
        subprocess.run(
            [
                *("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", keys / "own.pub", "-rawin"),
                *("-in", site, "-sigfile", f"{site}.sig"),
            ],
            check=True,
            capture_output=True,
        )
        assert check("--matrix", site, "--require-signed", keys / "own.pub").exit_code == 1
        both = ("--matrix-key", keys / "other.pub", "--matrix-key", keys / "own.pub")
        assert mxenv("gate", GOOD, "--matrix", site, *both).exit_code == 1

    def test_keys_of_ssh_keygen_will_do(self, site: Path, tmp_path: Path) -> None:
        if not shutil.which("ssh-keygen"):
            pytest.skip("no ssh-keygen")
        key = tmp_path / "id"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        assert mxenv("matrix", "sign", site, "--key", key).exit_code == 0
        assert check("--matrix", site, "--require-signed", f"{key}.pub").exit_code == 1

    @pytest.mark.parametrize("command", ["check", "gate"])
    def test_what_is_not_signed_right_never_counts(
        self, site: Path, keys: Path, command: str
    ) -> None:
        asked = (command, GOOD, "--matrix", site, "--require-signed", keys / "own.pub")
        result = mxenv(*asked)
        assert (result.exit_code, result.stdout) == (5, "")
        assert "site.toml: is not signed" in result.stderr
        mxenv("matrix", "sign", site, "--key", keys / "other.pem")
        assert "its signature is not by" in mxenv(*asked).stderr
        mxenv("matrix", "sign", site, "--key", keys / "own.pem")
        site.write_text(site.read_text() + "# more\n")
        result = mxenv(*asked)
        assert (result.exit_code, result.stdout) == (5, "")
        signature = signing.beside(site)
        signature.write_bytes(b"x")
        assert "is no signature: 1 bytes" in mxenv(*asked).stderr
        signature.unlink()
        signature.mkdir()
        assert mxenv(*asked).exit_code == 5

    def test_a_key_without_a_matrix_is_no_use(self, keys: Path) -> None:
        result = check("--require-signed", keys / "own.pub")
        assert result.exit_code == 2
        assert "no matrix is named" in result.stderr

    def test_the_users_keys_bind_whatever_is_named(
        self, site: Path, keys: Path, tmp_path: Path
    ) -> None:
        own = tmp_path / "config.toml"
        own.write_text(f'keys = ["{keys / "own.pub"}"]\n')
        assert check("--matrix", site, MXENV_CONFIG=str(own)).exit_code == 5

    def test_an_export_is_signed_at_once(self, site: Path, keys: Path, tmp_path: Path) -> None:
        out = tmp_path / "whole.json"
        signed = ("--sign-key", keys / "own.pem")
        assert mxenv("matrix", "export", out, "--matrix", site, *signed).exit_code == 0
        key = ("--require-signed", keys / "own.pub")
        assert check("--matrix", out, *key).exit_code == 1
        assert mxenv("matrix", "import", out, "--out", tmp_path / "d", *key).exit_code == 0
        wrong = ("--require-signed", keys / "other.pub")
        assert mxenv("matrix", "import", out, "--out", tmp_path / "e", *wrong).exit_code == 5

    def test_what_is_no_key_is_told(self, site: Path, keys: Path, tmp_path: Path) -> None:
        (tmp_path / "no.pem").write_text("x")
        for name in (tmp_path / "no.pem", keys / "rsa.pem", tmp_path / "missing", keys / "own.pub"):
            assert mxenv("matrix", "sign", site, "--key", name).exit_code == 2
        mxenv("matrix", "sign", site, "--key", keys / "own.pem")
        for name in (tmp_path / "no.pem", keys / "rsa.pub", tmp_path / "missing", keys / "own.pem"):
            assert check("--matrix", site, "--require-signed", name).exit_code == 2
        locked = tmp_path / "locked.pem"
        subprocess.run(
            [
                *("openssl", "pkey", "-in", keys / "own.pem", "-aes256", "-passout", "pass:x"),
                *("-out", locked),
            ],
            check=True,
        )
        result = mxenv("matrix", "sign", site, "--key", locked)
        assert (result.exit_code, "the key is encrypted" in result.stderr) == (2, True)
        with pytest.raises(MatrixError, match="cannot be read"):
            signing.sign(tmp_path / "missing.toml", keys / "own.pem")
        with pytest.raises(UsageError, match="cannot be read"):
            signing.check(b"", site, [tmp_path / "missing"])


class TestWaivers:
    def waivers(self, tmp_path: Path, expires: str = "2099-01-31", code: str = "MX114") -> Path:
        path = tmp_path / "waivers.toml"
        path.write_text(
            f'[[waivers]]\ncode = "{code}"\nreason = "known"\nowner = "ops"\nexpires = {expires}\n'
        )
        return path

    def test_a_waived_finding_is_shown_and_does_not_count(self, site: Path, tmp_path: Path) -> None:
        path = self.waivers(tmp_path)
        result = check("--matrix", site, "--waivers", path)
        assert result.exit_code == 0
        assert "waived        MX114" in result.stdout
        assert "by ops until 2099-01-31: known" in result.stdout
        assert check("--matrix", site, "--waivers", path, "--nagios").exit_code == 1

    def test_one_that_expired_fails_by_itself(self, tmp_path: Path) -> None:
        result = check("--waivers", self.waivers(tmp_path, "2020-01-31"))
        assert result.exit_code == 1
        assert "MX119" in result.stdout

    def test_one_that_nothing_needs_is_shown(self, tmp_path: Path) -> None:
        result = check("--waivers", self.waivers(tmp_path), "-v")
        assert result.exit_code == 0
        assert "MX120" in result.stdout

    def test_an_image_description_will_do(self, site: Path, tmp_path: Path) -> None:
        image = tmp_path / "image.toml"
        head = 'schema = "mxenv.image/1"\nname = "x"\nbase = "docker.example/debian:12"\n'
        image.write_text(head + self.waivers(tmp_path).read_text())
        assert check("--matrix", site, "--waivers", image).exit_code == 0

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("w.toml", "", "holds no waivers"),
            ("w.toml", "waivres = 3\n", "did you mean 'waivers'?"),
            ("w.toml", '[[waivers]]\ncode = "MX999"\n', "the code of no finding"),
            ("w.toml", "x", "not TOML"),
            ("pylock.x.toml", "x = 1", "pylock.x.toml"),
        ],
    )
    def test_a_file_without_waivers_is_refused(
        self, tmp_path: Path, name: str, text: str, said: str
    ) -> None:
        path = tmp_path / name
        path.write_text(text)
        result = check("--waivers", path)
        assert (result.exit_code, result.stdout) == (5, "")
        assert said in result.stderr
        assert check("--waivers", tmp_path / "missing.toml").exit_code == 5
        path.write_bytes(b"\xff")
        assert check("--waivers", path).exit_code == 5


class TestManySnapshots:
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "fleet"
        folder.mkdir()
        for name in ("a", "b"):
            mxenv("probe", "--on", f"recording:{GOOD}", "--out", folder / f"{name}.json")
        return folder

    def test_several_files_and_a_folder_are_a_fleet(self, tmp_path: Path, site: Path) -> None:
        folder = self.folder(tmp_path)
        assert "all 2" not in mxenv("check", folder / "a.json").stdout
        both = mxenv("check", folder / "a.json", folder / "b.json", "--format", "json")
        whole = mxenv("check", folder, "--format", "json")
        assert both.stdout == whole.stdout
        assert len(json.loads(whole.stdout)["verdicts"]) == 2
        assert mxenv("check", folder, "--matrix", site).exit_code == 1

    def test_a_folder_without_snapshots_is_no_good_news(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert mxenv("check", tmp_path / "empty").exit_code == 5
        assert mxenv("check", tmp_path / "x.json", tmp_path / "y.json").exit_code == 2

    def test_many_are_judged_on_several_processors_as_each_would_be(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path)
        text = (folder / "a.json").read_text()
        for number in range(600):
            node = text.replace('"node": "c500-8cards"', f'"node": "n{number}"')
            (folder / f"n{number:03}.json").write_text(node)
        (folder / "broken.json").write_text("{")
        (folder / "odd.json").write_bytes(b"\xff")
        result = mxenv("check", folder, "--jobs", "2", "--format", "json", "-q")
        assert result.exit_code == 5
        verdicts = json.loads(result.stdout)["verdicts"]
        assert len(verdicts) == 604
        outcomes = {v["subject"]: v["outcome"] for v in verdicts}
        assert outcomes["n599"] == "compatible"
        assert outcomes[str(folder / "broken.json")] == "unknown"
        assert outcomes[str(folder / "odd.json")] == "unknown"
        (alone,) = json.loads(mxenv("check", folder / "a.json", "--format", "json").stdout)[
            "verdicts"
        ]
        assert all(v["findings"] == alone["findings"] for v in verdicts if v["subject"] == "n7")


class TestSchemas:
    SCHEMAS = Path(matrices.__file__).parent.parent / "schemas"

    def valid(self, name: str, value: object) -> bool:
        schema = json.loads((self.SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        return bool(jsonschema.Draft202012Validator(schema).is_valid(value))

    def test_an_export_obeys_its_schema(self, site: Path, tmp_path: Path) -> None:
        out = tmp_path / "whole.json"
        mxenv("matrix", "export", out, "--matrix", site)
        whole = json.loads(out.read_text())
        assert self.valid("bundle", whole)
        assert not self.valid("bundle", {**whole, "digest": "x"})

    def test_a_site_may_override_and_vouch(self) -> None:
        row = FINE.replace("cards =", 'overrides = "metax.toml:series:c500"\nreason = "x"\ncards =')
        said = '[[evidence]]\nrow = "metax.toml:rule:a"\nlink = "x"\nwho = "us"\ngrade = "site"\n'
        assert self.valid("matrix", tomllib.loads(HEAD + row + said))
        assert not self.valid("matrix", tomllib.loads(HEAD + row.replace('reason = "x"\n', "")))
        assert not self.valid("matrix", tomllib.loads(HEAD + said.replace("row =", "rov =")))

    def test_what_a_pilot_writes_obeys_it_too(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        mxenv("matrix", "add-tested", GOOD, "--evidence", "x", "--out", site)
        assert self.valid("matrix", tomllib.loads(site.read_text()))


class TestWhatTheGuideShows:
    PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "keep-a-site-matrix.md"

    def shown(self, mark: str) -> str:
        blocks = re.findall(r"(?s)```toml\n(.*?)```", self.PAGE.read_text(encoding="utf-8"))
        (block,) = [block for block in blocks if mark in block]
        return str(block)

    def test_its_rows_have_no_flaw(self, tmp_path: Path) -> None:
        path = tmp_path / "site.toml"
        path.write_text(HEAD + self.shown("overrides"))
        assert mxenv("matrix", "lint", path).stderr == "no flaws\n"

    def test_its_waiver_and_its_configuration_are_read(self, tmp_path: Path) -> None:
        path, own = tmp_path / "waivers.toml", tmp_path / "config.toml"
        path.write_text(self.shown("[[waivers]]"))
        assert check("--waivers", path).exit_code == 0
        own.write_text(self.shown("matrices = "))
        refused = check(MXENV_CONFIG=str(own))
        assert "site.toml: cannot be read" in refused.stderr


class TestExpectations:
    def test_a_snapshot_of_the_wrong_node_is_never_good_news(self, tmp_path: Path) -> None:
        assert check("--expect", "accelerators>=8").exit_code == 0
        result = check("--expect", "accelerators>=9")
        assert (result.exit_code, "MX192  accelerators" in result.stdout) == (1, True)
        plain = GOOD.parent / "plain-debian12"
        assert mxenv("check", plain, "--expect", "accelerators>=1").exit_code == 1
        waivers = tmp_path / "w.toml"
        waivers.write_text(
            '[[waivers]]\ncode = "MX192"\nreason = "x"\nowner = "x"\nexpires = 2099-01-01\n'
        )
        assert check("--expect", "accelerators>=9", "--waivers", waivers).exit_code == 1

    def test_of_many_each_is_held_to_it(self, tmp_path: Path) -> None:
        folder = tmp_path / "fleet"
        for name in ("c500-8cards", "plain-debian12"):
            path = folder / f"{name}.json"
            mxenv("probe", "--on", f"recording:{GOOD.parent / name}", "--out", path)
        both = mxenv("check", folder, "--expect", "os.id present", "--format", "json")
        verdicts = json.loads(both.stdout)["verdicts"]
        assert [v["findings"][0]["code"] for v in verdicts] == ["MX191", "MX191"]

    def test_a_misspelt_one_is_a_mistake_of_the_command_line(self) -> None:
        result = check("--expect", "accelerator>=1")
        assert (result.exit_code, result.stdout) == (2, "")
