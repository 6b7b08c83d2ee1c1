"""The suite every built-in synthesiser must pass, and the prompts of a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.errors import InputError
from heartfelt.media.audio import content_hash
from heartfelt.stimuli import StimulusPrompt, prompts_for
from heartfelt.stimuli.prompts.prompt import Generator
from heartfelt.stimuli.synthesis import SynthImage, SynthMusic, SynthVoice

INTENTS = {"joyful": {"valence": 8.0, "arousal": 7.0}, "weary": {"valence": 3.0, "arousal": 2.0}}


def prompt(system: str) -> StimulusPrompt:
    return StimulusPrompt(
        stimulus="s1",
        system=system,
        intent="joyful",
        text="joyful, instrumental",
        coordinates={"valence": 8.0, "arousal": 7.0},
    )


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
    bare = StimulusPrompt(stimulus="s1", system="Sinewood", intent="joyful", text="joyful")
    with pytest.raises(InputError, match=r"reference.*value.*'valence'"):
        SynthMusic().generate(bare)


def test_prompts_cover_every_cell_once() -> None:
    made = prompts_for(INTENTS, ["A", "B"], per_cell=3, template="{intent}, instrumental", templates={"B": "{intent}"})
    assert len({p.stimulus for p in made}) == 12
    assert {(p.system, p.text) for p in made if p.intent == "weary"} == {("A", "weary, instrumental"), ("B", "weary")}
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
