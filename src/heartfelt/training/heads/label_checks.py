"""Whether labels can be learned from, in words: what is refused, what is left out, and what is doubtful.

*Refused*: labels outside the question's scale. *Not trained*: a question with fewer than :data:`LEAST_STIMULI` labels, whose
labels differ by less than a thousandth of the scale, or with fewer than :data:`LEAST_OTHER` labels other than the most frequent
one; if no question is left, that is an error. *Said*: how many stimuli have no label, which copies of one file have labels more
than a quarter of the scale apart, and whose answers the labels are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.screening import Panel
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import published_parts
from heartfelt.study import Scale
from heartfelt.tables import LEDGER
from heartfelt.training.heads.fitting import Floats
from heartfelt.wording import listed, plural

LEAST_STIMULI = 20
LEAST_OTHER = 5
STAGE = "train"
TRAIN = "train"
"""The part of a published split that a model is fitted to."""
NO_LABELS = "no label"
LedgerRow: TypeAlias = tuple[str, None, str | None, str | None, str, str]
_FLAT = 1e-3
"""Labels that differ by less than this share of the scale are one label but for noise."""
_CONTRADICTION = 0.25
_LARGEST_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelColumn:
    """The labels of one question: numbers, or the codes of categories; NaN where there is none."""

    question: str
    label: Floats
    bounds: tuple[float, float] | None = None
    categories: Mapping[float, str] | None = None
    """The names of the categories by code; None for numbers."""

    @classmethod
    def of(cls, question: str, scale: Scale, label: Floats) -> LabelColumn:
        """The labels of a question on this scale."""
        if scale.level == "interval":
            return cls(question=question, label=label, bounds=scale.bounds())
        return cls(question=question, label=label, categories=scale.labels())

    @property
    def width(self) -> float:
        """From one end of the scale to the other; of a scale without ends, the size of the labels."""
        finite = self.label[np.isfinite(self.label)]
        return self.bounds[1] - self.bounds[0] if self.bounds else float(np.abs(finite).max(initial=1.0))

    def name(self, label: float) -> str:
        """A label as a person reads it."""
        return f"{label:g}" if self.categories is None else self.categories.get(label, f"{label:g}")

    def not_learnable(self, *, least: int = LEAST_STIMULI) -> str:
        """Why nothing can be learned from these labels; empty where something can."""
        finite = self.label[np.isfinite(self.label)]
        if finite.size < least:
            return f"{plural(finite.size, 'stimulus has', 'stimuli have')} a label, and {least} are needed"
        if not finite.size:
            return "no stimulus has a label"
        values, counts = np.unique(finite, return_counts=True)
        if values.size == 1:
            return f"every stimulus has the same label ({self.name(values[0])}): there is nothing to tell apart"
        if self.categories is None and values[-1] - values[0] < _FLAT * self.width:
            return f"all {finite.size:,} labels are {values.mean():.4g} but for less than a thousandth of the scale"
        if (differ := int(finite.size - counts.max())) < LEAST_OTHER and self.categories is None:
            most = self.name(values[counts.argmax()])
            return f"all but {differ} of {finite.size:,} labels are {most}, and {LEAST_OTHER} others are needed"
        return ""


def not_learnable(
    columns: Sequence[LabelColumn], *, least: int = LEAST_STIMULI, required: Collection[str] = ()
) -> dict[str, str]:
    """By question, why it is not trained; an error where that is so of every question, or of a required one."""
    pairs = [(column.question, column.not_learnable(least=least)) for column in columns]
    reasons = {question: reason for question, reason in pairs if reason}
    if (columns and len(reasons) == len(columns)) or not reasons.keys().isdisjoint(required):
        words = "; ".join(f"'{question}': {reason}" for question, reason in reasons.items())
        raise InputError(
            f"There is nothing to learn from these labels. {words}.",
            "Check which column holds the answers, collect ratings of more stimuli, or train on other questions.",
        )
    return reasons


def not_trained(reasons: Mapping[str, str]) -> tuple[list[str], list[LedgerRow]]:
    """Notes and rows of the ledger about questions that are not trained."""
    notes = [f"'{question}' is not trained: {reason}." for question, reason in reasons.items()]
    rows: list[LedgerRow] = [("question", None, None, question, reason, STAGE) for question, reason in reasons.items()]
    return notes, rows


def require_train_part(source: Snapshot) -> None:
    """Refuse a published split without a part to train on."""
    if TRAIN not in (names := published_parts(source.stimuli)):
        raise InputError(
            f"The published split of '{source.study.name}' has no part '{TRAIN}' (it has {', '.join(names)}).",
            "Train without --split published.",
        )


def require_enough(stimuli: int, reason: str) -> None:
    """Refuse too few stimuli with a label and a file; ``reason`` says why the first of the others cannot be used."""
    if stimuli < LEAST_STIMULI:
        first = f" The first reason: {reason}." if reason else ""
        raise InputError(
            f"{plural(stimuli, 'stimulus has', 'stimuli have')} both a label and a file that can be read;"
            f" {LEAST_STIMULI} are needed.{first}",
            f"Point to data whose media are available (see {as_option('media', 'FOLDER')}), or collect more ratings.",
        )


def ledger_of(rows: Sequence[LedgerRow]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(LEDGER.names, pl.String), orient="row")


def require_on_scale(column: LabelColumn, stimuli: Sequence[str]) -> None:
    """Raise where a label lies outside the question's scale, as a published mean may; single answers cannot."""
    if column.bounds is None or column.categories is not None:
        return
    low, high = column.bounds
    slack = _LARGEST_ROUNDING * column.width
    outside = np.flatnonzero((column.label < low - slack) | (column.label > high + slack))
    if outside.size:
        first = int(outside[0])
        raise InputError(
            f"{plural(outside.size, 'label')} of '{column.question}' lie{'s' if outside.size == 1 else ''} outside its scale"
            f" from {low:g} to {high:g}, such as {column.label[first]:g} for {stimuli[first]}.",
            "State the scale that raters used, or correct the labels.",
        )


