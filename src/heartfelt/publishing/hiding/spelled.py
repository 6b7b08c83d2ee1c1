"""Names that spell labels out: with few labels no model can be fitted, but words and numbers can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from heartfelt.publishing.hiding.features import decoded, words_of

_LEAST_NUMBERS = 6
"""Labels it takes: six numbers in the same order are hardly an accident."""
_RIGHT = 0.5


def spelled_out(
    names: pl.Series, intended: pl.DataFrame, labels: pl.DataFrame, categories: Mapping[float, str]
) -> bool:
    """Whether names hold the category of most labels, or a number that orders stimuli as their labels do.

    ``labels`` has ``row, label``; words that ``intended``, the design, has in the same row are not counted.
    """
    rows, values = labels["row"].to_list(), labels["label"]
    texts = names.cast(pl.String).gather(rows).fill_null("").to_list()
    words = [words_of(f"{text} {decoded(text)}") for text in texts]
    intents = [set(words_of(" ".join(map(str, intended.row(row))))) if intended.width else set() for row in rows]
    if values.n_unique() > 1:
        wanted = [
            set(words_of(categories.get(label, ""))) - intent_words
            for label, intent_words in zip(values, intents, strict=True)
        ]
        right = sum(bool(need) and need <= set(have) for need, have in zip(wanted, words, strict=True))
        if right > _RIGHT * labels.height:
            return True
    if labels.height < _LEAST_NUMBERS or values.n_unique() < 3:
        return False
    numbers = [[float(word) for word in name_words if word[0].isdecimal()] for name_words in words]
    return any(_in_same_order(column, values) for column in zip(*numbers, strict=False))


def _in_same_order(numbers: Sequence[float], labels: pl.Series) -> bool:
    pair = pl.DataFrame({"number": numbers, "label": labels})
    order = pair.select(pl.corr("number", "label", method="spearman")).item()
    return order is not None and abs(order) > 0.99
