"""Answers in words become the codes of their categories, and the scale of a question is read off its answers."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.tabular import UNSTATED
from heartfelt.snapshot.snapshot import Spooled, spool
from heartfelt.study.scale import AnyScale, Categories, Category, FreeText

MANY_ANSWERS = 60
"""Distinct answers in words above which a question has free text, not categories."""


def coded_answers(
    spooled: Spooled, stated: Mapping[str, AnyScale | None], where: str
) -> tuple[Spooled, dict[str, AnyScale]]:
    """Answers in words get the code of their category; a question answered in numbers and in words is a mistake."""
    lazy = spooled.lazy()
    facts = spooled.survey.questions
    if "answer" not in lazy.collect_schema():
        return spooled, {q: stated[q] or UNSTATED for q in facts}
    words = (
        lazy.filter(pl.col("answer").is_not_null())
        .group_by("question", "answer")
        .agg(pl.len(), pl.col("value").min().alias("code"), (pl.col("value").n_unique() == 1).alias("coded"))
        .sort("question", "answer")
        .collect()
    )
    scales: dict[str, AnyScale] = {}
    codes: dict[tuple[str, str], float] = {}
    for question in facts:
        answers = words.filter(pl.col("question") == question)["answer"].to_list()
        scale = stated[question]
        if answers and scale is None:
            scale = _own_codes(words.filter(pl.col("question") == question))
            if scale is None and facts[question].low is not None:
                _raise_mixed(lazy, question, answers[0], where)
        if answers and scale is None:
            scale = (
                Categories(type="categories", categories=answers)
                if 2 <= len(answers) <= MANY_ANSWERS
                else FreeText(type="text")
            )
        scale = scale or UNSTATED
        scales[question] = scale
        if scale.level == "text":
            continue
        for answer in answers:
            try:
                code, _ = scale.read(answer)
            except InputError as error:
                times = int(
                    words.filter((pl.col("question") == question) & (pl.col("answer") == answer))["len"].sum()
                )
                raise InputError(
                    f"{where}: {times} answers to '{question}' are '{answer}'. {error.problem}", error.fix
                ) from error
            if code is not None:
                codes[question, answer] = code
    if not codes:
        return spooled, scales
    table = pl.LazyFrame([{"question": q, "answer": a, "code": c} for (q, a), c in codes.items()])
    recoded = lazy.join(table, on=["question", "answer"], how="left", maintain_order="left")
    recoded = recoded.with_columns(pl.coalesce("value", "code").alias("value")).drop("code")
    again = spool(recoded, where)
    return again, scales


def _own_codes(words: pl.DataFrame) -> Categories | None:
    """The categories of a table that gives each answer in words and as its code, as this format writes it."""
    codes = words["code"]
    if words.height < 2 or codes.null_count() or not words["coded"].all() or codes.is_duplicated().any():
        return None
    listed: list[Category | str] = [
        Category(id=answer, value=code)
        for answer, code in words.sort("code").select("answer", "code").iter_rows()
    ]
    return Categories(type="categories", categories=listed)


def _raise_mixed(lazy: pl.LazyFrame, question: str, answer: str, where: str) -> None:
    row = (
        lazy.filter((pl.col("question") == question) & (pl.col("answer") == answer))
        .head(1)
        .collect()
        .row(0, named=True)
    )
    raise InputError(
        f"{where}: the answers to '{question}' are numbers, but rater '{row['rater']}' answered '{answer}' on stimulus"
        f" '{row['stimulus']}'.",
        "Correct the cell, leave it empty where there is no answer, or state the scale with --map scale=….",
    )
