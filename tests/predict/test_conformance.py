"""What every registered predictor must do. A new predictor is tested by being registered."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import HeartfeltError
from heartfelt.label import labels
from heartfelt.predict import (
    PREDICTIONS,
    PREDICTORS,
    Case,
    Predictor,
    Retry,
    RunOptions,
    cases,
    predictor_from,
    run,
)
from heartfelt.snapshot import Snapshot
from tests.predict.servers import serving
from tests.predict.studies import snapshot

every_predictor = pytest.mark.parametrize("name", PREDICTORS.names())
QUICK = RunOptions(retry=Retry(1, 0.01, 0.02), timeout=60)


@pytest.fixture
def data(tmp_path: Path) -> Snapshot:
    return snapshot(tmp_path / "study", 6)


@pytest.fixture
def made(name: str, data: Snapshot, tmp_path: Path) -> Iterator[Predictor]:
    """An instance as the registered class's own example describes it; a server for the one that needs it."""
    (tmp_path / "example").mkdir()
    with serving() as server:
        argument = server.url if name == "endpoint" else PREDICTORS[name].example(tmp_path / "example")
        with predictor_from(f"{name}:{argument}" if argument else name) as predictor:
            predictor.learn(data, labels(data).table)
            yield predictor


@every_predictor
def test_it_says_what_it_is(name: str) -> None:
    kind = PREDICTORS[name]
    assert kind.name == name
    assert kind.about
    assert not kind.about.endswith(".")
    assert all(words for words in kind.options.values())


@every_predictor
def test_it_answers_every_item_or_says_why_not(name: str, made: Predictor, data: Snapshot) -> None:
    asked = cases(data)
    done = run(made, asked, None, QUICK)
    PREDICTIONS.check(done.table, name)
    assert done.table.select("stimulus", "question").rows() == [
        (case.stimulus, ask.question) for case in asked for ask in case.asks
    ]
    said = pl.any_horizontal(pl.col("value", "score", "answer", "shares").is_not_null())
    assert done.table.filter(pl.col("ok") & ~said).is_empty()
    assert done.table.filter(pl.col("ok") == pl.col("problem").is_not_null()).is_empty()
    assert done.counts["answered"] + done.counts["failed"] == done.counts["items"] == 18
    for problem in done.table["problem"].drop_nulls():
        assert problem.strip()
        assert "\n" not in problem
    values = done.table.filter((pl.col("question") == "mood") & pl.col("value").is_not_null())["value"]
    assert set(values) <= {0.0, 1.0, 2.0}


@every_predictor
def test_asked_again_it_says_the_same(name: str, made: Predictor, data: Snapshot, tmp_path: Path) -> None:
    one, two = (run(made, cases(data), None, QUICK).table.drop("seconds", "attempts") for _ in range(2))
    assert one.equals(two)


@every_predictor
def test_the_order_of_the_cases_does_not_matter(name: str, made: Predictor, data: Snapshot) -> None:
    asked = cases(data)
    there = run(made, asked, None, QUICK).table.drop("seconds", "attempts").sort("stimulus", "question")
    back = run(made, asked[::-1], None, QUICK).table.drop("seconds", "attempts").sort("stimulus", "question")
    assert there.equals(back)


@every_predictor
def test_each_question_by_itself_gets_the_same_answer(name: str, made: Predictor, data: Snapshot) -> None:
    """A batch is a matter of speed, never of what is said."""
    together = run(made, cases(data), None, QUICK).table
    for question in ("valence", "mood"):
        alone = run(made, cases(data, [question]), None, QUICK).table
        same = together.filter(pl.col("question") == question)
        assert alone.drop("seconds", "attempts").equals(same.drop("seconds", "attempts")), question


@every_predictor
def test_it_survives_travelling(name: str, made: Predictor, data: Snapshot) -> None:
    with pickle.loads(pickle.dumps(made)) as again:
        assert isinstance(again, Predictor)
        assert again.identity == made.identity
        assert again.asked == made.asked
        one, two = (run(p, cases(data), None, QUICK).table.drop("seconds", "attempts") for p in (made, again))
    assert one.equals(two)


@every_predictor
def test_it_asks_for_media_only_if_it_needs_them(name: str, made: Predictor, data: Snapshot) -> None:
    bare = [Case(c.stimulus, c.asks, None, c.system, c.intent, c.prompt, c.facts) for c in cases(data)]
    done = run(made, bare, None, QUICK)
    if made.needs_media:
        assert set(done.table["problem"].str.slice(0, 29)) == {"the media file is not at hand"}
        assert done.table["attempts"].sum() == 0


@every_predictor
def test_it_answers_no_questions_at_all(name: str, made: Predictor, data: Snapshot) -> None:
    assert [list(found) for found in made.predict([])] == []


@every_predictor
def test_unknown_options_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(HeartfeltError, match=f"'{name}' has no option 'nonsense'"):
        predictor_from(f"{name}[nonsense=1]:x")


@every_predictor
def test_its_identity_is_one_line_that_stays(name: str, made: Predictor) -> None:
    assert made.identity
    assert "\n" not in made.identity
    assert made.identity == made.identity


@every_predictor
def test_it_has_a_section_in_the_docs(name: str) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "predictors.md").read_text(encoding="utf-8")
    sections = {part.splitlines()[0].strip().strip("`"): part for part in text.split("\n## ")[1:]}
    assert name in sections, f"docs/predictors.md has no section '{name}'"
    for option in PREDICTORS[name].options:
        assert f"`{option}`" in sections[name], (
            f"docs/predictors.md does not explain the option '{option}' of {name}"
        )
