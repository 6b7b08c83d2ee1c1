"""Arms of a study in its analysis: raters of different arms are different people, so arms are compared between raters."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.wording import listed, plural

ARM = "arm"


def arm_sizes(snapshot: Snapshot) -> dict[str, int]:
    """Raters with ratings in each arm, in the order of the study; empty for a study without arms."""
    raters = snapshot.raters
    if not snapshot.study.design.arms or ARM not in raters.columns:
        return {}
    rated = raters.filter(pl.col("rater").is_in(snapshot.survey.raters))
    counts = dict(rated[ARM].drop_nulls().value_counts().iter_rows())
    return {arm.id: int(counts.get(arm.id, 0)) for arm in snapshot.study.design.arms}


def compared_arms(snapshot: Snapshot) -> str | None:
    """The column of the raters whose groups are compared if no other is named: the arms, where two have raters."""
    return ARM if sum(size > 0 for size in arm_sizes(snapshot).values()) > 1 else None


def arms_text(snapshot: Snapshot) -> Iterator[str]:
    """How raters came into arms, and how arms are compared."""
    sizes = arm_sizes(snapshot)
    if not sizes:
        return
    design = snapshot.study.design
    strata = f" within {listed(design.strata)}" if design.strata else ""
    named = listed([f"{name} ({plural(size, 'rater')})" for name, size in sizes.items()], 20)
    yield f"Each rater was assigned to the arm with the fewest raters{strata}, at random among equals: {named}."
    yield "Arms are compared between raters; all other figures pool them."
