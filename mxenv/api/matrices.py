"""Where the rows of a matrix come from: what is shipped, a site's files, whole matrices in one."""

from __future__ import annotations

import tomllib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import _files, bundle, judgement, matrix_reader
from mxenv.api import _compiled, nodes
from mxenv.bundle import Bundle, Layer
from mxenv.environment import VENDOR, select_env
from mxenv.errors import MatrixError, UsageError
from mxenv.stack import stack
from mxenv.verdict import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from mxenv.facts import FactKey, Snapshot
    from mxenv.matrix import Matrix, Operator, Tested
    from mxenv.matrix_lint import Flaw
    from mxenv.operator_runs import Runs
    from mxenv.verdict import Verdict

LARGEST = 16 << 20
"""Bytes in a matrix; the shipped one has a hundredth of it."""
PROPOSED = "matrices"
"""The folder of a project whose rows are shown to whoever judges it, and never count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Which files a matrix is made of, and whom it is taken from."""

    site: tuple[Path, ...] = ()
    """Rows of a site, or whole matrices; later ones on top."""
    keys: tuple[Path, ...] = ()
    """Public keys; with any, each file of the site must be signed with one of them."""
    alone: bool = False
    """True if nothing is taken from mxenv itself: the files are all there is."""


def shipped() -> tuple[Layer, ...]:
    """Return the files that mxenv brings."""
    folder = resources.files("mxenv") / "matrices"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=_name)
    return tuple(
        Layer(name=file.name, kind="shipped", text=text(file.read_bytes(), file.name))
        for file in files
    )


def _name(file: resources.abc.Traversable) -> str:
    return file.name


def layers(sources: Sources) -> tuple[Layer, ...]:
    """Return all files in their order; a whole matrix takes the place of what is shipped."""
    if sources.keys and not sources.site:
        hint = "name the signed matrix (--matrix FILE), or ask for no signature"
        raise UsageError("a signature is asked for, and no matrix is named", hint=hint)
    below = () if sources.alone else shipped()
    above: list[Layer] = []
    whole = ""
    for path in sources.site:
        content = _signed(path, sources.keys) if sources.keys else read(path)
        if bundle.is_bundle(content):
            if whole:
                raise MatrixError(f"a whole matrix, and {whole} is one as well", context=str(path))
            whole, below = str(path), open_bundle(content, str(path)).layers
        else:
            layer = Layer(name=str(path), kind="site", text=text(content, str(path)))
            # One file that is named twice, in a variable and as an option, is one file.
            if all(layer.text != other.text for other in (*below, *above)):
                above.append(layer)
    return (*below, *above)


def load(sources: Sources) -> Matrix:
    """Return the matrix that ``sources`` make together."""
    return parsed(layers(sources))


def parsed(given: Iterable[Layer]) -> Matrix:
    """Return the matrix that files make together."""
    known = [(layer, _compiled.read(layer)) for layer in given]
    documents = [(layer.name, form.rows if form else document(layer)) for layer, form in known]
    keys: dict[str, FactKey] = {}
    for _, form in known:
        keys |= form.keys if form else nodes.keys()
    return matrix_reader.parse(documents, keys)


def document(layer: Layer) -> dict[str, object]:
    """Return what a file says."""
    try:
        return tomllib.loads(layer.text)
    except ValueError as error:
        # Not only the parser's own errors: a number of 5000 digits, too.
        raise MatrixError(f"not TOML: {error}", context=layer.name) from None
    except RecursionError:
        raise MatrixError("not TOML: nested too deeply", context=layer.name) from None


def read(path: Path) -> bytes:
    """Return the content of a matrix, of whatever form."""
    try:
        return _files.read(path, limit=LARGEST)
    except (OSError, ValueError) as error:
        raise MatrixError(f"cannot be read: {_files.why(error)}", context=str(path)) from None


