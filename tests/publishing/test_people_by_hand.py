"""What is done to tables about people, step by step, on tables small enough to be checked by eye."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.check import (
    Groups,
    PrivateDataError,
    PrivateTexts,
    check_files,
    check_groups,
    check_step,
    groups_of_raters,
    private_texts,
)
from heartfelt.publishing.anonymity.columns.roles import check_named_columns, rater_roles
from heartfelt.publishing.anonymity.columns.unpublished import leave_out_columns
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.earlier import EARLIER, with_earlier
from heartfelt.publishing.anonymity.generalisation.people import coarsen, facts_of
from heartfelt.publishing.anonymity.generalisation.regions import continent_of, region_of
from heartfelt.publishing.anonymity.key import pseudonyms
from heartfelt.publishing.anonymity.pseudonyms import people_of, pseudonymise
from heartfelt.publishing.anonymity.texts.wishes import gone_since, honour_wishes
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.statements.details import Details
from heartfelt.serialization import dumps
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.adjudications import AdjudicationHistory, EarlierDecision, ShownAnswer
from heartfelt.study import parse_study
from tests.facts import mentions

STUDY = """
name: by hand
scales:
  v: {type: points, points: 9}
  w: {type: text}
  yn: {type: yes-no}
demographics:
  - {id: gender, text: Gender, type: choice, choices: [woman, man, non-binary]}
  - {id: job, text: Job}
after:
  - {id: guess, text: What was it about, scale: w, required: false}
  - {id: silent, text: Keep my comments, scale: yn, wish: comments}
questions:
  - {id: valence, text: "How pleasant?", scale: v}
  - {id: words, text: "Describe it", scale: w}
