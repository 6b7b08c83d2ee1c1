"""The verdict: one bottom line, then what the ratings say about systems, reliability and raters.

The bottom line gives the worst news first. Where the ratings show no sign of depending on the stimuli, nothing else
is worth reading, and it says what to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from heartfelt.analysis.data.answers_used import LEAST_SHARE
from heartfelt.analysis.findings.parts import Agreement, RatingModelEffect, Reliability
from heartfelt.analysis.summary import ReportVerdict, Summary
from heartfelt.analysis.text import verdict_comparisons, verdict_raters, verdict_systems
from heartfelt.analysis.text.highlights import (
    MOST_RATERS,
    SINGLE_ITEM_RELIABILITY,
    called,
    cell_words,
    covered,
    covers_pools,
    differs,
    fitness,
    highest,
    information,
    main_effects,
    main_questions,
    mean_rating,
    rating_tests,
    single_rating,
)
from heartfelt.analysis.text.sentences import template_lines, template_text
from heartfelt.failures import Failed, attempt_part
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, plural

TEMPLATE = "analysis/verdict"
NOTABLE_FLAGGED = 0.05
"""From this share of the raters on, those flagged are part of the bottom line."""
MOST_NAMED = 4


def verdict(summary: Summary) -> ReportVerdict:
    """What these ratings let one conclude, and what they do not."""

    def written(topic: str, sentences: Callable[[Summary], Iterable[str]]) -> tuple[str, ...]:
        result = attempt_part(f"the verdict on {topic}", lambda: tuple(sentences(summary)))
        return (f"The verdict on {topic} is missing: {result.reason}.",) if isinstance(result, Failed) else result

    return ReportVerdict(
        bottom_line=" ".join(written("the bottom line", lambda of: [bottom_line(of)])),
        systems=(
            *written("the systems", verdict_systems.sentences),
            *written("the comparisons", verdict_comparisons.sentences),
        ),
        reliability=written("the reliability", reliability_sentences),
        raters=written("the raters", verdict_raters.sentences),
        next_step=" ".join(written("the next step", lambda of: [next_step(of)])),
    )


def bottom_line(summary: Summary) -> str:
    """The worst news first, in a sentence or two."""
    if not summary.counts.answers and not summary.counts.means:
        return "There are no ratings, so nothing can be concluded."
    nothing = _no_information(summary)
    if nothing:
        return " ".join([nothing, *(column.warning for column in summary.source.marked_columns)])
    clauses = [
        *_systems(summary),
        *template_lines(TEMPLATE, "hits", quadrants=summary.quadrants),
        *verdict_comparisons.clauses(summary),
        *_trust(summary),
    ]
    flagged, raters = len(summary.screening.flagged), summary.counts.raters
    notable = flagged and flagged >= NOTABLE_FLAGGED * raters and not summary.screening.dropped
    return template_text(
        TEMPLATE,
        "bottom_line",
        summary=summary,
        clauses=clauses or ["the ratings are too few, or too much alike, to judge"],
        least_share=LEAST_SHARE,
        flagged=verdict_raters.flagged_words(summary) if notable else "",
    )


def _no_information(summary: Summary) -> str:
    """The sentence for ratings that do not depend on the stimuli; nothing where some question's ratings do."""
    checks = summary.checks
    constant = set(checks.constant_questions) if checks else set()
    every = main_questions(summary) if covers_pools(summary) else summary.reliability or {}
    varying = {name: trust for name, trust in every.items() if name not in constant}
    if not every or any(information(trust) != "not shown" for trust in varying.values()):
        return ""
    return template_text(
        TEMPLATE,
        "no_information",
        questions=list(every),
        varying=dict(list(varying.items())[:MOST_NAMED]),
        constant=verdict_raters.constant_words(checks),
    )


def _systems(summary: Summary) -> list[str]:
    """Whether systems differ and which is highest: by the model of the ratings, else by the analysis of variance."""
    effects, tests = main_effects(summary), rating_tests(summary)
    differing, only_here, same = list[str](), list[str](), list[str]()
    for name in dict.fromkeys([*effects, *tests]):
        test = tests.get(name) or effects[name]
        if differs(test):
            ends = highest(test) if isinstance(test, RatingModelEffect) else None
            differing.append(f"{name} ({ends[0]} highest)" if ends else name)
        elif name in effects and differs(effects[name]):
            only_here.append(name)
        else:
            same.append(name)
    return template_lines(TEMPLATE, "systems", differing=differing, only_here=only_here, same=same)


