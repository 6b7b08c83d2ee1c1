"""A plain design to simulate on: systems x intents x stimuli per cell, with reference coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import polars as pl

from heartfelt.errors import InputError

# Three intents a quadrant. The coordinates are round numbers chosen for simulation, not norms of these words.
INTENTS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        name: MappingProxyType({"valence": valence, "arousal": arousal})
        for name, valence, arousal in (
            ("joyful", 8.2, 7.2),
            ("thrilled", 7.4, 8.0),
            ("playful", 7.2, 6.4),
            ("furious", 2.4, 7.6),
            ("alarmed", 3.0, 7.0),
            ("tense", 3.6, 6.6),
            ("gloomy", 2.2, 3.2),
            ("lonely", 2.8, 3.6),
            ("weary", 3.6, 2.4),
            ("serene", 7.4, 2.6),
            ("tender", 7.8, 3.6),
            ("dreamy", 6.6, 2.8),
        )
    }
)
SYSTEMS = ("Sinewood", "Pluckbox", "Brassline", "Chipling")


def stimuli(
    systems: Sequence[str] = SYSTEMS,
    intents: Mapping[str, Mapping[str, float]] = INTENTS,
    *,
    per_cell: int = 14,
) -> pl.DataFrame:
    """``per_cell`` stimuli for every (system, intent), with the intent's coordinates in columns."""
    if per_cell < 1 or not systems or not intents:
        raise InputError(
            f"{len(systems)} systems, {len(intents)} intents and {per_cell} stimuli per cell make nothing.",
            "Give at least one of each.",
        )
    rows = [
        {"stimulus": f"{system}_{intent}_{number}", "system": system, "intent": intent, **coordinates}
        for system in systems
        for intent, coordinates in intents.items()
        for number in range(1, per_cell + 1)
    ]
    return pl.DataFrame(rows)
