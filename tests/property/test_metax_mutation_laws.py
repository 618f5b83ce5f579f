from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv.facts import Absent, Fact, Observed, Unreadable, Value
from mxenv.probe import read_all
from mxenv.question import Answers, Command, Completed, Question
from mxenv.transports import Terms
from mxenv.transports.recording import TRANSPORT
from mxenv.vendors import _metax_brand, _mxsmi_forms
from mxenv.vendors.metax import VENDOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RECORDINGS = Path(__file__).parent.parent / "recordings"
NODES = (
    "c500-8cards",
    "c500-sgpu-container",
    "c500-torch-overwritten",
    "c550-8cards",
    "c550-pod-sdk-unknown",
    "x201-white-label",
)
CARDS = ("0000:16:00.0", "0000:17:00.0", "0000:98:00.0")
BLANK = Unreadable("not recorded")
RPMS = "metax-driver 3.7.0.9\nmaca_sdk_3.5.3 3.5.3.20\nmxfw 1.33.5.0\nmxml 3.3.1\n"


def log(section: Callable[[int], str]) -> str:
    """Return a log with a section for each card, as ``--show-…`` prints it."""
    cards = "".join(f"GPU#{n}  MXC500  {bdf}\n{section(n)}\n" for n, bdf in enumerate(CARDS))
    return f"mx-smi  version: 2.2.12\n\nAttached GPUs{' ' * 37}: 3\n{cards}End of Log\n"


def line(label: str, value: str) -> str:
    return f"        {label:<42}: {value} \n"


def row(n: int) -> str:
    """Return a card's row of the table; no two cards have a value in common."""
    slicing = "Enabled" if n == 1 else "Disabled"
    return (
        f"| {n}     MetaX C5{n}0 | {n}           {'On ' if n else 'Off'} | {CARDS[n]}        "
        f"| 0%         {slicing:>8} |\n"
        f"| 5{n}W / 3{n}0W       | 3{n}C          P9 | 70{n}/6553{n} MiB       "
        f"| Available            |\n"
        "+------------------+-----------------+---------------------+----------------------+\n"
    )


TABLE = f"""\
mx-smi  version: 2.2.12

Attached GPUs                                     : 3
+---------------------------------------------------------------------------------+
| MX-SMI 2.2.12                      Kernel Mode Driver Version: 3.8.30           |
| MACA Version: 3.5.3.20             BIOS Version: 1.33.5.0                       |
|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
{"".join(map(row, range(3)))}
+---------------------------------------------------------------------------------+
| Sliced GPU                                                                      |
|------------------------------------+---------------------+----------------------|
| Minor    GPU    sGPU-Id    Compute | Vram Quota          | sGPU-Util            |
|====================================+=====================+======================|
| 022      1      3          25%     | 0/16000 MiB         | 0%                   |
| 023      1      4          50%     | 0/32000 MiB         | 0%                   |
+------------------------------------+---------------------+----------------------+

End of Log
"""
LIST = "mx-smi  version: 2.2.12\n" + "".join(
    f"GPU#{n}    MXC5{n}0      {bdf}   Available (UUID: GPU-{n})\n" for n, bdf in enumerate(CARDS)
)
LIST = LIST.replace("GPU#2 ", "  SGPU#3   25% 15.625gb   Available (UUID: GPU-9) sgpu-1\nGPU#2 ")


def members(n: int) -> str:
    slices = (
        '[{"sgpu_id": 3, "compute_quota": 25, "vram_quota": 16000},\n'
        '{"sgpu_id": 4, "compute_quota": 50, "vram_quota": 32000}]'
    )
    return (
        f'    "{CARDS[n]}": {{\n        "device_id": {n},\n        "vbios_version": "1.33.5.{n}",\n'
        f'        "unavailable_reason": "",\n        "sgpu_count": {2 if n == 1 else 0},\n'
        f'        "sgpu_info": {slices if n == 1 else "[]"}\n    }}'
    )


