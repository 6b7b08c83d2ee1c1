"""What raters asked for: answers or comments that they do not want to be shared are left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.formats.delimited import read_delimited
from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, Draft
from heartfelt.publishing.anonymity.roles import rater_roles, text_questions, wish_columns
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release import ReleaseStep, StepKind
from heartfelt.serialization import dumps
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.snapshot.comparisons import has_sets
from heartfelt.tables import need_columns
from heartfelt.wording import plural

_YES = ("yes", "true", "1", "1.0")
WITHHELD = "the rater asked that it not be shared"


def honour_wishes(draft: Draft, options: PublishOptions) -> Draft:
    """Leave out what raters do not want to be shared: everything of theirs, or every text that they typed."""
    raters = draft.tables["raters"]
    wishes = wish_columns(draft.study, raters.columns)
    asking: dict[str, set[str]] = {"answers": set(), "comments": set()}
    for column, wish in wishes.items():
        yes = raters[column].cast(pl.String).str.to_lowercase().is_in(_YES).fill_null(False)
        asking[wish] |= set(raters["rater"].filter(yes).to_list())
    if asking["answers"]:
        about = f"{plural(len(asking['answers']), 'rater')} asked that their answers not be shared."
        draft = without_people(
            draft, sorted(asking["answers"]), "wishes", about, "asked that the answers not be shared", counted=True
        )
    comments = sorted(asking["comments"] - asking["answers"])
    return _without_texts(draft, comments, options) if comments else draft


def without_people(
    draft: Draft, people: list[str], kind: StepKind, about: str, reason: str, *, counted: bool = False
) -> Draft:
    """Without these people, in any table; the ledger says for each of them why, and where ``counted`` how many ratings."""
    tables: dict[str, pl.DataFrame] = {}
    steps: list[ReleaseStep] = []
    counts = draft.tables["ratings"].filter(pl.col("rater").is_in(people))["rater"].value_counts()
    for table, column in PERSON_COLUMNS:
        if table == "adjudications" or not draft.having(table, column):
            continue
        frame = draft.tables[table]
        tables[table] = frame.filter(~pl.col(column).is_in(people).fill_null(False))
        removed = frame.height - tables[table].height
        if removed:
            steps.append(ReleaseStep(kind=kind, table=table, column=None, about=about, rows=removed))
    tables |= _without_shown(draft, people)
    rated = dict(counts.iter_rows())
    rows = [
        {"what": "rater", "reason": f"{reason} ({plural(rated.get(name, 0), 'rating')})" if counted else reason}
        for name in people
    ]
    changed = draft.changed(*steps, **tables)
    if not rows:
        return changed
    return changed.changed(ledger=changed.ledger_with(pl.DataFrame(rows)))


def _without_shown(draft: Draft, people: list[str]) -> dict[str, pl.DataFrame]:
    """Histories of decisions without the answers of these people; they count as erased."""
    if not draft.having("adjudications", "history"):
        return {}
    frame = draft.tables["adjudications"]
    texts: list[str | None] = []
    for text in frame["history"]:
        history = None if text is None else AdjudicationHistory.read(text)
        if history is not None:
            shown = tuple(answer for answer in history.answers if answer.rater not in people)
            erased = history.erased + len(history.answers) - len(shown)
            texts.append(dumps(replace(history, answers=shown, erased=erased), indent=None))
        else:
            texts.append(None)
    return {"adjudications": frame.with_columns(pl.Series("history", texts, pl.String))}


def _without_texts(draft: Draft, people: list[str], options: PublishOptions) -> Draft:
    theirs = pl.col("rater").is_in(people)
    about = f"{plural(len(people), 'rater')} asked that their comments not be shared."
    steps: list[ReleaseStep] = []
    raters, ratings = draft.tables["raters"], draft.tables["ratings"]
    roles = rater_roles(draft, options)
    texts = [name for name, role in roles.items() if role == "text" and name != "reason"]
    for name in texts:
        raters = raters.with_columns(pl.when(~theirs).then(name).alias(name))
        steps.append(ReleaseStep(kind="wishes", table="raters", column=name, about=about, rows=len(people)))
    for name in draft.having("ratings", "comment", "first"):
        steps.append(
            ReleaseStep(
                kind="wishes", table="ratings", column=name, about=about, rows=ratings.filter(theirs)[name].count()
            )
        )
        ratings = ratings.with_columns(pl.when(~theirs).then(name).alias(name))
    written = theirs & pl.col("question").is_in(text_questions(draft.study, "questions"))
    left_out = ratings.filter(written) if not has_sets(ratings) else ratings.clear()
    ledger = draft.tables["ledger"]
    if left_out.height:
        ratings = ratings.filter(~written)
        steps.append(ReleaseStep(kind="wishes", table="ratings", column="answer", about=about, rows=left_out.height))
        ledger = draft.ledger_with(withheld(left_out, WITHHELD))
    fields = draft.tables["fields"]
    if draft.having("fields", "verified_by"):
        kinds = text_questions(draft.study, "questions")
        unwanted = pl.col("verified_by").is_in(people).fill_null(False) & pl.col("field").is_in(kinds)
        removed = fields.filter(unwanted).height
        if removed:
            fields = fields.filter(~unwanted)
            steps.append(ReleaseStep(kind="wishes", table="fields", column=None, about=about, rows=removed))
    return draft.changed(*steps, raters=raters, ratings=ratings, ledger=ledger, fields=fields)


def withheld(ratings: pl.DataFrame, reason: str) -> pl.DataFrame:
    """Rows of the ledger for ratings that are not published."""
    return ratings.select(
        pl.lit("rating").alias("what"), "rater", "stimulus", "question", pl.lit(reason).alias("reason")
    )


# --- people of earlier releases ---------------------------------------------------------------------------------------

PSEUDONYMS = "pseudonyms.csv"


def gone_since(private: Path, people: pl.DataFrame) -> list[ReleaseStep]:
    """A step for people of an earlier release who are not in the source any more, such as those who were erased since."""
    path = private / PSEUDONYMS
    if not path.exists():
        return []
    earlier = read_delimited(path)
    need_columns(earlier.columns, ["pseudonym"], str(path))
    gone = set(earlier["pseudonym"].to_list()) - set(people["pseudonym"].to_list())
    if not gone:
        return []
    about = (
        f"{plural(len(gone), 'person', 'people')} of an earlier release {'is' if len(gone) == 1 else 'are'} not in the source any"
        " more (erased, or left out since) and not in this release. Withdraw the earlier one."
    )
    return [ReleaseStep(kind="wishes", table="raters", column=None, about=about, rows=len(gone))]
