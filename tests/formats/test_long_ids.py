"""Captions of several hundred characters as ids: read, analysed, reported, exported and published like any others."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.errors import InputError
from heartfelt.formats.format import export
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.layout.page import render
from heartfelt.snapshot import Snapshot

CAPTION = "A woman speaks while a dog barks in the distance, and rain falls on a metal roof / followed by a car. " * 4


def captioned(**options: str) -> Snapshot:
    rows = [
        (f"r{r}", f"{CAPTION}{s}", f"{CAPTION}system {s % 2}", f"{CAPTION}intent {s % 3}", str(s == 0), 1 + (s + r) % 9)
        for r in range(4)
        for s in range(9)
    ]
    names = ["rater", "stimulus", "system", "intent", "anchor label", "value"]
    return heartfelt.read(pl.DataFrame(rows, schema=names, orient="row"), "long", scale="1-9", **options)


@pytest.mark.slow
def test_long_ids_come_back(tmp_path: Path) -> None:
    snapshot = captioned(anchors="anchor label")
    assert min(map(len, snapshot.stimuli["stimulus"])) > 400
    assert snapshot.without_probes.counts["stimuli"] == 8
    assert heartfelt.load(snapshot.write(tmp_path / "snapshot")).hash == snapshot.hash
    assert heartfelt.read(export(snapshot, "long", tmp_path / "long")).hash == snapshot.hash
    for format in ("wide", "votes", "means"):
        export(snapshot, format, tmp_path / format)


@pytest.mark.slow
def test_long_ids_are_analysed_reported_and_published(tmp_path: Path) -> None:
    snapshot = captioned(anchors="anchor label")
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    page = render(analysis_page(analysis, charts_of(analysis), tmp_path / "report.html"))
    assert f"{CAPTION}system 1" in page
    publish(snapshot, tmp_path / "published", PublishOptions(k=2, analysis=False))
    assert f"{CAPTION}8" in heartfelt.load(tmp_path / "published" / "snapshot").stimuli["stimulus"].to_list()


def test_a_name_that_no_study_can_hold_is_refused_with_a_reason() -> None:
    frame = pl.DataFrame(
        {"rater": ["a", "b"], "stimulus": ["two\nlines", "s"], "anchor": ["yes", "no"], "value": [1, 2]}
    )
    with pytest.raises(InputError, match=r"1.*2,000 printable"):
        heartfelt.read(frame, "long", scale="1-9", anchors="anchor")
