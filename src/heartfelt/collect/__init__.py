"""Collecting ratings: a durable store, and an assignment that wastes nobody's time."""

from heartfelt.collect.collection import Collection
from heartfelt.collect.commands import CollectOptions
from heartfelt.collect.material import MediaFile
from heartfelt.collect.reading.coverage import Coverage, Forecast

__all__ = ["CollectOptions", "Collection", "Coverage", "Forecast", "MediaFile"]
