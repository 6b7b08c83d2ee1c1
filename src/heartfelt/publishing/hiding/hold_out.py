"""Holding out a part: what people said about its stimuli stays private, everything else is published.

The public snapshot has the held-out stimuli and media, and nothing that people said about them: no ratings, traces, adjudications,
published means, verified fields or ledger entries. A trial in which stimuli were judged together goes as a whole if any of them is
held out. The public benchmark is frozen from the public snapshot alone, so that labels which pool over items (Dawid-Skene,
ITU-T P.910, strengths) carry nothing of the held-out ratings either. The private benchmark has the labels of every part.

Of the columns that stimuli, items and fields bring, only those on a list are published about held-out stimuli, and what the author
names; all others are emptied (:mod:`heartfelt.publishing.hiding.columns`). What remains is tested: if it predicts the labels,
nothing is published. Stimuli are in the order of their ids, and figures about a rater, which held-out answers went into, are left
out of the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import Benchmark, LabelOptions, SplitOptions, freeze
from heartfelt.publishing.hiding.columns import BY_PEOPLE, HAS_FILE, OF_THE_FILE, HiddenColumns, hidden_columns
from heartfelt.publishing.release.release import ReleaseStep
from heartfelt.publishing.release.splits import placed_by
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import TRIAL, has_sets
from heartfelt.tables import LEDGER
from heartfelt.wording import listed, number, plural

_ABOUT = {
    "ratings": "Ratings",
    "traces": "Traces",
    "means": "Published means",
    "adjudications": "Adjudications",
    "fields": "Fields",
    "ledger": "Ledger entries",
}
COLUMNS, LIMIT = "columns", "limit"
"""Settings of steps that list what is published, and that say what the authors should know before they do."""
_FIGURES = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeldOutSplit:
    """A snapshot divided into what is published and what is not."""

    part: str
    snapshot: Snapshot
    """To be published."""
    benchmark: Benchmark | None
    """Labels and splits to be published; it lists the held-out stimuli, without labels. None where nothing else has a label."""
    why_no_benchmark: str | None
    private: Benchmark
    """The labels of every part, never to be published."""
    to_predict: pl.DataFrame
    """``stimulus, question`` of everything asked in the held-out part, whether or not it has a label."""
    steps: tuple[ReleaseStep, ...]
    columns: HiddenColumns
    """What is published about held-out stimuli."""


def hold_out(
    snapshot: Snapshot,
    part: str,
    split: SplitOptions | None = None,
    labels: LabelOptions | None = None,
    *,
    columns: Iterable[str] = (),
    anyway: Iterable[str] = (),
) -> HeldOutSplit:
    """Divide a snapshot (already anonymised) by holding out one part of a split.

    ``columns`` are published about held-out stimuli besides those on the list, unless they predict the labels; ``anyway`` even if.
    """
    split = split or SplitOptions()
    if part not in split.shares:
        raise InputError(f"The split has no part '{part}' to hold out.", suggestion(part, split.shares, "Parts"))
    private = freeze(snapshot, labels, split)
    placed = placed_by(snapshot.without_probes.stimuli, split)
    hidden = placed.filter(pl.col("split") == part)["stimulus"].to_list()
    if not private.part(part).height and not (private.choices["split"] == part).any():
        raise InputError(
            f"The part '{part}' has no labels to hold out: {plural(len(hidden), 'stimulus', 'stimuli')} fell into it.",
            "Choose another seed or grouping, larger shares, or name the groups to hold out.",
        )
    chosen = hidden_columns(snapshot, private, part, named=columns, anyway=anyway)
    public = _public(snapshot, hidden, chosen)
    steps = _steps(snapshot, public, part, hidden, private, chosen)
    benchmark, reason = _public_benchmark(public, part, private, labels)
    hidden_items = public.items.filter(pl.col("stimulus").is_in(hidden)).select("stimulus", "question")
    hidden_items = hidden_items.sort("stimulus", "question")
    return HeldOutSplit(
        part=part,
        snapshot=public,
        benchmark=benchmark,
        why_no_benchmark=reason,
        private=private,
        to_predict=hidden_items,
        steps=tuple(steps),
        columns=chosen,
    )


def _public(snapshot: Snapshot, hidden: list[str], chosen: HiddenColumns) -> Snapshot:
    is_hidden = pl.col("stimulus").is_in(hidden)
    ratings = snapshot.scan_ratings().filter(~is_hidden)
    if has_sets(ratings):
        trials = snapshot.scan_ratings().filter(is_hidden).select(*TRIAL).drop_nulls("trial").unique()
        ratings = ratings.join(trials, on=TRIAL, how="anti", nulls_equal=True, maintain_order="left")
    tables = {name: snapshot.table(name).filter(~is_hidden) for name in ("traces", "means", "adjudications")}
    tables |= {"fields": _fields(snapshot.fields, is_hidden, chosen), "ledger": _ledger(snapshot.ledger, is_hidden)}
    stimuli, items = snapshot.stimuli, snapshot.table("items")
    shown = pl.lit(False)
    if snapshot.source.media_root is not None and {"path", HAS_FILE} <= set(stimuli.columns):
        shown = pl.col(HAS_FILE).fill_null(False)
    of_file = [name for name in OF_THE_FILE if name in stimuli.columns and name not in chosen.stimuli]
    stimuli = stimuli.with_columns(pl.when(~is_hidden | shown).then(pl.col(of_file)))
    stimuli = _emptied(stimuli, is_hidden, [*chosen.stimuli, *of_file]).sort("stimulus")
    items = _emptied(items, is_hidden, chosen.items).sort("stimulus", "question")
    raters = snapshot.raters
    return Snapshot.build(
        snapshot.study,
        stimuli=stimuli,
        ratings=ratings if snapshot.ratings_file is not None else ratings.collect(),
        raters=raters.drop(_named_after(raters.columns, hidden)),
        source=snapshot.source,
        items=items,
        **tables,
    )


def _emptied(frame: pl.DataFrame, is_hidden: pl.Expr, published: Sequence[str]) -> pl.DataFrame:
    """Without what the other columns say about held-out stimuli."""
    unpublished = [name for name in frame.columns if name not in published]
    return frame.with_columns(pl.when(~is_hidden).then(pl.col(unpublished))) if unpublished else frame


def _fields(fields: pl.DataFrame, is_hidden: pl.Expr, chosen: HiddenColumns) -> pl.DataFrame:
    """Values that machines filled in, if the author publishes them and no person has had to do with them."""
    if not chosen.fields:
        return fields.filter(~is_hidden)
    people = [name for name in BY_PEOPLE if name in fields.columns]
    by_people = pl.any_horizontal(pl.col(people).is_not_null()) if people else pl.lit(False)
    return _emptied(fields.filter(~(is_hidden & by_people)), is_hidden, chosen.fields)


def _ledger(ledger: pl.DataFrame, is_hidden: pl.Expr) -> pl.DataFrame:
    """Without entries about held-out stimuli, and without figures about raters: held-out answers went into them."""
    ledger = ledger.filter(~is_hidden.fill_null(False)) if "stimulus" in ledger.columns else ledger
    if "rater" not in ledger.columns:
        return ledger
    about_rater = pl.col("rater").is_not_null()
    reason = pl.col("reason").str.replace_all(_FIGURES.pattern, "…")
    to_empty = [name for name in ledger.columns if name not in {*LEDGER.names, "rule"}]
    return ledger.with_columns(
        pl.when(about_rater).then(reason).otherwise("reason").alias("reason"),
        pl.when(~about_rater).then(pl.col(to_empty)),
    )


def _named_after(columns: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Columns of raters whose name has the id of a held-out stimulus in it: a person's answer about it."""
    ids = {name.lower() for name in hidden}
    return [
        name
        for name in columns
        if name.lower() in ids or ids & {word.lower() for word in re.split(r"[\s:./|]+|__", name)}
    ]


