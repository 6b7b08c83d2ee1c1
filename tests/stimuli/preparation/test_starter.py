"""Every recipe starts a study that is valid and complete, the same from the same seed, and true to the recipe."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.datasets.aigiemo import starter as aigiemo
from heartfelt.datasets.aimoclips import starter as aimoclips
from heartfelt.datasets.emolia import starter as emolia
from heartfelt.datasets.musiceval import starter as musiceval
from heartfelt.datasets.musiceval.tunes import TUNES, TunePlayer
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.media.audio import Audio, read_audio
from heartfelt.media.probe import CACHE_FILE
from heartfelt.stimuli import StimulusPrompt
from heartfelt.stimuli.methods import starters as methods
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import (
    STARTERS,
    SmallClips,
    Started,
    UncompressedClip,
    replace_block,
    start_study,
    substitute,
)
from heartfelt.study.model import AnchorProbe
from heartfelt.study.recipes import RECIPES, recipe_study, recipe_text
from tests.cases import check_all

pytestmark = pytest.mark.slow  # what they look at takes seconds to make

ALL = sorted(RECIPES)
DOCS = Path(__file__).parents[3] / "docs" / "recipes" / "starting.md"
NO_MEDIA = StarterOptions(media=False)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer systems, clips of a second and tiny images: everything else is as it is for a user."""
    for part, name in ((aimoclips, ""), (musiceval, ""), (emolia, "EMO_"), (emolia, "DIM_")):
        monkeypatch.setattr(part, f"{name}SECONDS", 1.0)
    for part in (aimoclips, musiceval):
        monkeypatch.setattr(part, "MUSIC_STYLES", {"Chipling": "chip pulse waves"})
    monkeypatch.setattr(emolia, "VOICE_STYLES", {"Attic": "a high voice"})
    monkeypatch.setattr(musiceval, "RATE", 8_000)
    monkeypatch.setattr(aigiemo, "SIZE", 32)
    for name in ("MUSIC", "SPEECH", "MUSHRA", "MOVING"):
        monkeypatch.setattr(methods, f"{name}_SECONDS", 1.0)
    monkeypatch.setattr(methods, "MUSIC_STYLES", {"Chipling": "chip pulse waves", "Pluckbox": "plucked strings"})


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Started]:
    """Every recipe started as it is for a user, but for the media."""
    root = tmp_path_factory.mktemp("planned")
    return {recipe: start_study(recipe, root / recipe, NO_MEDIA) for recipe in ALL}


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != CACHE_FILE
    }


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_recipe_can_be_started() -> None:
    assert STARTERS.names() == ALL


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("recipe", ALL)
def test_a_started_study_is_complete_and_the_same_every_time(recipe: str, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    made = start_study(recipe, tmp_path / "one", StarterOptions(seed=5), lambda *step: seen.append(step))
    opened = open_study(tmp_path / "one")
    assert opened.missing_media == []
    assert opened.study == made.study
    assert opened.study.seed == 5
    assert opened.stimuli.select(made.stimuli.columns).cast(pl.String).equals(made.stimuli)
    assert seen == [("rendering stimuli", k, made.stimuli.height) for k in range(1, made.stimuli.height + 1)]
    # Nothing lies about that the manifest does not name, and no two stimuli are the same file.
    content = files(tmp_path / "one")
    media = {name.removeprefix("media/"): data for name, data in content.items() if name.startswith("media/")}
    assert sorted(media) == sorted(made.stimuli["path"])
    assert len(set(media.values())) == len(media)
    start_study(recipe, tmp_path / "two", StarterOptions(seed=5))
    assert files(tmp_path / "two") == content


@pytest.mark.usefixtures("small")
def test_another_seed_makes_other_stimuli(tmp_path: Path) -> None:
    for seed in (1, 2):
        start_study("musiceval", tmp_path / str(seed), StarterOptions(seed=seed))
    each, two = (files(tmp_path / str(seed)) for seed in (1, 2))
    assert each.keys() == two.keys()
    assert all(each[name] != two[name] for name in each if name.startswith("media/") or name == "study.yaml")
    assert each["stimuli.csv"] == two["stimuli.csv"]


@check_all("recipe", ALL)
def test_a_started_study_is_the_recipe_but_for_what_must_differ(recipe: str, planned: dict[str, Started]) -> None:
    made = planned[recipe]
    before, after = recipe_study(recipe).model_dump(), made.study.model_dump()
    own: dict[str, Any] = (
        {"systems": None, "prompts": None} if recipe in ("aimoclips", "musiceval") else {"systems": None}
    )
    wanted = before["design"].pop("stimuli_per_rater")
    given = after["design"].pop("stimuli_per_rater")
    assert (wanted, given) == {"aimoclips": (56, 48), "musiceval": (982, 24)}.get(recipe, (wanted, wanted))
    for probe_before, probe_after in zip(before["probes"], after["probes"], strict=True):
        if probe_before["type"] == "anchor":
            assert probe_after["stimuli"] == ["real_1", "real_2"]
            probe_before["stimuli"] = probe_after["stimuli"]
    assert {**before, **own} == {**after, **own}
    assert made.study.seed == recipe_study(recipe).seed


@check_all("recipe", ALL)
def test_the_text_keeps_the_recipe_s_comments_and_layout(recipe: str, planned: dict[str, Started]) -> None:
    made = planned[recipe]
    text = (made.folder / "study.yaml").read_text(encoding="utf-8")
    lost = set(recipe_text(recipe).splitlines()) - set(text.splitlines())
    changed = [
        line
        for line in lost
        if not line.startswith(("  - {id: ", "# The 21 systems", "# calls the models", "# Stand-ins", "# classical"))
    ]
    assert [line.split(":")[0].strip(" -{") for line in sorted(changed)] == {
        "aimoclips": ["stimuli_per_rater"],
        "musiceval": ["type", "stimuli_per_rater"],
    }.get(recipe, [])
    assert "\n\n\n" not in text
    assert max(map(len, text.splitlines())) <= 130
    assert f"heartfelt new {recipe}" in text.splitlines()[0]


@pytest.mark.parametrize("recipe", ALL)
def test_ids_in_one_place_are_known_in_the_other(recipe: str, tmp_path: Path) -> None:
    made = start_study(recipe, tmp_path / "s", StarterOptions(per_cell=3, media=False))
    known = set(made.stimuli["stimulus"])
    anchors = {name for probe in made.study.probes if isinstance(probe, AnchorProbe) for name in probe.stimuli}
    assert anchors | set(made.study.design.practice_stimuli) <= known
    by_cell = Counter(row for row in made.stimuli.drop("stimulus", "path").iter_rows() if row[0] is not None)
    assert set(by_cell.values()) == {3}
    assert set(made.stimuli["system"].drop_nulls()) == {system.id for system in made.study.systems}
    opened = open_study(tmp_path / "s")
    assert (made.items is None) == (made.study.stimuli.items is None)
    assert set(opened.items["stimulus"]) == known
    assert opened.items.height == opened.items.unique(["stimulus", "question"]).height


def test_without_media_the_planned_stimuli_are_listed(planned: dict[str, Started]) -> None:
    made = planned["aigiemo"]
    assert sorted(files(made.folder)) == ["README.md", "stimuli.csv", "study.yaml"]
    assert (made.folder / "media").is_dir()
    assert open_study(made.folder).missing_media == made.stimuli["stimulus"].to_list()
    assert "still to come" in (made.folder / "README.md").read_text()


def test_musiceval_shows_a_prompt_with_every_clip(planned: dict[str, Started]) -> None:
    made = planned["musiceval"]
    prompts = {prompt.id for prompt in made.study.prompts}
    assert set(made.stimuli["prompt"]) == prompts
    assert all(re.fullmatch(r"P\d{3}", name) for name in prompts)
    real = made.stimuli.filter(pl.col("system").is_null())
    assert real["stimulus"].to_list() == ["real_1", "real_2"]
    # The design's blocks, repeats and batches fit what there is.
    design, height = made.study.design, made.stimuli.height
    assert design.stimuli_per_rater == height - real.height


def test_emolia_emo_asks_for_the_emotion_and_for_its_absence(planned: dict[str, Started]) -> None:
    made = planned["emolia-emo"]
    intent = {row["stimulus"]: row["intent"] for row in rows(made.folder / "stimuli.csv")}
    asked: dict[str, list[str]] = {}
    for row in rows(made.folder / "items.csv"):
        emotion, task = row["question"].split("/")
        assert (emotion == intent[row["stimulus"]]) == (task == "affirmative")
        asked.setdefault(row["stimulus"], []).append(task)
    assert all(sorted(tasks)[0] == "affirmative" and len(set(tasks)) == 3 for tasks in asked.values())
    tally = Counter(task for tasks in asked.values() for task in tasks)
    assert tally == {"affirmative": 24, "contrastive_1": 12, "contrastive_2": 12, "penultimate": 12, "ultimate": 12}


def test_emolia_emo_s_ultimate_is_the_farthest() -> None:
    for emotion, here in emolia.EMOTIONS.items():
        far = max(emolia.EMOTIONS, key=lambda other: np.hypot(*np.subtract(emolia.EMOTIONS[other], here)))
        assert f"{far}/ultimate" in emolia._questions(emotion, 0)


def test_emolia_dim_holds_a_clip_against_its_level_and_another(planned: dict[str, Started]) -> None:
    made = planned["emolia-dim"]
    clips = {row["stimulus"]: row for row in rows(made.folder / "stimuli.csv")}
    for row in rows(made.folder / "items.csv"):
        dimension, level, polarity = row["question"].split("/")
        clip = clips[row["stimulus"]]
        assert dimension == clip["intent"]
        assert (level == clip["level"]) == (polarity == "positive")


@check_all("recipe", ALL)
def test_the_read_me_tells_what_is_there(recipe: str, planned: dict[str, Started]) -> None:
    made = planned[recipe]
    text = (made.folder / "README.md").read_text(encoding="utf-8")
    for name in ("study.yaml", "stimuli.csv", "media/", *(["items.csv"] if made.items is not None else [])):
        assert f"| `{name}` |" in text
    assert all(f"`{column}`" in text for column in made.stimuli.columns)
    assert ("items.csv" in text) == (made.items is not None)
    assert "{" not in text
    assert "real recordings" in " ".join(text.split()) or recipe != "musiceval"


def test_what_cannot_be_started_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"aimoclips.*emolia-dim") as caught:
        start_study("aimoclip", tmp_path / "s", NO_MEDIA)
    assert "Did you mean 'aimoclips'?" in caught.value.fix
    with pytest.raises(InputError, match="empty"):
        StarterOptions(per_cell=0)
    start_study("aigiemo", tmp_path / "s", NO_MEDIA)
    before = files(tmp_path / "s")
    with pytest.raises(InputError, match="already exists"):
        start_study("aimoclips", tmp_path / "s", NO_MEDIA)
    assert files(tmp_path / "s") == before


