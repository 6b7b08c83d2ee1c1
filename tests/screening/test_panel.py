from __future__ import annotations

import json

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.screening import FLAGS, RULES, Panel, screen
from heartfelt.simulate import DesignOptions
from heartfelt.snapshot import Snapshot, load
from heartfelt.tables import LEDGER
from tests.screening.planted import of_kind, planted, snapshot

KINDS = {"random": 0.07, "straightline": 0.05, "pattern": 0.05, "ignores-stimulus": 0.07, "colluder": 0.06}
EVERYWHERE = {"ratings", "answers", "trials"}
"""What rules examine that are applied to every study of ratings."""


@pytest.fixture(scope="module")
def screened() -> tuple[Panel, pl.DataFrame]:
    snap, raters = planted(KINDS, n=80, seed=11)
    return screen(snap, seed=2), raters


@pytest.mark.slow
def test_the_default_policy_keeps_the_honest_and_leaves_out_the_rest() -> None:
    result = careless = wrong = honest = 0
    for seed in range(3):
        snap, raters = planted(KINDS, n=60, seed=20 + seed)
        gone = set(screen(snap, seed=seed).dropped)
        bad, good = of_kind(raters, *KINDS), of_kind(raters, "honest")
        result, careless = result + len(gone & bad), careless + len(bad)
        wrong, honest = wrong + len(gone & good), honest + len(good)
    assert result / careless > 0.93
    assert wrong / honest < 0.01


