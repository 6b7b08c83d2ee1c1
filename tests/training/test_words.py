"""Opinion of stimulus and text together: one model, one question from the file alone, the other from file and prompt."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from heartfelt.predictors import cases, predictor_from, run
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, EmbeddingBlock, Features
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import parse_study
from heartfelt.training import RECIPES, TrainingRecipe, TrainOptions, train
from tests.training.studies import WIDTH, Digits, value_of

PROMPTS = {"bright": 1.0, "dark": -1.0, "plain": 0.2}
STUDY = """
heartfelt: 1
name: opinions
media: audio
systems: [{id: A}, {id: B}, {id: C}]
prompts: [{id: bright, text: "bright tune"}, {id: dark, text: "dark tune"}, {id: plain, text: "plain tune"}]
scales:
  five: {type: points, points: 5, anchors: {1: bad, 5: excellent}}
questions:
  - {id: impression, text: "How good is it?", scale: five}
  - {id: alignment, text: "How well does it fit its description?", scale: five, shows: [prompt]}
design: {ratings_per_item: 4, minimum_ratings: 2}
"""


class DigitsWords(Embedding):
    """The numbers of a file, and one number for the text."""

    name: ClassVar[str] = "digits-words"
    about: ClassVar[str] = "numbers and text"
    media: ClassVar[str] = "audio"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (*Digits.blocks, EmbeddingBlock("words", 2))
    uses_text: ClassVar[bool] = True

    @property
    def identity(self) -> str:
        return "digits-words 1"

    def of(self, path: Path | str, text: str | None = None) -> Features:
        result = Digits().of(path)
        about = PROMPTS[str(text).split()[0]]
        words = np.array([[about, about * result.rows[0, 0]]], dtype=np.float32)
        return Features(np.concatenate([result.rows, words], axis=1), result.starts, result.seconds)


if "digits-words" not in EMBEDDINGS:
    EMBEDDINGS.add(DigitsWords.name, DigitsWords)
    RECIPES.add(
        "digits-mos",
        TrainingRecipe(
            name="digits-mos",
            about="opinions",
            embedding="digits",
            questions=("impression", "alignment"),
            with_text=("align",),
            text_embedding="digits-words",
            kinds=("ridge", "mlp"),
        ),
    )


def opinions(folder: Path) -> Snapshot:
    """Impression is in the file; alignment is whether the file's first number has the sign of the text."""
    folder.mkdir()
    rng = stream(9, "opinions")
    stimuli, ratings = [], []
    for place in range(120):
        name, prompt = f"{place}.wav", list(PROMPTS)[place % 3]
        x = rng.normal(0, 1, WIDTH)
        np.savetxt(folder / name, x, fmt="%.6f")
        stimuli.append({"stimulus": name, "system": "ABC"[place % 7 % 3], "prompt": prompt, "path": name})
        truth = {"impression": 3 + 0.8 * x[1], "alignment": 3 + 0.9 * PROMPTS[prompt] * x[0]}
        for question, value in truth.items():
            for rater in range(4):
                predicted = float(np.clip(np.round(value + rng.normal(0, 0.4)), 1, 5))
                ratings.append({"rater": f"r{rater}", "stimulus": name, "question": question, "value": predicted})
    return Snapshot.build(
        parse_study(STUDY, "opinions"),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="opinions", media_root=folder),
    )


@pytest.mark.slow
def test_alignment_is_read_from_file_and_text_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "kept"))
    snapshot = opinions(tmp_path / "media")
    made = train(snapshot, TrainOptions(recipe="digits-mos", policy="none"))
    assert {target.question: target.embedding for target in made.material.targets} == {
        "impression": "digits",
        "alignment": "digits-words",
    }
    scores = {row.question: value_of(row.pearson) for row in made.evaluation.rows if row.protocol == "five-fold"}
    assert scores["impression"] > 0.7
    assert scores["alignment"] > 0.7
    assert made.model.embedding == "digits-words"
    made.model.write(tmp_path / "model")
    with predictor_from(f"trained:{tmp_path / 'model'}") as predictor:
        table = run(predictor, cases(snapshot, limit=6)).table
    assert table["ok"].all()
    rows = DigitsWords().of(tmp_path / "media" / "0.wav", "bright tune").rows
    for output in made.model.outputs:
        assert np.isfinite(output.head.answer(rows)).all()


def test_the_recipe_for_opinions_looks_where_it_should() -> None:
    recipe = RECIPES["mos-audio"]
    assert recipe.embedding_of("impression") == "music"
    assert recipe.embedding_of("alignment") == "music-words"
    wide, narrow = EMBEDDINGS["music-words"], EMBEDDINGS["music"]
    assert wide.blocks[: len(narrow.blocks)] == narrow.blocks
