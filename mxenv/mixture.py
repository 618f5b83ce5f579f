"""Whether versions of different releases are mixed, and which came from where."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.coverage import releases_of
from mxenv.matrix import SDK_FIELDS
from mxenv.stack import SDK, listed, read_in, sdk_family
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.matrix import Matrix, Tested
    from mxenv.ruling import Ruled
    from mxenv.stack import Component, Stack


def mixture(
    found: Stack, matrix: Matrix, ruled: Sequence[Ruled], tested: Sequence[Tested]
) -> Finding | None:
    """Return which component belongs to which release, if they belong to several.

    Two SDK families are a mixture if a rule is broken by one of the components, or if they differ
    in the first two fields already; where only the third differs and no rule minds (mcoplib looks
    at two fields), nobody forbids it, and whether anybody covers it is told elsewhere.
    """
    families = _families(found)
    if len(families) < 2:  # noqa: PLR2004 - one family is no mixture
        return None
    members = [component.name for group in families.values() for component in group]
    if any(set(members) <= {SDK, *dict(row.packages)} for row in tested):
        return None
    broken = [r for r in ruled if r.outcome is Outcome.INCOMPATIBLE and r.tested is None]
    broken = [r for r in broken if any(check.about & {*members} for check in r.checks)]
    lines = {version.family(family, SDK_FIELDS - 1) for family in families}
    if not broken and len(lines) == 1:
        return None
    odd = _odd(found, families)
    return Finding(
        code="MX110",
        outcome=Outcome.INCOMPATIBLE,
        subject=", ".join(component.name for component in odd),
        found="; ".join(_told(family, families[family], matrix) for family in families)
        + f" ({read_in(component for group in families.values() for component in group)})",
        expected="everything from one release, for one SDK family",
        because=tuple(dict.fromkeys(piece for r in broken for piece in r.rule.evidence)),
        remedy=f"reinstall {', '.join(c.name for c in odd)} from the release of the others",
        row=broken[0].rule.row if broken else "",
    )


def _families(found: Stack) -> Mapping[str, Sequence[Component]]:
    """Return the components by SDK family, oldest first."""
    groups: dict[str, list[Component]] = {}
    for component in (found.sdk, *found.packages):
        tag = component.tag
        sdk = found.sdk.version if component is found.sdk else (tag.sdk if tag else "")
        if family := sdk_family(sdk):
            groups.setdefault(family, []).append(component)
    return {family: groups[family] for family in sorted(groups, key=version.parse)}


def _odd(found: Stack, families: Mapping[str, Sequence[Component]]) -> list[Component]:
    """Return the components that are not of the SDK's family, or of the largest without one."""
    own = sdk_family(found.sdk.version) or max(families, key=lambda name: len(families[name]))
    return [c for family, group in families.items() if family != own for c in group]


def _told(family: str, group: Sequence[Component], matrix: Matrix) -> str:
    """Return a family with its components, and the release that most of them come from."""
    comes = {component.name: releases_of(component, matrix) for component in group}
    counted = Counter(row.id for rows in comes.values() for row in rows)
    parts = [f"{component.name} {component.version}" for component in group]
    origin = f"release {counted.most_common(1)[0][0]}" if counted else "no known release"
    return f"of SDK {family} ({origin}): {listed(parts)}"
