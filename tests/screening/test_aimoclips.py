"""The published AImoclips ratings: who carries no information, who runs in parallel, and that it is no accident."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.formats import FORMATS
from heartfelt.screening import Panel, screen
from heartfelt.snapshot import Snapshot

pytestmark = pytest.mark.data

NO_INFORMATION = {
    *("P1", "P6", "P16", "P19", "P28", "P29", "P31", "P37", "P42", "P43"),
    *("P45", "P49", "P62", "P78", "P80", "P90", "P100", "P106"),
}
GROUPS = {("P1", "P19"), ("P16", "P37"), ("P28", "P39", "P49"), ("P31", "P78"), ("P100", "P43"), ("P45", "P62")}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Snapshot:
    return FORMATS["aimoclips"].read(shared_data / "aimoclips", {"media": "none"})


@pytest.fixture(scope="module")
def panel(published: Snapshot) -> Panel:
    return screen(published)


def test_a_sizeable_minority_carries_no_information(panel: Panel) -> None:
    rows = panel.flags.filter((pl.col("rule") == "informativeness") & pl.col("flagged"))
    assert set(rows["rater"]) == NO_INFORMATION
    assert rows["value"].abs().max() < 0.2  # type: ignore[operator]  # correlations are numbers
    assert rows["p"].min() > 0.01  # type: ignore[operator]  # p-values are numbers


def test_some_run_in_parallel_about_different_clips(panel: Panel) -> None:
    assert set(panel.groups) == GROUPS
    pair = panel.pairs.filter((pl.col("rater") == "P45") & (pl.col("other") == "P62")).row(0, named=True)
    assert pair["correlation"] > 0.93
    assert pair["trials"] == 56
    assert set(panel.dropped) == NO_INFORMATION | {"P39"}


@pytest.mark.slow
def test_the_finding_does_not_hang_on_the_seed_or_the_limits(published: Snapshot, panel: Panel) -> None:
    for policy, seed in (("default", 1), ("default", 2), ("default, alpha=0.03", 3), ("default, alpha=0.1", 4)):
        again = screen(published, policy, seed=seed)
        assert set(again.groups) == GROUPS
        assert set(again.dropped) == set(panel.dropped)
    for posterior in (0.8, 0.95):
        settings = {"informativeness": {"posterior": posterior, "draws": 199}}
        other = screen(published, {"base": "default", "off": ["collusion"], "settings": settings})
        assert len(NO_INFORMATION ^ set(other.dropped)) <= 1


def test_the_same_clips_with_answers_in_any_order_show_nothing(published: Snapshot) -> None:
    """Each rater's trials in random order: no two raters run in parallel, and information is as before."""
    rng = np.random.default_rng(5)
    order = published.ratings.select("rater", "position").unique(maintain_order=True)
    new = [
        place
        for (n,) in order.group_by("rater", maintain_order=True).len().select("len").iter_rows()
        for place in (rng.permutation(n) + 1).tolist()
    ]
    shuffled = published.ratings.join(
        order.with_columns(place=pl.Series(new)), on=["rater", "position"], maintain_order="left"
    )
    ratings = shuffled.with_columns(position="place").drop("place")
    panel = screen(Snapshot.build(published.study, stimuli=published.stimuli, ratings=ratings))
    assert panel.groups == ()
    assert set(panel.dropped) == NO_INFORMATION


def test_ratings_agree_better_without_them(published: Snapshot, panel: Panel) -> None:
    for question in ("valence", "arousal"):
        before, after = (
            one_way(frame.filter(pl.col("question") == question)) for frame in (published.ratings, panel.ratings)
        )
        assert after > before + 0.08


def one_way(ratings: pl.DataFrame) -> float:
    """The one-way intraclass correlation of single ratings, from the analysis of variance."""
    groups = ratings.group_by("stimulus").agg(
        pl.len().alias("n"), pl.mean("value").alias("m"), pl.var("value").alias("v")
    )
    n, mean, variance = (groups[name].fill_null(0.0).to_numpy() for name in ("n", "m", "v"))
    total, k = n.sum(), groups.height
    between = (n * (mean - (n * mean).sum() / total) ** 2).sum() / (k - 1)
    within = ((n - 1) * variance).sum() / (total - k)
    n0 = (total - (n**2).sum() / total) / (k - 1)
    return float((between - within) / (between + (n0 - 1) * within))
