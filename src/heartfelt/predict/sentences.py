"""Sentences for models that match text with media: one for a question, and one for each of its possible answers."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.predict.predictor import Ask
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
        names = ", ".join(answer_names(scale).values())
        return f"{MEDIA.get(about.get('media', ''), 'Media')}. {words} One of: {names}."
    return f"{MEDIA.get(about.get('media', ''), 'Media')}. {words}".strip()


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
    medium = MEDIA.get(about.get("media", ""), "Media")
    if ask is not None and "emotion" in about:
        return f"{medium} that {VERBS[about['emotion']]} {name.lower()}."
    return f"{medium} that is {name}."
