"""How close texts are to reference texts for the same stimuli: every caption metric, each with an interval over items or the
reason it is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from heartfelt.errors import HeartfeltError
from heartfelt.scoring.tasks.java_captions import meteor, spice
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.texts.text import bleu, cider, rouge_l

NAMES = {
    "bleu_1": "BLEU-1",
    "bleu_4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "cider": "CIDEr-D",
    "meteor": "METEOR",
    "spice": "SPICE",
    "bert_score": "BERTScore",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionScores:
    """The metrics of one set of texts against its references."""

    items: int
    bleu_1: Estimate
    bleu_4: Estimate
    rouge_l: Estimate
    cider: Estimate
    meteor: Estimate
    spice: Estimate
    bert_score: Estimate


def caption_scores(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    bert_model: str | None = None,
    bert_layer: int | None = None,
    tools: Path | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> CaptionScores:
    """Score each text against its references.

    ``bert_model`` is a text encoder of Transformers, a folder or a hub name; ``tools`` a folder with the Java programs.
    """
    corpus_wide = partial(bleu, candidates, references, resamples=resamples, seed=seed, confidence=confidence)
    by_item: dict[str, Callable[..., Floats]] = {
        "rouge_l": rouge_l,
        "cider": cider,
        "meteor": partial(meteor, folder=tools),
        "spice": partial(spice, folder=tools),
    }
    if bert_model is not None:
        from heartfelt.scoring.tasks.bert_score import transformers_bert_score

        by_item["bert_score"] = partial(transformers_bert_score, model=bert_model, layer=bert_layer)
    estimates = {name: _mean(NAMES[name], call, candidates, references, confidence) for name, call in by_item.items()}
    if len(candidates) == 1:
        estimates["cider"] = Estimate.missing("one item: nothing tells its words from others", NAMES["cider"])
    if bert_model is None:
        estimates["bert_score"] = Estimate.missing("no model was named", NAMES["bert_score"])
    return CaptionScores(items=len(candidates), bleu_1=corpus_wide(order=1), bleu_4=corpus_wide(order=4), **estimates)


def _mean(
    name: str,
    compute: Callable[..., Floats],
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    confidence: float,
) -> Estimate:
    """The mean over items with Student's t interval; missing with the reason where the metric cannot run."""
    if not len(candidates):
        return Estimate.missing("no texts", name, {"items": 0})
    try:
        values = compute(candidates, references)
    except HeartfeltError as error:
        return Estimate.missing(f"{error.problem} {error.fix}", name, {"items": len(candidates)})
    values = values[np.isfinite(values)]
    if not values.size:
        return Estimate.missing("no item has a value", name, {"items": 0})
    estimate = Estimate(value=float(values.mean()), method=f"{name}, mean over items", counts={"items": values.size})
    bounds, most = _bounds.t_mean(values, confidence), 10.0 if name == NAMES["cider"] else 1.0
    if bounds is not None:
        bounds = max(bounds[0], 0.0), min(bounds[1], most)
    return _bounds.bounded(estimate, bounds, "Student's t over items", confidence, "one item")
