"""Clips of services and programs with their provenance: from make.yaml and clips.csv to every paper of a release."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from pydantic import ValidationError

from heartfelt.cli import main
from heartfelt.errors import InputError, StudyError
from heartfelt.formats.study_folder.manifest import study_snapshot
from heartfelt.media.audio import Audio
from heartfelt.publishing.anonymity.media import forbids_adapting, forbids_sharing
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.snapshot import Snapshot
from heartfelt.stimuli import MakeOptions, forecast_make, make_study
from heartfelt.stimuli.generation.ledger import read_ledger
from heartfelt.stimuli.generators.command import CommandSettings
from heartfelt.stimuli.generators.folder import FolderSettings
from heartfelt.stimuli.generators.provenance import ClipProvenance, missing_words, read_clips_table, unused_rows
from tests.facts import mentions
from tests.stimuli.generation.tones import RATE, study_in, tone

STATED = ClipProvenance(
    model="chirp", licence="Pro terms", licence_url="https://example.org/terms", settings={"tags": "ambient"}
)


def table(tmp_path: Path, text: str, stated: ClipProvenance = STATED) -> dict[str, ClipProvenance]:
    (tmp_path / "clips.csv").write_text(text, encoding="utf-8")
    return read_clips_table(tmp_path / "clips.csv", stated, str.lower)


# --- the table --------------------------------------------------------------------------------------------------------


def test_a_row_goes_before_what_make_yaml_states_and_an_empty_cell_does_not(tmp_path: Path) -> None:
    rows = table(
        tmp_path,
        "File,Prompt,Version,License,Seed,URL,Generated on,Title,settings\n"
        'A.mp3,calm song,v4.5,Free plan,12,https://example.org/1,2026-03-04,Lake,"{""tags"": ""calm""}"\n'
        "b.mp3,,,NA,,,,,\n",
    )
    assert rows["a.mp3"] == ClipProvenance(
        prompt="calm song",
        model="chirp",
        revision="v4.5",
        licence="Free plan",
        licence_url="",
        generated_on="2026-03-04",
        seed=12,
        link="https://example.org/1",
        settings={"tags": "calm", "Title": "Lake"},
    )
    assert rows["b.mp3"] == STATED, "another licence has another address, the same has the same"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,model\na,x\n", "has no column 'file'"),
        ("file,model\n,x\n", "line 2: no file is named"),
        ("file,model\na,x\nA,y\n", "line 3: A has two rows"),
        ("file,models\na,x\n", "the column 'models' is nearly 'model'"),
        ("file,seed\na,1.5\n", "line 2: the seed '1.5' is not a whole number"),
        ("file,generated_on\na,3/4/2026\n", "line 2: '3/4/2026' is not a day. Write it as 2026-03-04"),
        ("file,link\na,suno.com/1\n", "'suno.com/1' is not a web address"),
        ("file,licence_url\na,terms\n", "'terms' is not a web address"),
        ("file,settings\na,style=calm\n", "the settings 'style=calm' are no JSON object"),
        ("file,settings\na,[1]\n", "are no JSON object"),
    ],
)
def test_what_cannot_be_meant_is_named_with_its_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        table(tmp_path, text)
    assert words in str(caught.value)
    assert caught.value.fix


def test_both_spellings_of_a_column_stay_apart(tmp_path: Path) -> None:
    rows = table(tmp_path, "file,version,revision\na,beta,v2\n")
    assert (rows["a"].revision, rows["a"].settings["version"]) == ("v2", "beta")


def test_missing_provenance_is_one_sentence() -> None:
    complete = ClipProvenance(model="m", revision="r", licence="l")
    assert missing_words([complete, complete], "make.yaml") == ()
    assert missing_words([], "make.yaml") == ()
    assert missing_words([complete, ClipProvenance(model="m")], "make.yaml") == (
        "provenance that is not stated: revision (1 of 2 stimuli) and licence (1 of 2 stimuli); add it to make.yaml, so"
        " that a release can name it",
    )
    rows = {"a.wav": complete, "b.wav": complete}
    assert unused_rows(rows, ["a.wav"], "clips.csv") == ("clips.csv describes files that are not there: b.wav",)
    assert unused_rows(rows, ["a.wav", "b.wav"], "clips.csv") == ()


def test_provenance_fills_the_columns_that_it_knows() -> None:
    assert ClipProvenance().columns() == {"seed": None}
    assert ClipProvenance(licence="MIT", seed=0, settings={"a": 1, "b": "c"}).columns() == {
        "licence": "MIT",
        "licence_url": None,
        "settings": '{"a": 1, "b": "c"}',
        "seed": "0",
    }
    assert STATED.columns()["licence_url"] == "https://example.org/terms"
    entry = {"generator": "folder", "folder": "x", "pattern": "*", "model": "m", "licence_url": None}
    assert ClipProvenance.of(FolderSettings.model_validate(entry)) == ClipProvenance(model="m")


def test_settings_are_checked() -> None:
    folder = {"generator": "folder", "folder": "x", "pattern": "{index}.wav"}
    assert FolderSettings.model_validate({**folder, "generated_on": "2026-03-04"}).generated_on == "2026-03-04"
    stated = yaml.safe_load("generated_on: 2026-03-04")
    assert FolderSettings.model_validate({**folder, **stated}).generated_on == "2026-03-04", "as YAML reads it"
    for wrong in ({"generated_on": "March"}, {"licence_url": "terms"}, {"licens": "x"}):
        with pytest.raises(ValidationError):
            FolderSettings.model_validate({**folder, **wrong})
    with pytest.raises(ValidationError):
        CommandSettings.model_validate({"generator": "command", "command": ["a", "{file}"], "generated_on": "x"})


# --- licences ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "licence",
    [
        "All rights reserved",
        "Suno free plan: personal use only",
        "personal, non-commercial use only",
        "may not be redistributed",
        "Clips cannot be shared",
        "Redistribution is not permitted",
        "not for publication",
        "No further distribution",
        "CONFIDENTIAL",
    ],
)
def test_licences_that_forbid_sharing(licence: str) -> None:
    assert forbids_sharing(licence)


@pytest.mark.parametrize(
    "licence",
    [
        None,
        "",
        "CC-BY-4.0",
        "CC BY-NC-SA 4.0",
        "Suno Pro terms 2026",
        "You may share and adapt the material",
        "Redistribution is permitted with credit",
        "MIT",
        "CreativeML OpenRAIL-M",
    ],
)
def test_licences_that_do_not(licence: str | None) -> None:
    assert not forbids_sharing(licence)
    assert not forbids_adapting(licence)


@pytest.mark.parametrize("licence", ["CC-BY-ND-4.0", "CC BY-NC-ND 4.0", "Attribution-NoDerivatives", "no derivatives"])
def test_licences_of_unchanged_copies(licence: str) -> None:
    assert forbids_adapting(licence)
    assert not forbids_sharing(licence)


# --- from make.yaml to a release --------------------------------------------------------------------------------------

SUNO = {
    "generator": "folder",
    "folder": "from-suno",
    "pattern": "{intent}_{index}.wav",
    "model": "chirp",
    "revision": "v5",
    "licence": "Suno Pro terms 2026",
    "licence_url": "https://example.org/terms",
    "generated_on": "2026-03-04",
}
CLIPS = (
    "file,prompt,revision,licence,seed,link,title\n"
    "calm_1.wav,a very calm song,v4.5,,12,https://example.org/song/1,Lake\n"
    "angry_2.wav,,v3.5,Suno free plan: personal use only,,https://example.org/song/4,\n"
)
TOOL = "import shutil, sys\nshutil.copy(f'{sys.argv[1]}.wav', sys.argv[2])\n"


def study(tmp_path: Path, **tool: Any) -> Path:
    """Four clips downloaded from a service, and four that a program writes."""
    command = [sys.executable, "-S", "tool.py", "{intent}{index}", "{file}"]
    systems = {"A": SUNO, "B": {"generator": "command", "command": command, **tool}}
    folder = study_in(
        tmp_path / "study",
        {"per_cell": 2, "systems": systems},
        intents=[{"id": name, "norms": "Warriner et al. (2013)"} for name in ("calm", "angry")],
    )
    for seed, name in enumerate(f"{intent}{number}" for intent in ("calm", "angry") for number in (1, 2)):
        Audio(tone(seed, 0.5), RATE).save(folder / "from-suno" / f"{name[:-1]}_{name[-1]}.wav")
        Audio(tone(seed + 50, 0.5), RATE).save(folder / f"{name}.wav")
    (folder / "from-suno/clips.csv").write_text(CLIPS)
    (folder / "tool.py").write_text(TOOL)
    return folder


def manifest(folder: Path) -> dict[str, dict[str, Any]]:
    rows = pl.read_csv(folder / "stimuli.csv", infer_schema=False).to_dicts()
    return {row["stimulus"]: row for row in rows}


def restate(folder: Path, system: str, **keys: Any) -> None:
    """Edit a system's entry in make.yaml."""
    data = yaml.safe_load((folder / "make.yaml").read_text())
    data["systems"][system] |= keys
    (folder / "make.yaml").write_text(yaml.safe_dump(data))


