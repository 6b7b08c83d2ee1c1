"""What people typed: texts with personal data are not published until the researcher has decided about each.

They are listed in :mod:`.quarantine`'s file; a text without a decision is left out. Where there are few texts all of them are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.entities import EntitySearch, load_entities
from heartfelt.publishing.anonymity.personal_data import folded, folded_texts, is_telling, merged, personal_data
from heartfelt.publishing.anonymity.quarantine import QUARANTINE, QuarantinedText, read_decisions, write_quarantine
from heartfelt.publishing.anonymity.recognise.rule import Finding
from heartfelt.publishing.anonymity.regions import are_countries, code_of
from heartfelt.publishing.anonymity.roles import COLLECTED, rater_roles, text_questions
from heartfelt.publishing.anonymity.wishes import withheld
from heartfelt.publishing.options import PublishOptions, Texts
from heartfelt.publishing.release import ReleaseStep
from heartfelt.serialization import dumps
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.study.answer import NONE, REJECTED
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
    treatment, step = _treatment(options, len(typed))
    findings = _searched(counts["text"].unique(), names, _countries(draft), load_entities(options.ner))
    decided = read_decisions(options.decisions or private / QUARANTINE, required=options.decisions is not None)
    always = typed if treatment != "search" else set()
    texts: list[QuarantinedText] = []
    for (text,), rows in counts.filter(pl.col("text").is_in([*findings, *always])).group_by(
        "text", maintain_order=True
    ):
        name = f"q_{hashlib.sha256(str(text).encode()).hexdigest()[:16]}"
        decision = "drop" if treatment == "drop" and str(text) in always else decided.by_id.get(name, "")
        where = ", ".join(rows["where"].unique(maintain_order=True).to_list())
        texts.append(
            QuarantinedText(
                id=name,
                text=str(text),
                findings=tuple(findings.get(str(text), ())),
                where=where,
                times=int(rows["times"].sum()),
                decision=decision,
            )
        )
    texts.sort(key=lambda text: not text.findings)
    used = {text.id for text in texts if text.decision} | {text.id for text in decided.in_release}
    if options.decisions is not None and any(decided.by_id.values()) and not used:
        raise InputError(
            f"{options.decisions} decides about no text of this source.",
            "Use the quarantine.csv that was made from it.",
        )
    if treatment != "drop" or decided.in_release:
        write_quarantine(private / QUARANTINE, texts if treatment != "drop" else (), decided.in_release)
    reason = "texts are not published" if treatment == "drop" else _WITHHELD
    return _applied(draft.changed(*step), cells, texts, reason), tuple(texts)


def _treatment(options: PublishOptions, typed: int) -> tuple[Texts, list[ReleaseStep]]:
    """What is done with texts, and the step that says so where the researcher left it open."""
    if options.texts is not None:
        return options.texts, []
    treatment: Texts = "review" if typed <= REVIEWED else "search"
    if not typed:
        return treatment, []
    many = plural(typed, "different text")
    about = {
        "review": f"There {'is' if typed == 1 else 'are'} {many}, few enough to read: each waits for a decision (--texts search"
        " holds back only those in which personal data are found).",
        "search": f"There are {many}, more than {REVIEWED}: only those in which personal data are found wait for a decision"
        " (--texts review holds back all).",
    }[treatment]
    return treatment, [
        ReleaseStep(
            kind="free-text",
            table="texts",
            column=None,
            about=about,
            rows=typed,
            lost=None,
            settings={"texts": treatment},
        )
    ]


def _countries(draft: Draft) -> list[str]:
    """The codes of the countries that raters named, whose phone numbers are recognised too."""
    raters = draft.tables["raters"]
    named = [name for name in raters.columns if are_countries(name)]
    values = {str(value) for name in named for value in raters[name].drop_nulls().unique()}
    return sorted({code for value in values if (code := code_of(value)) is not None})


def _cells(draft: Draft, options: PublishOptions) -> Iterable[TextCell]:
    text_question = pl.col("question").is_in(text_questions(draft.study, "questions"))
    every = pl.lit(True)
    for name in draft.having("ratings", "answer", "first"):
        yield TextCell("ratings", name, text_question)
    contract_columns = {*RATINGS.names, *COLLECTED}
    opened = [name for name in draft.tables["ratings"].columns if name not in contract_columns]
    for name in ("comment", *opened):
        if draft.tables["ratings"].schema.get(name) == pl.String:
            yield TextCell("ratings", name, every)
    for name, role in rater_roles(draft, options).items():
        if role == "text" and draft.tables["raters"].schema[name] == pl.String:
            yield TextCell("raters", name, every, searched_only=name == "reason")
        elif role in {"open", "sensitive"} and draft.tables["raters"].schema[name] == pl.String:
            yield TextCell("raters", name, every, searched_only=True)
    for name in draft.having("fields", "final", "first"):
        closed = {question.id for question in draft.study.asked} - set(text_questions(draft.study, "questions"))
        yield TextCell("fields", name, ~pl.col("field").is_in(sorted(closed)))
    for name in draft.having("adjudications", "answer", "comment"):
        yield TextCell("adjudications", name, text_question if name == "answer" else every)
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
    old, new = list(changed), list(changed.values())
    steps: list[ReleaseStep] = []
    tables: dict[str, pl.DataFrame] = {}
    for cell in cells:
        frame = tables.get(cell.table, draft.tables[cell.table])
        ours = cell.rows & pl.col(cell.column).cast(pl.String).is_in(old)
        count = frame.filter(ours).height
        if not count:
            continue
        text = pl.col(cell.column).replace(old, new)
        frame = frame.with_columns(pl.when(ours).then(text).otherwise(pl.col(cell.column)).alias(cell.column))
        about = (
            f"{plural(count, 'text')} with personal data or without a decision left out, or published without the data."
        )
        if cell.table == "ratings" and cell.column == "answer":
            empty = pl.col("value").is_null() & pl.col("answer").is_null() & cell.rows
            tables["ledger"] = draft.ledger_with(withheld(frame.filter(empty), reason))
            frame = frame.filter(~empty)
        tables[cell.table] = frame
        steps.append(ReleaseStep(kind="free-text", table=cell.table, column=cell.column, about=about, rows=count))
    if draft.having("adjudications", "history"):
        frame = tables.get("adjudications", draft.tables["adjudications"])
        written = [None if text is None else _history(text, lambda t: changed.get(t, t)) for text in frame["history"]]
        if written != frame["history"].to_list():
            tables["adjudications"] = frame.with_columns(pl.Series("history", written, pl.String))
            about = "Texts with personal data or without a decision are left out of the history."
            steps.append(
                ReleaseStep(kind="free-text", table="adjudications", column="history", about=about, rows=frame.height)
            )
    if "ledger" in tables:
        tables["ledger"] = tables["ledger"].with_columns(pl.col("reason").fill_null("(left out)"))
    return draft.changed(*steps, **tables)


def _history(text: str, change: Callable[[str], str | None]) -> str:
    history = AdjudicationHistory.read(text)
    answers = tuple(
        replace(answer, answer=None if answer.answer is None else change(answer.answer)) for answer in history.answers
    )
    decisions = tuple(
        replace(
            decision,
            answer=None if decision.answer is None else change(decision.answer),
            comment=None if decision.comment is None else change(decision.comment),
        )
        for decision in history.decisions
    )
    return dumps(replace(history, answers=answers, decisions=decisions), indent=None)


def _history_texts(draft: Draft) -> list[str]:
    texts: list[str] = []
    if draft.having("adjudications", "history"):
        for text in draft.tables["adjudications"]["history"].drop_nulls():
            history = AdjudicationHistory.read(text)
            answers = [
                *(answer.answer for answer in history.answers),
                *(decision.answer for decision in history.decisions),
            ]
            texts += [text for text in (*answers, *(decision.comment for decision in history.decisions)) if text]
    return texts
