"""The verdict: one bottom line, then what the ratings say about systems, reliability and raters.

The bottom line says the worst first. Where the ratings show no sign of depending on the stimuli, nothing else is
worth reading, and it says what to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from heartfelt.analysis import verdict_raters, verdict_reliability, verdict_systems
from heartfelt.analysis.failures import Failed, attempt
from heartfelt.analysis.phrases import listed, plural, share, with_interval
from heartfelt.analysis.spoken import (
    Summary,
    called,
    information,
    main_questions,
    mean_rating,
    rows,
    single_rating,
    spoken,
    system_effects,
)
from heartfelt.analysis.verdict_reliability import fitness

__all__ = ["Verdict", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentences at the top of a report."""

    bottom_line: str
    systems: tuple[str, ...]
    reliability: tuple[str, ...]
    raters: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """All of them, the bottom line first."""
        return [self.bottom_line, *self.systems, *self.reliability, *self.raters]

    def to_json(self) -> dict[str, Any]:
        """Plain data, by group."""
        return {
            "bottom_line": self.bottom_line,
            "systems": list(self.systems),
            "reliability": list(self.reliability),
            "raters": list(self.raters),
        }


def verdict(summary: Summary) -> Verdict:
    """What these ratings let one conclude, and what they do not."""
    return Verdict(
        " ".join(_written("the bottom line", lambda: iter([bottom_line(summary)]))),
        tuple(_written("the systems", lambda: verdict_systems.sentences(summary))),
        tuple(_written("the reliability", lambda: verdict_reliability.sentences(summary))),
        tuple(_written("the raters", lambda: verdict_raters.sentences(summary))),
    )


def _written(what: str, sentences: Callable[[], Iterator[str]]) -> list[str]:
    made = attempt(lambda: list(sentences()))
    return [f"The verdict on {what} is missing: {made.why}."] if isinstance(made, Failed) else made


def bottom_line(summary: Summary) -> str:
    """One sentence."""
    c = summary["counts"]
    if not c["answers"] and not c["means"]:
        return "There are no ratings, so nothing can be concluded."
    nothing = _no_information(summary)
    if nothing:
        return nothing
    clauses = [*_systems(summary), *_hits(summary), *_trust(summary)]
    if not clauses:
        clauses = ["the ratings are too few, or too much alike, to say what they are good for"]
    text = clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])}, and {clauses[-1]}"
    if not c["answers"]:
        return f"From {c['means']:,} published means, without single ratings: {text}."
    text = f"{text[0].upper()}{text[1:]}"
    left_out = len(summary["screening"]["dropped"])
    if left_out:
        name = summary["policy"]["name"]
        text += f" (the policy '{name}' left out {left_out} of {plural(c['raters'], 'rater')})"
    return f"{text}."


def _no_information(summary: Summary) -> str | None:
    """The sentence for ratings that do not depend on the stimuli; None where some question's ratings do."""
    checks = summary.get("checks") or {}
    flat = set(checks.get("constant_questions") or [])
    found = main_questions(summary)
    pooled = any("n_questions" in one for one in found.values())
    every = found if pooled else dict(summary.get("reliability") or {})
    states = {name: "not shown" if name in flat else information(one) for name, one in every.items()}
    if not states or any(state != "not shown" for state in states.values()):
        return None
    names = list(states)
    if set(names) <= flat:
        return (
            f"All answers on {listed(names)} are the same, so the ratings say nothing about the stimuli: check whether"
            " answers were recorded at all, and whether the right column was read."
        )
    where = f" ({_figures({name: every[name] for name in names if name not in flat})})"
    constant, judged = len(checks.get("constant_raters") or []), checks.get("raters_judged") or 0
    look = [
        f"raters who always give the same answer ({constant} of {judged} do)"
        if judged
        else "raters who always give the same answer",
        "stimulus or rater ids that were mixed up",
        "answers that are out of step with the stimuli (shifted rows, another order)",
    ]
    return (
        f"The ratings carry no detectable information about the stimuli{where}, so no difference reported below can be"
        f" trusted: check for {listed(look)}."
    )


