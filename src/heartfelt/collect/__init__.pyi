from .collection import Collection
from .material import MediaFile
from .messages.commands import CollectOptions
from .reading.coverage import CompletionForecast, StudyCoverage

__all__ = ["CollectOptions", "Collection", "CompletionForecast", "MediaFile", "StudyCoverage"]
