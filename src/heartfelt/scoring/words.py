"""Texts: BLEU, ROUGE-L, CIDEr-D and BERTScore against what people wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from heartfelt.errors import HeartfeltError
from heartfelt.scoring.chance import Chance
from heartfelt.scoring.measure import Measure, Pairing
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Floats, Sheet
from heartfelt.scoring.truth import ITEM, Truth
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.text import bleu, cider, lexical, rouge_l
from heartfelt.streams import stream

_NONE = "not computed for texts"


def words(sheet: Sheet, measure: Measure, truth: Truth) -> tuple[list[Score], dict[str, Any]]:
    """The caption metrics. BLEU belongs to the corpus, the others are means over items."""
    keys = list(sheet.rows.select(ITEM).iter_rows())
    references = [truth.texts[key] for key in keys]
    said = [text or "" for text in sheet.rows["answer"].to_list()]
    answered = sheet.answered
    kept = np.flatnonzero(answered).tolist()
    own, theirs = [said[place] for place in kept], [references[place] for place in kept]
    told = [text if ok else "" for text, ok in zip(said, answered, strict=True)]
    out = []
    dealt = _dealt(len(said), measure.options.seed)
    alike, why_not = _likeness()
    for name, compute in (("cider", cider), ("rouge_l", rouge_l), ("bert_score", alike)):
        values, full, blind = np.full(len(said), np.nan), np.zeros(len(said)), np.zeros(len(said))
        if kept and compute is not None:
            values[kept] = compute(own, theirs)
            full = compute(told, references)
            blind = compute([told[place] for place in dealt], references)
        why = (None if kept else "no text was given") if compute is not None else why_not
        if name == "cider" and len(kept) == 1:
            why = "one item: nothing to be particular about"
        chance = (
            Chance(float(blind.mean()), "its own texts dealt out to other items", blind)
            if len(said) > 1
            else None
        )
        out.append(
            measure.score(
                sheet,
                Pairing(name, np.zeros(values.size), values, full, mean=True, why_none=why, chance=chance),
            )
        )
    out += [_bleu(sheet, measure, order, (own, theirs), (told, references)) for order in (1, 4)]
    figures = asdict(lexical(own))
    return out, {
        "lexical": figures,
        "lexical_of_people": asdict(lexical([t for own in references for t in own])),
    }


def _dealt(items: int, seed: int) -> list[int]:
    """For every item another item, each once."""
    order = stream(seed, "score", "dealt texts").permutation(items)
    out = np.empty(items, np.int64)
    out[order] = np.roll(order, 1)
    return [int(place) for place in out]


def _likeness() -> tuple[Callable[..., Floats] | None, str]:
    """BERTScore where its model is at hand; a score never fetches one by itself."""
    from heartfelt.models import load_model
    from heartfelt.models.minilm import bert_score

    try:
        return partial(bert_score, model=load_model("minilm", pull=False)), ""
    except HeartfeltError as error:
        return None, f"{error.problem} {error.fix}"


def _bleu(sheet: Sheet, measure: Measure, order: int, answered: Any, everything: Any) -> Score:
    options, name = measure.options, f"bleu_{order}"

    def number(pair: Any) -> Estimate:
        return bleu(
            *pair,
            order=order,
            resamples=min(options.resamples, 2000),
            seed=options.seed,
            confidence=options.confidence,
        )

    one = number(answered)
    two = one if sheet.answered.all() else number(everything)
    ceiling = measure.ceilings.of(sheet.task, name)
    gone = Estimate.missing(_NONE, name)
    return Score(sheet.model, sheet.task.id, "item", name, "", one, two, gone, ceiling, gone)
