"""Trained heads on frozen embeddings: what they look at, how they answer, how they are kept."""

from heartfelt.predict.trained.embeddings import EMBEDDINGS, Embedding, Features
from heartfelt.predict.trained.model import Output, TrainedModel, load_trained

__all__ = ["EMBEDDINGS", "Embedding", "Features", "Output", "TrainedModel", "load_trained"]
