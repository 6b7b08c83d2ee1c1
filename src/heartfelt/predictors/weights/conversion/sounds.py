"""Silero VAD and Basic Pitch come as ONNX already and are stored as they are."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.predictors.networks import notes, speech_activity
from heartfelt.predictors.weights.conversion import sound
from heartfelt.predictors.weights.conversion.graph import Tensors
from heartfelt.predictors.weights.model import Model


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {"model.onnx": next(content for name, content in members.items() if name.endswith(".onnx"))}


def answers(model: Model) -> Tensors:
    """The synthetic sound, longer than a window: its probabilities of speech, or of sounding and beginning keys."""
    if model.name == "silero-vad":
        return {"speech": speech_activity.probabilities(sound(100_000), model=model)}
    heard = notes.keys(sound(100_000, notes.RATE), model=model)
    return {"sounding": heard.sounding[::40], "beginning": heard.beginning[::40]}
