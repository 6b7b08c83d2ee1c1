"""A bench that asks hosted models: one budget for all of them, repeats, tokens and cost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.predictors.execution.budgets import read_budget
from heartfelt.predictors.interface.calls import Budget
from heartfelt.report.site.viewer.read import read_run_folder
from heartfelt.scoring.bench import Bench
from heartfelt.snapshot import Snapshot
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.servers import Reply, Served, serving
from tests.predictors.studies import STUDY, snapshot

pytestmark = pytest.mark.server


def reply(request: dict[str, Any], count: int) -> Reply:
    """Every number is one above the request's seed, if it has one; 1,000 input tokens."""
    del count
    content = json.dumps({"q1": {"answer": 1 + request.get("seed", 4) % 9}})
    return Reply(
        body=json.dumps(
            {
                "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1_000, "completion_tokens": 0},
            }
        ).encode()
    )


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(reply) as server:
        yield server


@pytest.fixture
def data(tmp_path: Path) -> Snapshot:
    return snapshot(tmp_path / "data", 6)


def chat(served: Served, name: str, options: str = "input_price=1000,output_price=0") -> str:
    """A model whose request costs 1."""
    return f"{name}=chat[{options},key_from=none]:{name}@{served.url.rsplit('/', 1)[0]}/v1"


def problems(bench: Bench, model: str) -> list[str | None]:
    rows = bench.predictions.filter(model=model)
    return rows["problem"].to_list()


@pytest.mark.parametrize("kept", [True, False])
def test_a_budget_is_for_the_whole_bench(kept: bool, served: Served, data: Snapshot, tmp_path: Path) -> None:
    models = [chat(served, "one"), "constant", chat(served, "two")]
    folder = tmp_path / "out" if kept else None
    bench = heartfelt.bench(data, models, questions=["valence"], folder=folder, budget=8, at_once=2)
    assert len(served.requests) == 8
    assert problems(bench, "one") == [None] * 6
    assert problems(bench, "constant") == [None] * 6
    lost = [text for text in problems(bench, "two") if text is not None]
    assert lost == ["not asked: the budget has no room for another request (8 of 8 spent)"] * 4
    usage = bench.scores.model_info["one"].usage
    assert usage is not None
    assert (usage.cost, usage.items, usage.cost_per_item) == (6.0, 6, 1.0)


def test_a_later_run_with_a_larger_budget_asks_just_the_rest(served: Served, data: Snapshot, tmp_path: Path) -> None:
    models = [chat(served, "one"), chat(served, "two")]
    for budget, requests in (
        ("3000tokens", 3),
        ("3000tokens", 3),
        ("8,000 tokens", 8),
        (Budget(limit=12), 12),
        (99, 12),
    ):
        bench = heartfelt.bench(data, models, questions=["valence"], folder=tmp_path / "out", budget=budget)
        assert len(served.requests) == requests
    assert not bench.predictions["problem"].drop_nulls().len()


def test_a_budget_of_files_counts_earlier_runs_of_the_folder(served: Served, tmp_path: Path) -> None:
    model = chat(served, "one").removeprefix("one=")
    snapshot(tmp_path / "files", 4)
    clips, study = tmp_path / "files" / "media", tmp_path / "study.yaml"
    study.write_text(STUDY, encoding="utf-8")
    for limit, requests in ((2, 2), (2, 2), (3, 3), (99, 4)):
        heartfelt.predict(clips, model, study=study, questions=["valence"], folder=tmp_path / "out", budget=limit)
        assert len(served.requests) == requests


def test_prices_given_later_hold_for_what_was_asked_before(served: Served, data: Snapshot, tmp_path: Path) -> None:
    for options, budget in (("", None), ("input_price=1000,output_price=0,timeout=9", 5)):
        model = chat(served, "one", f"temperature=0{options and ','}{options}")
        heartfelt.bench(data, model, questions=["valence"], folder=tmp_path / "out", budget=budget, cache=False)
    assert len(served.requests) == 6, "6 requests at a price of 1 leave nothing of 5"