JSON = (
    'mx-smi  version: 2.2.12\n{\n    "smi_version": "2.2.12",\n    "maca_version": "3.5.3.20",\n'
    '    "driver_version": "3.8.30",\n    "attached_gpus": 3,\n'
    + ",\n".join(map(members, range(3)))
    + "\n}\n"
)
UNITS = ("BIOS", "SMP0", "SMP1", "CCX0", "VR0", "MCU")


def versions(n: int) -> str:
    units = "".join(line(unit, f"1.{at}3.5.{n}") for at, unit in enumerate(UNITS) if at)
    common = line("MACA", "3.5.3.20") + line("BIOS", f"1.33.5.{n}") + line("KMD", "3.8.30")
    return f"    Version\n{common}{units}"


MATRIX = """\
mx-smi  version: 2.2.12

Attached GPUs                                     : 3
Device link type matrix
        GPU0    GPU1    GPU2    NIC0    NIC1    Node Affinity  CPU Affinity
GPU0    X       MX      SYS     PIX     SYS     0              0-31,64-95
GPU1    MX      X       NODE    PHB     SYS     0              0-31,64-95
GPU2    SYS     NODE    X       SYS     PIX     1              32-63,96-127
NIC0    PIX     PHB     SYS     X       SYS
NIC1    SYS     SYS     PIX     SYS     X

Legend:
  X    = Self
  MX   = Connection traversing MetaXLink
  NA   = Connection type is unknown

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
FORMS = {
    "": TABLE,
    "-j": JSON,
    "-L": LIST,
    "--show-version": log(versions),
    "--show-ecc-state": log(
        lambda n: "    Ecc state\n" + line("state", "Disable" if n == 1 else "Enable")
    ),
    "--show-board-power": log(
        lambda n: f"    Board Power\n{line('Way 0', '25.789 W')}{line('Limit', f'3{n}0.000 W')}"
    ),
    "--show-vbios": log(
        lambda n: "    Vbios info\n" + line("SRIOV", "Support" if n == 2 else "Not Support")
    ),
    "topo -m": MATRIX,
    "topo -n": MATRIX,
}
TOOLS = {
    "modinfo metax": "filename:       /lib/modules/5.15.0/extra/metax.ko\nversion:        3.8.30\n"
    "license:        GPL\ndepends:        drm,ttm\nvermagic:       5.15.0-58-generic SMP\n",
    "mxcc --version": "mxcc version 1.0.0 (d9102a1572)\nTarget: x86_64-unknown-linux-gnu\n"
    "Thread model: posix\nInstalledDir: /opt/maca-3.5.3/mxgpu_llvm/bin\n",
    "mcclras --version": "MCCL RAS client version 2.16.5\n",
    "mcTracer --help": "(Tracer): 03:24:53 [INFO ] ***** Version: \n"
    "(Tracer): 03:24:53 [INFO ] *****         3.5.3.20-ef9e10e\n"
    "(Tracer): 03:24:53 [INFO ] ***** Usage: \n",
    "mcProfiler version": "mcProfiler 3.5.3.20\n",
    "mx-report --version": "mx-report  version: 2.2.6\n",
    "mx-diagease --version": "mx-diagease  version: 2.2.12\n",
    "mxvs --version": "mxvs version: 1.4.0\n",
}


def ask(answer: Callable[[list[Question]], Answers]) -> Answers:
    """Return all answers of a node, as many rounds as they lead to."""
    answers = Answers()
    questions = list(VENDOR.probe.questions)
    while questions:
        answers |= answer(questions)
        questions = [q for q in dict.fromkeys(VENDOR.probe.more(answers)) if q not in answers.given]
    return answers


@cache
def recorded(name: str) -> Answers:
    with TRANSPORT.open(str(RECORDINGS / name), Terms()) as host:
        return ask(host.gather)


@cache
def unlike() -> Answers:
    """Return the answers of a node whose three cards have nothing in common."""
    said = {
        _mxsmi_forms.command(_metax_brand.METAX, form).argv: text for form, text in FORMS.items()
    }
    said |= {tuple(command.split()): text for command, text in TOOLS.items()}

    def answer(questions: Iterable[Question]) -> Answers:
        return Answers(
            {
                q: Completed(0, said[q.argv])
                for q in questions
                if isinstance(q, Command) and q.argv in said
            }
            | {
                q: Completed(0, RPMS if "-qa" in q.argv else "3.7.0.9\n")
                for q in questions
                if isinstance(q, Command) and q.argv[0] == "rpm"
            }
            | {q: BLANK for q in questions if not isinstance(q, Command) or q.argv[0] == "ht-smi"}
        )

    return ask(answer)


def node(name: str) -> Answers:
    return recorded(name) if name else unlike()


def commands(name: str) -> list[Command]:
    """Return the commands of a node that printed something."""
    given = node(name).given
    return [
        q
        for q, answer in given.items()
        if isinstance(q, Command) and isinstance(answer, Completed) and answer.stdout
    ]


CASES = [(name, command) for name in (*NODES, "") for command in commands(name)]
IDS = [f"{name or 'unlike'}: {' '.join(command.argv)}" for name, command in CASES]
TARGETS = pytest.mark.parametrize(("name", "command"), CASES, ids=IDS)


def read(answers: Answers) -> tuple[Fact, ...]:
    return tuple(read_all([VENDOR.probe], answers))


Known = dict[tuple[str, str], set[Value]]


def claims(facts: Iterable[Fact]) -> Known:
    """Return every value that was read, of each fact."""
    right: Known = {}
    for fact in facts:
        if isinstance(fact.reading, Observed):
            right.setdefault((fact.key, fact.instance), set()).add(fact.reading.value)
    return right


@cache
def known(name: str) -> Known:
    """Return every value that is right."""
    return claims(read(node(name)))


EXAMPLES = settings(max_examples=10)
"""Of each of many outputs; together they are hundreds."""
LISTED = {"metax.package"}
"""What a list that was cut at the end of a line cannot tell to be missing."""


def wrong(facts: Iterable[Fact], right: Known) -> list[Fact]:
    """Return the facts that claim what is not so; what is unreadable claims nothing."""

    def claims_wrongly(fact: Fact) -> bool:
        at = (fact.key, fact.instance)
        if isinstance(fact.reading, Observed):
            return fact.reading.value not in right.get(at, set())
        if isinstance(fact.reading, Absent) and fact.key not in LISTED:
            everywhere = not fact.instance and any(key == fact.key for key, _ in right)
            return fact.source.startswith(("mx-smi", "ht-smi")) and (at in right or everywhere)
        return False

    return [fact for fact in facts if claims_wrongly(fact)]


def lines_dropped(data: st.DataObject, text: str) -> str:
    lines = text.splitlines(keepends=True)
    dropped = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=8))
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.sampled_from([start, start, min(len(lines), start + 12)]))
    kept = [part for at, part in enumerate(lines) if at not in dropped]
    return "".join(kept[:start] + kept[end:])


def columns_shifted(data: st.DataObject, text: str) -> str:
    """Move, add or remove space, or change two columns of a line."""
    lines = text.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    how = data.draw(st.sampled_from(["wider", "narrower", "tabs", "exchanged", "indented", "lost"]))
    match how:
        case "wider":
            lines[at] = re.sub(r"  +", lambda found: found[0] + "   ", lines[at])
        case "narrower":
            lines[at] = re.sub(r"  +", "  ", lines[at])
        case "tabs":
            lines[at] = re.sub(r"  +", "\t", lines[at])
        case "indented":
            lines[at] = f"      {lines[at]}"
        case _:
            separator = "|" if "|" in lines[at] else "  "
            cells = [*re.split(r"\||\s{2,}", lines[at].strip())]
            one, other = (data.draw(st.integers(0, len(cells) - 1)) for _ in range(2))
            if how == "lost":
                cells.pop(one)
            else:
                cells[one], cells[other] = cells[other], cells[one]
            lines[at] = separator.join(cells) + "\n"
    return "".join(lines)


def numbers_reformatted(data: st.DataObject, text: str) -> str:
    """Write numbers as another locale does; paths and hexadecimal builds hold none."""
    point, group = data.draw(st.sampled_from([(",", "."), (",", " "), (",", "'"), (".", ",")]))

    def other(found: re.Match[str]) -> str:
        number = found[0].replace(".", point)
        return (
            re.sub(r"(?<=\d)(?=(?:\d{3})+(?!\d))", group, number) if "." not in found[0] else number
        )

    return re.sub(r"(?<![\w/.\-:#])\d+(?:\.\d+)*(?![\w/\-:])", other, text)


def truncated(data: st.DataObject, text: str) -> str:
    content = text.encode()
    return content[: data.draw(st.integers(0, len(content)))].decode(errors="replace")


WORDS = {
    "Available": "可用",
    "Version": "版本",
    "version": "версия",
    "Enable": "启用",
    "state": "Zustand",
    "Attached GPUs": "已连接的 GPU",
    "Limit": "Limite",
    "Affinity": "亲和性",
}


def in_another_language(data: st.DataObject, text: str) -> str:
    for word in data.draw(st.sets(st.sampled_from(sorted(WORDS)), min_size=1)):
        text = text.replace(word, WORDS[word])
    return text


def coloured(data: st.DataObject, text: str) -> str:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=1, max_size=12)))
    codes = ("\x1b[1;32m", "\x1b[0m", "\x1b[K", "\x1b]0;title\x07", "\x07")
    for place in reversed(places):
        text = text[:place] + data.draw(st.sampled_from(codes)) + text[place:]
    return text


def with_carriage_returns(data: st.DataObject, text: str) -> str:  # noqa: ARG001 - as the others
    return text.replace("\n", "\r\n")


MUTATIONS = (
    lines_dropped,
    columns_shifted,
    numbers_reformatted,
    truncated,
    in_another_language,
    coloured,
    with_carriage_returns,
)


def mutated(data: st.DataObject, text: str) -> str:
    changes = data.draw(st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=3, unique=True))
    for change in sorted(changes, key=MUTATIONS.index):
        if text:
            text = change(data, text)
    return text


class TestAMutatedOutputIsReadRightOrNotAtAll:
    """Whatever becomes of what a tool prints: the right value or `Unreadable`, never another."""

    @TARGETS
    @given(data=st.data())
    @EXAMPLES
    def test_among_sources_that_are_in_order(
        self, name: str, command: Command, data: st.DataObject
    ) -> None:
        changed = with_change(data, node(name), command)
        assert not wrong(read(changed), known(name)), changed[command]

    @TARGETS
    @given(data=st.data())
    @EXAMPLES
    def test_with_nobody_to_contradict_it(
        self, name: str, command: Command, data: st.DataObject
    ) -> None:
        changed = with_change(data, alone(name, command), command)
        right = {**claims(read(alone(name, command))), **known(name)}
        assert not wrong(read(changed), right), changed[command]


def with_change(data: st.DataObject, answers: Answers, command: Command) -> Answers:
    done = answers[command]
    assert isinstance(done, Completed)
    text = mutated(data, done.stdout)
    return answers | Answers({command: Completed(done.returncode, text, done.stderr)})


def alone(name: str, command: Command) -> Answers:
    """Return what one command says, and the plain table, without which nobody listens to it."""
    heard = {command, *(brand.table for brand in _metax_brand.BRANDS)}
    return Answers({q: answer for q, answer in node(name).given.items() if q in heard})


@TARGETS
@pytest.mark.parametrize("change", [with_carriage_returns, coloured])
@given(data=st.data())
@settings(max_examples=3)
def test_colours_and_line_ends_change_nothing(
    change: Callable[[st.DataObject, str], str], name: str, command: Command, data: st.DataObject
) -> None:
    done = node(name)[command]
    assert isinstance(done, Completed)
    text = change(data, done.stdout)
    changed = alone(name, command) | Answers({command: Completed(done.returncode, text)})
    assert read(changed) == read(alone(name, command))


TOLD = """
brand kmd smi smi_maca compiler compiler_path mccl tool package driver_package link
device.model device.memory_mib device.state device.bios device.firmware device.ecc
device.power_cap_w device.persistence device.sriov device.slicing device.slice device.count
device.numa_node device.cpus
"""


def test_the_outputs_that_are_mutated_tell_everything() -> None:
    told = {key for key, _ in known("")}
    assert told >= {f"metax.{name}" for name in TOLD.split()}
