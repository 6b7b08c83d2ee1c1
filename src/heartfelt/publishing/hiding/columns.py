"""Which columns are published about held-out stimuli: those on a list and those the author names, as far as no label is in them.

On the list: the id, media, prompt, system, intent and what the split is made by; facts of the media file where the file itself is
published; and what a generator writes about its own work. Free texts about a stimulus (``checks``, ``problem``), numbers of unknown
origin and values that a machine filled in are not. Listed facts of generators that predict the labels are emptied; where names or
columns that the author asks for do, or too few labels are there to tell, publishing is refused unless the author insists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import Benchmark
from heartfelt.publishing.anonymity.media import LICENCE_COLUMNS, LINK_COLUMNS
from heartfelt.publishing.hiding.features import encoded
from heartfelt.publishing.hiding.leaks import (
    LEAST_ITEMS,
    LEAST_VALUES,
    MOST_ITEMS,
    LabelsToHide,
    Leak,
    design_agreement,
    label_leaks,
)
from heartfelt.publishing.hiding.spelled import spelled_out
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.wording import listed, number, plural

DESIGN = ("prompt", "system", "intent")
"""What a stimulus was meant to be: known before anybody rated it."""
NAMES = ("stimulus", "path", *LINK_COLUMNS)
HAS_FILE = "found"
"""Whether there is a media file, which the list of media says anyway."""
OF_THE_FILE = ("duration", "rate", "channels", "width", "height", "bytes")
"""What anybody can read in the media file; published where the file is."""
BY_GENERATORS = (
    *("generator", "model", "revision", "seed", "settings", "hardware", "made_at", "loudness", "true_peak_db"),
    *LICENCE_COLUMNS,
)
BY_PEOPLE = ("verdict", "final", "verified_by", "first", "at", "shown", "seconds", "keystrokes")
"""Columns of a field that only a person fills in, or that tell how a person did."""
MACHINE = "machine"
_FIELD_KEY = ("stimulus", "field", "source", "repeat")
_TABLES = ("stimuli", "items", "fields")
_LABELLED = ("stimulus", "question", "label", "split")
_REPEATS = 0.5
"""Names of systems and intents are part of the design if there are at most so many of them per stimulus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenColumns:
    """What is published of held-out stimuli, by table, and what was found out about it."""

    stimuli: tuple[str, ...]
    items: tuple[str, ...]
    fields: tuple[str, ...]
    """Empty where no field of a held-out stimulus is published."""
    emptied: tuple[str, ...]
    """Columns of the list that predict the labels and are left out for that."""
    design: Mapping[str, float]
    """By question, how well prompt, system and intent alone predict the hidden labels."""
    insisted: tuple[str, ...]
    """Columns that the author publishes although they predict the labels, or may."""
    untested: tuple[str, ...]
    """Questions with too few labels for a test."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every column, those of items and fields with their table."""
        more = [*(("items", name) for name in self.items), *(("fields", name) for name in self.fields)]
        return (*self.stimuli, *(f"{table}.{name}" for table, name in more if name not in {"stimulus", "question"}))


def hidden_columns(
    snapshot: Snapshot, private: Benchmark, part: str, *, named: Iterable[str] = (), anyway: Iterable[str] = ()
) -> HiddenColumns:
    """Decide what is published about the stimuli of a part, or raise if what the author names would give labels away."""
    insisted = _resolved(snapshot, anyway, "hold-out-anyway")
    always = _always(snapshot, private)
    wanted = [*_resolved(snapshot, named, "hold-out-columns"), *insisted]
    wanted = [name for name in dict.fromkeys(wanted) if name not in always]
    on_list = [name for name in BY_GENERATORS if name in snapshot.stimuli.columns]
    labels = _labels(snapshot, private, part)
    few = tuple(question_labels.question for question_labels in labels if question_labels.hidden.height < LEAST_ITEMS)
    _refuse_untested(snapshot, labels, few, [name for name in wanted if name not in insisted])
    _refuse_spelled(snapshot, labels, few, insisted)
    tested, rows = _renumbered(labels)
    design = {name: encoded(_series(snapshot, name, rows)) for name in _design(snapshot, insisted)}
    # The wording of a prompt is meant to be telling, so only what is coded in it is tested.
    candidates = {
        name: encoded(_series(snapshot, name, rows), numbers_only=name == "prompt")
        for name in dict.fromkeys([*always, *on_list, *wanted])
        if name not in {*insisted, SPLIT, HAS_FILE} and (name == "prompt" or name not in design)
    }
    emptied = _to_empty(label_leaks(tested, candidates, design), [name for name in on_list if name not in wanted])
    open_columns = [name for name in (*always, *on_list, *wanted) if name not in emptied]
    return HiddenColumns(
        stimuli=tuple(dict.fromkeys(name for name in open_columns if "." not in name)),
        items=("stimulus", "question", *_of(open_columns, "items")),
        fields=_fields(snapshot, open_columns),
        emptied=emptied,
        design=design_agreement(tested, {name: matrix for name, matrix in design.items() if name not in insisted}),
        insisted=tuple(insisted),
        untested=few,
    )