@pytest.mark.usefixtures("small")
def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def stop(_: str, done: int, __: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_study("aigiemo", tmp_path / "s", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_rater_gets_the_published_number_where_there_is_enough(tmp_path: Path) -> None:
    made = start_study("musiceval", tmp_path / "s", StarterOptions(per_cell=42, media=False))
    assert made.study.design.stimuli_per_rater == 982
    # A rater of aimoclips meets each cell once, however many clips it has.
    made = start_study("aimoclips", tmp_path / "t", StarterOptions(per_cell=3, media=False))
    assert made.study.design.stimuli_per_rater == 48


def test_clips_are_mp3_and_keep_their_length(tmp_path: Path) -> None:
    sound = np.sin(np.linspace(0, 3000, 22_050 * 2 + 17)).astype(np.float32) * np.float32(0.5)
    path = UncompressedClip(Audio(sound, 22_050)).save(tmp_path / "a" / "clip.mp3")
    back = read_audio(path)
    assert (back.frames, back.rate, back.channels) == (sound.size, 22_050, 1)
    assert np.corrcoef(back.samples[:, 0], sound)[0, 1] > 0.999
    assert path.stat().st_size < 0.3 * 2 * sound.size
    assert UncompressedClip(Audio(sound, 22_050)).save(tmp_path / "clip.flac").read_bytes()[:4] == b"fLaC"


def test_clips_are_flac_where_mp3_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import soundfile

    assert SmallClips(TunePlayer()).suffix == ".mp3"
    monkeypatch.setattr(soundfile, "available_formats", lambda: {"WAV": "", "FLAC": ""})
    assert SmallClips(TunePlayer()).suffix == ".flac"


@pytest.mark.parametrize(("name", "hertz"), [("real_1", 587.33), ("real_2", 329.63)])
def test_the_anchors_begin_as_written(name: str, hertz: float) -> None:
    audio = TunePlayer(seconds=6.0, rate=16_000).generate(
        StimulusPrompt(stimulus=name, system="real", intent="", text=""), 1
    )
    samples = audio.samples[:, 0]
    assert samples.size == 96_000
    assert 0.05 < np.abs(samples).max() < 1.0
    assert all(np.abs(part).max() > 0.01 for part in np.split(samples, 6))
    first = samples[1_500:6_000]
    power = np.abs(np.fft.rfft(first * np.hanning(first.size), 1 << 17)) ** 2
    axis = np.fft.rfftfreq(1 << 17, 1 / 16_000)
    near = (axis > 0.9 * hertz) & (axis < 1.1 * hertz)
    assert abs(1200 * np.log2(axis[near][np.argmax(power[near])] / hertz)) < 20  # cents
    with pytest.raises(UnknownNameError, match="real_1"):
        TunePlayer().generate(StimulusPrompt(stimulus="real_3", system="real", intent="", text=""))


def test_the_voices_of_a_tune_last_equally_long() -> None:
    for tune in TUNES.values():
        beats = {sum(float(word.split(":")[1]) for word in notes.split()) for notes in (tune.melody, tune.bass)}
        assert len(beats) == 1
        assert beats.pop() * 60 / tune.tempo < 5.8


def test_blocks_are_replaced_with_their_comment() -> None:
    text = "a: 1\n\n# of b\nb:\n  - {x: 1}\n\n  - {x: 2}\n\n# of c\nc: {}\n"
    assert replace_block(text, "b", "b: []") == "a: 1\n\nb: []\n\n# of c\nc: {}\n"
    assert replace_block(text, "d", "d: 0", before="c").endswith("\n\nd: 0\n\n# of c\nc: {}\n")
    with pytest.raises(LookupError, match="0 blocks called 'z'"):
        replace_block(text, "d", "d: 0", before="z")
    assert substitute(text, r"^a: \d$", "a: 2").startswith("a: 2\n")
    with pytest.raises(LookupError, match="2 places"):
        substitute(text, r"x: \d", "x: 3")


def tables() -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in DOCS.read_text().splitlines()
        if line.startswith("|")
    ]


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), flags=re.S)
    exec(compile(block, "starting.md", "exec"), {})  # a guide's own code, as a reader would run it
    assert (tmp_path / "my-study" / "items.csv").is_file()


