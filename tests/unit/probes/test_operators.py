from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Absent, Unreadable
from mxenv.probes import operators
from mxenv.question import Answers, Command, Env, Found
from mxenv.transports._memory import tree
from mxenv.transports._tree import answer

if TYPE_CHECKING:
    from mxenv.question import Given, Question

WHEEL = b"Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n"


def torch_at(*prefixes: str) -> dict[str, bytes]:
    return {
        f"{prefix}/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA": WHEEL
        for prefix in prefixes
    }


def ran(files: dict[str, bytes], **options: str) -> list[str]:
    """Return the interpreters that would be run on a node with ``files``."""
    from mxenv.probes import python  # noqa: PLC0415 - whose questions are asked beside it

    variables = {name: options.pop(name) for name in ("VIRTUAL_ENV",) if name in options}
    given: dict[Question, Given] = {
        Env("CONDA_PREFIX"): Absent(),
        Env("VIRTUAL_ENV"): Absent(),
        **{Env(name): Found(value) for name, value in variables.items()},
        operators.WANTED: Found("yes"),
        operators.LOAD: Absent(),
        operators.NAMED: Absent(),
        **{
            q: Found(options[q.name])
            for q in (operators.LOAD, operators.NAMED)
            if q.name in options
        },
    }
    answers = Answers()
    asked: dict[Question, None] = dict.fromkeys(
        (*python.PROBE.questions, *operators.PROBE.questions)
    )
    for _ in range(5):
        answers |= answer(
            tree(files, {}), [q for q in asked if not isinstance(q, Command)], given.get
        )
        further = [*python.PROBE.more(answers), *operators.PROBE.more(answers)]
        asked = {q: None for q in further if q not in answers.given}
        if programs := [q.argv[0] for q in asked if isinstance(q, Command)]:
            return programs
    return []


def test_the_only_torch_where_a_system_keeps_it_is_asked() -> None:
    assert ran(torch_at("/opt/conda")) == ["/opt/conda/bin/python3"]


def test_debian_s_own_is_run_for_what_pip_added() -> None:
    path = "/usr/local/lib/python3.11/dist-packages/torch-2.8.0.dist-info/METADATA"
    assert ran({path: WHEEL}) == ["/usr/bin/python3"]


def test_of_several_none_is_chosen() -> None:
    files = torch_at("/opt/conda", "/opt/venv")
    assert ran(files) == []
    chosen = operators.programs(answers_of(files))
    assert chosen == Unreadable(
        "several environments have a torch (/opt/conda, /opt/venv): "
        "name its interpreter with --python"
    )


def answers_of(files: dict[str, bytes]) -> Answers:
    from mxenv.probes import python  # noqa: PLC0415 - as above

    given: dict[Question, Given] = {operators.NAMED: Absent()}
    return answer(tree(files, {}), python.PROBE.questions, given.get)


def test_what_is_active_comes_before_what_lies_there() -> None:
    files = torch_at("/opt/conda", "/opt/venv", "/data/mine")
    assert ran(files, VIRTUAL_ENV="/data/mine") == ["/data/mine/bin/python3"]
    assert ran(torch_at("/opt/conda"), VIRTUAL_ENV="/data/none") == ["/opt/conda/bin/python3"]
    assert ran(torch_at("/opt/conda"), VIRTUAL_ENV="/data/$(id)\n") == ["/opt/conda/bin/python3"]


def test_what_was_merely_found_is_never_run() -> None:
    """Whoever can write to a home, or start a process, could have root run anything."""
    files = torch_at("/home/eve/venv", "/srv/eve/venv", "/opt/some/env")
    files |= {f"{p}/bin/python3": b"" for p in ("/home/eve/venv", "/srv/eve/venv", "/opt/some/env")}
    assert ran(files) == []
    assert operators.programs(answers_of(files)) == Unreadable(
        "no torch was found where a system keeps it: name its interpreter with --python"
    )


def test_whatever_is_named_is_run_and_nothing_else() -> None:
    files = torch_at("/opt/conda", "/home/eve/venv")
    assert ran(files, python="/home/eve/venv") == ["/home/eve/venv/bin/python3"]
    assert ran(files, python="/a/bin/python3.12\n/b") == ["/a/bin/python3.12", "/b/bin/python3"]
    assert ran(files, python="relative") == []
    assert list(operators.on_demand({"operators": "yes", "python": "relative"})) == []


def test_what_may_be_run_is_what_would_be() -> None:
    rest = ("-I", "-B", "-c", "@operators")
    assert list(operators.on_demand({})) == []
    assert list(operators.on_demand({"python": "/opt/venv"})) == []
    named = operators.on_demand({"operators": "yes", "python": "/opt/venv\n/b/bin/python3.9"})
    assert list(named) == [("/opt/venv/bin/python3", *rest), ("/b/bin/python3.9", *rest)]
    loaded = operators.on_demand({"operators": "yes", "load": "flag_gems:enable\nos;x"})
    assert list(loaded) == [("{python}", *rest, "flag_gems:enable")]


def test_who_is_not_asked_says_so() -> None:
    answers = Answers({operators.WANTED: Absent()})
    assert list(operators.PROBE.more(answers)) == []
    (fact,) = operators.PROBE.read(answers)
    assert (fact.key, fact.instance, fact.reading) == ("torch.operators", "", operators.UNASKED)


def test_a_node_without_torch_says_whom_to_name() -> None:
    answers = Answers({operators.WANTED: Found("yes"), operators.NAMED: Absent()})
    (fact,) = operators.PROBE.read(answers)
    assert isinstance(fact.reading, Unreadable)
    assert "--python" in fact.reading.reason
