from __future__ import annotations

import hashlib
import json

import pytest

from mxenv import installed

HEAD = "Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0+metax3.5.3.9torch2.8\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (HEAD, "Name: torch\nVersion: 2.8.0+metax3.5.3.9torch2.8\n"),
        (
            f"{HEAD}\nName: other\nVersion: 9\n",
            "Name: torch\nVersion: 2.8.0+metax3.5.3.9torch2.8\n",
        ),
        ("Name: a\r\nVersion: 1\r\n\r\nVersion: 2\r\n", "Name: a\r\nVersion: 1\r\n"),
        ("Name: a\nName: b\nVersion: 1\nVersion: 2\n", "Name: a\nVersion: 1\n"),
        ("Name: a\nVersion: 1.2", "Name: a\n"),
        ("\nVersion: 1\n", ""),
        ("", ""),
    ],
)
def test_of_metadata_only_whole_lines_of_the_head_are_kept(text: str, kept: str) -> None:
    assert installed.metadata(text) == kept
    assert installed.metadata(kept) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "six.py,sha256=x,3\nsix-1.16.dist-info/RECORD,,\n__pycache__/six.pyc,,\n",
            "__pycache__/\nsix-1.16.dist-info/\nsix.py\n",
        ),
        ("torch/a.py,,\ntorch/__init__.py,sha256=x,3\n", "torch/\ntorch/__init__.py\n"),
        ("google/api/__init__.py,,\ngoogle/b.py,,", "google/\n"),
        ("b/x,,\na/x,,\nb/__init__.py,,\n", "a/\nb/\nb/__init__.py\n"),
        ('"a,b/c.py",,\n"d/e,f.py",,\n../../bin/x,,\n/usr/x,,\n', "../\nd/\n"),
        ("six.py,sha512=ab/cd==,3\n", "six.py\n"),
        ("a/b,,\r\n", "a/\n"),
        ("a/x,,\nb/a/__init__.py,,\n", "a/\nb/\n"),
        ("torch/a.py", "torch/\n"),
        ("six.py", "six.py\n"),
        ("", ""),
    ],
)
def test_of_a_record_the_names_at_the_top_are_kept(text: str, kept: str) -> None:
    assert installed.names(text) == kept
    assert installed.names(kept) == kept


def test_the_digest_of_a_record_is_that_of_its_bytes() -> None:
    content = b"\xff.py,,\n"
    assert installed.record([content]) == f"{hashlib.sha256(content).hexdigest()}\n\ufffd.py\n"


@pytest.mark.parametrize("size", [1, 3, 7, 64])
def test_a_record_says_the_same_in_pieces_as_whole(size: int) -> None:
    text = "b/x,,\na/x,,\r\nb/__init__.py,,\nsix.py,,\na/\xe9,,\nlast"
    content = text.encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    digest = hashlib.sha256(content).hexdigest()
    assert installed.record(pieces) == f"{digest}\n{installed.names(text)}"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (
            {"url": "https://u:p@h.example/x.whl?sig=s#f", "archive_info": {"hash": "sha256=x"}},
            {"url": "https://h.example/x.whl", "archive_info": {}},
        ),
        (
            {"url": "file:///home/a/b", "dir_info": {"editable": True, "other": "secret"}},
            {"url": "file:///home/a/b", "dir_info": {"editable": True}},
        ),
        ({"url": "file:///a", "dir_info": {"editable": 1}}, {"url": "file:///a", "dir_info": {}}),
        (
            {
                "url": "ssh://git@[::1]:22/a",
                "vcs_info": {"vcs": "git", "commit_id": "0123abc", "requested_revision": "secret"},
            },
            {"url": "ssh://[::1]:22/a", "vcs_info": {"vcs": "git", "commit_id": "0123abc"}},
        ),
        (
            {"url": "git@h:a", "vcs_info": {"vcs": ["git"], "commit_id": "a b"}},
            {"url": "***", "vcs_info": {"vcs": "***", "commit_id": "***"}},
        ),
        # A slash in a password: what is the host and what is the secret cannot be told.
        ({"url": "https://u:p/s@h/x", "dir_info": {}}, {"url": "***", "dir_info": {}}),
        ({"url": "https://h:p\\@x/y", "dir_info": {}}, {"url": "https://x/y", "dir_info": {}}),
        (
            {"files": ["lib/a-1.dist-info/METADATA", 7, "bin/a"], "url": "https://h/t/tk-1/x"},
            {"files": ["lib/a-1.dist-info/METADATA"]},
        ),
        ({"url": "https://h", "dir_info": {}}, {"url": "https://h", "dir_info": {}}),
    ],
)
def test_of_an_origin_nothing_is_kept_that_may_be_secret(given: object, kept: object) -> None:
    text = installed.origin(json.dumps(given))
    assert json.loads(text) == kept
    assert installed.origin(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        "[" * 100_000,
        '{"url": "https://h/"}',
        '{"url": 7, "dir_info": {}}',
        '{"url": "https://h/", "dir_info": []}',
        '{"url": "https://h/", "dir_info": {}, "vcs_info": {}}',
        '{"dir_info": {}}',
    ],
)
def test_of_what_is_no_origin_nothing_is_kept(text: str) -> None:
    assert installed.origin(text) == ""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/srv/app/.venv/bin/python3\0-m\0vllm\0--api-key\0x\0", "/srv/app/.venv/bin/python3"),
        ("/opt/conda/bin/python3.10", "/opt/conda/bin/python3.10"),
        ("/opt/conda/bin/python", "/opt/conda/bin/python"),
        ("python3\0x", ""),
        ("/usr/bin/bash\0-c\0/usr/bin/python3", ""),
        ("/srv/a b/bin/python\0", ""),
        ("", ""),
    ],
)
def test_of_a_command_line_only_the_python_is_kept(text: str, kept: str) -> None:
    assert installed.program(text) == kept
    assert installed.program(kept) == kept
