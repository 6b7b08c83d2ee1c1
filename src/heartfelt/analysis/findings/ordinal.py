"""What the ordinal check of a question gives (``analysis.ordinal_check``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from heartfelt.analysis.findings.parts import OMIT, ByName, Df


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalCheck:
    """Whether the conclusions about systems hold where a scale is taken for ordered categories (cumulative logit model).

    ``f``, ``df`` and ``p`` test systems in that model, ``p_interval`` in the model of the ratings as numbers. Of ``pairs`` systems
    compared in both, ``pairs_alike`` have the same decision; ``changed`` names the others, and ``reversed`` those whose difference
    has the other sign. Without the check, ``why_missing`` says why.
    """

    outcome: str
    model: str
    n: int
    categories: int
    variances: ByName = field(default_factory=dict)
    df: Df | None = None
    f: float | None = field(default=None, metadata={"formerly": "F"})
    p: float | None = None
    p_interval: float | None = None
    pairs: int = 0
    pairs_alike: int = 0
    changed: tuple[tuple[str, str], ...] = ()
    reversed: tuple[tuple[str, str], ...] = ()
    method: str = ""
    notes: tuple[str, ...] = ()
    why_missing: str | None = field(default=None, metadata=OMIT)

    @property
    def agrees(self) -> bool:
        """Whether the test of systems has the same decision, and no pair changes both its decision and its sign."""
        if self.p is None or self.p_interval is None:
            return False
        same = (self.p < 0.05) == (self.p_interval < 0.05)
        return same and not (set(self.reversed) & set(self.changed))
