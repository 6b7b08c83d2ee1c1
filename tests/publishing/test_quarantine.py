"""What waits for a decision: few texts all of them, and whatever the final search finds; every refusal has a way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.check import Hit, PrivateDataError, PrivateTexts, check_files
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.recognise.rule import Finding
from heartfelt.publishing.anonymity.texts.in_release import check_release, decided_in_release, take_out, with_allowed
from heartfelt.publishing.anonymity.texts.quarantine import (
    QUARANTINE,
    QuarantinedText,
    TextInRelease,
    read_decisions,
    write_quarantine,
)
from heartfelt.publishing.anonymity.texts.texts import REVIEWED, quarantine_texts
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import PublishedStudy, publish
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.publishing.test_publish import QUICK, small


def with_comments(comments: Mapping[str, str], default: str = "calm", **stimuli: list[str]) -> Snapshot:
    """A small study in which some raters typed something, and in which stimuli have further columns."""
    base = small()
    comment = pl.col("rater").replace_strict(comments, default=default, return_dtype=pl.String)
    columns = [pl.Series(name, values) for name, values in stimuli.items()]
    return Snapshot.build(
        base.study, stimuli=base.stimuli.with_columns(columns), ratings=base.ratings.with_columns(comment=comment)
    )


def quarantined(source: Snapshot, folder: Path, **options: object) -> tuple[Draft, tuple[QuarantinedText, ...]]:
    folder.mkdir(exist_ok=True)
    return quarantine_texts(Draft.of(source), PublishOptions(**options), ["person-003"], folder)  # type: ignore[arg-type]  # by name


def decide(path: Path, decisions: Mapping[str, str]) -> None:
    """Fill in the file as a person would: by what the text says."""
    table = pl.read_csv(path, infer_schema=False)
    decided = pl.col("text").replace_strict(decisions, default=pl.col("decision"), return_dtype=pl.String)
    table.with_columns(decided.alias("decision")).write_csv(path)


def everything(folder: Path) -> str:
    """All that anybody can read of a release, tables and names of files included, in small letters."""
    parts = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            parts.append(str(pl.read_parquet(path).to_dicts()))
        elif path.is_file():
            parts.append(path.read_bytes().decode("utf-8", errors="replace"))
    return "\n".join(parts).lower()


# --- few texts are reviewed -------------------------------------------------------------------------------------------


def test_few_texts_all_wait_and_many_only_with_personal_data(tmp_path: Path) -> None:
    few = with_comments({"person-001": "mail me: a.b@example.org"}, "fine")
    draft, texts = quarantined(few, tmp_path / "few")
    assert {each.text for each in texts} == {"mail me: a.b@example.org", "fine"}
    assert not draft.tables["ratings"]["comment"].count()
    assert mentions(draft.steps[0].about, "2 different", "texts")
    assert draft.steps[0].settings == {"texts": "review"}
    draft, texts = quarantined(few, tmp_path / "search", texts="search")
    assert {each.text for each in texts} == {"mail me: a.b@example.org"}
    assert set(draft.tables["ratings"]["comment"]) == {"fine", None}
    assert len(draft.steps) == 1, "nothing is said of a choice that was not left open"
    draft, texts = quarantined(few, tmp_path / "drop", texts="drop")
    assert {each.decision for each in texts} == {"drop"}
    assert not (tmp_path / "drop" / QUARANTINE).exists()


@pytest.mark.parametrize(("count", "waiting"), [(REVIEWED, REVIEWED), (REVIEWED + 1, 0)])
def test_where_few_ends(tmp_path: Path, count: int, waiting: int) -> None:
    base = small(35)
    texts = [f"tone {'x' * (place % count)}" for place in range(base.ratings.height)]
    source = Snapshot.build(
        base.study, stimuli=base.stimuli, ratings=base.ratings.with_columns(pl.Series("comment", texts))
    )
    draft, held = quarantined(source, tmp_path / "private")
    assert len(held) == waiting
    assert f"{count} different texts" in draft.steps[0].about
    assert ("few enough to read" in draft.steps[0].about) is bool(waiting)


def test_a_study_without_texts_says_nothing_about_them(tmp_path: Path) -> None:
    draft, texts = quarantined(small(), tmp_path / "private")
    assert not texts
    assert not draft.steps


def test_ids_and_phone_numbers_of_the_raters_own_countries_are_found(tmp_path: Path) -> None:
    typed = {"person-001": "ring 44 32 12 56 maybe", "person-002": "as PERSON-003 said"}
    source = with_comments({**typed, "person-004": "from 44 32 12 57"})
    names = [f"person-{number:03d}" for number in range(12)]
    raters = pl.DataFrame({"rater": names, "country": ["Denmark"] * 12})
    source = Snapshot.build(source.study, stimuli=source.stimuli, ratings=source.ratings, raters=raters)
    _, texts = quarantined(source, tmp_path / "private", texts="search")
    assert {each.text: each.findings[0].kind for each in texts} == {
        "ring 44 32 12 56 maybe": "phone number",
        "from 44 32 12 57": "phone number",
        "as PERSON-003 said": "participant id",
    }


# --- the file ---------------------------------------------------------------------------------------------------------

TYPED = QuarantinedText(
    id="q_1", text="I'm Robert", findings=(Finding("name", 4, 10),), where="ratings.comment", times=3, decision=""
)
FOUND = TextInRelease(text="Robert", where="a.csv (column prompt)", times=2, suggestion="[private] sings")


def test_the_file_holds_what_was_typed_and_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / QUARANTINE
    assert not read_decisions(path, required=False).by_id
    with pytest.raises(InputError, match="There is no file"):
        read_decisions(path, required=True)
    write_quarantine(path, [TYPED], [replace(FOUND, decision="redact")])
    assert path.stat().st_mode & 0o777 == 0o600
    table = pl.read_csv(path, infer_schema=False)
    assert table["redacted"].to_list() == ["I'm [name]", "[private] sings"]
    assert table["times"].to_list() == ["3", "2"]
    decided = read_decisions(path, required=True)
    assert decided.by_id == {"q_1": "", FOUND.id: "redact"}
    assert decided.in_release == (replace(FOUND, decision="redact"),)
    assert FOUND.id == TextInRelease(text="ROBERT", where="", times=1, suggestion="").id
    path.write_text("id,decision\nq_1, Publish \n", encoding="utf-8")
    assert read_decisions(path, required=True).by_id == {"q_1": "publish"}
    path.write_text("id,what\nq_1,x\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'decision'"):
        read_decisions(path, required=True)


def test_what_is_published_and_private_of_a_text() -> None:
    assert replace(TYPED, decision="publish").published == "I'm Robert"
    assert replace(TYPED, decision="redact").published == "I'm [name]"
    assert replace(TYPED, decision="drop").published is None
    assert TYPED.published is None
    assert TYPED.private == ["I'm Robert", "Robert"]
    assert replace(TYPED, decision="publish").private == []
    assert replace(TYPED, findings=()).private == []


# --- the final search -------------------------------------------------------------------------------------------------


def test_the_final_search_ignores_capitals_and_width_and_knows_chinese(tmp_path: Path) -> None:
    private = PrivateTexts((), ("Robert Müller", "王小明"))
    for text in ("by ROBERT MÜLLER.", "Ｒｏｂｅｒｔ Müller", "Rob\u200bert müller", "他叫王小明吗"):
        (tmp_path / "a.md").write_text(text, encoding="utf-8")
        with pytest.raises(PrivateDataError) as caught:
            check_files(tmp_path, private)
        assert [(hit.file, hit.where, hit.text) for hit in caught.value.hits] == [("a.md", "its text", text)]
    (tmp_path / "a.md").write_text("Robert Müllers, 王小", encoding="utf-8")
    assert check_files(tmp_path, private) == 1


def test_the_final_search_lists_every_place(tmp_path: Path) -> None:
    pl.DataFrame({"prompt": ["Robert sings", "robert sleeps", "x"]}).write_csv(tmp_path / "a.csv")
    (tmp_path / "b.md").write_text("Robert\nand call 0170 1234567\n", encoding="utf-8")
    private = PrivateTexts((), ("Robert", "call 0170 1234567"))
    with pytest.raises(PrivateDataError, match="3 more places") as caught:
        check_files(tmp_path, private)
    assert len(caught.value.hits) == 4
    folder = tmp_path / "private"
    folder.mkdir()
    write_quarantine(folder / QUARANTINE, [TYPED], [replace(FOUND, text="Anna B", decision="publish")])
    release = tmp_path / "release"
    release.mkdir()
    (tmp_path / "a.csv").rename(release / "a.csv")
    (tmp_path / "b.md").rename(release / "b.md")
    with pytest.raises(PrivateDataError, match="now lists 2 private texts") as caught:
        check_release(release, private, folder, [TYPED])
    for way in ("'publish'", "'redact'", "'drop'", "--drop", "--allow 'Robert'", str(folder / QUARANTINE)):
        assert way in caught.value.fix
    assert "could not be taken out" not in caught.value.fix
    table = pl.read_csv(folder / QUARANTINE, infer_schema=False)
    assert table["text"].to_list() == ["I'm Robert", "Anna B", "Robert", "call 0170 1234567"]
    assert table["where"][2] == "a.csv (column prompt) and b.md (its text)"
    assert table["times"].to_list()[2:] == ["3", "1"]
    assert table["redacted"].to_list()[2:] == ["[private] sings", "and [private]"]
    assert table["decision"].to_list() == ["", "publish", "", ""]
    decide(folder / QUARANTINE, {"Robert": "redact"})
    with pytest.raises(PrivateDataError, match=r"names.*ids"):
        check_release(release, private, folder, [TYPED])
    assert read_decisions(folder / QUARANTINE, required=True).by_id[FOUND.id] == "redact", "a decision is kept"


def test_decisions_about_what_was_found_are_carried_out(tmp_path: Path) -> None:
    prompts = ["Robert sings", "ROBERT", "Roberta", "sea", "sea", "x"]
    draft = Draft.of(with_comments({"person-001": "like Robert"}, prompt=prompts))
    redacted = take_out(draft, [replace(FOUND, decision="redact")])
    assert redacted.tables["stimuli"]["prompt"].to_list() == [
        "[private] sings", "[private]", "Roberta", "sea", "sea", "x",
    ]  # fmt: skip
    assert set(redacted.tables["ratings"]["comment"]) == {"like [private]", "calm"}
    assert [(step.table, step.column, step.rows) for step in redacted.steps] == [
        ("stimuli", "prompt", 2),
        ("ratings", "comment", 6),
    ]
    dropped = take_out(draft, [replace(FOUND, decision="drop")])
    assert dropped.tables["stimuli"]["prompt"].null_count() == 2
    assert take_out(draft, [replace(FOUND, decision="publish")]).steps == ()
    ids = take_out(draft, [replace(FOUND, text="person-001", decision="drop")])
    assert ids.tables["ratings"]["rater"].null_count() == 0, "ids are never emptied"
    options = PublishOptions(allow=("x",))
    assert with_allowed(options, [FOUND, replace(FOUND, decision="publish")]).allow == ("x", "Robert")
    assert with_allowed(options, [replace(FOUND, decision="drop")]) is options
    write_quarantine(tmp_path / QUARANTINE, [], [FOUND, replace(FOUND, text="B", decision="drop")])
    assert [each.text for each in decided_in_release(PublishOptions(), tmp_path)] == ["B"]
    elsewhere = PublishOptions(decisions=tmp_path / QUARANTINE)
    assert [each.text for each in decided_in_release(elsewhere, tmp_path / "other")] == ["B"]
    assert decided_in_release(PublishOptions(), tmp_path / "other") == ()
    with pytest.raises(InputError, match="There is no file"):
        decided_in_release(PublishOptions(decisions=tmp_path / "none.csv"), tmp_path)


def test_a_hit_in_a_column_of_people_is_a_fault_and_waits_for_nobody(tmp_path: Path) -> None:
    pl.DataFrame({"rater": ["17"]}).write_csv(tmp_path / "a.csv")
    with pytest.raises(PrivateDataError, match="holds '17'") as caught:
        check_files(tmp_path, PrivateTexts(("17",), ()))
    assert caught.value.hits == ()
    with pytest.raises(PrivateDataError, match="holds '17'"):
        check_release(tmp_path, PrivateTexts(("17",), ()), tmp_path / "private", [])
    assert not (tmp_path / "private").exists()
    assert Hit(file="a", where="b", private="c", text="d").private == "c"


PROMPTS = ["a portrait of Robert at sea", "sea", "sky", "lake", "hill", "road"]


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["publish", "redact", "drop"])
def test_no_refusal_is_a_dead_end(tmp_path: Path, decision: str) -> None:
    source = with_comments({"person-001": "hi, I'm Robert"}, prompt=PROMPTS)
    out, options = tmp_path / "out", replace(QUICK, texts="search", layouts=("csv",))
    with pytest.raises(PrivateDataError, match="holds 'Robert'"):
        publish(source, out, options)
    assert not out.exists()
    decide(tmp_path / "out-private" / QUARANTINE, {"Robert": decision, "hi, I'm Robert": "redact"})
    published: PublishedStudy = publish(source, out, options)
    readable = everything(out)
    assert ("robert" in readable) is (decision == "publish")
    assert "[name]" in readable
    prompts = published.release.snapshot.stimuli["prompt"].to_list()
    assert prompts[0] == {"publish": PROMPTS[0], "redact": "a portrait of [private] at sea", "drop": None}[decision]
    again = publish(source, tmp_path / "again", replace(options, private=tmp_path / "out-private"))
    assert again.release.snapshot.hash == published.release.snapshot.hash, "decisions are kept"


# --- machines ---------------------------------------------------------------------------------------------------------

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"


@pytest.mark.slow
def test_facts_about_machines_in_somebody_elses_table_are_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pl.DataFrame(
        [
            {
                "rater": f"r{rater}", "stimulus": f"s{clip}", "question": "valence", "value": 1 + (rater + clip) % 5,
                "userAgent": AGENT, "ip": f"192.0.2.{rater}", "seen_on": "1920x1080", "w": "52.5200, 13.4050",
                "came": "https://app.example.com/?PID=1", "system_name": "Windows 10", "clip_length": 10 + clip,
            }
            for rater in range(12)
            for clip in range(6)
        ]
    )  # fmt: skip
    rows.write_csv(tmp_path / "ratings.csv")
    assert main(["publish", str(tmp_path / "ratings.csv"), str(tmp_path / "out"), "--no-analysis"]) == 0
    readable = everything(tmp_path / "out")
    for secret in ("mozilla/5.0", "192.0.2.", "1920x1080", "13.4050", "app.example.com", "windows 10"):
        assert secret not in readable, secret
    assert "clip_length" in readable
    shown = capsys.readouterr().out
    for name in ("userAgent", "seen_on", "w", "came", "system_name"):
        assert f".{name}: What is known of the person's machine is left out" in shown
