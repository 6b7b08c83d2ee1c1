"""Results print short, whatever they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.formats import FORMATS
from heartfelt.labels.labelling import labels
from heartfelt.stats import aggregate


@pytest.mark.slow
def test_results_print_short(tmp_path: Path) -> None:
    snapshot = heartfelt.read(FORMATS["aimoclips"].example(tmp_path), "aimoclips")
    ratings = snapshot.ratings.filter(question="valence")
    columns = [ratings[name].to_list() for name in ("rater", "stimulus", "value")]
    results = [
        analyze(snapshot, AnalyzeOptions(resamples=100)),
        labels(snapshot),
        aggregate.p910(*columns),
        aggregate.mode(*columns),
        snapshot,
    ]
    for result in results:
        assert len(repr(result)) < 700, type(result).__name__
        assert type(result).__name__ in repr(result)
