"""Collecting ratings: a store that loses nothing, and an assignment that wastes nobody's time."""

from heartfelt.collect.collection import Collection
from heartfelt.collect.material import MediaFile
from heartfelt.collect.options import CollectOptions
from heartfelt.collect.reading.coverage import Coverage, Forecast

__all__ = ["CollectOptions", "Collection", "Coverage", "Forecast", "MediaFile"]
