"""Judge many snapshot files: on all processors, and what one says of many is worked out once."""

from __future__ import annotations

import multiprocessing
import os
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import _files, bulk, fleet
from mxenv.addresses import ADDRESS
from mxenv.api import fleets, nodes
from mxenv.errors import MxenvError, SnapshotError
from mxenv.fleet import Failure, Fleet, Member
from mxenv.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.api.checking import Judging
    from mxenv.facts import Snapshot
    from mxenv.verdict import Finding

FEW = 64
"""Snapshots that are judged sooner than another process is started."""
CHUNK = 256
MOST = 8
"""Processes; each holds the lines that it met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one process found out of some files: whatever several share is in it once."""

    members: tuple[Member, ...]
    said: tuple[int, ...]
    """For each member, which of ``findings`` it has; -1 if it could not be read."""
    findings: tuple[tuple[Finding, ...], ...]
    stacks: tuple[tuple[str, bytes], ...]
    """One snapshot of each stack that this part is the first to have, packed."""


def are_files(targets: Sequence[str]) -> bool:
    """Tell whether all of many targets are snapshot files, and no addresses or recordings."""
    return bool(targets) and all(
        not ADDRESS.fullmatch(target)
        and not target.endswith((".tar.gz", ".tgz"))
        and Path(target).is_file()
        for target in targets
    )


def judge(
    paths: Sequence[str], judging: Judging, *, jobs: int | None = None
) -> tuple[Fleet, tuple[Verdict, ...]]:
    """Return the nodes in ``paths`` in short, and a verdict on each of them in their order.

    Processes are forked: nothing that draws from another thread may be under way.
    """
    members: list[Member] = []
    verdicts: list[Verdict] = []
    stacks: dict[str, bytes] = {}
    shared: dict[tuple[Finding, ...], tuple[Finding, ...]] = {}
    for part in _parts(paths, judging, jobs):
        for stack, packed in part.stacks:
            stacks.setdefault(stack, packed)
        # Equal findings of two processes become one value, as those of one process are.
        findings = [shared.setdefault(one, one) for one in part.findings]
        for member, said in zip(part.members, part.said, strict=True):
            members.append(member)
            verdicts.append(
                Verdict(subject=member.node, findings=findings[said], matrix=judging.matrix.digest)
                if said >= 0
                else fleets.not_asked(member)
            )

    own = _Worker(judging).bulk

    def one_of(stack: str) -> Snapshot:
        return own.read(zlib.decompress(stacks[stack]).decode(), address=stack)

    return Fleet(members=tuple(members), groups=fleet.groups(members, one_of, nodes.keys())), tuple(
        verdicts
    )


def _parts(paths: Sequence[str], judging: Judging, jobs: int | None) -> Iterator[_Part]:
    chunks = [paths[start : start + CHUNK] for start in range(0, len(paths), CHUNK)]
    count = min(jobs or len(os.sched_getaffinity(0)), MOST, len(chunks))
    if count < 2 or len(paths) <= FEW:  # noqa: PLR2004 - one process is this one
        own = _Worker(judging)
        yield from map(own.part, chunks)
        return
    # Forked: the matrix is there at once, and memory that nobody writes to is shared.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, context, initializer=_begin, initargs=(judging,)) as pool:
        yield from pool.map(_work, chunks)


class _Worker:
    """A process, and what it remembers."""

    def __init__(self, judging: Judging) -> None:
        by_rows = bulk.looked_at(judging.matrix)
        self.bulk = bulk.Bulk(
            keys=nodes.keys(),
            judge=judging.judge,
            looked_at=lambda key: key in judging.keys or by_rows(key),
        )

    def part(self, paths: Iterable[str]) -> _Part:
        """Judge some files."""
        members: list[Member] = []
        said: list[int] = []
        findings: dict[int, int] = {}
        distinct: list[tuple[Finding, ...]] = []
        stacks: dict[str, bytes] = {}
        for path in paths:
            began = time.monotonic()
            try:
                text = _text(path)
                taken = self.bulk.take(text, address=path)
            except (MxenvError, OSError) as error:
                members.append(_failed(path, error))
                said.append(-1)
                continue
            seconds = round(time.monotonic() - began, 2)
            members.append(replace(taken.member, seconds=seconds))
            # The same tuple stands for the same set of facts, and comparing it would cost more.
            place = findings.setdefault(id(taken.findings), len(distinct))
            if place == len(distinct):
                distinct.append(taken.findings)
            said.append(place)
            if taken.first and taken.member.stack:
                stacks[taken.member.stack] = zlib.compress(taken.first.encode(), 1)
        return _Part(
            members=tuple(members),
            said=tuple(said),
            findings=tuple(distinct),
            stacks=tuple(stacks.items()),
        )


def _failed(path: str, error: MxenvError | OSError) -> Member:
    if isinstance(error, MxenvError):
        failure = Failure.of(error)
    else:
        failure = Failure(message=f"the system refused: {_files.why(error)}", status=6)
    return Member(address=path, seconds=0.0, failure=failure)


def _text(path: str) -> str:
    try:
        return _files.read(Path(path), limit=nodes.LARGEST).decode()
    except UnicodeDecodeError as error:
        raise SnapshotError(f"not UTF-8 (byte {error.start})", context=path) from None
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot be read: {_files.why(error)}", context=path) from None


_OWN: list[_Worker] = []
"""The worker of this process, where it is one of several."""


def _begin(judging: Judging) -> None:
    _OWN[:] = [_Worker(judging)]


def _work(paths: Sequence[str]) -> _Part:
    return _OWN[0].part(paths)
