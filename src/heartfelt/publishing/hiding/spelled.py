"""Names that spell labels out: with few labels no model can be fitted, but words and numbers can be compared."""

from __future__ import annotations

from collections.abc import Mapping

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
    texts = [names.cast(pl.String)[row] or "" for row in labels["row"]]
    words = [words_of(f"{text} {decoded(text)}") for text in texts]
    intended_words = (
        [set(words_of(" ".join(str(value) for value in intended.row(row)))) for row in labels["row"]]
        if intended.width
        else []
    )
    if labels["label"].n_unique() > 1:
        right = 0
        for index, label in enumerate(labels["label"]):
            wanted = set(words_of(categories.get(label, ""))) - (intended_words[index] if intended_words else set())
            right += bool(wanted) and wanted <= set(words[index])
        if right > _RIGHT * labels.height:
            return True
    if labels.height < _LEAST_NUMBERS or labels["label"].n_unique() < 3:
        return False
    numbers = [[float(word) for word in name_words if word[0].isdecimal()] for name_words in words]
    for index in range(min(map(len, numbers))):
        pair = pl.DataFrame({"number": [name_numbers[index] for name_numbers in numbers], "label": labels["label"]})
        order = pair.select(pl.corr("number", "label", method="spearman")).item()
        if order is not None and abs(order) > 0.99:
            return True
    return False
