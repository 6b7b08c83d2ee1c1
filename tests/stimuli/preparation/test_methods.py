"""The recipes of established methods: what a trial presents, and that the media are what the method needs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from heartfelt.cli import main
from heartfelt.errors import UnknownNameError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.formats.study_folder.set_plan import SetPlan, plan_sets
from heartfelt.stimuli import StimulusPrompt
from heartfelt.stimuli.methods.clips import VERSIONS, Moving, Versions, low_passed
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study
from tests.collect.people import add_media
from tests.facts import mentions

NO_MEDIA = StarterOptions(media=False)


def plan(folder: Path, recipe: str) -> SetPlan:
    start_study(recipe, folder, NO_MEDIA)
    made = plan_sets(open_study(folder))
    assert made is not None
    return made


def test_a_cmos_test_compares_every_system_with_the_reference(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "cmos")
    assert (made.sets, made.per_rater, made.raters) == (12, 12, 12)
    assert made.comparisons == {("Attic", "Cellar"): 72, ("Cellar", "Parlour"): 72}
    assert made.warnings == ()
    assert made.groups == (("Attic", "Cellar", "Parlour"),)


def test_a_reference_that_always_comes_first_is_warned_of(tmp_path: Path) -> None:
    plan(tmp_path / "s", "cmos")
    path = tmp_path / "s" / "study.yaml"
    path.write_text(path.read_text().replace("reference: Cellar}", "reference: Cellar, reference_first: true}"))
    made = plan_sets(open_study(tmp_path / "s"))
    assert made is not None
    assert [text.partition(":")[0] for text in made.warnings] == ["The reference always comes first"]


def test_a_mushra_test_has_the_reference_in_every_set_twice(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "mushra")
    opened = open_study(tmp_path / "s")
    assert opened.sets is not None
    for each in opened.sets.sets:
        roles = [role for _, role in each.members]
        assert sorted(roles) == ["anchor", "anchor", "hidden-reference", "member", "member", "reference"]
    assert made.lines()[0].startswith("4 sets of 5 stimuli (mushra)")


def test_an_arena_compares_within_an_emotion(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "arena")
    assert (made.sets, made.raters, made.adaptive) == (24, 20, True)
    assert set(made.comparisons.values()) == {40}
    assert "on average 40 times" in made.lines()[1]
    assert "connect all 4 systems" in made.lines()[2]


def test_best_worst_sets_are_balanced(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "best-worst")
    assert (made.sets, made.sizes, made.raters) == (30, (4, 4), 6)


def test_an_abx_test_compares_every_version_with_the_original(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "abx")
    assert (made.sets, made.per_rater, made.raters) == (8, 8, 16)
    assert made.comparisons == {("eightbit", "original"): 64, ("narrowband", "original"): 64}
    assert made.warnings == ()


def test_a_preference_test_compares_every_two_voices(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "preference")
    assert (made.sets, made.per_rater, set(made.comparisons.values())) == (18, 18, {72})
    assert made.warnings == ()


def test_a_degradation_test_has_the_reference_against_itself(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "dcr")
    opened = open_study(tmp_path / "s")
    assert opened.sets is not None
    roles = Counter(role for each in opened.sets.sets for _, role in each.members)
    assert roles == {"reference": 24, "member": 18, "hidden-reference": 6}
    assert made.lines()[0].startswith("24 sets of 1 stimulus (reference)")
    assert opened.study.design.playback == "restart"
    scale = opened.study.scale_of("degradation")
    assert (scale.bounds(), len(getattr(scale, "anchors", ()))) == ((1.0, 5.0), 5)


def test_a_ranking_has_a_clip_by_every_system(tmp_path: Path) -> None:
    made = plan(tmp_path / "s", "ranking")
    assert (made.sets, made.sizes, set(made.comparisons.values())) == (4, (4, 4), {64})


def test_traces_need_no_sets(tmp_path: Path) -> None:
    start_study("continuous", tmp_path / "s", NO_MEDIA)
    opened = open_study(tmp_path / "s")
    assert plan_sets(opened) is None
    assert opened.study.design.affect_grid == ("valence", "arousal")


@pytest.mark.slow
def test_check_warns_of_what_will_not_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two groups that never meet, a stimulus in no set, too few raters, one answer per set."""
    folder = tmp_path / "s"
    (folder / "media").mkdir(parents=True)
    rows = "".join(f"{name},{system}\n" for name, system in zip("abcde", "ABCDE", strict=True))
    (folder / "stimuli.csv").write_text(f"stimulus,system\n{rows}")
    (folder / "sets.csv").write_text("set,stimulus\n1,a\n1,b\n2,c\n2,d\n")
    (folder / "study.yaml").write_text(
        "name: s\nsets: {type: pair, rule: table, file: sets.csv}\nscales: {c: {type: choice}}\n"
        "questions: [{id: q, text: Which, scale: c}]\ndesign: {ratings_per_item: 3}\nrecruiting: {cap: 2}\n"
    )
    assert main(["check", "--no-pages", str(add_media(folder))]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert mentions(out, "2 sets", "2 stimuli", "3 answers", "2 trials", "3 raters")
    assert mentions(out, "systems", "2 groups")
    assert mentions(out, "1 stimuli", "set")
    assert mentions(out, "2 raters", "3")
    assert "connect all" not in out
    text = (folder / "study.yaml").read_text().replace("ratings_per_item: 3", "ratings_per_item: 1")
    (folder / "study.yaml").write_text(text)
    assert main(["check", "--no-pages", str(folder)]) == 0
    assert "judged by one rater" in capsys.readouterr().out


def test_without_systems_stimuli_are_compared(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "stimuli.csv").write_text("stimulus\na\nb\nc\nd\n")
    (folder / "study.yaml").write_text(
        "name: s\nsets: {type: pair, rule: blocks}\nscales: {c: {type: choice}}\nquestions: [{id: q, text: W, scale: c}]\n"
    )
    made = plan_sets(open_study(folder))
    assert made is not None
    assert (made.of, made.sets, made.groups) == ("stimulus", 6, (("a", "b", "c", "d"),))


# --- the media --------------------------------------------------------------------------------------------------------


def power_above(samples: NDArray[np.float32], rate: int, hertz: float) -> float:
    spectrum = np.abs(np.fft.rfft(np.ravel(samples).astype(np.float64))) ** 2
    return float(spectrum[np.fft.rfftfreq(np.size(samples), 1 / rate) > hertz].sum() / spectrum.sum())


@pytest.mark.parametrize(("hertz", "heard", "lost"), [(3500, 3000, 4000), (7000, 6000, 8000)])
def test_anchors_are_low_passed(hertz: int, heard: int, lost: int) -> None:
    rate, time = 32_000, np.arange(32_000) / 32_000
    for tone, passes in ((heard, True), (lost, False)):
        sound = np.sin(2 * np.pi * tone * time).astype(np.float32)
        out = low_passed(sound, rate, hertz)
        assert out.shape == sound.shape
        level = 10 * np.log10(np.mean(out[2000:-2000] ** 2) / np.mean(sound**2))
        assert level > -1 if passes else level < -50
        if passes:  # in time with the original: versions are switched in the middle
            assert np.corrcoef(out[2000:-2000], sound[2000:-2000])[0, 1] > 0.999


@pytest.mark.slow
def test_versions_are_of_the_same_music_and_length() -> None:
    maker = Versions(seconds=1.0)
    asked = {
        name: StimulusPrompt(
            stimulus=f"{name}_1",
            system=name,
            intent="Brassline",
            text="brass 1",
            coordinates={"valence": 6.4, "arousal": 7.6},
        )
        for name in VERSIONS
    }
    made = {name: maker.generate(ask, 3).audio for name, ask in asked.items()}
    sizes = {audio.frames for audio in made.values()}
    assert sizes == {32_000}
    original = made["original"].samples[:, 0]
    for name, audio in made.items():
        assert np.corrcoef(audio.samples[:, 0], original)[0, 1] > 0.9, name
    above = {name: power_above(audio.samples, 32_000, 3_700) for name, audio in made.items()}
    assert above["anchor35"] < 1e-4 < above["original"]
    with pytest.raises(UnknownNameError, match=r"[Nn]o version is called 'orginal'"):
        maker.generate(
            StimulusPrompt(
                stimulus="x",
                system="orginal",
                intent="Brassline",
                text="x",
                coordinates={"valence": 5.0, "arousal": 5.0},
            )
        )


def test_moving_music_has_its_length() -> None:
    audio = Moving(seconds=2.0).generate(
        StimulusPrompt(
            stimulus="m", system="Chipling", intent="rousing", text="", coordinates={"valence": 6.2, "arousal": 8.2}
        ),
        1,
    )
    assert abs(audio.frames - 2 * 22_050) <= 1
    halves = np.array_split(audio.samples[:, 0], 2)
    assert np.abs(halves[0]).max() > 0.01
    assert np.abs(halves[1]).max() > 0.01
