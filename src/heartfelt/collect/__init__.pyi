from .collection import Collection
from .commands import CollectOptions
from .material import MediaFile
from .reading.coverage import CompletionForecast, StudyCoverage

__all__ = ["CollectOptions", "Collection", "CompletionForecast", "MediaFile", "StudyCoverage"]