def _steps(
    snapshot: Snapshot, public: Snapshot, part: str, hidden: Sequence[str], private: Benchmark, chosen: HiddenColumns
) -> list[ReleaseStep]:
    """What was done, without counts of what people said: they may tell what it was."""
    stimuli = f"the {plural(len(hidden), 'stimulus', 'stimuli')} in the part '{part}'"
    settings = {"part": part, "by": private.split.by}

    def step(table: str, column: str | None, about: str) -> ReleaseStep:
        return ReleaseStep(
            kind="hold-out", table=table, column=column, about=about, rows=len(hidden), lost=None, settings=settings
        )

    steps = [
        step(table, None, f"{subject} about {stimuli} are held out.")
        for table, subject in _ABOUT.items()
        if table == "ledger" or snapshot.table(table).height
    ]
    steps.append(step("ledger", "reason", "Figures about raters are left out: held-out answers went into them."))
    figures = [name for name in snapshot.ledger.columns if name not in {*LEDGER.names, "rule"}]
    steps += [step("ledger", name, "Left out for raters: held-out answers went into it.") for name in figures]
    gone = set(snapshot.raters.columns) - set(public.raters.columns)
    steps += [step("raters", name, "Left out: it is named after a held-out stimulus.") for name in sorted(gone)]
    steps += [
        step(table, name, f"The column '{name}' is emptied for {stimuli}.")
        for table in ("stimuli", "items", "fields")
        for name in _emptied_columns(snapshot.table(table), public.table(table))
    ]
    about = f"Only these columns are published about {stimuli}: {listed(_published(public, hidden, chosen), 100)}."
    steps.append(replace(step("stimuli", None, about), settings={**settings, COLUMNS: ",".join(chosen.names)}))
    limits = {**settings, LIMIT: "yes"}
    return [*steps, *(replace(step("stimuli", None, text), settings=limits) for text in _findings(chosen))]


