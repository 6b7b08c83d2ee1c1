"""What is written as one emolia-bench subset: which questions, under which keys, with which prior.

Data read as ``emolia-emo`` or ``emolia-dim`` keep their subset's name. Of any other study, questions on an ordered scale
of three categories are written in the form of emo and yes-no questions in the form of dim, under the study's name. A key
comes from the items, else from what the question says about itself; where neither has it, the question's id stands in
for the emotion or the dimension and the other keys are empty. The prior is what the item was chosen to show:
``intended_present`` or ``intended`` among the items, else an affirmative task type or a positive polarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from heartfelt.datasets.emolia.formats import AFFIRMATIVE, DIM, EMO
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.study.scale import Ordered, Scale, YesNo


@dataclass(frozen=True, slots=True)
class EmoliaOptions:
    """``raters`` is how many make an item complete.

    ``ties``: ``honest`` gives tied items a bucket of their own and leaves them out of rates; ``published`` gives them to
    the smaller label in the majority buckets and rates, and lets one vote each contradict itself, as emolia-bench does.
    """

    raters: int = 3
    ties: Literal["honest", "published"] = "honest"

    def __post_init__(self) -> None:
        if self.raters < 2:
            raise InputError(
                f"{self.raters} raters cannot agree.", "Ask for two or more; emolia-bench has three."
            )
        if self.ties not in ("honest", "published"):
            raise InputError(
                f"There is no way to treat ties called '{self.ties}'.", "Use 'honest' or 'published'."
            )

    @property
    def honest(self) -> bool:
        """Whether ties stay ties."""
        return self.ties == "honest"


@dataclass(frozen=True, slots=True)
class Form:
    """How a subset's files look."""

    kind: Literal["emo", "dim"]
    keys: tuple[str, ...]
    low: str
    high: str
    columns: tuple[str, ...]


_TIMES = ("usernames", "reaction_time_ms_mean", "reaction_time_ms_median", "sample_time_ms_mean")
_PRESENT = ("majority_present", "majority_present_votes", "majority_present_tie")
EMO_FORM = Form(
    "emo", EMO.keys, "absent", "present",
    (
        "file_name", *EMO.keys, "source_emotion", *_TIMES,
        "majority_rating_int", "majority_rating_votes", "majority_rating_tie", *_PRESENT,
        "strongly_present_votes", "weakly_present_votes", "not_present_votes", "majority_rating",
        "all_agree_binary", "all_agree_ordinal", "intended_present", "matches_intended_label",
        "benchmark_bucket", "n_raters",
    ),
)  # fmt: skip
DIM_FORM = Form(
    "dim", DIM.keys, "no", "yes",
    (
        "file_name", *DIM.keys, *_TIMES, *_PRESENT, "yes_votes", "no_votes", "all_agree_binary",
        "matches_intended_polarity", "benchmark_bucket", "n_raters", "flagged",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subset:
    """Questions that are written together: their folder's name, form, ids and scale."""

    name: str
    form: Form
    questions: tuple[str, ...]
    scale: Scale

    @property
    def codes(self) -> list[float]:
        """The codes of the answers, lowest first."""
        return sorted(self.scale.labels())

    @property
    def words(self) -> list[str]:
        """The answers in words, lowest first."""
        return [self.scale.labels()[code] for code in self.codes]


def subsets_of(snapshot: Snapshot) -> list[Subset]:
    """The subsets a snapshot holds: one, or two where a study asks both kinds of question."""
    study = snapshot.study
    emo = [q.id for q in study.asked if _three_levels(study.scale_of(q.id))]
    dim = [q.id for q in study.asked if isinstance(study.scale_of(q.id), YesNo)]
    forms = [(form, names) for form, names in ((EMO_FORM, emo), (DIM_FORM, dim)) if names]
    if not forms:
        raise InputError(
            f"'{study.name}' asks nothing that emolia-bench's files can hold.",
            "They hold questions on a yes-no scale, or on an ordered scale of three categories (not, weakly, strongly); "
            "leave out --as emolia for other studies.",
        )
    known = {EMO.name: EMO_FORM, DIM.name: DIM_FORM}.get(snapshot.source.format)
    out = []
    for form, names in forms:
        scales = {study.question(name).scale for name in names}
        if len({tuple(sorted(study.scales[scale].labels().items())) for scale in scales}) > 1:
            raise InputError(
                f"The questions of '{study.name}' use different categories: {', '.join(sorted(scales))}.",
                "emolia-bench's files hold one set of categories; split the study, or use one scale.",
            )
        single = study.name if len(forms) == 1 else f"{study.name}-{form.kind}"
        title = snapshot.source.format if known is form else single
        out.append(Subset(title, form, tuple(names), study.scale_of(names[0])))
    return out


def _three_levels(scale: Scale) -> bool:
    return isinstance(scale, Ordered) and len(scale.categories) == 3


def items_of(snapshot: Snapshot, subset: Subset) -> pl.DataFrame:
    """``stimulus, question, file_name``, the keys, ``source_emotion``, ``intended`` and ``flagged`` of every item."""
    form = subset.form
    items = snapshot.items.filter(pl.col("question").is_in(subset.questions))
    about = {name: snapshot.study.question(name).about for name in subset.questions}
    exprs = []
    for place, key in enumerate(form.keys):
        named = {name: facts.get(key, name if place == 0 else None) for name, facts in about.items()}
        fallback = pl.col("question").replace_strict(named, default=None, return_dtype=pl.String)
        here = key in items.columns
        exprs.append((pl.coalesce(pl.col(key).cast(pl.String), fallback) if here else fallback).alias(key))
    items = items.with_columns(exprs)
    stimuli = snapshot.stimuli
    source = pl.col("intent") if "intent" in stimuli.columns else pl.lit(None, dtype=pl.String)
    names = stimuli.select(
        "stimulus",
        pl.col("file_name" if "file_name" in stimuli.columns else "stimulus").alias("file_name"),
        source.alias("_intent"),
    )
    items = items.drop("file_name", strict=False).join(
        names, on="stimulus", how="left", maintain_order="left"
    )
    origin = pl.col("source_emotion") if "source_emotion" in items.columns else pl.col("_intent")
    flagged = pl.col("flagged").fill_null(False) if "flagged" in items.columns else pl.lit(False)
    return items.select(
        "stimulus",
        "question",
        "file_name",
        *form.keys,
        origin.alias("source_emotion"),
        _intended(items, subset).alias("intended"),
        flagged.alias("flagged"),
        *(["flags"] if "flags" in items.columns else []),
    ).sort(*form.keys, "file_name", "stimulus")


def _intended(items: pl.DataFrame, subset: Subset) -> pl.Expr:
    """Whether the item was chosen as one where the answer is above the lowest category; empty where nobody said."""
    if "intended_present" in items.columns:
        return pl.col("intended_present").cast(pl.Boolean)
    if "intended" in items.columns:
        high = {word: at > 0 for at, word in enumerate(subset.words)}
        return pl.col("intended").cast(pl.String).replace_strict(high, default=None, return_dtype=pl.Boolean)
    key, word = ("task_type", AFFIRMATIVE) if subset.form.kind == "emo" else ("polarity", "positive")
    return pl.col(key) == word
