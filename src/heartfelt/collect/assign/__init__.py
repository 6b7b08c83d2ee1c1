"""Assignment: who rates what next. The state is derived from the journal and held in memory; no database here."""

from heartfelt.collect.assign.model import Event
from heartfelt.collect.assign.state import State

__all__ = ["Event", "State"]
