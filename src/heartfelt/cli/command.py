"""What the commands share: the application, their options, reading any source, and what they show."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.progress import TimeElapsedColumn as Elapsed
from rich.progress import TimeRemainingColumn as Remaining
from rich.text import Text

from heartfelt import __version__
from heartfelt.cli.flags import App
from heartfelt.cli.panels import CommandPanels
from heartfelt.errors import on_command_line
from heartfelt.logs import be_verbose
from heartfelt.progress import Progress
from heartfelt.wording import money

if TYPE_CHECKING:
    from jinja2 import Environment

_log = logging.getLogger(__name__)
app = App(
    name="heartfelt", cls=CommandPanels, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)

Source = Annotated[Path, typer.Argument(metavar="SOURCE", help="A snapshot, published data or a table.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make.")]
StudyFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; it may be running.")]
Database = Annotated[
    str | None,
    typer.Option(help="URL of a PostgreSQL database; SQLite in the study folder if left out.", metavar="URL"),
]
TrainedFolder = Annotated[
    Path | None,
    typer.Option("--model", metavar="DIR", help="A model of 'heartfelt train' in place of the shipped one."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Browser = Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
    verbose: bool = typer.Option(  # noqa: ARG001 - its callback does it, before or after the command's name
        False,
        "--verbose",
        help="Log every step to standard error, and print the traceback of a bug.",
        is_eager=True,
        expose_value=False,
        callback=lambda wanted: be_verbose() if wanted else None,
    ),
) -> None:
    """Find out what generated media makes people feel, and how well a machine can tell."""
    context.with_resource(on_command_line())
    if version:
        print(f"heartfelt {__version__}")
        raise typer.Exit()


def say(*lines: str) -> None:
    """Print lines as they are."""
    for line in lines:
        out.print(line, markup=False)


def say_template(name: str, **values: object) -> None:
    """Print what a template of the commands says."""
    text = _templates().get_template(f"{name}.txt.j2").render(values)
    if text:
        out.print(text, markup=False, end="")


@cache
def _templates() -> Environment:
    from heartfelt.templates import text_templates

    return text_templates("heartfelt.cli", counts=_counts, money=money, thousands="{:,}".format)


def _counts(by_name: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in by_name.items())


def note(line: str) -> None:
    """Print a line about the work itself, next to its progress on standard error."""
    err.print(line, markup=False, soft_wrap=True)


def bar(share: float, width: int) -> str:
    """A horizontal bar for a share between 0 and 1, in eighths of a character."""
    full, eighths = divmod(round(max(0.0, min(1.0, share)) * width * 8), 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[eighths] if eighths else "")


class _Amount(ProgressColumn):
    """A bar with what is done of how much; only the count so far where nobody knows how much there is."""

    _bar = BarColumn()

    def render(self, task: Task) -> RenderableType:
        if task.total is None:
            return Text(f"… {task.completed:,.0f}" if task.completed else "…", style="progress.download")
        count = Text(f"{task.completed:,.0f}/{task.total:,.0f}", style="progress.download")
        return Columns([self._bar.render(task), count])


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        text = f"{speed:,.0f}/s" if speed >= 100 else f"{speed:.3g}/s"
        return Text(text if speed else "", style="progress.data.speed")


@contextmanager
def progress_bar(first: str) -> Iterator[Progress]:
    """Progress on standard error: call what it yields with what is done, how many steps, and of how many (0: unknown).

    The first line stays until all is done. What is under way stands below; a line that is complete goes when the next comes.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), _Amount(), _Rate(), Elapsed(), Remaining())
    with Bars(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        _log.info("%s", first)
        top = bars.add_task(_sentence(first), total=None)
        lines = {first: top}

        def report(doing: str, done: int, total: int) -> None:
            line = doing.partition(": ")[0]
            if line not in lines:
                _log.info("%s", doing)
                for task in bars.tasks:
                    if task.id != top and (task.finished or task.total is None):
                        bars.update(task.id, visible=False)
                lines[line] = bars.add_task(_sentence(doing), total=total or None)
            words, known_total = _sentence(doing), total or None
            bars.update(lines[line], description=words, completed=done, total=known_total, visible=True)

        yield report


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
