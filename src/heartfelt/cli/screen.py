"""What commands show: progress on anything slow, tables, and pictures made of characters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from heartfelt.progress import Progress as Report

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """The rate, once there is one."""
        return Text("" if not task.speed else f"{task.speed:.3g}/s", style="progress.data.speed")


@contextmanager
def progress_bar(first: str) -> Iterator[Report]:
    """A progress bar on standard error; call what it yields with (doing, done, total)."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        tasks = {first: bars.add_task(first, total=None)}

        def report(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(doing, total=total)
            bars.update(tasks[doing], completed=done, total=total)

        yield report


def bar(share: float, width: int = 30) -> str:
    """A horizontal bar for a share between 0 and 1, in eighths of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
