"""The limits of drafting without a server: what is spent, how sure a machine is, and who drafts what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.predictors import PREDICTORS, Ask, Case, Prediction, Predictor, Retry, RunOptions
from heartfelt.predictors.drafts import DraftOptions, draft, plan_drafts
from heartfelt.predictors.drafts.cases import draft_ask, draft_cases, pending_items
from heartfelt.predictors.drafts.choosing import Assignment, assign, by_id
from heartfelt.predictors.drafts.drafting import RUNS, _change, draft_from_pixels, drafter_of, language_of, provenance
from heartfelt.predictors.drafts.planning import media_tokens
from heartfelt.predictors.hosted.chat import Chat
from heartfelt.predictors.hosted.chat_drafts import DRAFT_SYSTEM, draft_questions, draft_schema
from heartfelt.predictors.interface.calls import Budget, Call
from heartfelt.serialization import dumps
from heartfelt.study import parse_study
from heartfelt.study.scales.scale import Numeric
from tests.predictors.drafts.studies import STUDY, options, picture, write_study

COST = 1.0
"""What every request of the hosted drafter costs; it takes 900 + 100 tokens."""


class Hosted(Predictor):
    """A hosted drafter that makes a request for every field, some of which it asks again for."""

    name = "hosted"
    about = "a paid machine, for these tests"
    argument = "how the answers are"
    options: ClassVar[Mapping[str, str]] = {"uncounted": "whether counts are left out"}
    reach = "network"
    at_once = 1
    cacheable = False
    made: ClassVar[list[str]] = []
    """Every request: the stimulus."""

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        self.kind, self.uncounted = argument, bool(options.get("uncounted"))

    @property
    def identity(self) -> str:
        return f"hosted {self.kind}"

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        return None if input_tokens is None or output_tokens is None else COST

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        self.made.append(case.stimulus)
        tokens: dict[str, Any] = {} if self.uncounted else {"input_tokens": 900, "output_tokens": 100, "cost": COST}
        call = Call(
            id=f"c{len(self.made)}",
            request="0" * 64,
            at="2026-01-01T00:00:00+00:00",
            questions=(ask.question,),
            requested_model="m",
            form="plain",
            **tokens,
        )
        given = {"light": Prediction(value=0.5, score=0.8), "clutter": Prediction(value=3.0, score=0.6)}[ask.question]
        if self.kind == "refused" and case.stimulus == "p1":
            return Prediction(problem="refused: too dark", call=call)
        return replace(given, call=call)


@pytest.fixture(autouse=True)
def hosted() -> Iterator[type[Hosted]]:
    PREDICTORS._things["hosted"] = Hosted  # taken out again, as no registry allows
    Hosted.made = []
    yield Hosted
    PREDICTORS._things.pop("hosted")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study", 4)


TWO = ("light", "clutter")


def test_costs_are_summed_over_the_requests_of_a_case(folder: Path) -> None:
    done = draft(folder, options("hosted", fields=TWO))
    (run,) = done.drafters
    assert len(Hosted.made) == run.requests == 8
    assert (run.cost, done.spent) == (8.0, 8.0)
    assert (run.input_tokens, run.output_tokens, run.without_counts) == (7_200, 800, 0)
    again = draft(folder, options("hosted", fields=TWO, replace=True, fresh=True))
    assert (again.drafters[0].cost, again.spent) == (8.0, 16.0), "this run, and all runs together"
    other = draft(folder, options("hosted:other", fields=["light"], replace=True))
    assert (other.drafters[0].cost, other.spent) == (4.0, 20.0), "of another drafter too"


def test_refused_answers_and_second_attempts_cost_too(folder: Path) -> None:
    first = draft(folder, options("hosted:refused", fields=TWO))
    assert (first.failed, first.spent) == (2, 8.0)
    second = draft(folder, options("hosted:refused", fields=TWO))
    assert (second.drafters[0].requests, second.drafters[0].cost) == (2, 2.0), "only what failed is asked again"
    assert second.spent == 10.0
    assert set(second.ledger["reason"]) == {"refused: too dark"}


@pytest.mark.parametrize(
    ("budget", "room"),
    [(Budget(limit=5.0), 2), (Budget(limit=5_000, unit="tokens"), 2), (Budget(limit=4.0), 2), (Budget(limit=3.9), 1)],
)
def test_a_case_is_as_dear_as_all_its_requests(folder: Path, budget: Budget, room: int) -> None:
    """Two requests a case: the budget is for whole cases, in this run and after an earlier one."""
    at_once = RunOptions(at_once=4, retry=Retry(retries=0), give_up_after=None)
    done = draft(folder, options("hosted", fields=TWO, budget=budget, asking=at_once))
    assert len(Hosted.made) == 2 * room
    assert done.drafts.height == 2 * room
    draft(folder, options("hosted", fields=TWO, budget=budget, asking=at_once))
    assert len(Hosted.made) == 2 * room, "what was spent before counts"
    each = 1 if budget.unit == "cost" else 1_000
    larger = replace(budget, limit=(2 * room + 3.5) * each)
    draft(folder, options("hosted", fields=TWO, budget=larger, asking=at_once))
    assert len(Hosted.made) == 2 * room + 2, "room for one case more, although three requests would fit"


def test_requests_without_counts_stop_a_budget(folder: Path) -> None:
    done = draft(folder, options("hosted[uncounted=yes]", fields=["light"], budget=Budget(limit=9)))
    assert len(Hosted.made) == 1
    assert done.ledger["reason"].str.contains("returned no token counts").all()
    (run,) = done.drafters
    assert (run.requests, run.cost, run.without_counts) == (1, None, 1)


SCORED = """
def score(stimulus):
    return {"value": 0.5, "score": {"p0": 1.001, "p1": -0.001, "p2": 0.0, "p3": 1.0}[stimulus]}

