"""Evidence on drafts: every figure by hand from a small table, and from panels with planted truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.consistency.live import machine_fields
from heartfelt.analysis.consistency.verification import verification
from heartfelt.analysis.findings.verification import DraftedField, DraftVerification
from heartfelt.serialization import from_json, to_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.verified import verified_rows
from heartfelt.study import parse_study
from tests.facts import mentions
from tests.screening.verifying import Panel, verified_panel

SOURCE = "hand calculation; panels with planted verdicts"
STUDY = """
heartfelt: 1
name: small
title: Small
media: image
stimuli: {manifest: stimuli.csv}
scales:
  bright: {type: numeric, low: 0, high: 1}
  tags: {type: tags}
questions:
  - {id: brightness, text: Brightness, scale: bright, machine_first: true}
  - {id: objects, text: Objects, scale: tags, machine_first: true}
"""


def small(rows: list[dict[str, Any]], names: tuple[str, ...] = ("a", "b")) -> Snapshot:
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    texts = dict.fromkeys(
        ("stimulus", "field", "machine", "source", "version", "verdict", "final", "verified_by", "shown"), pl.String
    )
    fields = pl.DataFrame(rows, schema={**texts, "seconds": pl.Float64})
    return Snapshot.build(
        parse_study(STUDY),
        stimuli=pl.DataFrame({"stimulus": names}),
        ratings=pl.DataFrame(schema=schema),
        fields=fields,
    )


def row(
    field: str, machine: str, final: str | None, shown: str, verdict: str | None = None, **more: Any
) -> dict[str, Any]:
    source = "planted" if shown == "planted" else "tagger"
    given = {"stimulus": "a", "field": field, "machine": machine, "final": final, "shown": shown, "verdict": verdict}
    return {"source": source, "verified_by": "p", **given, **more}


def field_of(made: DraftVerification | None, name: str) -> DraftedField:
    assert made is not None
    return next(field for field in made.fields if field.field == name)


def test_similarities_and_verdicts_by_hand() -> None:
    rows = [
        row("brightness", "0.5", "0.5", "true", "accepted"),
        row("brightness", "0.5", "0.7", "true", "fixed", verified_by="q"),
        row("brightness", "0.5", None, "true", "rejected", verified_by="s"),
        row("brightness", "0.5", "0.1", "hidden", verified_by="t"),
        row("brightness", "0.9", "0.9", "planted", "accepted", verified_by="u"),
        row("brightness", "0.55", "0.55", "planted", "accepted", verified_by="v"),
        row("objects", "cat;dog", "dog;boat", "hidden"),
        row("objects", "tree", "cat;dog", "planted", verified_by="q"),
    ]
    made = verification(small(rows))
    bright, objects, every = (field_of(made, name) for name in ("brightness", "objects", "all"))
    shares = [getattr(bright.verdicts, name).value for name in ("accepted", "fixed", "rejected")]
    assert shares == [pytest.approx(1 / 3)] * 3
    assert bright.anchoring.with_draft.value == pytest.approx((1.0 + 0.8 + 0.0) / 3)
    assert bright.accuracy.value == pytest.approx(0.6)
    assert (bright.planted, bright.planted_alike, bright.missed.value) == (1, 1, 1.0)
    assert mentions(bright.anchoring.difference.why_missing, "5 answers", "3", "1")
    assert mentions(bright.seconds.difference.why_missing, "time", "recorded")
    assert objects.accuracy.value == pytest.approx(1 / 3)
    assert (objects.planted, objects.missed.value) == (1, 0.0), "changed without a verdict is fixed"
    assert mentions(objects.verdicts.accepted.why_missing, "draft", "verified")
    assert (every.verdicts.verified, every.hidden, every.planted) == (3, 2, 2)
    assert made is not None
    assert [(model.source, model.version, model.verdicts.verified) for model in made.models] == [("tagger", None, 3)]
    raters = {rater.rater: (rater.planted, rater.planted_accepted) for rater in made.raters}
    assert raters == {"p": (0, 0), "q": (1, 0), "s": (0, 0), "t": (0, 0), "u": (1, 1), "v": (0, 0)}


def test_tables_of_other_sources() -> None:
    """A published table has verdicts and no word on what was shown; values that nobody verified do not count."""
    fields = pl.DataFrame(
        {
            "stimulus": ["a", "b", "b"],
            "field": ["objects", "objects", "brightness"],
            "machine": ["cat", "dog", "0.5"],
            "verdict": ["accepted", "fixed", None],
            "final": ["cat", "boat", None],
        }
    )
    bare = small([])
    made = verification(Snapshot.build(bare.study, stimuli=bare.stimuli, ratings=bare.ratings, fields=fields))
    assert made is not None
    (only,) = made.fields
    assert (only.field, only.verdicts.verified, only.verdicts.accepted.value) == ("objects", 2, 0.5)
    assert mentions(only.missed.why_missing, "planted", "error")
    assert mentions(only.accuracy.why_missing, "answered", "draft")
    assert [rater.rater for rater in made.raters] == ["unknown"]
    assert made.models[0].source == "unknown"
    assert verification(bare) is None


@pytest.mark.slow
def test_planted_effects_are_measured() -> None:
    panel = Panel(raters=16, images=60, fields=3, planted=0.1, hidden=0.2, stampers=2, miss=(0.1, 0.1))
    snapshot = verified_panel(panel, 7)
    made = verification(snapshot)
    assert made is not None
    every = made.fields[0]
    for estimate, true in (
        (every.missed, (2 * 1.0 + 14 * 0.1) / 16),
        (every.accuracy, 0.9),
        (every.anchoring.difference, 0.1),
        (every.seconds.difference, 0.5),
    ):
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= true <= estimate.high, estimate
    assert every.verdicts.accepted.value == 1.0
    assert every.seconds.p is not None
    assert every.seconds.p < 1e-6
    assert every.keystrokes.difference.value == pytest.approx(-5.0)
    first = made.fields[1]
    assert first.anchoring.p is not None
    assert first.anchoring.p_holm is not None
    assert first.anchoring.p_holm >= first.anchoring.p
    assert from_json(DraftVerification, to_json(made)) == made
    without = verification(snapshot, ["r000", "r001"])
    assert without is not None
    assert without.left_out == 2 * 60 * 3
    assert without.fields[0].missed.high is not None
    assert without.fields[0].missed.high < 0.3
    assert len(without.raters) == 16


@pytest.mark.slow
def test_the_dashboard_has_the_same_numbers() -> None:
    snapshot = verified_panel(Panel(raters=6, images=10, fields=2, planted=0.2), 3)
    made = verification(snapshot)
    assert made is not None
    shown = machine_fields(snapshot, ["field0", "field1", "nothing"])
    for one, other in zip(made.fields[1:], shown, strict=False):
        assert (one.verdicts.accepted, one.missed, one.accuracy) == (
            other.accepted,
            other.planted_accepted,
            other.accuracy,
        )
        assert (one.anchoring.difference, one.seconds.difference) == (other.anchoring, other.time)
    assert shown[2].accepted.why_missing


def test_a_row_knows_the_draft_behind_a_planted_one() -> None:
    snapshot = verified_panel(Panel(raters=5, images=8, fields=2, planted=0.3), 1)
    rows = verified_rows(snapshot)
    assert rows.height == 5 * 8 * 2
    planted = rows.filter(pl.col("shown") == "planted")
    assert planted["wrong"].all()
    assert (planted["draft"] != planted["machine"]).all()
    assert rows.filter(pl.col("shown") != "planted")["wrong"].null_count() == rows.height - planted.height


@pytest.mark.slow
def test_an_analysis_says_who_stamped() -> None:
    snapshot = verified_panel(Panel(raters=10, images=30, fields=4, planted=0.1, stampers=2, answers=True), 5)
    made = analyze(snapshot, AnalyzeOptions(resamples=100))
    assert made.summary.verification is not None
    stamped = [rater for rater, why in made.summary.screening.flagged.items() if "rubber-stamping" in " ".join(why)]
    assert sorted(stamped) == ["r000", "r001"]
    text = " ".join(made.summary.verdict)
    assert mentions(text, "2 of 10 raters", "r000", "r001")
    assert "that were verified" in text
    assert "verification" in to_json(made.summary)  # type: ignore[operator]  # a mapping
    assert mentions(made.summary.methods, "4 fields", "11%")
    raters = made.raters.filter(pl.col("rater") == "r000")
    assert raters["planted_drafts"].item() == raters["planted_accepted"].item() > 5
    strict = analyze(snapshot, AnalyzeOptions(resamples=100, policy="strict"))
    assert strict.summary.verification is not None
    assert strict.summary.verification.left_out == 2 * 30 * 4
    assert np.isclose(
        strict.summary.verification.fields[0].planted, made.summary.verification.fields[0].planted * 0.8, rtol=0.2
    )
