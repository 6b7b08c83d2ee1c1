"""``heartfelt analyze``: from ratings to a report a reviewer would enjoy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer

from heartfelt.cli.command import (
    Format,
    Layout,
    Map,
    Out,
    Policy,
    Source,
    app,
    note,
    progress_bar,
    read_parts,
    say,
)


@app.command()
def analyze(
    source: Source,
    out: Out,
    format: Format = None,
    map: Map = None,
    policy: Policy = "flag-only",
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
    preregistration: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A preregistration.json; the one of the study or snapshot if left out."
        ),
    ] = None,
    future_raters: Annotated[
        Literal["alike", "careless"],
        typer.Option(
            help="Whom intervals of reliability are for: raters like these, or raters some of whom are careless."
        ),
    ] = "alike",
    smallest_effect: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            help="Smallest difference between systems that matters; tests equivalence within it.",
        ),
    ] = None,
    figures: Annotated[
        bool, typer.Option(help="Write the figures as PDF, SVG and PNG; the report draws its own.")
    ] = True,
    as_: Layout = None,
) -> None:
    """Screen raters, measure how far the ratings can be trusted, and write a report."""
    from heartfelt.analysis import AnalyzeOptions
    from heartfelt.analysis import analyze as run
    from heartfelt.analysis.duration import time_estimate
    from heartfelt.analysis.preregistration import find_preregistration
    from heartfelt.files import TemporaryFolder, must_be_free, whole_folder
    from heartfelt.report import write_analysis
    from heartfelt.report.drawing.processes import waiting_helper
    from heartfelt.scoring.layouts import LAYOUTS

    must_be_free(out)
    options = AnalyzeOptions(
        policy=policy,
        seed=seed,
        covariates=tuple(covariate or ()),
        by=by,
        future_raters=future_raters,
        preregistration=preregistration or find_preregistration(source),
        smallest_effect=smallest_effect,
    )
    with progress_bar(f"reading {source}") as report:
        snapshots = read_parts(source, format, map, as_, report)
        estimate = time_estimate(sum(snapshot.counts["ratings"] for snapshot in snapshots))
        if estimate is not None:
            note(estimate)
        # What cannot be written fails before the analysis, and before ``out`` is there.
        published = TemporaryFolder()
        if as_ is not None:
            LAYOUTS[as_].write_analysis(snapshots, published.path)
        with waiting_helper(figures) as helper:
            analyses = [run(snapshot, options, report) for snapshot in snapshots]
            with whole_folder(out) as scratch:
                for analysis in analyses:
                    name = analysis.snapshot.study.name if len(analyses) > 1 else ""
                    write_analysis(analysis, scratch / name, figures=figures, progress=report, helper=helper)
                    helper = None
                for made in published.path.iterdir():
                    shutil.move(made, scratch / made.name)
    for analysis in analyses:
        bottom_line, *sentences = analysis.summary.verdict
        answers = analysis.summary.answers_used
        say(bottom_line, *([f"{answers.words}{answers.because}."] if answers.words else []))
        say(*(f"• {sentence}" for sentence in sentences))
        say(f"Next step: {analysis.summary.verdict_groups.next_step}")
    say(f"Report: {', '.join(str(path) for path in sorted(out.rglob('report.html')))}")
