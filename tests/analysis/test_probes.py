"""Anchors are for screening: they move no label, no reliability, no comparison of systems, and no benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.errors import InputError
from heartfelt.formats.format import read_with
from heartfelt.labels import first_answers, freeze, labels
from heartfelt.predictors.task import cases
from heartfelt.scoring.ground_truth.truth import truth_of
from heartfelt.screening import RULES, RuleOptions, screen
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study, parse_study
from heartfelt.study.model import AnchorProbe
from tests.analysis.made import summary_of

ANCHORS = ("low1", "low2", "low3")


def study(anchors: tuple[str, ...] = ANCHORS, practice: tuple[str, ...] = ()) -> Study:
    made = parse_study(
        "name: probes\nscales:\n  s: {type: points, points: 11, first: 0}\n"
        "questions:\n  - {id: quality, text: quality, scale: s}\n"
    )
    probes = (
        [AnchorProbe(type="anchor", id="noise", stimuli=list(anchors), question="quality", at_most=3)]
        if anchors
        else []
    )
    return made.changed(probes=probes, design=made.design.model_copy(update={"practice_stimuli": list(practice)}))


def ratings(spread: float, seed: int = 0, raters: int = 16) -> pl.DataFrame:
    """Real clips at 7-9, synthetic ones ``spread`` lower, and anchors of the real system at 0-1."""
    rng = np.random.default_rng(seed)
    truth = {f"real{i}": 8 + rng.normal(0, 0.4) for i in range(12)}
    truth |= {f"synthetic{i}": 8 - spread + rng.normal(0, 0.4) for i in range(12)}
    truth |= dict.fromkeys(ANCHORS, 0.5)
    rows = [
        (f"r{r}", name, "quality", float(np.clip(np.round(value + rng.normal(0, 1.0)), 0, 10)), place)
        for r in range(raters)
        for place, (name, value) in enumerate(truth.items(), 1)
    ]
    return pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position"], orient="row")


def stimuli(frame: pl.DataFrame) -> pl.DataFrame:
    names = frame.select("stimulus").unique(maintain_order=True)
    synthetic = pl.col("stimulus").str.starts_with("synthetic")
    return names.with_columns(system=pl.when(synthetic).then(pl.lit("synthetic")).otherwise(pl.lit("real")))


def snapshot(spread: float, of: Study | None = None, seed: int = 0) -> Snapshot:
    frame = ratings(spread, seed)
    return Snapshot.build(of or study(), stimuli=stimuli(frame), ratings=frame)


def bare(spread: float, seed: int = 0) -> Snapshot:
    """The same study as if the anchors had never been played."""
    frame = ratings(spread, seed).filter(~pl.col("stimulus").is_in(ANCHORS))
    return Snapshot.build(study(()), stimuli=stimuli(frame), ratings=frame)


def system_effect(snap: Snapshot) -> tuple[float, str]:
    """The p-value of the systems, and the better system."""
    result = summary_of(analyze(snap, AnalyzeOptions()))
    row = next(row for row in result["anova"] if row["effect"] == "system")
    best = max(result["systems"], key=lambda row: row["mean"]["value"])
    return row["p"], best["system"]


@pytest.mark.slow
def test_anchors_do_not_hide_a_real_difference() -> None:
    with_anchors, undeclared, without = (
        system_effect(each) for each in (snapshot(1.0), snapshot(1.0, study(())), bare(1.0))
    )
    assert undeclared[0] > 0.05
    assert undeclared[1] == "synthetic"
    assert with_anchors == without
    assert with_anchors[0] < 0.001
    assert with_anchors[1] == "real"


@pytest.mark.slow
def test_anchors_do_not_inflate_reliability() -> None:
    figures = {}
    for name, snap in {"declared": snapshot(0.0), "undeclared": snapshot(0.0, study(())), "bare": bare(0.0)}.items():
        result = summary_of(analyze(snap, AnalyzeOptions()))
        figures[name] = result["reliability"]["quality"]["icc1"]["value"]
    assert figures["undeclared"] > figures["bare"] + 0.3
    assert figures["declared"] == pytest.approx(figures["bare"], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("of", [study(), study((), ANCHORS)], ids=["anchors", "practice stimuli"])
def test_probes_are_in_no_label_benchmark_case_or_truth(of: Study) -> None:
    snap = snapshot(2.0, of)
    assert not set(labels(snap).table["stimulus"]) & set(ANCHORS)
    assert not set(first_answers(snap)["stimulus"]) & set(ANCHORS)
    assert not set(freeze(snap).items["stimulus"]) & set(ANCHORS)
    assert not set(freeze(snap).stimuli["stimulus"]) & set(ANCHORS)
    assert not {case.stimulus for case in cases(snap)} & set(ANCHORS)
    assert not {case.stimulus for case in cases(snap, labelled=False)} & set(ANCHORS)
    assert not set(truth_of(snap).items["stimulus"]) & set(ANCHORS)
    assert not set(screen(snap).snapshot().ratings["stimulus"]) & set(ANCHORS)


@pytest.mark.slow
def test_what_was_taken_out_is_in_the_ledger_and_counted() -> None:
    snap = snapshot(2.0)
    after = snap.without_probes
    assert after.without_probes is after
    assert after.ledger.select("what", "stimulus", "ratings", "stage").rows() == [
        ("stimulus", name, 16, "probes") for name in ANCHORS
    ]
    assert snap.counts["stimuli"] == 27
    assert after.counts["stimuli"] == 24
    result = analyze(snap, AnalyzeOptions())
    counts = summary_of(result)["counts"]
    assert (counts["stimuli"], counts["probe_stimuli"], counts["answers_to_probes"]) == (24, 3, 48)
    assert counts["answers"] == 24 * 16
    assert any("3 stimuli are probes" in note for note in summary_of(result)["notes"])
    assert set(result.ledger.filter(pl.col("stage") == "probes")["stimulus"]) == set(ANCHORS)


def test_a_snapshot_without_probes_is_itself() -> None:
    snap = bare(2.0)
    assert snap.without_probes is snap
    assert screen(snap, "none").snapshot() is snap


@pytest.mark.slow
def test_screening_still_sees_the_anchors() -> None:
    frame = ratings(2.0)
    odd = (pl.col("rater") == "r3") & pl.col("stimulus").is_in(ANCHORS)
    frame = frame.with_columns(value=pl.when(odd).then(9.0).otherwise("value"))
    snap = Snapshot.build(study(), stimuli=stimuli(frame), ratings=frame)
    panel = screen(snap, "default, anchor=drop")
    assert panel.dropped == ("r3",)
    assert panel.snapshot().ledger["what"].to_list() == ["rater", "stimulus", "stimulus", "stimulus"]
    assert panel.snapshot().ratings.height == 15 * 24


def test_ratings_in_a_file_stay_there() -> None:
    frame = ratings(2.0)
    lazy = Snapshot.build(study(), stimuli=stimuli(frame), ratings=frame.lazy())
    assert lazy.without_probes.ratings_file is not None
    assert lazy.without_probes.survey.hash == snapshot(2.0).without_probes.survey.hash


@pytest.mark.slow
def test_limits_on_the_mean_and_the_sum_of_a_raters_anchors() -> None:
    frame = ratings(2.0)
    odd = (pl.col("rater") == "r3") & pl.col("stimulus").is_in(ANCHORS)
    frame = frame.with_columns(value=pl.when(odd).then(3.0).otherwise("value"))
    snap = Snapshot.build(study(), stimuli=stimuli(frame), ratings=frame)
    rule = RULES["anchor"]
    assert not rule.apply(snap)["flagged"].any()
    for settings, words in (
        ({"mean_at_most": 2.5}, "The mean of 3 answers to 'quality' on anchor 'noise' is 3, not at most 2.5."),
        ({"sum_at_most": 8}, "The sum of 3 answers to 'quality' on anchor 'noise' is 9, not at most 8."),
    ):
        rows = rule.apply(snap, RuleOptions(settings=settings)).filter("flagged")
        assert rows.select("rater", "words").rows() == [("r3", words)]
    with pytest.raises(InputError, match="mean"):
        rule.apply(snap, RuleOptions(settings={"mean_at_most": 1, "mean_at_least": 2}))
    policy = {"base": "default", "drop": ["anchor"], "settings": {"anchor": {"mean_at_most": 2.5}}}
    assert screen(snap, policy).dropped == ("r3",)


def test_anchors_without_limits_judge_nobody_and_say_so() -> None:
    made = study()
    probe = made.probes[0].model_copy(update={"at_most": None})
    table = RULES["anchor"].apply(snapshot(2.0, made.changed(probes=[probe])))
    assert table["why_missing"].unique().to_list() == ["the anchors have no limits"]


def table_at(folder: Path, *, marked: str | None = None) -> Path:
    frame = ratings(1.0)
    frame = frame.join(stimuli(frame), on="stimulus", maintain_order="left")
    if marked:
        anchor = pl.when(pl.col("stimulus").is_in(ANCHORS)).then(pl.lit("0-3")).otherwise(pl.lit(""))
        frame = frame.with_columns(anchor.alias(marked))
    frame.write_csv(folder / "ratings.csv")
    return folder / "ratings.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marked", "option"), [(None, "low1=0-3, low2=0-3,low3=0..3"), ("known", "known")], ids=["names", "column"]
)
def test_anchors_are_named_when_a_table_is_read(tmp_path: Path, marked: str | None, option: str) -> None:
    path = table_at(tmp_path, marked=marked)
    snap = read_with(path, "long", {"scale": "0-10", "anchors": option})
    probe = snap.study.probes[0]
    assert isinstance(probe, AnchorProbe)
    assert sorted(probe.stimuli) == sorted(ANCHORS)
    assert (probe.at_least, probe.at_most, probe.question) == (0.0, 3.0, "quality")
    assert system_effect(snap)[1] == "real"
    assert system_effect(read_with(path, "long", {"scale": "0-10"}))[1] == "synthetic"
    assert snap.without_probes.counts["stimuli"] == 24


def test_anchors_without_limits_and_with_one_limit(tmp_path: Path) -> None:
    snap = read_with(table_at(tmp_path), "long", {"scale": "0-10", "anchors": "low1, low2=-3, low3=0-"})
    limits = {tuple(p.stimuli): (p.at_least, p.at_most) for p in snap.study.probes if isinstance(p, AnchorProbe)}
    assert limits == {("low1",): (None, None), ("low2",): (None, 3.0), ("low3",): (0.0, None)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "words"),
    [("lwo1=0-3", "low1"), ("low1=high", "LOW-HIGH"), ("low1=3-0", "wrong way round"), ("system", "limits")],
)
def test_mistakes_in_naming_anchors_are_told(tmp_path: Path, option: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_with(table_at(tmp_path), "long", {"scale": "0-10", "anchors": option})
    assert words in f"{caught.value.problem} {caught.value.fix}"
