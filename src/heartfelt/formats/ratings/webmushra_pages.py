"""The pages of webMUSHRA: each kind of page as ratings with their sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.formats.ratings.described import UNSTATED, stated_scale
from heartfelt.formats.ratings.set_rows import (
    NO_ANSWER,
    REPEATED_ROW,
    ROW,
    SELF_PAIR,
    chosen,
    numbered_again,
    occurrence,
    pair_ratings,
    reference_notes,
    repeated_rows,
    stated_words,
    table_sets,
    unnamed,
    usable,
    with_trials,
    without_repeats,
)
from heartfelt.formats.tables.columns import NamedTable, ids
from heartfelt.study.parts.sets import Sets
from heartfelt.study.scales.scale import AnyScale
from heartfelt.study.scales.set_scale import Choice, Grade

REFERENCES = ("reference", "ref", "orig", "original", "hidden_reference", "hiddenreference", "hidden_ref")
ANCHOR = re.compile(r"(?:.*[^a-z])?(?:low|mid)?_?anchor[\w.\-]*|lp\d+.*|c?mid_?anchor|low_?anchor")
QUESTION = "quality"
PAIR = {
    "reference": ("choice_reference", "choice_non_reference", "choice_answer"),
    "choice": ("choice_a", "choice_b", "choice_answer"),
    "option": ("option_a", "option_b", "choice_answer"),
    "options": ("choice_option_a", "choice_option_b", "choice_answer"),
}
SCORED_PAIR = ("rating_reference", "rating_non_reference", "rating_reference_score", "rating_non_reference_score")
LIKERT = ("stimuli", "stimuli_rating")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebmushraPage:
    """What was read of a page: ratings before raters and sets are added, the scales, the ledger."""

    ratings: pl.DataFrame
    scales: Mapping[str, AnyScale]
    sets: Sets | None
    ledger: pl.DataFrame
    notes: Sequence[str] = ()


def read_page(sheet: NamedTable, roles: Mapping[str, str], options: Mapping[str, str]) -> WebmushraPage:
    """The ratings of whatever page this file is from."""
    columns = set(sheet.frame.columns)
    base = _base(sheet, roles)
    for kind, names in PAIR.items():
        if columns >= set(names):
            return _recognised(base, names, sheet) if kind == "reference" else _preferred(base, names, sheet, options)
    if columns >= set(SCORED_PAIR):
        return _scored_pairs(base, sheet)
    likert = [name for name in sheet.frame.columns if name.startswith(LIKERT[1])]
    if LIKERT[0] in columns and likert:
        return _likert(base, likert, sheet, options)
    require_roles(roles, ("condition", "score"), sheet.frame.columns, sheet.where)
    return _grades(base, sheet, roles, options)


def require_roles(roles: Mapping[str, str], needed: Iterable[str], columns: Sequence[str], where: str) -> None:
    for role in needed:
        if role not in roles:
            raise InputError(
                f"{where}: no column is unmistakably the {role}.",
                f"Name it with {as_option(role, 'COLUMN')}. The columns are: {', '.join(columns[:40])}.",
            )


def _base(sheet: NamedTable, roles: Mapping[str, str]) -> pl.DataFrame:
    """``rater, prompt`` (the trial's id, with the test's where there are several), seconds and comments."""
    trial = ids(sheet[roles["trial"]])
    out = [sheet["rater"], trial.alias("prompt")]
    if "test" in roles and sheet[roles["test"]].drop_nulls().n_unique() > 1:
        test = ids(sheet[roles["test"]])
        out[1] = pl.select(pl.concat_str(test, trial, separator="/").alias("prompt")).to_series()
    if "seconds" in roles:
        out.append((sheet.numbers(roles["seconds"]) / 1000).alias("seconds"))
    if "comment" in roles:
        out.append(sheet[roles["comment"]].cast(pl.String).alias("comment"))
    return pl.DataFrame(out).with_columns(pl.int_range(1, pl.len() + 1).alias(ROW))


def _member(condition: str) -> pl.Expr:
    return pl.concat_str("prompt", condition, separator="/")


NAMED = {"rater": "rater", "stimulus": "stimulus"}
NAMELESS = "the listener, the trial or the condition is not named"


def _numbered(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """``set``, ``trial`` and, where a listener had a trial more than once, ``repeat``."""
    rows = rows.with_columns(occurrence("rater", *key).alias("repeat"), pl.col("prompt").alias("set"))
    return without_repeats(rows.with_columns(numbered_again("prompt").alias("trial")))


def _grades(
    base: pl.DataFrame, sheet: NamedTable, roles: Mapping[str, str], options: Mapping[str, str]
) -> WebmushraPage:
    score = roles["score"]
    rows = base.with_columns(
        ids(sheet[roles["condition"]]).alias("system"), sheet[score].cast(pl.String).alias("\0cell")
    )
    rows = rows.with_columns(_member("system").alias("stimulus"), number(sheet[score]).alias("value"))
    scale = stated_scale(QUESTION, options) or Grade(type="grade", low=0, high=100)
    if not isinstance(scale, Grade):
        bounds = scale.bounds() or (0.0, 100.0)
        scale = Grade(type="grade", low=bounds[0], high=bounds[1])
    cell = pl.col("\0cell").str.strip_chars()
    good, ledger = usable(
        rows,
        {
            NAMELESS: unnamed("rater", "prompt", "system"),
            NO_ANSWER: cell.is_null() | (cell == ""),
            "the grade is not a number": pl.col("value").is_null(),
            f"the grade is not between {scale.low:g} and {scale.high:g}": ~pl.col("value").is_between(
                scale.low, scale.high
            ),
            REPEATED_ROW: repeated_rows(rows),
        },
        sheet.where,
        NAMED,
    )
    conditions = good["system"].unique(maintain_order=True).to_list()
    reference, anchors = _marked(conditions, options, sheet.where)
    role = pl.when(pl.col("system") == reference).then(pl.lit("hidden-reference")) if reference else pl.lit(None)
    anchor = pl.when(pl.col("system").is_in(anchors)).then(pl.lit("anchor"))
    good = _numbered(good, ["prompt", "system"])
    single = pl.len().over("rater", "trial") < 2
    good, alone = usable(good, {"the trial has one graded condition only": single}, sheet.where, NAMED)
    good = good.with_columns(
        pl.coalesce(role, anchor, pl.lit("member")).alias("role"),
        pl.lit(None, pl.Int64).alias("place"),
        pl.lit(QUESTION).alias("question"),
    ).drop("\0cell")
    sets = table_sets("mushra", reference=reference, anchors=anchors)
    return WebmushraPage(
        ratings=good,
        scales={QUESTION: scale},
        sets=sets,
        ledger=pl.concat([ledger, alone]),
        notes=reference_notes(good),
    )


def number(cells: pl.Series) -> pl.Series:
    """Cells as numbers; what is none is empty."""
    text = cells.cast(pl.String).str.strip_chars().str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False).fill_nan(None)


def _marked(conditions: Sequence[str], options: Mapping[str, str], where: str) -> tuple[str | None, list[str]]:
    """The condition that is the reference, and those that are anchors."""
    named = options.get("hidden_reference")
    by_word = {name.casefold(): name for name in reversed(conditions)}
    anchors = list(filter(None, map(str.strip, options.get("low_anchors", "").split(","))))
    for name in filter(None, (*anchors, named)):
        if name not in conditions:
            raise InputError(f"{where}: no condition is called '{name}'.", f"Conditions: {', '.join(conditions[:30])}.")
    reference = named or next(filter(None, map(by_word.get, REFERENCES)), None)
    if "low_anchors" not in options:
        anchors = [name for name in conditions if ANCHOR.fullmatch(name.casefold()) and name != reference]
    return reference, anchors


def _recognised(base: pl.DataFrame, names: tuple[str, str, str], sheet: NamedTable) -> WebmushraPage:
    """Which of A and B is the reference: 1 for a right answer."""
    reference, compared, answer = (ids(sheet[name]) for name in names)
    rows = base.with_columns(reference.alias("system"), compared.alias("other"), answer.alias("answer"))
    rows = rows.with_columns(_member("system").alias("stimulus"), _member("other").alias("\0other"))
    rows = rows.with_columns(
        pl.col("answer")
        .replace_strict({"correct": 1.0, "incorrect": 0.0}, default=None, return_dtype=pl.Float64)
        .alias("value")
    )
    good, ledger = usable(
        rows,
        {
            NAMELESS: unnamed("rater", "prompt", "system", "other"),
            SELF_PAIR: pl.col("system") == pl.col("other"),
            "undecided": pl.col("answer") == "undecided",
            NO_ANSWER: pl.col("answer").is_null() | (pl.col("answer") == "unknown"),
            "the answer is neither correct nor incorrect": pl.col("value").is_null(),
            REPEATED_ROW: repeated_rows(rows),
        },
        sheet.where,
        NAMED,
    )
    good = _numbered(good, ["prompt", "system", "other"])
    pair = pl.concat_str("stimulus", "\0other", separator="|")
    time = pl.format("{}#{}", pair, pl.col("repeat") + 1) if "repeat" in good.columns else pair
    good = good.with_columns(
        pair.alias("set"),
        time.alias("trial"),
        pl.lit("x").alias("role"),
        pl.lit(None, pl.Int64).alias("place"),
        pl.lit("recognised").alias("question"),
    )
    return WebmushraPage(
        ratings=good.drop("answer", "other", "\0other"),
        scales={"recognised": Choice(type="choice")},
        sets=table_sets("abx"),
        ledger=ledger,
    )


def _preferred(
    base: pl.DataFrame, names: tuple[str, str, str], sheet: NamedTable, options: Mapping[str, str]
) -> WebmushraPage:
    first, second, answer = (ids(sheet[name]) for name in names)
    rows = base.with_columns(first.alias("a"), second.alias("b"), answer.alias("winner"))
    rows = rows.with_columns(_member("a").alias("first"), _member("b").alias("second"))
    rows = rows.with_columns(chosen("winner", stated_words(options), [("a", "b")]).alias("value"))
    good, ledger = usable(
        rows,
        {
            NAMELESS: unnamed("rater", "prompt", "a", "b"),
            SELF_PAIR: pl.col("a") == pl.col("b"),
            NO_ANSWER: pl.col("winner").is_null() | (pl.col("winner") == "unknown"),
            "the answer is neither stimulus": pl.col("value").is_null(),
            REPEATED_ROW: repeated_rows(rows),
        },
        sheet.where,
        {"rater": "rater", "stimulus": "first"},
    )
    scale = Choice(type="choice", ties=bool((good["value"] == 0.5).any()))
    pairs = with_trials(good.with_columns(question=pl.lit("preference")))
    ratings = pair_ratings(pairs.drop("winner"), scale)
    system = pl.when(pl.col("place") == 1).then("a").otherwise("b")
    return WebmushraPage(
        ratings=ratings.with_columns(system.alias("system")).drop("a", "b"),
        scales={"preference": scale},
        sets=table_sets("ab"),
        ledger=ledger,
    )


def _scored_pairs(base: pl.DataFrame, sheet: NamedTable) -> WebmushraPage:
    """Grades 1 to 5 of the hidden reference and of the condition, as in BS.1116."""
    sides = []
    for index, role in ((0, "hidden-reference"), (1, "member")):
        name, score = ids(sheet[SCORED_PAIR[index]]), number(sheet[SCORED_PAIR[index + 2]])
        compared = ids(sheet[SCORED_PAIR[1]])
        columns = [name.alias("system"), score.alias("value"), compared.alias("other"), pl.lit(role).alias("role")]
        sides.append(base.with_columns(columns))
    rows = pl.concat(sides).with_columns(_member("system").alias("stimulus"))
    good, ledger = usable(
        rows,
        {
            NAMELESS: unnamed("rater", "prompt", "system"),
            SELF_PAIR: (pl.col("system") == pl.col("other")) & (pl.col("role") != "member"),
            "the grade is not a number from 1 to 5": pl.col("value").is_null() | ~pl.col("value").is_between(1, 5),
            REPEATED_ROW: repeated_rows(rows),
        },
        sheet.where,
        NAMED,
    )
    good = _numbered(good, ["prompt", "system", "other"])
    pair = pl.concat_str("trial", "other", separator="/")
    good = good.with_columns(
        pair.alias("trial"),
        pl.concat_str("prompt", "other", separator="/").alias("set"),
        pl.lit(None, pl.Int64).alias("place"),
        pl.lit("impairment").alias("question"),
    )
    reference = good.filter(pl.col("role") == "hidden-reference")["system"].unique()
    scale = Grade(type="grade", low=1, high=5, step=0.1)
    sets = table_sets("mushra", reference=reference[0] if reference.len() == 1 else None)
    return WebmushraPage(ratings=good.drop("other"), scales={"impairment": scale}, sets=sets, ledger=ledger)


def _likert(base: pl.DataFrame, columns: Sequence[str], sheet: NamedTable, options: Mapping[str, str]) -> WebmushraPage:
    parts = [
        base.with_columns(
            ids(sheet[LIKERT[0]]).alias("system"),
            number(sheet[name]).alias("value"),
            pl.lit(f"rating{name.removeprefix(LIKERT[1]).strip('_ ')}").alias("question"),
        )
        for name in columns
    ]
    rows = pl.concat(parts).with_columns(_member("system").alias("stimulus"))
    good, ledger = usable(
        rows,
        {
            NAMELESS: unnamed("rater", "prompt", "system"),
            "the rating is not a number": pl.col("value").is_null(),
            REPEATED_ROW: repeated_rows(rows),
        },
        sheet.where,
        NAMED,
    )
    good = without_repeats(good.with_columns(occurrence("rater", "stimulus", "question").alias("repeat")))
    questions = good["question"].unique(maintain_order=True)
    return WebmushraPage(
        ratings=good,
        scales={name: stated_scale(name, options) or UNSTATED for name in questions},
        sets=None,
        ledger=ledger,
    )
