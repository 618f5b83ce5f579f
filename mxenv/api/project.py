"""Where the files of a project are, and how they are read: image descriptions, locks."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import _files, _plugins, table
from mxenv import image as images
from mxenv import lock as locks
from mxenv._hashing import sha256_of
from mxenv.api import nodes
from mxenv.conflict_marks import first_mark, our_side
from mxenv.constraint import Constraint
from mxenv.errors import ImageError, Incompatible, LockError, UsageError
from mxenv.image import IN_FILES
from mxenv.stores import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.image import Image
    from mxenv.lock import Lock

NO_ACCELERATOR = "none"
LOCKFILES = "lockfiles"
LARGEST = 1 << 24
"""Bytes; an image description or a lock above this was not written by anybody."""
_MARK = b"[tool.mxenv"
"""What a file has that was a lock of mxenv, whatever happened to the rest of it."""
CONFLICT = "a conflict that nobody solved"
UNKNOWN_HERE = "unknown field, which would be lost"
_IS_LOCK = re.compile(r"(?m)^lock-version\s*=")
_IS_IMAGE = re.compile(r"(?m)^schema\s*=\s*[\"']mxenv\.image/")
_LOCK_NAME = re.compile(r"pylock\.([^.]+)\.toml")


def root_of(image_toml: Path) -> Path:
    """Return the project's root: what ``images/`` lies in, or else the file's own folder."""
    folder = image_toml.absolute().parent
    above = next((parent for parent in folder.parents if parent.name == "images"), None)
    root = above.parent if above else folder
    here = Path.cwd()
    return root.relative_to(here) if root.is_relative_to(here) else root


def root_of_lock(lock: Path) -> Path:
    """Return the project's root: what ``lockfiles/`` lies in, or else the file's own folder."""
    folder = lock.absolute().parent
    return folder.parent if folder.name == LOCKFILES else folder


def _roots(path: Path) -> tuple[Path, ...]:
    """Return where the project may lie that a lock belongs to, the likeliest first.

    Whatever is found there is compared with the digests in the lock.
    """
    return root_of_lock(path), path.absolute().parent, Path.cwd()


def base_of(lock: Lock, path: Path) -> str:
    """Return where the base is read; what lies in files is relative to the project."""
    reference = lock.base.reference
    if not reference.startswith(IN_FILES):
        return reference
    for root in _roots(path):
        address = places.below(reference, root)
        found = places.path_of(address)[0]
        if found.is_file() or (found / "oci-layout").is_file():
            # A tag may have moved on, or be gone: the digest is what was locked.
            return places.pinned(address, lock.base.digest)
    return reference


def files_of(lock: Lock, path: Path) -> Path:
    """Return the folder of the image description, to which added files are relative."""
    folders = [root / "images" / lock.name for root in _roots(path)]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def lock_path(image_toml: Path, out: Path | None = None) -> Path:
    """Return where the lock of ``image_toml`` lies: in ``lockfiles/`` beside ``images/``."""
    if out is None:
        name = _parse_image(image_toml).name
        return root_of(image_toml) / LOCKFILES / f"pylock.{name}.toml"
    if not _LOCK_NAME.fullmatch(out.name):
        raise UsageError(
            f"{out.name!r} is no lockfile's name", hint="pylock.NAME.toml, as PEP 751 has it"
        )
    return out


def read_lock(path: Path) -> Lock:
    """Return the lock in ``path``."""
    return parse_lock(lock_text(path), path)


def resolved_lock(path: Path) -> Lock:
    """Return the lock in ``path``, of which a resolver saw the whole: one to make images from."""
    lock = read_lock(path)
    if lock.inputs == locks.UNRESOLVED:
        raise Incompatible(
            "two locks were merged into it, and the whole was not resolved since",
            context=f"{path}: tool.mxenv.inputs",
            hint="run `mxenv lock`: it keeps these versions where they go together",
        )
    return lock


def lock_text(path: Path) -> str:
    """Return what stands in the lock at ``path``."""
    return _text(path, LockError, "run `mxenv lock` first")


@lru_cache(maxsize=1)
def _parsed(text: str, context: str) -> Lock:
    """Return what `mxenv.lock.parse` does: who writes a lock looks at it again right before."""
    return locks.parse(text, context=context)


def parse_lock(text: str, path: Path) -> Lock:
    """Return the lock that ``text`` of the file ``path`` is."""
    if line := first_mark(text):
        hint = "`mxenv lock` resolves it anew, with the versions of our side where that is possible"
        raise LockError(CONFLICT, context=f"{path}: line {line}", hint=hint)
    try:
        lock = _parsed(text, str(path))
    except LockError:
        if _IS_IMAGE.search(text):
            raise LockError(
                "is an image description, and no lock",
                context=str(path),
                hint=f"`mxenv lock {path}` makes its lock, in {LOCKFILES}/",
            ) from None
        if _IS_LOCK.search(text) and _MARK.decode() not in text:
            raise LockError(
                "is a lock, and none of mxenv: it has no [tool.mxenv]",
                context=str(path),
                hint="`mxenv lock` makes one, from an image description",
            ) from None
        raise
    place = f"{path}: tool.mxenv"
    _check_accelerator(lock.accelerator, LockError, f"{place}.accelerator")
    _check_host(lock.host, LockError, f"{place}.host")
    return lock


def existing_lock(path: Path) -> Lock | None:
    """Return the lock that is there; a damaged one counts for nothing, another file is kept.

    One with conflicts counts as our side has it. What another mxenv wrote is kept as well.
    """
    if not path.exists():
        return None
    try:
        text = lock_text(path)
        return parse_lock(our_side(text) if first_mark(text) else text, path)
    except LockError as error:
        if error.message == table.UNKNOWN:
            hint = "an mxenv that knows it may have written it; remove the file to lock anew"
            raise LockError(UNKNOWN_HERE, context=error.context, hint=hint) from None
        _keep_of_others(path)
        if path.is_file() and path.stat().st_size <= LARGEST and _MARK in path.read_bytes():
            return None
        raise UsageError(
            "is there, and is no lock of mxenv", context=str(path), hint="name another with --out"
        ) from None


def _keep_of_others(path: Path) -> None:
    """Refuse to replace a whole file that says of itself that it is for another mxenv."""
    try:
        tool = tomllib.loads(lock_text(path))["tool"]["mxenv"]
        schema = tool["schema"]
    except (LockError, ValueError, RecursionError, KeyError, TypeError):
        return
    if schema != locks.SCHEMA:
        raise LockError(
            f"{schema!r} is not a schema of this mxenv, which would lose what it holds",
            context=f"{path}: tool.mxenv.schema",
            hint=f"take an mxenv that knows it, or remove the file; this one knows {locks.SCHEMA}",
        )


def read_image(path: Path) -> tuple[Image, dict[str, str]]:
    """Return the image in ``path``, and the SHA-256 of each file that it adds."""
    image = _parse_image(path)
    _check_accelerator(image.accelerator, ImageError, f"{path}: accelerator")
    _check_host(image.host, ImageError, f"{path}: host.requires")
    return image, dict(_hashes(image, path))


def _check_accelerator(name: str, error: type[ImageError | LockError], place: str) -> None:
    known = (*_plugins.names("vendors"), NO_ACCELERATOR)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        raise error(f"{name!r} is not known", context=place, hint=hint)


def _check_host(host: tuple[str, ...], error: type[ImageError | LockError], place: str) -> None:
    keys = nodes.keys() if host else {}
    for index, constraint in enumerate(host):
        context = f"{place}[{index}]"
        if not constraint.isprintable():
            raise error(f"{constraint!r} holds what cannot be printed", context=context)
        try:
            Constraint.parse(constraint, keys=keys)
        except UsageError as fault:
            raise error(fault.message, context=context, hint=fault.hint) from None


def _parse_image(path: Path) -> Image:
    text = _text(path, ImageError, "name an image description, as images/NAME/image.toml")
    try:
        return images.parse(text, context=str(path))
    except ImageError:
        if _IS_LOCK.search(text):
            raise ImageError(
                "is a lock, and no image description",
                context=str(path),
                hint="name the image.toml that it was made from, as images/NAME/image.toml",
            ) from None
        # A step of it may have lines that look like marks, and is TOML all the same.
        if not (line := first_mark(text)):
            raise
        raise ImageError(
            CONFLICT,
            context=f"{path}: line {line}",
            hint="decide which lines stay, and take the marks away; then run `mxenv lock`",
        ) from None


def _text(path: Path, error: type[ImageError | LockError], hint: str) -> str:
    try:
        return _files.read(path, limit=LARGEST).decode()
    except UnicodeDecodeError as fault:
        raise error(f"not UTF-8 at byte {fault.start}", context=str(path)) from None
    except (OSError, ValueError) as fault:
        reason = _files.why(fault)
        # A folder named in place of the description in it is as good as none.
        missing = IsADirectoryError if error is ImageError else ()
        hint = hint if isinstance(fault, (FileNotFoundError, missing)) else ""
        raise error(f"cannot be read: {reason}", context=str(path), hint=hint) from None


def _hashes(image: Image, path: Path) -> Iterator[tuple[str, str]]:
    # Not `Path.resolve`, which raises another error for a loop of links in every Python.
    folder = os.path.realpath(path.parent)
    for index, file in enumerate(image.files):
        place = f"{path}: files[{index}].source"
        source = Path(folder, file.source)
        if not Path(os.path.realpath(source)).is_relative_to(folder):
            raise ImageError(f"{file.source!r} is a link out of the folder", context=place)
        if not source.is_file():
            raise ImageError(f"there is no file {file.source!r}", context=place)
        try:
            yield file.source, sha256_of(source)
        except OSError as fault:
            raise ImageError(f"cannot be read: {fault.strerror}", context=place) from None