def similar(stimulus):
    return {"answer": "calm", "score": 0.1, "shares": {"calm": 0.9, "tense": 0.1}}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "scored_by_hand.py").write_text(SCORED, encoding="utf-8")


@pytest.mark.usefixtures("module")
def test_a_confidence_outside_0_to_1_is_none(folder: Path) -> None:
    done = draft(folder, options("scored_by_hand:score", fields=["light"]))
    sure = dict(done.drafts.select("stimulus", "confidence").iter_rows())
    assert sure == {"p0": None, "p1": None, "p2": 0.0, "p3": 1.0}
    assert done.fields[0].confidence == 0.5
    likely = draft(folder, options("scored_by_hand:similar", fields=["atmosphere"]))
    assert set(likely.drafts.filter(pl.col("question") == "atmosphere")["confidence"]) == {0.9}, "of the answer"


def test_a_share_of_the_image_is_no_confidence(folder: Path) -> None:
    text = STUDY.replace("id: things", "id: colour")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    done = draft(folder, options(fields=["colour"]))
    assert done.drafts["confidence"].null_count() == 4
    assert set(done.drafts["limits"]) == {"It measures colours and light, and does not know what has them."}
    assert done.drafters[0].limits.startswith("It measures")


def test_who_drafts_what() -> None:
    study = parse_study(STUDY.replace("id: light", "id: brightness").replace("id: things", "id: People"), "study")
    assigned, without = assign(study)
    assert [(each.spec, [q.id for q in each.fields], each.named) for each in assigned] == [
        ("faces", ["People"], False),
        ("pixels", ["brightness"], False),
    ]
    assert without == ["caption", "atmosphere", "clutter"]
    assigned, without = assign(study, (), ("file:a.csv",))
    assert [each.spec for each in assigned] == ["file:a.csv", "faces", "pixels"], "all that is left"
    assert without == []
    (every,), _ = assign(study, ("brightness",), ("file:a.csv",))
    assert every.spec == "file:a.csv", "of a field that is named"
    assert by_id(study, study.question("mood")) is None
    sound = study.model_copy(update={"media": "audio"})
    assert by_id(sound, study.question("brightness")) is None, "sound has no pixels"