def _trust(summary: Summary) -> list[str]:
    """What the labels are good for, over the questions the verdict covers; drafted ones only if there are no others."""
    every, drafted = main_questions(summary), _drafted(summary)
    every = {name: trust for name, trust in every.items() if name not in drafted} or every
    named = {called(name, trust): trust for name, trust in every.items()}
    return template_lines(
        TEMPLATE,
        "trust",
        by_use=_labels_by_use(named),
        agreeing=_agreeing(named),
        n_further=0 if covers_pools(summary) else len(covered(summary)[1]),
        unknown=_why_all_unknown(named),
        lost=[name for name, trust in named.items() if information(trust) == "not shown"],
        only_means=verdict_comparisons.only_means_usable(summary),
    )


def _labels_by_use(questions: Mapping[str, Reliability]) -> dict[str, dict[str, Estimate]]:
    """The reliability of mean ratings by what they are good for, where ratings depend on the stimuli or that is unknown."""
    by_use: dict[str, dict[str, Estimate]] = {}
    for name, trust in questions.items():
        labels = mean_rating(trust)
        if not labels.is_missing and information(trust) != "not shown":
            by_use.setdefault(fitness(labels), {})[name] = labels
    return by_use


def _agreeing(questions: Mapping[str, Reliability]) -> dict[str, Estimate]:
    """The coefficients above zero of single ratings, where no question has a reliability of mean ratings."""
    if not all(mean_rating(trust).is_missing for trust in questions.values()):
        return {}
    return {name: single_rating(trust)[1] for name, trust in questions.items() if information(trust) == "shown"}


def _why_all_unknown(questions: Mapping[str, Reliability]) -> str | None:
    """The first reason for having no coefficient of single ratings; None where some question has one."""
    single = [single_rating(trust)[1] for trust in questions.values()]
    return single[0].why_missing if single and all(figure.is_missing for figure in single) else None


def reliability_sentences(summary: Summary) -> Iterator[str]:
    """All sentences on reliability."""
    questions, has_answers = main_questions(summary), bool(summary.counts.answers)
    yield from _selected(summary)
    yield from template_lines(TEMPLATE, "agreement", votes_of=_agreement(summary))
    for name, trust in questions.items():
        named = called(name, trust)
        yield from template_lines(TEMPLATE, "one_question", name=named, trust=trust, has_answers=has_answers)
    yield from template_lines(TEMPLATE, "drafted", names=_drafted(summary))
    yield from _others(summary)
    cell = cell_words(summary)
    ceilings = [words for name, trust in questions.items() if (words := _ceiling(called(name, trust), trust, cell))]
    if ceilings:
        yield f"Ceiling: {'; '.join(ceilings)}."


def _ceiling(name: str, trust: Reliability, cell: str) -> str:
    """The best a predictor can expect on the labels of a question: ``valence r = .95 [.93, .98]``."""
    return template_text(TEMPLATE, "ceiling", name=name, trust=trust, cell=cell)


def _drafted(summary: Summary) -> list[str]:
    """The questions with a reliability whose answers were mostly given in sight of a machine's draft."""
    fields = summary.verification.fields if summary.verification is not None else ()
    verified = {field.field for field in fields if field.verdicts.verified}
    return [
        name
        for name, trust in (summary.reliability or {}).items()
        if name in verified and not (trust.alpha_interval.is_missing and trust.alpha_nominal.is_missing)
    ]


def _selected(summary: Summary) -> list[str]:
    """Whether the number of ratings depends on the answers, which makes agreement that of a selected sample."""
    tests = summary.checks.ratings_per_item if summary.checks else {}
    answers = {name: test.answers for name, test in tests.items() if test.answers.significant}
    disagreements = {name: test.disagreement for name, test in tests.items() if test.disagreement.significant}
    significant = (*answers.values(), *disagreements.values())
    strata = {"raters": not summary.counts.answers_of_unknown_raters, "cells": bool(cell_words(summary))}
    return template_lines(
        TEMPLATE,
        "selected",
        answers=answers,
        disagreements=disagreements,
        strata=[name for name, held in strata.items() if held],
        smallest=min((test.p_corrected or 0.0 for test in significant), default=None),
    )


