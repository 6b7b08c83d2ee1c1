"""What people typed: texts with personal data are not published until the researcher has decided about each.

They are listed in :mod:`.quarantine`'s file; a text without a decision is left out. Where there are few texts all of them are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.columns.roles import COLLECTED, rater_roles, text_questions
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.generalisation.regions import are_countries, code_of
from heartfelt.publishing.anonymity.recognise.entities import EntitySearch, load_entities
from heartfelt.publishing.anonymity.recognise.personal_data import (
    folded,
    folded_texts,
    is_telling,
    merged,
    personal_data,
)
from heartfelt.publishing.anonymity.recognise.rule import Finding
from heartfelt.publishing.anonymity.texts.quarantine import (
    QUARANTINE,
    QuarantinedText,
    read_decisions,
    write_quarantine,
)
from heartfelt.publishing.anonymity.texts.wishes import withheld
from heartfelt.publishing.options import PublishOptions, Texts
from heartfelt.publishing.release.release import ReleaseStep
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.study.scales.answer import NONE, REJECTED
from heartfelt.tables import RATINGS
from heartfelt.wording import plural

REVIEWED = 200
"""Up to this many different texts a person can read them all, and is asked to."""
_WITHHELD = "the text holds personal data or waits for a decision"


@dataclass(frozen=True, slots=True)
class TextCell:
    """Texts in one column of one table, in the rows that are free text."""

    table: str
    column: str
    rows: pl.Expr
    searched_only: bool = False
    """Whether it is left alone unless it holds personal data, whatever becomes of other texts."""


def quarantine_texts(
    draft: Draft, options: PublishOptions, names: Sequence[str], private: Path
) -> tuple[Draft, tuple[QuarantinedText, ...]]:
    """Search every text; those with personal data, or all, are published only as the researcher decided."""
    cells = list(_cells(draft, options))
    counts = _counted(draft, cells)
    typed = set(counts.filter(~pl.col("searched_only"))["text"].to_list())
    draft, treatment = _treated(draft, options, len(typed))
    findings = _searched(counts["text"].unique(), names, _countries(draft), load_entities(options.ner))
    decided = read_decisions(options.decisions or private / QUARANTINE, required=options.decisions is not None)
    always = typed if treatment != "search" else set()
    texts = _quarantined(counts, findings, always, decided.by_id, drop=treatment == "drop")
    used = {text.id for text in texts if text.decision} | {text.id for text in decided.in_release}
    if options.decisions is not None and any(decided.by_id.values()) and not used:
        raise InputError(
            f"{options.decisions} decides about no text of this source.",
            "Use the quarantine.csv that was made from it.",
        )
    if treatment != "drop" or decided.in_release:
        write_quarantine(private / QUARANTINE, texts if treatment != "drop" else (), decided.in_release)
    reason = "texts are not published" if treatment == "drop" else _WITHHELD
    return _applied(draft, cells, texts, reason), tuple(texts)


def _quarantined(
    counts: pl.DataFrame,
    findings: Mapping[str, Sequence[Finding]],
    always: Set[str],
    decisions: Mapping[str, str],
    *,
    drop: bool,
) -> list[QuarantinedText]:
    """The texts that are not published unless somebody decides so, those with personal data first."""
    waiting = counts.filter(pl.col("text").is_in([*findings, *always]))
    texts = []
    for (text,), rows in waiting.group_by("text", maintain_order=True):
        name = f"q_{hashlib.sha256(str(text).encode()).hexdigest()[:16]}"
        texts.append(
            QuarantinedText(
                id=name,
                text=str(text),
                findings=tuple(findings.get(str(text), ())),
                where=", ".join(rows["where"].unique(maintain_order=True).to_list()),
                times=int(rows["times"].sum()),
                decision="drop" if drop and text in always else decisions.get(name, ""),
            )
        )
    return sorted(texts, key=lambda text: not text.findings)


def _treated(draft: Draft, options: PublishOptions, typed: int) -> tuple[Draft, Texts]:
    """What is done with texts; a step says so where the researcher left it open."""
    if options.texts is not None:
        return draft, options.texts
    treatment: Texts = "review" if typed <= REVIEWED else "search"
    if not typed:
        return draft, treatment
    many = plural(typed, "different text")
    about = {
        "review": f"There {'is' if typed == 1 else 'are'} {many}, few enough to read: each waits for a decision (--texts search"
        " holds back only those in which personal data are found).",
        "search": f"There are {many}, more than {REVIEWED}: only those in which personal data are found wait for a decision"
        " (--texts review holds back all).",
    }[treatment]
    step = ReleaseStep(
        kind="free-text", table="texts", column=None, about=about, rows=typed, settings={"texts": treatment}
    )
    return draft.changed(step), treatment


def _countries(draft: Draft) -> list[str]:
    """The codes of the countries that raters named, whose phone numbers are recognised too."""
    raters = draft.tables["raters"]
    named = [name for name in raters.columns if are_countries(name)]
    values = {str(value) for name in named for value in raters[name].drop_nulls().unique()}
    return sorted({code for value in values if (code := code_of(value)) is not None})


def _cells(draft: Draft, options: PublishOptions) -> Iterator[TextCell]:
    worded = text_questions(draft.study, "questions")
    about_text, every = pl.col("question").is_in(worded), pl.lit(True)
    for name in draft.having("ratings", "answer", "first"):
        yield TextCell("ratings", name, about_text)
    ratings = draft.tables["ratings"].schema
    opened = [name for name in ratings if name not in {*RATINGS.names, *COLLECTED}]
    yield from (TextCell("ratings", name, every) for name in ("comment", *opened) if ratings.get(name) == pl.String)
    for name, role in rater_roles(draft, options).items():
        if role in {"text", "open", "sensitive"} and draft.tables["raters"].schema[name] == pl.String:
            yield TextCell("raters", name, every, searched_only=role != "text" or name == "reason")
    closed = {question.id for question in draft.study.asked} - set(worded)
    for name in draft.having("fields", "final", "first"):
        yield TextCell("fields", name, ~pl.col("field").is_in(sorted(closed)))
    for name in draft.having("adjudications", "answer", "comment"):
        yield TextCell("adjudications", name, about_text if name == "answer" else every)
    yield TextCell("ledger", "reason", every, searched_only=True)


def _counted(draft: Draft, cells: Sequence[TextCell]) -> pl.DataFrame:
    """``text, where, times, searched_only`` of every distinct text in every column."""
    parts = [
        pl.DataFrame(schema={"text": pl.String, "times": pl.UInt32, "where": pl.String, "searched_only": pl.Boolean})
    ]
    for cell in cells:
        texts = draft.tables[cell.table].filter(cell.rows).select(pl.col(cell.column).cast(pl.String).alias("text"))
        texts = texts.filter(pl.col("text").str.strip_chars() != "").filter(~pl.col("text").is_in([NONE, REJECTED]))
        counts = texts.group_by("text").len("times").sort("text")
        where, only = f"{cell.table}.{cell.column}", cell.searched_only
        parts.append(counts.with_columns(pl.lit(where).alias("where"), pl.lit(only).alias("searched_only")))
    for text in _history_texts(draft):
        where = "adjudications.history"
        parts.append(
            pl.DataFrame({"text": [text], "times": [1], "where": [where], "searched_only": [False]}).cast(
                {"times": pl.UInt32}
            )
        )
    return pl.concat(parts)


def _searched(
    texts: pl.Series, names: Sequence[str], regions: Sequence[str], entities: EntitySearch
) -> dict[str, list[Finding]]:
    """The texts that hold personal data, with what and where."""
    telling = sorted({folded(name) for name in names if is_telling(name)})
    mentioned: dict[str, list[str]] = {}
    if telling and texts.len():
        folded_frame = pl.DataFrame({"text": texts, "folded": folded_texts(texts)})
        hits = folded_frame.filter(pl.col("folded").str.contains_any(telling))
        hits = hits.with_columns(pl.col("folded").str.extract_many(telling, overlapping=True).alias("ids"))
        mentioned = {text: sorted(set(ids)) for text, ids in hits.select("text", "ids").iter_rows()}
    out: dict[str, list[Finding]] = {}
    for text in texts.to_list():
        findings = personal_data(text, mentioned.get(text, ()), regions)
        if findings := merged(text, [*findings, *entities(text)]):
            out[text] = findings
    return out


def _applied(draft: Draft, cells: Sequence[TextCell], texts: Sequence[QuarantinedText], reason: str) -> Draft:
    changed = {text.text: text.published for text in texts if text.published != text.text}
    if not changed:
        return draft
    for cell in cells:
        draft = _with_decided_texts(draft, cell, changed, reason)
    if draft.having("adjudications", "history"):
        about = "Texts with personal data or without a decision are left out of the history."
        edited = draft.with_histories(lambda history: _edited(history, lambda text: changed.get(text, text)))
        if not edited["history"].equals(draft.tables["adjudications"]["history"]):
            draft = draft.after("free-text", "adjudications", "history", about, edited)
    return draft


def _with_decided_texts(draft: Draft, cell: TextCell, changed: Mapping[str, str | None], reason: str) -> Draft:
    """With what was decided in place of the texts of a column; ratings that are empty then go to the ledger."""
    frame, text = draft.tables[cell.table], pl.col(cell.column)
    decided = cell.rows & text.cast(pl.String).is_in(list(changed))
    count = frame.filter(decided).height
    if not count:
        return draft
    about = f"{plural(count, 'text')} with personal data or without a decision left out, or published without the data."
    published = text.replace(list(changed), list(changed.values()))
    frame = frame.with_columns(pl.when(decided).then(published).otherwise(text).alias(cell.column))
    if (cell.table, cell.column) == ("ratings", "answer"):
        empty = pl.col("value").is_null() & pl.col("answer").is_null() & cell.rows
        draft = draft.changed(ledger=draft.ledger_with(withheld(frame.filter(empty), reason)))
        frame = frame.filter(~empty)
    if cell.table == "ledger":
        frame = frame.with_columns(pl.col("reason").fill_null("(left out)"))
    return draft.after("free-text", cell.table, cell.column, about, frame, rows=count)


def _edited(history: AdjudicationHistory, change: Callable[[str], str | None]) -> AdjudicationHistory:
    def edited(text: str | None) -> str | None:
        return None if text is None else change(text)

    answers = tuple(replace(answer, answer=edited(answer.answer)) for answer in history.answers)
    decisions = tuple(
        replace(decision, answer=edited(decision.answer), comment=edited(decision.comment))
        for decision in history.decisions
    )
    return replace(history, answers=answers, decisions=decisions)


def _history_texts(draft: Draft) -> list[str]:
    texts: list[str | None] = []
    for history in draft.histories:
        if history is not None:
            texts += [answer.answer for answer in history.answers]
            texts += [decision.answer for decision in history.decisions]
            texts += [decision.comment for decision in history.decisions]
    return [text for text in texts if text]