ASKS = [
    Ask(question="light", scale=Numeric(type="numeric", low=0, high=1, step=0.01), text="", words="How light is it?")
]
CHAT = "chat[input_price=2,output_price=5]:seer@http://127.0.0.1:9/v1"


def test_a_plan_counts_what_is_missing(folder: Path) -> None:
    plan = plan_drafts(folder, options(CHAT))
    (every,) = plan.drafters
    assert (plan.study, plan.stimuli, plan.without) == ("pictures", 4, ())
    assert (every.stimuli, every.items, every.requests) == (4, 20, 4)
    assert every.basis == "4 characters or 750 pixels per token"
    # Of a caption of 20 words at most, tags and five entries: 25 * 5 + 1.4 * (20 + 30).
    assert every.output_tokens == 4 * 195
    assert every.cost == pytest.approx((2 * every.input_tokens + 5 * every.output_tokens) / 1e6)
    text = DRAFT_SYSTEM + draft_questions(ASKS, "en") + json.dumps(draft_schema(ASKS))
    (one,) = plan_drafts(folder, options(CHAT, fields=["light"])).drafters
    assert one.output_tokens == 4 * 25
    assert one.input_tokens == pytest.approx(4 * len(text) / 4 + 4 * 32 * 32 / 750, abs=60)
    draft(folder, options("hosted", fields=["light"]))
    (rest,) = plan_drafts(folder, options(CHAT)).drafters
    assert (rest.stimuli, rest.items, rest.requests) == (4, 16, 4)
    (again,) = plan_drafts(folder, options(CHAT, replace=True)).drafters
    assert again.items == 20
    (nothing,) = plan_drafts(folder, options("hosted", fields=["light"])).drafters
    assert (nothing.stimuli, nothing.items, nothing.requests, nothing.cost) == (0, 0, 0, None)


def test_what_is_drafted_fails_and_is_changed_in_one_summary(folder: Path) -> None:
    table = folder.parent / "drafts.csv"
    table.write_text(
        "stimulus,light,things,atmosphere\n"
        "p0,0.25,<b>dog</b>;cat;Dog,calm\np1,7,dog,(none)\np2,9,,wild\np3,0.5,dog,tense\n",
        encoding="utf-8",
    )
    done = draft(folder, options(f"file:{table}", fields=["light", "things", "atmosphere"]))
    counts = {each.field: (each.items, each.drafted, each.new, each.failed, each.none) for each in done.fields}
    assert counts == {"light": (4, 2, 2, 2, 0), "things": (4, 3, 3, 1, 0), "atmosphere": (4, 3, 3, 1, 1)}
    assert (done.new, done.failed) == (8, 4)
    light = next(each for each in done.fields if each.field == "light")
    assert light.problems == {"the predictor's value '…' is out of range: the scale is from 0 to 1": 2}, (
        "like failures are counted together"
    )
    assert light.sources == {"drafts": 2}
    assert light.confidence is None
    rows = {(row["stimulus"], row["question"], row["what"]): row["reason"] for row in done.ledger.iter_rows(named=True)}
    assert set(rows) == {
        ("p1", "light", "draft"),
        ("p2", "light", "draft"),
        ("p2", "things", "draft"),
        ("p2", "atmosphere", "draft"),
        ("p0", "things", "changed draft"),
    }
    assert "removed" in rows["p0", "things", "changed draft"]
    written = pl.read_csv(folder / "drafts_ledger.csv")
    assert written.columns == ["what", "stimulus", "question", "reason", "stage"]
    assert written.height == 5
    table.write_text("stimulus,light\np1,0.75\n", encoding="utf-8")
    later = draft(folder, options(f"file:{table}", fields=["light"]))
    assert later.drafts.filter(pl.col("question") == "light").height == 3
    left = set(later.ledger.filter(pl.col("question") == "light")["stimulus"])
    assert left == {"p2"}, "what was drafted since is no longer missing"
    assert later.ledger.height == 4


