"""Texts: BLEU, ROUGE-L, CIDEr-D and BERTScore against what raters wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from heartfelt.errors import HeartfeltError
from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.scoring.measurement.measure import Marked, MetricMeasurer, mean_of
from heartfelt.scoring.measurement.sheet import PredictionSheet
from heartfelt.scoring.results.details import TextDetails
from heartfelt.scoring.results.metrics import ChanceLevel
from heartfelt.scoring.results.scores import ModelScore
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.texts.text import bleu, cider, lexical, rouge_l
from heartfelt.streams import stream

BLEU_RESAMPLES = 2000
Texts = tuple[list[str], list[Sequence[str]]]
"""Candidates, and the references of each."""


def texts(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """The caption metrics, an empty text where the model failed. BLEU belongs to the corpus, the others are means over items."""
    answers = zip(sheet.rows["answer"].to_list(), sheet.answered.tolist(), strict=True)
    predicted = [(text or "") if ok else "" for text, ok in answers]
    references: list[Sequence[str]] = [measure.truth.texts[key] for key in sheet.rows.select(ITEM).iter_rows()]
    rows = np.flatnonzero(sheet.answered).tolist()
    answered = [predicted[row] for row in rows], [references[row] for row in rows]
    # For every item another item, each once.
    order = stream(measure.options.seed, "score", "dealt texts").permutation(len(predicted))
    dealt = np.empty(len(predicted), np.int64)
    dealt[order] = np.roll(order, 1)
    bert_score, why_no_bert = _bert_score()
    metrics: dict[str, Callable[..., Floats] | None] = {"cider": cider, "rouge_l": rouge_l, "bert_score": bert_score}
    scores, by_item = [], {}
    for name, compute in metrics.items():
        values, full, blind = (np.full(len(predicted), np.nan), np.zeros(len(predicted)), np.zeros(len(predicted)))
        if rows and compute is not None:
            values[rows] = compute(*answered)
            full = compute(predicted, references)
            blind = compute([predicted[row] for row in dealt.tolist()], references)
        by_item[name] = full
        why_none = why_no_bert if compute is None else _why_none(name, len(rows))
        chance = ChanceLevel(float(blind.mean()), "its own texts assigned to other items", blind)
        pairing = mean_of(name, values, full, why_none, chance if len(predicted) > 1 else None)
        scores.append(measure.score(sheet, pairing))
    scores += [_bleu(sheet, measure, order, answered, (predicted, references)) for order in (1, 4)]
    people = lexical([text for item_references in references for text in item_references])
    return Marked(
        scores=scores,
        details=TextDetails(lexical(answered[0]), people),
        predicted=by_item["cider"],
        fallback=by_item["cider"],
        sliced={},
    )


def _why_none(metric: str, answered: int) -> str | None:
    if not answered:
        return "no text was given"
    return "a single item: nothing tells its words from others" if metric == "cider" and answered == 1 else None


def _bert_score() -> tuple[Callable[..., Floats] | None, str]:
    """BERTScore where its model is on disk; scoring never downloads it."""
    from heartfelt.predictors.networks.minilm import bert_score
    from heartfelt.predictors.weights import load_model

    try:
        return partial(bert_score, model=load_model("minilm", pull=False)), ""
    except HeartfeltError as error:
        return None, f"{error.problem} {error.fix}"


def _bleu(
    sheet: PredictionSheet, measure: MetricMeasurer, order: int, answered: Texts, everything: Texts
) -> ModelScore:
    options, name = measure.options, f"bleu_{order}"
    compute = partial(
        bleu,
        order=order,
        resamples=min(options.resamples, BLEU_RESAMPLES),
        seed=options.seed,
        confidence=options.confidence,
    )
    of_answered = compute(*answered)
    full = of_answered if sheet.answered.all() else compute(*everything)
    ceiling, missing = measure.ceiling(sheet.task, name), Estimate.missing("not computed for texts", name)
    return ModelScore(
        model=sheet.model,
        task=sheet.task.id,
        aggregation="item",
        metric=name,
        at="",
        estimate=of_answered,
        with_failures=full,
        over_systems=missing,
        ceiling=ceiling,
        of_ceiling=missing,
    )
