"""What a study with sets will do: how many sets, how many raters, who is compared with whom how often.

Two things can only be ranked against each other where a chain of comparisons leads from one to the other. Systems are
looked at where the manifest names them, else stimuli.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.study import Study
from heartfelt.study.parts.sets import Sets, StimulusSet

MOST_NAMED = 5
_SAME_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPlan:
    """The sets of a study, and what collecting the wanted answers takes."""

    type: str
    sets: int
    sizes: tuple[int, int]
    """The fewest and the most stimuli of a set."""
    answers: int
    """Answers wanted for each set."""
    per_rater: int
    raters: int
    """The fewest raters who can give all answers."""
    of: str
    """What is compared: system or stimulus."""
    comparisons: Mapping[tuple[str, str], int]
    """How often two are judged in the same set, over all answers."""
    groups: tuple[tuple[str, ...], ...]
    """Those that comparisons connect; one group where everything can be ranked."""
    left_out: tuple[str, ...]
    adaptive: bool
    """Whether pairs are chosen as answers come in."""
    warnings: tuple[str, ...]

    def lines(self) -> list[str]:
        low, high = self.sizes
        size = f"{low} {'stimulus' if low == 1 else 'stimuli'}" if low == high else f"{low} to {high} stimuli"
        out = [
            f"{self.sets:,} sets of {size} ({self.type}), {self.answers} answers each:"
            f" {self.per_rater:,} trials per rater, at least {self.raters:,} raters."
        ]
        if self.comparisons:
            counts = self.comparisons.values()
            most, least = max(counts), min(counts)
            times = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            mean = "on average " if self.adaptive else ""
            out.append(
                f"Every two {self.of}s that meet are compared {mean}{times} times ({len(self.comparisons):,} pairs)."
            )
        if len(self.groups) == 1 and len(self.groups[0]) > 1:
            out.append(f"Comparisons connect all {len(self.groups[0]):,} {self.of}s.")
        return out


def plan_sets(opened: OpenStudy) -> SetPlan | None:
    """The plan of a study with sets; None for one without."""
    study = opened.study
    if study.sets is None or opened.sets is None:
        return None
    aside = study.set_aside
    sets = [stimulus_set for stimulus_set in opened.sets.sets if aside.keys().isdisjoint(stimulus_set.stimuli)]
    names = opened.stimuli["stimulus"].to_list()
    of = "system" if "system" in opened.stimuli.columns else "stimulus"
    label = dict(zip(names, opened.stimuli[of].to_list(), strict=True))
    met = _met(sets, label)
    nodes = sorted(set().union(*(_labels(stimulus_set, label) for stimulus_set in sets)))
    groups = _groups(nodes, met)
    per_rater = min(study.design.stimuli_per_rater or len(sets), len(sets))
    raters = _fewest_raters(study, sets, per_rater)
    left_out = tuple(itertools.filterfalse(aside.__contains__, opened.sets.left_out))
    answers = study.design.ratings_per_item
    return SetPlan(
        type=study.sets.type,
        sets=len(sets),
        sizes=_sizes(sets),
        answers=answers,
        per_rater=per_rater,
        raters=raters,
        of=of,
        comparisons={pair: count * answers for pair, count in sorted(met.items())},
        groups=groups,
        left_out=left_out,
        adaptive=study.design.adaptive,
        warnings=(
            *_warnings_of_comparisons(study.sets, groups, of, met),
            *_warnings_of_answers(study, left_out, raters),
            *_distinguishable(study.sets, opened.sets.sets, opened.stimuli),
        ),
    )


def _sizes(sets: Iterable[StimulusSet]) -> tuple[int, int]:
    """The fewest and the most stimuli of a set that are judged."""
    judged = [sum(role != "reference" for _, role in stimulus_set.members) for stimulus_set in sets] or [0]
    return min(judged), max(judged)


def _fewest_raters(study: Study, sets: Sequence[StimulusSet], per_rater: int) -> int:
    """How many raters can give all answers; sets that everybody judges need no more of them."""
    if not sets:
        return 0
    always = set(study.design.always)
    common = sum(stimulus_set.id in always or not always.isdisjoint(stimulus_set.stimuli) for stimulus_set in sets)
    answers = study.design.ratings_per_item
    return max(answers, math.ceil((len(sets) - common) * answers / max(1, per_rater - common)))


def _met(sets: Iterable[StimulusSet], label: Mapping[str, str | None]) -> Counter[tuple[str, str]]:
    """In how many sets two are together; two stimuli of the same system say nothing about systems."""
    met: Counter[tuple[str, str]] = Counter()
    for stimulus_set in sets:
        met.update(itertools.combinations(sorted(_labels(stimulus_set, label)), 2))
    return met


def _labels(stimulus_set: StimulusSet, label: Mapping[str, str | None]) -> set[str]:
    return {name for stimulus in stimulus_set.stimuli if (name := label[stimulus]) is not None}


def _groups(nodes: Iterable[str], met: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    part = {name: {name} for name in nodes}
    for first, second in met:
        if part[first] is not part[second]:
            joined = part[first] | part[second]
            part |= dict.fromkeys(joined, joined)
    return tuple(sorted({tuple(sorted(group)) for group in part.values()}, key=lambda group: (-len(group), group)))


def _warnings_of_comparisons(
    sets: Sets, groups: tuple[tuple[str, ...], ...], of: str, met: Container[tuple[str, str]]
) -> Iterable[str]:
    nodes = sorted(itertools.chain(*groups)) if of == "system" else []
    never = [pair for pair in itertools.combinations(nodes, 2) if pair not in met]
    if len(groups) > 1:
        parts = "; ".join(_listed(group) for group in groups[:MOST_NAMED])
        yield (
            f"The {of}s fall into {len(groups)} groups that are never compared with each other ({parts})."
            " Nothing can be said across groups: add sets that join them."
        )
    elif never and sets.reference is None:
        yield f"{len(never)} pairs of systems never meet in a set, such as {never[0][0]} and {never[0][1]}."
    if sets.reference_first and sets.type in {"pair", "ab"}:
        yield (
            "The reference always comes first: the analysis cannot separate order effects from preferences."
            " Leave out 'reference_first' to draw the order for every rater."
        )


def _warnings_of_answers(study: Study, left_out: tuple[str, ...], raters: int) -> Iterable[str]:
    if left_out:
        yield f"{len(left_out)} stimuli are in no set: {_listed(left_out)}."
    cap = study.recruiting.cap
    if cap is not None and cap < raters:
        yield f"The study takes {cap} raters at most, and needs {raters} for all answers."
    if study.design.ratings_per_item < 2:
        yield "Every set is judged by one rater: agreement between raters cannot be estimated."


def _distinguishable(kind: Sets, sets: Iterable[StimulusSet], stimuli: pl.DataFrame) -> Iterable[str]:
    """By what the files of a set that hides one could be told apart without listening: their size is made equal."""
    if kind.reference is None and kind.type != "abx":
        return
    columns = [name for name in ("path", "rate", "channels", "duration") if name in stimuli.columns]
    facts = {row["stimulus"]: row for row in stimuli.select("stimulus", *columns).to_dicts()}
    mixed: Counter[str] = Counter()
    for stimulus_set in sets:
        mixed.update(_differences([facts[stimulus] for stimulus, _ in stimulus_set.members]))
    for name in ("format", "sample rate or channels", "duration"):
        if mixed[name]:
            yield (
                f"In {mixed[name]:,} sets the files differ in {name}, by which the hidden one could be told apart without"
                " listening. Give all files of a set the same."
            )


def _differences(members: Sequence[Mapping[str, object]]) -> Iterable[str]:
    """In what the files of one set differ."""
    if len({str(row.get("path")).rpartition(".")[2].lower() for row in members}) > 1:
        yield "format"
    if len({(row.get("rate"), row.get("channels")) for row in members}) > 1:
        yield "sample rate or channels"
    lengths = [length for row in members if isinstance(length := row.get("duration"), float)]
    if lengths and max(lengths) - min(lengths) > _SAME_SECONDS:
        yield "duration"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
