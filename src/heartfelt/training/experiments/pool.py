"""The stimuli of an experiment: one or more sources side by side, in one order, with labels on one scale.

*Parts.* Each source is a part of its own; ``by`` splits a single source by a column of its stimuli (its systems, say) instead.
*Questions.* Those that every source has; ``same`` says which questions of different names ask for the same.
*Scales.* Labels of a source whose scale has other ends than the first source's are mapped linearly onto the first's; correlations
do not depend on it. *Near-duplicates* are detected within each source as in training, and across sources by equal content, close
picture hashes, or embeddings that are close whichever source they are standardised by (standardised together, all stimuli of one of
two unlike sources would look alike).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.media.images.duplicates import Bits
from heartfelt.predictors.trained.embeddings import EMBEDDINGS
from heartfelt.scoring.grouping import connected, first_of_group, near_duplicates
from heartfelt.snapshot.stimulus_groups import FILE_NAME
from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.estimate import Estimate
from heartfelt.training.experiments.cells import LabelSet
from heartfelt.training.experiments.results import SourceFacts
from heartfelt.training.heads.evaluating import ceilings
from heartfelt.training.heads.fitting import Floats, Ints
from heartfelt.training.heads.material import TrainingStimuli, answers_of
from heartfelt.training.heads.targets import CategoryTarget, LabelTarget
from heartfelt.training.media import texts_of
from heartfelt.wording import listed

LEAST_STIMULI = 20
"""Stimuli a part must have."""
LEAST_CLUSTERS = 10
"""Cells of system and intent that a part must have to be resampled by cell."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StimulusPool:
    """All stimuli, with what decides which of them may be trained on."""

    materials: tuple[TrainingStimuli, ...]
    """As gathered, in order: their stimuli one after the other are the rows."""
    parts: tuple[str, ...]
    part: Ints
    """The part of each row; -1 for a row that belongs to none."""
    groups: Ints
    """Rows of one number stay in one fold."""
    alike: Ints
    """Rows of one number are near-duplicates."""
    clusters: npt.NDArray[np.str_]
    """What intervals resample: cells of system and intent, else groups."""
    questions: tuple[str, ...]
    targets: Mapping[str, tuple[LabelTarget, ...]]
    """By question, the target in each material, labels on the first's scale."""
    truth: Mapping[str, Floats]
    """What predictions are scored against; NaN where there is no label."""
    ceilings: Mapping[tuple[str, str], Estimate]
    """By part and question."""
    facts: tuple[SourceFacts, ...]
    raters: str
    notes: tuple[str, ...] = ()
    stimuli: tuple[str, ...] = field(default=(), kw_only=True)

    def rows(self, part: str) -> Ints:
        return np.flatnonzero(self.part == self.parts.index(part))

    def labelled(self, at: Ints) -> Ints:
        """Those rows that have a label under some question."""
        labelled = np.zeros(len(self.stimuli), np.bool_)
        for question in self.questions:
            labelled |= np.isfinite(self.labels.label(question))
        return at[labelled[at]]

    def codes(self, question: str) -> tuple[float, ...]:
        """The codes of a question's categories; empty for numbers."""
        first = self.targets[question][0]
        return first.codes if isinstance(first, CategoryTarget) else ()

    def metric(self, question: str) -> str:
        """What predictions are compared by: the correlation of numbers, the share of categories that are right."""
        return "accuracy" if self.codes(question) else "pearson"

    @property
    def labels(self) -> LabelSet:
        """The labels of all ratings that are used."""
        return LabelSet(self.targets)

    def name_of(self, row: int) -> str:
        """A row as part and stimulus."""
        part_number = int(self.part[row])
        return f"{self.parts[part_number]}: {self.stimuli[row]}" if part_number >= 0 else self.stimuli[row]


