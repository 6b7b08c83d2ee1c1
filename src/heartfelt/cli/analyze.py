"""``heartfelt analyze``: from ratings to a report a reviewer would enjoy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.data import parse_map
from heartfelt.files import must_be_free

if TYPE_CHECKING:
    from heartfelt.analysis import AnalyzeOptions
    from heartfelt.progress import Progress
    from heartfelt.scoring.layouts import OutputLayout
    from heartfelt.snapshot import Snapshot


def analyze(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A snapshot, published data or a table.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make.")],
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="The source's format; found out if left out.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option("--map", "-m", metavar="OPTION=VALUE", help="An option of the format. May be repeated."),
    ] = None,
    policy: Annotated[
        str, typer.Option(help="What becomes of flagged raters: see docs/screening.md.")
    ] = "flag-only",
    seed: Annotated[int, typer.Option(help="Seed of all resampling.")] = 0,
    covariate: Annotated[
        list[str] | None,
        typer.Option(help="A numeric column of the stimuli, or loudness, to hold constant. May be repeated."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="RATER_COLUMN",
            help="Compare groups of raters by a column of theirs, such as language or expertise; numbers are cut at tertiles.",
        ),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option("--as", metavar="LAYOUT", help="Also write the files of a published system."),
    ] = None,
) -> None:
    """Screen raters, measure how far the ratings can be trusted, and write a report."""
    from heartfelt.analysis import AnalyzeOptions
    from heartfelt.cli import screen
    from heartfelt.cli.source import read_source
    from heartfelt.formats.reading import candidates
    from heartfelt.scoring.layouts import LAYOUTS

    must_be_free(out)
    layout = None if as_ is None else LAYOUTS[as_]
    with screen.progress_bar(f"reading {source}") as report:
        formats = layout.formats_of(candidates(source)) if layout and format is None else ()
        snapshots = [read_source(source, name, parse_map(map or []), report) for name in formats or (format,)]
        answer = _write(
            snapshots,
            out,
            AnalyzeOptions(policy=policy, seed=seed, covariates=tuple(covariate or ()), by=by),
            report,
            layout,
        )
    for sentence in answer:
        screen.out.print(f"• {sentence}", markup=False)
    screen.out.print(
        f"Report: {', '.join(str(path) for path in sorted(out.rglob('report.html')))}", markup=False
    )


def _write(
    snapshots: list[Snapshot],
    out: Path,
    options: AnalyzeOptions,
    report: Progress,
    layout: OutputLayout | None,
) -> list[str]:
    """One report in ``out``, or one a snapshot below it; what cannot be written fails before ``out`` is there."""
    from heartfelt.analysis import analyze as run
    from heartfelt.files import TemporaryFolder, whole_folder
    from heartfelt.report import write_analysis

    space = TemporaryFolder()
    if layout is not None:
        layout.write_analysis(snapshots, space.path)
    analyses = [run(snapshot, options, report) for snapshot in snapshots]
    if len(analyses) == 1:
        write_analysis(analyses[0], out, progress=report)
    else:
        with whole_folder(out) as scratch:
            for analysis in analyses:
                write_analysis(analysis, scratch / analysis.snapshot.study.name, progress=report)
    for made in space.path.iterdir():
        shutil.move(made, out / made.name)
    return [sentence for analysis in analyses for sentence in analysis.summary.verdict]


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(analyze)