"""
KEY = bytes(range(32))
DAY = datetime(2026, 6, 1, 14, 33, tzinfo=UTC)
NAMES = [f"person-{number:02d}" for number in range(12)]


def small(raters: pl.DataFrame | None = None, **tables: pl.DataFrame) -> Snapshot:
    """Twelve raters, two stimuli, two questions."""
    rows = [
        (
            name,
            stimulus,
            question,
            float(at % 9 + 1) if question == "valence" else None,
            None if question == "valence" else "calm",
        )
        for at, name in enumerate(NAMES)
        for stimulus in ("s0", "s1")
        for question in ("valence", "words")
    ]
    ratings = pl.DataFrame(
        rows,
        schema={
            "rater": pl.String,
            "stimulus": pl.String,
            "question": pl.String,
            "value": pl.Float64,
            "answer": pl.String,
        },
        orient="row",
    )
    parts = {"stimuli": pl.DataFrame({"stimulus": ["s0", "s1"]}), "ratings": ratings} | tables
    if raters is not None:
        parts["raters"] = raters.with_columns(pl.Series("rater", NAMES[: raters.height]))
    return Snapshot.build(parse_study(STUDY), **parts)  # type: ignore[arg-type]  # tables by name


def facts(**columns: object) -> pl.DataFrame:
    return pl.DataFrame(columns)


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_of_k_passes_and_one_of_k_minus_one_is_refused() -> None:
    six = small(facts(age=[20] * 6 + [30] * 6, ill=["yes", "no"] * 6))
    assert groups_of_raters(six, ["age"], ["ill"]) == Groups(2, 6, 2)
    assert check_groups(six, ["age"], [], PublishOptions(k=6)).smallest == 6
    with pytest.raises(PrivateDataError, match=r"6 raters.*= 7"):
        check_groups(six, ["age"], [], PublishOptions(k=7))
    with pytest.raises(PrivateDataError, match="fewer than l = 3 values"):
        check_groups(six, ["age"], ["ill"], PublishOptions(k=6, l=3))
    five = small(facts(age=[20] * 7 + [30] * 5))
    with pytest.raises(PrivateDataError, match="only 5 raters"):
        check_groups(five, ["age"], [], PublishOptions(k=6))
    assert check_groups(five, [], [], PublishOptions(k=20)) == Groups(1, 12, None)
    early = pl.DataFrame({"rater": NAMES, EARLIER: ["a"] * 9 + ["b"] * 3})
    assert groups_of_raters(six, ["age"], [], early).smallest == 3
    with pytest.raises(PrivateDataError, match="only 3 raters"):
        check_groups(six, ["age"], [], PublishOptions(), early)
    step = check_step(PrivateTexts(("a",), ("b", "c")), Groups(2, 6, None), PublishOptions(earlier=(Path("x"),)))
    assert mentions(step.about, "1 id", "2 texts")
    assert "The smallest of 2 groups" in step.about
    assert mentions(step.about, "releases", "6 raters")
    assert step.settings == {"k": "5", "smallest": "6", "groups": "2"}
    assert "smallest" not in check_step(PrivateTexts((), ()), Groups(0, 0, None), PublishOptions()).about


def test_dates_count_among_what_raters_share() -> None:
    base = small()
    moments = base.ratings.with_columns(
        at=pl.when(pl.col("rater") == NAMES[0]).then(DAY + timedelta(days=1)).otherwise(DAY)
    )
    dated = small(facts(age=[20] * 12), ratings=moments)
    assert groups_of_raters(dated, ["age"], []) == Groups(2, 1, None)
    coarse = coarsen(Draft.of(dated), PublishOptions(times="week"))
    assert coarse.tables["ratings"]["at"].unique().to_list() == [datetime(2026, 6, 1, tzinfo=UTC)]
    assert [(step.about, step.lost) for step in coarse.steps if step.column == "at"] == [("Dated by the week.", 1.0)]
    finer = coarsen(Draft.of(dated), PublishOptions(times="day", weights={"at": 3}))
    assert groups_of_raters(finer.snapshot(), ["age"], []) == Groups(2, 5, None)
    none = coarsen(Draft.of(dated), PublishOptions(times="none"))
    assert "at" not in none.tables["ratings"].columns
    assert [step.lost for step in none.steps if step.column == "at"] == [1.0]
    later = pl.when(pl.col("at") > DAY).then(pl.col("at") + timedelta(days=400)).otherwise("at")
    far = small(facts(age=[20] * 12), ratings=moments.with_columns(later.alias("at")))
    hidden = coarsen(Draft.of(far), PublishOptions(times="month", weights={"at": 3}))
    assert "at" in hidden.tables["ratings"].columns
    assert hidden.tables["ratings"].filter(pl.col("rater") == NAMES[0])["at"].null_count() == 4
    assert mentions(" ".join(step.about for step in hidden.steps), "5 raters", "stand")


# --- facts ------------------------------------------------------------------------------------------------------------


def test_roles_of_columns() -> None:
    table = facts(
        about_gender=["man"] * 12,
        about_job=["painter"] * 12,
        after_guess=["moods"] * 12,
        after_silent=["no"] * 12,
        arrived=[DAY] * 12,
        began=[DAY] * 12,
        last_seen=["2026"] * 12,
        device=["phone"] * 12,
        ended=["finished"] * 12,
        ticked_box=[True] * 12,
        reason=["fast"] * 12,
        remark=["x" * 61] * 12,
        short=["x" * 60] * 12,
        arm=["a"] * 12,
        income=["low"] * 12,
        minutes=[3.0] * 12,
    )
    draft = Draft.of(small(table))
    roles = rater_roles(draft, PublishOptions(sensitive=("inc*",), open=("short",)))
    assert roles == {
        "rater": "id", "about_gender": "quasi-identifier", "about_job": "typed", "after_guess": "text", "after_silent": "wish",
        "arrived": "time", "began": "time",
        "last_seen": "time", "device": "machine", "ended": "outcome", "ticked_box": "outcome", "reason": "text",
        "remark": "text", "short": "open", "arm": "quasi-identifier", "income": "sensitive", "minutes": "duration",
    }  # fmt: skip
    assert rater_roles(draft, PublishOptions(seconds=0.1))["minutes"] == "quasi-identifier"
    assert rater_roles(draft, PublishOptions())["short"] == "quasi-identifier"
    assert facts_of(draft, PublishOptions(sensitive=("income",)))[1] == ["income"]
    public = coarsen(draft, PublishOptions())
    assert public.tables["raters"].columns == [
        "rater", "about_gender", "about_job", "after_guess", "ended", "ticked_box", "reason", "remark", "short", "arm", "income"
    ]  # fmt: skip
    why = {step.column: step.about for step in public.steps if step.kind == "columns"}
    assert set(why) == {"after_silent", "arrived", "began", "last_seen", "device", "minutes"}
    assert "recruiters show it" in why["minutes"]
    bare = coarsen(draft, PublishOptions(without_demographics=True))
    assert bare.tables["raters"].columns == ["rater", "ended", "ticked_box"]
    gone = {step.column: (step.rows, step.lost) for step in bare.steps if step.kind == "demographics"}
    assert gone == dict.fromkeys(
        ("about_gender", "about_job", "after_guess", "reason", "remark", "short", "arm", "income"), (12, 1.0)
    )
    for option, name in (("open", "valu"), ("drop", "raterz"), ("sensitive", "value"), ("weights", "rater")):
        named = {name: 2.0} if option == "weights" else (name,)
        with pytest.raises(InputError, match=f"{option}: there is no column '{name}'"):
            check_named_columns(draft, PublishOptions(**{option: named}))  # type: ignore[arg-type]  # by name
    check_named_columns(draft, PublishOptions(open=("answer",), weights={"at": 0, "about_*": 2}))
    with pytest.raises(InputError, match="no column 'stimulus'"):
        check_named_columns(draft, PublishOptions(drop=("stimulus",)))


def test_choices_are_united_under_their_names_and_the_cost_is_stated() -> None:
    gender = ["woman"] * 6 + ["man"] * 4 + ["non-binary"] * 2
    public = coarsen(Draft.of(small(facts(about_gender=gender))), PublishOptions(k=6, weights={"about_gender": 2}))
    assert public.tables["raters"]["about_gender"].to_list() == ["woman"] * 6 + ["man or non-binary"] * 6
    step = next(step for step in public.steps if step.column == "about_gender")
    assert mentions(step.about, "answers", "6 raters")
    assert step.settings == {"k": "6", "l": "2", "emptied": "0", "weight": "2"}
    assert step.rows == 12
    assert step.lost is not None
    assert 0.3 < step.lost < 0.4
    copies = facts(
        country=["Germany"] * 6 + ["Brazil"] * 6, tongue=["de"] * 6 + ["pt"] * 6, odd=[f"x{at}" for at in range(12)]
    )
    made = coarsen(Draft.of(small(copies)), PublishOptions(k=6))
    assert made.tables["raters"].columns == ["rater", "country", "tongue"]
    told = {each.column: each for each in made.steps}
    assert mentions(told["odd"].about, "columns", "= 6")
    assert told["odd"].lost == 1.0
    assert told["country"].rows == 0


def test_sensitive_columns_are_shared_and_diverse_or_left_out() -> None:
    table = facts(age=[20] * 6 + [40] * 6, ill=["yes", "no"] * 6, rare=["a"] * 11 + ["b"], same=["x"] * 12)
    options = PublishOptions(k=6, l=2, sensitive=("ill", "rare", "same"))
    public = coarsen(Draft.of(small(table)), options)
    assert public.tables["raters"]["ill"].to_list() == ["yes", "no"] * 6
    assert "same" not in public.tables["raters"].columns
    about = {step.column: step.about for step in public.steps}
    assert "fewer than l = 2 values" in about["same"]
    assert "ill" not in about
    assert (
        min(public.tables["raters"]["rare"].value_counts()["count"]) >= 6
        if "rare" in public.tables["raters"].columns
        else True
    )
    with pytest.raises(InputError, match="12 raters, fewer than k = 13"):
        coarsen(Draft.of(small(table)), PublishOptions(k=13))


# --- who --------------------------------------------------------------------------------------------------------------


def test_everybody_gets_a_pseudonym_wherever_they_are_named() -> None:
    history = AdjudicationHistory(
        (ShownAnswer(rater="person-01", value=3.0), ShownAnswer(rater="only shown", value=4.0)),
        decisions=(EarlierDecision(at=1.7e9, by="senior", value=3.0),),
    )
    decided = pl.DataFrame(
        {
            "stimulus": ["s1", "s0"],
            "question": ["valence"] * 2,
            "value": [3.0, 4.0],
            "by": ["boss"] * 2,
            "history": [dumps(history), None],
        }
    )
    source = Draft.of(small(adjudications=decided))
    assert people_of(source) == sorted([*NAMES, "boss", "only shown", "senior"])
    draft, people = pseudonymise(source, KEY)
    who = dict(people.iter_rows())
    assert dict(pseudonyms(KEY, "person", NAMES).iter_rows()).items() <= who.items()
    assert draft.tables["adjudications"]["stimulus"].to_list() == ["s0", "s1"]
    text = draft.tables["adjudications"]["history"][1]
    renamed = AdjudicationHistory.read(text)
    assert [each.rater for each in renamed.answers] == [who["person-01"], who["only shown"]]
    assert [each.by for each in renamed.decisions] == [who["senior"]]
    assert draft.tables["ratings"]["rater"].is_sorted()
    assert {(step.table, step.column) for step in draft.steps} == {
        ("raters", "rater"), ("ratings", "rater"), ("adjudications", "by"), ("adjudications", "history"), ("ratings", None)
    }  # fmt: skip
    undated = coarsen(draft, PublishOptions())
    again = AdjudicationHistory.read(undated.tables["adjudications"]["history"][1])
    assert [each.at for each in again.decisions] == [0.0]
    assert "\n" not in undated.tables["adjudications"]["history"][1]


def test_presentations_of_one_person_are_pseudonyms_too() -> None:
    ratings = small().ratings
    alone = ratings.with_columns(trial=pl.format("t{}", "rater"), set=pl.col("rater"), place=pl.lit(1))
    draft, _ = pseudonymise(Draft.of(small(ratings=alone)), KEY)
    assert all(name.startswith("t_") for name in draft.tables["ratings"]["trial"])
    assert all(name.startswith("s_") for name in draft.tables["ratings"]["set"])
    shared = alone.with_columns(set=pl.lit("set 1"))
    draft, _ = pseudonymise(Draft.of(small(ratings=shared)), KEY)
    assert set(draft.tables["ratings"]["set"]) == {"set 1"}


def test_wishes_are_honoured() -> None:
    wishes = facts(
        wish_answers=["Yes", "no", None] * 4, after_silent=["no", "TRUE", "1"] * 4, after_guess=["moods"] * 12
    )
    draft = honour_wishes(Draft.of(small(wishes)), PublishOptions())
    assert draft.tables["raters"]["rater"].to_list() == [name for at, name in enumerate(NAMES) if at % 3]
    assert set(draft.tables["raters"]["after_guess"]) == {None}
    ratings = draft.tables["ratings"]
    assert set(ratings["question"]) == {"valence"}
    assert ratings.height == 8 * 2
    reasons = draft.tables["ledger"]["reason"].to_list()
    assert reasons[:4] == ["asked that the answers not be shared (4 ratings)"] * 4
    assert reasons[4:] == ["the rater asked that it not be shared"] * 16
    counted = {(step.table, step.column): (step.about, step.rows) for step in draft.steps}
    assert counted["ratings", None] == ("4 raters asked that their answers not be shared.", 16)
    assert counted["ratings", "answer"] == ("8 raters asked that their comments not be shared.", 16)
    assert honour_wishes(Draft.of(small(wishes.select("after_guess"))), PublishOptions()).steps == ()


def test_people_who_are_gone_are_counted(tmp_path: Path) -> None:
    people = pl.DataFrame({"id": ["a"], "pseudonym": ["p_a"]})
    assert gone_since(tmp_path, people) == []
    pl.DataFrame({"id": ["a"], "pseudonym": ["p_a"]}).write_csv(tmp_path / "pseudonyms.csv")
    assert gone_since(tmp_path, people) == []
    pl.DataFrame({"id": ["a", "b", "c"], "pseudonym": ["p_a", "p_b", "p_c"]}).write_csv(tmp_path / "pseudonyms.csv")
    (step,) = gone_since(tmp_path, people)
    assert step.rows == 2
    assert mentions(step.about, "2 people", "release")
    pl.DataFrame({"id": ["a", "b"], "pseudonym": ["p_a", "p_b"]}).write_csv(tmp_path / "pseudonyms.csv")
    assert mentions(gone_since(tmp_path, people)[0].about, "1 person", "release")


# --- columns ----------------------------------------------------------------------------------------------------------


def test_columns_that_may_say_who_are_left_out() -> None:
    ratings = small().ratings.with_columns(
        seat=pl.col("rater"),
        loudness=pl.col("stimulus").str.slice(1).cast(pl.Int64),
        device=pl.lit("phone"),
        plays=pl.col("rater").str.slice(7).cast(pl.Int64),
        note=pl.lit("x"),
        Value=pl.lit(2),
    )
    draft = leave_out_columns(Draft.of(small(ratings=ratings)), PublishOptions(drop=("note", "answer")))
    assert draft.tables["ratings"].columns == ["rater", "stimulus", "question", "value", "loudness", "plays", "Value_2"]
    why = {step.column: step.about for step in draft.steps}
    assert why["note"] == "Left out as asked."
    assert "machine" in why["device"]
    assert "--open" in why["seat"]
    assert "Renamed from 'Value'" in why["Value_2"]
    assert {step.column: step.settings.get("was") for step in draft.steps}["Value_2"] == "Value"
    assert {step.lost for step in draft.steps if step.column != "Value_2"} == {1.0}
    single = ratings.filter((pl.col("stimulus") == "s0") & (pl.col("question") == "valence"))
    assert "loudness" in leave_out_columns(Draft.of(small(ratings=single)), PublishOptions()).tables["ratings"].columns
    opened = leave_out_columns(Draft.of(small(ratings=ratings)), PublishOptions(open=("sea*",)))
    assert "seat" in opened.tables["ratings"].columns
    once = ratings.filter(
        pl.col("rater") == NAMES[0]
    )  # nobody else says the same of a stimulus: it may be about the person
    assert (
        "loudness" not in leave_out_columns(Draft.of(small(ratings=once)), PublishOptions()).tables["ratings"].columns
    )
    asked = pl.DataFrame(
        {
            "rater": NAMES[:2],
            "questionnaire": ["mood"] * 2,
            "after_trials": [1, 1],
            "question": ["q"] * 2,
            "value": [1.0, 2.0],
        }
    )
    without = leave_out_columns(Draft.of(small(questionnaires=asked)), PublishOptions())
    assert without.tables["questionnaires"].height == 0
    assert (without.steps[0].rows, without.steps[0].lost) == (2, 1.0)


# --- files ------------------------------------------------------------------------------------------------------------


def test_private_texts_are_found_in_any_case_but_not_inside_of_words(tmp_path: Path) -> None:
    private = PrivateTexts(("17", "worker-0042"), ("Worker-0042", "Straße 5"))
    (tmp_path / "a.md").write_text("coworker-00421, worker-00420, Straße 50", encoding="utf-8")
    pl.DataFrame({"rater": ["171"], "stimulus": ["17"]}).write_csv(tmp_path / "b.csv")
    assert check_files(tmp_path, private) == 2
    for text in ("by WORKER-0042.", "(worker-0042)", "STRAßE 5", "x_worker-0042_y"):
        (tmp_path / "c.txt").write_text(text, encoding="utf-8")
        with pytest.raises(PrivateDataError, match=r"c\.txt \(its text\)"):
            check_files(tmp_path, private)
    (tmp_path / "c.txt").unlink()
    pl.DataFrame({"rater": ["17"]}).write_csv(tmp_path / "d.tsv", separator="\t")
    with pytest.raises(PrivateDataError, match=r"d\.tsv \(column rater\) holds '17'"):
        check_files(tmp_path, private)


def test_what_is_private_is_what_nobody_has_published() -> None:
    stimuli = pl.DataFrame({"stimulus": ["s0", "s1"], "prompt": ["an old song", "long-and-public-0001"]})
    draft = Draft.of(small(stimuli=stimuli))
    options = PublishOptions(private_texts=("recruited-1", "abcd", "allowed-99"), allow=("allowed-99",))
    found = private_texts(
        draft,
        ["17", "5f3a9c2e71b04d8899aa"],
        ["an old song", "my secret", "by hand"],
        Details(title="my own words"),
        options,
    )
    assert found.ids == ("17", "5f3a9c2e71b04d8899aa")
    assert {"5f3a9c2e71b04d8899aa", "recruited-1", "my secret"} <= set(found.texts)
    assert not {"abcd", "allowed-99", "an old song", "by hand", "17"} & set(found.texts)


@pytest.mark.parametrize(
    ("country", "region", "continent"),
    [
        ("Germany", "Western Europe", "Europe"),
        (" de ", "Western Europe", "Europe"),
        ("south korea", "Eastern Asia", "Asia"),
        ("PERU", "Latin America and the Caribbean", "Americas"),
        ("Kenya", "Sub-Saharan Africa", "Africa"),
        ("NZ", "Oceania", "Oceania"),
        ("Western Europe", None, "Europe"),
        ("Atlantis", None, None),
    ],
)
def test_countries_and_where_they_are(country: str, region: str | None, continent: str | None) -> None:
    assert region_of(country) == region
    assert continent_of(country) == continent


# --- earlier ----------------------------------------------------------------------------------------------------------


def release(folder: Path, snapshot: Snapshot, key: bytes) -> Path:
    draft, _ = pseudonymise(Draft.of(snapshot), key)
    draft.snapshot().write(folder / "snapshot")
    return folder


def test_who_is_known_from_an_earlier_release(tmp_path: Path) -> None:
    folder = release(tmp_path / "one", small(facts(age=[20] * 5 + [30] * 3)), KEY)
    draft, people = pseudonymise(Draft.of(small(facts(age=list(range(12))))), KEY)
    assert with_earlier(draft, people, KEY, PublishOptions()) == (draft, None)
    options = PublishOptions(k=3, earlier=(folder,))
    same, known = with_earlier(draft, people, KEY, options)
    assert known is not None
    who = dict(people.iter_rows())
    expected = {who[name]: "age: 20" if at < 5 else "age: 30" if at < 8 else "(new)" for at, name in enumerate(NAMES)}
    expected |= {who[name]: "age: " for name in NAMES[8:]}  # they rated, so that the release lists them, without an age
    assert dict(known.iter_rows()) == expected
    assert mentions(same.steps[-1].about, "12 raters", "12", "0")
    with pytest.raises(InputError, match=r"7 raters of an earlier release would stand out.*the fewest: 3"):
        with_earlier(draft, people, KEY, PublishOptions(k=5, earlier=(folder,)))


# --- edges ------------------------------------------------------------------------------------------------------------


def test_tables_with_tabs_or_ragged_lines_are_searched(tmp_path: Path) -> None:
    private = PrivateTexts(("17",), ("worker-0042",))
    (tmp_path / "a.tsv").write_text("note\trater\nfine\t17\n", encoding="utf-8")
    with pytest.raises(PrivateDataError, match=r"a\.tsv \(column rater\)"):
        check_files(tmp_path, private)
    (tmp_path / "a.tsv").unlink()
    (tmp_path / "b.csv").write_text("note,more\nx,y,z\nworker-0042,q\n", encoding="utf-8")
    with pytest.raises(PrivateDataError, match=r"b\.csv \(column note\)"):
        check_files(tmp_path, private)
    for line in ("x,y,by worker-0042", '"x",y,by worker-0042', '"x, y",z,worker-0042'):
        (tmp_path / "b.csv").write_text(f"note,more\nx,y\n{line}\n", encoding="utf-8")
        with pytest.raises(PrivateDataError, match=r"b\.csv.*line"):
            check_files(tmp_path, private)
    (tmp_path / "b.csv").write_text("note\nx\ny,z\nworker-0042\n", encoding="utf-8")
    with pytest.raises(PrivateDataError, match=r"b\.csv \(column note\)"):
        check_files(tmp_path, private)
    (tmp_path / "b.csv").write_text("2024\n17\n18\n", encoding="utf-8")
    assert check_files(tmp_path, private) == 1
    (tmp_path / "b.csv").write_text("", encoding="utf-8")
    assert check_files(tmp_path, private) == 1


def test_names_of_columns_are_searched(tmp_path: Path) -> None:
    private = PrivateTexts((), ("worker-0042",))
    for name, write in (("a.csv", pl.DataFrame.write_csv), ("a.parquet", pl.DataFrame.write_parquet)):
        write(pl.DataFrame({"seen by worker-0042": [1]}), tmp_path / name)
        with pytest.raises(PrivateDataError, match=rf"{name} \(the name of a column\)"):
            check_files(tmp_path, private)
        (tmp_path / name).unlink()
    nested = pl.DataFrame({"answers": [[{"worker-0042": 1.0}]]})
    nested.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(PrivateDataError, match="the name of a column"):
        check_files(tmp_path, private)


def test_dates_of_verified_fields_and_people_nobody_knew_count() -> None:
    fields = pl.DataFrame(
        {"stimulus": ["s0"], "field": ["words"], "machine": ["calm"], "verified_by": [NAMES[0]], "at": [DAY]}
    )
    assert groups_of_raters(small(fields=fields), [], []) == Groups(2, 1, None)
    early = pl.DataFrame({"rater": NAMES[:9], EARLIER: ["a"] * 9})
    assert groups_of_raters(small(), [], [], early) == Groups(2, 3, None)


def test_dates_are_published_of_raters_of_whom_nothing_else_is_known() -> None:
    moments = small().ratings.with_columns(at=pl.lit(DAY))
    draft = coarsen(Draft.of(small(ratings=moments)), PublishOptions(k=12, times="month"))
    assert set(draft.tables["ratings"]["at"]) == {datetime(2026, 6, 1, tzinfo=UTC)}
    (step,) = [step for step in draft.steps if step.column == "at"]
    assert (step.kind, step.about, step.rows, step.settings) == (
        "times", "Dated by the month.", 48, {"k": "12", "l": "2"}
    )  # fmt: skip
    fields = pl.DataFrame(
        {
            "stimulus": ["s0", "s1"],
            "field": ["words", "words"],
            "machine": ["calm"] * 2,
            "verified_by": [NAMES[0], None],
            "at": [DAY + timedelta(days=90), None],
            "drafted_at": [DAY, DAY],
        }
    )
    verified = coarsen(Draft.of(small(ratings=moments, fields=fields)), PublishOptions(times="day"))
    at = verified.tables["ratings"].filter(pl.col("rater") == NAMES[0])["at"].to_list()
    assert at == [None] * 4, "the only one who verified stands out by that date"
    assert verified.tables["fields"]["at"].to_list() == [None, None]
    assert set(verified.tables["fields"]["drafted_at"]) == {datetime(2026, 6, 1, tzinfo=UTC)}
    assert "not at all for" in " ".join(step.about for step in verified.steps)
    undated = coarsen(Draft.of(small(ratings=moments)), PublishOptions(k=12, times="none"))
    assert [step.about for step in undated.steps if step.column == "at"] == ["When is left out."]


def test_decisions_are_dated_by_the_same_period_also_those_of_nobody_who_rated() -> None:
    moments = small().ratings.with_columns(at=pl.lit(DAY))
    decided = pl.DataFrame(
        {"stimulus": ["s0"], "question": ["valence"], "value": [3.0], "by": ["boss"], "at": [DAY + timedelta(days=9)]}
    )
    draft = coarsen(Draft.of(small(ratings=moments, adjudications=decided)), PublishOptions(times="week"))
    assert draft.tables["adjudications"]["at"].to_list() == [datetime(2026, 6, 8, tzinfo=UTC)]
    without = coarsen(Draft.of(small(adjudications=decided)), PublishOptions(times="week"))
    assert "at" not in without.tables["adjudications"].columns


def test_too_few_people_are_not_dated() -> None:
    moments = small().ratings.with_columns(at=pl.lit(DAY))
    draft = coarsen(Draft.of(small(ratings=moments)), PublishOptions(k=13))
    assert "at" not in draft.tables["ratings"].columns
    assert [step.lost for step in draft.steps if step.column == "at"] == [1.0]


def test_answers_of_people_who_asked_are_gone_from_histories_and_fields() -> None:
    history = AdjudicationHistory((ShownAnswer(rater=NAMES[0], value=3.0), ShownAnswer(rater=NAMES[1], value=4.0)))
    decided = pl.DataFrame(
        {
            "stimulus": ["s0", "s1"],
            "question": ["valence"] * 2,
            "value": [3.0, 4.0],
            "by": ["boss"] * 2,
            "history": [dumps(history), None],
        }
    )
    fields = pl.DataFrame(
        {
            "stimulus": ["s0", "s1"],
            "field": ["words", "valence"],
            "machine": ["calm", "3"],
            "verified_by": [NAMES[1]] * 2,
        }
    )
    wishes = facts(
        wish_answers=["yes"] + ["no"] * 11,
        wish_comments=["no", "yes"] + ["no"] * 10,
        empty=pl.Series([None] * 12, dtype=pl.String),
    )
    draft = honour_wishes(Draft.of(small(wishes, adjudications=decided, fields=fields)), PublishOptions())
    told, nothing = draft.tables["adjudications"]["history"]
    assert [each.rater for each in AdjudicationHistory.read(told).answers] == [NAMES[1]]
    assert AdjudicationHistory.read(told).erased == 1
    assert nothing is None
    assert draft.tables["fields"]["field"].to_list() == ["valence"]
    assert rater_roles(draft, PublishOptions())["empty"] == "quasi-identifier"


def test_an_earlier_release_that_says_nothing_of_its_raters(tmp_path: Path) -> None:
    folder = release(tmp_path / "bare", small(), KEY)
    draft, people = pseudonymise(Draft.of(small()), KEY)
    _, known = with_earlier(draft, people, KEY, PublishOptions(earlier=(folder,)))
    assert known is not None
    assert set(known[EARLIER]) == {"in it"}
