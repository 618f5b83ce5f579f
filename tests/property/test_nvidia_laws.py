from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.probe import read_all
from mxenv.question import Answers, Command, Completed, Found, Glob
from mxenv.vendors import _nvidia_table, _nvidia_topology, _nvidia_xml, _xml
from mxenv.vendors._nvidia_driver import LOADED, MODINFO, VERSION
from mxenv.vendors._nvidia_sdk import COMPILER, NCCL_HEADERS, VERSION_JSON
from mxenv.vendors._nvidia_smi import Output
from mxenv.vendors.nvidia import TABLE, TOOL, TOPOLOGY, VENDOR, XML

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.question import Given, Question

CARDS = (
    ("00000000:1B:00.0", "NVIDIA H100 80GB HBM3", "81559", "700.00", "96.00.89.00.01"),
    ("00000000:2C:00.0", "NVIDIA A100-SXM4-40GB", "40960", "400.00", "92.00.45.00.03"),
    ("00000001:00:00.0", "NVIDIA L40S", "46068", "350.00", "95.02.66.00.02"),
)
CARD = """\
	<gpu id="{bdf}">
		<product_name>{name}</product_name>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode>
			<current_mig>{mig}</current_mig>
			<pending_mig>{mig}</pending_mig>
		</mig_mode>
		<mig_devices>
{slices}
		</mig_devices>
		<vbios_version>{bios}</vbios_version>
		<inforom_version>
			<img_version>G520.0200.00.05</img_version>
			<oem_object>2.1</oem_object>
			<ecc_object>7.16</ecc_object>
			<pwr_object>N/A</pwr_object>
		</inforom_version>
		<gsp_firmware_version>550.54.15</gsp_firmware_version>
		<gpu_reset_status>
			<reset_required>No</reset_required>
		</gpu_reset_status>
		<pci>
			<pci_device_id>233010DE</pci_device_id>
			<pci_bus_id>{bdf}</pci_bus_id>
		</pci>
		<fb_memory_usage>
			<total>{memory} MiB</total>
			<used>1 MiB</used>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>131072 MiB</total>
			<used>1 MiB</used>
		</bar1_memory_usage>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
			<pending_ecc>Disabled</pending_ecc>
		</ecc_mode>
		<gpu_power_readings>
			<power_draw>71.43 W</power_draw>
			<current_power_limit>{cap} W</current_power_limit>
			<default_power_limit>999.00 W</default_power_limit>
		</gpu_power_readings>
		<module_power_readings>
			<current_power_limit>1000.00 W</current_power_limit>
		</module_power_readings>
		<fabric>
			<state>Completed</state>
		</fabric>
		<processes>
			<process_info>
				<process_name>python3 --token=*** &
			</process_info>
		</processes>
	</gpu>
"""
SLICE = """\
			<mig_device>
				<index>{n}</index>
				<gpu_instance_id>{n}</gpu_instance_id>
				<device_attributes>
					<shared>
						<multiprocessor_count>{share}</multiprocessor_count>
					</shared>
				</device_attributes>
				<fb_memory_usage>
					<total>{memory} MiB</total>
				</fb_memory_usage>
			</mig_device>"""
ROW = """\
|   {n}  {name:<30} On  |   {bdf} Off |                    0 |
| N/A   31C    P0             69W / {cap:>4}W |       1MiB / {memory:>6}MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""


def xml(slices: str = "\t\t\tNone", mig: str = "Disabled") -> str:
    cards = "".join(
        CARD.format(bdf=bdf, name=name, memory=mem, cap=cap, bios=bios, slices=slices, mig=mig)
        for bdf, name, mem, cap, bios in CARDS
    )
    return f"""\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Nov 16 09:12:03 2026</timestamp>
	<driver_version>550.54.15</driver_version>
	<cuda_version>12.4</cuda_version>
	<attached_gpus>3</attached_gpus>
{cards}</nvidia_smi_log>
"""


SLICED = xml(
    "\n".join(SLICE.format(n=n, share=14 * (n + 1), memory=9856 * (n + 1)) for n in range(3)),
    "Enabled",
)
ROWS = "".join(
    ROW.format(n=n, name=name, bdf=bdf, memory=mem, cap=cap.partition(".")[0])
    for n, (bdf, name, mem, cap, _) in enumerate(CARDS)
)
WHOLE: dict[Command, str] = {
    XML: xml(),
    TABLE: f"""\
