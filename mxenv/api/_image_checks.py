"""What an image says of itself, held against the lock that it should be made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import configuration, layers, start_gate
from mxenv import lock as locks
from mxenv.errors import Incompatible, LockError
from mxenv.layers import START_GATE
from mxenv.transports._tree import Unanswered
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.api._inside import Inside
    from mxenv.lock import Built, Lock
    from mxenv.stores import ImageDescription

LABEL = "io.mxenv.lock.digest"
REBUILD = "run `mxenv build` again, or take the image that was built from this lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Which of an image's layers are the lock's."""

    exact: bool
    """True if the configuration is the recorded one: then so is every layer, the base's too."""
    first: int | None
    """The number of the first of the lock's layers, if they are there."""
    count: int

    @property
    def ours(self) -> frozenset[int]:
        """Return the numbers of the lock's layers."""
        return frozenset(
            range(self.first, self.first + self.count) if self.first is not None else ()
        )


def standing(lock: Lock, image: ImageDescription, *, signed: bool = False) -> Standing:
    """Find the recorded layers among those of the image.

    Of an image that somebody ``signed`` they are the uppermost, as many as the lock makes.
    """
    if lock.needs_engine:
        # How an engine spreads files over layers is its own affair.
        return Standing(exact=signed, first=None, count=0)
    if lock.built is None:
        first = _planned(lock, len(image.diff_ids)) if signed else None
        count = len(image.diff_ids) - first if first is not None else 0
        return Standing(exact=first is not None, first=first, count=count)
    built = lock.built.layers
    # From the top: what is above them came later, whoever repeats them below.
    places = range(len(image.diff_ids) - len(built), -1, -1)
    first = next((n for n in places if image.diff_ids[n : n + len(built)] == built), None)
    exact = image.config.digest == lock.built.config
    return Standing(exact=exact, first=first, count=len(built))


def _planned(lock: Lock, total: int) -> int | None:
    """Return how many of ``total`` layers are the base's, if the lock makes all others."""
    for below in range(total):
        try:
            planned = len(layers.plan(lock, base_layers=below))
        except Incompatible:
            return None
        if below + planned + len(layers.above(lock)) == total:
            return below
    return None


def recorded(built: Built, image: ImageDescription, stands: Standing) -> Iterator[Finding]:
    """Yield whether the image is the recorded one, and what lies on top of it."""
    if stands.exact:
        yield Finding(
            code="MX301",
            outcome=Outcome.COMPATIBLE,
            subject="image configuration",
            found=f"{image.config.digest}, as recorded: with it every layer, the base's too",
        )
        return
    if stands.first is None:
        absent = [one for one in built.layers if one not in image.diff_ids]
        yield Finding(
            code="MX302",
            outcome=Outcome.INCOMPATIBLE,
            subject="image layers",
            found=f"{len(absent)} of {len(built.layers)} are not in the image"
            if absent
            else "in another order",
            expected=f"{', '.join(absent[:3] or built.layers[:3])} …",
            remedy=REBUILD,
        )
        return
    top = image.diff_ids[stands.first + stands.count :]
    if not top:
        yield _not_this(
            f"{image.config.digest}: the layers are the lock's, the base below them or what the "
            "configuration says is not",
            built.config,
        )
    yield from _on_top(top, image)


def made_again(
    lock: Lock, image: ImageDescription, base: ImageDescription | None
) -> Iterator[Finding]:
    """Yield whether the image is what lock and base make; for a lock that records no image.

    ``base`` is `None` for ``scratch``. The layers of the wheels are the image's own here: their
    files are compared one by one.
    """
    below = base.diff_ids if base else ()
    planned = [layer.title for layer in layers.plan(lock, base_layers=len(below))]
    titles = [*planned, *layers.above(lock)]
    own = image.diff_ids[len(below) :]
    if image.diff_ids[: len(below)] != below or len(own) < len(titles):
        yield _not_this(
            f"{len(image.diff_ids)} layers, not those of the base and then those of the lock",
            f"the {len(below)} layers of {lock.base.digest or 'scratch'}, then {len(titles)}",
        )
        return
    wanted = _configuration(lock, titles, own, base)
    if len(own) > len(titles):
        yield from _on_top(own[len(titles) :], image)
    elif image.config.digest == wanted:
        yield Finding(
            code="MX301",
            outcome=Outcome.COMPATIBLE,
            subject="image configuration",
            found=f"{image.config.digest}, as lock and base make it",
        )
    else:
        yield _not_this(f"{image.config.digest}: not what lock and base make", wanted)


def _configuration(
    lock: Lock, titles: list[str], own: tuple[str, ...], base: ImageDescription | None
) -> str:
    """Return the digest of the configuration that lock and base make of these layers."""
    made = [
        configuration.Made(title=title, diff_id=diff_id, digest="", size=0)
        for title, diff_id in zip(titles, own, strict=False)
    ]
    text = locks.render(locks.without_image(lock)).encode()
    document = configuration.configuration(
        lock,
        made,
        lock_digest=configuration.digest(text),
        base=base.configuration if base else {},
    )
    return configuration.digest(document)


