"""Which of a node's Python environments is the one in use, and the node as seen from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.errors import UsageError
from mxenv.facts import Observed
from mxenv.selector import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Fact, Snapshot

FRAMEWORKS = ("torch", "paddlepaddle", "paddlepaddle-gpu", "paddle-metax-gpu", "tensorflow")
"""Distributions that a stack is built around; an environment with one is meant to compute."""
_PREFIX = "python."
_VERSIONS = ("python.version", "python.series")
VENDOR = "metax"


def candidates(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the environments that could be the one in use, by their prefixes, sorted.

    Best are those with the vendor's framework, then those with anything of the vendor's (where
    the framework was replaced by upstream's), then those with any framework.
    """
    vendors: set[str] = set()
    frameworks: set[str] = set()
    for env, name, text in _packages(snapshot):
        tag = version.tag(text)
        if tag and tag.vendor == VENDOR:
            vendors.add(env)
        if name in FRAMEWORKS:
            frameworks.add(env)
    best = {
        env
        for env, name, text in _packages(snapshot)
        if name in FRAMEWORKS and (tag := version.tag(text)) and tag.vendor == VENDOR
    }
    return tuple(sorted(best or vendors or frameworks))


def select_env(snapshot: Snapshot, env: str | None) -> str | None:
    """Return ``env`` if it is there, or the only candidate; `None` if there is none, or several."""
    if env is None:
        found = candidates(snapshot)
        return found[0] if len(found) == 1 else None
    prefix = env.rstrip("/") or "/"
    known = sorted(environments(snapshot))
    if prefix not in known:
        raise UsageError(
            f"{snapshot.node} has no Python environment {env!r}",
            hint=f"it has {', '.join(known)}" if known else "none was found there",
        )
    return prefix


def environments(snapshot: Snapshot) -> frozenset[str]:
    """Return the prefixes of all environments that anything was read of."""
    facts = (fact for key in _VERSIONS for fact in snapshot.of(key))
    read = {fact.instance for fact in facts if fact.instance}
    return frozenset(read | {env for env, _, _ in _packages(snapshot)})


def within(snapshot: Snapshot, env: str | None) -> Snapshot:
    """Return the node without what belongs to its other environments."""
    facts = tuple(fact for fact in snapshot.facts if env is None or _belongs(fact, env))
    return replace(snapshot, facts=facts)


def _belongs(fact: Fact, env: str) -> bool:
    if not fact.key.startswith(_PREFIX) or not fact.instance:
        return True
    return env in (fact.instance, fact.instance.rpartition("/")[0])


def _packages(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    for fact in snapshot.of(PACKAGE):
        if isinstance(fact.reading, Observed):
            env, _, name = fact.instance.rpartition("/")
            yield env, name, str(fact.reading.value)