@pytest.mark.slow
def test_a_budget_is_for_all_parts_of_a_bench(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []
    for name in ("first", "second"):
        made = snapshot(tmp_path / name, 6)
        study = made.study.model_copy(update={"name": name})
        tables = {"stimuli": made.stimuli, "ratings": made.ratings}
        parts.append(Snapshot.build(study, **tables, source=made.source))
    monkeypatch.setattr("heartfelt.api.models.read_parts", lambda *_: parts)
    command = ["bench", str(tmp_path / "first"), "-p", chat(served, "one"), "--no-cache", "--resamples", "100"]
    command += ["--question", "valence", "--out", str(tmp_path / "out"), "--budget"]
    for limit, requests in ((8, 8), (8, 8), (10, 10)):
        assert main([*command, str(limit)]) == 0
        assert len(served.requests) == requests


def test_names_that_look_alike_share_no_folder(data: Snapshot, tmp_path: Path) -> None:
    """Long names that begin alike, names that differ in one sign or in case, and names of no folder."""
    out = tmp_path / "out"
    names = ["m" * 130 + "1", "m" * 130 + "2", "a b", "a/b", "A b", "..", "."]
    numbers = {name: float(1 + place) for place, name in enumerate(names)}
    models = {name: _constant(number) for name, number in numbers.items()}
    heartfelt.bench(data, models, questions=["valence"], folder=out)
    answers = {}
    for home in (out / "runs").iterdir():
        table = pl.read_parquet(home / "predictions.parquet")
        answers[json.loads((home / "run.json").read_text())["model"]] = table["value"].to_list()
    assert answers == {name: [number] * 6 for name, number in numbers.items()}
    assert len({home.name.casefold() for home in (out / "runs").iterdir()}) == len(names)


def test_folders_of_earlier_versions_go_on(served: Served, data: Snapshot, tmp_path: Path) -> None:
    model, runs = chat(served, "one"), tmp_path / "out" / "runs"
    out, asked = tmp_path / "out", ["valence"]
    heartfelt.bench(data, model, questions=asked, folder=out, cache=False)
    (home,) = runs.iterdir()
    home.rename(runs / re.sub(r"[^\w.-]+", "_", model.removeprefix("one="))[:120])
    heartfelt.bench(data, model, questions=asked, folder=out, cache=False)
    assert len(served.requests) == 6
    assert len(list(runs.iterdir())) == 1


def _constant(number: float) -> Callable[[str], float]:
    def always(stimulus: str) -> float:
        del stimulus
        return number

    return always


@pytest.mark.slow
def test_a_model_asked_anew_under_its_name_leaves_nothing_of_the_old_one_in_the_viewer(
    served: Served, data: Snapshot, tmp_path: Path
) -> None:
    for options in ("temperature=1,seed=1", "temperature=1,seed=2"):
        model = chat(served, "one", options)
        heartfelt.bench(data, model, questions=["valence"], folder=tmp_path / "out", repeats=2, cache=False)
    view = read_run_folder(tmp_path / "out")
    assert len(view.exchanges) == 12
    assert {len(sample.repeats) for sample in view.samples} == {2}


def test_a_budget_that_cannot_be_checked_is_refused_before_anything_is_asked(served: Served, data: Snapshot) -> None:
    models = [chat(served, "one"), chat(served, "two", "temperature=1")]
    with pytest.raises(InputError, match=r"The prices of 'chat.*are not known, so a budget cannot be checked"):
        heartfelt.bench(data, models, questions=["valence"], budget=5)
    assert not served.requests


def test_a_server_without_prices_is_asked_at_full_speed_under_a_budget(data: Snapshot) -> None:
    from tests.predictors.servers import good

    with serving(good) as server:
        bench = heartfelt.bench(data, f"sim=endpoint:{server.url}", questions=["valence"], budget=0)
    assert problems(bench, "sim") == [None] * 6


@check_all("wrong", ["much", "-3", "1e999", "nan", "5 dollars", "", "0,5", "1,50", "1,0000", "1_0_", "2,5tokens", True])
def test_what_is_no_budget(wrong: str) -> None:
    with pytest.raises(InputError, match="is not a budget"):
        read_budget(wrong)


@pytest.mark.parametrize(
    ("amount", "limit", "unit"),
    [
        ("0.5", 0.5, "cost"),
        (1e-5, 1e-5, "cost"),
        ("1e-3", 0.001, "cost"),
        ("1,250.5", 1250.5, "cost"),
        ("2_000_000 tokens", 2e6, "tokens"),
        ("2E6token", 2e6, "tokens"),
        ("8,000tokens", 8000.0, "tokens"),
        (7, 7.0, "cost"),
    ],
)
def test_what_is_a_budget(amount: str | float, limit: float, unit: str) -> None:
    assert read_budget(amount) == Budget(limit=limit, unit=unit)  # type: ignore[arg-type]  # one of the two


def test_repeats_are_combined_and_their_consistency_is_scored(
    served: Served, data: Snapshot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    priced = "input_price=1000,output_price=0,temperature=1,seed=3"
    source = data.write(tmp_path / "snapshot")
    arguments = ["bench", str(source), "-p", chat(served, "one", priced), "-p", "constant", "--repeats", "3"]
    arguments += ["--question", "valence", "--resamples", "200", "--no-cache", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--budget", "9"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert len(served.requests) == 9
    assert mentions(shown, "one", "9 requests", "9,000 input", "0 output", "9", "1.5")
    assert main(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "valence: 3 repeats of 6 items: SD between repeats 1.0" in shown
    assert "constant gave one answer per question, because repeats would be the same." in shown
    assert sorted(request["seed"] for request in served.requests) == [3] * 6 + [4] * 6 + [5] * 6
    page = (tmp_path / "out" / "report.html").read_text()
    for words in ("Self-consistency", "cost per item", "SD between repeats"):
        assert words in page
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    held = scores["model_info"]["one"]["consistency"]["valence"]
    assert (held["items"], held["repeats"], held["repeat_sd"]["value"]) == (6, 3.0, 1.0)
    # A model of an earlier bench keeps what is known of it.
    assert main([*arguments[:2], "-p", "constant", *arguments[6 + 2 :]]) == 0
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert scores["model_info"]["one"]["consistency"]["valence"] == held


def test_repeats_need_something_that_varies(data: Snapshot) -> None:
    with pytest.raises(InputError, match=r"constant.*answers"):
        heartfelt.bench(data, ["constant", "system-mean"], repeats=3)


def test_temperature_zero_is_mentioned(served: Served, data: Snapshot) -> None:
    bench = heartfelt.bench(data, chat(served, "one"), questions=["valence"], repeats=2)
    assert any("at temperature 0" in note for note in bench.scores.notes)


def test_making_stimuli_takes_the_same_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for amount, words in (("much", "'much' is not a budget."), ("5tokens", "'5tokens' counts tokens")):
        assert main(["make", str(tmp_path), "--budget", amount]) == 2
        assert words in capsys.readouterr().err


def test_repeats_that_a_budget_had_no_room_for_are_named(served: Served, data: Snapshot) -> None:
    model = chat(served, "one", "input_price=1000,output_price=0,temperature=1")
    bench = heartfelt.bench(data, model, questions=["valence"], repeats=3, budget=8, cache=False)
    assert problems(bench, "one") == [None] * 6
    reason = "not asked: the budget has no room for another request (8 of 8 spent)"
    assert f"one: 6 answered items lack 10 repeats ({reason})." in bench.scores.notes


def test_requests_without_counts_are_named_on_screen(
    data: Snapshot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def behave(request: dict[str, Any], count: int) -> Reply:
        made = json.loads(reply(request, count).body)
        if len(server.requests) > 4:
            del made["usage"]
        return Reply(body=json.dumps(made).encode())

    with serving(behave) as server:
        source = data.write(tmp_path / "snapshot")
        command = ["bench", str(source), "-p", chat(server, "one"), "--question", "valence", "--no-cache"]
        command += ["--resamples", "100", "--at-once", "1", "--out", str(tmp_path / "out")]
        assert main(command) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert mentions(shown, "one", "6 requests", "2 without", "4,000 input")
    assert "The sums leave out requests without counts." in (tmp_path / "out" / "report.html").read_text()
