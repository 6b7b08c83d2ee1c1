"""Trained heads on frozen embeddings: what they look at, how they answer, how they are kept."""

from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, Features
from heartfelt.predictors.trained.model import Output, TrainedModel, load_trained

__all__ = ["EMBEDDINGS", "Embedding", "Features", "Output", "TrainedModel", "load_trained"]
