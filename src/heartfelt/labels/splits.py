"""Splits: which part of a benchmark a stimulus belongs to, decided by a keyed hash of its group.

The hash of (seed, grouping, group) is a number between 0 and 1; the shares, placed end to end, decide which part it
falls into. So a group is never divided between parts, the order of rows does not matter, and stimuli added later
never move those that were there. The shares are met on average over groups: with few groups (six systems) a part may
be far from its share, or empty, and ``fixed`` can name the groups to hold out instead.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import polars as pl

from heartfelt.errors import InputError, suggestion

SHARES = {"train": 0.7, "dev": 0.15, "test": 0.15}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions:
    """How to split: by which column of the stimuli, into which shares or how many folds.

    ``by`` is ``stimulus``, ``system``, ``prompt``, ``intent`` or any column of the stimuli. ``folds`` are equal parts
    called ``fold_1`` and so on, and take the place of ``shares``. ``fixed`` puts named groups into a part whatever
    their hash.
    """

    by: str = "stimulus"
    shares: Mapping[str, float] = field(default_factory=lambda: dict(SHARES))
    folds: int | None = None
    seed: int = 0
    fixed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.folds is not None:
            if self.folds < 2:
                raise InputError(f"A split needs at least two folds, not {self.folds}.", "Ask for two or more folds.")
            names = [f"fold_{at}" for at in range(1, self.folds + 1)]
            object.__setattr__(self, "shares", dict.fromkeys(names, 1 / self.folds))
        shares = {str(name): float(share) for name, share in self.shares.items()}
        total = math.fsum(shares.values())
        if not shares or not all(share > 0 for share in shares.values()) or abs(total - 1) > 1e-9:
            raise InputError(
                f"The shares of a split must be above 0 and add up to 1; these add up to {total:g}.",
                'Use shares such as {"train": 0.7, "dev": 0.15, "test": 0.15}.',
            )
        unknown = sorted(set(self.fixed.values()) - shares.keys())
        if unknown:
            raise InputError(f"The split has no part '{unknown[0]}'.", suggestion(unknown[0], shares, "Parts"))
        object.__setattr__(self, "shares", MappingProxyType(shares))
        object.__setattr__(self, "fixed", MappingProxyType(dict(self.fixed)))

    def part_of(self, group: str) -> str:
        """The part a group belongs to."""
        if group in self.fixed:
            return self.fixed[group]
        text = "\x1f".join(["heartfelt-split 1", str(int(self.seed)), self.by, group])
        fraction = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
        # Shares are placed end to end; rounding may leave a gap at 1, which the last part takes.
        reached = 0.0
        for name, share in self.shares.items():
            reached += share
            if fraction < reached:
                return name
        return list(self.shares)[-1]

    def to_json(self) -> dict[str, object]:
        """Plain data for a manifest; the order of the shares is part of it."""
        return {
            "by": self.by,
            "shares": [[name, share] for name, share in self.shares.items()],
            "folds": self.folds,
            "seed": self.seed,
            "fixed": dict(sorted(self.fixed.items())),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SplitOptions:
        """The options a manifest holds."""
        shares = {str(name): float(share) for name, share in data["shares"]}
        return cls(by=data["by"], shares=shares, folds=data["folds"], seed=data["seed"], fixed=data["fixed"])


def groups_of(stimuli: pl.DataFrame, by: str) -> pl.DataFrame:
    """``stimulus, group``: stimuli of one group stay in one part.

    A stimulus without a value is a group of its own, under a name no value can have.
    """
    if by not in stimuli.columns:
        raise InputError(
            f"The stimuli have no column '{by}' to split by.", suggestion(by, stimuli.columns, "They have")
        )
    alone = pl.concat_str(pl.lit("\x00stimulus "), pl.col("stimulus"))
    group = pl.col("stimulus") if by == "stimulus" else pl.col(by).cast(pl.String).fill_null(alone)
    return stimuli.select("stimulus", group.alias("group"))


def assigned(groups: pl.DataFrame, split: SplitOptions) -> pl.DataFrame:
    """``stimulus, group, split``: the part of every stimulus."""
    names = groups["group"].unique().sort().to_list()
    unknown = sorted(set(split.fixed) - set(names))
    if unknown:
        raise InputError(
            f"No stimulus has '{unknown[0]}' as its {split.by}, so it cannot be put into a part.",
            suggestion(unknown[0], names[:50], "There are"),
        )
    parts = {name: split.part_of(name) for name in names}
    part = pl.col("group").replace_strict(parts, return_dtype=pl.String) if parts else pl.col("group")
    return groups.with_columns(part.alias("split"))
