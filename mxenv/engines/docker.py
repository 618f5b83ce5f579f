"""Has a container engine, Docker's or podman's, build the image: for what must be run in it."""

from __future__ import annotations

import shutil
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO

from mxenv import rendering, start_gate
from mxenv._files import whole
from mxenv.engines import Engine, Order, Product, _context
from mxenv.engines._conversation import Conversation, connected, heard
from mxenv.errors import EngineError, UsageError
from mxenv.image import IN_FILES, SCRATCH
from mxenv.redaction import clean
from mxenv.stores import places
from mxenv.stores.description import describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from docker import APIClient

    from mxenv.lock import Recipe
    from mxenv.stores import Descriptor, Source

ARCHIVE = ".tar"
"""How a file is called that `--out` takes for an archive of the engine, and no layout's folder."""

FOREVER = ["-c", "trap 'exit 0' TERM; while :; do sleep 1; done"]
"""A program of ``/bin/sh`` that waits to be asked."""


def build(order: Order) -> Product:
    """Build, look inside, and only then give the image its name."""
    _reachable(order)
    base, began = configuration(order), time.monotonic()
    with closing(connected()) as api:
        _have_base(api, order)
        with _context.opened_context(order, base) as context:
            image = _built(api, order, context)
            sent = context.sent
        # An engine makes the same image again out of its cache: then it has a name already.
        named = _names(api, image)
        good = False
        try:
            built = time.monotonic()
            _tell(order, f"looking into {image}")
            with _saved(api, image) as archive:
                _look(api, order, image, archive)
                good, looked = True, time.monotonic()
                _tell(order, f"bringing {image} where it goes")
                digest, name = _published(api, order, image, archive)
        except BaseException:
            # Steps may have taken hours: those of a good image stay, for who tries again.
            _forget(api, image, named, steps=not good)
            raise
    ended = time.monotonic()
    return Product(
        config=image,
        manifest=digest,
        layers=(),
        name=name,
        written=sent,
        read=0,
        seconds=(("build", built - began), ("look", looked - built), ("publish", ended - looked)),
        notes=(
            "an engine's image has another digest each time: the lock names what it was made from",
            *start_gate.limits(order.lock.host, gated=order.base != SCRATCH),
        ),
    )


def _tell(order: Order, step: str) -> None:
    if order.told is not None:
        order.told(step)


def _reachable(order: Order) -> None:
    """Refuse at once what could only fail when all is built: no place to put an image."""
    if order.push is not None:
        from mxenv.stores import registry  # noqa: PLC0415 - imported late: one of the ways

        registry.open_sink(order.push)
    elif order.out is not None and order.out.suffix != ARCHIVE:
        from mxenv.stores import layout  # noqa: PLC0415 - imported late: the same

        layout.open_sink(order.out)
    elif order.out is not None and order.out.is_dir():
        raise UsageError(
            "is a folder, and an archive of the engine is a file",
            context=str(order.out),
            hint=f"a folder whose name does not end in {ARCHIVE} becomes an OCI layout",
        )


def recipe(order: Order) -> Recipe:
    """Return what this engine is given: the same on every machine."""
    return _context.recipe(order, configuration(order), "docker")


def configuration(order: Order) -> Mapping[str, object]:
    """Return the configuration of the base; of ``scratch``, an empty one."""
    if order.base == SCRATCH:
        return {}
    if order.known is not None:
        return order.known.image.configuration
    address = places.pinned(order.base, order.lock.base.digest)
    return describe(places.source_of(address), order.lock.target.platform).configuration


def _have_base(api: APIClient, order: Order) -> None:
    """Load a base that lies in a folder: no engine reads one there."""
    name = rendering.reference(order.lock)
    if not order.base.startswith(IN_FILES) or api.images(name):
        return
    source = places.source_of(places.pinned(order.base, order.lock.base.digest))
    image = describe(source, order.lock.target.platform)
    problem = ""
    with heard("the base cannot be loaded", order.base):
        for answer in api.load_image(_context.archive(source, image, name)):
            problem = str(answer.get("error", problem))
    if problem:
        raise EngineError(f"the base cannot be loaded: {clean(problem)}", context=order.base)


def _built(api: APIClient, order: Order, context: _context.Context) -> str:
    """Return the digest of the image that the engine made; it has no name yet."""
    conversation = Conversation(api=api, told=order.told)
    try:
        with heard("the build failed", rendering.NAME):
            answers = api.build(
                fileobj=context,
                custom_context=True,
                dockerfile=rendering.NAME,
                rm=True,
                forcerm=True,
                decode=True,
                network_mode=order.network or None,
                platform=order.lock.target.platform,
            )
            return conversation.image_of(answers)
    except BaseException:
        conversation.undo()
        raise


@contextmanager
def _saved(api: APIClient, image: str) -> Iterator[Path]:
    """Give the image as the engine hands it out, in a file that is gone afterwards."""
    with NamedTemporaryFile(prefix="mxenv-image-", suffix=ARCHIVE) as file:
        with heard("the image cannot be read", image):
            pieces = iter(api.get_image(image))
            piece = next(pieces, b"")
        while piece:
            _written(file, piece)
            with heard("the image cannot be read", image):
                piece = next(pieces, b"")
        yield Path(file.name)