def without_label(source: Snapshot, question: str, labelled: set[str]) -> tuple[list[str], list[LedgerRow]]:
    """A note and rows of the ledger about the stimuli that were asked about and have no label."""
    stimuli_asked = source.items.filter(pl.col("question") == question)["stimulus"].cast(pl.String)
    stimuli = set(source.without_probes.stimuli["stimulus"].cast(pl.String))
    missing = [name for name in stimuli_asked if name in stimuli and name not in labelled]
    if not missing:
        return [], []
    published = source.means.filter(pl.col("question") == question).height > 0
    reason = "its published mean is missing or not a number" if published else "too few usable answers"
    total = len(missing) + len(labelled)
    have = "has" if len(missing) == 1 else "have"
    were = "was" if len(missing) == 1 else "were"
    note = f"{len(missing):,} of {plural(total, 'stimulus', 'stimuli')} {have} no label for '{question}' and {were} left out."
    return [note], [("stimulus", None, name, question, f"{NO_LABELS}: {reason}", STAGE) for name in missing]


def contradictions(column: LabelColumn, contents: Sequence[str], stimuli: Sequence[str]) -> list[str]:
    """A note about copies of one file with labels that cannot all be right."""
    copies: dict[str, list[int]] = {}
    for at in np.flatnonzero(np.isfinite(column.label)).tolist():
        copies.setdefault(contents[at], []).append(at)
    pairs = []
    for indices in copies.values():
        least, most = (getter(indices, key=lambda at: column.label[at]) for getter in (min, max))
        gap = column.label[most] - column.label[least]
        if gap > (_CONTRADICTION * column.width if column.categories is None else 0):
            pairs.append((least, most))
    if not pairs:
        return []
    low, high = (f"{stimuli[at]} ({column.name(column.label[at])})" for at in pairs[0])
    return [
        f"{plural(len(pairs), 'file')} of several stimuli {'has' if len(pairs) == 1 else 'have'} contradictory labels for"
        f" '{column.question}', such as {low} and {high}. All are used, in one fold; correct the labels or remove a copy."
    ]


def label_words(source: Snapshot, panel: Panel, questions: Sequence[str]) -> str:
    """Whose answers the labels are, as the end of a sentence about the stimuli."""
    counts = panel.counts
    of_questions = pl.col("question").is_in(list(questions))
    if counts.raters:
        return (
            f"rated by {counts.retained:,} of {counts.raters:,} raters (policy `{panel.policy.name}`,"
            f" {counts.ratings_retained:,} of {counts.ratings:,} ratings)"
        )
    if counts.ratings:
        return f"labels are {counts.ratings:,} answers; the source does not say whose they are, or how many people answered"
    means = source.means.filter(of_questions)
    numbers = means.filter(pl.col("n") > 0)["n"] if "n" in means.columns else pl.Series([], dtype=pl.Int64)
    if not numbers.len():
        return "labels are published means; the number of raters is not stated"
    median = float(np.median(numbers.to_numpy()))
    return f"labels are published means of {median:g} answers (median); the number of raters is not stated"


def joined_words(words: Sequence[str], studies: Sequence[str]) -> str:
    """The words about several sources, each with its study's name; of one, as they are."""
    unique = list(dict.fromkeys(words))
    return (
        unique[0]
        if len(unique) == 1
        else listed([f"{study}: {word}" for study, word in zip(studies, words, strict=True)])
    )