def test_a_drafter_that_is_not_there_is_a_reason_and_the_others_go_on(folder: Path) -> None:
    done = draft(folder, options("light=hosted", "clutter=file:gone.csv", fields=TWO))
    by_name = {run.drafter: run for run in done.drafters}
    assert by_name["hosted"].problem is None
    assert "gone.csv" in (by_name["file:gone.csv"].problem or "")
    assert set(done.ledger["reason"].str.starts_with("not asked: ")) == {True}
    assert done.ledger.height == 4
    with pytest.raises(InputError, match=r"Nothing was drafted: .*gone\.csv"):
        draft(folder, options("file:gone.csv", fields=["clutter"]))


def test_the_journal_of_a_drafter_is_continued_or_begun_anew(folder: Path) -> None:
    draft(folder, options("hosted", fields=["light"]))
    draft(folder, options("hosted", fields=["light"], replace=True))
    assert len(Hosted.made) == 4, "what it said before counts"
    assert len(list((folder / RUNS).glob("hosted-*-1"))) == 1
    for place in (2, 3):
        draft(folder, options("hosted", fields=["light"], replace=True, fresh=True))
        assert len(list((folder / RUNS).glob(f"hosted-*-{place}"))) == 1
    assert len(Hosted.made) == 12
    assert draft_from_pixels(folder) is None
    assert DraftOptions().asking.give_up_after == 20


def test_what_is_put_to_a_drafter(tmp_path: Path) -> None:
    """The question with its help, the prompt only where raters are shown it, and only what is missing."""
    text = STUDY.replace("systems:", "prompts: [{id: one, text: 'A {intent} square'}]\nsystems:").replace(
        "scale: nine, machine_first: true", "scale: nine, machine_first: true, shows: [prompt]"
    )
    folder = write_study(tmp_path / "shown", 3, text)
    stimuli = pl.read_csv(folder / "stimuli.csv").with_columns(prompt=pl.Series(["one", None, "own words"]))
    stimuli.write_csv(folder / "stimuli.csv")
    opened = open_study(folder)
    study = opened.study
    asks = {name: draft_ask(study, study.question(name), "ko") for name in ("caption", "atmosphere", "clutter")}
    assert asks["caption"].words == "무엇이 보입니까?"
    assert asks["atmosphere"].words == "Atmosphere Judge the light alone."
    assert (asks["atmosphere"].none, asks["clutter"].none) == (True, False)
    pending = pl.DataFrame(
        [("p2", "clutter"), ("p0", "clutter"), ("p0", "caption"), ("p1", "clutter")],
        schema=["stimulus", "question"],
        orient="row",
    )
    cases = draft_cases(opened, asks, pending)
    assert [(case.stimulus, [ask.question for ask in case.asks]) for case in cases] == [
        ("p0", ["caption", "clutter"]),
        ("p1", ["clutter"]),
        ("p2", ["clutter"]),
    ]
    assert [case.asks[-1].shown for case in cases] == ["A joy square", "", "own words"]
    assert [case.asks[-1].text == case.asks[-1].shown for case in cases] == [True, False, True]
    assert cases[0].asks[0].shown == "", "raters see the prompt with the other question only"
    assert cases[1].facts == {"path": "p1.png"}
    assert cases[1].media is not None
    assert (cases[1].system, cases[1].intent, cases[1].prompt) == (None, None, None)


def test_what_is_pending(folder: Path) -> None:
    stimuli = pl.read_csv(folder / "stimuli.csv").with_columns(pl.Series("light", ["0.9", None, "7", None]))
    stimuli.write_csv(folder / "stimuli.csv")
    opened = open_study(folder)
    assert pending_items(opened, ["light"], again=False).rows() == [("p1", "light"), ("p2", "light"), ("p3", "light")]
    assert pending_items(opened, ["light"], again=True).height == 4
    assert pending_items(opened, ["light", "clutter"], again=False).height == 7


