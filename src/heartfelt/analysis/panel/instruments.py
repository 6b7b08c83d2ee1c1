"""Questionnaires that score themselves: the distribution and internal consistency of every score, next to published norms."""

from __future__ import annotations

import polars as pl

from heartfelt.analysis.summary import InstrumentScore, NormFigures
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.instruments import item_numbers
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.internal_consistency import ALPHA, OMEGA, cronbach_alpha, mcdonald_omega
from heartfelt.study.parts.instrument import score_column

_NO_ANSWERS = "the answers to its items are not in the data"


def instrument_scores(snapshot: Snapshot) -> tuple[InstrumentScore, ...]:
    """Every score of the raters who rated something."""
    study = snapshot.study
    raters = snapshot.raters.filter(pl.col("rater").is_in(snapshot.survey.raters))
    out = []
    for key, instrument in study.instruments.items():
        numbers = item_numbers(study, raters, key)
        for subscale, rule in instrument.subscales.items():
            column = score_column(key, subscale)
            if column not in raters.columns:
                continue
            # A release may give scores in bands, or leave answers out.
            scores = raters[column].cast(pl.Float64, strict=False).drop_nulls()
            items = numbers.select(rule.items)
            alpha = Estimate.missing(_NO_ANSWERS, ALPHA)
            omega = Estimate.missing(_NO_ANSWERS, OMEGA)
            if all(count < items.height for count in items.null_count().row(0)):
                answers = items.to_numpy()
                alpha, omega = cronbach_alpha(answers), mcdonald_omega(answers)
            out.append(
                InstrumentScore(
                    instrument=instrument.name,
                    score=rule.name or subscale,
                    column=column,
                    items=len(rule.items),
                    raters=scores.len(),
                    missing=raters.height - scores.len(),
                    mean=_number(scores.mean()),
                    sd=_number(scores.std()),
                    alpha=alpha,
                    omega=omega,
                    norms=tuple(
                        NormFigures(
                            population=norm.population, mean=norm.mean, sd=norm.sd, n=norm.n, source=norm.source
                        )
                        for norm in rule.norms
                    ),
                )
            )
    return tuple(out)


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