def by_engine(lock: Lock, image: ImageDescription) -> Finding:
    """Return that a container engine made the image, and from which lock it says it did."""
    config = image.configuration.get("config")
    said = config.get("Labels") if isinstance(config, dict) else None
    label = said.get(LABEL) if isinstance(said, dict) else None
    text = locks.render(locks.without_image(lock)).encode()
    if label != (wanted := configuration.digest(text)):
        return _not_this(f"made from {label or 'no lock'}, as its label has it", wanted)
    return Finding(
        code="MX306",
        outcome=Outcome.UNKNOWN,
        subject="image configuration",
        found=f"{image.config.digest}: made by a container engine, from this lock as it says",
        expected="a digest that can be compared; an engine's images differ each time",
        remedy="sign it (`mxenv build --sign`), and verify it with --key",
    )


def _not_this(found: str, expected: str) -> Finding:
    return Finding(
        code="MX302",
        outcome=Outcome.INCOMPATIBLE,
        subject="image configuration",
        found=found,
        expected=expected,
        remedy=REBUILD,
    )


def no_base(lock: Lock, reason: str) -> Finding:
    """Return that the base could not be read, to hold the image against it."""
    return Finding(
        code="MX305",
        outcome=Outcome.UNKNOWN,
        subject=f"base {lock.base.reference}",
        found=reason,
        expected=f"{lock.base.digest}, to compare its layers with those of the image",
        remedy="run `mxenv build` and keep the lock that it writes: the digest there says it all",
    )


def _on_top(top: tuple[str, ...], image: ImageDescription) -> Iterator[Finding]:
    for diff_id, made in zip(top, _makers(image)[-len(top) :] if top else (), strict=True):
        yield Finding(
            code="MX303",
            outcome=Outcome.UNKNOWN,
            subject="layer on top",
            found=f"{diff_id}{f' ({made})' if made else ''}",
            expected="nothing on top of the lock's layers",
            remedy="what it does beside the packages is not checked; " + REBUILD,
        )


def _makers(image: ImageDescription) -> list[str]:
    """Return what each layer says made it, as far as the image's history goes."""
    history = image.configuration.get("history")
    said = [
        str(entry.get("created_by") or entry.get("comment") or "")[:80]
        for entry in (history if isinstance(history, list) else ())
        if isinstance(entry, dict) and not entry.get("empty_layer")
    ]
    return [""] * max(0, len(image.diff_ids) - len(said)) + said[-len(image.diff_ids) :]


def lock_copy(lock: Lock, inside: Inside) -> Finding:
    """Compare the copy of the lock inside the image, which leaves out the image's digest."""
    path = configuration.lock_path(lock.name)
    try:
        text = inside.text(path)
    except Unanswered as unanswered:
        return _copy(Outcome.UNKNOWN, path, f"cannot be read: {unanswered}")
    if text is None:
        return _copy(Outcome.INCOMPATIBLE, path, "not there")
    try:
        copy = locks.parse(text, context=path)
    except LockError as error:
        return _copy(Outcome.INCOMPATIBLE, path, str(error))
    if copy != locks.without_image(lock):
        return _copy(Outcome.INCOMPATIBLE, path, "another lock: the image was made from that one")
    return _copy(Outcome.COMPATIBLE, path, "the same lock")


def _copy(outcome: Outcome, path: str, found: str) -> Finding:
    return Finding(
        code="MX304",
        outcome=outcome,
        subject=path,
        found=found,
        expected="a copy of the lock",
        remedy="" if outcome is Outcome.COMPATIBLE else REBUILD,
    )


def host(lock: Lock, image: ImageDescription, inside: Inside) -> Iterator[Finding]:
    """Yield what is asked of a host: nothing that an image holds, so who will ask it."""
    if not lock.host:
        return
    gate = _gate(lock, image, inside)
    unread = start_gate.unread(lock.host)
    for constraint in lock.host:
        outcome, found = gate
        if outcome is Outcome.COMPATIBLE and constraint in unread:
            outcome = Outcome.UNKNOWN
            found = "an image holds no host, and its start gate cannot check this"
        yield Finding(
            code="MX330",
            outcome=outcome,
            subject=constraint.split()[0],
            found=found,
            expected=constraint,
            remedy=""
            if outcome is Outcome.COMPATIBLE
            else "run `mxenv verify LOCK` on the node before the image is started there",
        )


def _gate(lock: Lock, image: ImageDescription, inside: Inside) -> tuple[Outcome, str]:
    """Return whether the start gate will be run, and is the one that belongs to the lock."""
    config = image.configuration.get("config")
    entry = config.get("Entrypoint") if isinstance(config, dict) else None
    if not isinstance(entry, list) or entry[:1] != [START_GATE]:
        return Outcome.UNKNOWN, "an image holds no host, and this one starts without a start gate"
    try:
        text = inside.text(START_GATE)
        _, node = inside.node(START_GATE)
    except Unanswered as unanswered:
        return Outcome.UNKNOWN, f"an image holds no host; {START_GATE} {unanswered}"
    if text is None or node is None:
        return Outcome.INCOMPATIBLE, f"{START_GATE} is not there: the image does not start"
    # A gate of the lock's own layers is the one that was built, whatever this version writes.
    if node.layer in inside.ours or text == start_gate.render(lock.host):
        return Outcome.COMPATIBLE, "not in an image; its start gate asks the host it starts on"
    if inside.ours:
        return Outcome.INCOMPATIBLE, f"{START_GATE} was replaced by a layer on top"
    return Outcome.UNKNOWN, f"{START_GATE} is not the one that this mxenv writes for the lock"