def pool_of(
    named: Sequence[tuple[str, TrainingStimuli]],
    *,
    by: str = "",
    same: Mapping[str, str] | None = None,
    questions: Sequence[str] = (),
    raters: str = "screened",
) -> StimulusPool:
    """The stimuli of the sources as one pool."""
    names, materials = [name for name, _ in named], [material for _, material in named]
    common = _common_questions(names, materials, same or {}, questions)
    targets, notes = _on_one_scale(names, materials, common)
    parts, part, material_of_part = _parts(names, materials, by)
    common, unlearnable = _learnable(material_of_part, common, by)
    source_groups, alike = _groups_of_sources(materials), _alike(materials)
    ties = [*enumerate(first_of_group(source_groups).tolist()), *enumerate(alike.tolist()), *_same_names(materials)]
    return StimulusPool(
        materials=tuple(materials),
        parts=tuple(parts),
        part=part,
        groups=connected(source_groups.size, ties),
        alike=alike,
        clusters=_clusters(names, materials, source_groups, part),
        questions=tuple(common),
        targets={question: targets[question] for question in common},
        truth={name: np.concatenate([target.truth(raters) for target in targets[name]]) for name in common},
        ceilings={
            (name, question): _ceiling(material, targets[question][0 if by else at], raters)
            for at, (name, material) in enumerate(material_of_part.items())
            for question in common
        },
        facts=tuple(_facts(name, material) for name, material in material_of_part.items()),
        raters=raters,
        notes=(*notes, *_notes_of_sources(named), *unlearnable, *_notes_on_folds(named)),
        stimuli=tuple(chain.from_iterable(material.stimuli for material in materials)),
    )


def _parts(
    names: Sequence[str], materials: Sequence[TrainingStimuli], by: str
) -> tuple[list[str], Ints, dict[str, TrainingStimuli]]:
    """The parts by name, the part of each row, and the stimuli of each part: sources, or a column's values in the only one."""
    if not by:
        rows = np.repeat(np.arange(len(materials)), [len(material.stimuli) for material in materials]).astype(np.int64)
        _check_sizes(names, rows, by)
        return list(names), rows, dict(zip(names, materials, strict=True))
    values = _column(names[0], materials[0], by)
    parts = sorted({value for value in values if value is not None})
    part = np.array([-1 if value is None else parts.index(value) for value in values], np.int64)
    _check_sizes(parts, part, by)
    split = replace(materials[0], split=values)
    return parts, part, {name: split.part(name) for name in parts}


def _groups_of_sources(materials: Sequence[TrainingStimuli]) -> Ints:
    """A number for each row, the same within a source's group."""
    offsets = np.cumsum([0, *(len(material.stimuli) for material in materials)])
    return np.concatenate([material.grouping.groups + offsets[at] for at, material in enumerate(materials)])


def _notes_of_sources(named: Sequence[tuple[str, TrainingStimuli]]) -> list[str]:
    return [f"{name}: {note}" for name, material in named for note in material.notes]


def _notes_on_folds(named: Sequence[tuple[str, TrainingStimuli]]) -> list[str]:
    return [
        f"Every group of '{name}' has one stimulus: its folds are by stimulus."
        for name, material in named
        if material.grouping.by and material.grouping.count == len(material.stimuli)
    ]


def _common_questions(
    names: Sequence[str], materials: Sequence[TrainingStimuli], same: Mapping[str, str], wanted: Sequence[str]
) -> dict[str, list[str]]:
    """The questions all sources have, each with its own name in every source."""
    question_ids = [[target.question for target in material.targets] for material in materials]
    for name in same:
        if name not in (every := set(chain.from_iterable(question_ids))):
            raise InputError(f"No source has a question '{name}'.", suggestion(name, every, "Questions"))
    by_source = [{same.get(name, name): name for name in source_questions} for source_questions in question_ids]
    common = [name for name in by_source[0] if all(name in source_questions for source_questions in by_source)]
    if not common:
        raise _nothing_in_common(names, materials, by_source)
    for name in wanted:
        if name not in common:
            raise InputError(f"The sources do not share a question '{name}'.", suggestion(name, common, "Questions"))
    chosen = [name for name in common if name in wanted] if wanted else common
    return {name: [source_questions[name] for source_questions in by_source] for name in chosen}


def _nothing_in_common(
    names: Sequence[str], materials: Sequence[TrainingStimuli], by_source: Sequence[Mapping[str, str]]
) -> InputError:
    have = "; ".join(f"{name} has {listed(list(questions))}" for name, questions in zip(names, by_source, strict=True))
    refused = "".join(f" In {name}, {note}" for name, m in zip(names, materials, strict=True) for note in m.notes)
    return InputError(
        f"The sources have no question in common: {have}.{refused}",
        "Say which ask for the same, such as --same appeal=valence, or choose sources that ask the same.",
    )


