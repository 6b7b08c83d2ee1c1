"""Drafting a study: which machine drafts what, what is written, and what happens when it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.drafts import read_drafts
from heartfelt.journal import lock
from heartfelt.predictors import RunOptions
from heartfelt.predictors.drafts import assign, draft, plan_drafts
from heartfelt.predictors.drafts.drafting import RUNS
from heartfelt.predictors.interface.calls import Budget
from heartfelt.study import load_study, parse_study
from heartfelt.study.scales.answer import NONE
from tests.facts import mentions
from tests.predictors.drafts.studies import (
    FIELDS,
    STUDY,
    chat_server,
    chat_spec,
    completion,
    filled,
    options,
    picture,
    write_study,
)
from tests.predictors.servers import Reply


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study")


def drafts_of(folder: Path) -> pl.DataFrame:
    return read_drafts(folder, load_study(folder))


def chosen(fields: tuple[str, ...] = (), *drafters: str, text: str = STUDY) -> dict[str, str]:
    assigned, _ = assign(parse_study(text, "study"), fields, drafters)
    return {question.id: each.spec for each in assigned for question in each.fields}


def test_which_machine_drafts_what() -> None:
    named = STUDY.replace("scale: light, machine_first: true", "scale: light, machine_first: true, draft: file:x.csv")
    assert chosen((), "chat:m@http://h", text=named) == dict.fromkeys(FIELDS, "chat:m@http://h") | {
        "light": "file:x.csv"
    }
    assert chosen(("light",), "clip", text=named) == {"light": "clip"}
    assert chosen((), "light=clip", "a:b", text=named)["light"] == "clip"
    assert chosen((), "label=file:y.csv") == dict.fromkeys(FIELDS, "label=file:y.csv")
    by_id = STUDY.replace("id: light", "id: brightness").replace("id: things", "id: objects")
    assert chosen((), text=by_id) == {"objects": "objects", "brightness": "pixels"}
    assert assign(parse_study(by_id, "study"))[1] == ["caption", "atmosphere", "clutter"]


@pytest.mark.parametrize(
    ("fields", "drafters", "problem", "fix"),
    [
        ((), (), "No machine is named for 'caption'.", "--with caption=NAME"),
        (("mood",), ("clip",), "'mood' is answered by people alone", "machine_first: true"),
        (("capton",), ("clip",), "no question 'capton'", "Did you mean 'caption'"),
        ((), ("mood=clip",), "'mood' is answered by people alone", "machine_first"),
        ((), ("clip", "clap"), "'clip' and 'clap' are both", "--with FIELD=clap"),
        ((), ("light=clip", "light=clap"), "Two machines are named for 'light'", "Name one"),
    ],
)
def test_choices_that_cannot_be(fields: tuple[str, ...], drafters: tuple[str, ...], problem: str, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        assign(parse_study(STUDY, "study"), fields, drafters)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


def test_a_study_without_fields_and_a_draft_key_on_a_judgement() -> None:
    with pytest.raises(InputError, match=r"question.*machine"):
        assign(parse_study(STUDY.replace(", machine_first: true", ""), "study"))
    with pytest.raises(Exception, match="machine_first: true"):
        parse_study(STUDY.replace("scale: mood}\n", "scale: mood, draft: clip}\n", 1), "study")
    plain = parse_study(STUDY, "study")
    assert "draft" not in plain.model_dump()["questions"][1]


@pytest.mark.server
def test_a_study_of_somebody_else_runs_nothing_and_gets_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    def named(name: str, spec: str) -> Path:
        own = STUDY.replace("scale: light, machine_first: true", f"scale: light, machine_first: true, draft: '{spec}'")
        return write_study(tmp_path / name, 2, own)

    for place, spec in enumerate(("os:system", "endpoint:http://h/v1", "chat[key_from=HOME]:m@http://h/v1")):
        with pytest.raises(InputError, match=r"functions.*keys"):
            draft(named(str(place), spec), options(fields=["light"]))
    plain = write_study(tmp_path / "plain", 2)
    with chat_server(plain) as served:
        spec = chat_spec(served)
        folder = named("chat", spec)
        assert draft(folder, options(fields=["light"])).failed == 0
        assert not any("authorization" in {key.lower() for key in head} for head in served.headers)
        draft(folder, options(f"light={spec}", fields=["light"], replace=True, fresh=True))
        assert "sk-secret" in str(served.headers[-1])


@pytest.mark.slow
def test_drafts_from_a_wide_and_a_long_file(folder: Path, tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    wide.write_text("stimulus,light,clutter\np0.png,0.104,3.4\np1,0.2,9\np2,1.5,2\nstranger,1,1\n")
    long = tmp_path / "long.jsonl"
    long.write_text(
        '{"stimulus": "p0", "question": "caption", "answer": "Two <b>grey</b> squares", "confidence": 0.7}\n'
        '{"stimulus": "p1", "question": "caption", "answer": "grey"}\n'
        '{"stimulus": "p0", "question": "things", "answer": "(none)"}\n'
        '{"stimulus": "p0", "question": "atmosphere", "answer": "clam"}\n'
    )
    named = [f"{field}=file:{wide}" for field in ("light", "clutter")]
    done = draft(folder, options(*named, f"file:{long}"))
    have = {
        (s, q): (v, c) for s, q, v, c in done.drafts.select("stimulus", "question", "value", "confidence").iter_rows()
    }
    assert have == {
        ("p0", "light"): ("0.1", None),
        ("p0", "clutter"): ("3", None),
        ("p1", "light"): ("0.2", None),
        ("p1", "clutter"): ("9", None),
        ("p2", "clutter"): ("2", None),
        ("p0", "caption"): ("Two grey squares", 0.7),
        ("p0", "things"): (NONE, None),
    }
    why = {(s, q): r for s, q, r in done.ledger.select("stimulus", "question", "reason").iter_rows()}
    assert mentions(why["p2", "light"], "'1.5'", "0", "1")
    assert mentions(why["p1", "caption"], "'grey'", "2", "20 words")
    assert mentions(why["p0", "atmosphere"], "category", "'calm'")
    assert mentions(why["p3", "light"], "file", "prediction", "item")
    assert why["p0", "caption"] == "markup was removed"
    assert set(done.drafts["source"]) == {"wide", "long"}
    assert done.drafts["version"].str.len_chars().unique().to_list() == [12]
    assert done.drafts["prompt_hash"].null_count() == done.drafts.height


def test_a_function_drafts_and_a_failing_one_is_a_reason(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_drafter.py").write_text(
        "def light(stimulus, system, intent, prompt, facts):\n"
        "    assert system is None and intent is None and prompt is None\n"
        "    if stimulus == 'p2':\n        raise ValueError('too dark')\n"
        "    return {'light': 0.5}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = draft(folder, options("my_drafter:light", fields=["light"]))
    assert dict(done.drafts.select("stimulus", "value").iter_rows()) == dict.fromkeys(("p0", "p1", "p3"), "0.5")
    assert done.ledger.select("stimulus", "reason").rows() == [("p2", "ValueError: too dark")]
    assert done.fields[0].problems == {"ValueError: too dark": 1}


@pytest.mark.server
def test_what_has_a_draft_is_left_alone_and_replaced_on_request(folder: Path) -> None:
    def shade(request: dict[str, Any], stimulus: str) -> Reply:
        answered.append(stimulus)
        return completion(filled(request, light=0.1 * (1 + len(answered) // 5)))

    answered: list[str] = []
    with chat_server(folder, shade) as served:
        spec = chat_spec(served)
        draft(folder, options(spec, fields=["light"]))
        first = drafts_of(folder)
        again = draft(folder, options(spec, fields=["light"]))
        assert (len(answered), again.new, again.drafters[0].stimuli) == (4, 0, 0)
        assert drafts_of(folder).equals(first)
        # The same question to the same model: what it said before counts, at no cost.
        same = draft(folder, options(spec, fields=["light"], replace=True))
        assert (len(answered), same.new, same.drafters[0].requests) == (4, 4, 0)
        assert drafts_of(folder)["at"].equals(first["at"])
        fresh = draft(folder, options(spec, fields=["light"], replace=True, fresh=True))
        assert (len(answered), fresh.new, fresh.drafters[0].requests) == (8, 4, 4)
    assert set(drafts_of(folder)["value"]) == {"0.2"}
    assert sorted(path.name[-2:] for path in (folder / RUNS).glob("chat-*")) == ["-1", "-2"]
    # A draft that cannot be made again stays.
    with chat_server(folder, lambda r, _: completion(filled(r, light=7))) as served:
        worse = draft(folder, options(chat_spec(served), fields=["light"], replace=True, fresh=True))
    assert (worse.failed, set(drafts_of(folder)["value"])) == (4, {"0.2"})


@pytest.mark.slow
def test_values_that_came_with_the_study_count_as_drafts(folder: Path, tmp_path: Path) -> None:
    stimuli = pl.read_csv(folder / "stimuli.csv").with_columns(
        pl.Series("light", ["0.9", None, "7", None]), pl.lit("our tagger").alias("light_source")
    )
    stimuli.write_csv(folder / "stimuli.csv")
    table = tmp_path / "new.csv"
    table.write_text("stimulus,light\np0,0.1\np1,0.2\np2,0.3\n")
    done = draft(folder, options(f"file:{table}", fields=["light"]))
    # The 7 is not on the scale, so nobody was shown it.
    assert dict(done.drafts.select("stimulus", "value").iter_rows()) == {"p1": "0.2", "p2": "0.3"}
    assert (done.fields[0].drafted, done.fields[0].new, done.fields[0].failed) == (3, 2, 1)
    assert done.fields[0].sources == {"new": 2, "our tagger": 1}
    again = draft(folder, options(f"file:{table}", fields=["light"], replace=True))
    assert dict(again.drafts.select("stimulus", "value").iter_rows())["p0"] == "0.1"


PRICES = "input_price=1000,output_price=1000"
"""A request of 1,100 tokens costs 1.1."""


@pytest.mark.server
@pytest.mark.parametrize(
    ("budget", "asked"), [(Budget(limit=3.5), 3), (Budget(limit=2_500, unit="tokens"), 2), (Budget(limit=0), 0)]
)
def test_a_budget_is_never_exceeded_and_a_larger_one_continues(tmp_path: Path, budget: Budget, asked: int) -> None:
    folder = write_study(tmp_path / "study", 10)
    with chat_server(folder) as served:
        spec = chat_spec(served, PRICES)
        done = draft(folder, options(spec, budget=budget))
        assert len(served.requests) == asked
        assert done.drafts.height == 5 * asked
        assert done.failed == 5 * (10 - asked)
        assert done.ledger["reason"].str.contains("the budget has no room for another request").all()
        spent = sum(budget.of(call) or 0 for call in _calls(folder))
        assert spent <= budget.limit
        # The same budget again: nothing is asked, since the budget is for the study and not for a run.
        draft(folder, options(spec, budget=budget))
        assert len(served.requests) == asked
        rest = draft(folder, options(spec))
        assert (len(served.requests), rest.failed, rest.drafts.height) == (10, 0, 50)
        assert rest.ledger.is_empty()
        assert rest.spent == pytest.approx(11)


def _calls(folder: Path) -> Any:
    from heartfelt.predictors.execution.budgets import calls_in

    return [call for home in (folder / RUNS).glob("chat-*") for _, call in calls_in(home)]


@pytest.mark.server
def test_a_budget_that_cannot_be_checked(folder: Path) -> None:
    with chat_server(folder) as served, pytest.raises(InputError, match="are not known, so a budget"):
        draft(folder, options(chat_spec(served), budget=Budget(limit=5)))
    with chat_server(folder, lambda r, _: completion(filled(r), tokens=None)) as served:
        done = draft(folder, options(chat_spec(served, PRICES), budget=Budget(limit=5)))
    assert len(served.requests) == 1
    assert done.drafts.height == 5
    assert done.ledger["reason"].str.contains("returned no token counts").all()
    with pytest.raises(InputError, match="budget of -1"):
        Budget(limit=-1)


@pytest.mark.server
def test_killed_and_continued(tmp_path: Path) -> None:
    """What was answered before a run is killed is not asked again."""
    folder = write_study(tmp_path / "study", 12)
    answered: list[str] = []
    killed = Event()

    def stuck(request: dict[str, Any], stimulus: str) -> Reply:
        if len(answered) == 5 and not killed.is_set():
            reached.set()
            killed.wait(30)
        answered.append(stimulus)
        return completion(filled(request))

    reached = Event()
    code = (
        "import sys; from tests.predictors.drafts.studies import options; from heartfelt.predictors.drafts import draft;"
        "from heartfelt.predictors import RunOptions;"
        "draft(sys.argv[1], options(sys.argv[2], asking=RunOptions(at_once=1)))"
    )
    with chat_server(folder, stuck) as served:
        spec = chat_spec(served)
        process = subprocess.Popen([sys.executable, "-c", code, str(folder), spec], cwd=Path(__file__).parents[3])
        assert reached.wait(60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        then = datetime.now(UTC)
        killed.set()
        assert not (folder / "drafts.parquet").exists()
        done = draft(folder, options(spec))
    # Only the request that was under way is made twice.
    assert len(served.requests) == 13
    assert (done.failed, done.drafts.height) == (0, 60)
    assert done.drafts.filter(pl.col("at") < then).height == 25


def test_one_run_at_a_time(folder: Path) -> None:
    (folder / RUNS).mkdir()
    with (folder / RUNS / "lock").open("ab") as file:
        lock(file, folder)
        with pytest.raises(InputError, match="Another run is writing"):
            draft(folder, options("file:x.csv", fields=["light"]))


@pytest.mark.slow
def test_a_drafter_that_cannot_be_made_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "light.csv"
    table.write_text("stimulus,light\n" + "".join(f"p{n},0.{n}\n" for n in range(4)))
    done = draft(folder, options(f"light=file:{table}", "clutter=file:gone.csv"))
    assert {each.field: (each.drafted, each.failed) for each in done.fields} == {
        "caption": (0, 0),
        "atmosphere": (0, 0),
        "clutter": (0, 4),
        "things": (0, 0),
        "light": (4, 0),
    }
    assert done.without == ("caption", "atmosphere", "things")
    assert "gone.csv" in (next(run for run in done.drafters if run.problem).problem or "")
    with pytest.raises(InputError, match="Nothing was drafted"):
        draft(folder, options("file:gone.csv", fields=["clutter"]))


@pytest.mark.slow
def test_near_duplicates_are_reported(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", 4)
    picture(0).resize((64, 64)).save(folder / "media" / "p3.png")
    table = tmp_path / "light.csv"
    table.write_text("stimulus,light\n" + "".join(f"p{n},0.{n}\n" for n in range(4)))
    done = draft(folder, options(f"file:{table}", fields=["light"], duplicates=True))
    assert (done.duplicates, done.duplicate_images) == (1, 2)
    rows = pl.read_csv(folder / "drafts_duplicates.csv")
    assert rows["stimulus"].to_list() == ["p0", "p3"]
    picture(9).save(folder / "media" / "p3.png")
    assert draft(folder, options(f"file:{table}", fields=["light"], duplicates=True)).duplicates == 0
    assert not (folder / "drafts_duplicates.csv").exists()


@pytest.mark.server
def test_a_plan_asks_nothing(folder: Path) -> None:
    with chat_server(folder) as served:
        spec = chat_spec(served, "input_price=1,output_price=3")
        plan = plan_drafts(folder, options(spec))
        (each,) = plan.drafters
        assert (each.source, each.stimuli, each.items, each.requests) == ("seer", 4, 20, 4)
        assert 4 * 200 < each.input_tokens < 4 * 1_500
        assert 4 * 50 < each.output_tokens < 4 * 500
        assert each.cost == pytest.approx((each.input_tokens + 3 * each.output_tokens) / 1e6)
        assert not served.requests
        assert not (folder / RUNS).exists()
        draft(folder, options(spec, budget=Budget(limit=0.0013)))
        (rest,) = plan_drafts(folder, options(spec)).drafters
        assert (rest.stimuli, rest.input_tokens, rest.output_tokens) == (3, 3_000, 300)
        assert "earlier requests" in rest.basis
    gone = plan_drafts(folder, options("file:gone.csv", fields=["light"])).drafters[0]
    assert "gone.csv" in (gone.problem or "")


@pytest.mark.server
def test_the_cache_serves_the_same_picture_in_another_study(tmp_path: Path) -> None:
    asking = RunOptions(cache=tmp_path / "cache.sqlite")
    first, second = (write_study(tmp_path / name, 3) for name in ("first", "second"))
    with chat_server(first) as served:
        spec = chat_spec(served, PRICES)
        draft(first, options(spec, asking=asking))
        done = draft(second, options(spec, asking=asking, budget=Budget(limit=0.5)))
    assert len(served.requests) == 3
    assert (done.failed, done.drafts.height) == (0, 15)
    assert done.drafters[0].requests == 0
