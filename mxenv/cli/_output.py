"""Where output goes: results to stdout in the format asked for, everything else to stderr."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

import click

from mxenv import _plugins
from mxenv.errors import UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mxenv.comparison import Comparison
    from mxenv.facts import FactKey, Snapshot
    from mxenv.fleet import Fleet
    from mxenv.lock_difference import Locks
    from mxenv.matrix_table import Section
    from mxenv.reports import Page, Report
    from mxenv.verdict import Verdict

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "MXENV"}
NARROWEST = 24
"""Columns beside the names below which wrapping makes nothing better."""
PLAIN = ("text", "json")
"""The formats of a result that is no verdict."""
PAGES = (*PLAIN, "html")
"""Those of a result that is a page as well."""


@frozen
class Output:
    """How the user wants to be answered."""

    format: str = "text"
    verbose: bool = False
    quiet: bool = False

    def verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Print ``verdicts`` in the format asked for."""
        self._emit(self._report().verdicts(verdicts, self._page()))

    def every(self, verdict: Verdict) -> None:
        """Print every finding of ``verdict``, be it fine or not."""
        self._emit(self._report().verdicts((verdict,), replace(self._page(), verbose=True)) + "\n")

    def snapshot(self, snapshot: Snapshot, keys: Mapping[str, FactKey]) -> None:
        """Print the facts of a node."""
        render = self._report().snapshot
        if render is None:
            raise UsageError(f"the format {self.format!r} is for verdicts only")
        self._emit(render(snapshot, keys, self._page()))

    def comparison(self, comparison: Comparison) -> None:
        """Print what differs between two nodes."""
        render = self._report().comparison
        if render is None:
            raise UsageError(f"the format {self.format!r} is for verdicts only")
        self._emit(render(comparison, self._page()))

    def locks(self, locks: Locks) -> None:
        """Print what differs between two locks."""
        render = self._report().locks
        if render is None:
            raise UsageError(f"the format {self.format!r} is for verdicts only")
        self._emit(render(locks, self._page()))

    def fleet(self, fleet: Fleet) -> None:
        """Print many nodes in short."""
        render = self._report().fleet
        if render is None:
            raise UsageError(f"the format {self.format!r} is for verdicts only")
        self._emit(render(fleet, self._page()))

    def tables(self, sections: Sequence[Section]) -> None:
        """Print tables of a matrix."""
        render = self._report().tables
        if render is None:
            raise UsageError(f"the format {self.format!r} is for verdicts only")
        self._emit(render(sections, self._page()))

    def judged_fleet(self, fleet: Fleet, verdicts: Sequence[Verdict]) -> None:
        """Print the verdicts on many nodes; for people, equal ones together, and a table."""
        if self.format != "text":
            self.verdicts(verdicts)
            return
        from mxenv.fleet import together  # noqa: PLC0415 - imported late: only for many nodes

        self.verdicts(together(verdicts))
        emit("\n")
        self.fleet(fleet)

    def nodes_done(self) -> AbstractContextManager[Callable[[int, int], None] | None]:
        """Give what is to be told how many nodes are done."""
        from mxenv.cli import _progress  # noqa: PLC0415 - imported late: only for many nodes

        return _progress.nodes_done(quiet=self.quiet)

    def steps_done(self) -> AbstractContextManager[Callable[[str], None] | None]:
        """Give what is to be told which step something long is at, and what is said in it."""
        from mxenv.cli import _progress  # noqa: PLC0415 - imported late: only for what is long

        return _progress.steps_done(quiet=self.quiet, verbose=self.verbose)

    def values(self, schema: str, values: Mapping[str, object]) -> None:
        """Print a small result: one ``name  value`` a line, or a JSON object."""
        if self.format == "json":
            import json  # noqa: PLC0415 - imported late: text is the rule

            emit(json.dumps({"schema": schema, **values}, indent=2, ensure_ascii=False) + "\n")
            return
        self._emit("".join(line + "\n" for line in _aligned(values)))

    def _emit(self, text: str) -> None:
        emit(spelt(text, sys.stdout) if self.format == "text" else text)

    def note(self, text: str) -> None:
        """Say on stderr what was done, unless silence is wanted."""
        if not self.quiet:
            tell(text)

    def _report(self) -> Report:
        report: Report = _plugins.load("reports", self.format)
        return report

    def _page(self) -> Page:
        from mxenv.reports import Page  # noqa: PLC0415 - imported late: only for results

        if self.format != "text" or not sys.stdout.isatty():
            return Page(verbose=self.verbose)
        width = _columns()
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return Page(width=width, verbose=self.verbose)
        from mxenv.cli._paint import paint  # noqa: PLC0415 - imported late: rich is slow

        return Page(width=width, verbose=self.verbose, paint=paint)


