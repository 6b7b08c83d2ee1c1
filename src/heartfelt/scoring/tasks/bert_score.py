"""BERTScore (Zhang et al. 2020) with any text encoder of Transformers: a folder here, or a name on its hub.

Every token takes its most alike token of the other text by cosine; the F1 of the two means with the best reference is the score.
There are no idf weights and no rescaling. The published package takes a middle layer that it chose for each model; here it is
the last unless ``layer`` names another (0 is the input). Values of different models or layers are not comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heartfelt.errors import require
from heartfelt.predictors.networks.minilm import matched_f1
from heartfelt.predictors.weights.hub import loaded_from, transformers_library
from heartfelt.stats.columns.triples import Floats

BATCH = 32


def transformers_bert_score(
    candidates: Sequence[str], references: Sequence[Sequence[str]], model: str, layer: int | None = None
) -> Floats:
    """The F1 of each candidate with its best reference; 0 where either has no tokens."""
    library = transformers_library(model)
    tokenizer = loaded_from(model, library.AutoTokenizer.from_pretrained)
    encoder = loaded_from(model, library.AutoModel.from_pretrained).eval()
    texts = list(dict.fromkeys([*candidates, *(text for several in references for text in several)]))
    vectors: dict[str, Any] = {}
    for start in range(0, len(texts), BATCH):
        chosen = texts[start : start + BATCH]
        vectors |= zip(chosen, _token_vectors(chosen, tokenizer, encoder, layer), strict=True)
    return matched_f1(candidates, references, vectors)


def _token_vectors(texts: Sequence[str], tokenizer: Any, encoder: Any, layer: int | None) -> list[Any]:
    """For each text the vectors of its tokens, of length one, without the marks that every text has."""
    import torch

    longest = min(getattr(encoder.config, "max_position_embeddings", 512), tokenizer.model_max_length)
    coded = tokenizer(
        list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt",
        return_special_tokens_mask=True,
    )  # fmt: skip
    special = coded.pop("special_tokens_mask").bool()
    with torch.no_grad():
        states = encoder(**coded, output_hidden_states=True).hidden_states
    last = len(states) - 1
    require(
        layer is None or 0 <= layer <= last,
        f"The model has no layer {layer}.",
        f"Choose a layer from 0 to {last}, or leave it out for the last.",
    )
    chosen = torch.nn.functional.normalize(states[last if layer is None else layer], dim=-1)
    keep = coded["attention_mask"].bool() & ~special
    return [row[tokens].numpy().astype(np.float32) for row, tokens in zip(chosen, keep, strict=True)]