def test_languages_versions_and_keys(folder: Path) -> None:
    opened = open_study(folder)
    assert (language_of(opened, None), language_of(opened, "ko")) == ("en", "ko")
    field = opened.study.question("light")
    chat = "chat:seer@http://127.0.0.1:9/v1"
    with (
        drafter_of(Assignment(chat, (field,)), "ko") as own,
        drafter_of(Assignment(chat, (field,), named=True), "ko") as theirs,
    ):
        assert isinstance(own, Chat)
        assert isinstance(theirs, Chat)
        assert "ko" in own.identity
        assert own.identity == theirs.identity
        assert [vars(each)["_key_from"] for each in (own, theirs)] == [None, "none"]
        assert provenance(own) == ("seer", None)
    for spec in (
        "call:os:getcwd",
        "os:getcwd",
        "tagger:os:stat",
        "endpoint:http://h",
        "chat[key_from=HOME]:m@http://h",
    ):
        with pytest.raises(InputError, match=r"functions.*keys"):
            drafter_of(Assignment(spec, (field,), named=True), "en")


def test_a_machine_here_costs_nothing_and_the_result_is_short(folder: Path) -> None:
    table = folder.parent / "light.csv"
    table.write_text("stimulus,light\n" + "".join(f"p{n},0.{n}\n" for n in range(4)), encoding="utf-8")
    done = draft(folder, options(f"file:{table}", fields=["light"]))
    (run,) = done.drafters
    assert (run.requests, run.input_tokens, run.output_tokens, run.without_counts, run.cost) == (0, 0, 0, 0, None)
    assert (done.spent, done.duplicates, done.duplicate_images) == (None, None, 0)
    written = json.loads(dumps(done))
    assert "drafts" not in written
    assert "ledger" not in written
    (gone,) = plan_drafts(folder, options("file:gone.csv", fields=["clutter"])).drafters
    assert "gone.csv" in (gone.problem or "")
    assert (gone.items, gone.stimuli, gone.requests, gone.input_tokens, gone.output_tokens) == (4, 4, 0, 0, 0)


REASONS = """
def fail(stimulus):
    raise ValueError({"p0": "one", "p1": "two", "p2": "three", "p3": "four"}[stimulus])

def foreign(path):
    return "회색 네모"
"""


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "failing_by_hand.py").write_text(REASONS, encoding="utf-8")


@pytest.mark.usefixtures("failing")
def test_three_reasons_are_told_and_a_ledger_is_emptied(folder: Path) -> None:
    done = draft(folder, options("failing_by_hand:fail", fields=["light"]))
    assert len(done.fields[0].problems) == 3
    assert done.ledger.height == 4
    cured = draft(folder, options("hosted", fields=["light"]))
    assert cured.ledger.is_empty()
    assert pl.read_csv(folder / "drafts_ledger.csv").is_empty(), "the file says so too"
    own = draft(folder, options("failing_by_hand:foreign", fields=["caption"]))
    assert own.new == 4, "a machine of one's own may write in any language"
    assert {run.version for run in own.drafters} == {None}


def test_a_budget_in_tokens_needs_no_prices(folder: Path) -> None:
    chat = "chat:seer@http://127.0.0.1:9/v1"
    with pytest.raises(InputError, match=r"budget.*checked"):
        draft(folder, options(chat, fields=["light"], budget=Budget(limit=5)))
    done = draft(folder, options(chat, fields=["light"], budget=Budget(limit=5_000, unit="tokens")))
    assert done.failed == 4
    assert done.ledger["reason"].str.contains("cannot be reached").all()