Mon Nov 16 09:12:03 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
{ROWS}
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
""",
    TOPOLOGY: """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-47,96-143\t0\t\tN/A
GPU1\tNV18\t X \tNODE\tSYS\t0-47,96-143\t0\t\tN/A
GPU2\tSYS\tNODE\t X \tSYS\t48-95,144-191\t1\t\tN/A
NIC0\tPIX\tSYS\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  NIC0: mlx5_0
""",
    TOOL: "NVIDIA-SMI version  : 550.54.15\nNVML version        : 550.54\n",
    MODINFO: "550.54.15\n",
    COMPILER: """\
nvcc: NVIDIA (R) Cuda compiler driver
Cuda compilation tools, release 12.4, V12.4.131
Build cuda_12.4.r12.4/compiler.34097967_0
""",
}
FILES: dict[Question, str] = {
    LOADED: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 2024\n",
    VERSION: "550.54.15\n",
    VERSION_JSON: '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}\n',
    NCCL_HEADERS[0]: "#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n",
}
PARSERS: dict[Command, Callable[[str], object]] = {
    XML: _nvidia_xml.parse,
    TABLE: _nvidia_table.parse,
    TOPOLOGY: _nvidia_topology.parse,
}
COMMANDS = pytest.mark.parametrize("command", WHOLE, ids=lambda c: " ".join(c.argv))
texts = st.text(max_size=400) | st.text("|+-=: <>/&!#.0123456789aGPUX\n\t", max_size=400)

Known = dict[tuple[str, str], set[Reading]]


def node(
    given_to: dict[Command, str], files: dict[Question, str] | None = None
) -> tuple[Fact, ...]:
    """Return what is understood; whichever is not given says nothing, as on a node without it."""
    given: dict[Question, Given] = {
        question: Completed(0, text) for question, text in given_to.items()
    }
    given |= {question: Found(text) for question, text in (files or {}).items()}
    if TABLE in given_to or TOPOLOGY in given_to:
        given.setdefault(XML, Completed(9, "NVIDIA-SMI has failed\n"))
    if TOPOLOGY in given_to:
        given[XML] = Completed(0, WHOLE[XML])
    return tuple(read_all([VENDOR.probe], Answers(given)))


def known(facts: tuple[Fact, ...]) -> Known:
    values: Known = {}
    for fact in facts:
        if isinstance(fact.reading, Observed):
            values.setdefault((fact.key, fact.instance), set()).add(fact.reading)
    return values


def wrong(part: Known, whole: Known) -> Known:
    """Return what a damaged output tells otherwise than the whole one, or beside it."""
    return {at: readings for at, readings in part.items() if not readings <= whole.get(at, set())}


@COMMANDS
def test_the_outputs_that_are_damaged_below_are_whole(command: Command) -> None:
    assert known(node({command: WHOLE[command]}))
    if command in PARSERS:
        assert not isinstance(PARSERS[command](WHOLE[command].replace("\x1b[4m", "")), Unreadable)


def test_the_xml_tells_all_of_a_card() -> None:
    said = _nvidia_xml.parse(SLICED)
    assert isinstance(said, Output)
    card = said.gpus[2]
    assert card.bdf == "0001:00:00.0"
    assert (card.model, card.memory_mib) == (Observed("L40S"), Observed(46068))
    assert (card.power_cap_w, card.ecc) == (Observed(350), Observed("on"))
    assert card.slices[1] == ("1", Observed(("28 multiprocessors", "19712 MiB")))


@COMMANDS
@given(text=texts)
@example(text="<" * 5000)
@example(text="<a>" * 5000)
@example(text="GPU0\t" * 500)
@example(text='{"cuda": ' * 5000)
def test_any_text_is_read_or_said_to_be_unreadable(command: Command, text: str) -> None:
    assert node({command: text})


@COMMANDS
@given(data=st.data())
def test_a_cut_output_tells_nothing_that_the_whole_does_not(
    command: Command, data: st.DataObject
) -> None:
    whole = WHOLE[command]
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert not wrong(known(node({command: cut})), known(node({command: whole})))


@pytest.mark.parametrize("file", FILES, ids=lambda q: q.path)
@given(data=st.data())
def test_a_cut_file_tells_nothing_that_the_whole_does_not(
    file: Question, data: st.DataObject
) -> None:
    whole = FILES[file]
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert known(node({}, {file: whole}))
    assert not wrong(known(node({}, {file: cut})), known(node({}, {file: whole})))


@given(data=st.data())
def test_lines_that_are_missing_from_the_xml_never_mix_two_cards(data: st.DataObject) -> None:
    lines = WHOLE[XML].splitlines(keepends=True)
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    also = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=4))
    kept = [line for n, line in enumerate(lines) if not (start <= n < end or n in also)]
    told = known(node({XML: "".join(kept)}))
    assert not wrong(told, known(node({XML: WHOLE[XML]})))
    assert told.get(("nvidia.device.count", ""), {Observed(3)}) == {Observed(3)}


@pytest.mark.parametrize("command", [TABLE, TOPOLOGY, TOOL], ids=lambda c: " ".join(c.argv))
@given(data=st.data())
def test_a_missing_line_makes_nothing_of_it_wrong(command: Command, data: st.DataObject) -> None:
    lines = WHOLE[command].splitlines(keepends=True)
    del lines[data.draw(st.integers(0, len(lines) - 1))]
    assert not wrong(known(node({command: "".join(lines)})), known(node({command: WHOLE[command]})))


@COMMANDS
@given(data=st.data())
def test_colours_and_ends_of_lines_change_nothing(command: Command, data: st.DataObject) -> None:
    whole = WHOLE[command]
    at = data.draw(st.integers(0, len(whole)))
    if not re.search(r"\x1b(?:\[\d*)?$", whole[:at]):
        painted = f"{whole[:at]}\x1b[1;31m{whole[at:]}"
        assert known(node({command: painted})) == known(node({command: whole}))
    assert known(node({command: whole.replace("\n", "\r\n")})) == known(node({command: whole}))


@pytest.mark.parametrize(
    "spelt",
    ["81,559 MiB", "81 559 MiB", "81.559 MiB", "8.1559e4 MiB", "81559", "79.6 GiB", "0x13e97 MiB"],
)
def test_a_number_in_another_form_is_not_guessed(spelt: str) -> None:
    facts = node({XML: WHOLE[XML].replace("81559 MiB", spelt)})
    memory = [f.reading for f in facts if f.key == "nvidia.device.memory_mib"]
    assert [isinstance(reading, Unreadable) for reading in memory] == [True, False, False]


@given(at=st.integers(0, 5), cell=st.sampled_from(["", " X ", "SYS", "NV1", "N/A"]))
def test_a_matrix_whose_columns_moved_is_not_read(at: int, cell: str) -> None:
    head, first, *rest = WHOLE[TOPOLOGY].splitlines()
    cells = first.split("\t")
    cells.insert(at + 1, cell)
    moved = "\n".join([head, "\t".join(cells), *rest])
    told = known(node({TOPOLOGY: moved}))
    assert not wrong(told, known(node({TOPOLOGY: WHOLE[TOPOLOGY]})))


@pytest.mark.parametrize(
    "subset", ['<!ENTITY a "b">', '<!ENTITY % a "b">', "<!ATTLIST gpu id ID #IMPLIED>"]
)
def test_a_document_that_declares_anything_is_refused(subset: str) -> None:
    bomb = WHOLE[XML].replace('"nvsmi_device_v12.dtd"', f'"nvsmi_device_v12.dtd" [{subset}]')
    said = _nvidia_xml.parse(bomb)
    assert isinstance(said, Unreadable)
    assert "declares" in said.reason


def test_a_document_without_bounds_is_refused() -> None:
    for text in ("<a>" * 40 + "</a>" * 40, f"<a>{'b' * (_xml.LONGEST + 1)}</a>"):
        with pytest.raises(_xml.Refused):
            _xml.tree(text)


OLDER = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 450.80.02    Driver Version: 450.80.02    CUDA Version: 11.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  A100-PCIE-40...     Off  | 00000000:3B:00.0 Off |                   On |
| N/A   29C    P0    33W / 250W |     11MiB / 40537MiB |     N/A      Default |
|                               |                      |              Enabled |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
+-----------------------------------------------------------------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
"""