def _columns() -> int:
    import shutil  # noqa: PLC0415 - imported late: only a terminal needs it

    return shutil.get_terminal_size().columns


def _aligned(values: Mapping[str, object]) -> Iterator[str]:
    """Yield ``name  value`` lines, wrapped beside the names on a terminal."""
    indent = max(map(len, values), default=0) + 2
    columns = _columns() if sys.stdout.isatty() else 0
    room = columns - indent
    for name, value in values.items():
        several = value if isinstance(value, list | tuple) else (value,)
        texts = [str(one) for one in several]
        if room > NARROWEST:
            import textwrap  # noqa: PLC0415 - imported late: only a terminal needs it

            texts = [
                line
                for text in texts
                for line in textwrap.wrap(
                    text, room, break_long_words=False, break_on_hyphens=False
                )
            ]
        for i, text in enumerate(texts):
            yield f"{'' if i else name:<{indent}}{text}".rstrip()


SIGNS = {
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{EN DASH}": "-",
}
"""What stands for a sign where there is none; all else is spelt out by its number."""


def spelt(text: str, stream: TextIO) -> str:
    """Return ``text`` as it reads on ``stream``, which may have no more than ASCII.

    For people only: programs are told which character it was.
    """
    for sign, instead in SIGNS.items():
        if sign in text:
            try:
                sign.encode(stream.encoding or "utf-8")
            except UnicodeEncodeError:
                text = text.replace(sign, instead)
    return text


def tell(text: str) -> None:
    """Write a line to stderr; that nobody can be told changes nothing of what was done."""
    try:
        click.echo(spelt(text, sys.stderr), err=True)
    except OSError:
        _send_nowhere(sys.stderr)


def emit(text: str) -> None:
    """Write ``text`` to stdout; a reader that went away does not change the answer."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        quiet_stdout()


def quiet_stdout() -> None:
    """Send the rest of stdout nowhere, or Python complains about it when it exits."""
    _send_nowhere(sys.stdout)


def _send_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def verbosity(function: Callable[..., None]) -> Callable[..., None]:
    """Give the group the options that every command has; a command's own come first."""

    @click.option("--format", metavar="FORMAT", help="As each command's --format.")
    @click.option("-v", "--verbose", is_flag=True, help="Show what is fine as well.")
    @click.option("-q", "--quiet", is_flag=True, help="Say nothing but results and errors.")
    @click.pass_context
    @functools.wraps(function)
    def call(ctx: click.Context, /, *, verbose: bool, quiet: bool, **rest: str | None) -> None:
        known = _plugins.names("reports")
        wanted = rest.get("format") or ""
        if wanted and wanted not in known:
            raise UsageError(f"there is no format {wanted!r}", hint=f"one of {', '.join(known)}")
        ctx.obj = Output(format=wanted, verbose=verbose, quiet=quiet)
        function(ctx)

    return call


def answers(
    formats: Sequence[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command ``--format``, ``-v``, ``-q``, and an `Output` that obeys them.

    No ``formats`` means every file of the reports folder.
    """
    choices = tuple(formats) or _plugins.names("reports")

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @click.option(
            "--format",
            type=click.Choice(choices),
            help="How to write the result; text unless you say otherwise.",
        )
        @click.option("-v", "--verbose", is_flag=True, help="Show what is fine as well.")
        @click.option("-q", "--quiet", is_flag=True, help="Say nothing but results and errors.")
        @click.pass_context
        @functools.wraps(function)
        def call(
            ctx: click.Context,
            /,
            *,
            verbose: bool,
            quiet: bool,
            **rest: object,
        ) -> None:
            wanted = rest.pop("format")
            outer = ctx.obj if isinstance(ctx.obj, Output) else Output(format="")
            output = Output(
                format=str(wanted or "") or _inherited(ctx, outer.format, choices) or "text",
                verbose=verbose or outer.verbose,
                quiet=quiet or outer.quiet,
            )
            function(output, **rest)

        return call

    return decorate


def _inherited(ctx: click.Context, wanted: str, choices: Sequence[str]) -> str:
    """Return the format asked of all commands, if this one has it."""
    if not wanted or wanted in choices:
        return wanted
    source = ctx.parent.get_parameter_source("format") if ctx.parent else None
    kinds = click.core.ParameterSource
    if source in {kinds.ENVIRONMENT, kinds.DEFAULT_MAP}:
        # MXENV_FORMAT=sarif is meant for the commands that can.
        return ""
    raise UsageError(
        f"{ctx.command_path} has no format {wanted!r}", hint=f"one of {', '.join(choices)}"
    )
