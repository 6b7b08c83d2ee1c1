"""An argument for every registered predictor, with what it needs written below a folder."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

from heartfelt.predictors.trained.embeddings import MusicnnEmbedding
from heartfelt.predictors.trained.heads.head import Head, QuestionHead
from heartfelt.predictors.trained.model import TrainedModel
from tests.predictors.tiny import write_tiny_clap, write_tiny_clip
from tests.predictors.tiny_scores import write_tiny


def example(name: str, folder: Path) -> str:
    """The ARG of ``NAME:ARG``; empty where the predictor needs none."""
    match name:
        case "tagger":
            return "tests.predictors.examples:tags"
        case "call":
            module = f"heartfelt_example_{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
            (folder / f"{module}.py").write_text("def one(question):\n    return 1\n", encoding="utf-8")
            sys.path.insert(0, str(folder))
            return f"{module}:one"
        case "file":
            path = folder / "predictions.csv"
            path.write_text("stimulus,question,value\nnobody,nothing,1\n", encoding="utf-8")
            return str(path)
        case "visqol":
            pytest.importorskip("visqol", reason="the extra metrics is not installed")
            return ""
        case "measure":
            return "duration"
        case "chat":
            return "nobody@http://127.0.0.1:9/v1"
        case "clap":
            return str(write_tiny_clap(folder / "tiny-clap"))
        case "clip" | "pickscore":
            return str(write_tiny_clip(folder / "tiny-clip"))
        case "hpsv2" | "imagereward" | "aesthetic" | "utmos" | "audiobox-aesthetics" | "scoreq" | "nisqa":
            return str(write_tiny(name, folder / f"tiny-{name}"))
        case "trained":
            return trained_example(folder)
        case _:
            return ""


def trained_example(folder: Path) -> str:
    """A model that predicts 5 for everything."""
    size = MusicnnEmbedding().size
    nothing = {key: np.zeros(size) for key in ("mean", "factor", "reach", "weight")}
    output = QuestionHead(
        question="valence", head=Head("ridge", 5.0, nothing), bounds=(1.0, 9.0), half_width=2.0, confidence=0.9
    )
    return str(
        TrainedModel(name="example", recipe="va-audio", embedding=MusicnnEmbedding.name, outputs=(output,)).write(
            folder / "model"
        )
    )


def tags(path: Path) -> list[str]:
    """A tagger that sees the same in every file."""
    del path
    return ["thing"]