def text(content: bytes, context: str) -> str:
    """Return ``content`` as text."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise MatrixError("not UTF-8", context=context) from None


def _signed(path: Path, keys: Sequence[Path]) -> bytes:
    """Return the content of a file that one of ``keys`` signed, read once."""
    from mxenv.api import signing  # noqa: PLC0415 - imported late: few ask for signatures

    content = read(path)
    signing.check(content, path, keys)
    return content


def open_bundle(content: bytes, context: str) -> Bundle:
    """Return the whole matrix in ``content``; one that was altered is refused."""
    found = bundle.parse(text(content, context), context=context)
    digest = parsed(found.layers).digest
    if digest != found.digest:
        hint = "take it again from where it was exported"
        said = f"its rows have the digest {digest}, and it says {found.digest}"
        raise MatrixError(f"was altered: {said}", context=context, hint=hint)
    return found


def export(sources: Sources, out: Path) -> Bundle:
    """Write all layers into the file ``out``, and return what it holds."""
    given = tuple(replace(layer, name=Path(layer.name).name) for layer in layers(sources))
    bundle.distinct(given, str(out))
    made = Bundle(digest=parsed(given).digest, layers=given)
    _files.write_atomically(out, bundle.render(made))
    return made


def unpack(path: Path, out: Path, keys: Sequence[Path] = ()) -> tuple[Bundle, tuple[Path, ...]]:
    """Write the files of a whole matrix into the folder ``out``; none that is there is replaced."""
    content = _signed(path, keys) if keys else read(path)
    if not bundle.is_bundle(content):
        hint = "name a file that `mxenv matrix export` wrote"
        raise MatrixError("not a whole matrix", context=str(path), hint=hint)
    found = open_bundle(content, str(path))
    paths = tuple(out / layer.name for layer in found.layers)
    with ExitStack() as held:
        for target in sorted(paths):  # in one order, or two would wait for each other
            held.enter_context(_files.alone(target))
        _unpack(dict(zip(paths, found.layers, strict=True)))
    return found, paths


def _unpack(files: Mapping[Path, Layer]) -> None:
    for target, layer in files.items():
        if target.exists() and read(target) != layer.text.encode():
            hint = "name another folder, or remove the file"
            raise UsageError("is there, and says something else", context=str(target), hint=hint)
    for target, layer in files.items():
        _files.write_atomically(target, layer.text)


def lint(
    sources: Sources, files: Sequence[Path] = (), *, today: date, stale: int | None = None
) -> tuple[Flaw, ...]:
    """Return every flaw of what ``sources`` make together; of ``files`` on top alone, if named."""
    from mxenv.matrix_lint import File  # noqa: PLC0415 - imported late: nothing else needs it
    from mxenv.matrix_lint import lint as find  # noqa: PLC0415 - the same

    whole = replace(sources, site=(*sources.site, *files))
    written = [File(name=o.name, text=o.text, values=document(o)) for o in layers(whole)]
    flaws = find(written, nodes.keys(), today=today, stale=stale)
    names = [str(path) for path in files] or [file.name for file in written]
    return tuple(f for f in flaws if any(f.file == n or f"{n}:" in f.message for n in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Who says that a node works, and where."""

    link: str
    who: str
    today: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a site's matrix got from a node, and what the node is with it."""

    row: Tested
    summary: str
    verdict: Verdict


def add_tested(
    snapshot: Snapshot, sources: Sources, said: Said, *, out: Path, env: str | None = None
) -> Learned:
    """Write into ``out`` that ``snapshot`` was seen working; what is written is read back first."""
    from mxenv import matrix_writer, pilot  # noqa: PLC0415 - imported late: only for this

    below = tuple(layer for layer in layers(sources) if layer.name != str(out))
    found = stack(snapshot, select_env(snapshot, env))
    day = said.today.isoformat()
    evidence = Evidence(link=said.link, who=said.who, when=day, grade="site")
    row = pilot.tested(found, parsed(below), evidence=evidence, file=str(out))
    with _files.alone(out):
        before = text(read(out), str(out)) if out.exists() else ""
        after = matrix_writer.add(before, row, context=str(out), vendor=VENDOR, revision=day)
        matrix = parsed((*below, Layer(name=str(out), kind="site", text=after)))
        _files.write_atomically(out, after)
    verdict = judgement.judge(snapshot, matrix, env=env, today=said.today)
    return Learned(row=row, summary=pilot.summed_up(row), verdict=verdict)


def add_ran(  # noqa: PLR0913 - what was run, where, and who says so
    snapshot: Snapshot,
    runs: Runs,
    sources: Sources,
    said: Said,
    *,
    out: Path,
    env: str | None = None,
) -> tuple[Operator, ...]:
    """Write into ``out`` what ``runs`` on the node ``snapshot`` are evidence of."""
    from mxenv import matrix_writer, operator_pilot  # noqa: PLC0415 - imported late: only for this

    below = tuple(layer for layer in layers(sources) if layer.name != str(out))
    found = stack(snapshot, select_env(snapshot, env))
    day = said.today.isoformat()
    evidence = Evidence(link=said.link, who=said.who, when=day, grade="site")
    rows = operator_pilot.rows(runs, found, nodes.keys(), evidence=evidence, file=str(out))
    with _files.alone(out):
        written = text(read(out), str(out)) if out.exists() else ""
        for row in rows:
            written = matrix_writer.add(written, row, context=str(out), vendor=VENDOR, revision=day)
        # What is written is read back first.
        parsed((*below, Layer(name=str(out), kind="site", text=written)))
        _files.write_atomically(out, written)
    return rows


def proposed(project: Path) -> tuple[Path, ...]:
    """Return the files of rows that a project brings with it: for people to see, not to count."""
    folder = project / PROPOSED
    return tuple(sorted(folder.glob("*.toml"))) if folder.is_dir() else ()
