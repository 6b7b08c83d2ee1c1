"""What the verdict says about reliability: whether answers are selected, how far labels can be trusted, and the ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heartfelt.analysis.material import MANY_QUESTIONS
from heartfelt.analysis.phrases import listed, number, plural, share, with_interval
from heartfelt.analysis.spoken import (
    NOT_THERE,
    Summary,
    called,
    cell_words,
    information,
    main_questions,
    mean_rating,
    single_rating,
    spoken,
)

LEAST_RELIABLE = 0.7
SINGLE = 0.9
LEAST_KNOWN = 0.5
LEAST_CEILING = 0.05
MOST_RATERS = 1000


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on reliability."""
    for part in (_selected, _agreement, _trust, _others, _ceiling):
        yield from part(summary)


def _selected(summary: Summary) -> Iterator[str]:
    """Whether the number of ratings depends on the answers, which makes agreement a selected figure."""
    found = (summary.get("checks") or {}).get("ratings_per_item") or {}
    by_answer = [(name, one["answers"]) for name, one in found.items() if one["answers"].get("significant")]
    apart = [
        (name, one["disagreement"]) for name, one in found.items() if one["disagreement"].get("significant")
    ]
    if not by_answer and not apart:
        return
    parts = []
    if by_answer:
        test = by_answer[0][1]
        side = "higher" if (test["change"]["value"] or 0.0) > 0 else "lower"
        if "category" in test:
            side = "other"
        parts.append(
            f"stimuli with more ratings have {side} answers on {listed([n for n, _ in by_answer], 4)}"
        )
    if apart:
        more = "more" if (apart[0][1]["change"]["value"] or 0.0) > 0 else "less"
        parts.append(
            f"raters disagree {more} on stimuli with more ratings ({listed([n for n, _ in apart], 4)})"
        )
    smallest = min(float(test["p_corrected"]) for _, test in (*by_answer, *apart))
    yield (
        f"How many ratings a stimulus has depends on its answers: {listed(parts)} (within raters and cells, "
        f"{_p(smallest)} after Holm's correction). If a further rating was asked for because of the answers before it,"
        " agreement and reliability are those of a selected sample and must not be read as those of the raters."
    )


