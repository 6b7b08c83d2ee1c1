"""What the verdict says about systems: whether they differ, which pairs, and how close they come to their intents."""

from __future__ import annotations

from collections.abc import Iterator

from heartfelt.analysis.effects import model_pairs
from heartfelt.analysis.highlights import (
    covered,
    differs,
    f_test,
    held_constant,
    highest,
    main_effects,
    rating_tests,
    system_effects,
)
from heartfelt.analysis.means import JACKKNIFE
from heartfelt.analysis.ordinal_check import sentence as ordinal_sentence
from heartfelt.analysis.results import ALL, AnovaEffect, ChanceTest, RatingModelEffect
from heartfelt.analysis.summary import SensitivityPairs, Summary
from heartfelt.stats.inference.mixed import TUKEY
from heartfelt.wording import interval, listed, number, p_value, percent, percent_interval, plural, sentence, share

MOST_SHOWN = 4
ENDS = ("highest", "lowest")


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on systems and intents."""
    for part in (_differences, _ordinal, _equivalence, _covariates, _distance, _shrinkage, _hits, _tests):
        yield from part(summary)


def _differences(summary: Summary) -> Iterator[str]:
    """Whether systems differ: in the model of the ratings where there is one, and for these raters alone."""
    effects, tests = main_effects(summary), rating_tests(summary)
    chosen, other_questions = covered(summary)
    for name in chosen:
        row, test = effects.get(name), tests.get(name)
        if test is not None:
            yield _tested(summary, test, row)
        elif row is not None and differs(row):
            text = f"Systems differ in {name} ({_what(row)}; raters unknown): {f_test(row)}."
            yield " ".join(filter(None, [text, _pairs(summary, row), sentence([_other_raters(summary, row)])]))
        elif row is not None:
            yield f"No difference between systems is shown in {name} ({_what(row)}): {f_test(row)}."
    other_effects = [effects[name] for name in other_questions if name in effects]
    if other_effects:
        differ = [row.outcome for row in other_effects if differs(tests.get(row.outcome, row))]
        sizes = [row.eta_squared for row in other_effects if row.eta_squared is not None]
        text = f"Of the other {plural(len(other_effects), 'question')}, systems differ in {len(differ)}"
        text += f" (p < .05 each, not corrected){': ' + listed(differ, 6) if differ else ''}"
        if sizes:
            text += f"; eta squared runs from {share(min(sizes), 3)} to {share(max(sizes), 3)}"
        yield f"{text}."


def _what(row: AnovaEffect | RatingModelEffect) -> str:
    return "mean" if row.deviation == "value" else "signed deviation"


def _tested(summary: Summary, test: RatingModelEffect, row: AnovaEffect | None) -> str:
    """The test in the model of the ratings, who is highest, which pairs differ, and the same for these raters alone."""
    ends, means = highest(test), test.means or {}
    order = ""
    if ends and differs(test):
        top, bottom = (f"{name} {word} ({number(means[name].value, 2)})" for name, word in zip(ends, ENDS, strict=True))
        order = f" {top}, {bottom}."
    if differs(test):
        parts = [f"Systems differ in {test.outcome} ({_what(test)}): {f_test(test)}, {_samples(test)}.{order}"]
    else:
        parts = [
            f"No difference between systems is shown in {test.outcome} ({_what(test)}): {f_test(test)}, {_samples(test)}."
        ]
    if test.why_no_tastes:
        parts.append(f"Raters' tastes for systems are not in the model: {test.why_no_tastes}.")
    if differs(test):
        parts.append(_model_pairs(summary, test, row))
    if row is not None and (differs(row) or differs(test)):
        parts.append(_these_raters(summary, row))
    return " ".join(filter(None, parts))


def _samples(test: RatingModelEffect) -> str:
    """What the test takes as samples."""
    if test.why_no_tastes:
        return "with raters and stimuli as samples"
    return "with raters, stimuli and raters' tastes for systems as samples"


def _model_pairs(summary: Summary, test: RatingModelEffect, row: AnovaEffect | None) -> str:
    """How many pairs differ: by the model, or, where systems differ in spread, each pair with its own variance."""
    of_outcome = [
        pair
        for pair in summary.pairwise or ()
        if (pair.outcome, pair.deviation, pair.factor) == (test.outcome, test.deviation, "system")
    ]
    unequal = row is not None and row.unequal_spread is not None and row.unequal_spread < 0.05
    wanted = [pair for pair in of_outcome if pair.method == (JACKKNIFE if unequal else TUKEY)]
    if not wanted:
        wanted = [pair for pair in of_outcome if pair.method == JACKKNIFE]
    tested = [pair for pair in wanted if pair.p is not None]
    if not tested:
        return ""
    differ = sum(bool(pair.significant) for pair in tested)
    how = "Tukey" if tested[0].method == TUKEY else "two-way jackknife, Holm"
    if unequal:
        how += "; systems differ in spread, so each pair has its own variance"
    return f"{_count(differ, len(tested))} ({how})."


def _count(differ: int, pairs: int) -> str:
    """``1 of 3 pairs differs``."""
    return f"{differ} of {plural(pairs, 'pair')} {'differs' if differ == 1 else 'differ'}"


def _equivalence(summary: Summary) -> Iterator[str]:
    """Which systems are equivalent within the smallest effect, and which pairs stay undecided."""
    rows = summary.equivalence or ()
    for name in dict.fromkeys(row.outcome for row in rows):
        of_outcome = [row for row in rows if row.outcome == name]
        margin = number(of_outcome[0].margin, 2)
        shown = [f"{row.a} and {row.b}" for row in of_outcome if row.equivalent]
        differing = {
            (pair.a, pair.b)
            for pair in summary.pairwise or ()
            if pair.outcome == name and pair.method == TUKEY and pair.significant
        }
        undecided = [row for row in of_outcome if (row.a, row.b) not in differing and not row.equivalent]
        text = f"Within {margin} points of {name}, "
        text += f"{listed(shown, 4)} are equivalent" if shown else "no two systems are shown to be equivalent"
        if undecided:
            text += f"; {plural(len(undecided), 'pair')} neither shown to differ nor to be equivalent"
        yield f"{text} (two one-sided tests, Holm)."
        better = [
            f"{a} to {b}"
            for row in undecided
            for a, b, p in ((row.a, row.b, row.p_a_not_inferior), (row.b, row.a, row.p_b_not_inferior))
            if p < 0.05
        ]
        if better:
            yield f"Of these, not inferior by more than {margin} points of {name}: {listed(better, 6)}."


def _pairs(summary: Summary, row: AnovaEffect) -> str:
    """How many pairs differ, in the model the F test belongs to; with unequal spread, each pair with its own variance."""
    pairs = model_pairs(summary.pairwise, row)
    other_factors = [name for name in row.model.split(" + ") if name != row.effect]
    how = f"Tukey, adjusted for {listed(other_factors)}" if other_factors else "Tukey-Kramer"
    if row.unequal_spread is not None and row.unequal_spread < 0.05:
        key = (row.outcome, row.deviation, row.effect, "Games-Howell")
        games_howell = [p for p in summary.pairwise or () if (p.outcome, p.deviation, p.factor, p.method) == key]
        pairs, how = (games_howell, "Games-Howell, as systems differ in spread") if games_howell else (pairs, how)
    tested = [pair for pair in pairs if pair.p is not None]
    if not tested:
        return ""
    differ = sum(bool(pair.significant) for pair in tested)
    text = f"{_count(differ, len(tested))} ({how})"
    gone = len(pairs) - len(tested)
    return f"{text}; {plural(gone, 'pair')} cannot be compared." if gone else f"{text}."


def _these_raters(summary: Summary, row: AnovaEffect) -> str:
    """The test of stimulus means, and the same test for the other choice of raters."""
    family, with_other_raters = _pairs_by_raters(summary, row), _other_raters(summary, row)
    text = f"For these raters alone (stimulus means): {f_test(row)}"
    if with_other_raters and family is not None:
        text += f", {_count(family.without if summary.screening.dropped else family.with_all, family.pairs)}"
    return f"{text}; {with_other_raters}." if with_other_raters else f"{text}."


def _pairs_by_raters(summary: Summary, row: AnovaEffect) -> SensitivityPairs | None:
    """The pairs of this model with and without the raters in question."""
    key = (row.outcome, row.deviation, row.effect, row.model)
    for family in summary.sensitivity_pairs or ():
        if (family.question, family.deviation, family.factor, family.model) == key:
            return family
    return None


def _other_raters(summary: Summary, row: AnovaEffect) -> str:
    """The same test without the raters the default policy would leave out, or with those left out here."""
    dropped, by_default = summary.screening.dropped, summary.screening.dropped_by_default
    count = len(dropped or by_default)
    if not count:
        return ""
    text = (
        f"including the {plural(count, 'rater')} excluded by the policy"
        if dropped
        else f"excluding the {plural(count, 'rater')} flagged by the default policy"
    )
    of = (row.outcome, row.effect, f"{row.deviation} ~ {row.model}")
    figures: list[str] = []
    for figure in summary.sensitivity or ():
        if figure.figure.startswith("F of ") and (figure.question, figure.of, figure.model) == of:
            f = figure.with_all if dropped else figure.without
            figures += [f"F = {number(f, 2)}"] if isinstance(f, float) else []
    family = _pairs_by_raters(summary, row)
    if family is not None:
        differ = family.with_all if dropped else family.without
        figures.append(f"{_count(differ, family.pairs)}{_changed_pairs(summary, family)}")
    return f"{text}: {', '.join(figures)}" if figures else ""


def _changed_pairs(summary: Summary, family: SensitivityPairs) -> str:
    """Which pairs are decided differently; nothing where the two sides are not those of the default policy."""
    screening = summary.screening
    if screening.dropped and set(screening.dropped) != set(screening.dropped_by_default):
        return ""
    changed = [f"{a} and {b}" for a, b in (*family.only_with_all, *family.only_without)]
    return f" (changed: {listed(changed, 4)})" if changed else " (the same pairs)"


def _covariates(summary: Summary) -> Iterator[str]:
    """Whether systems differ with covariates held constant."""
    chosen = set(covered(summary)[0])
    for row in system_effects(summary, with_covariates=True):
        if row.outcome in chosen and row.without_covariates is not None:
            bare = share(row.without_covariates.eta_squared, 3)
            yield (
                f"With {listed(held_constant(row, summary))} held constant, effect of system on {row.outcome}:"
                f" {f_test(row)}; without, on the same {row.n:,} stimuli, eta squared = {bare}. {_pairs(summary, row)}"
            ).strip()


def _ordinal(summary: Summary) -> Iterator[str]:
    """Whether the conclusions hold where scales are taken for ordered categories."""
    chosen = set(covered(summary)[0])
    text = ordinal_sentence(check for check in summary.ordinal or () if check.outcome in chosen)
    if text:
        yield text


def _distance(summary: Summary) -> Iterator[str]:
    """The largest effect on how far stimuli land from their intent, and how much of the distance is noise."""
    rows = [
        row
        for row in summary.anova or ()
        if row.deviation == "absolute"
        and not held_constant(row, summary)
        and row.eta_squared is not None
        and differs(row)
    ]
    largest = max(rows, key=lambda row: row.eta_squared or 0.0) if rows else None
    if largest is not None and ":" not in largest.effect:
        yield (
            f"Largest effect on the distance from the intent: {largest.effect} on absolute {largest.outcome} deviation,"
            f" {f_test(largest)}."
        )
    elif largest is not None:
        smaller_effects = [
            f"{row.effect} {share(row.eta_squared, 3)}"
            for row in rows
            if (row.outcome, row.model) == (largest.outcome, largest.model) and row.effect != largest.effect
        ]
        smaller = f" ({listed(smaller_effects)})" if smaller_effects else ""
        yield (
            "Which system comes closest to its intent depends on the quadrant: the interaction of system and quadrant on"
            f" absolute {largest.outcome} deviation is the largest effect, {f_test(largest)}{smaller}."
        )
    parts = []
    for question in summary.questions or ():
        uncorrected, true = question.means.absolute_deviation, question.means.absolute_deviation_corrected
        if not uncorrected.is_missing and not true.is_missing:
            parts.append(
                f"{question.question} {number(uncorrected.value, 2)} ({interval(true, 2)} without rating noise)"
            )
    if parts:
        yield f"Mean distance from the intent: {'; '.join(parts[:MOST_SHOWN])}."


def _shrinkage(summary: Summary) -> Iterator[str]:
    lines = [row for row in summary.slopes or () if not row.slope.is_missing]
    for row in [row for row in lines if row.system == ALL][:MOST_SHOWN]:
        text = f"Perceived {row.question} changes by {interval(row.slope, bare=True)} per intended point"
        text += ", so intended differences shrink" if row.slope.high is not None and row.slope.high < 1 else ""
        slopes = sorted(
            (float(line.slope), line.system) for line in lines if line.question == row.question and line.system != ALL
        )
        if len(slopes) > 1:
            (low, first), (high, last) = slopes[0], slopes[-1]
            text += f" ({first} {share(low)} to {last} {share(high)})"
        yield f"{text}."


def _hits(summary: Summary) -> Iterator[str]:
    quadrants = summary.quadrants
    if quadrants is not None and not quadrants.hit_rate.is_missing:
        yield (
            f"{percent_interval(quadrants.hit_rate)} of the stimuli land in the intended quadrant"
            f"{_chance(quadrants.hit_rate_by_chance)}."
        )
    for table in (summary.intent_confusion or ())[:MOST_SHOWN]:
        if not table.hit_rate.is_missing:
            yield (
                f"The most frequent answer to {table.question} is the intent for {percent_interval(table.hit_rate)} of the"
                f" stimuli{_chance(table.hit_rate_by_chance)}."
            )


def _chance(chance: ChanceTest | None) -> str:
    if chance is None:
        return ""
    text = f"; chance {percent(chance.share)}"
    if chance.p is None:
        return text
    shown = "" if chance.p < 0.05 else "not shown to be above chance, "
    return f"{text} ({shown}{p_value(chance.p)})"


def _tests(summary: Summary) -> Iterator[str]:
    tests = sum(row.p is not None for row in summary.anova or ())
    tests += sum(row.p is not None for row in summary.mixed or ())
    tests += sum(row.p is not None for row in summary.pairwise or ())
    if tests:
        yield (
            f"{plural(tests, 'test')} on this page, pairs corrected within their family and nothing across families: treat what"
            " was not planned as a lead."
        )
