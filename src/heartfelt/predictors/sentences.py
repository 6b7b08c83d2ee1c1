"""Sentences for models that match text with media: one for a question, and one for each of its possible answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.study import Scale
from heartfelt.study.model import say
from heartfelt.study.scale import Categories, Category, Ordered, Points

MEDIA = {"audio": "Music", "speech": "Speech audio", "image": "An image"}
VERBS = {"perceived": "conveys", "felt": "evokes"}


def general_text(scale: Scale, words: str, about: Mapping[str, str]) -> str:
    """A sentence for a question nothing better is known of: the medium with the scale's upper end, or the question itself."""
    if isinstance(scale, Points) and scale.anchors:
        return _sentence(about, say(scale.anchors[max(scale.anchors)]))
    if isinstance(scale, Categories | Ordered):
        return f"{plain_text(words, about)} One of: {', '.join(answer_names(scale).values())}."
    return plain_text(words, about)


def plain_text(words: str, about: Mapping[str, str]) -> str:
    """The medium, and the question as raters read it."""
    return f"{_medium(about)}. {words}".strip()


def _medium(about: Mapping[str, str]) -> str:
    return MEDIA.get(about.get("media", ""), "Media")


def answer_texts(ask: Ask) -> dict[float, str]:
    """A sentence for each answer that has a name, by its value: anchored points, categories, yes. Empty where none has."""
    scale = ask.scale
    if isinstance(scale, Points):
        return {
            float(point): _sentence(ask.about, say(text)) for point, text in sorted(scale.anchors.items())
        }
    if isinstance(scale, Categories | Ordered):
        return {code: _sentence(ask.about, name, ask) for code, name in answer_names(scale).items()}
    return {1.0: ask.text} if scale.labels() else {}


def asked_texts(ask: Ask) -> list[tuple[float | None, str]]:
    """What is matched for a question: its text; of categories without an order a sentence for each, with its code."""
    return list(answer_texts(ask).items()) if isinstance(ask.scale, Categories) else [(None, ask.text)]


def matched(ask: Ask, scores: Sequence[tuple[float | None, float]]) -> Prediction:
    """The prediction from the scores of :func:`asked_texts`: the one score, or the category with the highest."""
    code, score = max(scores, key=lambda pair: pair[1])
    answer = None if code is None else ask.scale.labels()[code]
    return Prediction(value=code, score=score, answer=answer)


def answer_names(scale: Scale) -> dict[float, str]:
    """The name of each category as people read it, by its code."""
    names = dict(scale.labels())
    if isinstance(scale, Categories | Ordered):
        codes = scale.codes()
        for category in scale.categories:
            if isinstance(category, Category) and category.text is not None:
                names[codes[category.id]] = say(category.text)
    return names


def _sentence(about: Mapping[str, str], name: str, ask: Ask | None = None) -> str:
    medium = _medium(about)
    if ask is not None and "emotion" in about:
        return f"{medium} that {VERBS[about['emotion']]} {name.lower()}."
    return f"{medium} that is {name}."
