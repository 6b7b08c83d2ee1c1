"""From make.yaml to files with provenance: models of three kinds through the runner."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from heartfelt.media.audio import read_audio
from heartfelt.media.images.image import decode_image
from heartfelt.stimuli import MakeOptions, make_study
from tests.stimuli.generation.models.tiny_models import written

pytestmark = pytest.mark.slow
STUDY = """
name: tiny
media: {media}
intents:
  - {{id: joyful, reference: {{valence: 8.2, arousal: 7.2}}}}
  - {{id: weary, reference: {{valence: 3.6, arousal: 2.4}}}}
scales: {{nine: {{type: points, points: 9}}}}
questions: [{{id: valence, text: V, scale: nine}}]
"""


def study(folder: Path, media: str, make: str) -> Path:
    folder.mkdir()
    (folder / "study.yaml").write_text(STUDY.format(media=media), encoding="utf-8")
    (folder / "make.yaml").write_text(make, encoding="utf-8")
    return folder


def test_clips_of_two_models_become_a_study(home: Path, tmp_path: Path) -> None:
    music, sound = written(home, "musicgen"), written(home, "audioldm2")
    make = f"""
        seed: 3
        per_cell: 2
        seconds: 0.3
        template: "{{intent}}, instrumental"
        systems:
          Music: {{generator: musicgen, model: {music}, batch: 3, suffix: .wav, settings: {{top_k: 20}}}}
          Sound: {{generator: audioldm2, model: {sound}, batch: 4, settings: {{steps: 2, negative_prompt: low}}}}
    """
    folder = study(tmp_path / "study", "audio", make)
    made = make_study(folder, MakeOptions(device="cpu", accept_licences=True))
    assert (made.complete, made.failed) == (8, 0)
    table = pl.read_csv(next(folder.glob("stimuli.csv")))
    row = table.filter(pl.col("stimulus") == "Music_joyful_2").row(0, named=True)
    clip = read_audio(folder / "media" / "Music" / "Music_joyful_2.wav")
    assert (clip.rate, clip.frames) == (1_600, 480)
    assert row["generator"] == "musicgen"
    assert row["model"] == "musicgen"
    assert json.loads(row["settings"])["top_k"] == 20
    assert row["hardware"]
    assert table["sha256"].n_unique() == 8


def test_images_become_a_study(home: Path, tmp_path: Path) -> None:
    model = written(home, "sd")
    make = f"""
        size: 32
        template: "{{intent}}"
        systems: {{Drawn: {{generator: text-to-image, model: {model}, settings: {{steps: 2}}}}}}
    """
    folder = study(tmp_path / "study", "image", make)
    made = make_study(folder, MakeOptions(device="cpu", accept_licences=True))
    assert (made.complete, made.failed) == (2, 0)
    assert decode_image(folder / "media" / "Drawn" / "Drawn_weary_1.png").size == (32, 32)
