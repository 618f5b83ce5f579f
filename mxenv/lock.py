"""Which bytes an image is made of, and what was relied upon: ``pylock.<name>.toml``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from mxenv.image import AddedFile
    from mxenv.inventoried import Inventoried
    from mxenv.verdict import Waiver

SCHEMA = "mxenv.lock/1"
PEP751 = "1.0"
"""The version of the lockfile format that it is an extension of."""
MACHINES = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
"""What Python's ``platform_machine`` says on each platform."""
UNRESOLVED = f"sha256:{'f' * 64}"
"""The digest of no image description: of two locks that were merged, and not resolved since."""
WHEELHOUSE = "wheelhouse"
"""The folder beside the lock that holds its wheels; git does not."""


@frozen
class Wheel:
    """One wheel, by file name and hash; where it comes from is configuration."""

    name: str
    """The file name."""
    sha256: str
    size: int = 0
    """Bytes; 0 if the index did not say."""
    url: str = ""
    """Where it was found, if the lock is to say so: it then takes the place of the path."""


@frozen
class Source:
    """The source distribution that a wheel was built from, and how: so it can be built again."""

    name: str
    """The file name."""
    sha256: str
    size: int = 0
    builder: str
    """What called the build backend, with its version; not what was built by it."""
    python: str
    """Of the Python that built, all three numbers."""
    epoch: int
    """``SOURCE_DATE_EPOCH``."""
    requires: tuple[str, ...] = ()
    """Everything that was installed to build it: ``hatchling==1.27.0 --hash=sha256:…``."""


@frozen
class Package:
    """One distribution that is added to the base."""

    name: str
    """Normalised (PEP 503)."""
    version: str
    wheel: Wheel
    requires_python: str = ""
    source: Source | None = None
    """Set: no index has the wheel; it is built from this."""


@frozen
class Base:
    """The image that everything is added to, by digest."""

    reference: str
    """As the image description has it; ``scratch`` has no digest."""
    digest: str = ""
    """``sha256:…`` of the manifest for the platform (never of an index)."""
    snapshot: str = ""
    """The stack digest of what was found inside."""
    listing: str = ""
    """The digest of its record (`mxenv.base_record`); empty if nobody saw which files it holds."""


@frozen
class Target:
    """Where in the image wheels are installed, and what runs them."""

    platform: str
    """``linux/amd64`` or ``linux/arm64``."""
    python: str
    """``3.11``."""
    prefix: str
    """The environment's prefix, ``/usr`` or ``/opt/conda``."""
    interpreter: str
    """Absolute; goes into the first line of scripts."""
    purelib: str
    platlib: str
    scripts: str
    data: str
    libc: str = ""
    """``2.36``: the glibc that wheels may ask for; empty on ``scratch``: none checked."""
    links: tuple[tuple[str, str], ...] = ()
    """Folders below these that are links in the base, and where they lead; sorted."""

    def real(self, path: str) -> str:
        """Return where a file of a wheel lies, if a link of the base is on its way."""
        for link, lead in reversed(self.links):
            if path.startswith(f"{link}/"):
                return lead.rstrip("/") + path[len(link) :]
        return path

    @property
    def marker(self) -> str:
        """Return the PEP 508 marker of the one environment that this is."""
        return (
            "sys_platform == 'linux'"
            f" and platform_machine == '{MACHINES[self.platform]}'"
            f" and python_version == '{self.python}'"
        )

    @property
    def requires_python(self) -> str:
        """Return the specifier of the interpreters that wheels installed here are for."""
        return f"=={self.python}.*"


@frozen
class Provided:
    """One thing that the base brings: never replaced, never listed for installation."""

    name: str
    version: str


@frozen
class Relied:
    """What was known when the lock was made."""

    matrix: str
    """The digest of the matrix."""
    rows: tuple[str, ...]
    """The rows that the verdict rests on."""
    outcome: str
    """The word of an `Outcome`."""


@frozen
class Built:
    """The image that the lock stands for, written after it was first built."""

    config: str
    """``sha256:…`` of the image configuration: the same on every machine, always."""
    manifest: str
    layers: tuple[str, ...]
    """The diff ids (uncompressed digests) of the layers that were added, in order."""
    compiler: str = ""
    """The version of the Python that compiled modules: another one may do it otherwise."""