def _figures(found: dict[str, Any]) -> str:
    parts = []
    for name, one in list(found.items())[:4]:
        what, figure = single_rating(one)
        parts.append(f"{called(name, one)}: {what} of one rating {with_interval(figure)}")
    return "; ".join(parts)


def _systems(summary: Summary) -> list[str]:
    """Whether systems differ, by the mixed model where raters count as a sample, else by the analysis of variance."""
    effects = system_effects(summary)
    if not effects:
        return []
    mixed = {row["outcome"]: row["p"] for row in rows(summary, "mixed", effect="system")}
    differ: list[str] = []
    only_here: list[str] = []
    same: list[str] = []
    for name, row in effects.items():
        wide = mixed.get(name)
        here = row["p"] < 0.05
        (differ if here and (wide is None or wide < 0.05) else only_here if here else same).append(name)
    parts = []
    if differ:
        parts.append(f"systems differ in {_some(differ)}")
    if only_here:
        parts.append(
            f"systems differ in {_some(only_here)} for these raters, which is not shown for other raters"
        )
    if same and not parts:
        parts.append("no difference between systems is shown")
    elif same:
        parts[-1] += f" (not shown in {_some(same)})"
    return parts


def _some(names: list[str]) -> str:
    return listed(names) if len(names) <= 4 else f"{len(names)} questions"


def _hits(summary: Summary) -> list[str]:
    found = summary.get("quadrants")
    if not found or found["hit_rate"]["value"] is None:
        return []
    chance = found.get("hit_rate_by_chance")
    text = f"{100 * found['hit_rate']['value']:.0f}% of the stimuli are perceived in the quadrant they were meant for"
    return [text + (f" ({100 * chance['value']:.0f}% would be by chance)" if chance else "")]


def _trust(summary: Summary) -> list[str]:
    """What the labels are good for, over the questions the verdict speaks of."""
    found = main_questions(summary)
    known = {name: one for name, one in found.items() if mean_rating(one)["value"] is not None}
    lost = [called(name, one) for name, one in found.items() if information(one) == "not shown"]
    shown = {name: one for name, one in known.items() if information(one) != "not shown"}
    parts = []
    if shown:
        kinds = {fitness(mean_rating(one)) for one in shown.values()}
        values = sorted(float(mean_rating(one)["value"]) for one in shown.values())
        between = (
            share(values[0])
            if share(values[0]) == share(values[-1])
            else f"{share(values[0])} to {share(values[-1])}"
        )
        words = (
            next(iter(kinds))
            if len(kinds) == 1
            else "of a reliability that differs from question to question"
        )
        parts.append(f"the labels are {words} (reliability {between})")
    elif not known:
        parts += _categories(summary)
    unknown = [one for one in found.values() if single_rating(one)[1]["value"] is None]
    if found and len(unknown) == len(found):
        parts.append(
            f"how reliable the ratings are is not known ({single_rating(unknown[0])[1].get('why_missing')})"
        )
    if lost:
        parts.append(f"the ratings of {_some(lost)} carry no detectable information about the stimuli")
    return parts


def _categories(summary: Summary) -> list[str]:
    """For answers without an order: whether raters agree beyond chance."""
    found = main_questions(summary)
    agree = [called(n, one) for n, one in found.items() if information(one) == "shown"]
    if not agree:
        return []
    values = sorted(
        float(single_rating(one)[1]["value"]) for one in found.values() if information(one) == "shown"
    )
    between = share(values[0]) if len(values) == 1 else f"{share(values[0])} to {share(values[-1])}"
    rest = len(spoken(summary).rest) if not any("n_questions" in one for one in found.values()) else 0
    more = f" (and see below for {plural(rest, 'further question')})" if rest else ""
    return [f"raters agree beyond chance on {_some(agree)} (Krippendorff's alpha {between}){more}"]
