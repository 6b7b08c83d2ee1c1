"""How long people took: a sum of answer times is a session's length, which a recruiter shows beside the person's id.

Columns that add up to the length of a session, or say how much of it somebody needed, are left out unless they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from heartfelt.publishing.anonymity.draft import Draft

_TIMES: Mapping[str, tuple[str, ...]] = {
    "ratings": ("seconds", "first_play", "field_seconds"),
    "traces": ("away",),
    "fields": ("seconds",),
}
"""Columns in seconds."""
_EFFORT: Mapping[str, tuple[str, ...]] = {
    "ratings": ("plays", "focus_losses", "heard", "heard_flag", "keystrokes", "late"),
    "fields": ("keystrokes",),
}
"""Columns that grow with the time somebody took: clips played again, keys, places lost because an answer came late."""
_WORDS = frozenset(
    (
        *("second", "seconds", "sec", "secs", "minute", "minutes", "min", "mins", "ms", "msec", "millisecond", "milliseconds"),
        *("duration", "elapsed", "latency", "rt", "time", "times", "length", "speed", "dauer", "zeit"),
    )
)  # fmt: skip
_FORM_PREFIXES = ("about_", "before_", "after_")
_FEWEST = 10
"""Raters of whom a column's agreement with the length of their sessions can be judged."""
_ALIKE = 0.8
_FIGURE = re.compile(r"\d\s?(?:ms|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")
WITHOUT_FIGURES = "It is about how long answers took; figures are left out."
LEFT_OUT = "Left out: answer times add up to the length of a session, which recruiters show beside a person's id."
PUBLISHED = "Their sum is about the length of the session: whoever knows that can find the person."


def answer_times(draft: Draft, step: float) -> Draft:
    """Durations rounded to ``step`` seconds; where it is 0, nothing that says how long a person took."""
    if not step:
        for columns in (_TIMES, _EFFORT):
            for table, names in columns.items():
                for name in draft.having(table, *names):
                    draft = draft.without("times", table, name, LEFT_OUT)
        return _without_figures(draft)
    digits = max(0, len(f"{step:.6f}".rstrip("0").partition(".")[2]))
    about = f"Rounded to {step:g} s, as asked. {PUBLISHED}"
    for table, names in _TIMES.items():
        for name in draft.having(table, *names):
            if draft.tables[table].schema[name].is_numeric():
                rounded = ((pl.col(name) / step).round() * step).round(digits)
                draft = draft.after("times", table, name, about, draft.with_values(table, **{name: rounded}))
    return draft


def _without_figures(draft: Draft) -> Draft:
    """Reasons for leaving somebody out, without the seconds that a rule found."""
    about = "Reasons are stated without the times that a rule found."
    for table in ("ledger", "raters"):
        if not draft.having(table, "reason"):
            continue
        texts = draft.tables[table]["reason"].cast(pl.String)
        reasons = pl.Series([None if text is None else _hide_figures(text) for text in texts], dtype=pl.String)
        if changed := int(texts.ne_missing(reasons).sum()):
            draft = draft.after("times", table, "reason", about, draft.with_values(table, reason=reasons), rows=changed)
    return draft


def _hide_figures(text: str) -> str:
    parts = [WITHOUT_FIGURES if _FIGURE.search(part) else part for part in _SENTENCE.split(text)]
    return " ".join(dict.fromkeys(parts))


def session_lengths(draft: Draft) -> list[str]:
    """Columns of the raters that hold how long their sessions took: by their names, or because they agree with answer times."""
    raters, lengths = draft.tables["raters"], _lengths(draft)
    unasked = [raters[name] for name in raters.columns if not name.startswith(_FORM_PREFIXES)]
    return [
        column.name
        for column in unasked
        if (_is_duration(column.name) and _holds_figures(column))
        or (column.dtype.is_numeric() and _agrees(raters["rater"], column, lengths))
    ]


def _agrees(raters: pl.Series, column: pl.Series, lengths: pl.DataFrame) -> bool:
    """Whether numbers about raters rise with how long their sessions took."""
    measured = pl.DataFrame({"rater": raters, "(column)": column.cast(pl.Float64)})
    measured = measured.join(lengths, on="rater", maintain_order="left")
    for length in lengths.columns[1:]:
        both = measured.select("(column)", length).drop_nulls()
        if both.height >= _FEWEST and both["(column)"].n_unique() > 2:
            agreement = both.select(pl.corr("(column)", length, method="spearman")).item()
            if agreement >= _ALIKE:  # not a number where all took as long
                return True
    return False


def _is_duration(name: str) -> bool:
    words = re.split(r"[^A-Za-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return bool(_WORDS.intersection(words)) and "zone" not in words


def _holds_figures(column: pl.Series) -> bool:
    if column.dtype == pl.String:
        return bool(column.drop_nulls().str.contains(r"^\s*\d[\d:.,\s]*[A-Za-z]{0,7}\s*$").all())
    return column.dtype.is_numeric() or column.dtype in (pl.Duration, pl.Time)


def _lengths(draft: Draft) -> pl.DataFrame:
    """What is known of the length of every rater's session: the sum of answer times, and from the first moment to the last."""
    ratings, raters = draft.tables["ratings"], draft.tables["raters"]
    figures: list[pl.Expr] = []
    if draft.having("ratings", "seconds"):
        figures.append(pl.col("seconds").sum().alias("(sum)"))
    if draft.having("ratings", "at"):
        figures.append((pl.col("at").max() - pl.col("at").min()).dt.total_seconds().alias("(span)"))
    by_rater = ratings.drop_nulls("rater").group_by("rater").agg(figures)
    if draft.having("raters", "arrived", "last_seen") == ("arrived", "last_seen"):
        moments = [raters.schema[name] for name in ("arrived", "last_seen")]
        if all(isinstance(dtype, pl.Datetime) for dtype in moments):
            stay = (pl.col("last_seen") - pl.col("arrived")).dt.total_seconds().alias("(stay)")
            by_rater = by_rater.join(raters.select("rater", stay), on="rater", how="left", maintain_order="left")
    return by_rater
