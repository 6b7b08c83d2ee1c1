"""The reference of each stimulus: the undistorted original that some predictors compare it with.

In this order: what the column ``reference`` of the stimuli names (a stimulus, or a file below the media folder); the stimulus that
was the hidden reference where it was rated; the reference of its set, by the study's rule for sets. A stimulus with several
references has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark
from heartfelt.snapshot import Snapshot
from heartfelt.study.parts.sets import make_sets


def references_of(source: Snapshot | Benchmark) -> Mapping[str, str]:
    """The path of each stimulus's reference, relative to the media folder, where one is known."""
    stimuli = source.stimuli
    paths = dict(stimuli.select("stimulus", "path").drop_nulls().iter_rows()) if "path" in stimuli.columns else {}
    named = {
        **_single(pair for pairs in (_by_rule(source), _rated(source)) for pair in pairs),
        **_single(_column(stimuli)),
    }
    return {stimulus: paths.get(name, name) for stimulus, name in named.items()}


def _single(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    named: dict[str, set[str]] = {}
    for stimulus, reference in pairs:
        named.setdefault(stimulus, set()).add(reference)
    return {stimulus: names.pop() for stimulus, names in named.items() if len(names) == 1}


def _column(stimuli: pl.DataFrame) -> Iterable[tuple[str, str]]:
    if "reference" not in stimuli.columns:
        return []
    return stimuli.select("stimulus", pl.col("reference").cast(pl.String)).drop_nulls().iter_rows()


def _rated(source: Snapshot | Benchmark) -> Iterable[tuple[str, str]]:
    if isinstance(source, Benchmark):
        return []
    ratings = source.scan_ratings()
    columns = set(ratings.collect_schema().names())
    together = ["set"] if "set" in columns else ["rater", "trial"]
    if not {"role", *together} <= columns:
        return []
    rows = ratings.select(*together, "stimulus", "role").drop_nulls(together).unique()
    hidden = rows.filter(pl.col("role") == "hidden-reference").select(*together, pl.col("stimulus").alias("reference"))
    both = rows.join(hidden, on=together, maintain_order="left").select("stimulus", "reference").unique()
    return both.sort("stimulus", "reference").collect().iter_rows()


def _by_rule(source: Snapshot | Benchmark) -> Iterable[tuple[str, str]]:
    sets = source.study.sets
    if sets is None or sets.reference is None or sets.rule == "table":
        return
    systems = dict(source.stimuli.select("stimulus", "system").iter_rows())
    try:
        groups = make_sets(sets, source.stimuli.to_dicts(), (), source.study.seed).sets
    except InputError:
        return  # the rule is for the whole study: a part of its stimuli may make no set
    for group in groups:
        references = [name for name in group.stimuli if systems[name] == sets.reference]
        yield from ((name, reference) for name in group.stimuli for reference in references)
