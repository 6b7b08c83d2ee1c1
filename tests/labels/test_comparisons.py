"""Labels of comparisons and traces: strengths with ranks, courses with bands, and what a benchmark stores of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt import stats
from heartfelt.analysis.compared_sets.strengths import comparison_results
from heartfelt.errors import DamagedError
from heartfelt.labels import first_answers, freeze, labels, load_benchmark
from heartfelt.labels.splits import SplitOptions
from heartfelt.labels.strengths import contest
from heartfelt.labels.traces import aligned
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import choices, pairs
from heartfelt.study import Design
from heartfelt.study.model import RepeatProbe
from tests.compared import STRENGTHS, SYSTEMS, arena, mushra, rows_of, sets_of_four, stimuli, traced
from tests.facts import mentions


def systems(snapshot: Snapshot) -> dict[str, dict[str, object]]:
    table = labels(snapshot).strengths.filter(pl.col("of") == "system")
    return {row["name"]: row for row in table.iter_rows(named=True)}


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_systems_get_the_strengths_of_their_pairs(ties: float) -> None:
    snapshot = arena(ties=ties, order=0.4, raters=20)
    table = pairs(snapshot.ratings, "better", snapshot.stimuli)
    model = stats.davidson if ties else stats.bradley_terry
    expected = model(
        table["rater"],
        table["first_system"],
        table["second_system"],
        table["value"],
        stimulus=table["first"].str.split("/").list.last(),
        order_effect=True,
    )
    made = systems(snapshot)
    for name in SYSTEMS:
        row, strength = made[name], expected.strength(name)
        assert [row[c] for c in ("value", "low", "high")] == pytest.approx(
            [strength.value, strength.low, strength.high], abs=1e-9
        )
        assert row["method"] == expected.model
        if not ties:
            assert strength.low is not None
            assert strength.low < STRENGTHS[name] < (strength.high or 0)
        assert row["low"] < row["value"] < row["high"]  # type: ignore[operator]  # numbers in a row of mixed types
    assert [made[name]["rank"] for name in SYSTEMS] == [1, 2, 3, 4]
    assert all(row["rank_low"] <= row["rank"] <= row["rank_high"] for row in made.values())  # type: ignore[operator]  # numbers in a row of mixed types
    assert sum(float(str(row["best"])) for row in made.values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_no_effect_of_an_order_that_was_not_recorded() -> None:
    ordered = arena(raters=10, each=40, order=0.5, seed=7)
    place = pl.lit(None, pl.Int64).alias("place")
    source = Snapshot.build(ordered.study, stimuli=ordered.stimuli, ratings=ordered.ratings.with_columns(place))
    made = contest(source, "better", "system")
    assert made is not None
    table = pairs(ordered.ratings, "better", ordered.stimuli)
    plain = stats.bradley_terry(None, table["first_system"], table["second_system"], table["value"])
    assert {str(name): each.value for name, each in zip(made.result.names, made.result.strengths, strict=True)} == {
        str(name): pytest.approx(each.value, abs=1e-6) for name, each in zip(plain.names, plain.strengths, strict=True)
    }
    assert made.result.order_effect.estimate.is_missing
    assert made.notes == ("No effect of the order is estimated: the order of presentation was not recorded.",)
    (result,) = comparison_results(source)
    assert result.order is None
    assert {row.first_share for row in result.consistency} == {None}


@pytest.mark.slow
def test_further_answers_to_a_pair_count_unless_they_test_raters() -> None:
    once = arena(raters=8, each=20)
    again = once.ratings.with_columns(pl.format("{}#2", "trial").alias("trial"), pl.lit(1).alias("repeat"))
    ratings = pl.concat([once.ratings.with_columns(pl.lit(0).alias("repeat")), again])
    twice = Snapshot.build(once.study, stimuli=once.stimuli, ratings=ratings)
    probed = once.study.changed(probes=[RepeatProbe(type="repeat", id="again")])
    tested = Snapshot.build(probed, stimuli=once.stimuli, ratings=ratings)
    single, double, left_out = (systems(source) for source in (once, twice, tested))
    assert left_out == single
    # The same answers twice, by the same raters: the same strengths, and no narrower intervals over raters.
    for name, before in single.items():
        after = double[name]
        assert after["n"] == 2 * int(str(before["n"]))
        assert after["value"] == pytest.approx(before["value"], abs=1e-6)
        assert after["standard_error"] > 0.75 * float(str(before["standard_error"]))  # type: ignore[operator]  # numbers in a row of mixed types


def test_strengths_and_order_effect_are_those_of_r() -> None:
    """SOURCE: BradleyTerry2 1.1.2 for R, BTm with ~ id + home (home is 1 for the first), strengths less their mean."""
    made = contest(arena(raters=10, each=40, order=0.5, seed=7), "better", "system")
    assert made is not None
    expected = {"alpha": 0.8477075599, "beta": 0.5891581393, "delta": -1.1642142221, "gamma": -0.2726514771}
    for name, strength in expected.items():
        assert float(made.result.strength(name)) == pytest.approx(strength, abs=1e-8)
    assert made.result.order_effect.estimate.value == pytest.approx(0.6028985076, abs=1e-8)


def test_many_contestants_after_adaptive_pairing_come_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = arena()
    study = plain.study.changed(design=Design(adaptive=True))
    adaptive = Snapshot.build(study, stimuli=plain.stimuli, ratings=plain.ratings)
    for most, noted in ((4, False), (3, True)):
        monkeypatch.setattr("heartfelt.labels.strengths.MANY_ADAPTIVE", most)
        made = contest(adaptive, "better", "system")
        assert made is not None
        assert any("adaptively" in note for note in made.notes) is noted
        other = contest(plain, "better", "system")
        assert other is not None
        assert not other.notes


def test_each_prompt_by_itself_gives_stimuli_no_common_scale() -> None:
    result = labels(arena())
    assert result.table["value"].null_count() == result.table.height == 32
    assert mentions(str(result.table["why_missing"][0]), "8 groups", "comparison")
    assert result.ledger.filter(pl.col("what") == "item").height == 32


@pytest.mark.slow
def test_connected_stimuli_have_strengths_as_labels() -> None:
    result = labels(arena(across=True, each=200, prompts=4))
    assert result.table["value"].is_not_null().all()
    by_system = result.table.group_by(pl.col("stimulus").str.split("/").list.first()).agg(pl.mean("value"))
    order = dict(by_system.iter_rows())
    assert sorted(order, key=lambda name: -order[name]) == list(SYSTEMS)
    assert (result.table["low"] < result.table["value"]).all()
    assert result.table["n"].sum() == 2 * 2000


@pytest.mark.slow
def test_grades_of_preferences_are_strengths_on_their_scale() -> None:
    made = systems(arena(graded=True, raters=20, each=60))
    for name in SYSTEMS:
        assert float(str(made[name]["value"])) == pytest.approx(STRENGTHS[name], abs=0.15)
    assert made["alpha"]["method"] == "graded comparisons" or "grade" in str(made["alpha"]["method"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rank", "best-worst"])
def test_sets_give_strengths_and_the_pairs_that_follow(kind: str) -> None:
    snapshot = sets_of_four(kind, raters=20)
    made = systems(snapshot)
    assert [made[name]["rank"] for name in SYSTEMS] == [1, 2, 3, 4]
    for name in SYSTEMS:
        assert float(str(made[name]["value"])) == pytest.approx(STRENGTHS[name], abs=0.45)
    scale = snapshot.study.scale_of("better")
    table = choices(snapshot.ratings, "better", scale)
    assert table.height == 20 * 12 * (6 if kind == "rank" else 5)
    values = {(r["rater"], r["trial"], r["stimulus"]): r["value"] for r in snapshot.ratings.iter_rows(named=True)}
    for row in table.head(200).iter_rows(named=True):
        first, second = (values[row["rater"], row["trial"], row[side]] for side in ("first", "second"))
        better = first < second if kind == "rank" else first > second
        assert row["value"] == float(better)


@pytest.mark.slow
def test_bad_comparisons_are_explained() -> None:
    winner = [
        row
        for number in range(12)
        for row in rows_of("r00", f"x{number}", [f"champion/{number % 8}", f"alpha/{number % 8}"], [1.0, 0.0])
    ]
    snapshot = arena()
    both = Snapshot.build(
        snapshot.study,
        stimuli=pl.concat([snapshot.stimuli, stimuli(8, ("champion", "nobody"))], how="diagonal"),
        ratings=pl.concat([snapshot.ratings, pl.DataFrame(winner)], how="diagonal"),
    )
    made = systems(both)
    assert made["champion"]["value"] is None
    assert "won every comparison" in str(made["champion"]["why_missing"])
    assert made["nobody"]["why_missing"] == "it was never compared"
    assert made["alpha"]["value"] is not None
    tied = arena(ties=1.0)
    assert {row["why_missing"] for row in systems(tied).values()} == {"every comparison was a tie"}
    left = arena(raters=3)
    always = left.ratings.with_columns(pl.when(pl.col("place") == 1).then(1.0).otherwise(0.0).alias("value"))
    result = contest(Snapshot.build(left.study, stimuli=left.stimuli, ratings=always), "better", "system")
    assert result is not None
    assert result.result.core
    assert "do not allow for the order" in result.notes[0]


def test_pairs_in_one_order_only_cannot_tell_the_order_effect() -> None:
    rater = ["a", "a", "b", "b"] * 5
    result = stats.bradley_terry(rater, ["x"] * 20, ["y"] * 20, [1, 0, 1, 1] * 5, order_effect=True)
    assert "order of presentation" in str(result.strengths[0].why_missing)


def test_grades_given_in_several_sets_count_once_per_rater() -> None:
    snapshot = mushra()
    again = snapshot.ratings.with_columns(
        pl.concat_str("trial", pl.lit("again")).alias("trial"), (pl.col("value") / 2).alias("value")
    )
    twice = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=pl.concat([snapshot.ratings, again]))
    answers = first_answers(twice)
    assert answers.height == snapshot.ratings.height
    assert answers["value"].sum() == pytest.approx(0.75 * float(snapshot.ratings["value"].sum()))
    assert labels(twice).table["n"].to_list() == [8] * 16


def test_courses_have_bands_and_ceilings() -> None:
    snapshot = traced()
    made = labels(snapshot)
    assert made.courses.height == 3
    assert made.table.height == 3
    row = made.courses.row(0, named=True)
    own = snapshot.traces.filter(pl.col("stimulus") == "c0")
    mean = np.mean([samples.to_list() for samples in own["samples"]], axis=0)
    assert row["samples"] == pytest.approx(mean.tolist(), abs=1e-6)
    assert all(low < value < high for low, value, high in zip(row["low"], row["samples"], row["high"], strict=True))
    assert (row["rate"], row["start"], row["n"]) == (2.0, 0.0, 6)
    assert 0.8 < row["one_rater"] < row["ceiling"] < 1


def test_traces_with_other_starts_and_rates_are_aligned() -> None:
    snapshot = traced(raters=3, clips=1)
    late = snapshot.traces.with_columns(
        start=pl.Series([0.0, 5.0, 0.0]),
        rate=pl.Series([2.0, 2.0, 1.0]),
        samples=pl.Series(
            [
                [float(t) / 60 for t in range(60)],
                [float(t) / 60 for t in range(10, 60)],
                [float(t) / 30 for t in range(30)],
            ],
            dtype=pl.List(pl.Float32),
        ),
    )
    made = aligned(
        Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, traces=late), "valence"
    )
    data = made["c0"]
    assert data.start == 5.0
    assert np.ptp(data.values, axis=0).max() < 1e-6


@pytest.mark.slow
def test_a_benchmark_stores_comparisons_without_names(tmp_path: Path) -> None:
    snapshot = arena(raters=4, each=20)
    bench = freeze(snapshot, split=SplitOptions(by="prompt", folds=2))
    assert bench.choices.height == 80
    assert bench.choices["split"].null_count() == 0
    assert sorted(bench.choices["rater"].unique()) == ["1", "2", "3", "4"]
    assert bench.strengths.filter(pl.col("of") == "system").height == 4
    bench.write(tmp_path / "b")
    again = load_benchmark(tmp_path / "b")
    assert again.hash == bench.hash
    assert again.choices.equals(bench.choices)
    shuffled = snapshot.ratings.sample(fraction=1.0, shuffle=True, seed=3)
    other = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=shuffled)
    assert freeze(other, split=SplitOptions(by="prompt", folds=2)).hash == bench.hash
    (tmp_path / "b" / "choices.parquet").unlink()
    with pytest.raises(DamagedError, match=r"choices\.parquet"):
        load_benchmark(tmp_path / "b")


def test_comparisons_across_parts_belong_to_none() -> None:
    bench = freeze(arena(raters=4, each=20), split=SplitOptions(folds=2))
    apart = bench.choices["split"].null_count()
    assert 0 < apart < 80
    assert any(f"{apart} of 80 comparisons are in no part" in note for note in bench.notes)


@pytest.mark.slow
def test_a_benchmark_stores_courses(tmp_path: Path) -> None:
    bench = freeze(traced(clips=6), split=SplitOptions(folds=2))
    assert bench.courses.height == 6
    assert bench.courses["split"].null_count() == 0
    assert load_benchmark(bench.write(tmp_path / "b")).courses.equals(bench.courses)


def test_bad_traces_are_explained() -> None:
    """Traces of other lengths, with gaps, constant, without a sample: what is left out is named, and nothing fails."""
    snapshot = traced(raters=4, clips=3)
    course = [float(np.sin(t / 9)) / 2 for t in range(60)]
    gaps: list[float | None] = [None if 20 <= t < 21 else value for t, value in enumerate(course)]
    samples: dict[str, list[list[float | None]]] = {
        "c0": [[*course], [*course[:40]], gaps, [None] * 60],
        "c1": [[0.2] * 60] * 4,
        "c2": [[*course[:20]], [*course], [*course], [*course]],
    }
    rows = [
        (f"r{rater}", clip, "valence", own, 2.0, 0.0)
        for clip, every in samples.items()
        for rater, own in enumerate(every)
    ]
    table = pl.DataFrame(
        rows,
        schema={
            "rater": pl.String, "stimulus": pl.String, "question": pl.String,
            "samples": pl.List(pl.Float32), "rate": pl.Float64, "start": pl.Float64,
        },
        orient="row",
    )  # fmt: skip
    bad = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, traces=table)
    made = {row["stimulus"]: row for row in labels(bad).courses.iter_rows(named=True)}
    assert (made["c0"]["n"], len(made["c0"]["samples"])) == (3, 40)
    assert made["c0"]["samples"] == pytest.approx(course[:40], abs=0.01)
    assert made["c1"]["why_missing"] == "no trace varies"
    assert made["c2"]["n"] == 3
    left_out = aligned(bad, "valence")
    assert mentions(str((left_out["c0"].left_out or {})["r3"]), "0%", "trace")
    assert "covers 33%" in str((left_out["c2"].left_out or {})["r0"])