@frozen
class Recipe:
    """What a container engine made the image from, of a lock that needs one.

    Its images differ each time, so that no digest of one stands here: what it was given does not.
    """

    engine: str
    containerfile: str
    """``sha256:…`` of the Containerfile."""
    context: str
    """``sha256:…`` of the tar file with everything that it may take from."""


@frozen
class AskedTorch:
    """The build of torch whose word on operators a lock keeps."""

    file: str
    """The snapshot that holds all it says, as the image description names it."""
    digest: str
    """Of all it says."""
    version: str
    key: str
    """``CUDA``, ``PrivateUse1``, ``CPU``: for which of torch's dispatch keys it was asked."""


@frozen
class Lock:
    """A whole lockfile."""

    name: str
    inputs: str
    """The digest of the image description that this was made from; another one is stale."""
    accelerator: str
    base: Base
    target: Target
    packages: tuple[Package, ...]
    requires: tuple[str, ...] = ()
    """The Python requirements that were resolved, as the image description has them."""
    bytecode: bool = False
    """True if the image holds the bytecode of its modules as well."""
    provided: tuple[Provided, ...] = ()
    """Python distributions of the base's environment, sorted by name."""
    facts: tuple[tuple[str, str], ...] = ()
    """What else of the base matters, as ``("metax.sdk", "3.5.3.20")``."""
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[AddedFile, str], ...] = ()
    """Each with the SHA-256 of its content."""
    models: tuple[str, ...] = ()
    """The inventories that the image description names."""
    inventories: tuple[Inventoried, ...] = ()
    """What is kept of each, sorted by its file."""
    torch: AskedTorch | None = None
    """The build that was asked which operators it has; `None` if the description names none."""
    operators: tuple[tuple[str, str], ...] = ()
    """What it says of those that the models need, by name, as `mxenv.locked_operators` has it."""
    system: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    """Scripts that are run in the image after its system packages are there."""
    host: tuple[str, ...] = ()
    relied: Relied | None = None
    waivers: tuple[Waiver, ...] = ()
    built: Built | None = None
    recipe: Recipe | None = None

    @property
    def needs_engine(self) -> bool:
        """Return whether something must be run in the image to make it."""
        return bool(self.system or self.run)

    def __post_init__(self) -> None:
        """Sort what has no order of its own, so that equal locks are equal values."""
        object.__setattr__(self, "packages", tuple(sorted(self.packages, key=lambda p: p.name)))
        object.__setattr__(self, "provided", tuple(sorted(self.provided, key=lambda p: p.name)))
        kept = tuple(sorted(self.inventories, key=lambda one: one.file))
        object.__setattr__(self, "inventories", kept)
        object.__setattr__(self, "operators", tuple(sorted(self.operators)))
        object.__setattr__(self, "facts", tuple(sorted(self.facts)))
        object.__setattr__(self, "variables", tuple(sorted(self.variables)))


def parse(text: str, *, context: str) -> Lock:
    """Return the lock that ``text`` is; `LockError` names ``context`` and the place in it."""
    from mxenv import lock_reader  # noqa: PLC0415 - it knows this module, not the reverse

    return lock_reader.parse(text, context=context)


def render(lock: Lock) -> str:
    """Return ``lock`` as TOML: equal locks give equal text, one fact a line."""
    from mxenv import lock_writer  # noqa: PLC0415 - it knows this module, not the reverse

    return lock_writer.render(lock)


def without_image(lock: Lock) -> Lock:
    """Return the lock as the image holds it: it cannot contain its own digest.

    Nor does it say where wheels were found, so that the digest is the same wherever that was.
    """
    return replace(without_urls(lock), built=None, recipe=None)


def without_urls(lock: Lock) -> Lock:
    """Return the lock with no word of where its wheels were found."""
    plain = (replace(p, wheel=replace(p.wheel, url="")) for p in lock.packages)
    return replace(lock, packages=tuple(plain))


def public_url(location: str) -> str:
    """Return ``location`` as a lock may hold it: no login; nothing if it is no URL for others.

    What follows a question mark is often a token with an end; without it the rest leads nowhere.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    place = parts.netloc.rpartition("@")[-1]
    if parts.scheme not in {"http", "https"} or not place or parts.query:
        return ""
    if not location.isprintable() or " " in location:
        return ""
    return urlunsplit(parts._replace(netloc=place, fragment=""))
