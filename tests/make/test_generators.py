"""The suite every registered generator must pass, and making stimuli in bulk."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.make import Prompt, make_stimuli, prompts_for
from heartfelt.make.generators import SynthImage, SynthMusic, SynthVoice
from heartfelt.make.prompts import Generator, Media
from heartfelt.media.audio import content_hash
from heartfelt.tables import STIMULI

INTENTS = {"joyful": {"valence": 8.0, "arousal": 7.0}, "weary": {"valence": 3.0, "arousal": 2.0}}
SHORT = SynthMusic(seconds=0.6, rate=8_000)


def prompt(system: str) -> Prompt:
    return Prompt("s1", system, "joyful", "joyful, instrumental", {"valence": 8.0, "arousal": 7.0})


@pytest.mark.slow
@pytest.mark.parametrize("generator", [SynthMusic(), SynthImage(), SynthVoice()], ids=lambda each: each.kind)
def test_every_synthesiser_keeps_the_protocol(generator: Generator, tmp_path: Path) -> None:
    assert generator.kind in ("audio", "image")
    assert generator.suffix.startswith(".")
    system = generator.systems[0]
    first = generator.generate(prompt(system), 3)
    assert first.kind == generator.kind
    each = first.save(tmp_path / f"one{generator.suffix}")
    two = generator.generate(prompt(system), 3).save(tmp_path / f"two{generator.suffix}")
    other = generator.generate(prompt(system), 4).save(tmp_path / f"other{generator.suffix}")
    assert content_hash(each) == content_hash(two) != content_hash(other)


def test_a_prompt_without_coordinates_says_so() -> None:
    bare = Prompt("s1", "Sinewood", "joyful", "joyful")
    with pytest.raises(InputError, match="no reference value for 'valence'"):
        SynthMusic().generate(bare)


def test_prompts_cover_every_cell_once() -> None:
    made = prompts_for(
        INTENTS, ["A", "B"], per_cell=3, template="{intent}, instrumental", templates={"B": "{intent}"}
    )
    assert len({p.stimulus for p in made}) == 12
    assert {(p.system, p.text) for p in made if p.intent == "weary"} == {
        ("A", "weary, instrumental"),
        ("B", "weary"),
    }
    assert made[0].coordinate("arousal") == 7.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"per_cell": 0}, "per_cell is 0"),
        ({"template": "music"}, "does not mention"),
        ({"templates": {"C": "{intent}"}}, "not among the systems"),
    ],
)
def test_impossible_prompts_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        prompts_for(INTENTS, ["A"], **change)  # type: ignore[arg-type]  # the wrong arguments are the point


def test_stimuli_are_made_described_and_kept(tmp_path: Path) -> None:
    asked = prompts_for(INTENTS, ["Sinewood", "Chipling"], per_cell=2)
    seen: list[str] = []
    table = make_stimuli(asked, tmp_path, generator=SHORT, seed=1, progress=lambda p: seen.append(p.stimulus))
    assert seen == table["stimulus"].to_list()
    STIMULI.check(table, "test")
    assert table["found"].all()
    assert table["duration"].to_list() == pytest.approx([0.6] * 8)
    assert table["valence"].to_list()[:2] == [8.0, 8.0]
    assert table["sha256"].n_unique() == 8
    for path, digest in table.select("path", "sha256").iter_rows():
        assert content_hash(tmp_path / path) == digest
    # A cut-off file is made again, a whole one is left alone.
    victim, whole = tmp_path / table["path"][0], tmp_path / table["path"][1]
    victim.write_bytes(victim.read_bytes()[:500])
    stamp = whole.stat().st_mtime_ns
    again = make_stimuli(asked, tmp_path, generator=SHORT, seed=1)
    assert again.equals(table)
    assert whole.stat().st_mtime_ns == stamp


def test_one_failure_is_one_row(tmp_path: Path) -> None:
    class Broken(SynthMusic):
        def generate(self, prompt: Prompt, seed: int = 0) -> Media:  # type: ignore[override]  # any media will do
            if prompt.stimulus.endswith("_2"):
                raise RuntimeError("out of memory")
            return SHORT.generate(prompt, seed)

    asked = [*prompts_for(INTENTS, ["Sinewood"], per_cell=2), prompt("Nobody")]
    table = make_stimuli(asked, tmp_path, generator=Broken())
    assert table["found"].to_list() == [True, False, True, False, False]
    assert "out of memory" in table["media_problem"][1]
    assert "no system called 'Nobody'" in table["media_problem"][4]
    assert table.filter(~pl.col("found"))["sha256"].null_count() == 3


def test_images_are_described_too(tmp_path: Path) -> None:
    asked = prompts_for(INTENTS, ["Gouache"])
    for suffix in (".png", ".jpg", ".webp"):
        table = make_stimuli(asked, tmp_path, generator=SynthImage(size=48), suffix=suffix)
        assert table["width"].to_list() == [48, 48]
        assert table["path"][0].endswith(suffix)
    # An image that is damaged is made again.
    path = tmp_path / table["path"][0]
    path.write_bytes(path.read_bytes()[:100])
    assert make_stimuli(asked, tmp_path, generator=SynthImage(size=48), suffix=".webp").equals(table)
    table = make_stimuli(asked, tmp_path, generator=SynthImage(size=48), suffix=".gif")
    assert "not a format" in table["media_problem"][0]


def test_stimuli_stay_in_their_folder_and_apart(tmp_path: Path) -> None:
    outside = Prompt("../../x", "Sinewood", "joyful", "t", {"valence": 5.0, "arousal": 5.0})
    with pytest.raises(InputError, match="leads out"):
        make_stimuli([outside], tmp_path / "in", generator=SHORT)
    with pytest.raises(InputError, match="same stimulus"):
        make_stimuli([prompt("Sinewood"), prompt("Chipling")], tmp_path, generator=SHORT)


def test_no_prompts_make_an_empty_table(tmp_path: Path) -> None:
    table = make_stimuli([], tmp_path)
    assert table.height == 0
    STIMULI.check(table, "test")