def _emptied_columns(before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    return [name for name in before.columns if after[name].null_count() > before[name].null_count()]


def _published(public: Snapshot, hidden: Sequence[str], chosen: HiddenColumns) -> list[str]:
    hidden_stimuli = public.stimuli.filter(pl.col("stimulus").is_in(hidden))
    of_file = [name for name in OF_THE_FILE if name in hidden_stimuli.columns and hidden_stimuli[name].count()]
    return [*chosen.names, *(f"{name} (of the published file)" for name in of_file if name not in chosen.stimuli)]


def _findings(chosen: HiddenColumns) -> list[str]:
    """What the test of the published columns found, in sentences; agreement to one digit, so as to say little of the labels."""
    out = [
        f"Prompt, system and intent alone predict the held-out labels of '{question}' with an agreement of about"
        f" {number(agreement, 1)} (0: guessing, 1: exact)."
        for question, agreement in chosen.design.items()
        if agreement >= 0.25
    ]
    if chosen.insisted:
        out.append(
            f"The authors publish {listed([repr(name) for name in chosen.insisted], 100)} about held-out stimuli at their own risk:"
            " they were not tested, or predict the held-out labels."
        )
    if chosen.untested:
        out.append(
            f"{listed([repr(name) for name in chosen.untested], 100)}: too few held-out labels to test whether ids and file names"
            " predict them."
        )
    return out


def _public_benchmark(
    public: Snapshot, part: str, private: Benchmark, labels: LabelOptions | None
) -> tuple[Benchmark | None, str | None]:
    """The benchmark of the public ratings, with the held-out stimuli listed so that the whole split can be validated."""
    split = private.split
    present = {group: split_part for group, split_part in split.fixed.items() if split_part != part}
    try:
        public_benchmark = freeze(public, labels, replace(split, fixed=present))
    except InputError as error:
        return None, error.problem
    listed = pl.concat([public_benchmark.stimuli["stimulus"], private.stimuli["stimulus"]]).unique().to_list()
    stimuli = public.stimuli.filter(pl.col("stimulus").is_in(listed))
    note = f"The labels of the part '{part}' are held out: its stimuli are listed without labels."
    return replace(public_benchmark, stimuli=stimuli, split=split, notes=(*public_benchmark.notes, note)), None
