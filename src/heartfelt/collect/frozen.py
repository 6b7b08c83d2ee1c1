"""What a study folder has collected, as a snapshot, whether or not somebody is serving it."""

from __future__ import annotations

from pathlib import Path

from heartfelt.collect.collection import Collection
from heartfelt.collect.store.database import find_database
from heartfelt.errors import InputError
from heartfelt.formats.manifest import is_study, open_study
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study import load_study


def has_collected(folder: Path | str) -> bool:
    """Whether a folder is a study that a store belongs to: a file in it, or a database it names."""
    home = Path(folder)
    if not is_study(home):
        return False
    source = find_database(home, None, load_study(home).database)
    return source.exists() if isinstance(source, Path) else True


def collected_snapshot(folder: Path | str, progress: Progress | None = None) -> Snapshot:
    """Freeze what was collected for the study in ``folder`` up to now. A server that runs is not disturbed.

    The ratings of raters whom a researcher left out stay in the store; the snapshot's ledger says who they are.
    """
    home = Path(folder)
    if is_study(home) and not has_collected(home):
        raise InputError(
            f"{home} has collected nothing yet.", "Start with 'heartfelt serve DIR' and let raters come."
        )
    with Collection.of(open_study(home, progress)) as collection:
        return collection.snapshot(excluded=False)


def snapshots_holding(folder: Path | str, rater: str) -> list[Path]:
    """Snapshots in the study's folder that still hold a rater: frozen before they were erased, and not changed since."""
    import polars as pl

    return [
        path.parent
        for path in sorted(Path(folder).glob("snapshots/*/raters.parquet"))
        if pl.scan_parquet(path).filter(pl.col("rater") == rater).select(pl.len()).collect().item()
    ]
