"""A Containerfile tells what each stage is built upon, and what is installed into it."""

from __future__ import annotations

import pytest

from mxenv.asked import Asked, Based, Included, Index, Statement, Unread
from mxenv.stages import parse


def read(text: str) -> list[Statement]:
    return list(parse(text, file="Containerfile"))


def asked(text: str) -> list[tuple[str, str, int, str]]:
    return [
        (one.name, one.specifier, one.place.line, one.base)
        for one in read(text)
        if isinstance(one, Asked)
    ]


def bases(text: str) -> list[tuple[str, str]]:
    return [(one.reference, one.unclear) for one in read(text) if isinstance(one, Based)]


def flaws(text: str) -> list[str]:
    return [one.reason for one in read(text) if isinstance(one, Unread)]


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("FROM a:1", [("a:1", "")]),
        ("FROM --platform=linux/amd64 a:1 AS x", [("a:1", "")]),
        ("ARG T=1\nFROM a:${T}", [("a:1", "")]),
        ("ARG T=1\nARG B=a:$T\nFROM $B", [("a:1", "")]),
        ("ARG T=1 U=2\nFROM a:$T-$U", [("a:1-2", "")]),
        ("ARG T\nFROM a:${T:-3}", [("a:3", "")]),
        ("ARG T\nFROM a:$T", [("a:$T", "$T is not known here")]),
        ("ARG T=$NO\nFROM a:$T", [("a:$T", "$T is not known here")]),
        ("FROM scratch", []),
        ("FROM a AS x\nFROM X\nFROM b", [("a", ""), ("b", "")]),
    ],
)
def test_what_an_image_is_built_upon(head: str, found: list[tuple[str, str]]) -> None:
    assert bases(head) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("COPY --from=b:1 / /", [("b:1", "")]),
        ("COPY --from='h/b' / /", [("h/b", "")]),
        ("ADD --chown=1 --from=b@sha256:0 / /", [("b@sha256:0", "")]),
        ("RUN --mount=type=bind,from=b:1,target=/b x", [("b:1", "")]),
        ("COPY --from=$T / /", [("$T", "$T is not known here")]),
        (
            "COPY --from=src / /",
            [("src", "an image, or a context that is named where it is built")],
        ),
        ("COPY --from=One / /", []),
        ("COPY --from=0 / /", []),
        ("COPY --from= / /", []),
        ("RUN --mount=type=cache,target=/b x", []),
        ("COPY b:1 /", []),
    ],
)
def test_an_image_of_which_files_are_taken_is_built_upon(
    line: str, found: list[tuple[str, str]]
) -> None:
    assert bases(f"FROM a:1 AS one\n{line}") == [("a:1", ""), *found]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no FROM in it"),
        ("RUN a\nFROM b", "stands before the first FROM"),
        ("FROM", "FROM takes an image"),
        ("FROM a b c d\nRUN x", "FROM takes an image"),
        ("FROM a AS", "FROM takes an image"),
        ("FROM a\nBOGUS", "'BOGUS' is no instruction"),
    ],
)
def test_what_is_no_containerfile_says_why(text: str, reason: str) -> None:
    assert any(reason in flaw for flaw in flaws(text))


def test_a_stage_installs_into_the_image_that_it_goes_back_to() -> None:
    first = "FROM a AS x\nFROM x AS y\nENV V=1\nFROM y\nRUN pip install t==$V\n"
    text = f"{first}FROM b\nRUN pip install u==$V"
    assert asked(text) == [("t", "==1", 5, "a"), ("u", "", 7, "b")]


