"""A collected study published: what is left of it, who could be identified in it, and what the record says."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.collect.collection import Collection, collected_snapshot
from heartfelt.collect.messages import commands
from heartfelt.errors import InputError
from heartfelt.labels import load_benchmark
from heartfelt.publishing.anonymity.check import PrivateDataError
from heartfelt.publishing.anonymity.generalisation.regions import continent_of, region_of
from heartfelt.publishing.anonymity.key import keyed_hash, secret_key
from heartfelt.publishing.digests import SOURCE
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import PublishedStudy, publish
from heartfelt.publishing.read_back import read_back
from heartfelt.snapshot import Snapshot
from tests.media.metadata.tagged import MARK
from tests.publishing.collected import CITIZEN, DAY, MAIL, PHONE, START, Person, collect, people

pytestmark = pytest.mark.slow
QUICK = {"texts": "search", "analysis": False, "figures": False, "layouts": ("csv",)}
K = 5
EVERY = {"day": "1d", "week": "1w", "month": "1mo"}


@dataclass(frozen=True)
class Case:
    """A study, who took part, and what was published of it."""

    folder: Path
    roster: list[Person]
    source: Snapshot
    published: PublishedStudy

    @property
    def public(self) -> Snapshot:
        return heartfelt.load(self.published.folder / "snapshot")

    def everything(self) -> bytes:
        files = (path for path in self.published.folder.rglob("*") if path.is_file())
        return b"\n".join(path.read_bytes() for path in files)

    def options(self, **others: object) -> PublishOptions:
        ids = tuple(person.participant for person in self.roster)
        return PublishOptions(k=K, sensitive=("about_diagnosis",), private_texts=ids, **{**QUICK, **others})  # type: ignore[arg-type]  # options by name


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("publishing") / "study"
    roster = collect(folder, people())
    source = collected_snapshot(folder)
    blank = Case(folder, roster, source, None)  # type: ignore[arg-type]  # published in the next line
    return Case(folder, roster, source, publish(source, folder.parent / "out", blank.options()))


def test_what_is_read_back_differs_only_where_a_step_says_so(case: Case) -> None:
    compared = read_back(case.source, case.published.folder, case.published.private)
    assert not compared.unexplained
    assert compared.same > 0.5 * compared.cells
    lost = {(each.table, each.column) for each in compared.differences}
    assert {("raters", "arrived"), ("raters", "device"), ("raters", "about_age"), ("ratings", "seconds")} <= lost
    values = case.public.ratings.filter(pl.col("question") == "valence")
    assert values.height == 39 * 3  # one of forty did not want their answers to be shared
    record = json.loads((case.published.folder / "publication.json").read_text(encoding="utf-8"))
    assert record["published_hash"] == case.public.hash
    key = secret_key(case.published.folder, case.published.private, None)
    assert record["source_hash"] == keyed_hash(key, SOURCE, case.source.hash)
    with pytest.raises(InputError, match="not published from this source"):
        read_back(case.public, case.published.folder, case.published.private)
    assert {step["kind"] for step in record["steps"]} >= {
        "pseudonyms", "wishes", "demographics", "free-text", "times", "media", "columns", "check"
    }  # fmt: skip
    assert all(0 <= step["lost"] <= 1 for step in record["steps"] if step["lost"] is not None)


def test_nothing_private_is_in_any_file(case: Case) -> None:
    content = case.everything()
    for person in case.roster:
        for text in (person.participant, person.rater):
            assert text.encode() not in content
    for text in (PHONE, MAIL, CITIZEN, "never to be seen", "for the researchers only", MARK, str(case.folder)):
        assert text.encode() not in content, text
    public = case.public
    assert "what music makes people feel" in public.raters["after_guess"].to_list()
    assert "nice study" in public.ratings["comment"].to_list()
    assert not {"after_no_answers", "after_no_comments", "device", "arrived"} & set(public.raters.columns)
    assert public.ratings["rater"].is_sorted()
    asked = public.ledger.filter(pl.col("reason").str.contains("not be shared"))
    assert asked.height >= 1
    assert case.source.stimuli["bytes"][0] > public.stimuli["bytes"][0]


def test_a_roster_cannot_be_joined_below_k(case: Case) -> None:
    """A neighbour knows exact age, gender, country and the day of everybody; how many published raters fit each of them?"""
    public = case.public
    facts = public.raters.filter(pl.col("rater").is_in(public.ratings["rater"].to_list()))
    days = (
        {}
        if "at" not in public.ratings.columns
        else {
            rater: {at.date() for at in moments if at is not None}
            for rater, moments in public.ratings.group_by("rater").agg("at").iter_rows()
        }
    )
    dated = " ".join(step.about for step in case.published.record.steps if step.kind == "times")
    every = next((length for name, length in EVERY.items() if f"by the {name}" in dated), "1d")
    for person in case.roster:
        if person.no_answers:
            continue
        candidates = 0
        for row in facts.iter_rows(named=True):
            fits = _fits_number(row.get("about_age"), person.age)
            fits &= _fits_word(row.get("about_gender"), person.gender)
            fits &= _fits_country(row.get("about_country"), person.country)
            fits &= _fits_day(days.get(row["rater"], set()), person.day, every)
            candidates += fits
        assert candidates >= K, person


def _fits_number(published: object, exact: int) -> bool:
    if published is None or isinstance(published, int | float):
        return published is None or published == exact
    text = str(published)
    if text.endswith(" or less"):
        return exact <= int(text.split()[0])
    if text.endswith(" or more"):
        return exact >= int(text.split()[0])
    low, high = map(int, text.split("-"))
    return low <= exact <= high


def _fits_word(published: str | None, exact: str) -> bool:
    return published is None or exact in re.split(", | or ", published)


def _fits_country(published: str | None, exact: str) -> bool:
    fitting = {exact.lower(), region_of(exact), continent_of(exact)}
    return published is None or bool(fitting.intersection(re.split(", | or ", published)))


def _fits_day(periods: set[date], day: int, every: str) -> bool:
    exact = pl.Series([datetime.fromtimestamp(START + day * DAY, UTC)]).dt.truncate(every)[0].date()
    return not periods or exact in periods


def test_groups_are_large_and_diverse_in_what_is_published(case: Case) -> None:
    public = case.public
    known = ("about_age", "about_gender", "about_country", "language", "recruiter")
    facts = [name for name in known if name in public.raters.columns]
    assert facts, "everything was left out"
    groups = public.raters.group_by(facts).agg(pl.len(), pl.n_unique("about_diagnosis").alias("values"))
    assert groups["len"].min() >= K  # type: ignore[operator]  # there are groups
    assert groups["values"].min() >= 2  # type: ignore[operator]  # there are groups


def test_decisions_about_texts_are_read_back(case: Case, tmp_path: Path) -> None:
    waiting = pl.read_csv(case.published.quarantine, infer_schema=False)
    assert set(waiting["kinds"]) == {"phone number", "e-mail", "participant id"}
    decide = {"phone number": "redact", "e-mail": "publish", "participant id": "drop"}
    decided = waiting.with_columns(pl.col("kinds").replace(decide).alias("decision"))
    decided.write_csv(tmp_path / "decided.csv")
    options = case.options(decisions=tmp_path / "decided.csv", private=case.published.private)
    again = publish(case.source, tmp_path / "again", options)
    assert again.undecided == 0
    public = heartfelt.load(again.folder / "snapshot")
    assert "call me on [phone number]" in public.ratings["answer"].to_list()
    assert f"write to {MAIL} please" in public.ratings["comment"].to_list()
    assert set(public.raters["rater"]) == set(case.public.raters["rater"])
    decided.with_columns(pl.lit("q_0").alias("id")).write_csv(tmp_path / "other.csv")
    with pytest.raises(InputError, match="decides about no text"):
        publish(case.source, tmp_path / "third", case.options(decisions=tmp_path / "other.csv"))
    decided.with_columns(pl.lit("maybe").alias("decision")).write_csv(tmp_path / "wrong.csv")
    with pytest.raises(InputError, match=r"line 2.*'maybe'"):
        publish(case.source, tmp_path / "third", case.options(decisions=tmp_path / "wrong.csv"))


def test_a_leak_stops_everything(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.publishing.publish.quarantine_texts", lambda draft, *_: (draft, ()))
    with pytest.raises(PrivateDataError, match="which is private"):
        publish(case.source, tmp_path / "out", case.options())
    assert not (tmp_path / "out").exists()


def test_people_who_were_erased_are_gone_and_counted(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(case.folder, folder)
    with Collection.open(folder) as collection:
        collection.do(commands.Erase(rater=case.roster[10].rater))
    options = case.options(private=case.published.private)
    again = publish(collected_snapshot(folder), tmp_path / "again", options)
    counted = [step for step in again.record.steps if "earlier release" in step.about]
    assert counted
    assert counted[0].rows == 1
    assert again.release.snapshot.raters.height == case.public.raters.height - 1


def test_the_command_says_what_was_done(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["publish", str(case.folder), str(tmp_path / "out"), "--texts", "drop", "--no-media", "--layout", "csv"]
    chosen = [
        "--times",
        "none",
        "--without-demographics",
        "--hold-out",
        "test",
        "--split",
        "by=stimulus",
        "--no-analysis",
    ]
    assert main([*where, *chosen]) == 0
    output = capsys.readouterr().out
    assert "Read back:" in output
    assert "the media may not be shared" in output
    assert "are held out" in output
    assert "Not explained" not in output
    assert not list((tmp_path / "out").rglob("*.wav"))
    private = load_benchmark(tmp_path / "out-private" / "benchmark")
    public = load_benchmark(tmp_path / "out" / "benchmark")
    assert private.part("test").height
    assert not public.part("test").height
    assert public.snapshot_hash == heartfelt.load(tmp_path / "out" / "snapshot").hash
