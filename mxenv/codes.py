"""What the code of a finding means, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One kind of finding; a code never changes what it stands for."""

    title: str
    meaning: str
    """What was compared, and when this is said."""
    remedy: str


CODES: Mapping[str, Code] = {
    # MX1xx: a node, or what is inside an image, against the matrix.
    "MX101": Code(
        title="no accelerator here",
        meaning="No MetaX card was found, so nothing can be said of a stack for one. Not having "
        "looked at a card is not compatibility.",
        remedy="Ask a node that has a card: `mxenv check --on ssh:USER@NODE`; in a container, map "
        "/dev/mxcd and /dev/dri into it.",
    ),
    "MX102": Code(
        title="Python environment not decided",
        meaning="Several Python environments could be the one in use, and their versions differ "
        "from what one of them alone would give.",
        remedy="Name it: `mxenv check --env PREFIX`.",
    ),
    "MX103": Code(
        title="component could not be read",
        meaning="A named component (driver, SDK, framework) may be there, and could not be read.",
        remedy="See the reason; run `mxenv probe` where the component can be read.",
    ),
    "MX104": Code(
        title="component is missing",
        meaning="A component that this node needs was looked for where it would be, and is not "
        "there.",
        remedy="Install the version that the matrix names beside the other components.",
    ),
    "MX105": Code(
        title="driver and SDK not seen working together",
        meaning="No tested row has this kernel-mode driver with an SDK of this family on a card of "
        "this series, and no rule by the vendor covers them. Releases name no driver.",
        remedy="Take a pair that was tested, or run the pilot on this node and add its evidence to "
        "the site's matrix.",
    ),
    "MX106": Code(
        title="driver and SDK work together",
        meaning="A tested row has this driver with an SDK of this family on a card of this series.",
        remedy="Nothing to do.",
    ),
    "MX107": Code(
        title="SDK not in the matrix",
        meaning="No release and no tested row has an SDK of this family (its first three fields).",
        remedy="Take an SDK of a known family, or a newer matrix: `--matrix FILE`.",
    ),
    "MX108": Code(
        title="distribution not covered",
        meaning="No release and no tested row has this version with what else is installed. Rows "
        "that pin another component differently do not count.",
        remedy="Install the version that the named release pins.",
    ),
    "MX109": Code(
        title="component covered",
        meaning="A release or tested row has exactly this version, and agrees with the SDK and "
        "with every other named component.",
        remedy="Nothing to do.",
    ),
    "MX110": Code(
        title="versions of different releases are mixed",
        meaning="The vendor's build tags, and the SDK, belong to more than one SDK family (first "
        "three fields). This is the commonest reason why a job fails to start.",
        remedy="Reinstall the odd ones from the release of the SDK.",
    ),
    "MX111": Code(
        title="a rule is broken",
        meaning="A rule of the matrix applies to this node, and what it requires is not so.",
        remedy="See the remedy and the evidence of the row.",
    ),
    "MX112": Code(
        title="a rule could not be decided",
        meaning="A rule may apply to this node or may be broken, and a fact that it needs could "
        "not be read. It is not skipped: a blind probe would then be a clean bill of health.",
        remedy="Make the fact readable, then probe again.",
    ),
    "MX113": Code(
        title="a rule holds",
        meaning="A rule of the matrix applies to this node, and what it requires is so.",
        remedy="Nothing to do.",
    ),
    "MX114": Code(
        title="known to be broken",
        meaning="The node is in a state that the matrix lists as not working.",
        remedy="See the remedy and the evidence of the row.",
    ),
    "MX115": Code(
        title="may be known to be broken",
        meaning="The node may be in a state that the matrix lists as not working; a fact that "
        "would tell could not be read.",
        remedy="Make the fact readable, then probe again.",
    ),
    "MX116": Code(
        title="sources disagree",
        meaning="Two sources give different values for one fact. Both are shown; which is right "
        "cannot be told from here.",
        remedy="Look at both sources; a restart after an upgrade often makes them agree.",
    ),
    "MX117": Code(
        title="the host was not asked",
        meaning="An image holds no driver and no card. What a host must bring is checked on the "
        "host, by the lock's host requirements and the start gate.",
        remedy="Check the node as well: `mxenv verify LOCK --on ADDRESS`.",
    ),
    "MX118": Code(
        title="tested against a general rule",
        meaning="A rule says that these versions do not go together, and a tested row has exactly "
        "these versions working together. Exact evidence beats the rule.",
        remedy="Nothing to do; read both rows if something fails.",
    ),
    "MX119": Code(
        title="waiver expired",
        meaning="A finding was waived until a day that is past. It counts again, and the waiver "
        "itself is a failure, so that it is renewed or removed on purpose.",
        remedy="Mend what was waived, or renew the waiver with a new date and reason.",
    ),
    "MX120": Code(
        title="waiver not used",
        meaning="A waiver matched no finding. It changes nothing, and is shown so that it can be "
        "removed.",
        remedy="Remove the waiver.",
    ),
}


def explain(code: str) -> Code | None:
    """Return what ``code`` stands for, if it stands for anything."""
    return CODES.get(code.strip().upper())
