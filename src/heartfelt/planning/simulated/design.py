"""Designs to choose from: the study's own, and a grid of others, with what each takes in minutes and money."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from heartfelt.errors import InputError, require
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Floats
from heartfelt.planning.simulated.incidence import AssignedUnits
from heartfelt.stats.columns.triples import Ints
from heartfelt.wording import plural

MOST_RATINGS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDesign:
    """One design of the grid."""

    systems: tuple[str, ...]
    intents: tuple[str, ...]
    clips: float
    """Stimuli per system and intent, on average."""
    stimuli: int
    ratings: int
    """Complete ratings wanted for each stimulus or set."""
    per_rater: int
    raters: int
    sets: int = 0
    """Sets that raters compare; 0 where stimuli are rated one by one."""
    own: bool = False
    """Whether it is the study's own."""

    @property
    def units(self) -> int:
        """What raters are given: stimuli or sets."""
        return self.sets or self.stimuli

    @property
    def wanted(self) -> int:
        """Ratings in all."""
        return self.units * self.ratings

    @property
    def words(self) -> str:
        material = f"{self.sets:,} sets" if self.sets else f"{self.stimuli:,} clips"
        return f"{self.raters:,} raters x {self.per_rater} trials, {material} x {self.ratings} ratings"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StimulusTable:
    """The stimuli of a design as numbers: the system and intent of each, and the cells a rater meets once."""

    system: Ints
    intent: Ints
    units: AssignedUnits
    first: Ints
    """For sets: the stimulus that is the first member, and the second."""
    second: Ints


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StudyContents:
    """What the study folder lists: names, the stimuli there are, and the design's rules."""

    systems: tuple[str, ...]
    intents: tuple[str, ...]
    system: Ints
    intent: Ints
    distinct: tuple[str, ...]
    per_rater: int | None
    ratings: int
    minimum: int
    pairs: int | None = None
    """Pairs each stimulus is in, for comparisons."""
    compares: bool = False
    sets: tuple[tuple[int, int], ...] = ()
    """The pairs of stimuli that the study's own sets compare, where their systems differ."""

    @property
    def cells(self) -> int:
        """Combinations of system and intent."""
        return len(self.systems) * len(self.intents)


def material_of(opened: OpenStudy) -> StudyContents:
    study, stimuli = opened.study, opened.stimuli

    def names(column: str, listed: Sequence[str]) -> list[str]:
        used = stimuli[column].drop_nulls().cast(pl.String).unique().to_list() if column in stimuli.columns else []
        # What the manifest does not use is not planned for; without a manifest, what the study lists is.
        return [name for name in listed if name in used or not used] or sorted(used) or [""]

    systems, intents = (
        names("system", [system.id for system in study.systems]),
        names("intent", [intent.id for intent in study.intents]),
    )

    def codes(column: str, listed: list[str]) -> Ints:
        if column not in stimuli.columns:
            return np.zeros(stimuli.height, np.int64)
        code_of = {name: number for number, name in enumerate(listed)}
        return np.array([code_of.get(str(name), 0) for name in stimuli[column].to_list()], np.int64)

    design, sets = study.design, study.sets
    return StudyContents(
        systems=tuple(systems),
        intents=tuple(intents),
        system=codes("system", systems),
        intent=codes("intent", intents),
        distinct=tuple(design.distinct),
        per_rater=design.stimuli_per_rater,
        ratings=design.ratings_per_item,
        minimum=design.minimum_ratings,
        pairs=None if sets is None else sets.per_stimulus,
        compares=sets is not None,
        sets=_own_sets(opened, codes("system", systems)),
    )


def _own_sets(opened: OpenStudy, system: Ints) -> tuple[tuple[int, int], ...]:
    row_of = {name: number for number, name in enumerate(opened.stimuli["stimulus"].to_list())}
    members = [
        [row_of[name] for name in stimulus_set.stimuli] for stimulus_set in (opened.sets.sets if opened.sets else ())
    ]
    return tuple((m[0], m[1]) for m in members if len(m) == 2 and system[m[0]] != system[m[1]])


