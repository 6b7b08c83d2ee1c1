"""What emolia-bench's files are made of: a subset's questions under their keys, every item with its prior and its votes.

Data read as ``emolia-emo`` or ``emolia-dim`` keep their subset's name. Of any other study, questions on an ordered scale
of three categories are written in the form of emo and yes-no questions in the form of dim, under the study's name. A key
comes from the items, else from what the question says about itself; where neither has it, the question's id stands in
for the emotion or the dimension and the other keys are empty. The prior is what the item was chosen to show:
``intended_present`` or ``intended`` among the items, else an affirmative task type or a positive polarity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from heartfelt.datasets.emolia.reader import AFFIRMATIVE, DIM, EMO
from heartfelt.datasets.emolia.tables import ITEM, file_names
from heartfelt.errors import InputError
from heartfelt.labels import first_answers
from heartfelt.labels.vote_buckets import buckets, forced
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Ordered, YesNo


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
            raise InputError(f"{self.raters} raters cannot agree.", "Ask for two or more; emolia-bench has three.")
        if self.ties not in ("honest", "published"):
            raise InputError(f"Unknown way to treat ties: '{self.ties}'.", "Use 'honest' or 'published'.")

    @property
    def honest(self) -> bool:
        return self.ties == "honest"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """How a subset's files look."""

    kind: Literal["emo", "dim"]
    keys: tuple[str, ...]
    votes: tuple[str, ...]
    """The columns of votes, lowest answer first."""
    chosen_by: tuple[str, str]
    """The key and its word that mark an item chosen to show what is asked about."""
    columns: tuple[str, ...]
    """The columns of ``benchmark_labels.csv``."""


_TIMES = ("usernames", "reaction_time_ms_mean", "reaction_time_ms_median", "sample_time_ms_mean")
_PRESENT = ("majority_present", "majority_present_votes", "majority_present_tie")
_EMO_VOTES, _DIM_VOTES = tuple(f"{word}_votes" for word in EMO.answers), ("no_votes", "yes_votes")
EMO_FORM = FileLayout(
    kind="emo", keys=EMO.keys, votes=_EMO_VOTES, chosen_by=("task_type", AFFIRMATIVE),
    columns=(
        "file_name", *EMO.keys, "source_emotion", *_TIMES,
        "majority_rating_int", "majority_rating_votes", "majority_rating_tie", *_PRESENT, *reversed(_EMO_VOTES),
        "majority_rating", "all_agree_binary", "all_agree_ordinal", "intended_present", "matches_intended_label",
        "benchmark_bucket", "n_raters",
    ),
)  # fmt: skip
DIM_FORM = FileLayout(
    kind="dim", keys=DIM.keys, votes=_DIM_VOTES, chosen_by=("polarity", "positive"),
    columns=(
        "file_name", *DIM.keys, *_TIMES, *_PRESENT, *reversed(_DIM_VOTES), "all_agree_binary",
        "matches_intended_polarity", "benchmark_bucket", "n_raters", "flagged",
    ),
)  # fmt: skip


_FORMS = (EMO_FORM, DIM_FORM)


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions that are written together: their folder's name, form, ids and scale."""

    name: str
    form: FileLayout
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


def subsets_of(snapshot: Snapshot) -> list[QuestionGroup]:
    """The subsets a snapshot holds: one, or two where a study asks both kinds of question."""
    study = snapshot.study
    names_of: defaultdict[str | None, list[str]] = defaultdict(list)
    for question in study.asked:
        names_of[_kind_of(study.scale_of(question.id))].append(question.id)
    forms = [form for form in _FORMS if names_of[form.kind]]
    if not forms:
        raise InputError(
            f"'{study.name}' asks nothing that emolia-bench's files can hold.",
            "They hold questions on a yes-no scale, or on an ordered scale of three categories (not, weakly, strongly); "
            "leave out --as emolia for other studies.",
        )
    source_form = {EMO.name: EMO_FORM, DIM.name: DIM_FORM}.get(snapshot.source.format)
    out = []
    for form in forms:
        names = tuple(names_of[form.kind])
        _require_one_scale(study, names)
        single = study.name if len(forms) == 1 else f"{study.name}-{form.kind}"
        title = snapshot.source.format if source_form is form else single
        out.append(QuestionGroup(title, form, names, study.scale_of(names[0])))
    return out


