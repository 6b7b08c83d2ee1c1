"""Drafts in a report: the numbers are those of the summary, and nothing is said of a study without drafts."""

from __future__ import annotations

from heartfelt.analysis import Analysis
from heartfelt.report.analysis import charts_of
from heartfelt.report.charts import Absent, Chart, Intervals
from heartfelt.report.figures import FIGURES
from heartfelt.report.palette import FLAGGED
from heartfelt.report.sections.verification import verification
from heartfelt.wording import interval


def chart(name: str, analysis: Analysis) -> list[Intervals]:
    made = FIGURES[name].chart(analysis)
    assert isinstance(made, Chart), made
    return [panel for panel in made.panels if isinstance(panel, Intervals)]


def test_tables_and_figures_show_the_summary(drafted: Analysis) -> None:
    made = drafted.summary.verification
    assert made is not None
    accepted, missed, accuracy = chart("draft-verdicts", drafted)
    assert [row.value for row in accepted.rows] == [field.verdicts.accepted.value for field in made.fields]
    assert [row.high for row in missed.rows] == [field.missed.high for field in made.fields]
    assert [row.label for row in accuracy.rows] == ["all fields", "field0", "field1", "field2"]
    section = verification(drafted, charts_of(drafted))
    assert section is not None
    assert section.title == "Drafts and verification"
    for field in made.fields:
        for estimate in (field.missed, field.accuracy, field.anchoring.difference, field.seconds.difference):
            assert interval(estimate) in section.html, (field.field, estimate)
    for rater in made.raters:
        assert rater.rater in section.html
    assert "tagger" in section.html


def test_the_rater_who_accepts_everything_is_marked(drafted: Analysis) -> None:
    (panel,) = chart("planted-errors", drafted)
    assert (panel.rows[0].label, panel.rows[0].value, panel.rows[0].colour) == ("r000", 1.0, FLAGGED)
    assert {row.colour for row in panel.rows[1:]} != {FLAGGED}
    assert "flagged by rubber-stamping" in panel.rows[0].words


def test_a_study_without_drafts_has_no_such_section(opinion: Analysis) -> None:
    assert opinion.summary.verification is None
    assert verification(opinion, charts_of(opinion)) is None
    for name in ("draft-verdicts", "draft-effects", "planted-errors"):
        absent = FIGURES[name].chart(opinion)
        assert isinstance(absent, Absent)
        assert "nobody verified" in absent.reason
