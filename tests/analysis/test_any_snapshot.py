"""Any small snapshot of any kind of study: a full summary, strict JSON, a reason for every gap, and a report.

The snapshots are random in everything a source may be odd in: kind of scale, how many raters, stimuli, systems and intents,
which answers are missing, constant answers, raters unknown or listed without ratings, means in place of ratings, odd names.
Warnings are errors here, so a division by zero that is caught somewhere still fails the test.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.layout.page import render
from heartfelt.snapshot import Snapshot
from heartfelt.study import Intent, Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import AnyScale, Categories, Numeric, Ordered, Points, YesNo
from tests.analysis.made import summary_of
from tests.analysis.test_bad_input import check_parts, check_reasons

SCALES: dict[str, tuple[AnyScale, tuple[int, int]]] = {
    "points": (Points(type="points", points=5), (1, 5)),
    "nine": (Points(type="points", points=9), (1, 9)),
    "open": (Numeric(type="numeric"), (-3, 40)),
    "ordered": (Ordered(type="ordered", categories=["bad", "poor", "fair", "good", "excellent"]), (0, 4)),
    "presence": (Ordered(type="ordered", categories=["not_present", "weak", "strong"]), (0, 2)),
    "yes-no": (YesNo(type="yes-no"), (0, 1)),
    "categories": (Categories(type="categories", categories=["joyful", "sad", "awe", "calm"]), (0, 3)),
}
NAMES = ("plain", "with space", "a:b", "Ünïcödé", "<b>&", "%s {x}", "null", "0", "a + b", "it's", "all", "x\\y", "喜び")
REFERENCES = {"joyful": (8.0, 7.0), "sad": (2.0, 3.0), "angry": (2.5, 7.5), "calm": (7.0, 2.5)}


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    kind = draw(st.sampled_from(["conveyance", *SCALES]))
    conveyance = kind == "conveyance"
    scale, (low, high) = SCALES["nine" if conveyance else kind]
    asked = draw(st.sampled_from([2, 3] if conveyance else [1, 2, 5, 14]))
    odd = draw(st.booleans())
    questions = [
        Question(
            id=f"q{k}",
            text=NAMES[k % len(NAMES)],
            scale="s",
            axis=("valence", "arousal", None)[k] if conveyance else None,
        )
        for k in range(asked)
    ]
    intents = [
        Intent(id=name, reference={"valence": v, "arousal": a} if conveyance else {})
        for name, (v, a) in REFERENCES.items()
    ]
    study = Study(name="any", scales={"s": scale}, questions=questions, intents=intents)
    items = draw(st.sampled_from([1, 2, 5, 12, 24]))
    systems = draw(st.sampled_from([0, 1, 2, 3, items]))
    table = _stimuli(rng, items, systems, odd, draw(st.sampled_from(["all", "some", "none"])))
    raters = draw(st.sampled_from([1, 2, 4, 12]))
    ratings = _ratings(
        rng,
        table["stimulus"].to_list(),
        [f"{NAMES[r % len(NAMES)]}{r}" if odd else f"r{r}" for r in range(raters)],
        [question.id for question in questions],
        (low, high),
        draw(st.sampled_from(["signal", "noise", "constant", "agree", "near constant"])),
        draw(st.sampled_from([0.3, 0.8, 1.0])),
    )
    listed = [*ratings["rater"].unique(maintain_order=True).to_list(), "silent"]
    people = pl.DataFrame({"rater": listed, "language": [("de", "en")[k % 2] for k in range(len(listed))]})
    form = draw(st.sampled_from(["ratings", "ratings", "ratings", "votes", "means"]))
    if form == "means":
        means = ratings.group_by("stimulus", "question", maintain_order=True).agg(
            pl.mean("value").alias("mean"), pl.std("value").alias("sd"), pl.len().cast(pl.Int64).alias("n")
        )
        usable = kind in ("conveyance", "points", "nine", "open")
        return Snapshot.build(study, stimuli=table, means=means if usable else means.clear())
    if form == "votes":
        return Snapshot.build(
            study, stimuli=table, ratings=ratings.with_columns(pl.lit(None, pl.String).alias("rater"))
        )
    return Snapshot.build(study, stimuli=table, ratings=ratings, raters=people)


def _stimuli(rng: np.random.Generator, items: int, systems: int, odd: bool, intents: str) -> pl.DataFrame:
    names = [f"{NAMES[i % len(NAMES)]}/{i}" if odd else f"s{i}" for i in range(items)]
    table = pl.DataFrame({"stimulus": names})
    if systems:
        own = [NAMES[i % systems % len(NAMES)] + str(i % systems) if odd else f"M{i % systems}" for i in range(items)]
        table = table.with_columns(pl.Series("system", own))
    if intents != "none":
        known = [
            str(name) if intents == "all" or rng.random() < 0.6 else None
            for name in rng.choice(list(REFERENCES), items)
        ]
        table = table.with_columns(pl.Series("intent", known, dtype=pl.String))
    return table


def _ratings(
    rng: np.random.Generator,
    stimuli: list[str],
    raters: list[str],
    questions: list[str],
    bounds: tuple[int, int],
    answers: str,
    chance: float,
) -> pl.DataFrame:
    low, high = bounds
    level = rng.uniform(low, high, (len(stimuli), len(questions)))
    rows = []
    for i, stimulus in enumerate(stimuli):
        for k, question in enumerate(questions):
            for r, rater in enumerate(raters):
                if rng.random() > chance:
                    continue
                value: float = low
                if answers == "signal":
                    value = level[i, k] + rng.normal() * (high - low) / 8 + r % 3 - 1
                elif answers == "noise":
                    value = float(rng.integers(low, high + 1))
                elif answers == "agree":
                    value = level[i, k]
                elif answers == "near constant":
                    value = low + (r == i == k == 0)
                rows.append((rater, stimulus, question, float(np.clip(round(value), low, high))))
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def check(found: Analysis) -> None:
    text = json.dumps(summary_of(found), allow_nan=False)
    assert json.loads(text) == summary_of(found)
    check_reasons(summary_of(found))
    check_parts(found)
    assert not [note for note in summary_of(found)["notes"] if "heartfelt failed" in note], summary_of(found)["notes"]
    assert "heartfelt failed" not in text
    groups = summary_of(found)["verdict_groups"]
    assert summary_of(found)["verdict"][0] == groups["bottom_line"]
    assert sum(len(groups[name]) for name in ("systems", "reliability", "raters")) + 1 == len(
        summary_of(found)["verdict"]
    )
    words = " ".join(summary_of(found)["verdict"])
    assert "None" not in words
    assert "could not be written" not in words
    page = render(analysis_page(found, charts_of(found), Path("report.html")))
    assert "This section is missing" not in page
    assert "heartfelt failed" not in page


@pytest.mark.slow
@settings(
    max_examples=16,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(snapshot=snapshots(), policy=st.sampled_from(["flag-only", "default"]), by=st.booleans())
def test_every_snapshot_is_analysed_and_reported(snapshot: Snapshot, policy: str, by: bool) -> None:
    column = "language" if by and "language" in snapshot.raters.columns else None
    if column is not None and len(snapshot.survey.raters) < 2:
        column = None
    check(analyze(snapshot, AnalyzeOptions(policy=policy, resamples=100, by=column)))
