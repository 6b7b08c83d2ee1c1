"""Which model made some predictions: a name for people, and a version and a hash for those who want the same one again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True, slots=True)
class PredictorInfo:
    """One predictor as it was run."""

    spec: str
    """The text it was asked for with."""
    display_name: str
    """A short name for tables and figures."""
    predictor: str
    """The registered predictor."""
    model: str | None = None
    """The model behind it: its name on a hub or a server, its own name, or its file."""
    version: str | None = None
    """The version of that model, where one is known."""
    hash: str | None = None
    """SHA-256 of the weights, the folder or the file, where they are at hand."""

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is unknown is null."""
        return asdict(self)


def distinct_names(infos: Sequence[PredictorInfo]) -> list[str]:
    """The display names in order; where two are alike, both get what tells them apart: their folder, else their whole spec."""
    names = [info.display_name for info in infos]
    twice = {name for name, count in Counter(names).items() if count > 1}
    longer = [
        f"{name} ({PurePath(info.model or info.spec).parent.name or info.spec})" if name in twice else name
        for name, info in zip(names, infos, strict=True)
    ]
    still = {name for name, count in Counter(longer).items() if count > 1}
    return [
        f"{info.display_name} ({info.spec})" if name in still else name
        for name, info in zip(longer, infos, strict=True)
    ]