def _written(file: IO[bytes], piece: bytes) -> None:
    try:
        file.write(piece)
        file.flush()
    except OSError as error:
        raise EngineError(
            f"the image cannot be kept while it is looked at: {error.strerror}",
            context=file.name,
            hint="it takes as much room as the image, for a moment; TMPDIR names another folder",
        ) from error


def _look(api: APIClient, order: Order, image: str, archive: Path) -> None:
    """Hold what is inside against the lock: from the layers, and where there is a shell, run."""
    if order.look is None:
        return
    order.look(f"{places.ARCHIVE}:{archive}")
    if order.base == SCRATCH:
        return
    with heard("the image does not run", image), _running(api, image) as container:
        order.look(f"docker:{container}")


@contextmanager
def _running(api: APIClient, image: str) -> Iterator[str]:
    """Give a container of the image that does nothing, reaches nothing, and goes away again."""
    container = api.create_container(
        image, entrypoint=["/bin/sh"], command=FOREVER, network_disabled=True, user="0:0"
    )["Id"]
    try:
        api.start(container)
        yield container
    finally:
        with suppress(Exception):
            api.remove_container(container, force=True, v=True)


def _published(api: APIClient, order: Order, image: str, archive: Path) -> tuple[str, str]:
    """Put the image where it goes; return the digest of its manifest, if it has one, and a name."""
    if order.push is not None:
        return _pushed(api, order, order.push, image)
    if order.out is None:
        _named(api, image, order.lock.name, "latest")
        return "", f"{order.lock.name}:latest"
    if order.out.suffix == ARCHIVE:
        with archive.open("rb") as source_file, whole(order.out) as file:
            shutil.copyfileobj(source_file, file)
        return "", f"{places.ARCHIVE}:{order.out}"
    from mxenv.stores import layout  # noqa: PLC0415 - imported late: only one of the ways

    source, sink = places.source_of(f"{places.ARCHIVE}:{archive}"), layout.open_sink(order.out)
    found, manifest = source.manifest(order.lock.target.platform)
    description = describe(source, order.lock.target.platform)
    for descriptor in (*description.layers, description.config):
        if not sink.has(descriptor.digest):
            sink.write(descriptor, partial(_entered, source, descriptor))
    digest = sink.tag(manifest, found.media_type, order.lock.name)
    return digest, f"{places.LAYOUT}:{order.out}:{order.lock.name}"


def _entered(source: Source, descriptor: Descriptor) -> BinaryIO:
    # The sink leaves the stream that it is given, and a stream that is left closes itself.
    return source.blob(descriptor).__enter__()


def _named(api: APIClient, image: str, repository: str, tag: str) -> None:
    with heard("cannot be named", f"{repository}:{tag}"):
        api.tag(image, repository, tag)


def _pushed(api: APIClient, order: Order, reference: str, image: str) -> tuple[str, str]:
    head, slash, last = reference.partition("@")[0].rpartition("/")
    name, _, tag = last.partition(":")
    repository = f"{head}{slash}{name}"
    _named(api, image, repository, tag or "latest")
    digest = problem = ""
    with heard("cannot be pushed", reference):
        for answer in api.push(repository, tag or "latest", stream=True, decode=True):
            problem = str(answer.get("error", problem))
            digest = (answer.get("aux") or {}).get("Digest", digest)
    if problem:
        raise EngineError(
            f"cannot be pushed: {clean(problem)}",
            context=reference,
            hint="`docker login` if it asks who you are; the steps are kept for the next build",
        )
    if not digest:
        there = places.source_of(f"{places.IMAGE}:{repository}:{tag or 'latest'}")
        digest = arrived(there, order.lock.target.platform, image)
    return digest, f"{repository}@{digest}"


def arrived(source: Source, platform: str, image: str) -> str:
    """Return the digest of the manifest that a registry has of an image: podman does not say it."""
    found = describe(source, platform)
    if found.config.digest != image:
        raise EngineError(
            f"is {found.config.digest} by now, and not {image}, which was pushed",
            context=source.name,
            hint="does somebody else push by this name? Give the image one of its own",
        )
    return found.manifest.digest


def _names(api: APIClient, image: str) -> frozenset[str]:
    with heard("the image cannot be read", image):
        return frozenset(api.inspect_image(image).get("RepoTags") or ())


def _forget(api: APIClient, image: str, before: frozenset[str], *, steps: bool) -> None:
    """Remove what is not as it should be, or nobody waits for; what had a name before keeps it.

    With ``steps`` what it was made of goes as well, as far as nothing else needs it.
    """
    with suppress(Exception):
        for name in _names(api, image) - before:
            # An image goes with its last name.
            api.remove_image(name, noprune=not steps)
        if not before:
            api.remove_image(image, noprune=not steps)


ENGINE = Engine(
    title="a container engine: Docker or podman", build=build, recipe=recipe, keeps=True
)
