"""The runner: seeds, batches, checks, attempts, the ledger, resuming, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.media.audio import Audio
from heartfelt.stimuli import MakeOptions, forecast_make, load_make, make_study
from heartfelt.stimuli.generation.ledger import LEDGER_FILE, read_ledger
from heartfelt.stimuli.generation.result import Making
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from tests.facts import mentions
from tests.stimuli.generation.tones import CALLS, RATE, files_of, study_in, tone

TONES: dict[str, Any] = {"generator": "tones"}


def made(folder: Path, **options: Any) -> Making:
    return make_study(folder, MakeOptions(**options))


@pytest.mark.slow
def test_a_study_is_made_with_provenance_and_found_complete(tmp_path: Path) -> None:
    folder = study_in(
        tmp_path / "s",
        {"per_cell": 2, "template": "{intent}, slow", "systems": {"A": TONES, "B": {**TONES, "batch": 3}}},
    )
    (folder / "stimuli.csv").write_text("stimulus,system,mine\nanchor,,5\nA_calm_1,A,7\n")
    assert forecast_make(folder).to_make == 8
    result = made(folder)
    assert (result.complete, result.failed) == (8, 0)
    table = pl.read_csv(folder / "stimuli.csv")
    assert table["stimulus"].to_list()[:3] == ["anchor", "A_calm_1", "A_calm_2"]
    row = table.row(1, named=True)
    assert (row["mine"], row["intent"], row["prompt"], row["path"]) == (7, "calm", "calm, slow", "A/A_calm_1.wav")
    assert (row["generator"], row["model"], row["revision"], row["hardware"]) == ("tones", "tones", "v1", "cpu")
    assert json.loads(row["settings"]) | {"rate": 8000, "weights_hash": "abc", "brightness": 0.5} == json.loads(
        row["settings"]
    )
    assert row["seed"] == load_make(folder).systems[0].stimuli[0].seed(3)
    stimuli = open_study(folder).stimuli.filter(pl.col("stimulus") != "anchor")
    assert stimuli["found"].all()
    assert stimuli["duration"].to_list() == pytest.approx([0.6] * 8)
    # Nothing is left to do: no generator is asked, no file touched.
    before, asked = (folder / "stimuli.csv").read_bytes(), dict(CALLS)
    again = made(folder)
    assert (again.complete, [each.made for each in again.systems], dict(CALLS)) == (8, [0, 0], asked)
    assert (folder / "stimuli.csv").read_bytes() == before
    assert not (folder / "media" / ".make").exists()
    # A usual value that is written out, and keys that do not decide what is made, change nothing.
    plain = {**TONES, "brightness": 0.5, "batch": 1, "attempts": 2, "cost_each": 1.0}
    study_in(folder, {"per_cell": 2, "template": "{intent}, slow", "systems": {"A": plain, "B": TONES}})
    assert [each.complete for each in forecast_make(folder).systems] == [4, 4]
    # A file that is lost comes back the same.
    kept = files_of(folder)
    (folder / "media" / "A" / "A_angry_2.wav").unlink()
    made(folder)
    assert files_of(folder) == kept


@pytest.mark.slow
def test_seeds_do_not_depend_on_batches_order_or_limits(tmp_path: Path) -> None:
    first = study_in(tmp_path / "1", {"per_cell": 3, "systems": {"A": {**TONES, "batch": 4}, "B": TONES}})
    made(first)
    second = study_in(tmp_path / "2", {"per_cell": 3, "systems": {"B": TONES, "A": {**TONES, "batch": 1}}})
    for limit in (1, 2, None):
        made(second, limit=limit)
    assert files_of(first) == files_of(second)
    seeds = [each.seed(3) for system in load_make(first).systems for each in system.stimuli]
    assert len(set(seeds)) == 12
    assert all(0 <= seed < 2**31 for seed in seeds)
    other = study_in(tmp_path / "3", {"seed": 4, "systems": {"A": TONES}})
    made(other)
    assert files_of(other)["A/A_calm_1.wav"] != files_of(first)["A/A_calm_1.wav"]


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_halved(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "s", {"per_cell": 4, "systems": {"A": {**TONES, "batch": 4, "fits": 2}}})
    result = made(folder)
    assert result.complete == 8
    assert result.systems[0].notes == ("4 at once do not fit into memory; continuing with 2",)
    assert {row.batch for row in read_ledger(folder)} == {2}
    whole = study_in(tmp_path / "w", {"per_cell": 4, "systems": {"A": {**TONES, "batch": 4}}})
    made(whole)
    assert files_of(whole) == files_of(folder)
    never = study_in(tmp_path / "n", {"systems": {"A": {**TONES, "fits": 0}}})
    result = made(never)
    assert result.complete == 0
    assert "does not fit into memory, even alone" in result.systems[0].failed["A_calm_1"]
    assert len(read_ledger(never)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("silent", "silent"),
        ("nan", "not finite"),
        ("short", "lasts 0.12 s, not 0.6 s"),
        ("same", "the same as A_calm_1"),
        ("unreadable", "cannot be"),
        ("raise", "RuntimeError: the =model= broke here"),
    ],
)
def test_what_fails_a_check_is_tried_with_the_next_seed(trouble: str, words: str, tmp_path: Path) -> None:
    bad = {"A_calm_2": trouble, **({"A_calm_1": "same"} if trouble == "same" else {})}
    make = {"per_cell": 2, "seconds": 0.6, "systems": {"A": {**TONES, "trouble": bad, "times": 1, "batch": 1}}}
    folder = study_in(tmp_path / "s", make)
    assert made(folder).complete == 4
    rows = [row for row in read_ledger(folder) if row.stimulus == "A_calm_2"]
    assert [row.outcome for row in rows] == ["failed", "made"]
    assert words in rows[0].problem
    assert rows[0].seed != rows[1].seed
    # One that never passes has a reason, no file and no row in the manifest; running again tries further seeds.
    for_ever = study_in(tmp_path / "f", {**make, "systems": {"A": {**TONES, "trouble": bad, "batch": 4}}})
    result = made(for_ever, keep_failed=True)
    assert words in result.systems[0].failed["A_calm_2"]
    assert [row.attempt for row in read_ledger(for_ever) if row.stimulus == "A_calm_2"] == [1, 2, 3]
    assert "A/A_calm_2.wav" not in files_of(for_ever)
    assert "\nA_calm_2," not in (for_ever / "stimuli.csv").read_text()
    assert (for_ever / "make-failed" / "A" / "A_calm_2-3.wav").exists() == (
        trouble in {"silent", "short", "same", "unreadable"}
    )
    made(for_ever)
    assert [row.attempt for row in read_ledger(for_ever) if row.stimulus == "A_calm_2"] == [1, 2, 3, 4, 5, 6]
    assert (for_ever / LEDGER_FILE).read_text().count("\n") == len(read_ledger(for_ever)) + 1


@pytest.mark.slow
def test_a_generator_that_cannot_work_stops_its_system_only(tmp_path: Path) -> None:
    for trouble, words in (
        ("stop", "The weights are damaged. Fetch them again."),
        ("picture", "It makes image; the study's raters get audio."),
        ("raise", "the first 12 attempts all failed, the last because: RuntimeError"),
    ):
        bad = {**TONES, "trouble": {"*": trouble}}
        folder = study_in(tmp_path / trouble, {"per_cell": 10, "systems": {"A": bad, "B": TONES}})
        first, second = made(folder).systems
        assert first.stopped is not None
        assert words in first.stopped
        assert (first.complete, second.complete) == (0, 20)
        assert first.untried + len(first.failed) == 20


@pytest.mark.slow
def test_changed_settings_and_edited_files_are_named_and_left_until_replaced(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "s", {"systems": {"A": TONES, "B": TONES}})
    made(folder)
    kept = files_of(folder)
    study_in(folder, {"systems": {"A": {**TONES, "brightness": 0.1, "batch": 2, "attempts": 5}, "B": TONES}})
    edited = folder / "media" / "B" / "B_calm_1.wav"
    edited.write_bytes(edited.read_bytes() + b"\0")
    result = made(folder)
    assert [each.waiting for each in result.systems] == [2, 1]
    assert "brightness was 0.5, is 0.1 (--replace" in result.systems[0].notes[0]
    assert mentions(result.systems[1].notes[0], "B/B_calm_1.wav", "changed")
    (folder / "stimuli.csv").write_text(
        (folder / "stimuli.csv")
        .read_text()
        .replace("stimulus,", "loudness,original,stimulus,", 1)
        .replace("\nA_", "\n-23,x.wav,A_")
        .replace("\nB_", "\n-23,x.wav,B_")
    )
    assert made(folder, replace=True, systems=("A",)).complete == 2
    assert files_of(folder)["A/A_calm_1.wav"] != kept["A/A_calm_1.wav"]
    table = pl.read_csv(folder / "stimuli.csv")
    assert table["loudness"].to_list() == [None, None, -23, -23]
    assert edited.read_bytes() != kept["B/B_calm_1.wav"]
    assert made(folder, replace=True).complete == 4
    assert files_of(folder)["B/B_calm_1.wav"] == kept["B/B_calm_1.wav"]
    # What make.yaml no longer asks for is named, and stays.
    study_in(folder, {"templates": ["{intent}", "so {intent}"], "systems": {"A": TONES, "B": TONES}})
    assert mentions(forecast_make(folder).notes[0], "4 stimuli", "A_calm_1", "make.yaml")
    # A file that somebody else put there is not overwritten either.
    other = study_in(tmp_path / "o", {"systems": {"A": TONES}})
    (other / "media" / "A").mkdir(parents=True)
    (other / "media" / "A" / "A_calm_1.mp3").write_bytes(b"mine")
    result = made(other)
    assert (result.complete, result.systems[0].waiting) == (1, 1)
    assert mentions(result.systems[0].notes[0], "A/A_calm_1.mp3", "heartfelt")
    # Many of them are one sentence.
    (other / "media" / "A" / "A_calm_2.mp3").write_bytes(b"mine too")
    study_in(other, {"per_cell": 2, "systems": {"A": TONES}})
    (note,) = [note for note in made(other).systems[0].notes if "was not made by" in note]
    assert mentions(note, "2 left", "A_calm_1", "A/A_calm_1.mp3")


def test_a_budget_is_not_passed(tmp_path: Path) -> None:
    paid = {**TONES, "cost_each": 0.5, "batch": 1, "trouble": {"A_calm_1": "silent"}}
    folder = study_in(tmp_path / "s", {"systems": {"A": paid}})
    with pytest.raises(InputError, match=r"1\.00.*0\.00.*0\.90"):
        made(folder, budget=0.9)
    forecast = forecast_make(folder, MakeOptions(budget=0.9))
    assert (forecast.cost, forecast.within_budget) == (1.0, False)
    result = made(folder, budget=1.5)
    assert result.cost == 1.5
    assert result.systems[0].stopped == "the budget of 1.50 is spent"
    assert [row.outcome for row in read_ledger(folder)] == ["failed", "made", "failed"]


def test_two_runs_at_once_and_damaged_records_are_refused(tmp_path: Path) -> None:
    from heartfelt.stimuli.generation.ledger import GenerationLedger

    folder = study_in(tmp_path / "s", {"systems": {"A": TONES}})
    with GenerationLedger(folder), pytest.raises(InputError, match="Another run is writing"):
        made(folder)
    made(folder)
    # A last line that was cut off is dropped, and its stimulus, whose file is there, is found again.
    ledger = folder / LEDGER_FILE
    text = ledger.read_text()
    ledger.write_text(text[:-40])
    assert len(read_ledger(folder)) == 1
    result = made(folder)
    assert result.systems[0].waiting == 1
    ledger.write_text("at,system\nx,y\n")
    with pytest.raises(InputError, match="move it away"):
        made(folder)
    (folder / "make.json").write_text("{")
    ledger.write_text(text)
    with pytest.raises(HeartfeltError, match=r"make\.json.*read"):
        made(folder)


@pytest.mark.slow
def test_ids_of_any_kind_become_files_inside_the_folder(tmp_path: Path) -> None:
    names = ["../up", "a/b", "=1+1", "con", "Ünïcode 名", "x" * 150, ".hidden", "A", "a", "trail. ", "\u202e<>:|?*"]
    names = [name.strip() for name in names]
    make = {"systems": {name: {**TONES, "batch": 1} for name in names}}
    intents = [{"id": "..", "reference": {}}]
    folder = study_in(tmp_path / "deep" / "s", make, systems=[{"id": name} for name in names], intents=intents)
    result = made(folder)
    assert result.complete == len(names), result
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"s"}
    files = files_of(folder)
    assert len({path.casefold() for path in files}) == len(names)
    opened = open_study(folder)
    assert set(opened.stimuli["system"]) == set(names)
    assert opened.missing_media == []
    assert made(folder).systems[0].made == 0


def test_licences_are_refused_until_they_are_accepted(tmp_path: Path) -> None:
    from heartfelt.stimuli.generation.licences import accept, notices

    folder = study_in(tmp_path / "s", {"systems": {"A": {**TONES, "model": "org/model"}}})
    with pytest.raises(InputError, match=r"org/model.*CC.*4\.0"):
        made(folder)
    assert not (folder / "media").exists()
    assert not (folder / LEDGER_FILE).exists()
    accept(notices(load_make(folder)))
    assert made(folder).complete == 2
    assert "CC BY-NC 4.0" in (folder / "stimuli.csv").read_text()


def test_a_budget_counts_what_every_system_of_the_study_took(tmp_path: Path) -> None:
    """A run of one system is refused by what the others took, as the forecast says."""
    paid = {**TONES, "cost_each": 0.5}
    folder = study_in(tmp_path / "s", {"systems": {"A": paid, "B": paid}})
    made(folder, systems=("A",))
    assert not forecast_make(folder, MakeOptions(systems=("B",), budget=1.5)).within_budget
    with pytest.raises(InputError, match=r"1\.00.*1\.50"):
        made(folder, systems=("B",), budget=1.5)
    assert made(folder, systems=("B",), budget=2).cost == 2


def test_a_budget_pays_as_many_prices_as_fit(tmp_path: Path) -> None:
    """Three times 0.1 is a little more than 0.3 in binary, and within a budget of 0.3 all the same."""
    paid = {**TONES, "cost_each": 0.1, "batch": 1}
    calm = [{"id": "calm", "reference": {"valence": 6.0, "arousal": 2.0}}]
    folder = study_in(tmp_path / "s", {"per_cell": 3, "systems": {"A": paid}}, intents=calm)
    assert forecast_make(folder, MakeOptions(budget=0.3)).within_budget
    assert made(folder, budget=0.3).complete == 3


def test_a_paid_result_that_stops_a_system_is_on_record(tmp_path: Path) -> None:
    wrong = {**TONES, "cost_each": 0.5, "batch": 1, "trouble": {"*": "picture"}}
    folder = study_in(tmp_path / "s", {"systems": {"A": wrong}})
    result = made(folder)
    assert result.cost == 0.5
    (row,) = read_ledger(folder)
    assert (row.outcome, row.cost) == ("failed", 0.5)
    assert row.problem.startswith("It makes image; the study's raters get audio.")
    broken = {**wrong, "trouble": {"*": "stop"}}
    assert made(study_in(tmp_path / "t", {"systems": {"A": broken}})).cost == 0.0, "nothing was made"


@pytest.mark.slow
def test_a_failure_among_functions_does_not_make_the_others_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Maker:
        def generate(self, prompt: StimulusPrompt, seed: int) -> Audio:
            asked.append(prompt.stimulus)
            if prompt.stimulus == "A_angry_1":
                raise RuntimeError("out of credit")
            return Audio(tone(seed, 0.5), RATE)

    monkeypatch.setattr("tests.stimuli.generation.tones.Maker", Maker, raising=False)
    paid = {"generator": "python", "call": "tests.stimuli.generation.tones:Maker", "batch": 4, "cost_each": 1}
    folder = study_in(tmp_path / "s", {"systems": {"A": {**paid, "attempts": 1}}})
    assert made(folder).cost == len(asked) == 2
