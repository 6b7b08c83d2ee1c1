"""The last check before anything is published: what is private, in which files it is found, and who stands out."""

from __future__ import annotations

import io
import socket
import tarfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from heartfelt.publishing.anonymity.check import (
    Groups,
    PrivateDataError,
    PrivateTexts,
    check_files,
    check_groups,
    check_media,
    check_step,
    groups_of_raters,
    private_texts,
)
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.statements.details import Details
from tests.facts import mentions
from tests.media.metadata.tagged import PICTURES
from tests.publishing.test_people_by_hand import NAMES, facts, small

PRIVATE = PrivateTexts((), ("worker-0042",))
DAY = datetime(2026, 6, 1, 14, 33, tzinfo=UTC)


def found(folder: Path, private: PrivateTexts = PRIVATE) -> PrivateDataError:
    with pytest.raises(PrivateDataError) as caught:
        check_files(folder, private)
    return caught.value


def tar(path: Path, name: str, content: bytes, *, owner: str = "") -> None:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.size, member.uname = len(content), owner
        archive.addfile(member, io.BytesIO(content))


# --- files ------------------------------------------------------------------------------------------------------------


def test_names_of_files_and_folders_are_searched(tmp_path: Path) -> None:
    (tmp_path / "by worker-0042").mkdir()
    (tmp_path / "by worker-0042" / "song.wav").write_bytes(b"\0")
    (tmp_path / "plain.md").write_text("nothing", encoding="utf-8")
    hits = found(tmp_path).hits
    assert [(hit.file, hit.where, hit.private) for hit in hits] == [
        ("by worker-0042", "the name of a file", "worker-0042"),
        ("by worker-0042/song.wav", "the name of a file", "worker-0042"),
    ]


def test_archives_are_searched_within(tmp_path: Path) -> None:
    tar(tmp_path / "a.TAR", "s1.json", b'{"by": "worker-0042"}')
    assert found(tmp_path).hits[0].where == "s1.json"
    tar(tmp_path / "a.TAR", "worker-0042.json", b"{}")
    assert found(tmp_path).hits[0].where == "a name"
    tar(tmp_path / "a.TAR", "s1.json", b"{}", owner="worker-0042")
    assert found(tmp_path).hits[0].where == "a name"
    tar(tmp_path / "a.TAR", "s1.WAV", b"worker-0042")  # samples, not words
    assert check_files(tmp_path, PRIVATE) == 1
    (tmp_path / "b.PNG").write_bytes(b"worker-0042")
    (tmp_path / "c.bin").write_bytes(b"\xff\xfe worker-0042 \xff")
    assert [hit.file for hit in found(tmp_path).hits] == ["c.bin"]


def test_every_kind_of_cell_of_a_table_is_searched(tmp_path: Path) -> None:
    columns = {
        "list": pl.Series([["x", "worker-0042"], None]),
        "within": pl.Series([{"who": "worker-0042"}, {"who": None}]),
        "several": pl.Series([[{"who": "worker-0042"}], []]),
        "kind": pl.Series(["worker-0042", None], dtype=pl.Categorical),
    }
    for name, values in columns.items():
        pl.DataFrame({"at": [1.5, 2.5], name: values}).write_parquet(tmp_path / "a.parquet")
        (hit,) = found(tmp_path).hits
        assert hit.where == f"column {'who' if name in {'within', 'several'} else name}"
        assert hit.text == "worker-0042"
    pl.DataFrame({"at": [1.5]}).write_parquet(tmp_path / "a.parquet", metadata={"author": "worker-0042"})
    assert found(tmp_path).hits[0].where == "its metadata"


def test_ids_in_a_column_that_says_who_are_a_fault_and_elsewhere_they_are_numbers(tmp_path: Path) -> None:
    private = PrivateTexts(("17",), ())
    for column in ("rater", "verified_by", "by"):
        pl.DataFrame({column: ["18", "17"]}).write_parquet(tmp_path / "a.parquet")
        error = found(tmp_path, private)
        assert f"a.parquet (column {column}) holds '17', which is private." in error.problem
        assert error.hits == ()
    pl.DataFrame({"value": ["17"], "rater": ["p_17"]}).write_parquet(tmp_path / "a.parquet")
    assert check_files(tmp_path, private) == 1


def test_a_long_text_is_shown_by_its_beginning(tmp_path: Path) -> None:
    whole, longer = "I live at the old mill in Hintertupfing3", "I live at the old mill in Hintertupfing 3"
    for text, shown in ((whole, whole), (longer, f"{longer[:37]}...")):
        (tmp_path / "a.md").write_text(text, encoding="utf-8")
        error = found(tmp_path, PrivateTexts((), (text,)))
        assert f"holds '{shown}', which is private." in error.problem
        assert error.hits[0].private == text
    (tmp_path / "b.md").write_text(longer, encoding="utf-8")
    assert mentions(found(tmp_path, PrivateTexts((), (longer,))).problem, "private", "1")


