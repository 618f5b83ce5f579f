"""Damaged metadata gives the right value or none, and no secret of it is ever kept."""

from __future__ import annotations

import json

from _environments import read
from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.installed import metadata, names, origin, program
from mxenv.probes import python
from mxenv.question import Answers
from mxenv.redaction import clean, clean_answers
from mxenv.transports._memory import tree
from mxenv.transports._tree import answer
from mxenv.version import parse

SITE = "/opt/conda/lib/python3.10/site-packages"
VENV = "/opt/venv/lib/python3.10/site-packages"
TORCH = f"{SITE}/torch-2.8.0+metax3.5.3.9torch2.8.dist-info"
URL = f"{SITE}/dev-1.0.dist-info/direct_url.json"
FILES = {
    "/opt/conda/bin/python3.10": b"",
    "/opt/conda/conda-meta/python-3.10.12-h955ad1f_0.json": b"{}",
    "/opt/conda/conda-meta/egg-1.0-py310_0.json": json.dumps(
        {"files": ["bin/x", "lib/python3.10/site-packages/egg-1.0.egg-info/PKG-INFO"]}, indent=1
    ).encode(),
    f"{SITE}/egg-1.0.egg-info/PKG-INFO": b"Metadata-Version: 2.1\nName: egg\nVersion: 1.0\n",
    f"{TORCH}/METADATA": (
        b"Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0+metax3.5.3.9torch2.8\n"
        b"Summary: x\n\nVersion: 9\nName: y\n"
    ),
    f"{TORCH}/RECORD": b"torch/__init__.py,sha256=x,3\ntorch-2.8.0.dist-info/RECORD,,\n",
    f"{TORCH}/INSTALLER": b"pip\n",
    f"{SITE}/torch/__init__.py": b"",
    f"{SITE}/dev-1.0.dist-info/METADATA": b"Name: dev\nVersion: 1.0\n",
    URL: b'{"archive_info": {}, "url": "https://me:hunter2@h.example/dev.whl?sig=hunter2"}',
    "/opt/venv/bin/python3.10": b"",
    "/opt/venv/pyvenv.cfg": (
        b"home = /opt/conda/bin\ninclude-system-site-packages = false\nversion = 3.10.12\n"
    ),
    f"{VENV}/six-1.16.0.dist-info/METADATA": b"Name: six\nVersion: 1.16.0\n",
}
DAMAGED = sorted(path for path in FILES if FILES[path] and not path.endswith("/INSTALLER"))
ALSO_ABSENT = {"python.package.altered", "python.package.copies", "python.package.shadowed"}
JUNK = [b"\xff\xfe", b"\x00", b"\x1b[31m", b"\x1b]0;t\x07", b"\xe2\x80\xae", b"[[[{{{", b"\n\n\n"]


def known(files: dict[str, bytes]) -> dict[str, set[Reading]]:
    """Return what is known once everything is fit to be kept, as of a node."""
    node = tree(files, {})
    answers = Answers()
    asked = dict.fromkeys(python.PROBE.questions)
    while asked:
        answers |= answer(node, asked)
        asked = {q: None for q in python.PROBE.more(answers) if q not in answers.given}
    facts: dict[str, set[Reading]] = {}
    for fact in python.PROBE.read(clean_answers(answers)):
        facts.setdefault(fact.label, set()).add(fact.reading)
    return facts


TRUE = known(FILES)


@st.composite
def damages(draw: st.DrawFn) -> dict[str, bytes]:
    """Return the files with one of them damaged."""
    path = draw(st.sampled_from(DAMAGED))
    content = FILES[path]
    lines = content.splitlines(keepends=True)
    kept = draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    at = draw(st.integers(0, len(content)))
    damaged = draw(
        st.sampled_from(
            (
                content[:at],
                content.replace(b"\n", b"\r\n"),
                b"".join(line for line, keep in zip(lines, kept, strict=True) if keep),
                content[:at] + draw(st.sampled_from(JUNK)) + content[at:],
                draw(st.binary(max_size=60)),
                b"".join(b"\x1b[1m" + line + b"\x1b[0m" for line in lines),
            )
        )
    )
    return {**FILES, path: damaged}


@settings(max_examples=150, deadline=None)
@given(damages())
def test_a_damaged_file_gives_the_right_value_or_none(files: dict[str, bytes]) -> None:
    for label, readings in known(files).items():
        key = label.partition("[")[0]
        for reading in readings:
            match reading:
                case Observed() if key == "python.package.record":
                    pass  # the digest of what is there now
                case Observed(value) if key == "python.package":
                    # ``1`` for ``1.0`` is another spelling of the same version.
                    true = {r.value for r in TRUE.get(label, ()) if isinstance(r, Observed)}
                    assert parse(str(value)) in {parse(str(v)) for v in true}, label
                case Observed():
                    assert reading in TRUE.get(label, ()), label
                case Absent():
                    assert reading in TRUE.get(label, ()) or key in ALSO_ABSENT, label
                case Unreadable():
                    pass


@settings(max_examples=60, deadline=None)
@given(damages())
def test_no_damage_brings_a_secret_to_light(files: dict[str, bytes]) -> None:
    for fact in read(files):
        assert "hunter2" not in f"{fact}"


@given(st.text(), st.sampled_from([metadata, names, origin, program]))
def test_the_excerpt_of_an_excerpt_is_the_excerpt(text: str, excerpt: object) -> None:
    assert callable(excerpt)
    once = excerpt(text)
    assert excerpt(once) == once


LINES = st.lists(
    st.sampled_from(["a/x,,", "a/__init__.py,s,1", "b.py,,", "ab/x,,", '"a/q,r",,', "", "../x,,"])
)


@given(LINES, st.sampled_from(["\n", "\r\n"]))
def test_the_order_of_a_record_does_not_count(lines: list[str], end: str) -> None:
    text = "".join(f"{line}{end}" for line in lines)
    assert names(text) == names("".join(f"{line}{end}" for line in sorted(lines)))


@given(
    st.sampled_from(["https", "ssh", "git+https", "file"]),
    st.text(alphabet="abc123", min_size=1),
    st.sampled_from(["", "/a/b.whl", "/a b", "/@x"]),
    st.sampled_from(["archive_info", "dir_info", "vcs_info"]),
)
def test_a_password_is_dropped_with_what_is_around_it(
    scheme: str, word: str, path: str, kind: str
) -> None:
    password = f"HUNTER{word}"
    url = f"{scheme}://user:{password}@host.example{path}?k={password}#{password}"
    info = {"vcs": "git", "commit_id": password, "other": password}
    kept = origin(json.dumps({"url": url, kind: info, "more": password}))
    assert kept
    assert "HUNTER" not in kept
    assert clean(kept) == kept
