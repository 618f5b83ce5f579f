"""Whether what a container engine has just made holds what the lock says, before it gets a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv.api import verifying
from mxenv.errors import Incompatible
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

MOST = 5
"""Differences that are named; `mxenv verify` names them all."""

BESIDE = ("MX302", "MX303", "MX33")
"""Codes that say nothing of what is inside: an engine's layers are never those of the other engine,
and what is asked of a host is not in an image, nor need this machine be such a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Looks at one image, from its layers and from a container of it."""

    lock_path: Path
    wheelhouse: Path

    def look(self, address: str) -> None:
        """Raise `Incompatible` if what lies at ``address`` is not the lock's."""
        verdict = verifying.verify(self.lock_path, address, wheelhouse=self.wheelhouse)
        bad = [
            finding
            for finding in verdict.findings
            if finding.outcome is Outcome.INCOMPATIBLE and not finding.code.startswith(BESIDE)
        ]
        if bad:
            said = "; ".join(f"{f.code} {f.subject}: {f.found}" for f in bad[:MOST])
            more = f"; and {len(bad) - MOST} more" if bad[MOST:] else ""
            raise Incompatible(
                f"the image that was made is not the lock's: {said}{more}",
                context=str(self.lock_path),
                hint="its system packages or steps change what was locked; "
                "ask for Python packages under [python]",
            )