def _p(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {share(p, 3)}"


def _agreement(summary: Summary) -> Iterator[str]:
    """What people agree on, where answers are categories; ordered ones by a coefficient that knows the order."""
    found = summary.get("agreement") or {}
    pooled = summary.get("agreement_pooled")
    if len(summary.get("reliability") or {}) > MANY_QUESTIONS and pooled:
        found = pooled
    else:
        chosen = spoken(summary).names
        found = {name: found[name] for name in chosen if name in found}
    for name, one in found.items():
        lead = one.get("leading", "fleiss_kappa")
        figure, others = one.get(lead, NOT_THERE), one.get("leave_one_out", NOT_THERE)
        if figure["value"] is None:
            continue
        shown = (figure.get("low") or 0.0) > 0
        text = f"On {called(name, one)}, " + (
            "raters agree beyond chance" if shown else "no agreement beyond chance is shown"
        )
        what = "Krippendorff's alpha, ordinal," if lead == "alpha_ordinal" else "Fleiss' kappa"
        text += f" ({what} {with_interval(figure)})"
        if others["value"] is not None:
            text += f"; one person's answer matches the majority of the others {100 * others['value']:.0f}% of the time"
        yield text + "."


def _trust(summary: Summary) -> Iterator[str]:
    """How reliable labels are, and how many raters a better one would need."""
    for name, found in main_questions(summary).items():
        what, one = single_rating(found)
        several = mean_rating(found)
        where = called(name, found)
        if one["value"] is None or (several["value"] is None and what == "reliability"):
            if found.get("alpha_nominal", NOT_THERE)["value"] is None and summary["counts"]["answers"]:
                yield f"The reliability of {where} is unknown: {one.get('why_missing')}."
            continue
        if information(found) == "not shown":
            yield (
                f"The {what} of one rating of {where} is {with_interval(one)}, which does not exclude zero: no information"
                " about the stimuli is shown, and no number of raters can be named that would give some."
            )
            continue
        if several["value"] is None:
            continue
        text = f"One rating of {where} has a reliability of {with_interval(one)}, "
        if several["value"] <= 0:
            yield text + "so the means of the ratings say nothing about how stimuli differ."
            continue
        text += f"the mean of the ratings a stimulus got {with_interval(several)}: {fitness(several)}"
        yield text + _needed(found) + "."


def _needed(found: Mapping[str, Any]) -> str:
    """How many raters a reliability of .9 would take; nothing where that cannot be bounded."""
    needed = (found.get("raters_needed") or {}).get("0.9")
    low, high = (found.get("raters_needed_between") or {}).get("0.9") or (None, None)
    if not needed or high is None:
        return ""
    if high > MOST_RATERS:
        return f"; .9 would take {number(low, 0)} raters a stimulus or more" if low else ""
    between = f" ({low:,} to {high:,})" if low is not None and low != high else ""
    return f"; .9 would take {plural(needed, 'rater')} a stimulus{between}"


def fitness(several: Mapping[str, Any]) -> str:
    """What labels of such a reliability are good for."""
    low, high, value = several.get("low"), several.get("high"), several["value"]
    if low is None or high is None or high - low > LEAST_KNOWN:
        return "too uncertain to say what they are good for"
    if value >= SINGLE:
        return "good enough to tell single stimuli apart"
    if value >= LEAST_RELIABLE:
        return "fit for comparing groups of stimuli, not for trusting single labels"
    return "too unreliable to trust single labels"


def _others(summary: Summary) -> Iterator[str]:
    """The questions without a sentence of their own."""
    found = summary.get("reliability") or {}
    pooled = len(found) > MANY_QUESTIONS and bool(summary.get("reliability_pooled"))
    rest = list(found) if pooled else spoken(summary).rest
    if not rest:
        return
    known = []
    for name in rest:
        several = mean_rating(found[name])
        what, one = single_rating(found[name])
        if several["value"] is not None:
            known.append((name, "the reliability of the labels", float(several["value"])))
        elif one["value"] is not None:
            known.append((name, what, float(one["value"])))
    lost = [name for name in rest if information(found[name]) == "not shown"]
    if not known:
        return
    lead = "Question by question" if pooled else f"Of the other {plural(len(rest), 'question')}"
    parts = []
    for what in dict.fromkeys(kind for _, kind, _ in known):
        mine = sorted((value, name) for name, kind, value in known if kind == what)
        (low, first), (high, last) = mine[0], mine[-1]
        parts.append(f"{what} runs from {share(low)} ({first}) to {share(high)} ({last})")
    text = f"{lead}, {listed(parts)}"
    text += f"; {len(lost)} show no information about the stimuli ({listed(lost, 5)})" if lost else ""
    yield f"{text}."


def _ceiling(summary: Summary) -> Iterator[str]:
    cell = cell_words(summary)
    who = "No predictor that does not know who rated which stimulus can be expected to"
    for name, found in main_questions(summary).items():
        top = found.get("ceiling") or {}
        best, where = top.get("correlation", NOT_THERE), called(name, found)
        if top.get("accuracy", NOT_THERE)["value"] is not None:
            yield f"{who} pass an accuracy of {with_interval(top['accuracy'])} on these {where} labels."
        elif best["value"] is not None and (
            best["value"] < LEAST_CEILING or information(found) == "not shown"
        ):
            yield f"The ratings of {where} show no difference between stimuli that a predictor could find."
        elif best["value"] is not None:
            text = f"{who} correlate above {with_interval(best)} with these {where} labels"
            within, bare = top.get("within_cells", NOT_THERE), top.get("cell_means", NOT_THERE)
            if within["value"] is not None and cell:
                text += f", nor above {with_interval(within)} within the same {cell}"
            if (bare["value"] or 0.0) > 0 and cell:
                text += f"; knowing nothing but the {cell} of a stimulus already gives {with_interval(bare)}"
            yield text + "."