def _agreement(summary: Summary) -> Mapping[str, Agreement]:
    """The agreement on categories of the questions covered, or of their pools."""
    if covers_pools(summary) and summary.agreement_pooled:
        return summary.agreement_pooled
    every = summary.agreement or {}
    return {name: every[name] for name in covered(summary)[0] if name in every}


def _others(summary: Summary) -> list[str]:
    """The questions without a sentence of their own."""
    every, pools = summary.reliability or {}, covers_pools(summary)
    remaining = list(every) if pools else covered(summary)[1]
    by_figure: dict[str, list[tuple[float, str]]] = {}
    for name in remaining:
        figure_name, single = single_rating(every[name])
        labels = mean_rating(every[name])
        if labels.value is not None:
            by_figure.setdefault("the reliability of the labels", []).append((labels.value, name))
        elif single.value is not None:
            by_figure.setdefault(figure_name, []).append((single.value, name))
    lost = [name for name in remaining if information(every[name]) == "not shown"]
    return template_lines(TEMPLATE, "others", by_figure=by_figure, count=len(remaining), pools=pools, lost=lost)


def next_step(summary: Summary) -> str:
    """The one thing to do next: what would change the conclusions most."""
    steps = (
        _without_answers,
        _unused_answers,
        _flagged_by_default,
        _unknown_reliability,
        _weakest,
        verdict_comparisons.unlinked,
        verdict_comparisons.undecided,
        _flagged,
    )
    for step in steps:
        if text := step(summary):
            return text
    if summary.comparisons and all(comparison.abx for comparison in summary.comparisons):
        return "Publish the answers: `heartfelt publish` releases them."
    return "Use the labels: `heartfelt bench` scores predictors against them, `heartfelt publish` releases them."


def _without_answers(summary: Summary) -> str:
    """What to do without single ratings, or with ratings that do not depend on the stimuli."""
    if not summary.counts.answers:
        return "Get the single ratings: means show no careless raters." if summary.counts.means else "Collect ratings."
    return "Check how the answers were recorded before collecting more." if _no_information(summary) else ""


def _unused_answers(summary: Summary) -> str:
    """What to do where many answers are lost, and not by the policy."""
    answers = summary.answers_used
    if answers.share >= LEAST_SHARE or summary.screening.dropped:
        return ""
    reason, count = max(answers.not_used.items(), key=lambda lost: lost[1], default=("", 0))
    return f"Find out why answers are not used: {count:,} {'is' if count == 1 else 'are'} lost to “{reason}”."


def _flagged_by_default(summary: Summary) -> str:
    """Whom to look at where the default policy would leave somebody out and this policy nobody."""
    screening = summary.screening
    if screening.dropped or not screening.dropped_by_default:
        return ""
    count = len(screening.dropped_by_default)
    some = f"{count} of them" if count < len(screening.flagged) else "them"
    return f"Review {_flagged_raters(summary)}; `--policy default` repeats the analysis without {some}."


def _flagged(summary: Summary) -> str:
    """Whom to look at where this policy leaves nobody out."""
    screening = summary.screening
    wanted = screening.flagged and not screening.dropped
    return f"Review {_flagged_raters(summary)} before you publish." if wanted else ""


def _flagged_raters(summary: Summary) -> str:
    count = len(summary.screening.flagged)
    return "the flagged rater" if count == 1 else f"the {count:,} flagged raters"


def _unknown_reliability(summary: Summary) -> str:
    """What would tell how reliable the ratings are, where that is not known of any question."""
    every = main_questions(summary)
    if not every or any(not single_rating(trust)[1].is_missing for trust in every.values()):
        return ""
    return "Have some stimuli rated by a second rater: without that, nobody knows how reliable the ratings are."


def _weakest(summary: Summary) -> str:
    """How many more ratings the least reliable question needs; nothing where labels are reliable or that is not known."""
    rated = {
        called(name, trust): trust
        for name, trust in main_questions(summary).items()
        if (value := mean_rating(trust).value) is not None and value < SINGLE_ITEM_RELIABILITY
    }
    if not rated:
        return ""
    name, trust = min(rated.items(), key=lambda item: float(mean_rating(item[1])))
    needed, high = trust.raters_needed.get("0.9"), trust.raters_needed_between.get("0.9", (None, None))[1]
    if not needed or high is None or high > MOST_RATERS:
        return f"Collect more ratings per stimulus: the reliability of {name} is {interval(mean_rating(trust), bare=True)}."
    return f"Collect ratings until {name} has {plural(needed, 'rater')} per stimulus, for a reliability of .9."
