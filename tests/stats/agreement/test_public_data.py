from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.stats.agreement import alpha, cohen_kappa, fleiss_kappa

SOURCE = "krippendorff.alpha on the public AIMoClips ratings as a matrix of raters by clips"


@pytest.mark.data
@pytest.mark.peer
@pytest.mark.parametrize("question", ["valence", "arousal"])
def test_ratings_of_generated_music(shared_data: Path, question: str) -> None:
    peer = pytest.importorskip("krippendorff")
    rows = pl.read_csv(shared_data / "aimoclips" / "ratings_metadata.csv")
    table = rows.pivot(on="audio_file", index="user", values=question).drop("user").to_numpy().astype(float)
    columns = rows["user"], rows["audio_file"], rows[question]
    for level in ("interval", "ordinal", "nominal", "ratio"):
        result = alpha(*columns, level)
        assert result.value == pytest.approx(peer.alpha(table, level_of_measurement=level), abs=1e-12), SOURCE
        assert dict(result.counts) == {"ratings": 6162, "items": 991, "raters": 111}
        # People differ: an interval that takes them as given is far too sure of itself.
        given = alpha(*columns, level, resample="items")
        assert result.high - result.low > 1.3 * (given.high - given.low)  # type: ignore[operator] # none is missing


@pytest.mark.data
def test_pairs_who_share_few_clips_pull_kappa_down(shared_data: Path) -> None:
    rows = pl.read_csv(shared_data / "aimoclips" / "ratings_metadata.csv")
    columns = rows["user"], rows["audio_file"], rows["valence"] > 5
    pairs = cohen_kappa(*columns)
    assert float(pairs.mean) < float(cohen_kappa(*columns, at_least=5).mean) < float(fleiss_kappa(*columns))
