"""The runs of a leaderboard: folders that hold ``scores.json``, and what models said in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.report.bench.told import FILE, Told
from heartfelt.report.bench.write import ITEMS, PAGE

_COLUMNS = {
    "task": pl.String, "model": pl.String, "stimulus": pl.String, "question": pl.String, "truth": pl.Float64,
    "said": pl.Float64,
}  # fmt: skip
_FURTHER = {"counted": pl.Float64, "system": pl.String}


@dataclass(frozen=True, slots=True, eq=False)
class BenchRun:
    """One run: its name on the site, what it tells, and its items beside their labels where those are at hand."""

    name: str
    folder: Path
    told: Told
    items: pl.DataFrame
    why_no_items: str | None = None
    why_answered_only: str | None = None
    """Set where the run's file does not say what failures count as: its pairs are then compared on answered items."""

    @property
    def report(self) -> Path | None:
        """The run's own page, where it has one."""
        page = self.folder / PAGE
        return page if page.is_file() else None


def find_runs(folder: Path, without: Path | None = None) -> list[BenchRun]:
    """Every run below a folder, by path; what lies in ``without`` (the site itself) is no run."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Point to a folder that holds benches.")
    found = [
        path
        for path in sorted(folder.rglob(FILE))
        if (without is None or not path.resolve().is_relative_to(without.resolve()))
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise InputError(f"No bench lies below {folder}.", "Make one with heartfelt bench … --out DIR.")
    return [_read(path, folder) for path in found]


def _read(path: Path, folder: Path) -> BenchRun:
    home = path.parent
    name = home.relative_to(folder).as_posix() if home != folder else folder.resolve().name
    told = Told.read(path)
    try:
        table = pl.read_parquet(home / ITEMS)
        known = {
            name: kind
            for name, kind in {**_COLUMNS, **_FURTHER}.items()
            if name in {*_COLUMNS, *table.columns}
        }
        items = table.select(list(known)).cast(known)  # type: ignore[arg-type]  # polars' own alias is narrower
    except (OSError, pl.exceptions.PolarsError):
        nothing = pl.DataFrame(schema=_COLUMNS)
        return BenchRun(name, home, told, nothing, f"{name} has no readable {ITEMS}")
    if "counted" not in items.columns:
        why = f"{name} was scored by an earlier version: its pairs are compared on answered items; score it again"
        return BenchRun(name, home, told, items, why_answered_only=why)
    return BenchRun(name, home, told, items)
