"""What raters asked for: answers or comments that they do not want to be shared are left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.formats.tables.delimited import read_delimited
from heartfelt.publishing.anonymity.columns.roles import rater_roles, text_questions, wish_columns
from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release.release import ReleaseStep, StepKind
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
    rated = dict(draft.tables["ratings"].filter(pl.col("rater").is_in(people))["rater"].value_counts().iter_rows())
    for table, column in PERSON_COLUMNS:
        if table != "adjudications" and draft.having(table, column):
            theirs = pl.col(column).is_in(people).fill_null(False)
            draft = _filtered(draft, kind, table, about, theirs)
    if draft.having("adjudications", "history"):
        draft = draft.changed(adjudications=draft.with_histories(lambda history: _without_shown(history, people)))
    if not people:
        return draft
    reasons = [f"{reason} ({plural(rated.get(name, 0), 'rating')})" if counted else reason for name in people]
    return draft.changed(ledger=draft.ledger_with(pl.DataFrame({"what": ["rater"] * len(people), "reason": reasons})))


def _filtered(draft: Draft, kind: StepKind, table: str, about: str, unwanted: pl.Expr) -> Draft:
    """Without the unwanted rows of a table; a step only if there were any."""
    frame = draft.tables[table]
    wanted = frame.filter(~unwanted)
    if wanted.height == frame.height:
        return draft
    return draft.after(kind, table, None, about, wanted, rows=frame.height - wanted.height)


def _without_shown(history: AdjudicationHistory, people: list[str]) -> AdjudicationHistory:
    """A history without the answers of these people; they count as erased."""
    shown = tuple(answer for answer in history.answers if answer.rater not in people)
    return replace(history, answers=shown, erased=history.erased + len(history.answers) - len(shown))


def _without_texts(draft: Draft, people: list[str], options: PublishOptions) -> Draft:
    theirs = pl.col("rater").is_in(people)
    about = f"{plural(len(people), 'rater')} asked that their comments not be shared."
    questions = text_questions(draft.study, "questions")
    for name, role in rater_roles(draft, options).items():
        if role == "text" and name != "reason":
            emptied = draft.with_values("raters", **{name: pl.when(~theirs).then(name)})
            draft = draft.after("wishes", "raters", name, about, emptied, rows=len(people))
    for name in draft.having("ratings", "comment", "first"):
        rows = draft.tables["ratings"].filter(theirs)[name].count()
        emptied = draft.with_values("ratings", **{name: pl.when(~theirs).then(name)})
        draft = draft.after("wishes", "ratings", name, about, emptied, rows=rows)
    ratings, written = draft.tables["ratings"], theirs & pl.col("question").is_in(questions)
    if not has_sets(ratings) and (left_out := ratings.filter(written)).height:
        ledger = draft.ledger_with(withheld(left_out, WITHHELD))
        remaining = ratings.filter(~written)
        draft = draft.after("wishes", "ratings", "answer", about, remaining, rows=left_out.height).changed(
            ledger=ledger
        )
    if draft.having("fields", "verified_by"):
        unwanted = pl.col("verified_by").is_in(people).fill_null(False) & pl.col("field").is_in(questions)
        draft = _filtered(draft, "wishes", "fields", about, unwanted)
    return draft


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
