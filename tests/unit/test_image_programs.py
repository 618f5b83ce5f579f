"""What is run inside an image reads as any Python that a base may have."""

from __future__ import annotations

import ast

import pytest

from mxenv.image_programs import CHECK, INSTALL


@pytest.mark.parametrize("program", [INSTALL, CHECK])
@pytest.mark.parametrize("version", [(3, 7), (3, 13)])
def test_a_program_reads_as_old_and_new_python(program: str, version: tuple[int, int]) -> None:
    tree = ast.parse(program, feature_version=version)
    assert ast.get_docstring(tree)


@pytest.mark.parametrize("program", [INSTALL, CHECK])
def test_a_program_needs_nothing_but_the_standard_library(program: str) -> None:
    imported = {
        alias.name
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported <= {"base64", "hashlib", "json", "os", "re", "sys", "zipfile"}