def _on_one_scale(
    names: Sequence[str], materials: Sequence[TrainingStimuli], questions: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[LabelTarget, ...]], list[str]]:
    """Every question's targets, labels mapped onto the scale of the first source; and notes on what was mapped."""
    out: dict[str, tuple[LabelTarget, ...]] = {}
    notes = []
    for question, source_names in questions.items():
        targets = [material.target(name) for material, name in zip(materials, source_names, strict=True)]
        _check_categories(question, names, targets)
        first, ends = targets[0], targets[0].bounds
        for at, target in enumerate(targets):
            if isinstance(first, CategoryTarget) or target.bounds == ends:
                continue
            if ends is None or target.bounds is None:
                raise InputError(
                    f"'{question}' is on a scale without ends in '{names[at]}' or '{names[0]}', so its answers cannot be"
                    " put on one.",
                    "Give both questions a scale with a lowest and a highest value.",
                )
            targets[at] = _mapped(target, target.bounds, ends, first)
            words = [" to ".join(f"{end:g}" for end in bounds) for bounds in (target.bounds, ends)]
            notes.append(f"Labels of '{question}' in '{names[at]}' ({words[0]}) were mapped linearly onto {words[1]}.")
        out[question] = tuple(targets)
    return out, notes


def _check_categories(question: str, names: Sequence[str], targets: Sequence[LabelTarget]) -> None:
    labels_by_source = [target.scale.labels() if isinstance(target, CategoryTarget) else {} for target in targets]
    for name, labels in zip(names[1:], labels_by_source[1:], strict=True):
        if labels != labels_by_source[0]:
            first, second = (
                listed([str(word) for word in source_labels.values()]) if source_labels else "numbers"
                for source_labels in (labels_by_source[0], labels)
            )
            raise InputError(
                f"'{question}' is answered with {first} in '{names[0]}' and with {second} in '{name}'.",
                "Compare sources that offer the same categories in the same order.",
            )


def _mapped(target: LabelTarget, old: tuple[float, float], new: tuple[float, float], onto: LabelTarget) -> LabelTarget:
    factor = (new[1] - new[0]) / (old[1] - old[0])
    columns = {name: new[0] + factor * (getattr(target, name) - old[0]) for name in ("label", "screened", "everyone")}
    answers = target.answers
    if answers is not None:
        answers = replace(answers, value=new[0] + factor * (answers.value - old[0]))
    return replace(target, scale=onto.scale, spread=target.spread * factor, answers=answers, **columns)


def _column(name: str, material: TrainingStimuli, column: str) -> tuple[str | None, ...]:
    """A column of the stimuli that are used, in their order."""
    order = pl.DataFrame({"stimulus": list(material.stimuli)})
    facts = order.join(material.snapshot.stimuli, on="stimulus", how="left", maintain_order="left")
    if column not in facts.columns:
        raise InputError(
            f"The stimuli of '{name}' have no column '{column}' to split by.",
            suggestion(column, facts.columns, "They have"),
        )
    return texts_of(facts, column)


def _learnable(
    split: Mapping[str, TrainingStimuli], questions: dict[str, list[str]], by: str
) -> tuple[dict[str, list[str]], list[str]]:
    """The questions that can be learned in every part, and notes about the others; an error where none is left."""
    learnable, notes = dict(questions), []
    for at, (part, material) in enumerate(split.items()):
        for question, names in questions.items():
            if reason := material.target(names[0 if by else at]).column.not_learnable():
                learnable.pop(question, None)
                notes.append(f"'{question}' is left out: in {part}, {reason}.")
    if not learnable:
        raise InputError(
            f"There is nothing to learn from these labels. {' '.join(notes)}",
            "Choose a column with fewer values to split by."
            if by
            else "Leave out these sources, or collect more ratings.",
        )
    return learnable, notes


def _check_sizes(parts: Sequence[str], part: Ints, by: str) -> None:
    counts = {name: int((part == at).sum()) for at, name in enumerate(parts)}
    small = [f"{name} ({count})" for name, count in counts.items() if count < LEAST_STIMULI]
    if small:
        raise InputError(
            f"A part needs {LEAST_STIMULI} stimuli with labels and media; too few have {listed(small)}.",
            f"Choose a column with fewer values than '{by}'." if by else "Collect more ratings.",
        )


def _clusters(
    names: Sequence[str], materials: Sequence[TrainingStimuli], groups: Ints, part: Ints
) -> npt.NDArray[np.str_]:
    """What is resampled: cells of system and intent where every part has enough of them, else groups."""
    cells = _units(names, materials, groups, by_cell=True)
    counts = [np.unique(cells[part == at]).size for at in np.unique(part[part >= 0])]
    return cells if min(counts) >= LEAST_CLUSTERS else _units(names, materials, groups, by_cell=False)


