"""Drafts that somebody verified: the table ``fields`` with what it takes to judge drafts and the people who verify them."""

from __future__ import annotations

import polars as pl

from heartfelt.snapshot.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.study.scales.similarity import clearly_different, similarity
from heartfelt.tables import MOMENT

_TEXTS = ("source", "version", "verdict", "final", "verified_by", "shown", "machine")
_NUMBERS = ("seconds", "keystrokes")


def verified_rows(snapshot: Snapshot) -> pl.DataFrame:
    """The fields that somebody verified or answered, with ``draft`` (the machine's own), ``alike`` and ``verdict``.

    ``alike`` is the similarity of the answer to what was drafted for that stimulus. A value that was changed without a verdict
    counts as fixed. A row without ``shown`` was shown. Rows of unknown raters have an empty ``verified_by``. Stimuli that were
    shown again are left out: the rater has seen the draft.
    """
    rows = _completed(snapshot.fields)
    if "repeat" in rows.columns:
        rows = rows.filter(pl.col("repeat").fill_null(0) == 0)
    decided = pl.col("verdict").is_not_null() | pl.col("verified_by").is_not_null()
    rows = rows.filter(decided & pl.col("field").is_in([question.id for question in snapshot.study.asked]))
    planted = pl.col("shown") == "planted"
    known_draft = pl.col("machine").filter(~planted).drop_nulls().first().over("stimulus", "field")
    rows = rows.with_columns(
        pl.when(planted).then(known_draft).otherwise(pl.coalesce("machine", known_draft)).alias("draft")
    )
    same = pl.when(pl.col("final") == pl.col("machine")).then(pl.lit("accepted")).otherwise(pl.lit("fixed"))
    draft_shown = pl.col("shown") != "hidden"
    rows = rows.with_columns(
        pl.when(draft_shown).then(pl.coalesce("verdict", same)).alias("verdict"), pl.col("verified_by").fill_null("")
    )
    codes = [
        (pl.col(name).rank("dense").cast(pl.Int64) - 1).alias(code)
        for name, code in (("verified_by", "rater_code"), ("stimulus", "stimulus_code"))
    ]
    return _compared(rows.with_columns(codes), snapshot.study)


def _completed(fields: pl.DataFrame) -> pl.DataFrame:
    """The table with every column that is used here; a row that does not say what was shown was shown."""
    texts = [pl.lit(None, pl.String).alias(name) for name in _TEXTS if name not in fields.columns]
    numbers = [pl.lit(None, pl.Float64).alias(name) for name in _NUMBERS if name not in fields.columns]
    moments = [pl.lit(None, MOMENT).alias("at")] if "at" not in fields.columns else []
    return fields.with_columns(*texts, *numbers, *moments).with_columns(pl.col("shown").fill_null("true"))


def _compared(rows: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Add ``alike`` (answer and draft) and ``wrong`` (whether a planted draft is clearly different from the machine's own)."""
    scales = {name: study.scale_of(name) for name in rows["field"].unique().to_list()}
    same = (pl.col("draft") == pl.col("final")).fill_null(False)
    answered = (pl.col("shown") != "planted") & pl.col("draft").is_not_null()
    pairs = rows.filter(answered & ~same).select("field", "draft", "final").unique()
    alike = [
        0.0 if final is None else similarity(scales[name], draft, final) for name, draft, final in pairs.iter_rows()
    ]
    pairs = pairs.with_columns(pl.Series("alike", alike, pl.Float64))
    keys = ["field", "draft", "final"]
    rows = rows.join(pairs, on=keys, how="left", nulls_equal=True, maintain_order="left")
    rows = rows.with_columns(pl.when(answered).then(pl.when(same).then(1.0).otherwise("alike")).alias("alike"))
    planted = rows.filter(pl.col("shown") == "planted").select("field", "draft", "machine").unique()
    wrong = [
        draft is None or machine is None or clearly_different(scales[name], draft, machine)
        for name, draft, machine in planted.iter_rows()
    ]
    planted = planted.with_columns(pl.Series("wrong", wrong, pl.Boolean))
    keys = ["field", "draft", "machine"]
    return rows.join(planted, on=keys, how="left", nulls_equal=True, maintain_order="left").with_columns(
        pl.when(pl.col("shown") == "planted").then("wrong").alias("wrong")
    )
