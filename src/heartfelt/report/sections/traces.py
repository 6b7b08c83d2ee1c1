"""Questions answered while a clip played: traces over time, how far they agree, and who is late."""

from __future__ import annotations

from heartfelt.analysis import Analysis
from heartfelt.report.charts import Charts
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.templates import section
from heartfelt.wording import spaced


def traces(analysis: Analysis, charts: Charts) -> Section | None:
    """Traces of a choice of stimuli, agreement and ceilings by question and stimulus, and lags of raters."""
    results = analysis.summary.traces
    if not results:
        return None
    stimuli = [(question, stimulus) for question in results for stimulus in question.stimuli]
    raters = sorted(set[str]().union(*(question.lags for question in results)))
    lag_columns = [f"{spaced(question.question)} ({'s' if question.timed else 'samples'})" for question in results]
    return section(
        "sections/traces",
        "traces",
        charts,
        results=results,
        stimuli=stimuli,
        playable=_playable(analysis),
        lag_columns=["rater", *lag_columns],
        lags=[[rater, *(question.lags.get(rater) for question in results)] for rater in raters],
        left_out=sum(len(stimulus.left_out) for _, stimulus in stimuli),
    )


def _playable(analysis: Analysis) -> set[str]:
    stimuli = analysis.snapshot.stimuli
    if analysis.snapshot.source.media_root is None or not {"path", "found"} <= set(stimuli.columns):
        return set()
    return set(stimuli.filter(stimuli["found"])["stimulus"].to_list())