def _units(
    names: Sequence[str], materials: Sequence[TrainingStimuli], groups: Ints, *, by_cell: bool
) -> npt.NDArray[np.str_]:
    out: list[str] = []
    for name, material in zip(names, materials, strict=True):
        cells = material.cells if by_cell else None
        start = len(out)
        values = cells if cells is not None else [str(group) for group in groups[start : start + len(material.stimuli)]]
        out += [f"{name}\x1f{value}" for value in values]
    return np.array(out)


def _ceiling(material: TrainingStimuli, target: LabelTarget, raters: str) -> Estimate:
    """The ceiling of a part's labels; the target may be longer than the part, so that the part's own is used."""
    source_target = material.target(target.question)
    if isinstance(source_target, CategoryTarget):
        scored = [
            name for name, has in zip(material.stimuli, np.isfinite(source_target.truth(raters)), strict=True) if has
        ]
        votes = answers_of(material, raters, source_target.question).filter(pl.col("stimulus").is_in(scored))
        if not votes.height:
            return Estimate.missing("nobody knows whose the answers are", "ceiling of accuracy")
        return ceiling(votes["rater"], votes["stimulus"], votes["value"], metric="accuracy", seed=material.seed).overall
    return ceilings(material, source_target, raters)["overall"]


def _facts(name: str, material: TrainingStimuli) -> SourceFacts:
    counts = material.panel.counts
    return SourceFacts(
        name=name,
        stimuli=len(material.stimuli),
        groups=material.grouping.count,
        raters=counts.raters,
        raters_used=counts.retained,
        ratings=counts.ratings_retained,
        snapshot=material.snapshot.hash,
        folds=material.grouping.words,
    )


def _alike(materials: Sequence[TrainingStimuli]) -> Ints:
    """A number for each row, the same for near-duplicates, within sources and across them."""
    offset, ties, offsets = 0, [], []
    for material in materials:
        name = material.recipe.embedding
        rows = material.features[name] if name else np.empty((len(material.stimuli), 0), np.float32)
        copies = near_duplicates(material.hashes, rows, _near_duplicate(name), material.fingerprints)
        ties += [(offset + at, offset + int(copy_of)) for at, copy_of in enumerate(copies)]
        offsets.append(offset)
        offset += len(material.stimuli)
    if len(materials) > 1:
        # Content and fingerprints are compared over all sources; embeddings two sources at a time, each by its own spread.
        fingerprints: list[Bits | None] = []
        for material in materials:
            fingerprints += material.fingerprints or (None,) * len(material.stimuli)
        contents = [content for material in materials for content in material.hashes]
        ties += list(
            enumerate(near_duplicates(contents, np.empty((offset, 0), np.float32), None, fingerprints).tolist())
        )
    for (first, start), (second, second_start) in combinations(zip(materials, offsets, strict=True), 2):
        ties += [(start + a, second_start + b) for a, b in _close_across(first, second)]
    return connected(offset, ties)


def _near_duplicate(embedding: str) -> float | None:
    """The cosine of near-duplicates in an embedding; None for no embedding, or one that does not tell them."""
    return EMBEDDINGS[embedding].near_duplicate if embedding else None


def _same_names(materials: Sequence[TrainingStimuli]) -> list[tuple[int, int]]:
    """Rows of several sources whose group has the same name in the same column, such as a prompt that two studies used.

    Bare numbers and file names name nothing beyond their own source.
    """
    named = [
        (material.grouping.by, name.strip().casefold())
        for material in materials
        for name in material.grouping.names or [""] * len(material.stimuli)
    ]
    first: dict[tuple[str, str], int] = {}
    return [
        (first.setdefault(group, at), at)
        for at, group in enumerate(named)
        if group[0] != FILE_NAME and any(letter.isalpha() for letter in group[1])
    ]


def _close_across(first: TrainingStimuli, second: TrainingStimuli) -> list[tuple[int, int]]:
    name = first.recipe.embedding
    limit = _near_duplicate(name)
    if limit is None or name != second.recipe.embedding:
        return []
    rows = [material.features[name].astype(np.float64) for material in (first, second)]
    close = np.ones((len(rows[0]), len(rows[1])), bool)
    for by in rows:
        mean, spread = by.mean(axis=0), by.std(axis=0)
        scaled = [(side - mean) / np.where(spread > 1e-9, spread, 1.0) for side in rows]
        length = [np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-9) for side in scaled]
        close &= (scaled[0] / length[0]) @ (scaled[1] / length[1]).T >= limit
    return [(int(a), int(b)) for a, b in zip(*np.nonzero(close), strict=True)]
