from .collection import Collection
from .commands import CollectOptions
from .material import MediaFile
from .reading.coverage import Coverage, Forecast

__all__ = ["CollectOptions", "Collection", "Coverage", "Forecast", "MediaFile"]
