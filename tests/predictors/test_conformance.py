"""What every registered predictor must do. A new predictor is tested by being registered."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import HeartfeltError
from heartfelt.labels import labels
from heartfelt.predictors import (
    PREDICTIONS,
    PREDICTORS,
    Case,
    Predictor,
    Retry,
    Run,
    RunOptions,
    cases,
    predictor_from,
    run,
)
from heartfelt.snapshot import Snapshot
from tests.cases import check_all
from tests.docs import reference
from tests.docs.reference import meanings, settings_pages
from tests.predictors.examples import example
from tests.predictors.servers import serving
from tests.predictors.studies import snapshot

every_predictor = check_all("name", PREDICTORS.names())
QUICK = RunOptions(retry=Retry(retries=1, first_wait=0.01, longest_wait=0.02), timeout=120)


@dataclass(frozen=True)
class Subject:
    """A predictor made as its class's own example says, what it is asked about, and what it said first."""

    predictor: Predictor
    data: Snapshot
    first: Run


@pytest.fixture(scope="module", params=PREDICTORS.names())
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    name, folder = str(request.param), tmp_path_factory.mktemp("predictor")
    data = snapshot(folder / "study", 4)
    (folder / "example").mkdir()
    with serving() as server:
        argument = server.url if name == "endpoint" else example(name, folder / "example")
        with predictor_from(f"{name}:{argument}" if argument else name) as predictor:
            predictor.learn(data, labels(data).table)
            yield Subject(predictor, data, run(predictor, cases(data), None, QUICK))


def said(done: Run) -> pl.DataFrame:
    return done.table.drop("seconds", "attempts").drop("call", strict=False).sort("stimulus", "question")


@every_predictor
def test_it_says_what_it_is(name: str) -> None:
    kind = PREDICTORS[name]
    assert kind.name == name
    assert kind.about
    assert not kind.about.endswith(".")
    assert all(words for words in kind.options.values())


def it_answers_every_item_or_says_why_not(subject: Subject) -> None:
    table, counts = subject.first.table, subject.first.counts
    PREDICTIONS.check(table, subject.predictor.name)
    assert table.select("stimulus", "question").rows() == [
        (case.stimulus, ask.question) for case in cases(subject.data) for ask in case.asks
    ]
    answered = pl.any_horizontal(pl.col("value", "score", "answer", "shares").is_not_null())
    assert table.filter(pl.col("ok") & ~answered).is_empty()
    assert table.filter(pl.col("ok") == pl.col("problem").is_not_null()).is_empty()
    assert counts["answered"] + counts["failed"] == counts["items"] == 12
    for problem in table["problem"].drop_nulls():
        assert problem.strip()
        assert "\n" not in problem
    codes = table.filter((pl.col("question") == "mood") & pl.col("value").is_not_null())["value"]
    assert set(codes) <= {0.0, 1.0, 2.0}


def asked_again_in_another_order_it_says_the_same(subject: Subject) -> None:
    again = run(subject.predictor, cases(subject.data)[::-1], None, QUICK)
    assert said(again).equals(said(subject.first))


def a_question_by_itself_gets_the_same_answer(subject: Subject) -> None:
    """A batch is a matter of speed, never of what is said."""
    alone = run(subject.predictor, cases(subject.data, ["valence"]), None, QUICK)
    assert said(alone).equals(said(subject.first).filter(pl.col("question") == "valence"))


@pytest.mark.slow
def test_it_survives_travelling(subject: Subject) -> None:
    with pickle.loads(pickle.dumps(subject.predictor)) as again:
        assert isinstance(again, Predictor)
        assert again.identity == subject.predictor.identity
        assert again.spec == subject.predictor.spec
        assert said(run(again, cases(subject.data), None, QUICK)).equals(said(subject.first))


def it_asks_for_media_only_if_it_needs_them(subject: Subject) -> None:
    bare = [
        Case(
            stimulus=case.stimulus,
            asks=case.asks,
            media=None,
            system=case.system,
            intent=case.intent,
            prompt=case.prompt,
            facts=case.facts,
        )
        for case in cases(subject.data)
    ]
    done = run(subject.predictor, bare, None, QUICK)
    if subject.predictor.needs_media:
        assert set(done.table["problem"].str.slice(0, 25)) == {"the media file is missing"}
        assert done.table["attempts"].sum() == 0
    else:
        assert said(done).equals(said(subject.first))


def it_answers_no_cases_at_all(subject: Subject) -> None:
    assert list(subject.predictor.predict([])) == []


def its_identity_is_one_line_that_stays(subject: Subject) -> None:
    assert subject.predictor.identity
    assert "\n" not in subject.predictor.identity
    assert subject.predictor.identity == subject.first.identity


CONFORMANCE = (
    it_answers_every_item_or_says_why_not,
    asked_again_in_another_order_it_says_the_same,
    a_question_by_itself_gets_the_same_answer,
    it_asks_for_media_only_if_it_needs_them,
    it_answers_no_cases_at_all,
    its_identity_is_one_line_that_stays,
)


@check_all("check", CONFORMANCE)
def test_it_does_what_every_predictor_must(check: Callable[[Subject], None], subject: Subject) -> None:
    check(subject)


@every_predictor
def test_unknown_options_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(HeartfeltError, match=f"'{name}' has no option 'nonsense'"):
        predictor_from(f"{name}[nonsense=1]:x")


@every_predictor
def test_it_has_a_section_in_the_docs(name: str) -> None:
    """On the page, and in the generated reference with the meaning of every option."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "predictors.md").read_text(encoding="utf-8")
    sections = {part.splitlines()[0].strip().strip("`"): part for part in text.split("\n## ")[1:]}
    assert name in sections, f"docs/predictors.md has no section '{name}'"
    explained = meanings(reference.sections(settings_pages()["predictors.md"])[name])
    assert set(PREDICTORS[name].options) == explained.keys()
    assert all(len(meaning) > 8 for meaning in explained.values())
