"""How a Nagios plug-in answers: one line on stdout, and a status of 0 to 3, whatever happens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mxenv.cli import _status
from mxenv.cli._output import emit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.verdict import Finding, Verdict

COMMAND, OPTION, VARIABLE = "check", "--nagios", "MXENV_CHECK_NAGIOS"
YES = {"1", "true", "t", "yes", "y", "on"}
"""What click takes a variable for."""
SOME = 3
"""What is named, at most."""


def asked(words: Sequence[str], options: Mapping[str, object]) -> bool:
    """Return whether a plug-in is meant by a command line, even by one that cannot be parsed.

    ``options`` are the user's own defaults.
    """
    if COMMAND not in words:
        return False
    own = options.get(COMMAND)
    default = isinstance(own, dict) and own.get(OPTION.removeprefix("--")) is True
    return OPTION in words or os.environ.get(VARIABLE, "").lower() in YES or default


def unknown(message: str) -> int:
    """Say why nothing could be looked at; 2, which a usage error has else, would be an alarm."""
    status = _status.NAGIOS_WORDS.index("UNKNOWN")
    return _answer(status, message)


def answer(verdicts: Sequence[Verdict]) -> int:
    """Say what came of one node, or of many."""
    return _one(verdicts[0]) if len(verdicts) == 1 else _many(verdicts)


def _one(verdict: Verdict) -> int:
    status = _status.nagios(verdict)
    count = sum(not finding.advice for finding in verdict.findings)
    text = f"{count} checked" if status == 0 else _worst(verdict)
    return _answer(status, f"{verdict.subject}: {text}")


def _many(verdicts: Sequence[Verdict]) -> int:
    outcome = _status.worst(verdicts)
    alike = [verdict for verdict in verdicts if verdict.outcome is outcome]
    status = max(map(_status.nagios, alike), default=_status.NAGIOS[outcome])
    text = f"{len(verdicts)} nodes"
    if status:
        # Among compatible nodes, only those warn of which something is waived.
        bad = [verdict for verdict in alike if _status.nagios(verdict) == status]
        named = "; ".join(f"{verdict.subject}: {_worst(verdict)}" for verdict in bad[:SOME])
        text = f"{len(bad)} of {text}: {named}"
    return _answer(status, text)


def _worst(verdict: Verdict) -> str:
    """Return what the status comes from."""
    if _status.nagios(verdict) == _status.NAGIOS_WARNING:
        waived = [finding for finding in verdict.findings if finding.waiver is not None]
        return f"{len(waived)} waived: {_named(waived)}"
    worst = [f for f in verdict.findings if f.counts and f.outcome is verdict.outcome]
    return _named(worst) or "nothing that counts was checked"


def _named(findings: Sequence[Finding]) -> str:
    return ", ".join(f"{finding.code} {finding.subject}" for finding in findings[:SOME])


def _answer(status: int, text: str) -> int:
    from mxenv.reports._page import harmless  # noqa: PLC0415 - imported late: only for an answer

    # What stands after a bar is performance data to Nagios.
    line = harmless(text).replace("|", "/")
    emit(f"MXENV {_status.NAGIOS_WORDS[status]} - {line}\n")
    return status
