"""Who rates what next: the state of a collection in memory, derived from its journal. Knows no database."""

from heartfelt.collect.assign.journal import Fact
from heartfelt.collect.assign.state import State

__all__ = ["Fact", "State"]
