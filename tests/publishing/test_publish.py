"""Publishing as a whole: what a folder holds, and what is refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError, StudyError
from heartfelt.publishing.anonymity.check import PrivateDataError, PrivateTexts, check_files
from heartfelt.publishing.anonymity.media import content_digest
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.publishing.read_back import read_back
from heartfelt.publishing.statements.details import Details
from heartfelt.serialization import dumps
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.adjudications import AdjudicationHistory, EarlierDecision, ShownAnswer
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import parse_study, study_text
from tests.facts import mentions
from tests.media.metadata.tagged import SOUNDS

STUDY = """
name: small
scales:
  v: {type: points, points: 9}
questions:
  - {id: valence, text: "How pleasant?", scale: v}
"""


def small(raters: int = 12, stimuli: int = 6) -> Snapshot:
    names = [f"person-{number:03d}" for number in range(raters)]
    rows = [
        (rater, f"s{place}", "valence", float(1 + (number * 3 + place) % 9))
        for number, rater in enumerate(names)
        for place in range(stimuli)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    media = pl.DataFrame({"stimulus": [f"s{place}" for place in range(stimuli)]})
    return Snapshot.build(parse_study(STUDY), stimuli=media, ratings=ratings)


@pytest.mark.slow
def test_a_snapshot_is_published_and_loads(tmp_path: Path) -> None:
    published = publish(small(), tmp_path / "out", PublishOptions(analysis=False, layouts=()))
    again = heartfelt.load(tmp_path / "out" / "snapshot")
    assert again.hash == published.record.published_hash
    assert again.counts["ratings"] == 72
    assert not set(again.raters["rater"]) & set(small().raters["rater"])
    assert (tmp_path / "out-private" / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out-private").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_the_same_key_gives_the_same_pseudonyms(tmp_path: Path) -> None:
    options = PublishOptions(analysis=False, layouts=(), private=tmp_path / "mine")
    first = publish(small(), tmp_path / "one", options)
    second = publish(small(14), tmp_path / "two", options)
    names = set(first.release.snapshot.raters["rater"])
    assert names < set(second.release.snapshot.raters["rater"])
    other = publish(small(), tmp_path / "three", PublishOptions(analysis=False, layouts=()))
    assert not names & set(other.release.snapshot.raters["rater"])


@pytest.mark.parametrize("what", ["private", "key"])
def test_a_key_inside_of_what_is_published_is_refused(tmp_path: Path, what: str) -> None:
    inside = tmp_path / "out" / "key"
    options = PublishOptions(key=inside) if what == "key" else PublishOptions(private=inside)
    with pytest.raises(InputError, match="is to be published"):
        publish(small(), tmp_path / "out", options)
    assert not (tmp_path / "out").exists()


QUICK = PublishOptions(analysis=False, figures=False, layouts=())


def with_raters(raters: pl.DataFrame, **columns: pl.Expr) -> Snapshot:
    base = small(raters.height)
    names = base.raters["rater"]
    return Snapshot.build(
        base.study,
        stimuli=base.stimuli,
        ratings=base.ratings.with_columns(**columns),
        raters=raters.with_columns(names),
    )


@pytest.mark.slow
def test_four_people_are_refused_or_published_without_demographics(tmp_path: Path) -> None:
    four = with_raters(pl.DataFrame({"age": [20, 30, 40, 50]}))
    with pytest.raises(InputError, match="4 raters, fewer than k = 5"):
        publish(four, tmp_path / "out", QUICK)
    assert not (tmp_path / "out").exists()
    published = publish(four, tmp_path / "out", replace(QUICK, without_demographics=True))
    assert published.release.snapshot.raters.columns == ["rater"]
    assert published.release.snapshot.counts["ratings"] == 24


@pytest.mark.slow
def test_columns_that_may_say_something_about_a_person_are_left_out(tmp_path: Path) -> None:
    facts = pl.DataFrame(
        {
            "Age": [30] * 12,
            "age": [31] * 12,
            "wish_answers": ["yes"] + ["no"] * 11,
            "at": ["home"] * 12,
            "id": ["x"] * 12,
        }
    ).with_columns(pseudonym=pl.lit("y"))
    source = with_raters(
        facts,
        ip=pl.lit("192.0.2.7"),
        browser=pl.col("rater"),
        loud=pl.col("stimulus").str.slice(1).cast(pl.Int64),
        remark=pl.col("rater").replace_strict({"person-003": "mail me: a.b@example.org"}, default="fine"),
    )
    options = replace(QUICK, open=("remark",), drop=("ip",), texts="search")
    published = publish(source, tmp_path / "out", options)
    public = published.release.snapshot
    assert set(public.ratings.columns) == {"rater", "stimulus", "question", "value", "loud", "remark"}
    assert public.raters.columns == ["rater", "Age", "age_2", "at", "id", "pseudonym"]
    assert public.raters.height == 11
    assert set(public.ratings["remark"]) == {"fine", None}
    assert published.undecided == 1
    assert mentions(public.ledger["reason"].to_list(), "answers", "6 ratings")
    compared = read_back(source, published.folder, published.private)
    assert not compared.unexplained
    with pytest.raises(InputError, match="no column 'remrk'"):
        publish(source, tmp_path / "other", replace(QUICK, open=("remrk",)))


@pytest.mark.slow
@pytest.mark.parametrize(("apart", "period"), [(0, "1d"), (1, "1w"), (9, "1mo"), (400, None)])
def test_ratings_are_dated_as_finely_as_k_allows(tmp_path: Path, apart: int, period: str | None) -> None:
    source = small()
    day = pl.col("rater").str.slice(-3).cast(pl.Int64) % 3 * apart
    start = pl.lit(datetime(2026, 6, 1, 14, 33, 12, tzinfo=UTC))
    source = Snapshot.build(
        source.study, stimuli=source.stimuli, ratings=source.ratings.with_columns(at=start + pl.duration(days=day))
    )
    public = publish(source, tmp_path / "out", QUICK).release.snapshot.ratings
    if period is None:
        assert "at" not in public.columns
    else:
        assert set(public["at"]) == set(source.ratings["at"].dt.truncate(period))


@pytest.mark.slow
def test_a_licence_that_forbids_sharing_leaves_links_and_hashes(tmp_path: Path) -> None:
    media = tmp_path / "media"
    media.mkdir()
    for place in range(3):
        SOUNDS["wav"](media / f"s{place}.wav")
    (media / "s3.xyz").write_bytes(b"unknown to everybody")
    base = small(12, 5)
    words = ["CC-BY-4.0", "All rights reserved", "CC0-1.0", None, None]
    paths = ["s0.wav", "s1.wav", "s2.wav", "s3.xyz", "s4.wav"]
    stimuli = base.stimuli.with_columns(
        pl.Series("path", paths),
        pl.Series("licence", words, dtype=pl.String),
        url=pl.format("https://example.org/{}", "stimulus"),
    )
    source = Snapshot.build(
        base.study, stimuli=stimuli, ratings=base.ratings, source=Source(format="tables", name="x", media_root=media)
    )
    published = publish(source, tmp_path / "out", QUICK)
    assert sorted(path.name for path in (published.folder / "media").iterdir()) == ["s0.wav", "s2.wav"]
    table = {row["stimulus"]: row for row in pl.read_csv(published.folder / "media.csv").iter_rows(named=True)}
    assert mentions(table["s1"]["why_absent"], "licence", "media", "All")
    assert table["s1"]["sha256"] == content_digest(media / "s1.wav"), "what the link leads to, without metadata"
    assert table["s3"]["sha256"].startswith("hmac-sha256:"), "metadata cannot be taken out of it"
    assert table["s1"]["link"] == "https://example.org/s1"
    assert "metadata cannot be removed" in table["s3"]["why_absent"]
    assert mentions(table["s4"]["why_absent"], "media", "file")
    without = publish(source, tmp_path / "none", replace(QUICK, share_media=False))
    assert not (without.folder / "media").exists()


@pytest.mark.slow
def test_presentations_and_histories_of_decisions_are_under_pseudonyms(tmp_path: Path) -> None:
    study = parse_study(
        STUDY.replace("questions:", "  w: {type: text}\nquestions:\n  - {id: words, text: Describe it, scale: w}")
    )
    base = small()
    history = AdjudicationHistory(
        (ShownAnswer(rater="person-001", value=3.0), ShownAnswer(rater="person-002", answer="ring 0170 1234567")),
        decisions=(EarlierDecision(at=1.7e9, by="senior-anna", value=3.0, comment="ask bob@example.org"),),
    )
    adjudications = pl.DataFrame(
        {
            "stimulus": ["s0"],
            "question": ["words"],
            "value": [None],
            "answer": ["a calm piece"],
            "by": ["senior-anna"],
            "at": [datetime(2026, 5, 5, 5, 5, tzinfo=UTC)],
            "history": [dumps(history, indent=None)],
        },
        schema_overrides={"value": pl.Float64},
    )
    ratings = base.ratings.with_columns(
        trial=pl.format("{}-{}", "rater", "stimulus"), place=pl.lit(1, pl.Int64), set=pl.format("set-of-{}", "rater")
    )
    source = Snapshot.build(study, stimuli=base.stimuli, ratings=ratings, adjudications=adjudications)
    published = publish(source, tmp_path / "out", replace(QUICK, layouts=("csv",)))
    public = published.release.snapshot
    content = b"".join(path.read_bytes() for path in published.folder.rglob("*") if path.is_file())
    for private in (b"person-0", b"senior-anna", b"1234567", b"bob@", b"set-of", b"1700000000"):
        assert private not in content
    again = AdjudicationHistory.read(public.adjudications["history"][0])
    assert {each.rater for each in again.answers} <= set(public.raters["rater"])
    assert again.decisions[0].by == public.adjudications["by"][0]
    assert again.decisions[0].comment is None
    assert public.ratings["trial"].n_unique() == 72
    assert public.ratings["set"].str.starts_with("s_").all()
    assert not read_back(source, published.folder, published.private).unexplained


def test_options_that_cannot_be_are_refused() -> None:
    for wrong in ({"k": 1}, {"l": 0}, {"k": 3, "l": 4}, {"times": "hour"}, {"texts": "maybe"}, {"seconds": -1.0}):
        with pytest.raises(InputError):
            PublishOptions(**wrong)


@pytest.mark.slow
@pytest.mark.data
def test_aimoclips_is_read_back_as_it_was(shared_data: Path, tmp_path: Path) -> None:
    source = heartfelt.read(shared_data / "aimoclips")
    published = publish(source, tmp_path / "out", replace(QUICK, share_media=False))
    compared = read_back(source, published.folder, published.private)
    assert not compared.unexplained
    assert {each.column for each in compared.differences} <= {"path", "found", "bytes"}
    public = heartfelt.load(published.folder / "snapshot")
    theirs, ours = heartfelt.label(source).table, heartfelt.label(public).table
    both = theirs.join(ours, on=["stimulus", "question"])
    assert both.height == theirs.height == ours.height
    assert (both["value"] - both["value_right"]).abs().max() < 1e-12  # type: ignore[operator]  # there are labels


@pytest.mark.slow
def test_what_the_authors_say_themselves_is_not_private(tmp_path: Path) -> None:
    words = (
        pl.when(pl.col("rater") == "person-001").then(pl.lit("I wrote to lab@example.org")).otherwise(pl.lit("bright"))
    )
    source = with_raters(pl.DataFrame({"language": ["en"] * 12}), comment=words)
    details = Details(title="Small", contact="lab@example.org", limits="bright")
    reviewed = publish(source, tmp_path / "out", replace(QUICK, texts="review"), details)
    assert reviewed.undecided == 2
    assert not reviewed.release.snapshot.ratings["comment"].count()
    assert "lab@example.org" in (reviewed.folder / "README.md").read_text(encoding="utf-8")


def test_private_texts_are_found_in_every_kind_of_file(tmp_path: Path) -> None:
    private = PrivateTexts(("17", "worker-0042"), ("worker-0042", "call 0170 1234567"))
    (tmp_path / "fine.md").write_text("17 clips, coworker-00421 and the number 0170 1234", encoding="utf-8")
    assert check_files(tmp_path, private) == 1
    frame = pl.DataFrame({"note": ["x", "Call 0170 1234567!"], "list": [["a"], ["worker-0042"]]})
    writers: dict[str, Callable[[Path], object]] = {
        "a.parquet": lambda path: frame.select("note").write_parquet(path),
        "b.parquet": lambda path: frame.select("list").write_parquet(path),
        "c.parquet": lambda path: frame.select(pl.struct("note")).write_parquet(path),
        "d.parquet": lambda path: pl.DataFrame({"rater": ["17"]}).write_parquet(path),
        "e.csv": lambda path: frame.select("note").write_csv(path),
        "f.csv": lambda path: pl.DataFrame({"verified_by": ["17"]}).write_csv(path),
        "g.json": lambda path: path.write_text('{"by": "worker-0042"}', encoding="utf-8"),
        "h.tar": _archive,
        "worker-0042.txt": lambda path: path.write_text("", encoding="utf-8"),
    }
    for name, write in writers.items():
        write(tmp_path / name)
        with pytest.raises(PrivateDataError, match="which is private"):
            check_files(tmp_path, private)
        (tmp_path / name).unlink()


def _archive(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        content = b'{"comment": "call 0170 1234567"}'
        member = tarfile.TarInfo("s1.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))


@pytest.mark.slow
def test_a_sensitive_column_without_variety_is_left_out(tmp_path: Path) -> None:
    facts = pl.DataFrame({"ill": ["no"] * 12, "rare": ["a"] * 6 + ["b"] * 5 + ["only me"], "born": ["1990-01-02"] * 12})
    source = with_raters(facts)
    public = publish(source, tmp_path / "out", replace(QUICK, sensitive=("ill", "rare"))).release.snapshot
    assert public.raters.columns == ["rater", "rare", "born"]
    assert "only me" not in public.raters["rare"].to_list()
    assert min(public.raters["rare"].value_counts()["count"].to_list()) >= 5
    assert set(public.raters["born"]) == {1990}


@pytest.mark.parametrize("where", ["questions", "after"])
def test_a_wish_is_a_yes_or_no_question_about_the_rater(where: str) -> None:
    scale, lines = ("yn", STUDY) if where == "questions" else ("v", STUDY + "after:\n")
    wish = f"  - {{id: keep, text: Keep it, scale: {scale}, wish: answers}}\n"
    with pytest.raises(StudyError, match=r"question.*yes/no.*scale"):
        parse_study(lines.replace("scales:", "scales:\n  yn: {type: yes-no}") + wish)
    valid = STUDY.replace("scales:", "scales:\n  yn: {type: yes-no}") + "after:\n"
    asked = parse_study(valid + wish.replace("scale: v", "scale: yn"))
    assert asked.after[0].wish == "answers"
    assert "wish" not in study_text(parse_study(STUDY))