@pytest.mark.slow
def test_what_is_stated_reaches_the_manifest_and_can_be_corrected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = study(tmp_path)
    assert main(["make", str(folder)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("provenance that is not stated") == 1
    assert mentions(shown, "4 of 4 stimuli", "4 of 4")
    assert "clips.csv" not in shown, "the table is no surplus file"
    rows = manifest(folder)
    first, second, last = rows["A_calm_1"], rows["A_calm_2"], rows["A_angry_2"]
    assert [first[name] for name in ("model", "revision", "licence", "seed", "prompt", "link")] == [
        "chirp", "v4.5", "Suno Pro terms 2026", "12", "a very calm song", "https://example.org/song/1",
    ]  # fmt: skip
    assert json.loads(first["settings"]) == {"title": "Lake"}
    assert (second["revision"], second["seed"], second["prompt"]) == ("v5", None, "calm"), "no seed made a download"
    assert (last["licence"], last["licence_url"]) == ("Suno free plan: personal use only", None)
    assert first["licence_url"] == "https://example.org/terms"
    assert {row["generated_on"] for name, row in rows.items() if name[0] == "A"} == {"2026-03-04"}
    assert rows["B_calm_1"]["seed"] is None, "the program is never told the seed"
    assert json.loads(rows["B_calm_1"]["settings"])["command"][0] == Path(sys.executable).name
    assert {row.revision for row in read_ledger(folder) if row.system == "A"} == {"v3.5", "v4.5", "v5"}
    # Corrected later: nothing is made again, and a later step's columns stay.
    before = {path: path.stat().st_mtime_ns for path in (folder / "media").rglob("*.wav")}
    pl.read_csv(folder / "stimuli.csv", infer_schema=False).with_columns(checks=pl.lit("fine")).write_csv(
        folder / "stimuli.csv"
    )
    restate(folder, "A", licence="Suno Premier terms")
    restate(folder, "B", model="tool-small", revision="1", licence="MIT")
    again = make_study(folder)
    assert [system.notes for system in again.systems] == [(), ()]
    rows = manifest(folder)
    assert (rows["A_calm_2"]["licence"], rows["A_calm_2"]["checks"]) == ("Suno Premier terms", "fine")
    assert rows["A_angry_2"]["licence"] == "Suno free plan: personal use only"
    assert [rows["B_calm_1"][name] for name in ("model", "revision", "licence")] == ["tool-small", "1", "MIT"]
    assert {path: path.stat().st_mtime_ns for path in (folder / "media").rglob("*.wav")} == before
    written = (folder / "stimuli.csv").read_bytes()
    make_study(folder)
    assert (folder / "stimuli.csv").read_bytes() == written


@pytest.mark.slow
def test_another_revision_of_a_program_makes_other_clips(tmp_path: Path) -> None:
    """What was made with the first keeps its provenance until it is made again."""
    folder = study(tmp_path, model="tool-small", revision="1", licence="MIT")
    make_study(folder, MakeOptions(systems=("B",)))
    assert not {"licence_url", "generated_on", "link"} & set(manifest(folder)["B_calm_1"]), "nothing to say"
    restate(folder, "B", revision="2", licence="Apache-2.0")
    (system,) = forecast_make(folder, MakeOptions(systems=("B",))).systems
    assert "revision was 1, is 2" in system.notes[0]
    make_study(folder, MakeOptions(systems=("B",)))
    assert manifest(folder)["B_calm_1"]["revision"] == "1"
    make_study(folder, MakeOptions(systems=("B",), replace=True))
    row = manifest(folder)["B_calm_1"]
    assert (row["revision"], row["licence"]) == ("2", "Apache-2.0")


def test_a_table_that_is_named_must_be_there(tmp_path: Path) -> None:
    folder = study(tmp_path)
    restate(folder, "A", table="other.csv")
    with pytest.raises(InputError, match=r"other\.csv"):
        forecast_make(folder)
    restate(folder, "A", table="clips.csv", model=7)
    with pytest.raises(StudyError, match="model"):
        forecast_make(folder)


@pytest.mark.slow
def test_a_release_says_where_its_media_come_from_and_keeps_forbidden_ones_out(tmp_path: Path) -> None:
    folder = study(tmp_path, model="tool-small", revision="abc123", licence="CC-BY-ND-4.0")
    make_study(folder)
    asked = study_snapshot(folder)
    changed = asked.stimuli.with_columns(original=pl.when(pl.col("stimulus") == "B_calm_1").then(pl.lit("B/whole.wav")))
    ratings = pl.DataFrame(
        [
            (f"r{rater}", stimulus, "valence", float(1 + (rater + number) % 9))
            for rater in range(8)
            for number, stimulus in enumerate(changed["stimulus"])
        ],
        schema=["rater", "stimulus", "question", "value"],
        orient="row",
    )
    snapshot = Snapshot.build(asked.study, stimuli=changed, ratings=ratings, source=asked.source)
    out = tmp_path / "out"
    publish(snapshot, out, PublishOptions(figures=False))
    media = {row["stimulus"]: row for row in pl.read_csv(out / "media.csv").to_dicts()}
    absent = {name: row["why_absent"] for name, row in media.items() if row["path"] is None}
    assert absent == {
        "A_angry_2": "the licence of the media forbids sharing (Suno free plan: personal use only)",
        "B_calm_1": "the licence of the media forbids sharing changed versions (CC-BY-ND-4.0), and it was prepared",
    }
    assert {path.name for path in (out / "media").rglob("*.wav")} == {
        f"{row['stimulus']}.wav" for row in media.values() if row["stimulus"] not in absent
    }
    assert media["A_angry_2"]["link"] == "https://example.org/song/4"
    published = pl.read_csv(next((out / "csv").glob("stimuli*.csv")), infer_schema=False)
    by_name = {row["stimulus"]: row for row in published.to_dicts()}
    assert [by_name["A_calm_1"][name] for name in ("model", "revision", "licence", "generated_on")] == [
        "chirp", "v4.5", "Suno Pro terms 2026", "2026-03-04",
    ]  # fmt: skip
    for file, needed in {
        "README.md": ("| A | chirp | v4.5 | Suno Pro terms 2026 |", "| B | tool-small | abc123 | CC-BY-ND-4.0 |"),
        "DATASHEET.md": ("model chirp, revision v4.5, licence Suno Pro terms 2026", "CC-BY-ND-4.0: 4 stimuli"),
        "METHODS.md": (
            "The intents' reference coordinates were those of Warriner et al. (2013).",
            "Warriner, A. B., Kuperman, V., & Brysbaert, M. (2013).",
        ),
        "NOTICE": (
            "Reference coordinates of the intents: Warriner, A. B.",
            "Terms of use: those of the article's supplement",
            "B: model tool-small, revision abc123, licence CC-BY-ND-4.0 (4 stimuli)",
        ),
        "LICENSE-MEDIA": ("- Suno Pro terms 2026, https://example.org/terms: 3 stimuli",),
        "CODEBOOK.md": ("generated_on", "the day it was generated", "where that licence can be read"),
        "croissant.json": ("model tool-small, revision abc123, licence CC-BY-ND-4.0", "stimuli/licence"),
    }.items():
        text = (out / file).read_text(encoding="utf-8")
        assert all(words in text for words in needed), file
    assert str(tmp_path) not in "".join(path.read_text(encoding="utf-8") for path in out.rglob("*.csv"))
