"""Which cells of a study are texts that somebody typed, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.texts.quarantine import QUARANTINE, QuarantinedText
from heartfelt.publishing.anonymity.texts.texts import quarantine_texts
from heartfelt.publishing.options import PublishOptions
from heartfelt.serialization import dumps
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.adjudications import AdjudicationHistory, EarlierDecision, ShownAnswer
from heartfelt.study import parse_study
from heartfelt.study.scales.answer import NONE
from tests.publishing.test_publish import small

MAIL = "write to a.b@example.org"
WORDS = """
name: typed
scales:
  v: {type: points, points: 9}
  w: {type: text}
questions:
  - {id: valence, text: "How pleasant?", scale: v}
  - {id: words, text: Describe it, scale: w}
after:
  - {id: guess, text: What was it about?, scale: w}
"""


def typed() -> Draft:
    """A study with a text in every place that can hold one."""
    base = small(3, 2)
    study = parse_study(WORDS)
    answers = pl.DataFrame(
        {
            "rater": ["person-000", "person-001", "person-002"],
            "stimulus": ["s0"] * 3,
            "question": ["words"] * 3,
            "answer": [MAIL, "calm", NONE],
            "comment": [None, f"{MAIL}!", "  "],
            "remark": ["red", f"{MAIL}?", "red"],
        }
    )
    ratings = pl.concat([base.ratings, answers], how="diagonal_relaxed")
    raters = pl.DataFrame(
        {
            "rater": ["person-000", "person-001", "person-002"],
            "after_guess": ["feelings", f"{MAIL}.", None],
            "reason": ["done", f"left, {MAIL}", None],
            "town": ["Ulm", f"Bonn {MAIL}", "Ulm"],
        }
    )
    history = AdjudicationHistory(
        (ShownAnswer(rater="person-001", answer=f"seen {MAIL}"), ShownAnswer(rater="person-000", value=3.0)),
        decisions=(EarlierDecision(at=1.0, by="senior", answer="old", comment=f"why {MAIL}"),),
    )
    adjudications = pl.DataFrame(
        {
            "stimulus": ["s0", "s0"],
            "question": ["words", "valence"],
            "value": [None, 3.0],
            "answer": ["agreed", None],
            "by": ["senior", "senior"],
            "comment": ["sure", f"ask {MAIL}"],
            "history": [dumps(history, indent=None), None],
        },
        schema_overrides={"value": pl.Float64},
    )
    ledger = pl.DataFrame({"stage": ["screen"], "what": ["rater"], "reason": [f"said {MAIL}"]})
    return Draft.of(
        Snapshot.build(
            study, stimuli=base.stimuli, ratings=ratings, raters=raters, adjudications=adjudications, ledger=ledger
        )
    )


def held(folder: Path, **options: object) -> tuple[Draft, dict[str, QuarantinedText]]:
    folder.mkdir(exist_ok=True)
    opened = PublishOptions(**{"open": ("town", "remark"), **options})  # type: ignore[arg-type]  # by name
    draft, texts = quarantine_texts(typed(), opened, [], folder)
    return draft, {each.text: each for each in texts}


def test_every_place_is_searched_and_only_there(tmp_path: Path) -> None:
    draft, texts = held(tmp_path / "p", texts="search")
    assert {text: each.where for text, each in texts.items()} == {
        MAIL: "ratings.answer",
        f"{MAIL}!": "ratings.comment",
        f"{MAIL}?": "ratings.remark",
        f"{MAIL}.": "raters.after_guess",
        f"left, {MAIL}": "raters.reason",
        f"Bonn {MAIL}": "raters.town",
        f"ask {MAIL}": "adjudications.comment",
        f"seen {MAIL}": "adjudications.history",
        f"why {MAIL}": "adjudications.history",
        f"said {MAIL}": "ledger.reason",
    }
    assert {each.times for each in texts.values()} == {1}
    readable = "".join(str(frame.to_dicts()) for frame in draft.tables.values())
    assert "example.org" not in readable
    for kept in ("calm", "red", "feelings", "done", "Ulm", "agreed", "old"):
        assert kept in readable
    assert "(left out)" in draft.tables["ledger"]["reason"].to_list()
    assert {(step.table, step.column, step.rows) for step in draft.steps} == {
        ("ratings", "answer", 1),
        ("ratings", "comment", 1),
        ("ratings", "remark", 1),
        ("raters", "after_guess", 1),
        ("raters", "reason", 1),
        ("raters", "town", 1),
        ("adjudications", "comment", 1),
        ("adjudications", "history", 2),
        ("ledger", "reason", 1),
    }


def test_an_answer_that_is_left_out_is_a_row_of_the_ledger(tmp_path: Path) -> None:
    draft, _ = held(tmp_path / "p", texts="search")
    ratings = draft.tables["ratings"]
    assert ratings.filter(pl.col("question") == "words").height == 2
    assert ratings.filter(pl.col("question") == "valence").height == 6
    reasons = draft.tables["ledger"].filter(pl.col("stage") == "publish")["reason"].to_list()
    assert reasons == ["the text holds personal data or waits for a decision"]


def test_review_holds_back_what_people_typed_but_not_facts_and_reasons(tmp_path: Path) -> None:
    _, texts = held(tmp_path / "p", texts="review")
    clean = {text for text, each in texts.items() if not each.findings}
    assert clean == {"calm", "red", "feelings", "agreed", "old", "sure"}
    assert texts["red"].times == 2
    assert next(iter(texts.values())).findings, "those with personal data come first"
    draft, dropped = held(tmp_path / "d", texts="drop")
    assert {each.decision for each in dropped.values()} == {"drop", ""}
    assert not dropped[f"Bonn {MAIL}"].decision
    assert dropped["calm"].decision == "drop"
    assert "texts are not published" in draft.tables["ledger"]["reason"].to_list()


def test_decisions_of_a_file_are_used_and_a_strangers_is_refused(tmp_path: Path) -> None:
    held(tmp_path / "p", texts="search")
    table = pl.read_csv(tmp_path / "p" / QUARANTINE, infer_schema=False)
    table.with_columns(pl.lit("redact").alias("decision")).write_csv(tmp_path / "mine.csv")
    draft, texts = held(tmp_path / "q", texts="search", decisions=tmp_path / "mine.csv")
    assert {each.decision for each in texts.values()} == {"redact"}
    assert "write to [e-mail]" in draft.tables["ratings"]["answer"].to_list()
    assert "write to [e-mail]!" in draft.tables["ratings"]["comment"].to_list()
    assert "seen write to [e-mail]" in draft.tables["adjudications"]["history"][0]
    table.with_columns(pl.lit("redact").alias("decision"), pl.lit("q_0").alias("id")).write_csv(tmp_path / "other.csv")
    with pytest.raises(InputError, match="decides about no text"):
        held(tmp_path / "r", texts="search", decisions=tmp_path / "other.csv")
    (tmp_path / "stale").mkdir()
    (tmp_path / "other.csv").rename(tmp_path / "stale" / QUARANTINE)
    _, undecided = held(tmp_path / "stale", texts="search")
    assert not any(each.decision for each in undecided.values()), "an old file of one's own is no mistake"
    table.with_columns(pl.lit("q_0").alias("id")).write_csv(tmp_path / "empty.csv")
    _, undecided = held(tmp_path / "r", texts="search", decisions=tmp_path / "empty.csv")
    assert not any(each.decision for each in undecided.values())


def test_answers_by_number_are_no_texts(tmp_path: Path) -> None:
    """Also where an adjudicated one is written into the column of answers."""
    draft = typed()
    decided = draft.tables["adjudications"].with_columns(answer=pl.Series(["agreed", "three"]))
    options = PublishOptions(texts="review")
    public, texts = quarantine_texts(draft.changed(adjudications=decided), options, [], tmp_path)
    assert "agreed" in {each.text for each in texts}
    assert "three" not in {each.text for each in texts}
    assert public.tables["adjudications"]["answer"].to_list() == [None, "three"]