def _kind_of(scale: Scale) -> str | None:
    """The form that holds answers on a scale; None where none does."""
    if isinstance(scale, YesNo):
        return "dim"
    return "emo" if isinstance(scale, Ordered) and len(scale.categories) == 3 else None


def _require_one_scale(study: Study, questions: Iterable[str]) -> None:
    scales = {study.question(name).scale for name in questions}
    if len({tuple(sorted(study.scales[scale].labels().items())) for scale in scales}) > 1:
        raise InputError(
            f"The questions of '{study.name}' use different categories: {', '.join(sorted(scales))}.",
            "emolia-bench's files hold one set of categories; split the study, or use one scale.",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class EmoliaContents:
    """All that a subset's files are made of.

    ``items`` has every item, rated or not; ``labels`` every rated one with typed columns, among them ``_majority`` (empty
    when tied, unless ties are treated as published), ``_matches`` and ``_unanimous`` of the slices; ``item`` numbers the
    rows, and ``answers`` use the same numbers.
    """

    snapshot: Snapshot
    subset: QuestionGroup
    options: EmoliaOptions
    items: pl.DataFrame
    answers: pl.DataFrame
    labels: pl.DataFrame

    @cached_property
    def observed(self) -> pl.DataFrame:
        """How many rated each item, and who; items nobody rated included."""
        keys = ["file_name", *self.subset.form.keys]
        rated = self.labels.select(*keys, pl.col("n").alias("ratings_observed"), "usernames")
        unrated = self.items.join(self.labels, on=ITEM, how="anti", maintain_order="left").select(
            *keys, ratings_observed=pl.lit(0, pl.Int64), usernames=pl.lit(None, pl.String)
        )
        return pl.concat([rated, unrated]).sort("ratings_observed", *keys)

    @property
    def incomplete(self) -> pl.DataFrame:
        return self.observed.filter(pl.col("ratings_observed") < self.options.raters)

    @property
    def more_raters(self) -> pl.DataFrame:
        return self.observed.filter(pl.col("ratings_observed") > self.options.raters)

    @cached_property
    def prior(self) -> dict[int, bool]:
        """What rated items were chosen to show, by the item's number."""
        return dict(self.labels.drop_nulls("intended").select("item", "intended").iter_rows())


def gather(snapshot: Snapshot, subset: QuestionGroup, options: EmoliaOptions) -> EmoliaContents:
    """Count a subset's votes and bring them into its columns."""
    answers = first_answers(snapshot).filter(pl.col("question").is_in(subset.questions))
    items = _items(snapshot, subset)
    labels = items.join(_counted(snapshot, subset, options, answers), on=ITEM, maintain_order="left")
    labels = _labels(labels, subset, options).with_row_index("item").with_columns(pl.col("item").cast(pl.Int64))
    numbered = answers.join(labels.select(*ITEM, "item"), on=ITEM, how="inner", maintain_order="left")
    return EmoliaContents(
        snapshot=snapshot, subset=subset, options=options, items=items, answers=numbered, labels=labels
    )


def _items(snapshot: Snapshot, subset: QuestionGroup) -> pl.DataFrame:
    """``stimulus, question, file_name``, the keys, ``source_emotion``, ``intended`` and ``flagged`` of every item."""
    keys = subset.form.keys
    items = _with_keys(snapshot.items.filter(pl.col("question").is_in(subset.questions)), snapshot, subset)
    items = items.drop("file_name", strict=False).join(
        file_names(snapshot.stimuli), on="stimulus", how="left", maintain_order="left"
    )
    has = items.columns
    return items.select(
        *ITEM,
        "file_name",
        *keys,
        pl.col("source_emotion" if "source_emotion" in has else "_intent").alias("source_emotion"),
        _intended(has, subset).alias("intended"),
        (pl.col("flagged").fill_null(False) if "flagged" in has else pl.lit(False)).alias("flagged"),
        *(["flags"] if "flags" in has else []),
    ).sort(*keys, "file_name", "stimulus")


def _with_keys(items: pl.DataFrame, snapshot: Snapshot, subset: QuestionGroup) -> pl.DataFrame:
    """The items with their keys: their own columns, else what their question is about, else its id for the first key."""
    about = {name: snapshot.study.question(name).about for name in subset.questions}
    for index, key in enumerate(subset.form.keys):
        named = {name: facts.get(key, name if index == 0 else None) for name, facts in about.items()}
        value = pl.col("question").replace_strict(named, default=None, return_dtype=pl.String)
        if key in items.columns:
            value = pl.coalesce(pl.col(key).cast(pl.String), value)
        items = items.with_columns(value.alias(key))
    return items


def _intended(columns: Sequence[str], subset: QuestionGroup) -> pl.Expr:
    """Whether an item was chosen to show what is asked about."""
    if "intended_present" in columns:
        return pl.col("intended_present").cast(pl.Boolean)
    if "intended" in columns:
        high = {word: at > 0 for at, word in enumerate(subset.words)}
        return pl.col("intended").cast(pl.String).replace_strict(high, default=None, return_dtype=pl.Boolean)
    key, word = subset.form.chosen_by
    return pl.col(key) == word


def _counted(snapshot: Snapshot, subset: QuestionGroup, options: EmoliaOptions, answers: pl.DataFrame) -> pl.DataFrame:
    """Votes, sides and buckets of every rated item, who rated it, and how long it took them."""
    counted = buckets(snapshot, answers=answers)
    votes = counted.votes.group_by(ITEM).agg(
        pl.col("votes").filter(pl.col("value") == code).sum().alias(name)
        for code, name in zip(subset.codes, subset.form.votes, strict=True)
    )
    ratings = snapshot.ratings
    if "repeat" in ratings.columns:
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    rated = answers.select(ITEM).unique()
    ratings = ratings.filter(pl.col("value").is_finite()).join(rated, on=ITEM, how="semi", maintain_order="left")
    again = pl.col("rater").is_not_null() & ~pl.struct("rater", *ITEM).is_first_distinct()
    ratings = ratings.filter(~again)
    nothing = pl.lit(None, pl.Float64)
    reaction, sample = (
        pl.col(name).cast(pl.Float64, strict=False) if name in ratings.columns else fallback
        for name, fallback in (
            ("reaction_time_ms", pl.col("seconds") * 1000 if "seconds" in ratings.columns else nothing),
            ("sample_time_ms", nothing),
        )
    )
    people = (
        ratings.with_columns(_reaction=reaction, _sample=sample)
        .group_by(ITEM)
        .agg(
            pl.col("rater").drop_nulls().sort().str.join("|").alias("usernames"),
            pl.mean("_reaction").alias("reaction_time_ms_mean"),
            pl.median("_reaction").alias("reaction_time_ms_median"),
            pl.mean("_sample").alias("sample_time_ms_mean"),
        )
    )
    table = forced(counted.table, snapshot.study, contradict=not options.honest)
    return table.join(people, on=ITEM, how="left", maintain_order="left").join(
        votes, on=ITEM, how="left", maintain_order="left"
    )


def _labels(table: pl.DataFrame, subset: QuestionGroup, options: EmoliaOptions) -> pl.DataFrame:
    """The counts under emolia-bench's names and, with a leading underscore, what rates are computed from."""
    index_of_code = {code: at for at, code in enumerate(subset.codes)}
    words = dict(zip(subset.codes, subset.words, strict=True))
    value, present = pl.col("majority_value"), pl.col("majority_present")
    majority = pl.when(~pl.col("present_tie")).then(present) if options.honest else present
    matches = majority == pl.col("intended")
    agree, agree_value = (pl.col(name).fill_null(False) for name in ("unanimous", "unanimous_value"))
    return table.with_columns(
        majority_rating_int=value.replace_strict(index_of_code, return_dtype=pl.Int64),
        majority_rating=value.replace_strict(words, return_dtype=pl.String),
        majority_rating_votes=pl.col("majority_votes"),
        majority_rating_tie=pl.col("value_tie"),
        majority_present=present.cast(pl.Int64),
        majority_present_votes=pl.max_horizontal("present_votes", "absent_votes"),
        majority_present_tie=pl.col("present_tie"),
        all_agree_binary=agree,
        all_agree_ordinal=agree_value,
        intended_present=pl.col("intended").cast(pl.Int64),
        matches_intended_label=matches,
        matches_intended_polarity=matches,
        benchmark_bucket=pl.col("bucket"),
        n_raters=pl.col("n"),
        _majority=majority,
        _matches=matches,
        _unanimous=pl.col("unanimous") if options.honest else agree,
        _unanimous_value=pl.col("unanimous_value") if options.honest else agree_value,
    )