def _to_empty(leaks: Iterable[Leak], droppable: Collection[str]) -> tuple[str, ...]:
    """The columns that have to be emptied; an error for a leak that this does not stop."""
    out: list[str] = []
    for leak in leaks:
        dropped = [name for name in leak.columns if name in droppable]
        if not dropped:
            raise _gives_away(leak)
        out += dropped
    return tuple(out)


def _fields(snapshot: Snapshot, open_columns: Sequence[str]) -> tuple[str, ...]:
    open_fields = _of(open_columns, "fields")
    if MACHINE not in open_fields:
        return ()
    return tuple(name for name in snapshot.fields.columns if name in _FIELD_KEY or name in open_fields)


def _of(names: Iterable[str], table: str) -> list[str]:
    return [name.removeprefix(f"{table}.") for name in names if name.startswith(f"{table}.")]


def _always(snapshot: Snapshot, private: Benchmark) -> list[str]:
    """Columns of the stimuli that are published whatever they hold; names and designs that predict are refused."""
    names = (*NAMES, *DESIGN, SPLIT, private.split.by, HAS_FILE)
    return [name for name in dict.fromkeys(names) if name in snapshot.stimuli.columns]


def _resolved(snapshot: Snapshot, names: Iterable[str], option: str) -> list[str]:
    """The columns of those names: of stimuli as they are, of items and fields as ``items.name`` and ``fields.name``."""
    tables = {table: snapshot.table(table).columns for table in _TABLES}
    tables["fields"] = [name for name in tables["fields"] if name not in BY_PEOPLE]
    available = [*tables["stimuli"], *(f"{table}.{name}" for table in _TABLES[1:] for name in tables[table])]
    out = []
    for name in names:
        bare_name = name.removeprefix("stimuli.")
        fitting = [column for column in available if bare_name in (column, column.partition(".")[2])]
        if not fitting:
            raise InputError(
                f"{option}: there is no column '{name}' about stimuli that machines or authors filled in.",
                suggestion(bare_name, available, "Columns"),
            )
        out.append(fitting[0])
    return out


def _design(snapshot: Snapshot, insisted: Collection[str]) -> list[str]:
    """Columns that are no secret: the design, where systems and intents are not as many as stimuli, and what is insisted on."""
    stimuli = snapshot.stimuli
    most = max(2, _REPEATS * stimuli.height)
    out = [
        name for name in DESIGN if name in stimuli.columns and (name == "prompt" or stimuli[name].n_unique() <= most)
    ]
    return list(dict.fromkeys([*out, *insisted]))


def _series(snapshot: Snapshot, name: str, rows: pl.Series) -> list[pl.Series]:
    """A column of these stimuli; of items and fields, one column for every question or field."""
    table, dot, column = name.partition(".")
    if not dot:
        return [snapshot.stimuli[name].gather(rows)]
    stimuli = snapshot.stimuli.select("stimulus")[rows]
    frame = snapshot.table(table)
    over = "question" if table == "items" else "field"
    out = []
    for value in frame[over].unique().sort():
        matching = frame.filter(pl.col(over) == value).select("stimulus", column).unique("stimulus", keep="first")
        out.append(stimuli.join(matching, on="stimulus", how="left", maintain_order="left")[column])
    return out


def _labels(snapshot: Snapshot, private: Benchmark, part: str) -> list[LabelsToHide]:
    """The labels of every question with hidden ones; ``row`` is that of the stimuli, of many a sample."""
    rows = snapshot.stimuli.select("stimulus").with_row_index("row")
    labelled = pl.concat([private.items.select(_LABELLED), _wins(private).select(_LABELLED)])
    items = labelled.join(rows, on="stimulus", maintain_order="left").with_columns(pl.col("row").cast(pl.Int64))
    hidden = pl.col("split") == part
    out = []
    for question in items.filter(hidden)["question"].unique().sort():
        question_items = items.filter(pl.col("question") == question)
        out.append(
            LabelsToHide(
                question=question,
                hidden=_sampled(question_items.filter(hidden)),
                public=_sampled(question_items.filter(~hidden)),
                nominal=private.study.scale_of(question).level == "nominal",
            )
        )
    return out


