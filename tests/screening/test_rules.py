"""Each simple rule on cases small enough to check by hand, and its rates in simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.screening import RULES, RatingsView, RuleOptions, screen
from heartfelt.screening.rules.ratings.against_norm import net_seconds
from heartfelt.screening.rules.ratings.repetition import PRIOR, longest_runs, modal_answers, run_chances, runs_of
from heartfelt.simulate import DesignOptions
from heartfelt.snapshot import Snapshot
from heartfelt.stats.aggregate import Aggregate, bt500, p913
from heartfelt.study.model import AnchorProbe, RepeatProbe
from tests.screening.planted import long, of_kind, planted, snapshot, study


def flagged(name: str, snap: Snapshot) -> set[str]:
    return set(RULES[name].apply(snap).filter("flagged")["rater"].to_list())


def changed(name: str, value: pl.Expr, seed: int = 1, n: int = 30) -> Snapshot:
    snap, _ = planted(n=n, seed=seed)
    ratings = snap.ratings.with_columns(value=pl.when(pl.col("rater") == name).then(value).otherwise("value"))
    return snapshot(ratings, snap.stimuli)


def test_runs_are_counted_in_presentation_order() -> None:
    answers = [3, 3, 5, 5, 5, 5, 2, 5, 2, 2]
    ratings = long({"r": {f"s{i}": value for i, value in enumerate(answers)}})
    view = RatingsView.of(snapshot(ratings.sample(fraction=1.0, shuffle=True, seed=3)))
    assert longest_runs(runs_of(view), 1).tolist() == [4.0]
    modal = modal_answers(view)
    assert (modal.n.tolist(), modal.times.tolist(), modal.answer.tolist()) == ([[10.0]], [[5.0]], [[5.0]])


def test_the_chance_of_a_run_by_hand() -> None:
    """Runs 3 3 | 5 5 5 5 | 2 | 5 | 2 2, the longest set aside: 2 of 4 neighbours are equal among the rest."""
    from scipy.special import beta

    answers = [3, 3, 5, 5, 5, 5, 2, 5, 2, 2]
    view = RatingsView.of(snapshot(long({"r": {f"s{i}": value for i, value in enumerate(answers)}})))
    rate = (2 + 0.5) / (2 + 3 + 1)
    expected = 0.0
    # value: (runs in all, again, ended, share of the other six answers)
    for runs, again, ended, count in ((1, 1, 1, 2), (2, 0, 1, 1), (2, 1, 1, 3)):
        middle = max(rate, (count + 0.5) / 7)
        stay, leave = again + PRIOR * middle, ended + PRIOR * (1 - middle)
        expected += runs * float(beta(stay + 3, leave) / beta(stay, leave))
    assert run_chances(runs_of(view), 1)[0] == pytest.approx(min(1.0, expected))


def test_a_rater_who_turns_to_one_answer_has_too_long_a_run() -> None:
    snap, _ = planted(n=30, seed=1)
    late = (pl.col("rater") == "rater_03") & (pl.col("position") > 36)
    ratings = snap.ratings.with_columns(value=pl.when(late).then(6.0).otherwise("value"))
    assert flagged("longest-run", snapshot(ratings, snap.stimuli)) == {"rater_03"}


@pytest.mark.slow
def test_a_straightliner_is_flagged_by_spread_and_left_to_the_rule_made_for_it() -> None:
    snap = changed("rater_03", pl.lit(6.0))
    for name in ("straight-lining", "spread"):
        assert flagged(name, snap) == {"rater_03"}
    rows = RULES["spread"].apply(snap).filter(pl.col("rater") == "rater_03")
    assert (rows["value"] < rows["threshold"]).all()
    for name in ("longest-run", "informativeness"):
        mine = RULES[name].apply(snap).filter(pl.col("rater") == "rater_03")
        assert mine["why_missing"].str.contains("see the rule straight-lining").all()


def test_spread_is_the_standard_deviation() -> None:
    snap, _ = planted(n=20, seed=2)
    rows = RULES["spread"].apply(snap).filter(pl.col("question") == "valence")
    own = snap.ratings.filter(pl.col("question") == "valence").group_by("rater").agg(pl.std("value"))
    both = rows.join(own, on="rater", suffix="_own")
    assert (both["value"] ** 2).to_list() == pytest.approx((both["value_own"] ** 2 + 1 / 12).to_list())


def test_identical_answers_are_counted_by_trial() -> None:
    snap, _ = planted(n=30, seed=3)
    wide = snap.ratings.pivot("question", index=["rater", "stimulus"], values="value")
    name = "rater_05"
    copy = wide.select("rater", "stimulus", pl.col("valence").alias("same"))
    ratings = snap.ratings.join(copy, on=["rater", "stimulus"], maintain_order="left")
    both = (pl.col("rater") == name) & (pl.col("question") == "arousal")
    ratings = ratings.with_columns(value=pl.when(both).then("same").otherwise("value")).drop("same")
    table = RULES["identical-answers"].apply(snapshot(ratings, snap.stimuli))
    row = table.filter(pl.col("rater") == name).row(0, named=True)
    assert row["flagged"]
    assert "on 56 of 56 trials" in row["words"]
    other = table.filter(pl.col("rater") == "rater_06").row(0, named=True)
    share = wide.filter(pl.col("rater") == "rater_06").select((pl.col("valence") == pl.col("arousal")).mean()).item()
    assert other["value"] == pytest.approx((56 * share + 0.5) / 57)


def test_agreement_is_the_correlation_with_the_others() -> None:
    snap, _ = planted(n=25, seed=4)
    name = "rater_07"
    v = snap.ratings.filter(pl.col("question") == "valence")
    others = v.filter(pl.col("rater") != name).group_by("stimulus").agg(pl.mean("value").alias("mean"))
    mine = v.filter(pl.col("rater") == name).join(others, on="stimulus")
    row = RULES["agreement"].apply(snap).filter((pl.col("rater") == name) & (pl.col("question") == "valence"))
    assert row["value"][0] == pytest.approx(np.corrcoef(mine["value"], mine["mean"])[0, 1])
    assert row["n"][0] == mine.height


def test_agreement_names_a_scale_read_upside_down() -> None:
    snap = changed("rater_02", 10 - pl.col("value"))
    rows = RULES["agreement"].apply(snap).filter("flagged")
    assert set(rows["rater"]) == {"rater_02"}
    assert rows["words"].str.contains("other way round").all()


@pytest.mark.slow
def test_a_biased_rater_is_reported_and_kept() -> None:
    snap = changed("rater_04", (pl.col("value") + 4).clip(1, 9), seed=5, n=40)
    rows = RULES["bias"].apply(snap).filter("flagged")
    assert set(rows["rater"]) == {"rater_04"}
    assert rows["words"].str.contains("points higher").all()
    panel = screen(snap)
    assert panel.dropped == ()
    assert "rater_04" not in panel.flagged()
    assert any(reason.startswith("bias: ") for reason in panel.flagged_by_standards()["rater_04"])
    assert panel.reasons()["rater_04"] == panel.flagged_by_standards()["rater_04"]
    assert "bias" not in panel.ranking.columns


def test_hurried_raters_are_found_by_their_time() -> None:
    snap, raters = planted({"random": 0.1}, n=60, seed=6, mix={"careless_seconds": 1.0})
    result, hasty = flagged("response-time", snap), of_kind(raters, "random")
    assert len(result & hasty) >= len(hasty) - 1
    assert len(result - hasty) <= 1


@pytest.mark.slow
def test_the_clip_is_taken_off_where_times_include_it() -> None:
    snap, _ = planted(n=10, seed=7)
    stimuli = snap.stimuli.with_columns(duration=pl.lit(10.0))
    net = RatingsView.of(snapshot(snap.ratings, stimuli))
    gross = RatingsView.of(snapshot(snap.ratings.with_columns(pl.col("seconds") + 10.0), stimuli))
    assert not net_seconds(net)[1]
    assert net_seconds(gross)[1]
    assert net_seconds(gross)[0] == pytest.approx(net_seconds(net)[0])
    assert net_seconds(gross, "net")[0].min() > 10
    with pytest.raises(InputError, match="sideways"):
        RULES["response-time"].apply(net, RuleOptions(settings={"seconds": "sideways"}))


def test_repeats_are_compared_with_the_first_answer() -> None:
    snap, raters = planted({"random": 0.12}, n=60, seed=8, design=DesignOptions(repeats=20))
    table = RULES["repeat-difference"].apply(snap)
    name = of_kind(raters, "honest").pop()
    mine = snap.ratings.filter(pl.col("rater") == name)
    both = mine.filter(pl.col("repeat") == 1).join(mine.filter(pl.col("repeat") == 0), on=["stimulus", "question"])
    row = table.filter(pl.col("rater") == name).row(0, named=True)
    assert row["value"] == pytest.approx((both["value"] - both["value_right"]).abs().mean())
    assert row["n"] == both.height == 40
    result, careless = set(table.filter("flagged")["rater"]), of_kind(raters, "random")
    assert len(result & careless) >= len(careless) / 2
    assert len(result - careless) <= 1


def test_a_repeat_probe_sets_its_own_limit() -> None:
    probe = RepeatProbe(type="repeat", id="again", at_most_apart=2)
    first = long({r: {"a": 5, "b": 5} for r in ("p", "q")}).with_columns(repeat=pl.lit(0))
    again = long({"p": {"a": 8}, "q": {"a": 7}}).with_columns(repeat=pl.lit(1), position=pl.lit(3, dtype=pl.Int64))
    snap = snapshot(pl.concat([first, again], how="diagonal"), of=study(("valence",), probes=[probe]))
    table = RULES["repeat-difference"].apply(snap).sort("rater")
    assert table["value"].to_list() == [3.0, 2.0]
    assert table["flagged"].to_list() == [True, False]
    assert table["threshold"].to_list() == [2.0, 2.0]


def anchored() -> tuple[pl.DataFrame, AnchorProbe]:
    probe = AnchorProbe(type="anchor", id="real", stimuli=["real1", "real2"], question="valence", at_least=3)
    values = {"p": {"real1": 5, "x": 1, "real2": 2}, "q": {"real1": 3, "x": 1, "real2": 4}}
    return long(values), probe


def test_an_answer_below_three_on_a_real_clip_is_flagged() -> None:
    ratings, probe = anchored()
    table = RULES["anchor"].apply(snapshot(ratings, of=study(("valence",), 5, probes=[probe]))).sort("rater")
    assert table["flagged"].to_list() == [True, False]
    assert table["value"].to_list() == [2.0, 3.0]
    assert table["threshold"].to_list() == [3.0, 3.0]
    assert "1 of 2 answers" in table["words"][0]


@pytest.mark.slow
def test_only_the_batch_that_missed_an_anchor_is_left_out() -> None:
    ratings, probe = anchored()
    ratings = ratings.with_columns(
        batch=pl.when(pl.col("stimulus") == "real1").then(pl.lit("1")).otherwise(pl.lit("2"))
    )
    panel = screen(snapshot(ratings, of=study(("valence",), 5, probes=[probe])), "musiceval")
    assert panel.dropped == ()
    assert panel.dropped_batches == (("p", "2"),)
    assert panel.ratings.select("rater", "stimulus").rows() == [
        ("p", "real1"),
        ("q", "real1"),
        ("q", "x"),
        ("q", "real2"),
    ]
    after = panel.snapshot()
    assert after.ledger.select("what", "rater", "stimulus").rows() == [
        ("rating", "p", "x"),
        ("rating", "p", "real2"),
        ("stimulus", None, "real1"),
        ("stimulus", None, "real2"),
    ]
    assert after.ratings.select("rater", "stimulus").rows() == [("q", "x")]
    assert "batch" in after.ratings.columns


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), [("bt500", bt500), ("p913", p913)])
def test_the_standards_are_those_of_the_statistics(name: str, method: Callable[..., Aggregate]) -> None:
    snap, _ = planted({"random": 0.2}, n=40, seed=9, per_cell=1)
    expected = set()
    for question in ("valence", "arousal"):
        v = snap.ratings.filter(pl.col("question") == question)
        result = method(v["rater"], v["stimulus"], v["value"])
        expected |= {(result.raters[i], question) for i in np.flatnonzero(np.asarray(result.rejected)).tolist()}
    table = RULES[name].apply(snap).filter("flagged")
    assert expected
    assert set(table.select("rater", "question").rows()) == expected


@pytest.mark.slow
def test_honest_panels_are_left_in_peace() -> None:
    """Every rule but the standards flags under 1.5% of honest raters; the default policy drops under 0.5%."""
    counts: dict[str, int] = {}
    raters = dropped = 0
    for seed in range(6):
        snap, _ = planted(n=60, seed=100 + seed, design=DesignOptions(repeats=4))
        panel = screen(snap, seed=seed)
        raters += 60
        dropped += len(panel.dropped)
        for rule, name in panel.flags.filter("flagged").select("rule", "rater").unique().iter_rows():
            counts[rule] = counts.get(rule, 0) + (1 if name else 0)
    assert dropped / raters < 0.005
    for rule, count in counts.items():
        if rule not in {"bt500", "p913"}:
            assert count / raters < 0.015, rule
