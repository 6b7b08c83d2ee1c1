"""Where the stimuli of a release come from: model, version, licence and day, as the table of stimuli states them."""

from __future__ import annotations

import polars as pl

from heartfelt.publishing.release.release import Release
from heartfelt.report.layout.markup import Grid, one_line
from heartfelt.wording import plural

COLUMNS = ("system", "model", "revision", "licence", "licence_url", "generated_on")
_NOT_STATED = "not stated"


def _origins(release: Release) -> pl.DataFrame:
    """Every combination of the columns that the stimuli have, with the number of stimuli; empty without a model or licence."""
    stimuli = release.snapshot.stimuli
    columns = [name for name in COLUMNS if name in stimuli.columns]
    stated = [name for name in columns if name != "system" and stimuli[name].null_count() < stimuli.height]
    if not stated:
        return pl.DataFrame()
    texts = stimuli.select(pl.col(name).cast(pl.String) for name in columns if name in {"system", *stated})
    return texts.group_by(texts.columns).len("stimuli").sort(texts.columns, nulls_last=True)


def provenance_grid(release: Release) -> Grid:
    """The systems with model, version, licence and day of what they made."""
    origins = _origins(release)
    rows = tuple(
        tuple(
            value if name == "stimuli" else one_line(str(value)) if value is not None else _NOT_STATED
            for name, value in row.items()
        )
        for row in origins.iter_rows(named=True)
    )
    columns = tuple(name.replace("_", " ") for name in origins.columns)
    return Grid(name="provenance", caption="Where the stimuli come from", columns=columns, rows=rows)


def origin_sentences(release: Release) -> tuple[str, ...]:
    """The same in words: ``Suno: model chirp, revision v4.5, licence CC BY 4.0 (12 stimuli)``."""
    out = []
    for row in _origins(release).iter_rows(named=True):
        count, system = row.pop("stimuli"), row.pop("system", None)
        parts = [f"{name.replace('_', ' ')} {one_line(str(value))}" for name, value in row.items() if value is not None]
        words = ", ".join(parts) or "nothing is stated"
        out.append(f"{one_line(str(system or 'unnamed'))}: {words} ({plural(count, 'stimulus', 'stimuli')})")
    return tuple(out)


def file_licences(release: Release) -> tuple[str, ...]:
    """The licences that the table of stimuli states for single files, with how many stimuli each holds for."""
    stimuli = release.snapshot.stimuli
    if "licence" not in stimuli.columns or stimuli["licence"].null_count() == stimuli.height:
        return ()
    names = [name for name in ("licence", "licence_url") if name in stimuli.columns]
    counts = stimuli.select(pl.col(name).cast(pl.String) for name in names).group_by(names).len("stimuli")
    out = []
    for row in counts.sort(names, nulls_last=True).iter_rows(named=True):
        words = one_line(row["licence"]) if row["licence"] is not None else "no licence stated"
        address = f", {one_line(row['licence_url'])}" if row.get("licence_url") else ""
        out.append(f"{words}{address}: {plural(row['stimuli'], 'stimulus', 'stimuli')}")
    return tuple(out)
