"""Valence and arousal of music, offline: a head trained on real ratings of AI-generated music, shipped with heartfelt."""

from heartfelt.predictors.valence_arousal.files import FilePrediction, predict
from heartfelt.predictors.valence_arousal.predictor import ValenceArousal, shipped

__all__ = ["FilePrediction", "ValenceArousal", "predict", "shipped"]
