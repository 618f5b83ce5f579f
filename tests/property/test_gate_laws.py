"""Whatever is written into a file that is judged, nothing fails, and lines are the right ones."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pip_requirements_parser import RequirementsFile

from mxenv import containerfile, requirement_lines, stages, toml_strings
from mxenv.asked import Asked, Source, Unread
from mxenv.declared import judge
from mxenv.scene import Ground, Surroundings
from mxenv.shell_words import commands
from mxenv.verdict import Outcome, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

LOCK = Place(file="pylock.x.toml", line=7)
AROUND = Surroundings(
    grounds=(
        Ground(
            reference="vendor@sha256:0",
            accelerator="metax",
            place=LOCK,
            held={"torch": ("2.8.0+metax3.5.3.9", LOCK)},
        ),
    ),
    published={"torch": ("2.8.0+metax3.5.3.9",)},
)
REQUIREMENTS = (
    *("torch", "torch==2.8.0", "a==1 # c", "Foo.Bar~=1.0", 'b>=1 ; python_version < "3.12"'),
    *("# comment", "", "  ", "c[x]>=1,<2", "-r more.txt", "-c limits.txt", "-i https://h/cu126"),
    *("./a-1.0-py3-none-any.whl", "git+https://h/a.git#egg=e", "-e ./d", "--pre", "--bogus"),
    *(
        "bad req here",
        "f==1 --hash=sha256:aa",
        "${X}",
        '"',
        "\\",
        "x \\",
        "# c \\",
        "\x0c",
        "\u2028",
    ),
)
INSTRUCTIONS = (
    *("FROM a", "FROM a:1 AS b", "FROM b", "FROM vendor@sha256:0", "FROM $X", "FROM", "ARG X=y"),
    *("RUN pip install torch", "RUN pip install -U torch && \\", "    b \\", "  # c", "", "  "),
    *('ENV A=b C="d e"', "RUN <<EOT", "EOT", 'RUN cat <<"X" > y <<-Z', "X", "\tZ", "Z"),
    *("RUN --mount=type=cache,target=/x foo", "COPY <<A <<B /x/", "A", "B", "COPY a b c/"),
    *('RUN ["pip", "install", "x"]', 'RUN ["pip", ', "# escape=`", "# syntax=x", "RUN x `"),
    *("ONBUILD RUN x", "ONBUILD", 'RUN echo "<<N"', 'RUN echo "a \\', "RUN x <<<y", "RUN a\\\\"),
    *("RUN $(cat <<E)", "RUN a <<$V", "RUN \\", "RUN cat <<'E F'", "RUN cat <<\\E", "E F", "E"),
    *("BOGUS y", "run lower", "RUN bash -c 'pip install torch>=2'", "RUN a # b \\", "\ufeffRUN q"),
)
SCRIPTS = st.text(alphabet="ab -$(){}'\"`\\<>|&;#\n=U.", max_size=60)


def files(lines: Sequence[str]) -> st.SearchStrategy[str]:
    some = st.lists(st.sampled_from(lines), max_size=8)
    return st.builds(lambda many, end: "\n".join(many) + end, some, st.sampled_from(["", "\n"]))


def source(kind: str, text: str) -> Source:
    read = stages.parse if kind == "Containerfile" else requirement_lines.parse
    return Source(file="f", kind=kind, statements=tuple(read(text, file="f")))


class TestNothingFails:
    """Each finding has a line of the file, and no text, however mangled, ends in an exception."""

    @given(st.one_of(files(REQUIREMENTS), st.text(max_size=80)))
    def test_requirements(self, text: str) -> None:
        self.check("requirements", text)

    @given(st.one_of(files(INSTRUCTIONS), st.text(max_size=80)))
    def test_containerfiles(self, text: str) -> None:
        self.check("Containerfile", text)

    def check(self, kind: str, text: str) -> None:
        for finding in judge([source(kind, text)], (), AROUND)["f"]:
            assert finding.place is not None
            assert 1 <= finding.place.line <= text.count("\n") + text.count("\r") + 1

    @given(SCRIPTS)
    def test_scripts(self, text: str) -> None:
        read = list(commands([(n, f"{line}\n") for n, line in enumerate(text.split("\n"))]))
        lines = [word.line for command in read for word in command]
        assert lines == sorted(lines)


class TestLines:
    """What is put before a line moves it by that much, and what it says does not change."""

    @given(files(REQUIREMENTS), st.integers(0, 5))
    def test_lines_of_requirements(self, text: str, count: int) -> None:
        self.check("requirements", "# c\n" * count, text, count)

    @given(files(INSTRUCTIONS), st.integers(0, 5))
    def test_lines_of_containerfiles(self, text: str, count: int) -> None:
        # Whatever stands first ends the directives, of which there are none then.
        self.check("Containerfile", "\n" * (count + 1), f"# c\n{text}", count + 1)

    def check(self, kind: str, before: str, text: str, count: int) -> None:
        text = text.replace("\ufeff", "")
        alone, moved = source(kind, text).statements, source(kind, before + text).statements
        lines = [one.place.line + count for one in alone if not self.is_whole(one)]
        assert [one.place.line for one in moved if not self.is_whole(one)] == lines

    @staticmethod
    def is_whole(one: object) -> bool:
        return isinstance(one, Unread) and one.reason == "there is no FROM in it"

    @given(st.lists(st.sampled_from(["", "# c", "a==1", "b \\\n ==2"]), max_size=6))
    def test_a_bad_line_is_found_among_good_ones_wherever_it_stands(
        self, before: list[str]
    ) -> None:
        text = "\n".join([*before, "torch>=2.9", "c"])
        line = text.split("\n").index("torch>=2.9") + 1
        found = judge([source("requirements", text)], (), AROUND)["f"]
        assert ("MX411", line) in {(f.code, f.place.line) for f in found if f.place}
        assert min(f.outcome for f in found) is Outcome.INCOMPATIBLE


class TestAsOthersReadIt:
    """BuildKit's own parser, and pip's, split the same files at the same lines."""

    @given(files(INSTRUCTIONS))
    def test_containerfiles_are_split_as_buildkit_splits_them(self, text: str) -> None:
        # Built for one kind of machine only.
        dockerfile = pytest.importorskip("dockerfile")
        ours = list(containerfile.parse(text))
        refused = ""
        try:
            theirs = dockerfile.parse_string(text)
        except dockerfile.GoParseError as error:
            theirs, refused = (), str(error)
        if refused:
            # An empty file is none to them; to us, to be a Containerfile takes a FROM.
            assert any(one.flaw for one in ours) or "no instructions" in refused
            return
        assert [(one.line, one.end) for one in ours] == [(c.start_line, c.end_line) for c in theirs]
        for one, command in zip(ours, theirs, strict=True):
            assert one.flaw.endswith("is no instruction") == (one.keyword == "")
            if one.keyword:
                assert one.keyword == (command.sub_cmd or command.cmd).upper()
                assert [d.name for d in one.documents] == [d.name for d in command.heredocs]
            if one.keyword == "RUN" and command.cmd.upper() == "RUN":
                assert one.flags == command.flags
                value = one.listed if command.json else (one.text,) if one.text else ()
                assert value == command.value

    @given(st.lists(st.sampled_from(REQUIREMENTS[:20]), max_size=6))
    def test_requirements_are_split_as_pip_splits_them(self, lines: list[str]) -> None:
        text = "\n".join(lines)
        ours = requirement_lines.parse(text, file="f")
        mine = {(one.place.line, one.name) for one in ours if isinstance(one, Asked) and one.name}
        assert mine == {(line, name) for line, name in by_pip(text) if name}


def by_pip(text: str) -> set[tuple[int, str]]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder, "requirements.txt")
        file.write_text(text)
        read = RequirementsFile.from_file(str(file)).requirements
    return {
        (one.requirement_line.line_number, (one.name or "").lower().replace(".", "-"))
        for one in read
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["# c", "", "[t]", '["q"]', "[[a]]", "x = 1", "y = [", '"""\nz\n"""']),
            st.text(alphabet="ab\"'#\\[]=.", max_size=6),
        ),
        max_size=6,
    )
)
def test_the_line_of_a_string_is_where_it_stands(parts: list[tuple[str, str]]) -> None:
    lines, expected = [], {}
    for number, (kind, text) in enumerate(parts):
        value = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if kind == "y = [":
            lines.append(f"y{number} = [ # ]\n  {value},\n  [{value}],\n]")
            begin = "\n".join(lines).count("\n") - 1
            expected |= {(f"y{number}", 0): begin, (f"y{number}", 1, 0): begin + 1}
        elif kind.startswith('"""'):
            expected[f"m{number}",] = "\n".join([*lines, ""]).count("\n") + 1
            lines.append(f"m{number} = {kind}")
        elif kind in {"# c", ""}:
            lines.append(f"{kind} {value}" if kind else "")
        else:
            expected[f"k{number} q", "v"] = "\n".join([*lines, ""]).count("\n") + 1
            lines.append(f'"k{number} q" . v = {value}')
    assert toml_strings.lines("\n".join(lines)) == expected


@pytest.mark.parametrize("kind", ["requirements", "Containerfile"])
@pytest.mark.parametrize(
    "text",
    [
        " " * 200_000 + "x",
        "# escape = x" + " " * 200_000 + "y",
        "FROM a\nRUN " + "x \\\n" * 50_000,
        "FROM a\nRUN " + "'" * 200_001,
        "FROM a\nRUN <<" + "<" * 200_000,
        "a " + "\\" * 200_001,
        "$(" * 100_000,
        "a" + "==1," * 50_000,
        "FROM " + "${" * 100_000,
        "a[" * 100_000,
        "-" * 200_000,
        "torch==" + "9" * 200_000,
        "FROM a\nRUN pip install " + "a>=1<" * 40_000,
        "FROM a\nENV " + "A=b " * 50_000,
    ],
    ids=range(14),
)
def test_no_text_takes_more_time_than_its_length_is_worth(kind: str, text: str) -> None:
    began = time.process_time()
    judge([source(kind, text)], (), AROUND)
    assert time.process_time() - began < 10
