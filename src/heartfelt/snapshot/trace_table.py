"""Traces under their contract: gaps are empty samples, and every trace fits its question's scale."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.study import Study
from heartfelt.study.set_scale import Trace
from heartfelt.tables import TRACES


def check_traces(traces: pl.DataFrame, study: Study, stimuli: Collection[str], where: str) -> pl.DataFrame:
    """The traces with gaps as empty samples, or an error that names the first one at fault."""
    sample = pl.element()
    gaps = pl.col("samples").list.eval(pl.when(sample.is_nan()).then(None).otherwise(sample))
    frame = TRACES.check(traces, where).with_columns(gaps)
    for name in frame["question"].unique(maintain_order=True):
        question_ids = [question.id for question in study.asked]
        if name not in question_ids:
            raise InputError(
                f"{where}: traces answer a question '{name}' the study does not ask.",
                suggestion(name, question_ids, "Questions"),
            )
        scale = study.scale_of(name)
        if not isinstance(scale, Trace):
            raise InputError(
                f"{where}: the question '{name}' has traces, but its scale is no trace.",
                "Give the question a scale of type 'trace', or leave its traces out.",
            )
        question_traces = frame.filter(pl.col("question") == name)
        samples = question_traces["samples"]
        off_scale = (samples.list.min() < scale.low - 1e-6) | (samples.list.max() > scale.high + 1e-6)
        if off_scale.fill_null(False).any():
            row = question_traces.row(int(off_scale.fill_null(False).arg_true()[0]), named=True)
            raise InputError(
                f"{where}: {off_scale.sum()} traces of '{name}' leave the scale; the first is by rater '{row['rater']}' on"
                f" stimulus '{row['stimulus']}'.",
                f"Samples lie between {scale.low:g} and {scale.high:g}; correct them, or state the scale used.",
            )
    strangers = set(frame["stimulus"].unique().to_list()) - set(stimuli)
    if strangers:
        raise InputError(
            f"{where}: {len(strangers)} stimuli with traces are not among the stimuli; the first is '{min(strangers)}'.",
            "Add them to the manifest, or remove their traces.",
        )
    return frame