def _wins(private: Benchmark) -> pl.DataFrame:
    """The share of comparisons that each stimulus won, under questions whose comparisons give no labels of their own."""
    sides = [
        private.choices.select("question", "split", pl.col(side).alias("stimulus"), value.alias("label"))
        for side, value in (("first", pl.col("value")), ("second", 1 - pl.col("value")))
    ]
    wins = pl.concat(sides).drop_nulls("split").group_by("question", "split", "stimulus").agg(pl.mean("label"))
    return wins.join(private.items, on=["question", "split"], how="anti", maintain_order="left").sort(
        "stimulus", "question"
    )


def _sampled(items: pl.DataFrame) -> pl.DataFrame:
    items = items.select("row", "label").sort("row")
    return items if items.height <= MOST_ITEMS else items.sample(MOST_ITEMS, seed=0)


def _renumbered(labels: Sequence[LabelsToHide]) -> tuple[list[LabelsToHide], pl.Series]:
    """The labels with rows counted among those that have a label, and these rows."""
    rows = pl.concat(
        [
            pl.Series("row", [], pl.Int64),
            *(frame["row"] for question_labels in labels for frame in (question_labels.hidden, question_labels.public)),
        ]
    )
    rows = rows.unique().sort()
    number = pl.col("row").replace_strict(rows, pl.Series(range(rows.len())), return_dtype=pl.Int64)
    out = [
        replace(
            question_labels,
            hidden=question_labels.hidden.with_columns(number),
            public=question_labels.public.with_columns(number),
        )
        for question_labels in labels
    ]
    return out, rows


# --- in doubt ---------------------------------------------------------------------------------------------------------


def _refuse_untested(
    snapshot: Snapshot, labels: Sequence[LabelsToHide], few: Sequence[str], wanted: Sequence[str]
) -> None:
    """Raise for a column the author names where too few labels or values are there to test it."""
    if not wanted:
        return
    if few:
        count = min(question_labels.hidden.height for question_labels in labels if question_labels.question == few[0])
        raise InputError(
            f"Only {plural(count, 'held-out item')} of '{few[0]}' have a label: too few to test whether"
            f" {_quoted(wanted)} would give the labels away (that takes {LEAST_ITEMS}).",
            f"Do not name them; or publish them all the same with {_insisting(wanted)}.",
        )
    for name in wanted:
        for question_labels in labels:
            rows = pl.concat([question_labels.hidden["row"], question_labels.public["row"]])
            count = max((values.count() for values in _series(snapshot, name, rows)), default=0)
            if count < LEAST_VALUES:
                raise InputError(
                    f"Only {plural(count, 'item')} of '{question_labels.question}' have a label and a value of '{name}':"
                    f" too few to test whether it would give the held-out labels away (that takes {LEAST_VALUES}).",
                    f"Do not name it; or publish it all the same with {_insisting([name])}.",
                )


def _refuse_spelled(
    snapshot: Snapshot, labels: Sequence[LabelsToHide], few: Sequence[str], insisted: Collection[str]
) -> None:
    """Raise where names spell the labels out, which needs no test and hence few labels."""
    columns = snapshot.stimuli.columns
    names = [name for name in (*NAMES, "system", "intent") if name in columns and name not in insisted]
    design = snapshot.stimuli.select(name for name in DESIGN if name in columns)
    for question_labels in (question_labels for question_labels in labels if question_labels.question in few):
        categories = snapshot.study.scale_of(question_labels.question).labels()
        for name in names:
            intended = design.select([]) if name in DESIGN else design
            if spelled_out(snapshot.stimuli[name], intended, question_labels.hidden, categories):
                raise _gives_away(Leak(columns=(name,), question=question_labels.question, agreement=1.0, without=0.0))


def _gives_away(leak: Leak) -> InputError:
    columns = list(leak.columns)
    pronoun, hold = ("them", "they hold") if len(columns) > 1 else ("it", "it holds")
    together = "together " if len(columns) > 1 else ""
    fix = f"Do not name {pronoun}"
    if set(columns) & {*NAMES, *DESIGN}:
        fix = f"Rename what {hold}"
    return InputError(
        f"{_quoted(columns)} {together}would give away the held-out labels of '{leak.question}': a simple model agrees"
        f" {number(leak.agreement, 2)} with them (0: guessing, 1: exact), {number(leak.without, 2)} by prompt, system and intent"
        " alone.",
        f"{fix}; or publish {pronoun} all the same with {_insisting(columns)}, which the record and the card will say.",
    )


def _quoted(columns: Sequence[str]) -> str:
    return listed([f"'{name}'" for name in columns], 12)


def _insisting(columns: Sequence[str]) -> str:
    return " ".join(f"--hold-out-anyway {name}" for name in columns)
