"""What can be assigned: units with their cells and blocks, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Layout:
    """The units of a study and the rules of its design. A unit is a stimulus with its questions, or one item."""

    size: int
    """One more than the highest unit number."""
    units: Sequence[int]
    """Units that raters get in the ordinary way."""
    quota: int
    cell: Mapping[int, int] = field(default_factory=dict)
    """The combination a rater meets at most once, by unit; empty if the design has no such rule."""
    block: Mapping[int, int] = field(default_factory=dict)
    """The block or the condition of a unit; empty if order does not go by one."""
    order: Literal["random", "blocks", "latin-square", "manifest"] = "random"
    lease: float = 180.0
    adaptive: bool = False
    minimum: int = 1
    spans: Mapping[str, float] = field(default_factory=dict)
    """In an adaptive study, the range of each question with an order; 0 for one whose codes are only names."""

    @property
    def levels(self) -> int:
        """Ratings a unit gets before anything but the count decides."""
        return min(self.minimum, self.quota) if self.adaptive else self.quota

    @property
    def conditions(self) -> int:
        """How many blocks or conditions there are."""
        return len(set(self.block.values()))

    @property
    def most(self) -> int:
        """Ordinary trials one rater can get at most."""
        return len(set(self.cell.values())) if self.cell else len(self.units)
