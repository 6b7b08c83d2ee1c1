"""A snapshot without its probes: stimuli that test the rater belong to screening, and to nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from heartfelt.snapshot.snapshot import Snapshot

STAGE = "probes"


def probe_counts(snapshot: Snapshot) -> pl.DataFrame:
    """``stimulus, reason, ratings`` of every stimulus of the snapshot that the study sets aside as a probe."""
    schema = {"stimulus": pl.String, "reason": pl.String, "ratings": pl.Int64}
    aside = snapshot.study.set_aside
    present = [name for name in snapshot.stimuli["stimulus"].to_list() if name in aside] if aside else []
    if not present:
        return pl.DataFrame(schema=schema)
    counted = (
        snapshot.scan_ratings().filter(pl.col("stimulus").is_in(present)).group_by("stimulus").len("ratings")
    )
    table = pl.DataFrame(
        {"stimulus": present, "reason": [aside[name] for name in present]},
        schema={"stimulus": pl.String, "reason": pl.String},
    )
    joined = table.join(counted.collect(), on="stimulus", how="left", maintain_order="left")
    return joined.with_columns(pl.col("ratings").fill_null(0).cast(pl.Int64))


def without_probes(snapshot: Snapshot) -> Snapshot:
    """The snapshot without probe stimuli and their ratings, with a row per stimulus in its ledger; itself without any."""
    from heartfelt.snapshot.snapshot import Snapshot

    probes = probe_counts(snapshot)
    if not probes.height:
        return snapshot
    gone = probes["stimulus"].to_list()
    stays = ~pl.col("stimulus").is_in(gone)
    rows = probes.select(
        pl.lit("stimulus").alias("what"),
        pl.lit(None, dtype=pl.String).alias("rater"),
        "stimulus",
        pl.lit(None, dtype=pl.String).alias("question"),
        pl.format("{}: used for screening raters only", "reason").alias("reason"),
        pl.lit(STAGE).alias("stage"),
        "ratings",
    )
    ledger = pl.concat([snapshot.ledger, rows], how="diagonal") if snapshot.ledger.height else rows
    kept = snapshot.scan_ratings().filter(stays)
    return Snapshot.build(
        snapshot.study,
        stimuli=snapshot.stimuli.filter(stays),
        ratings=kept if snapshot.ratings_file is not None else kept.collect(),
        raters=snapshot.raters,
        source=snapshot.source,
        items=snapshot.table("items").filter(stays),
        fields=snapshot.fields.filter(stays),
        means=snapshot.means.filter(stays),
        ledger=ledger,
    )
