"""Asking repeatedly: every repeat is a request of its own, is paid for once, and is combined with the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors import Ask, Case, Prediction, RunOptions, cases, predictor_from, run
from heartfelt.predictors.execution.repeats import combined, self_consistency
from heartfelt.predictors.execution.store import JOURNAL
from heartfelt.predictors.interface.calls import Budget
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags
from tests.facts import mentions
from tests.predictors.runs import QUICK, Scripted, ran, wait_for_lines
from tests.predictors.servers import Reply, Served, good, serving
from tests.predictors.studies import snapshot, texts_case

NINE = Ask(question="q", scale=Points(type="points", points=9), text="", words="")
MOOD = Ask(
    question="q", scale=Categories(type="categories", categories=["joy", "grief", "calm"]), text="", words="", none=True
)
TAGS = Ask(question="q", scale=Tags(type="tags", tags=["a", "b", "c"], open=False), text="", words="")
FAILED = Prediction.failed("it was down")


def words(*names: str) -> list[Prediction]:
    codes = {"joy": 0.0, "grief": 1.0, "calm": 2.0}
    return [Prediction(value=codes.get(name), answer=name) for name in names]


def completed(answer: Any, tokens: int = 100) -> Reply:
    entry = {"answers": answer}
    content = json.dumps({"q1": {"answer": entry["answers"]}})
    body = {
        "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 0},
    }
    return Reply(body=json.dumps(body).encode())


def chat(served: Served, options: str = "temperature=1,input_price=10000,output_price=0") -> str:
    return f"chat[{options},key_from=none]:seer@{served.url.rsplit('/', 1)[0]}/v1"


def test_numbers_are_averaged_with_their_spread() -> None:
    made = combined([Prediction(value=number) for number in (2.0, 4.0, 9.0)], NINE)
    assert (made.value, made.repeats, made.agreement) == (5.0, 3, None)
    assert made.spread == pytest.approx(np.std([2, 4, 9], ddof=1))
    assert made.note == "3 of 3 repeats"
    scores = combined([Prediction(score=number, low=number - 1) for number in (0.2, 0.4)], NINE)
    assert scores.score == pytest.approx(0.3)
    assert scores.low == pytest.approx(-0.7)


def test_the_majority_is_the_answer_and_ties_go_to_the_smallest_code() -> None:
    made = combined(words("grief", "joy", "grief"), MOOD)
    assert (made.answer, made.value, made.repeats) == ("grief", 1.0, 3)
    assert made.agreement == pytest.approx(2 / 3)
    assert made.shares == {"grief": 2 / 3, "joy": 1 / 3}
    assert combined(words("calm", "grief"), MOOD).answer == "grief"
    assert combined(words("grief", "calm", "calm", "grief"), MOOD).answer == "grief"


def test_none_is_an_answer_of_its_own() -> None:
    assert combined(words(NONE, NONE, "joy"), MOOD).answer == NONE
    assert combined(words(NONE, "joy"), MOOD).answer == "joy"


def test_tags_are_kept_by_majority() -> None:
    made = combined([Prediction(answer=text) for text in ("a;b", "a;c", "a;b")], TAGS)
    assert (made.answer, made.agreement) == ("a;b", 2 / 3)
    assert made.shares == {"a": 1.0, "b": 2 / 3, "c": 1 / 3}
    nothing = combined([Prediction(answer=text) for text in ("a", "b", "c")], TAGS)
    assert mentions(nothing.problem, "tag", "repeats")


def test_texts_sets_and_traces() -> None:
    text = Ask(question="q", scale=FreeText(type="text"), text="", words="")
    made = combined([Prediction(answer="a sea"), Prediction(answer="a lake")], text)
    assert (made.answer, made.agreement) == ("a sea", None)
    pair = [Prediction(members={"x": a, "y": 1 - a}, orders=(a, a)) for a in (1.0, 1.0, 0.0)]
    made = combined(pair, NINE)
    assert made.members == {"x": 2 / 3, "y": 1 / 3}
    assert (made.orders, made.agreement) == ((2 / 3, 2 / 3), 2 / 3)
    traces = [
        Prediction(value=2.0, samples=(1.0, None, 3.0), rate=1.0),
        Prediction(value=4.0, samples=(3.0, 4.0, 5.0), rate=1.0),
    ]
    made = combined(traces, NINE)
    assert (made.samples, made.value) == ((2.0, 4.0, 4.0), 3.0)


def test_ordered_categories_without_words_are_numbers() -> None:
    ask = Ask(question="q", scale=Ordered(type="ordered", categories=["a", "b", "c"]), text="", words="")
    assert combined([Prediction(value=0.4), Prediction(value=1.2)], ask).value == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([FAILED] * 3, "3 of 3 repeats failed, most often: it was down"),
        ([FAILED, FAILED, Prediction(value=3.0)], "2 of 3 repeats failed, most often: it was down"),
        ([FAILED, Prediction(value=3.0)], None),
        ([Prediction(value=3.0), Prediction.failed("not asked: the budget"), Prediction.failed("not asked: x")], None),
        ([Prediction.failed("not asked: the budget")] * 2, "not asked: the budget"),
        ([FAILED, Prediction.failed("not asked: x")], "it was down"),
    ],
)
def test_more_than_half_must_answer(answers: list[Prediction], problem: str | None) -> None:
    made = combined(answers, NINE)
    assert made.problem == problem
    assert (made.value is None) == (problem is not None)


def test_every_repeat_is_a_request_of_its_own(tmp_path: Path) -> None:
    numbers = iter([3, 5, 7, 4, 4, 4])
    asked = cases(snapshot(tmp_path / "s", 2), ["valence"])
    with serving(lambda *_: completed(next(numbers))) as served:
        spec = chat(served, "temperature=1,seed=40,version=1")
        options = RunOptions(at_once=1, repeats=3, cache=tmp_path / "cache.sqlite")
        done = ran(spec, asked, tmp_path / "run", options)
        assert sorted(request["seed"] for request in served.requests) == [40, 40, 41, 41, 42, 42]
        # First repeats come first, so that whatever ends a run early ends it after whole rounds.
        assert done.table["value"].to_list() == [pytest.approx((3 + 7 + 4) / 3), pytest.approx((5 + 4 + 4) / 3)]
        assert done.table["repeats"].to_list() == [3, 3]
        assert done.table["attempts"].to_list() == [3, 3]
        assert done.counts["items"] == done.counts["answered"] == 2
        assert done.repeated is not None
        assert pl.read_parquet(tmp_path / "run" / "repeats.parquet").equals(done.repeated)
        assert done.repeated.select("repeat", "value").rows() == [(0, 3), (1, 7), (2, 4), (0, 5), (1, 4), (2, 4)]
        assert done.calls is not None
        assert sorted(done.calls["repeat"]) == [0, 0, 1, 1, 2, 2]
        # Another folder: every repeat has an answer in the cache.
        again = ran(spec, asked, tmp_path / "other", options)
        assert (len(served.requests), again.counts["cached"]) == (6, 6)
        assert again.table.drop("seconds", "attempts").equals(done.table.drop("seconds", "attempts"))


def test_more_repeats_later_ask_only_for_those(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(path, ["one"]) for path in clips[:4]]
    with serving() as served:
        spec, folder = f"endpoint:{served.url}", tmp_path / "run"
        single = ran(spec, asked, folder)
        assert single.repeated is None
        assert "repeats" not in single.table.columns
        assert len(served.requests) == 4
        done = ran(spec, asked, folder, RunOptions(repeats=3))
        assert (len(served.requests), done.counts["kept"]) == (12, 4)
        assert ran(spec, asked, folder, RunOptions(repeats=2)).counts["kept"] == 8
        assert len(served.requests) == 12
        assert done.table["score"].to_list() == pytest.approx(single.table["score"].to_list())
        assert done.table["spread"].to_list() == [0.0] * 4


def test_a_failed_repeat_alone_is_asked_again(clips: list[Path], tmp_path: Path) -> None:
    def behave(request: dict[str, Any], count: int) -> Reply:
        return Reply(422, b"no") if count == 2 else good(request, count)

    asked = [texts_case(path, ["one"]) for path in clips[:3]]
    with serving(behave) as served:
        spec, folder = f"endpoint:{served.url}", tmp_path / "run"
        done = ran(spec, asked, folder, RunOptions(repeats=3, at_once=1))
        assert done.table["repeats"].to_list() == [2, 2, 2]
        assert len(served.requests) == 9
        done = ran(spec, asked, folder, RunOptions(repeats=3, at_once=1))
        assert (len(served.requests), done.table["repeats"].to_list()) == (12, [3, 3, 3])


@pytest.mark.slow
def test_killed_in_the_middle_no_repeat_is_paid_twice(clips: list[Path], tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from heartfelt.predictors import predictor_from, run, RunOptions\n"
        "from tests.predictors.studies import texts_case\n"
        "clips = sorted(Path(sys.argv[2]).iterdir())[:8]\n"
        "run(predictor_from('endpoint:' + sys.argv[1]), [texts_case(p, ['one']) for p in clips], Path(sys.argv[3]),"
        " RunOptions(at_once=1, repeats=3))\n"
    )

    def slow(request: dict[str, Any], count: int) -> Reply:
        return Reply(wait=0.05, body=good(request, count).body)

    folder = tmp_path / "run"
    with serving(slow) as served:
        root = Path(__file__).resolve().parents[2]
        process = subprocess.Popen(
            [sys.executable, "-c", code, served.url, str(clips[0].parent), str(folder)], cwd=root
        )
        wait_for_lines(folder / JOURNAL, 10)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        retained = (folder / JOURNAL).read_bytes().count(b"\n")
        assert 10 <= retained < 24
        served.requests.clear()
        asked = [texts_case(path, ["one"]) for path in clips[:8]]
        done = ran(f"endpoint:{served.url}", asked, folder, RunOptions(repeats=3))
        assert len(served.requests) == 24 - retained
    assert done.table["repeats"].to_list() == [3] * 8


def test_a_budget_pays_first_repeats_first_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    """A request costs 1: a budget of 5 pays both first repeats, both second ones, and one third."""
    asked = cases(snapshot(tmp_path / "s", 2), ["valence"])
    with serving(lambda *_: completed(5)) as served:
        for limit, requests, repeats in ((2, 2, [1, 1]), (5, 5, [3, 2]), (6, 6, [3, 3])):
            done = ran(
                chat(served), asked, tmp_path / "run", RunOptions(repeats=3, at_once=1, budget=Budget(limit=limit))
            )
            assert (len(served.requests), done.table["repeats"].to_list()) == (requests, repeats)
            assert done.table["ok"].all()


def test_functions_are_told_which_repeat_it_is(tmp_path: Path) -> None:
    data = snapshot(tmp_path / "s", 2)

    def sometimes(stimulus: str, repeat: int) -> float:
        return 3.0 + repeat

    with predictor_from(sometimes) as predictor:
        done = run(predictor, cases(data, ["valence"]), options=RunOptions(repeats=3))
    assert done.table["value"].to_list() == [4.0, 4.0]
    assert done.table["spread"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize("spec", ["constant:5", "sham", "system-mean"])
def test_what_never_varies_is_not_repeated(spec: str, tmp_path: Path) -> None:
    data = snapshot(tmp_path / "s", 4)
    with pytest.raises(InputError, match=r"answer.*however"):
        ran(spec, cases(data, ["valence"]), None, RunOptions(repeats=2))
    with pytest.raises(InputError, match="repeats must be above 0"):
        RunOptions(repeats=0)


def test_both_orders_of_a_pair_are_asked_in_every_repeat() -> None:
    seen: Counter[int] = Counter()

    class Varying(Scripted):
        cacheable = False

    def say(case: Case, _: int) -> list[Prediction]:
        seen[case.repeat] += 1
        return [Prediction(value=float(case.repeat))]

    ask = Ask(question="q", scale=Numeric(type="numeric"), text="", words="")
    done = run(
        Varying(say),
        [Case(stimulus="a", asks=(ask,)), Case(stimulus="b", asks=(ask,))],
        None,
        RunOptions(repeats=3, retry=QUICK),
    )
    assert seen == {0: 2, 1: 2, 2: 2}
    assert done.table["value"].to_list() == [1.0, 1.0]


# --- self-consistency -------------------------------------------------------------------------------------------------


def repeats_of(draw: Callable[[int, int], dict[str, Any]], items: int, repeats: int) -> pl.DataFrame:
    rows = [
        {"stimulus": f"s{item}", "question": "q", "repeat": repeat, "value": None, "answer": None, "ok": True}
        | draw(item, repeat)
        for item in range(items)
        for repeat in range(repeats)
    ]
    schema = {
        "stimulus": pl.String,
        "question": pl.String,
        "repeat": pl.Int64,
        "value": pl.Float64,
        "answer": pl.String,
        "ok": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema)


def test_self_consistency_recovers_the_truth_and_its_intervals_cover() -> None:
    """Variance 3 between items and 1 between repeats: ICC .75, SD 1. Coverage of 95% intervals within binomial error."""
    generator = np.random.default_rng(7)
    hits, values = np.zeros(2), []
    rounds = 300
    for _ in range(rounds):
        truth = generator.normal(0, np.sqrt(3), 30)
        noise = generator.normal(0, 1, (30, 4))
        found = self_consistency(
            repeats_of(lambda item, repeat: {"value": truth[item] + noise[item, repeat]}, 30, 4)  # noqa: B023  # called at once
        )["q"]
        pair = (found.between_items, found.repeat_sd)
        for place, (estimate, true) in enumerate(zip(pair, (0.75, 1.0), strict=True)):
            assert estimate.low is not None
            assert estimate.high is not None
            hits[place] += estimate.low <= true <= estimate.high
        values.append([estimate.value for estimate in pair])
    assert np.mean(np.asarray(values, float), axis=0) == pytest.approx([0.74, 1.0], abs=0.02)
    assert (np.abs(hits / rounds - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / rounds)).all()


def test_self_consistency_of_numbers_by_hand() -> None:
    """Two items of two repeats each: 1, 3 and 6, 8. Mean squares: 25 between, 2 within."""
    table = repeats_of(lambda item, repeat: {"value": 1.0 + 5 * item + 2 * repeat}, 2, 2)
    found = self_consistency(table)["q"]
    assert found.between_items.value == pytest.approx((25 - 2) / (25 + 2))
    assert found.repeat_sd.value == pytest.approx(np.sqrt(2))
    assert (found.items, found.repeats) == (2, 2.0)
    assert found.same_answer.why_missing == "the answers are numbers"


def test_self_consistency_of_categories_by_hand() -> None:
    """One item unanimous, one 2 : 1 of three repeats: pairs agree in 1 and in 1/3."""
    answers = [["joy", "joy", "joy"], ["joy", "calm", "joy"]]
    table = repeats_of(lambda item, repeat: {"value": 0.0, "answer": answers[item][repeat]}, 2, 3)
    found = self_consistency(table)["q"]
    assert found.same_answer.value == pytest.approx((1 + 1 / 3) / 2)
    assert found.between_items.is_missing


def test_self_consistency_without_enough_repeats_says_so() -> None:
    failed = repeats_of(lambda *_: {"value": None, "ok": False}, 3, 2)
    once = repeats_of(lambda *_: {"value": 2.0}, 3, 1)
    same = repeats_of(lambda item, _: {"value": float(item)}, 3, 2)
    single = repeats_of(lambda _, repeat: {"value": float(repeat)}, 1, 2)
    for table in (failed, once):
        found = self_consistency(table)["q"]
        assert (found.items, found.repeat_sd.why_missing) == (0, "no item has two repeats")
    found = self_consistency(same)["q"]
    assert (found.between_items.value, found.repeat_sd.value) == (1.0, 0.0)
    assert mentions(found.repeat_sd.why_no_interval, "repeats", "item")
    found = self_consistency(single)["q"]
    assert found.between_items.is_missing
    assert found.repeat_sd.value == pytest.approx(np.sqrt(0.5))
