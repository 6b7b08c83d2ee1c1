"""The waist: a study, its stimuli, raters and ratings as plain tables, frozen and hashed."""

from heartfelt.snapshot.folder import load
from heartfelt.snapshot.snapshot import Snapshot

__all__ = ["Snapshot", "load"]