@pytest.mark.slow
def test_the_rater_copied_from_is_kept(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, raters = screened
    sources = set(raters["colluder_of"].drop_nulls().to_list())
    grouped = {name for group in panel.groups for name in group}
    assert sources & grouped
    assert not sources & set(panel.dropped)
    assert sum("is kept although in a group" in note for note in panel.notes) == len(panel.groups)
    everybody = screen(panel.source, "default, keep_source=no", seed=2)
    assert set(everybody.dropped) >= grouped


@pytest.mark.slow
def test_nothing_vanishes(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, _ = screened
    LEDGER.check(panel.ledger, "test")
    assert panel.ledger["rater"].to_list() == list(panel.dropped)
    assert panel.ledger["reason"].str.len_chars().min() > 40  # type: ignore[operator]  # lengths are numbers
    lost = panel.source.ratings.height - panel.ratings.height
    assert panel.ledger["ratings"].sum() == lost
    assert {"statistic", "value", "threshold", "p", "rule"} <= set(panel.ledger.columns)
    assert set(panel.raters) | set(panel.dropped) == set(panel.source.raters["rater"])


def test_the_snapshot_of_a_panel_goes_on(screened: tuple[Panel, pl.DataFrame], tmp_path: object) -> None:
    panel, _ = screened
    retained = panel.snapshot()
    assert retained.raters["rater"].to_list() == panel.raters
    assert retained.counts["ratings"] == panel.counts.ratings_retained
    assert retained.ledger.height == panel.source.ledger.height + len(panel.dropped)
    assert retained.stimuli.equals(panel.source.stimuli)
    folder = retained.write(f"{tmp_path}/kept")
    assert load(folder).hash == retained.hash


@pytest.mark.slow
def test_screening_twice_adds_to_the_ledger() -> None:
    snap, raters = planted({"random": 0.1}, n=40, seed=12)
    first = screen(snap).snapshot()
    other = next(name for name in raters["rater"] if name in set(first.raters["rater"]))
    second = screen(first, "none", exclude=[other]).snapshot()
    assert second.ledger.height == first.ledger.height + 1
    assert second.ledger["reason"][-1] == "Excluded by hand."


def test_the_json_says_who_why_and_with_whom(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, _ = screened
    plain = json.loads(json.dumps(panel.to_json(), allow_nan=False))
    assert set(plain["dropped"]) == set(panel.dropped)
    assert all(reasons and all(": " in reason for reason in reasons) for reasons in plain["flagged"].values())
    assert plain["collusion"] == [list(group) for group in panel.groups]
    assert plain["counts"]["retained"] == len(panel.raters)
    assert [rule["rule"] for rule in plain["rules"]] == [name for name in RULES if RULES[name].examines in EVERYWHERE]
    anchor = next(rule for rule in plain["rules"] if rule["rule"] == "anchor")
    assert anchor["why_missing"] == ["the study has no anchor probes"]
    assert next(iter(plain["flagged"])) == plain["ranking"][0]["rater"]


def test_the_ranking_puts_the_careless_first(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, raters = screened
    bad = of_kind(raters, *KINDS)
    top = panel.ranking.head(len(bad))["rater"].to_list()
    assert len(bad & set(top)) / len(bad) > 0.85
    assert panel.ranking["rank"].is_sorted()
    rules = [name for name in RULES if RULES[name].careless and RULES[name].examines in EVERYWHERE]
    total = panel.ranking.select(pl.sum_horizontal(pl.col(rules).fill_null(0.0))).to_series()
    assert panel.ranking["score"].to_list() == pytest.approx(total.to_list())
    assert panel.ranking.height == panel.source.raters.height


def test_flags_keep_their_contract(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, _ = screened
    assert panel.flags.equals(FLAGS.check(panel.flags, "test"))


def test_words_do_not_accuse(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, _ = screened
    text = " ".join(panel.flags["words"].to_list() + panel.ledger["reason"].to_list()).casefold()
    for word in ("cheat", "fraud", "careless", "collu", "lazy", "bot ", "fake", "dishonest", "suspic", "guilty"):
        assert word not in text


@pytest.mark.slow
def test_restore_and_exclude_by_hand() -> None:
    snap, raters = planted({"random": 0.1}, n=40, seed=13)
    gone = screen(snap).dropped
    assert gone
    retained = next(iter(of_kind(raters, "honest")))
    panel = screen(snap, restore=[gone[0]], exclude=[retained])
    assert gone[0] in panel.raters
    assert retained in panel.dropped
    assert f"{gone[0]} is kept by hand." in panel.notes
    with pytest.raises(InputError, match="nobody"):
        screen(snap, exclude=["nobody"])


@pytest.mark.slow
def test_a_policy_that_would_empty_the_panel_drops_nobody() -> None:
    snap, _ = planted({"random": 0.3}, n=40, seed=14)
    panel = screen(snap, "default, at_most_dropped=0.1")
    assert panel.dropped == ()
    assert panel.flags.filter(pl.col("rule") == "informativeness")["flagged"].sum() > 8
    assert any("more than its limit" in note for note in panel.notes)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_panel() -> None:
    snap, _ = planted(KINDS, n=40, seed=15)
    first, second = (
        screen(snap, seed=9),
        screen(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=snap.ratings), seed=9),
    )
    assert first.flags.equals(second.flags)
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())


def test_nothing_is_applied_under_none() -> None:
    snap, _ = planted({"random": 0.2}, n=20, seed=16)
    panel = screen(snap, "none")
    assert panel.flags.height == 0
    assert panel.snapshot() is snap
    assert panel.to_json()["flagged"] == {}


@pytest.mark.slow
def test_ratings_in_a_file_stay_there() -> None:
    snap, _ = planted({"random": 0.2}, n=30, seed=17, design=DesignOptions(per_rater=20))
    lazy = Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=snap.ratings.lazy())
    assert lazy.ratings_file is not None
    panel = screen(lazy, exclude=[snap.raters["rater"][0]])
    retained = panel.snapshot()
    assert retained.ratings_file is not None
    same = snapshot(snap.ratings.filter(pl.col("rater").is_in(panel.raters)), snap.stimuli, snap.study)
    assert retained.survey.hash == same.survey.hash


@pytest.mark.slow
def test_another_policy_uses_the_same_flags(screened: tuple[Panel, pl.DataFrame]) -> None:
    panel, _ = screened
    strict = panel.under("strict")
    assert strict.flags is panel.flags
    assert set(strict.dropped) >= set(panel.dropped) - {name for group in panel.groups for name in group}
    assert set(strict.dropped) == set(screen(panel.source, "strict", seed=panel.seed).dropped)
    back = strict.under("default")
    assert (back.dropped, back.notes) == (panel.dropped, panel.notes)
    assert back.ledger.equals(panel.ledger)
    assert panel.under("flag-only").dropped == ()
    assert panel.under("default", restore=[panel.dropped[0]]).raters != panel.raters
    assert panel.under("none").flags.height == 0