def test_an_older_table_is_read_and_a_name_that_was_cut_is_not_guessed() -> None:
    said = _nvidia_table.parse(OLDER)
    assert isinstance(said, Output)
    (card,) = said.gpus
    assert isinstance(card.model, Unreadable)
    assert (card.bdf, card.memory_mib) == ("0000:3b:00.0", Observed(40537))
    assert (card.slicing, card.power_cap_w) == (Observed("on"), Observed(250))
    eldest = "\n".join(line for line in OLDER.splitlines() if "MIG M." not in line)
    said = _nvidia_table.parse(eldest.replace("\n" + OLDER.splitlines()[9], ""))
    assert isinstance(said, Output)
    assert said.gpus[0].slicing is None


@pytest.mark.parametrize(
    ("returncode", "text"),
    [
        (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
        (18, "Failed to initialize NVML: Driver/library version mismatch\n"),
        (255, "Failed to initialize NVML: Unknown Error\n"),
        (15, "Unable to determine the device handle for GPU 0000:1B:00.0: GPU is lost.\n"),
    ],
)
def test_a_driver_that_does_not_answer_is_never_a_missing_card(returncode: int, text: str) -> None:
    asked = {
        q: Completed(returncode, text) for q in VENDOR.probe.questions if isinstance(q, Command)
    }
    nothing = {q: Absent() for q in VENDOR.probe.questions if not isinstance(q, Command)}
    for fact in VENDOR.probe.read(Answers({**nothing, **asked})):
        if fact.key.startswith("nvidia.device."):
            assert isinstance(fact.reading, Unreadable), fact


def test_a_card_that_failed_says_so_itself() -> None:
    lost = WHOLE[XML].replace("NVIDIA L40S", "GPU is lost")
    states = [f.reading for f in node({XML: lost}) if f.key == "nvidia.device.state"]
    assert states[2] == Observed("not available: GPU is lost")
    reset = WHOLE[XML].replace("<reset_required>No<", "<reset_required>Yes<", 1)
    states = [f.reading for f in node({XML: reset}) if f.key == "nvidia.device.state"]
    assert states == [Observed("not available: it requires a reset"), *[Observed("available")] * 2]


@given(text=texts)
def test_any_answer_to_every_question_is_read_without_a_failure(text: str) -> None:
    given_to: dict[Question, Given] = {
        question: Completed(0, text)
        if isinstance(question, Command)
        else Found(((question.pattern.replace("*", "0000:37:00.0"), Found(text)),))
        if isinstance(question, Glob)
        else Found(text)
        for question in VENDOR.probe.questions
    }
    told = {fact.key for fact in VENDOR.probe.read(Answers(given_to))}
    assert told == {key.name for key in VENDOR.probe.keys}
