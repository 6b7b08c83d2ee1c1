"""Set-level metrics: how far each system's stimuli lie from a reference set, and whether people's system means follow.

``fad`` and ``fid`` are the Fréchet distance, ``kad`` and ``kid`` kernel distances (:mod:`heartfelt.stats.groups.set_distance`). The
reference is a folder or data, a system (``system=NAME``), or for each system the stimuli of all others (``leave-one-out``).
*Closeness*, minus the distance, is correlated over systems with people's means, next to the ceiling over systems
(:mod:`heartfelt.stats.ceilings.ceiling_over_systems`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.errors import InputError, require, suggestion
from heartfelt.formats.format import read_with
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.progress import Progress, no_progress
from heartfelt.representation import ShortRepr
from heartfelt.scoring.options import LEAVE_ONE_OUT, DistanceOptions
from heartfelt.scoring.set_distances.closeness import Closeness, RatedSystemMean, with_people
from heartfelt.scoring.set_distances.stimulus_sets import (
    Embedded,
    ExcludedFiles,
    Reader,
    check_media,
    embed_files,
    embedding_from,
    group_column,
    is_data,
    outside_systems,
    reference_files,
    scaler,
    stimulus_groups,
    system_files,
)
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.set_distance import (
    FEWEST,
    Groups,
    Kernel,
    frechet_distance,
    kernel_distance,
    median_distance,
)
from heartfelt.wording import plural

USUAL = {"audio": ("fad", "kad"), "image": ("fid", "kid")}
FRECHET = ("fad", "fid")
KERNELS: Mapping[str, Kernel] = {"kad": "gaussian", "kid": "cubic"}
OF_SYSTEM = "system="
FEW_SYSTEMS = 10
IN_BOTH = "it is in the reference set and among the evaluated stimuli; left out of the reference set"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDistance:
    """One distance of one system; ``uncorrected`` is what is published as a rule, biased by the number of stimuli."""

    metric: str
    system: str
    stimuli: int
    reference: int
    distance: Estimate
    uncorrected: Estimate

    @property
    def fewest(self) -> int:
        """Stimuli of the smaller of the two sets."""
        return min(self.stimuli, self.reference)

    @property
    def removed(self) -> float | None:
        """The share of the uncorrected distance that the correction took off as bias."""
        if self.distance.value is None or not self.uncorrected.value:
            return None
        return 1 - self.distance.value / self.uncorrected.value


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SystemDistances(ShortRepr):
    """Distances by system, people's means, their correlations, and what was left out."""

    source: str
    embedding: str
    dimensions: int
    reference: str
    systems: tuple[SystemDistance, ...]
    means: tuple[RatedSystemMean, ...]
    closeness: tuple[Closeness, ...]
    notes: tuple[str, ...] = ()
    ledger: pl.DataFrame = field(metadata={"skip": True})

    def table(self) -> pl.DataFrame:
        """One row per system and metric."""
        rows = [
            {
                "metric": row.metric,
                "system": row.system,
                "distance": row.distance.value,
                "low": row.distance.low,
                "high": row.distance.high,
                "uncorrected": row.uncorrected.value,
                "stimuli": row.stimuli,
                "reference": row.reference,
                "method": row.distance.method,
                "why": row.distance.why_missing or row.distance.why_no_interval,
            }
            for row in self.systems
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def distances(
    source: Snapshot | Path,
    options: DistanceOptions,
    progress: Progress | None = None,
    *,
    read: Reader = read_with,
    cache: FeatureCache | None = None,
) -> SystemDistances:
    """The distances of every system's stimuli from the reference set, and their correlation with people's means.

    ``source`` is a snapshot, or a folder with a subfolder per system; ``read`` makes a snapshot of what a path names.
    """
    embedding = embedding_from(options.embedding)
    if isinstance(source, Path) and source.exists() and is_data(source):
        source = read(source, None, {}, progress)
    if isinstance(source, Path) and options.questions:
        raise InputError(
            f"{source} has no ratings to correlate with {', '.join(options.questions)}.",
            "Leave out the question, or give a study, a snapshot or published data.",
        )
    files = system_files(source, progress, read)
    chosen, reference_source = _reference(options.reference, list(files))
    outside = None if reference_source is None else reference_files(reference_source, progress, read)
    check_media(embedding, {k: v for part in files.values() for k, v in part.items()}, "the source")
    if outside is not None:
        check_media(embedding, outside, f"the reference set {options.reference}")
    ledger = ExcludedFiles()
    ledger.add_all(_outside_systems(source, files))
    sets = {name: embed_files(part, embedding, ledger, progress, cache) for name, part in files.items()}
    reference = embed_files(outside, embedding, ledger, progress, cache) if outside is not None else sets.get(chosen)
    empty = [name for name, embedded in sets.items() if not embedded.names]
    if len(empty) == len(sets) or (reference is not None and not reference.names):
        first = ledger.rows[0]["reason"] if ledger.rows else "no files"
        raise InputError(f"No file could be embedded: {first}.", "Check the media files.")
    evaluated = {name: embedded for name, embedded in sets.items() if name != chosen and name not in empty}
    pairs = _pairs(evaluated, reference, ledger)
    references = [] if reference is None else [next(iter(pairs.values()))[1].rows]
    pooled = np.vstack([*(part.rows for part in evaluated.values()), *references])
    basis = references[0] if references else pooled
    require(len(basis) >= 3, f"The reference set has {len(basis)} stimuli.", "Give at least 3, better hundreds.")
    scale = scaler(embedding, pooled, options.components)
    metrics = tuple(dict.fromkeys(options.metrics)) or USUAL.get(embedding.media, ("fad", "kad"))
    group = group_column(source, options.group)
    groups = stimulus_groups(source, group, pairs, shared=reference_source is None)
    rows = _system_distances(pairs, groups, scale, median_distance(scale(basis)), metrics, options, progress)
    means, closeness = _with_people(source, rows, evaluated, options)
    dimensions = embedding.size if options.components is None else options.components
    notes = [f"Stimuli of one {group} belong together and are left out together."] if group else []
    notes += [*_notes(rows, dimensions, len(ledger.rows)), *(f"{name} has no file to embed." for name in empty)]
    if closeness and len(evaluated) < FEW_SYSTEMS:
        notes.append(f"{len(evaluated)} systems: a correlation over so few is uncertain, whatever its value.")
    return SystemDistances(
        source=source.name if isinstance(source, Path) else source.source.name,
        embedding=options.embedding,
        dimensions=dimensions,
        reference=options.reference if reference_source is None else reference_source.name,
        systems=tuple(rows),
        means=means,
        closeness=closeness,
        notes=tuple(notes),
        ledger=ledger.table(),
    )


def _outside_systems(source: Snapshot | Path, systems: Container[str]) -> dict[str, str]:
    """What the source holds that belongs to no system, with the reason it is left out."""
    if isinstance(source, Path):
        return outside_systems(source, systems)
    return dict.fromkeys(source.stimuli.filter(pl.col("system").is_null())["stimulus"], "it has no system")


def _with_people(
    source: Snapshot | Path, rows: Sequence[SystemDistance], evaluated: Mapping[str, Embedded], options: DistanceOptions
) -> tuple[tuple[RatedSystemMean, ...], tuple[Closeness, ...]]:
    """People's means by system and their correlations with closeness, where the source has ratings."""
    if isinstance(source, Path):
        return (), ()
    distances: dict[str, dict[str, float | None]] = {}
    for row in rows:
        distances.setdefault(row.metric, {})[row.system] = row.distance.value
    stimuli = {name: part.names for name, part in evaluated.items()}
    return with_people(source, stimuli, distances, options.questions, options.confidence, options.seed)


def _reference(spec: str, systems: Sequence[str]) -> tuple[str, Path | None]:
    """The system that is the reference, or the path that holds it; neither where each system has the others."""
    if spec == LEAVE_ONE_OUT:
        require(
            len(systems) > 1,
            f"There is one system, {systems[0]}, so no others to be its reference.",
            "Name a reference set.",
        )
        return "", None
    if not spec.startswith(OF_SYSTEM):
        return "", Path(spec)
    name = spec.removeprefix(OF_SYSTEM)
    if name not in systems:
        raise InputError(f"There is no system '{name}'.", suggestion(name, systems, "Systems"))
    require(len(systems) > 1, f"{name} is the only system.", "Name another reference set.")
    return name, None


def _pairs(
    evaluated: Mapping[str, Embedded], reference: Embedded | None, ledger: ExcludedFiles
) -> dict[str, tuple[Embedded, Embedded]]:
    """Every system's set with its reference set; files in both are left out of the reference."""
    if reference is not None:
        reference, shared = reference.without(digest for part in evaluated.values() for digest in part.hashes)
        ledger.add_all(dict.fromkeys(shared, IN_BOTH))
        require(
            bool(reference.names),
            "Every file of the reference set is among the evaluated stimuli.",
            "Name another reference set.",
        )
        return {name: (part, reference) for name, part in evaluated.items()}
    out = {}
    for name, part in evaluated.items():
        pooled = Embedded.of([embedded for system, embedded in evaluated.items() if system != name])
        pooled, shared = pooled.without(part.hashes)
        reason = f"its content is that of a stimulus of {name}; left out of the reference set of {name}"
        ledger.add_all(dict.fromkeys(shared, reason))
        out[name] = part, pooled
    return out


def _system_distances(
    pairs: Mapping[str, tuple[Embedded, Embedded]],
    groups: Mapping[str, Groups],
    scale: Callable[[Floats], Floats],
    bandwidth: float,
    metrics: Sequence[str],
    options: DistanceOptions,
    progress: Progress | None,
) -> list[SystemDistance]:
    """Every distance of every system; all share one scaling and one bandwidth."""
    report, out = progress or no_progress, []
    frechet = partial(frechet_distance, confidence=options.confidence, seed=options.seed)
    kernel = partial(kernel_distance, bandwidth=bandwidth, confidence=options.confidence)
    for metric in metrics:
        for done, (system, (part, reference)) in enumerate(pairs.items(), 1):
            x, y, grouped = scale(part.rows), scale(reference.rows), groups.get(system)
            if metric in FRECHET:
                distance = frechet(x, y, groups=grouped, correction=options.correction)
                uncorrected = frechet(x, y, groups=grouped, correction="none")
            else:
                distance = kernel(x, y, groups=grouped, kernel=KERNELS[metric])
                uncorrected = Estimate.missing("the estimate is unbiased as it is", distance.method)
            counts = {"stimuli": len(x), "reference": len(y)}
            out.append(
                SystemDistance(metric=metric, system=system, distance=distance, uncorrected=uncorrected, **counts)
            )
            report(f"computing {metric}", done, len(pairs))
    return out


def _notes(rows: Sequence[SystemDistance], dimensions: int, left_out: int) -> list[str]:
    """What a reader should know about the distances."""
    out = []
    if left_out:
        out.append(f"{plural(left_out, 'row')} in the ledger: files left out, and why.")
    for metric in dict.fromkeys(row.metric for row in rows if row.metric in FRECHET):
        of_metric = [row for row in rows if row.metric == metric and row.fewest <= dimensions]
        small = [(row.fewest, row.removed) for row in of_metric if row.removed is not None]
        if small:
            fewest, removed = min(count for count, _ in small), [share for _, share in small]
            out.append(
                f"{metric}: {fewest:,} stimuli in {dimensions:,} dimensions. The correction removed {min(removed):.0%} to"
                f" {max(removed):.0%} of the uncorrected distances as bias, and some remains: more stimuli than dimensions are"
                f" needed, or fewer dimensions (for example {plural(max(min(fewest // 5, 20), 1), 'component')})."
            )
    few = sorted({row.system for row in rows if row.fewest < FEWEST})
    if few:
        out.append(f"Fewer than {FEWEST} stimuli, too few for an interval: {', '.join(few)}.")
    return out
