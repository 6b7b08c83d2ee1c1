"""One file per engine; importing this package registers them all."""

from heartfelt.predict.engine import ENGINES
from heartfelt.predict.engines import local, ray

__all__ = ["ENGINES", "local", "ray"]
