"""What the verdict says about systems: whether they differ, which pairs, and how close they come to their intents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from heartfelt.analysis.findings.parts import ALL, AnovaEffect, PairDifference, RatingModelEffect, SystemEquivalence
from heartfelt.analysis.summary import SensitivityPairs, Summary
from heartfelt.analysis.systems.effects import model_pairs
from heartfelt.analysis.systems.means import JACKKNIFE
from heartfelt.analysis.systems.ordinal_check import sentence as ordinal_sentence
from heartfelt.analysis.text.highlights import (
    covered,
    differs,
    held_constant,
    is_significant,
    main_effects,
    rating_tests,
    system_effects,
)
from heartfelt.analysis.text.sentences import template_lines, template_text
from heartfelt.stats.inference.mixed import TUKEY
from heartfelt.wording import listed, number

TEMPLATE = "analysis/verdict_systems"
MOST_SHOWN = 4
GAMES_HOWELL = "Games-Howell"


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
        elif row is not None:
            pairs, other_raters = _pairs(summary, row), _other_raters(summary, row)
            yield from template_lines(TEMPLATE, "untested", row=row, pairs=pairs, other_raters=other_raters)
    yield from _other_questions([effects[name] for name in other_questions if name in effects], tests)


def _other_questions(effects: Sequence[AnovaEffect], tests: Mapping[str, RatingModelEffect]) -> list[str]:
    """In how many of the questions without a sentence of their own systems differ."""
    if not effects:
        return []
    return template_lines(
        TEMPLATE,
        "other_questions",
        total=len(effects),
        differing=[row.outcome for row in effects if differs(tests.get(row.outcome, row))],
        sizes=[row.eta_squared for row in effects if row.eta_squared is not None],
    )


def _tested(summary: Summary, test: RatingModelEffect, row: AnovaEffect | None) -> str:
    """The test in the model of the ratings, who is highest, which pairs differ, and the same for these raters alone."""
    alone = row is not None and (differs(row) or differs(test))
    return template_text(
        TEMPLATE,
        "tested",
        test=test,
        pairs=_model_pairs(summary, test, row) if differs(test) else "",
        these_raters=_these_raters(summary, row) if row is not None and alone else "",
    )


def _count(differing: int, pairs: int) -> str:
    """``1 of 3 pairs differs``."""
    return template_text(TEMPLATE, "count", differing=differing, pairs=pairs)


def _differing(pairs: Sequence[PairDifference]) -> dict[str, int]:
    """How many pairs have a test, and how many of these differ."""
    tested = [pair for pair in pairs if pair.p is not None]
    return {"tested": len(tested), "differing": sum(bool(pair.significant) for pair in tested)}


def _unequal_spread(row: AnovaEffect | None) -> bool:
    return row is not None and is_significant(row.unequal_spread)


def _pairs_by(summary: Summary, test: AnovaEffect | RatingModelEffect, method: str) -> list[PairDifference]:
    """The pairs of a test that were compared by a method."""
    key = (test.outcome, test.deviation, test.effect, method)
    return [p for p in summary.pairwise or () if (p.outcome, p.deviation, p.factor, p.method) == key]


def _model_pairs(summary: Summary, test: RatingModelEffect, row: AnovaEffect | None) -> str:
    """How many pairs differ: by the model, or, where systems differ in spread, each pair with its own variance."""
    unequal = _unequal_spread(row)
    by_model = [] if unequal else _pairs_by(summary, test, TUKEY)
    how = "Tukey" if by_model else "two-way jackknife, Holm"
    how += "; systems differ in spread, so each pair has its own variance" if unequal else ""
    return template_text(TEMPLATE, "pairs", how=how, **_differing(by_model or _pairs_by(summary, test, JACKKNIFE)))


def _equivalence(summary: Summary) -> Iterator[str]:
    """Which systems are equivalent within the smallest effect, and which pairs stay undecided."""
    by_outcome: dict[str, list[SystemEquivalence]] = {}
    for row in summary.equivalence or ():
        by_outcome.setdefault(row.outcome, []).append(row)
    for name, rows in by_outcome.items():
        differing = _differing_pairs(summary, name)
        undecided = [row for row in rows if (row.a, row.b) not in differing and not row.equivalent]
        yield from template_lines(
            TEMPLATE,
            "equivalence",
            name=name,
            margin=rows[0].margin,
            equivalent=[f"{row.a} and {row.b}" for row in rows if row.equivalent],
            undecided=len(undecided),
            not_inferior=list(_not_inferior(undecided)),
        )


def _differing_pairs(summary: Summary, outcome: str) -> set[tuple[str, str]]:
    """The pairs that differ by the model of the ratings."""
    return {
        (pair.a, pair.b)
        for pair in summary.pairwise or ()
        if pair.outcome == outcome and pair.method == TUKEY and pair.significant
    }


def _not_inferior(rows: Iterable[SystemEquivalence]) -> Iterator[str]:
    """Which system of a pair is at most the margin below the other."""
    for row in rows:
        if is_significant(row.p_a_not_inferior):
            yield f"{row.a} to {row.b}"
        if is_significant(row.p_b_not_inferior):
            yield f"{row.b} to {row.a}"


def _pairs(summary: Summary, row: AnovaEffect) -> str:
    """How many pairs differ, in the model the F test belongs to; with unequal spread, each pair with its own variance."""
    pairs = model_pairs(summary.pairwise, row)
    other_factors = [name for name in row.model.split(" + ") if name != row.effect]
    how = f"Tukey, adjusted for {listed(other_factors)}" if other_factors else "Tukey-Kramer"
    if _unequal_spread(row) and (games_howell := _pairs_by(summary, row, GAMES_HOWELL)):
        pairs, how = games_howell, f"{GAMES_HOWELL}, as systems differ in spread"
    counts = _differing(pairs)
    return template_text(TEMPLATE, "pairs", how=how, gone=len(pairs) - counts["tested"], **counts)


def _these_raters(summary: Summary, row: AnovaEffect) -> str:
    """The test of stimulus means, and the same test for the other choice of raters."""
    family, other_raters = _pairs_by_raters(summary, row), _other_raters(summary, row)
    count = ""
    if family is not None:
        count = _count(family.without if summary.screening.dropped else family.with_all, family.pairs)
    return template_text(TEMPLATE, "these_raters", row=row, family_count=count, other_raters=other_raters)


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
    if not dropped and not by_default:
        return ""
    family = _pairs_by_raters(summary, row)
    return template_text(
        TEMPLATE,
        "other_raters",
        n_raters=len(dropped or by_default),
        dropped=bool(dropped),
        f=_other_f(summary, row),
        family_count="" if family is None else _count(family.with_all if dropped else family.without, family.pairs),
        changed=None if family is None else _changed_pairs(summary, family),
    )


def _other_f(summary: Summary, row: AnovaEffect) -> str:
    """``F = 3.21``: the test of the other choice of raters; nothing where it has none."""
    key = (row.outcome, row.effect, f"{row.deviation} ~ {row.model}")
    same_test = [
        figure.with_all if summary.screening.dropped else figure.without
        for figure in summary.sensitivity or ()
        if figure.figure.startswith("F of ") and (figure.question, figure.of, figure.model) == key
    ]
    return ", ".join(f"F = {number(f, 2)}" for f in same_test if isinstance(f, float))


def _changed_pairs(summary: Summary, family: SensitivityPairs) -> list[str] | None:
    """Which pairs are decided differently; None where the two sides are not those of the default policy."""
    screening = summary.screening
    if screening.dropped and set(screening.dropped) != set(screening.dropped_by_default):
        return None
    return [f"{a} and {b}" for a, b in (*family.only_with_all, *family.only_without)]


def _covariates(summary: Summary) -> Iterator[str]:
    """Whether systems differ with covariates held constant."""
    chosen = set(covered(summary)[0])
    for row in system_effects(summary, with_covariates=True):
        if row.outcome in chosen and row.without_covariates is not None:
            covariates, pairs = held_constant(row, summary), _pairs(summary, row)
            yield from template_lines(TEMPLATE, "covariate", row=row, covariates=covariates, pairs=pairs)


def _ordinal(summary: Summary) -> Iterator[str]:
    """Whether the conclusions hold where scales are taken for ordered categories."""
    chosen = set(covered(summary)[0])
    text = ordinal_sentence(check for check in summary.ordinal or () if check.outcome in chosen)
    if text:
        yield text


def _distance(summary: Summary) -> list[str]:
    """The largest effect on how far stimuli land from their intent, and how much of the distance is noise."""
    rows = _distance_effects(summary)
    largest = max(rows, key=lambda row: row.eta_squared or 0.0, default=None)
    known = [row for row in summary.questions or () if not row.means.absolute_deviation.is_missing]
    return template_lines(
        TEMPLATE,
        "distance",
        largest=largest,
        smaller=[] if largest is None else _other_effects(rows, largest),
        questions=[row for row in known if not row.means.absolute_deviation_corrected.is_missing][:MOST_SHOWN],
    )


def _distance_effects(summary: Summary) -> list[AnovaEffect]:
    """The significant effects on absolute deviations that have a size, in models without covariates."""
    return [
        row
        for row in summary.anova or ()
        if row.deviation == "absolute"
        and not held_constant(row, summary)
        and row.eta_squared is not None
        and differs(row)
    ]


def _other_effects(rows: Iterable[AnovaEffect], effect: AnovaEffect) -> list[AnovaEffect]:
    """The other effects in the same model."""
    key = (effect.outcome, effect.model)
    return [row for row in rows if (row.outcome, row.model) == key and row.effect != effect.effect]


def _shrinkage(summary: Summary) -> Iterator[str]:
    lines = [row for row in summary.slopes or () if not row.slope.is_missing]
    for row in [row for row in lines if row.system == ALL][:MOST_SHOWN]:
        slopes = sorted(
            (float(line.slope), line.system) for line in lines if line.question == row.question and line.system != ALL
        )
        yield from template_lines(TEMPLATE, "shrinkage", row=row, slopes=slopes)


def _hits(summary: Summary) -> list[str]:
    return template_lines(TEMPLATE, "hits", quadrants=summary.quadrants, tables=summary.intent_confusion or ())


def _tests(summary: Summary) -> list[str]:
    tests = [row.p for rows in (summary.anova, summary.mixed, summary.pairwise) for row in rows or ()]
    return template_lines(TEMPLATE, "number_of_tests", tests=sum(p is not None for p in tests))