def test_the_guide_counts_right(planned: dict[str, Started]) -> None:
    named = ((re.sub(r"\[([\w-]+)\].*", r"\1", cells[0]), cells) for cells in tables() if len(cells) == 6)
    result = {name: cells for name, cells in named if name in RECIPES}
    assert sorted(result) == ALL
    for recipe, cells in result.items():
        made = planned[recipe]
        assert cells[1] == ", ".join(system.id for system in made.study.systems)
        assert (int(cells[3]), int(cells[4])) == (made.stimuli.height, open_study(made.folder).items.height)


def test_the_guide_names_what_the_synthesiser_was_told() -> None:
    raised = {(name, "musiceval"): place[1:] for name, place in musiceval.PROMPTS.items()}
    raised |= {(name, "emolia-emo"): place for name, place in emolia.EMOTIONS.items()}
    raised |= {(name, "aigiemo"): place for name, place in aigiemo.EMOTIONS.items()}
    raised |= {(name, "cmos"): place for name, place in methods.UTTERANCES.items()}
    raised |= {(name, "mushra"): place for name, place in methods.EXCERPTS.items()}
    entries = [
        (recipe, *entry.split()) for recipe, *cells in tables() if recipe in RECIPES and len(cells) == 1
        for entry in cells[0].split(";")
    ]  # fmt: skip
    printed = {(name, recipe): (float(valence), float(arousal)) for recipe, name, valence, arousal in entries}
    assert printed == raised
