"""``heartfelt analyze``: from ratings to a report a reviewer would enjoy."""

from __future__ import annotations

from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.cli.command import Out, Source, app, note, progress_bar, say
from heartfelt.options import SourceOptions
from heartfelt.report.options import ReportOptions


@app.command()
def analyze(source: Source, out: Out, options: AnalyzeOptions, reading: SourceOptions, writing: ReportOptions) -> None:
    """Screen raters, measure how far the ratings can be trusted, and write a report."""
    from heartfelt.analysis.data.duration import time_estimate
    from heartfelt.api.ratings import analyses

    def announce(ratings: int) -> None:
        estimate = time_estimate(ratings)
        if estimate is not None:
            note(estimate)

    with progress_bar(f"reading {source}") as report:
        results = analyses(source, options, reading, writing, out=out, estimate=announce, progress=report)
    for result in results:
        bottom_line, *sentences = result.summary.verdict
        answers = result.summary.answers_used
        say(bottom_line, *([f"{answers.words}{answers.because}."] if answers.words else []))
        say(*(f"• {sentence}" for sentence in sentences))
        say(f"Next step: {result.summary.verdict_groups.next_step}")
    say(f"Report: {', '.join(str(path) for path in sorted(out.rglob('report.html')))}")