def layout_of(material: StudyContents, design: PlannedDesign, seed: int = 0) -> StimulusTable:
    """The stimuli of a design, and for comparisons the pairs: every stimulus meets others of its intent in turn."""
    as_listed = design.stimuli == material.system.size and (design.own or design.sets == len(material.sets))
    if as_listed:
        system, intent = material.system, material.intent
    else:
        per_cell = max(1, round(design.clips))
        kinds = len(material.systems), len(material.intents)
        system = np.repeat(np.arange(kinds[0]), kinds[1] * per_cell)
        intent = np.tile(np.repeat(np.arange(kinds[1]), per_cell), kinds[0])
    count = system.size
    if not design.sets:
        columns = [{"system": system, "intent": intent, "prompt": np.arange(count)}[name] for name in material.distinct]
        cells: Sequence[int] = ()
        if columns:
            cells = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel().tolist()
        none = np.zeros(0, np.int64)
        return StimulusTable(system=system, intent=intent, units=AssignedUnits(cells, count), first=none, second=none)
    if as_listed and material.sets:
        first, second = np.array(material.sets, np.int64).T
    else:
        first, second = _pairs(system, intent, design.sets, seed)
    contestants = list(zip(system[first].tolist(), system[second].tolist(), strict=True))
    return StimulusTable(
        system=system, intent=intent, units=AssignedUnits((), first.size, contestants), first=first, second=second
    )


