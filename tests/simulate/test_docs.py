"""The guides of making and simulating are run as written, and name everything there is to name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from heartfelt import simulate
from heartfelt.stimuli.synthesis.image import IMAGE_SYSTEMS, ImageSystem
from heartfelt.stimuli.synthesis.music import MUSIC_SYSTEMS, MusicSystem
from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS, VoiceSystem
from tests.docs.reference import settings_pages

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["make.md", "simulation.md"])
def test_the_guide_runs(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / guide).read_text(), flags=re.S)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, guide, "exec"), scope)  # a guide's own code, as a reader would run it


def test_every_kind_has_its_words() -> None:
    text = (DOCS / "simulation.md").read_text()
    for kind in (*simulate.KINDS, *simulate.VOTER_KINDS, *simulate.VERIFIER_KINDS):
        assert f"`{kind}`" in text


@pytest.mark.slow
@pytest.mark.parametrize("systems", [MUSIC_SYSTEMS, IMAGE_SYSTEMS, VOICE_SYSTEMS])
def test_every_profile_is_printed_as_it_is(
    systems: Mapping[str, MusicSystem] | Mapping[str, ImageSystem] | Mapping[str, VoiceSystem],
) -> None:
    text = settings_pages()["generators.md"]
    for name, system in systems.items():
        convey = system.conveyance
        parts = [(convey.gain[question], convey.shift[question]) for question in ("valence", "arousal")]
        numbers = [*parts[0], *parts[1], convey.noise]
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert [float(cell) for cell in row.split("|")[2:7]] == numbers
