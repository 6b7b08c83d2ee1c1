"""Every figure of every rule on small panels made by a formula: a constant or a condition that moves is seen here."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import RULES, Panel, RuleOptions, screen
from heartfelt.screening.rules.ratings.informativeness import clearly_informative, no_information
from tests.cases import check_all
from tests.screening.pinned import PANELS, Maker, figures, golden

PANEL_OF: dict[str, Panel] = {}
SPARED = "copied"


def screened(name: str) -> Panel:
    """A panel screened once for all tests of this module."""
    if name not in PANEL_OF:
        PANEL_OF[name] = screen(PANELS[name](), "flag-only", seed=3)
    return PANEL_OF[name]


def same(mine: pl.DataFrame, before: pl.DataFrame) -> None:
    for column, dtype in mine.schema.items():
        if dtype == pl.Float64:
            assert mine[column].is_null().to_list() == before[column].is_null().to_list(), column
            expected = pytest.approx(before[column].drop_nulls().to_list(), rel=1e-9, abs=1e-12)
            assert mine[column].drop_nulls().to_list() == expected, column
        else:
            assert mine[column].to_list() == before[column].to_list(), column


@pytest.mark.slow
@pytest.mark.parametrize("name", PANELS)
def test_figures_are_what_they_were(name: str) -> None:
    mine = figures(screened(name))
    same(mine, pl.read_csv(golden(name), schema=mine.schema))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["careless", "one_order", "parallel"])
def test_pairs_are_what_they_were(name: str) -> None:
    mine = screened(name).pairs
    # p-values far in the tail lose digits to the exponential.
    same(mine, pl.read_csv(golden(f"{name}_pairs"), schema=mine.schema))


@pytest.mark.slow
def test_a_pattern_that_matches_elsewhere_is_not_joined() -> None:
    row = screened("parallel").pairs.filter(pl.col("rater") == "pattern1").row(0, named=True)
    assert row["p_adjusted"] < 1e-9
    assert row["p_residual"] < 0.05
    assert row["elsewhere"] >= 0.6
    assert not row["copies"]


@pytest.mark.slow
def test_raters_who_met_the_same_cells_are_not_joined_without_what_the_stimuli_predict() -> None:
    panel = screen(PANELS["parallel"](), "flag-only, alpha=0.3", seed=3)
    row = panel.pairs.filter(pl.col("rater") == "alike1").row(0, named=True)
    assert row["p_adjusted"] < 0.3
    assert row["p_residual"] > 0.05
    assert not row["copies"]


DROPPED = {
    "none": (),
    "flag-only": (),
    "default": ("random0", "random1", "random2", "line57", "line56", "copy", "line60"),
    "strict": (
        *("random0", "random1", "random2", "line57", "line56", "copy"),
        *("reversed", "twice", "stops", "stuck", "fast", "line60"),
    ),
    "musiceval": (),
    "bt500": ("random0", "random1", "random2", "copy", "reversed", "stops"),
    "p913": ("random0", "random1", "random2", "copy", "reversed", "stops", "twice"),
    "default, keep_source=no": ("random0", "random1", "random2", "line57", "line56", "copy", "copied", "line60"),
    "informativeness=drop": ("random0", "random1", "random2", "line57", "line56", "copy"),
    # 5 of 29 raters who do not give one answer throughout: a share of .1724.
    "default, at_most_dropped=0.1725": ("random0", "random1", "random2", "line57", "line56", "copy", "line60"),
    "default, at_most_dropped=0.1724": ("line57", "line60"),
    # 24 of 31 remain.
    "default, least_raters=24": ("random0", "random1", "random2", "line57", "line56", "copy", "line60"),
    "default, least_raters=25": (),
}


@check_all("policy", DROPPED)
def test_whom_a_policy_drops(policy: str) -> None:
    panel = screened("careless").under(policy)
    assert panel.dropped == DROPPED[policy]
    assert panel.raters == [name for name in panel.source.raters["rater"] if name not in DROPPED[policy]]
    retained = panel.counts.ratings_retained
    # 60 trials with two answers each, but for the copy that lost a trial.
    assert retained == 3718 - sum(118 if name == "copy" else 120 for name in panel.dropped)
    assert panel.ledger["rater"].to_list() == list(panel.dropped)
    assert int(panel.ledger["ratings"].sum()) == 3718 - retained
    mentioned = sum(SPARED in note for note in panel.notes)
    assert mentioned == (policy == "strict" or (policy.startswith("default") and "keep_source" not in policy))


def test_the_ledger_holds_the_strongest_figures_of_each_rater() -> None:
    panel = screened("careless").under("default")
    rows = {row["rater"]: row for row in panel.ledger.iter_rows(named=True)}
    assert [rows[name]["rule"] for name in ("random0", "line57", "copy", "line60")] == [
        "informativeness",
        "informativeness, straight-lining",
        "informativeness, collusion",
        "straight-lining",
    ]
    assert (rows["line57"]["value"], rows["line57"]["threshold"]) == (0.95, 0.95)
    assert rows["copy"]["value"] == pytest.approx(77.96799753762777)
    assert {row["what"] for row in rows.values()} == {"rater"}
    assert {row["stage"] for row in rows.values()} == {"panel"}


def test_batches_beyond_a_limit_are_left_out_and_no_others() -> None:
    panel = screen(PANELS["probes"](), "musiceval", seed=3)
    assert panel.dropped_batches == (("r1", "a"), ("r5", "a"), ("r2", "b"))
    assert panel.counts.ratings_retained == 72 - 5 - 5 - 7
    assert panel.ledger.group_by("rater", maintain_order=True).len().rows() == [("r1", 5), ("r5", 5), ("r2", 7)]


def test_the_ranking_adds_evidence_and_counts_each_rule_once() -> None:
    table = screened("careless").ranking
    parts = table.drop("rank", "rater", "score", "flagged_by")
    assert table["score"].to_list() == pytest.approx(parts.sum_horizontal().to_list())
    assert table.columns[4:] == [
        *("agreement", "anchor", "informativeness", "change", "collusion", "heard", "identical-answers"),
        *("longest-run", "pattern", "repeat-difference", "response-time", "straight-lining", "spread"),
    ]
    assert table["rank"].to_list() == sorted(table["rank"])
    assert table["rater"][:6].to_list() == ["line57", "line56", "copy", "line60", "twice", "stops"]
    assert table["flagged_by"][5].to_list() == ["change", "bt500", "p913"]
    assert float(np.nanmax(parts.to_numpy())) == 4.0


def test_a_rater_is_flagged_from_the_posterior_on_and_not_below() -> None:
    panel = screened("careless")
    posterior, _ = no_information(panel.view, 3)
    names = list(panel.view.raters)
    random2 = float(posterior[names.index("random2")])
    assert random2 == pytest.approx(0.99642375, abs=1e-6)
    for needed, expected in ((random2, True), (np.nextafter(random2, 1.0), False)):
        rows = RULES["informativeness"].apply(panel.view, RuleOptions(seed=3, settings={"posterior": needed}))
        assert rows.filter(pl.col("rater") == "random2")["flagged"][0] is expected


def test_a_dependence_at_the_rescue_level_does_not_rescue_and_below_it_does() -> None:
    panel = screened("careless")
    p = dict(panel.flags.filter(pl.col("rule") == "informativeness").select("rater", "p").iter_rows())
    for rescue, expected in ((p["random2"], True), (p["random2"] + 1e-6, False)):
        rows = RULES["informativeness"].apply(panel.view, RuleOptions(seed=3, settings={"rescue": rescue}))
        assert rows.filter(pl.col("rater") == "random2")["flagged"][0] is expected


def test_the_source_of_a_copy_must_be_surely_informative() -> None:
    """Below 1 - posterior and below the rescue level, strictly."""
    panel = screened("careless")
    clear = clearly_informative(panel.view, RULES["informativeness"].complete(RuleOptions(seed=3)))
    p = dict(panel.flags.filter(pl.col("rule") == "informativeness").select("rater", "p").iter_rows())
    posterior, _ = no_information(panel.view, 3)
    known = dict(zip(panel.view.raters, posterior.tolist(), strict=True))
    assert set(clear) == {name for name, chance in known.items() if chance < 0.1 and p[name] < 0.01}
    assert "copied" in clear
    assert "copy" not in clear
    lowest = 0.001
    assert p["copied"] == lowest
    strict = RULES["informativeness"].complete(RuleOptions(seed=3, settings={"rescue": lowest}))
    assert clearly_informative(panel.view, strict) == {}


def test_a_source_at_the_posterior_limit_is_not_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    view = screened("careless").view
    options = RULES["informativeness"].complete(RuleOptions(seed=3, settings={"posterior": 0.75}))
    for posterior, sure in ((0.25, False), (0.2499, True)):
        chances = np.full(len(view.raters), posterior)
        monkeypatch.setattr(
            "heartfelt.screening.rules.ratings.informativeness._mixture", lambda *_, chances=chances: (None, chances)
        )
        assert ("copied" in clearly_informative(view, options)) == sure


def test_too_few_comparable_raters_or_no_agreement_judges_nobody() -> None:
    two = PANELS["five"]()
    some = two.ratings.filter(pl.col("rater").is_in(["r0", "r1"]))
    table = RULES["informativeness"].apply(type(two).build(two.study, stimuli=two.stimuli, ratings=some))
    assert table["why_missing"].to_list() == ["fewer than 3 raters can be compared"] * 2
    three = two.ratings.filter(pl.col("rater").is_in(["r0", "r1", "r2"]))
    table = RULES["informativeness"].apply(type(two).build(two.study, stimuli=two.stimuli, ratings=three))
    assert table["why_missing"].null_count() == 3


def test_the_level_is_shared_among_all_that_are_judged() -> None:
    """Bonferroni: a rule flags below level / judged and not at it."""
    panel = screened("careless")
    for rule in ("agreement", "response-time", "longest-run"):
        rows = panel.flags.filter(pl.col("rule") == rule)
        judged = rows.filter(pl.col("why_missing").is_null())
        p = judged.filter(pl.col("p") > 1e-9).sort("p").row(0, named=True)
        at = float(p["p"]) * judged.height
        for level, expected in ((at, False), (at * (1 + 1e-9), True)):
            again = RULES[rule].apply(panel.view, RuleOptions(alpha=level, seed=3))
            row = again.filter((pl.col("rater") == p["rater"]) & pl.col("question").eq_missing(p["question"]))
            assert row["flagged"][0] is expected, rule


@pytest.mark.parametrize(("seed", "judged"), [(44, False), (47, True)])
def test_the_raters_as_a_whole_must_agree_by_three_standard_errors(seed: int, judged: bool) -> None:
    """Panels whose summed agreement is 2.94 and 3.005 standard errors."""
    made = Maker(30, seed)
    for at in range(6):
        made.add(f"r{at}", made.honest(20, 6.0))
    table = RULES["informativeness"].apply(made.snapshot(), RuleOptions(settings={"draws": 9}))
    assert (table["why_missing"].null_count() > 0) is judged


@pytest.mark.parametrize(("answers", "judged"), [(5, False), (7, True)])
def test_an_effect_needs_a_weight_of_three(answers: int, judged: bool) -> None:
    """One question that varies over n answers has a weight of n - 3; the other is always answered alike."""
    made = Maker(30, 12)
    for at in range(6):
        made.add(f"r{at}", made.honest(24))
    trials = made.honest(8)
    made.add("sparse", [(s, [v[0] if t < answers else float("nan"), 5.0]) for t, (s, v) in enumerate(trials)])
    rows = pl.DataFrame([row for row in made.rows if row["value"] == row["value"]])
    made.rows = rows.to_dicts()
    table = RULES["informativeness"].apply(made.snapshot())
    assert table.filter(pl.col("rater") == "sparse")["why_missing"].is_null()[0] is judged