def test_media_with_metadata_are_refused(tmp_path: Path) -> None:
    check_media(tmp_path)
    (tmp_path / "media" / "a").mkdir(parents=True)
    PICTURES["png"](tmp_path / "media" / "a" / "x.png")
    with pytest.raises(PrivateDataError, match=r"media/a/x\.png.*'metadata'") as caught:
        check_media(tmp_path)
    assert caught.value.hits == ()


# --- what is private --------------------------------------------------------------------------------------------------


def test_paths_and_the_name_of_the_machine_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, details = Draft.of(small()), Details()
    monkeypatch.setattr(Path, "home", lambda: Path("/home/somebody"))
    for host, expected in (("lab-17", {"lab-17"}), ("lab", set())):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        texts = set(private_texts(draft, [], [], details, PublishOptions()).texts)
        assert texts == {"/home/somebody", *expected}
    rooted = replace(draft, source=replace(draft.source, media_root=tmp_path / "a" / ".." / "clips"))
    assert str(tmp_path / "clips") in private_texts(rooted, [], [], details, PublishOptions()).texts


def test_what_was_said_in_public_is_not_private() -> None:
    stimuli = pl.DataFrame({"stimulus": ["s0", "s1"], "prompt": ["an old song", None], "bpm": [90, 91]})
    draft = Draft.of(small(stimuli=stimuli))
    typed = ["an old song", "my own words", "How pleasant", "Robert", "ROBERT", "Robert", "Bob", "王小明"]
    options = PublishOptions(allow=("robert",))
    texts = private_texts(draft, [], typed, Details(title="my own words"), options).texts
    assert [text for text in texts if text in typed] == ["王小明"]
    kept = private_texts(draft, [], typed, Details(), PublishOptions()).texts
    assert [text for text in kept if text in typed] == ["my own words", "Robert", "ROBERT", "王小明"]


# --- people -----------------------------------------------------------------------------------------------------------


def test_raters_share_all_their_dates_or_none() -> None:
    ratings = small().ratings
    moments = ratings.with_columns(at=pl.lit(DAY))
    second = (pl.col("rater") == NAMES[0]) & (pl.col("stimulus") == "s1")
    twice = moments.with_columns(at=pl.when(second).then(DAY + timedelta(days=1)).otherwise("at"))
    assert groups_of_raters(small(ratings=moments), [], []) == Groups(1, 12, None)
    assert groups_of_raters(small(ratings=twice), [], []) == Groups(2, 1, None)
    turned = twice.with_columns(at=pl.when(pl.col("stimulus") == "s0").then(DAY + timedelta(days=1)).otherwise(DAY))
    both = twice.filter(pl.col("rater") == NAMES[0]).vstack(turned.filter(pl.col("rater") != NAMES[0]))
    assert groups_of_raters(small(ratings=both), [], []) == Groups(1, 12, None), "the order says nothing"
    never = moments.with_columns(at=pl.when(pl.col("rater") != NAMES[0]).then("at"))
    assert groups_of_raters(small(ratings=never), [], []) == Groups(2, 1, None)


def test_one_group_of_everybody_may_be_smaller_than_k_but_not_uniform() -> None:
    alike = small(facts(age=[20] * 12, ill=["yes"] * 11 + ["no"], well=["a", "b", "c"] * 4))
    assert check_groups(alike, ["age"], [], PublishOptions(k=99)) == Groups(1, 12, None)
    assert check_groups(alike, ["age"], ["ill", "well"], PublishOptions(k=99, l=2)) == Groups(1, 12, 2)
    with pytest.raises(PrivateDataError, match=r"group.*raters.*= 3 values"):
        check_groups(alike, ["age"], ["ill", "well"], PublishOptions(k=5, l=3))
    two = small(facts(age=[20] * 6 + [30] * 6, ill=["yes"] * 12))
    with pytest.raises(PrivateDataError, match="only 6 raters share a combination"):
        check_groups(two, ["age"], ["ill"], PublishOptions(k=7, l=2))
    nobody = pl.DataFrame(
        schema={"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    )
    assert check_groups(small(ratings=nobody), [], [], PublishOptions()) == Groups(0, 0, None)


def test_the_step_of_the_check_changes_nothing() -> None:
    step = check_step(PrivateTexts((), ()), Groups(1, 12, None), PublishOptions())
    assert (step.kind, step.table, step.rows, step.lost) == ("check", "raters", 0, None)
    assert mentions(step.about, "1 group", "12 raters")
