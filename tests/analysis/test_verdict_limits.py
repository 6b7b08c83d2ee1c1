"""Where the verdict changes its wording: p-values, intervals and ceilings on both sides of each limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heartfelt.analysis import AnalyzeOptions, Summary, analyze
from heartfelt.analysis.findings.parts import Agreement, ChanceTest, CorrectedCountTest, CountTests, Reliability
from heartfelt.analysis.summary import Crossfit, HalfAlpha, HeldOutAlpha, SensitivityFigure
from heartfelt.analysis.text.highlights import covered, covers_pools, f_test, highest, information, main_effects
from heartfelt.analysis.text.verdict import bottom_line, reliability_sentences
from heartfelt.analysis.text.verdict_raters import sentences as rater_sentences
from heartfelt.analysis.text.verdict_systems import sentences as system_sentences
from heartfelt.stats.estimate import Estimate
from tests.analysis.made import answers, snapshot, stimuli
from tests.facts import mentions


@pytest.fixture(scope="module")
def summary() -> Summary:
    table = stimuli(24)
    return analyze(snapshot("conveyance", table, answers("conveyance", table)), AnalyzeOptions(resamples=100)).summary


def trust_of(summary: Summary) -> Reliability:
    return (summary.reliability or {})["valence"]


def with_p(summary: Summary, anova: float, mixed: float | None) -> Summary:
    """The same summary with other p-values of the systems."""
    return replace(
        summary,
        anova=tuple(replace(row, p=anova) if row.effect == "system" else row for row in summary.anova or ()),
        mixed=tuple(replace(row, p=mixed) if row.effect == "system" else row for row in summary.mixed or ()),
    )


@pytest.mark.parametrize(
    ("anova", "mixed", "words"),
    [
        (0.049, 0.049, "Systems differ in valence ({}) and arousal ({}),"),
        (0.05, 0.049, "Systems differ in valence ({}) and arousal ({}),"),
        (0.05, 0.05, "No difference between systems is shown"),
        (0.049, 0.05, "for these raters (not shown for others)"),
        (0.049, None, "Systems differ in valence and arousal,"),
    ],
)
def test_five_percent_is_where_systems_differ(summary: Summary, anova: float, mixed: float | None, words: str) -> None:
    changed = with_p(summary, anova, mixed)
    tops = [f"{(highest(row) or ('',))[0]} highest" for row in summary.mixed or () if row.effect == "system"]
    assert words.format(*tops) in bottom_line(changed)
    text = " ".join(system_sentences(changed))
    decides = anova if mixed is None else mixed
    assert ("Systems differ in valence (signed deviation" in text) == (decides < 0.05)
    assert ("No difference between systems is shown in valence" in text) == (decides >= 0.05)
    assert ("raters' tastes for systems as samples" in text) == (mixed is not None)


def test_pairs_with_and_without_raters_are_counted_in_one_model(summary: Summary) -> None:
    """The pairs of the stimulus means stand beside each other, not beside those of the model of the ratings."""
    screening = replace(summary.screening, dropped_by_default=("r0",))
    texts = [
        text.partition("For these raters alone (stimulus means): ")[2]
        for text in system_sentences(replace(with_p(summary, 0.01, 0.01), screening=screening))
        if "these raters alone" in text
    ]
    assert len(texts) == 2
    for text in texts:
        here, _, without = text.partition("; excluding the 1 rater flagged by the default policy: F = ")
        assert "pairs differ" in without
        assert here.split(", ")[-1] == without.split(", ")[-1].removesuffix(" (the same pairs).")


@pytest.mark.parametrize(("low", "shown"), [(1e-9, "not shown"), (1.1e-9, "shown"), (None, "unknown")])
def test_information_is_an_interval_above_zero(summary: Summary, low: float | None, shown: str) -> None:
    high = None if low is None else 0.9
    trust = replace(trust_of(summary), icc2=Estimate(value=0.4, low=low, high=high, why_no_interval="x"))
    assert information(trust) == shown


def test_without_information_the_bottom_line_says_so(summary: Summary) -> None:
    empty = replace(trust_of(summary), icc2=Estimate(value=0.01, low=-0.1, high=0.1))
    both = replace(summary, reliability={"valence": empty, "arousal": empty})
    assert bottom_line(both).startswith("The ratings carry no detectable information about the stimuli")
    assert mentions(bottom_line(both), "valence", ".01 [−.10, .10]")
    single = replace(summary, reliability={"valence": empty, "arousal": trust_of(summary)})
    assert "the ratings of valence carry no detectable information" in bottom_line(single)
    flat = replace(summary.checks, constant_questions=("valence", "arousal")) if summary.checks else None
    assert bottom_line(replace(both, checks=flat)).startswith("All answers on valence and arousal are the same")


def test_questions_of_different_reliability_are_named_with_what_their_labels_are_good_for(summary: Summary) -> None:
    good = replace(trust_of(summary), icc2k=Estimate(value=0.93, low=0.85, high=0.97))
    weak = replace(trust_of(summary), icc2k=Estimate(value=0.62, low=0.5, high=0.7))
    mixed = replace(summary, reliability={"valence": good, "arousal": weak})
    assert mentions(bottom_line(mixed), ".93", ".62")
    same = replace(summary, reliability={"valence": good, "arousal": good})
    assert mentions(bottom_line(same), "labels", "stimuli", ".93")


@pytest.mark.parametrize(("top", "words"), [(0.05, "valence r = .05"), (0.0499, "show no difference")])
def test_a_ceiling_near_zero_leaves_nothing_to_find(summary: Summary, top: float, words: str) -> None:
    trust = trust_of(summary)
    trust = replace(trust, ceiling=replace(trust.ceiling, correlation=Estimate(value=top)))
    assert words in " ".join(reliability_sentences(replace(summary, reliability={"valence": trust})))


@pytest.mark.parametrize(("questions", "pools"), [(12, False), (13, True)])
def test_thirteen_questions_are_many(summary: Summary, questions: int, pools: bool) -> None:
    trust = trust_of(summary)
    every = {f"q{k}": trust for k in range(questions)}
    pooled = {"s": replace(trust, n_questions=questions)}
    many = replace(summary, reliability=every, reliability_pooled=pooled)
    assert covers_pools(many) == pools
    text = " ".join(reliability_sentences(many))
    assert (f"the {questions} questions on the scale s" in text) == pools
    assert covered(many)[0] == ["q0", "q1", "q2", "q3"]


def test_effects_with_covariates_or_interactions_do_not_lead(summary: Summary) -> None:
    row = main_effects(summary)["valence"]
    assert row.model == "system + intent"
    loud = replace(row, model="system + intent + loud", f=99.0)
    held = replace(summary, covariates=("loud",), anova=(loud, replace(row, model="system * quadrant"), row))
    assert main_effects(held)["valence"] == row
    assert f_test(replace(row, df=(5, None), f=2.0, p=0.03, eta_squared=0.1)) == (
        "F(5, inf) = 2.00, p = .030, eta squared = .100"
    )


@pytest.mark.parametrize(("p", "words"), [(0.049, "(p = .049)"), (0.05, "(not shown to be above chance, p = .050)")])
def test_hits_are_compared_with_chance(summary: Summary, p: float, words: str) -> None:
    assert summary.quadrants is not None
    quadrants = replace(
        summary.quadrants,
        hit_rate=Estimate(value=0.52, low=0.49, high=0.55),
        hit_rate_by_chance=ChanceTest(0.25, p, "m"),
    )
    text = " ".join(system_sentences(replace(summary, quadrants=quadrants)))
    assert mentions(text, "52% [49, 55]", "25%")
    assert words in text


def test_a_slope_shrinks_only_where_its_interval_lies_below_one(summary: Summary) -> None:
    lines = [line for line in summary.slopes or () if line.system == "all" and line.question == "valence"]
    for high, shrinks in ((0.99, True), (1.0, False)):
        line = replace(lines[0], slope=Estimate(value=0.8, low=0.6, high=high))
        text = " ".join(system_sentences(replace(summary, slopes=(line,))))
        assert ("intended differences shrink" in text) == shrinks


def test_selected_samples_are_named_with_their_direction(summary: Summary) -> None:
    quiet = CorrectedCountTest(p=0.5, p_corrected=1.0, significant=False, change=Estimate(value=0.1))
    for change, side in ((0.2, "higher"), (-0.2, "lower")):
        loud = CorrectedCountTest(p=0.001, p_corrected=0.004, significant=True, change=Estimate(value=change))
        tests = {"valence": CountTests(loud, quiet), "arousal": CountTests(quiet, loud)}
        checks = replace(summary.checks, ratings_per_item=tests) if summary.checks else None
        text = next(iter(reliability_sentences(replace(summary, checks=checks))))
        assert f"stimuli with more ratings have {side} answers on valence" in text
        assert f"raters disagree {'more' if change > 0 else 'less'} on stimuli with more ratings (arousal)" in text
        assert "p = .004, Holm" in text


def test_the_rise_in_alpha_is_given_in_sample_and_held_out(summary: Summary) -> None:
    changed = replace(
        summary,
        screening=replace(summary.screening, dropped_by_default=("r1",)),
        sensitivity=(
            SensitivityFigure(
                figure="alpha_interval",
                question="valence",
                of=None,
                model=None,
                with_all=Estimate(value=0.28),
                without=Estimate(value=0.38),
            ),
            SensitivityFigure(
                figure="icc1",
                question="valence",
                of=None,
                model=None,
                with_all=Estimate(value=0.3),
                without=Estimate(value=0.4),
            ),
        ),
        crossfit=Crossfit(
            (1, 2),
            (
                HeldOutAlpha(
                    question="valence",
                    figure="alpha_interval",
                    with_all=0.27,
                    without=0.36,
                    rise=0.09,
                    halves=(HalfAlpha(0.2, 0.3),),
                ),
            ),
        ),
    )
    text = " ".join(rater_sentences(changed))
    assert mentions(text, ".28", ".38", ".27", ".36")


def test_nothing_is_said_of_systems_that_were_not_tested(summary: Summary) -> None:
    assert "systems" not in bottom_line(replace(summary, anova=(), mixed=())).lower()


@pytest.mark.parametrize(
    ("mixed", "words"),
    [
        (0.01, " highest) but are not shown to differ in arousal, "),
        (0.05, "for these raters (not shown for others) but are not shown to differ in arousal, "),
    ],
)
def test_questions_without_a_difference_are_named_after_those_with_one(
    summary: Summary, mixed: float, words: str
) -> None:
    changed = with_p(summary, 0.01, mixed)
    rows = tuple(
        replace(row, p=0.05) if row.effect == "system" and row.outcome == "arousal" else row
        for row in changed.anova or ()
    )
    tests = tuple(replace(row, p=0.05) if row.outcome == "arousal" else row for row in changed.mixed or ())
    assert words in bottom_line(replace(changed, anova=rows, mixed=tests))


GONE = Estimate.missing("no order")


def without_order(summary: Summary) -> Reliability:
    """Categories without an order: alpha is known, and no reliability of means."""
    return replace(
        trust_of(summary),
        alpha_interval=GONE,
        alpha_ordinal=GONE,
        alpha_nominal=Estimate(value=0.42, low=0.3, high=0.5),
        icc1=GONE,
        icc1k=GONE,
        icc2=GONE,
        icc2k=GONE,
    )


@pytest.mark.parametrize(("questions", "more"), [(4, ""), (5, " (and see below for 1 further question)")])
def test_agreement_beyond_chance_names_how_many_questions_are_left(summary: Summary, questions: int, more: str) -> None:
    trust = without_order(summary)
    every = replace(summary, reliability={f"q{k}": trust for k in range(questions)}, slopes=(), anova=())
    agree = "raters agree beyond chance on q0, q1, q2 and q3 (Krippendorff's alpha .42)"
    assert f"{agree}{more}." in bottom_line(every)


def test_pools_leave_no_further_questions(summary: Summary) -> None:
    trust = without_order(summary)
    pooled = {"s": replace(trust, n_questions=13)}
    many = replace(summary, reliability={f"q{k}": trust for k in range(13)}, reliability_pooled=pooled)
    agree = "raters agree beyond chance on the 13 questions on the scale s (Krippendorff's alpha .42)"
    assert f"{agree}." in bottom_line(many)


@pytest.mark.parametrize(
    ("low", "words"),
    [
        (0.01, "On valence, raters agree beyond chance (Fleiss' kappa"),
        (0.0, "On valence, no agreement beyond chance is shown (Fleiss' kappa"),
    ],
)
def test_agreement_is_shown_by_an_interval_above_zero(summary: Summary, low: float, words: str) -> None:
    votes = Agreement(fleiss_kappa=Estimate(value=0.2, low=low, high=0.4), exact_agreement=GONE, leave_one_out=GONE)
    text = " ".join(reliability_sentences(replace(summary, agreement={"valence": votes})))
    assert words in text


@pytest.mark.parametrize(
    ("kappa", "words"),
    [(1.0, "On valence, raters always agree"), (0.4, "it is not known whether raters agree beyond chance")],
)
def test_agreement_without_an_interval_is_no_lack_of_it(summary: Summary, kappa: float, words: str) -> None:
    votes = Agreement(
        fleiss_kappa=Estimate(value=kappa, why_no_interval="no interval here"), exact_agreement=GONE, leave_one_out=GONE
    )
    text = " ".join(reliability_sentences(replace(summary, agreement={"valence": votes})))
    assert words in text
    assert "no agreement" not in text


def test_reliability_is_called_unknown_only_where_no_coefficient_of_the_answers_is_known(summary: Summary) -> None:
    words = "Reliability of valence: unknown"
    single = replace(without_order(summary), icc1=Estimate(value=0.3, low=0.2, high=0.4))
    for alpha, unknown in ((GONE, True), (Estimate(value=0.42, low=0.3, high=0.5), False)):
        changed = replace(summary, reliability={"valence": replace(single, alpha_nominal=alpha)})
        assert (words in " ".join(reliability_sentences(changed))) is unknown
        silent = replace(changed, counts=replace(summary.counts, answers=0))
        assert words not in " ".join(reliability_sentences(silent))


@pytest.mark.parametrize(("mean", "nothing"), [(0.0, True), (0.001, False)])
def test_means_without_any_reliability_say_nothing(summary: Summary, mean: float, nothing: bool) -> None:
    why = "no interval here"
    labels, single = (Estimate(value=value, why_no_interval=why) for value in (mean, 0.1))
    changed = replace(summary, reliability={"valence": replace(trust_of(summary), icc2=single, icc2k=labels)})
    words = "the means say nothing about how stimuli differ."
    assert (words in " ".join(reliability_sentences(changed))) is nothing
