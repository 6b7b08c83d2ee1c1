"""Layouts of a release: every row once, in the part of its stimulus, and readable by the tools they are made for."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from PIL import Image

from heartfelt.errors import InputError, UnknownNameError
from heartfelt.formats import FORMATS, read
from heartfelt.formats.tables.delimited import read_delimited
from heartfelt.publishing.layouts import LAYOUTS, huggingface, shards
from heartfelt.publishing.layouts.huggingface import hub_configs, hub_front_matter, hub_split_names
from heartfelt.publishing.layouts.published import systems
from heartfelt.publishing.layouts.r_script import r_text
from heartfelt.publishing.layouts.shards import tar_key
from heartfelt.publishing.layouts.tables import BETWEEN, release_tables
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.publishing.release.release import PublishedFile, PublishedMedium, Release
from heartfelt.publishing.release.splits import UNASSIGNED, assignment_hash, placement
from heartfelt.publishing.statements.details import Details
from heartfelt.snapshot import Snapshot, load
from heartfelt.study.load import parse_study
from tests.publishing.releases import HARD_TEXT, release_of, small_snapshot, sound, with_stimuli

pytestmark = pytest.mark.slow
HOSTILE = ["a.b", "a/b", "a_b", "../up", "name.wav", "静か", "x" * 300, "x" * 299 + "y", " ", "-", "A.B", "q'\"\\"]


def silent(_doing: str, _done: int, _total: int) -> None:
    """No progress is shown."""


def write(release: Release, folder: Path, layout: str) -> tuple[PublishedFile, ...]:
    return LAYOUTS[layout].write(release, folder, silent)


def digests(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def read_config(folder: Path, files: tuple[PublishedFile, ...], table: str) -> pl.DataFrame:
    paths = [folder / file.path for file in files if file.table == table]
    return pl.concat([pl.read_parquet(path) for path in paths])


def test_parquet_files_hold_every_row_once_in_the_part_of_its_stimulus(tmp_path: Path) -> None:
    snapshot = small_snapshot()
    release = release_of(snapshot, tmp_path)
    files = write(release, tmp_path, "huggingface")
    assert [config.name for config in hub_configs(files)][:3] == ["stimuli", "labels", "ratings"]
    assert all((tmp_path / file.path).is_file() for file in files)
    ratings = read_config(tmp_path, files, "ratings")
    names = snapshot.ratings.columns
    assert ratings.select(names).sort(names).equals(snapshot.ratings.sort(names))
    part = dict(placement(release).select("stimulus", "split").rows())
    for file in files:
        if file.table in {"stimuli", "labels", "ratings"}:
            frame = pl.read_parquet(tmp_path / file.path)
            assert {part[name] for name in frame["stimulus"]} == {file.split}
            assert frame.height == file.rows
            assert frame.columns == [column.name for column in file.columns]
    stimuli = read_config(tmp_path, files, "stimuli").sort("stimulus")
    media = [cell["bytes"] for cell in stimuli["audio"]]
    assert media == [sound(at) for at in range(12)], "a column 'audio' of the source does not shadow the media"
    assert stimuli["source_audio"].to_list() == [at / 4 for at in range(12)]
    assert all(column.about for file in files for column in file.columns)
    # The same bytes whenever it is written.
    first = digests(tmp_path / "data")
    shutil.rmtree(tmp_path / "data")
    write(release, tmp_path, "huggingface")
    assert digests(tmp_path / "data") == first


def test_large_tables_and_media_are_spread_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface, "ROWS", 50)
    monkeypatch.setattr(huggingface, "SHARD", 4000)
    release = release_of(small_snapshot(), tmp_path, {"by": "stimulus", "train": "1"})
    files = write(release, tmp_path, "huggingface")
    stimuli = [file.path for file in files if file.table == "stimuli"]
    assert stimuli == [f"data/stimuli/train-{at:05d}-of-00006.parquet" for at in range(6)], "two sounds to a file"
    assert [file.rows for file in files if file.table == "ratings"] == [50, 50, 50, 50, 40]
    assert read_config(tmp_path, files, "ratings").height == 240
    (config,) = [config for config in hub_configs(files) if config.name == "ratings"]
    assert config.data_files == (("train", "data/ratings/train-*.parquet"),)


def test_split_names_are_accepted_by_the_hub(tmp_path: Path) -> None:
    assert hub_split_names(["train", "full-test", "full test", "all"]) == {
        "train": "train",
        "full-test": "full_test",
        "full test": "full_test_",
        "all": "all_",
    }
    snapshot = small_snapshot()
    own = ["train"] * 8 + ["full-test"] * 3 + [None]
    release = release_of(with_stimuli(snapshot, snapshot.stimuli.with_columns(pl.Series("split", own))), tmp_path)
    files = write(release, tmp_path, "huggingface-linked")
    splits = {file.split for file in files if file.table == "stimuli"}
    assert splits == {"train", "full_test", UNASSIGNED}
    assert "audio" not in read_config(tmp_path, files, "labels").columns
    # Another split than the published one: the source's column keeps its values under another name.
    files = write(release_of(release.snapshot, tmp_path, {"by": "system"}), tmp_path / "other", "csv")
    stimuli = pl.read_csv(tmp_path / "other" / "csv" / "stimuli.csv")
    assert stimuli["source_split"].to_list() == own


def test_the_datasets_library_reads_every_config_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "release"
    release = release_of(small_snapshot(), folder, absent=frozenset({"clip03"}))
    picture = folder / "media" / "green.png"
    Image.new("RGB", (3, 2), "green").save(picture)
    of_picture = PublishedMedium(
        stimulus="clip03", sha256=hashlib.sha256(picture.read_bytes()).hexdigest(), bytes=1, path="media/green.png"
    )
    release = replace(release, media={**release.media, "clip03": of_picture})
    files = write(release, folder, "huggingface")
    front = yaml.safe_dump(hub_front_matter(hub_configs(files)))
    (folder / "README.md").write_text(f"---\n{front}---\n# Moods\n")

    def loaded(config: str | None) -> Any:
        return datasets.load_dataset(str(folder), config, cache_dir=str(tmp_path / "cache"))

    stimuli = loaded(None)
    assert set(stimuli) == {"train", "dev", "test"}
    assert isinstance(stimuli["train"].features["audio"], datasets.Audio)
    rows = [row for part in stimuli.cast_column("audio", datasets.Audio(decode=False)).values() for row in part]
    sounds = {row["stimulus"]: row["audio"] and row["audio"]["bytes"] for row in rows}
    expected = {f"clip{at:02d}": None if at == 3 else sound(at) for at in range(12)}
    assert sounds == expected
    schemas = {tuple(file.columns) for file in files if file.table == "stimuli"}
    assert len(schemas) == 1, "every part has the same columns"
    (pixels,) = [row["image"] for row in rows if row["image"] is not None]
    assert (pixels.size, pixels.getpixel((0, 0))) == ((3, 2), (0, 128, 0))
    ratings = loaded("ratings")
    assert sum(part.num_rows for part in ratings.values()) == 240
    assert {row["answer"] for part in ratings.values() for row in part if row["question"] == "why"} >= {None}
    assert loaded("raters")["train"].num_rows == 5
    assert set(loaded("labels")) == {"train", "dev", "test"}


def test_csv_tables_give_back_every_value(tmp_path: Path) -> None:
    release = release_of(small_snapshot(), tmp_path)
    write(release, tmp_path, "csv")
    for table in release_tables(release):
        before = table.frame.collect()
        after = pl.read_csv(
            tmp_path / "csv" / f"{table.name}.csv", schema_overrides=before.schema, try_parse_dates=True
        )
        assert after.equals(before), table.name
    text = (tmp_path / "csv" / "read.R").read_text(encoding="ascii")
    assert 'levels = c("woman", "man", "other", "(coarsened)")' in text


def test_r_reads_types_factors_moments_and_gaps(tmp_path: Path) -> None:
    snapshot = small_snapshot()
    odd = snapshot.stimuli.with_columns(
        pl.lit(2**40).alias('größe\n"x"'),
        pl.lit(True).alias("loud"),
        pl.lit("NA").alias("country"),
        pl.lit("p" * 20_000).alias("long"),
        pl.lit("=1+1").alias("formula"),
    )
    release = release_of(with_stimuli(snapshot, odd), tmp_path)
    write(release, tmp_path, "csv")
    text = (tmp_path / "csv" / "read.R").read_text(encoding="ascii")
    code = re.sub(r'"(?:\\.|[^"\\])*"|#.*', "", text)
    assert '"' not in code, "every text ends"
    assert [code.count(sign) for sign in "([{"] == [code.count(sign) for sign in ")]}"]
    assert "'=1+1" in (tmp_path / "csv" / "stimuli.csv").read_text(encoding="utf-8"), "no spreadsheet runs it"
    assert read_delimited(tmp_path / "csv" / "stimuli.csv")["formula"].unique().to_list() == ["=1+1"]
    if shutil.which("Rscript") is None:
        return  # without R the script is checked for its form alone
    script = tmp_path / "check.R"
    script.write_text(
        """
        source(file.path("csv", "read.R"))
        ratings <- release$ratings; stimuli <- release$stimuli
        stopifnot(nrow(ratings) == 240, nrow(stimuli) == 12, is.factor(stimuli$system))
        stopifnot(identical(levels(ratings$question), c("arousal", "mood", "energy", "why")))
        stopifnot(inherits(ratings$at, "POSIXct"), format(ratings$at[1], "%Y-%m-%d %H:%M", tz = "UTC") == "2026-03-01 12:00")
        stopifnot(sum(is.na(ratings$seconds)) == 48, is.numeric(ratings$value))
        stopifnot(identical(levels(release$raters$gender), c("woman", "man", "other", "(coarsened)")))
        stopifnot(sum(is.na(release$raters$gender)) == 1)
        energy <- answers(release, "energy"); mood <- answers(release, "mood")
        stopifnot(is.ordered(energy$answer), identical(levels(energy$answer), c("absent", "weak", "strong")))
        stopifnot(identical(levels(energy$label), c("Not there", "Weakly there", "Strongly there")))
        stopifnot(!is.ordered(mood$answer), identical(levels(mood$label), c("Joyful", "Sorrowful", "Neither")))
        stopifnot(all(as.integer(energy$answer) == energy$value + 1))
        stopifnot(all(stimuli$country == "NA"), all(stimuli$loud), all(nchar(stimuli$long) == 20000))
        stopifnot(all(stimuli$formula == "=1+1"))
        stopifnot(all(stimuli[[6]] == 2^40), nchar(names(stimuli)[6]) == 9)
        stopifnot(inherits(try(answers(release, "moood"), silent = TRUE), "try-error"))
        stopifnot(identical(samples("1.5;;2")[[1]], c(1.5, NA, 2)))
        for (question in levels(ratings$question)) cat(question, sum(answers(release, question)$value, na.rm = TRUE), "\\n")
        cat(utf8ToInt(stimuli$prompt[1]), "\\n")
        """
    )
    ran = subprocess.run(
        ["Rscript", "--vanilla", "check.R"],
        cwd=tmp_path,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    *sums, prompt = ran.stdout.strip().splitlines()
    totals = snapshot.ratings.group_by("question", maintain_order=True).agg(pl.sum("value"))
    assert [float(line.split()[1]) for line in sums] == totals["value"].to_list()
    assert "".join(chr(int(code)) for code in prompt.split()) == f"{HARD_TEXT} 0"


def test_text_for_r_is_plain_ascii() -> None:
    assert r_text('a"b\\c\n静\U0001f600\x00') == '"a\\"b\\\\c\\u000a\\u9759\\U0001f600"'


def test_shards_hold_every_stimulus_under_a_key_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SAMPLES", 4)
    keys = [tar_key(name) for name in HOSTILE]
    assert len(set(keys)) == len(HOSTILE)
    assert all(len(key) < 90 and not set(key) & set("./ ") for key in keys)
    snapshot = small_snapshot(HOSTILE)
    broken = snapshot.stimuli.with_columns(pl.lit(float("nan")).alias("score"))
    release = release_of(with_stimuli(snapshot, broken), tmp_path, {"by": "stimulus", "train": "1"})
    release = replace(release, media={name: each for name, each in release.media.items() if name != "a/b"})
    files = write(release, tmp_path, "webdataset")
    assert [file.rows for file in files] == [4, 4, 4]
    seen: dict[str, dict[str, Any]] = {}
    for file in files:
        with tarfile.open(tmp_path / file.path) as tar:
            members = tar.getmembers()
            assert {(each.mtime, each.uid, each.gid, each.uname, each.mode) for each in members} == {
                (0, 0, 0, "", 0o644)
            }
            content = {each.name: tar.extractfile(each).read() for each in members}  # type: ignore[union-attr]  # files only
        for name, text in content.items():
            if name.endswith(".json"):
                facts = json.loads(text, parse_constant=pytest.fail)
                seen[facts["stimulus"]] = facts
                place = HOSTILE.index(facts["stimulus"])
                assert content.get(name.replace(".json", ".wav")) == (None if place == 1 else sound(place))
    assert set(seen) == set(HOSTILE)
    facts = seen["a.b"]
    assert len(facts["ratings"]) == 20
    assert facts["score"] is None
    assert facts["ratings"][0]["at"].startswith("2026-03-01T12:00:00")
    assert {label["question"] for label in facts["labels"]} == {"arousal", "mood", "energy"}
    index = json.loads((tmp_path / "webdataset" / "index.json").read_text())
    assert sum(shard["samples"] for shard in index["shards"]) == 12
    first = digests(tmp_path / "webdataset")
    shutil.rmtree(tmp_path / "webdataset")
    turned = replace(release, snapshot=with_stimuli(release.snapshot, release.snapshot.stimuli.reverse()))
    write(turned, tmp_path, "webdataset")
    assert digests(tmp_path / "webdataset") == first


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the library leaves files open
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_webdataset_library_reads_the_shards(tmp_path: Path) -> None:
    library = pytest.importorskip("webdataset")
    release = release_of(small_snapshot(HOSTILE), tmp_path)
    files = write(release, tmp_path, "webdataset")
    paths = [str(tmp_path / file.path) for file in files]
    rows = list(library.WebDataset(paths, shardshuffle=False, empty_check=False).decode())
    gc.collect()
    sounds = {row["json"]["stimulus"]: row["wav"] for row in rows}
    assert set(sounds) == set(HOSTILE)


def test_media_that_may_not_be_shared_are_links_and_hashes(tmp_path: Path) -> None:
    release = release_of(small_snapshot(), tmp_path, shared=False)
    for layout in ("huggingface", "csv", "webdataset", "snapshot", "published"):
        write(release, tmp_path, layout)
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"RIFF" not in everything
    stimuli = pl.read_parquet(tmp_path / "data" / "stimuli" / "train-*.parquet")
    assert stimuli["link"][0].startswith("https://example.org/")
    assert stimuli["sha256"].str.len_chars().unique().to_list() == [64]
    assert stimuli["why_absent"].str.contains("licence").all()
    assert "media" not in stimuli.columns


def test_the_snapshot_folder_is_read_by_heartfelt(tmp_path: Path) -> None:
    release = release_of(small_snapshot(), tmp_path)
    files = write(release, tmp_path, "snapshot")
    assert load(tmp_path / "snapshot").hash == release.snapshot.hash
    assert {file.table for file in files} == {"stimuli", "raters", "ratings"}


def test_published_layouts_are_written_where_the_study_fits(tmp_path: Path) -> None:
    assert {"aimoclips", "musiceval", "aigiemo", "emolia-emo", "emolia-dim"} <= set(systems())
    assert {f"published:{name}" for name in systems()} <= set(LAYOUTS.names())
    snapshot = small_snapshot()
    release = release_of(snapshot, tmp_path)
    with pytest.raises(InputError, match=r"does not fit the layout of aimoclips: .*valence"):
        write(release, tmp_path, "published:aimoclips")
    write(release, tmp_path, "published")
    assert [path.name for path in (tmp_path / "layouts").iterdir()] == ["README.md"]
    table = (tmp_path / "layouts" / "README.md").read_text()
    assert "| musiceval | no | The study has no question 'impression'" in table
    with pytest.raises(UnknownNameError, match="published:aimoclip"):
        LAYOUTS["published:aimoclip"]
    # A question that the layout has no place for is not dropped silently.
    ratings = snapshot.ratings.filter(pl.col("question") == "arousal")
    valence = ratings.with_columns(question=pl.lit("valence"))
    text = snapshot.study.model_dump_json()
    study = parse_study(text.replace('"id":"mood"', '"id":"valence"').replace('"scale":"moods"', '"scale":"nine"'))
    both = pl.concat([ratings, valence])
    fitting = Snapshot.build(study, stimuli=snapshot.stimuli, ratings=both)
    write(replace(release, snapshot=fitting), tmp_path / "fits", "published")
    assert read(tmp_path / "fits" / "layouts" / "aimoclips").survey.ratings == 120
    energy = snapshot.ratings.filter(pl.col("question") == "energy")
    more = Snapshot.build(study, stimuli=snapshot.stimuli, ratings=pl.concat([both, energy]))
    with pytest.raises(InputError, match="hold 120 of 180 ratings"):
        write(replace(release, snapshot=more), tmp_path / "more", "published:aimoclips")
    assert not (tmp_path / "more" / "layouts" / "aimoclips").exists()


def test_every_format_can_be_published_in_every_layout(tmp_path: Path) -> None:
    """The example of each format, comparisons and traces included; each published system fits its own layout."""
    between = {}
    for name, format in FORMATS.items():
        folder = tmp_path / name
        snapshot = format.read(format.example(folder), format.example_options())
        release = release_of(snapshot, folder / "release", shared=False)
        tables = {table.name: table.frame.collect() for table in release_tables(release)}
        files = write(release, folder / "release", "huggingface")
        for table, frame in tables.items():
            assert read_config(folder / "release", files, table).height == frame.height > 0
        between[name] = sum(file.rows for file in files if file.table == "ratings" and file.split == BETWEEN)
        write(release, folder / "release", "csv")
        assert pl.read_csv(folder / "release" / "csv" / "stimuli.csv").height == snapshot.stimuli.height
        shards = write(release, folder / "release", "webdataset")
        assert sum(file.rows for file in shards) == snapshot.stimuli.height
        if name in systems():
            write(release, folder / "release", f"published:{name}")
        if name == "vgmidi":
            text = pl.read_csv(folder / "release" / "csv" / "traces.csv")["samples"][0]
            first = tables["traces"]["samples"][0].to_list()
            cells = [float(cell) if cell else None for cell in text.split(";")]
            assert cells == pytest.approx(first)
    assert between["arena"] == 0, "members of a set share their prompt"
    assert between["musav"] > 0, "comparisons of stimuli in different parts belong to none"
    assert between["wide"] == 0


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # libraries that leave files open
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_aimoclips_is_republished_in_every_layout(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets, library = pytest.importorskip("datasets"), pytest.importorskip("webdataset")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    source = tmp_path / "aimoclips"
    source.mkdir()
    for path in (shared_data / "aimoclips").glob("*.csv"):
        shutil.copyfile(path, source / path.name)
    clips = sorted((shared_data / "aimoclips" / "music_clips").rglob("*.opus"))[::80]
    for path in clips:
        (source / "music_clips" / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, source / "music_clips" / path.parent.name / path.name)
    snapshot, out = read(source), tmp_path / "out"
    layouts = ("huggingface", "csv", "webdataset", "published")
    options = PublishOptions(layouts=layouts, analysis=False, figures=False, hold_out="test")
    published = publish(snapshot, out, options, Details(title="AImoclips"))
    public = published.release.snapshot
    split = next(step for step in published.record.steps if step.kind == "split")
    assert split.settings["by"] == "intent"
    assert "No intent is in two parts" in split.about
    assert split.settings["hash"] == assignment_hash(placement(published.release))

    def loaded(config: str) -> Any:
        return datasets.load_dataset(str(out), config, cache_dir=str(tmp_path / "cache"))

    stimuli = loaded("stimuli").cast_column("audio", datasets.Audio(decode=False))
    assert set(stimuli) == {"train", "dev", "test"}
    sounds = {row["stimulus"]: row["audio"]["bytes"] for part in stimuli.values() for row in part if row["audio"]}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sounds.items()}
    assert hashes == {name: each.sha256 for name, each in published.release.media.items() if each.path}
    assert len(sounds) == len(clips)
    ratings = loaded("ratings")
    assert set(ratings) == set(loaded("labels")) == {"train", "dev"}, "nothing of the part that is held out"
    assert sum(part.num_rows for part in ratings.values()) == public.survey.ratings < snapshot.survey.ratings
    shards = sorted(map(str, (out / "webdataset").glob("*.tar")))
    rows = list(library.WebDataset(shards, shardshuffle=False, empty_check=False).decode())
    gc.collect()
    assert {row["json"]["stimulus"]: row["opus"] for row in rows if "opus" in row} == sounds
    assert len(rows) == snapshot.stimuli.height
    back = read(out / "layouts" / "aimoclips")
    key = ["rater", "stimulus", "question", "value"]
    assert back.ratings.select(key).sort(key).equals(public.ratings.select(key).sort(key))
    assert load(out / "snapshot").hash == public.hash
    assert pl.read_csv(out / "csv" / "ratings.csv").height == public.survey.ratings