@pytest.mark.parametrize(
    ("lines", "specifier"),
    [
        ("ARG V=1", "==1"),
        ("ARG V", "==9"),
        ("ARG W", ""),
        ("ARG V=1\nENV V=2", "==2"),
        ("ENV V 3 ", "==3"),
        ('ENV A="b c" V="3"', "==3"),
        ("ARG V=1\nENV V=$NO", ""),
        ("ENV 1=2 V", ""),
        ("ENV", ""),
        ("ARG V=$NO", ""),
        ("LABEL V=4", ""),
    ],
)
def test_arguments_and_the_environment_give_variables_their_values(
    lines: str, specifier: str
) -> None:
    (found,) = asked(f"ARG V=9\nFROM a\n{lines}\nRUN pip install t==$V")
    assert found[1] == specifier


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ("RUN pip install t", [("t", 2)]),
        ('RUN ["pip", "install", "t"]', [("t", 2)]),
        ("RUN a && \\\n # c\n pip install \\\n  t", [("t", 5)]),
        ("RUN <<E\na\npip install \\\n t\nE", [("t", 5)]),
        ("RUN <<E bash -ex\npip install t\nE", [("t", 3)]),
        ("RUN <<'E' /bin/sh\npip install t\nE", [("t", 3)]),
        ("RUN python3 <<E\npip install t\nE", []),
        ("RUN pip install t <<E\nx\nE", [("t", 2)]),
        ("ONBUILD RUN pip install t", [("t", 2)]),
        ("CMD pip install t", []),
        ("COPY <<E /tmp/requirements.txt\n# c\nt>=1\nE", [("t", 4)]),
        ("COPY <<requirements.txt <<x /tmp/\nt\nrequirements.txt\nu\nx", [("t", 3)]),
        ("COPY <<E /tmp/requirements.txt\nE", []),
        ("COPY", []),
    ],
)
def test_what_is_installed_has_its_line(run: str, found: list[tuple[str, int]]) -> None:
    assert [(name, line) for name, _, line, _ in asked(f"FROM a\n{run}")] == found


@pytest.mark.parametrize(
    ("lines", "urls"),
    [
        ("ENV PIP_EXTRA_INDEX_URL=https://h/cu126", ["https://h/cu126"]),
        ('ENV A=b UV_INDEX="https://h/a https://h/b"', ["https://h/a", "https://h/b"]),
        ("ARG UV_TORCH_BACKEND=cu126", ["cu126"]),
        ("ARG UV_INDEX_URL", []),
        ("ENV PIP_INDEX_URL=$NO", []),
        ("ENV PIP_CACHE_DIR=https://h/cu126", []),
    ],
)
def test_pip_and_uv_are_told_where_to_look_by_variables(lines: str, urls: list[str]) -> None:
    found = [one for one in read(f"FROM a\n{lines}") if isinstance(one, Index)]
    assert [(one.url, one.place.line, one.base) for one in found] == [(u, 2, "a") for u in urls]


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        ("RUN pip install -r a/r.txt", ("a/r.txt", "r.txt")),
        ("RUN --mount=target=/r.txt pip install -r /r.txt", ("r.txt",)),
        ("RUN --mount=src=b/x.txt,dst=r.txt pip install -r r.txt", ("b/x.txt", "r.txt")),
        ("RUN pip install -r /tmp/r.txt", ("r.txt",)),
        ("COPY a/r.txt b.txt /tmp/\nRUN pip install -r /tmp/r.txt", ("a/r.txt", "r.txt")),
        ("COPY a/x.txt ./r.txt\nRUN pip install -r r.txt", ("a/x.txt", "r.txt")),
        ("COPY --from=y a/r.txt /\nRUN pip install -r /r.txt", ("r.txt",)),
        (
            "RUN --mount=source=a/x.txt,target=/r.txt --mount=dst=/c pip install -r /r.txt",
            ("a/x.txt", "r.txt"),
        ),
    ],
)
def test_a_file_that_is_named_is_looked_for_where_it_was_copied_from(
    lines: str, files: tuple[str, ...]
) -> None:
    (found,) = (one for one in read(f"FROM a\n{lines}") if isinstance(one, Included))
    assert (found.files, found.base) == (files, "a")