def test_near_duplicates_are_numbered_from_1(folder: Path) -> None:
    table = folder.parent / "light.csv"
    table.write_text("stimulus,light\np0,0.5\n", encoding="utf-8")
    for name in ("p1", "p3"):
        picture(0).resize((64, 64)).save(folder / "media" / f"{name}.png")
    done = draft(folder, options(f"file:{table}", fields=["light"], duplicates=True))
    assert (done.duplicates, done.duplicate_images) == (1, 3)
    assert pl.read_csv(folder / "drafts_duplicates.csv").select("group", "stimulus").rows() == [
        (1, "p0"),
        (1, "p1"),
        (1, "p3"),
    ]


def test_sounds_take_tokens_by_the_second(folder: Path) -> None:
    opened = open_study(folder)
    lengths = opened.stimuli.with_columns(duration=pl.Series([2.0, 4.0, 8.0, 16.0]))
    sounds = replace(opened, study=opened.study.model_copy(update={"media": "audio"}), stimuli=lengths)
    some = pl.DataFrame({"stimulus": ["p0", "p2"], "question": ["light", "light"]})
    assert media_tokens(sounds, some) == 250
    assert media_tokens(replace(sounds, stimuli=opened.stimuli), some) == 0
    sized = replace(opened, stimuli=opened.stimuli.with_columns(width=pl.lit(750), height=pl.lit(100)))
    assert media_tokens(sized, some) == 200


def test_who_names_a_drafter_and_fields_without_one() -> None:
    theirs = parse_study(
        STUDY.replace("scale: light, machine_first: true", "scale: light, machine_first: true, draft: file:x.csv"),
        "study",
    )
    named = {each.spec: each.named for each in assign(theirs, (), ("file:y.csv",))[0]}
    assert named == {"file:y.csv": False, "file:x.csv": True}
    assert [each.named for each in assign(theirs, (), ("file:x.csv",))[0]] == [False], "the command names it too"
    assert [each.named for each in assign(theirs, ("light",), ("light=file:x.csv",))[0]] == [False]
    with pytest.raises(InputError, match=r"machine.*'caption'"):
        assign(theirs, ("light", "caption"))


def test_who_has_nothing_to_do_asks_nothing(folder: Path) -> None:
    nothing = (0, 0, 0, 0, None)
    table = folder.parent / "light.csv"
    table.write_text("stimulus,light\n" + "".join(f"p{n},0.{n}\n" for n in range(4)), encoding="utf-8")
    first = draft(folder, options(f"file:{table}", fields=["light"]))
    assert first.drafts["version"].str.len_chars().to_list() == [12] * 4, "the start of the file's hash"
    done = draft(folder, options("hosted", fields=["light"]))
    idle = next(run for run in done.drafters if run.drafter == "hosted")
    assert (idle.requests, idle.input_tokens, idle.output_tokens, idle.without_counts, idle.cost) == nothing
    assert (idle.stimuli, Hosted.made) == (0, [])
    (idle_chat,) = plan_drafts(folder, options(CHAT, fields=["light"])).drafters
    assert (idle_chat.stimuli, idle_chat.requests, idle_chat.basis, idle_chat.cost) == (0, 0, "", None)
    (other,) = plan_drafts(folder, options("hosted", fields=["clutter"])).drafters
    assert (other.stimuli, other.requests, other.input_tokens, other.basis) == (4, 0, 0, "")


def test_a_drafter_that_was_not_asked_used_nothing(folder: Path) -> None:
    done = draft(folder, options("light=hosted", "clutter=file:gone.csv", fields=TWO))
    gone = next(run for run in done.drafters if run.problem)
    assert (gone.requests, gone.input_tokens, gone.output_tokens, gone.without_counts) == (0, 0, 0, 0)
    assert (gone.stimuli, gone.seconds, gone.cost, gone.limits) == (0, 0.0, None, "")


def test_only_what_was_changed_in_an_answer_is_told_as_a_change() -> None:
    asked, tags, markup = "asked without a schema", "repeated tags were merged", "markup was removed"
    assert _change(f"{asked}; {tags}; {markup}") == f"{tags}; {markup}"
    assert _change(asked) == _change(None) == ""