def _pairs(system: Ints, intent: Ints, wanted: int, seed: int) -> tuple[Ints, Ints]:
    """Pairs of stimuli of different systems that share the intent, spread evenly over the stimuli."""
    rng = np.random.default_rng(seed)
    every = []
    for name in np.unique(intent):
        members = np.flatnonzero(intent == name)
        a, b = np.triu_indices(members.size, 1)
        a, b = members[a], members[b]
        different = system[a] != system[b]
        every.append(np.column_stack([a[different], b[different]]))
    pairs = np.concatenate(every) if every else np.zeros((0, 2), np.int64)
    pairs = pairs[rng.permutation(len(pairs))]
    if wanted >= len(pairs):
        return pairs[:, 0], pairs[:, 1]
    used = np.zeros(system.size, np.int64)
    chosen: list[tuple[int, int]] = []
    for a, b in pairs.tolist():
        # At most the even share of pairs for each stimulus, rounded up.
        most = -(-2 * wanted // system.size)
        if used[a] < most and used[b] < most and len(chosen) < wanted:
            chosen.append((a, b))
            used[a] += 1
            used[b] += 1
    chosen_pairs = np.array(chosen, np.int64).reshape(-1, 2)
    return chosen_pairs[:, 0], chosen_pairs[:, 1]


def pairs_available(material: StudyContents, clips: float) -> int:
    """Pairs of stimuli of different systems within an intent."""
    systems, intents = len(material.systems), len(material.intents)
    return round(systems * (systems - 1) / 2 * clips * clips * intents)


def grid(material: StudyContents, options: PlanOptions, dropout: float) -> tuple[list[PlannedDesign], list[str]]:
    """The designs to simulate, the study's own first, and notes on what cannot be as asked."""
    notes: list[str] = []
    listed_clips = material.system.size / material.cells
    if not material.system.size and not options.clips:
        raise InputError(
            "The study lists no stimuli to plan with.",
            "Add them to its manifest, or say how many there will be of each system and intent: --clips 5.",
        )
    clips, ratings = _sizes_to_try(material, options)
    combinations = list(itertools.product(clips, ratings, options.per_rater or (0,), options.raters or (0,)))
    if listed_clips:
        combinations.insert(0, (listed_clips, material.ratings, 0, 0))
    designs: list[PlannedDesign] = []
    for sizes in combinations:
        candidate = design_of(material, *sizes, dropout, is_own=not designs and bool(listed_clips), notes=notes)
        if not any(replace(candidate, own=False) == replace(design, own=False) for design in designs):
            designs.append(candidate)
    return designs, list(dict.fromkeys([*notes, *_notes_on_sizes(material, designs, bool(options.clips))]))


def _notes_on_sizes(material: StudyContents, designs: Sequence[PlannedDesign], states_clips: bool) -> Iterator[str]:
    """Notes on the smallest and the largest design; ``states_clips``: whether numbers of clips were asked for."""
    fewest = min(design.ratings for design in designs)
    if fewest < material.minimum:
        yield f"With {fewest} ratings per clip no clip gets a label: the study's minimum_ratings is {material.minimum}."
    missing = max(design.clips for design in designs) - material.system.size / material.cells
    if missing > 0 and states_clips:
        yield (
            f"The largest design needs {plural(round(missing * material.cells), 'clip')} more than the study lists"
            f" ({material.system.size:,}): make them before collecting."
        )


def _sizes_to_try(material: StudyContents, options: PlanOptions) -> tuple[Sequence[float], Sequence[int]]:
    """Clips per cell and ratings per clip: those asked for, or some around the study's own."""
    listed_clips = material.system.size / material.cells
    if options.clips or options.ratings or options.raters or options.per_rater:
        ratings = options.ratings or ((0,) if options.raters else (material.ratings,))
        return options.clips or ([listed_clips] if listed_clips else []), ratings
    least = max(2, material.minimum)
    factors = (0.5, 2 / 3, 1, 1.5, 2, 3)
    ratings = tuple(dict.fromkeys(max(least, round(material.ratings * factor)) for factor in factors))
    return [listed_clips, math.ceil(1.5 * listed_clips), 2 * math.ceil(listed_clips)], ratings


def design_of(
    material: StudyContents,
    clips: float,
    ratings: int,
    per_rater: int,
    raters: int,
    dropout: float,
    *,
    is_own: bool,
    notes: list[str],
) -> PlannedDesign:
    """A design of so many clips per cell, ratings per clip, trials per rater and raters; 0 for what follows from the rest."""
    listed = is_own or clips == material.system.size / material.cells
    stimuli = material.system.size if listed else round(clips) * material.cells
    sets = _sets_of(material, clips, stimuli) if material.compares else 0
    units = sets or stimuli
    most = units if sets else min(units, _most_trials(material, stimuli))
    trials = per_rater or material.per_rater or most
    if trials > most:
        reason = "there are no more stimuli" if most == units else "the design lets nobody meet a cell twice"
        notes.append(f"A rater can get at most {most} trials: {reason}.")
        trials = most
    staying = 1 - dropout / 2
    quota = ratings or max(1, math.ceil(raters * trials * staying / units))
    people = raters or max(quota, math.ceil(units * quota / trials / staying))
    if people < quota:
        notes.append(f"{quota} ratings per clip need at least {quota} raters; {people} raters give {people} at most.")
        quota = people
    require(
        units * quota <= MOST_RATINGS,
        f"A design of {units * quota:,} ratings is too large to simulate.",
        f"Plan with at most {MOST_RATINGS:,} ratings.",
    )
    return PlannedDesign(
        systems=material.systems,
        intents=material.intents,
        clips=float(clips),
        stimuli=stimuli,
        ratings=quota,
        per_rater=trials,
        raters=people,
        sets=sets,
        own=is_own,
    )


def _sets_of(material: StudyContents, clips: float, stimuli: int) -> int:
    """How many pairs so many stimuli are compared in."""
    if material.sets:
        # As many pairs per stimulus as the study's own sets have.
        return max(1, round(len(material.sets) * stimuli / material.system.size))
    available = pairs_available(material, clips)
    sets = available if material.pairs is None else min(available, stimuli * material.pairs // 2)
    require(
        sets > 0,
        "The study compares stimuli, but no two stimuli of different systems share an intent.",
        "List at least two systems, each with a stimulus per intent.",
    )
    return sets


def _most_trials(material: StudyContents, stimuli: int) -> int:
    """The most trials of one rater, who may meet every combination of ``distinct`` once."""
    if not material.distinct:
        return stimuli
    sizes = {"system": len(material.systems), "intent": len(material.intents), "prompt": stimuli}
    return math.prod(sizes[name] for name in material.distinct)


def standardised(count: int, size: int, rng: np.random.Generator) -> Floats:
    """``count`` rows of effects of ``size`` levels with mean 0 and variance 1, whatever their arrangement."""
    if size < 2:
        return np.zeros((count, size))
    values = rng.standard_normal((count, size))
    values -= values.mean(axis=1, keepdims=True)
    return np.asarray(values / values.std(axis=1, ddof=1, keepdims=True))
