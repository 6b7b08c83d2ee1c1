"""A measurement, or the names of what an image shows, as an answer on the scale of a question.

A measurement has two ends. On points and numbers with limits it is moved linearly, its lower end to the lowest answer, and
rounded to a whole point or to the scale's step; ordered categories divide its range into equal parts; yes is its upper half. A
number without limits gets the measurement itself. Where words are asked for, equal parts of the range have a word each.

Names carry shares (a probability, or a part of the image) and other words for the same thing, the more special ones first. They
are compared with the ids and texts of a scale, in every language, without regard to case, hyphens and a plural ``s``. Tags get
every name that is likely enough, categories the one with the largest share, texts a list. What matches nothing is a problem that
says what was seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heartfelt.errors import InputError
from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.study import Scale
from heartfelt.study.model import Text
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tag, Tags, YesNo
from heartfelt.wording import listed

_LISTED = 3
_BREAKS, _GRAY = re.compile(r"[\s_\-/]+"), re.compile(r"\bgray\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A number between two ends."""

    name: str
    value: float
    low: float
    high: float
    words: tuple[str, ...]
    """A word for each of as many equal parts of the range, the lowest first."""

    @property
    def share(self) -> float:
        """Where it lies between its ends, 0 to 1; held at the end beyond them."""
        return min(max((self.value - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def word(self) -> str:
        return self.words[_part(self.share, len(self.words))]

    def __str__(self) -> str:
        limit_note = "" if self.low <= self.value <= self.high else ", held at the end of this range"
        return f"{self.name} is {self.value:.3g}, from {self.low:g} to {self.high:g}{limit_note}"


@dataclass(frozen=True, slots=True)
class Label:
    """Something an image shows."""

    name: str
    share: float
    """How likely it is, or how much of the image it takes, 0 to 1."""
    also: tuple[str, ...] = ()
    """Other words for it, the more special ones first."""


def tags_ask(name: str, words: str, media: str = "image") -> Ask:
    return Ask(question=name, scale=Tags(type="tags"), text=words, words=words, about={"media": media})


def answer_number(measured: Measurement, ask: Ask) -> Prediction:
    scale, note = ask.scale, str(measured)
    match scale:
        case Points():
            value = scale.first + _nearest(measured.share * (scale.points - 1))
            return Prediction(value=float(value), note=f"{note}; moved onto {scale.first} to {scale.last}")
        case Numeric():
            return _number(measured, scale, note)
        case Ordered():
            codes = sorted(scale.labels())
            code = codes[_part(measured.share, len(codes))]
            return Prediction(value=code, note=f"{note}; divided into {len(codes)} equal parts")
        case YesNo():
            return Prediction(answer="yes" if measured.share >= 0.5 else "no", note=f"{note}; yes is the upper half")
        case FreeText():
            return _readable(f"{measured.word} ({note})", scale, note) or Prediction.failed(_length(scale))
        case Tags() | Categories():
            return answer_labels([Label(measured.word, 1.0)], ask, note=note)
        case _:
            return Prediction.failed(f"{note}, and a question with a {_kind(scale)} cannot be answered with it")


def _number(measured: Measurement, scale: Numeric, note: str) -> Prediction:
    bounds = scale.bounds()
    if bounds is None:
        low = -math.inf if scale.low is None else scale.low
        high = math.inf if scale.high is None else scale.high
        if not low <= measured.value <= high:
            return Prediction.failed(f"{note}, which is outside the scale; give it both a low and a high")
        return Prediction(value=measured.value, note=note)
    low, high = bounds
    if bounds == (measured.low, measured.high):
        value = min(max(measured.value, low), high)
    else:
        value, note = low + measured.share * (high - low), f"{note}; moved onto {low:g} to {high:g}"
    if scale.step is not None:
        # Rounding up may pass the upper end where the step does not divide the range.
        value = min(low + _nearest((value - low) / scale.step) * scale.step, high)
    return Prediction(value=float(f"{value:.12g}"), note=note)


def answer_labels(
    labels: Sequence[Label], ask: Ask, *, least: float = 0.0, most: int | None = None, note: str | None = None
) -> Prediction:
    """Names on the question's scale: at most ``most`` of them, each with a share of at least ``least``."""
    scale = ask.scale
    ranked = sorted(labels, key=lambda label: -label.share)
    match scale:
        case Tags():
            return _tags(ranked, scale, least, most, note)
        case Categories() | Ordered():
            return _category(ranked, scale, least, note)
        case FreeText():
            likely = [label for label in ranked if label.share >= least][:most]
            if not likely:
                return _unlikely(ranked, least)
            shares = {label.name: label.share for label in likely}
            result = _readable(", ".join(shares), scale, note, shares)
            return result or Prediction.failed(f"{_length(scale)}; seen: {_named(ranked)}")
        case YesNo():
            return _yes_no(ranked, ask, note)
        case _:
            return Prediction.failed(
                f"it names what there is ({_named(ranked)}), and this question has a {_kind(scale)}"
            )


def _tags(labels: Sequence[Label], scale: Tags, least: float, most: int | None, note: str | None) -> Prediction:
    shares = _tag_shares(labels, scale)
    if not shares:
        return _unmatched(labels, scale.names)
    # A sum of many small shares may exceed 1 by rounding.
    ranked = sorted(((name, min(share, 1.0)) for name, share in shares.items()), key=lambda pair: -pair[1])
    likely = dict([pair for pair in ranked if pair[1] >= least][:most])
    if not likely:
        return _unlikely([Label(*pair) for pair in ranked], least)
    return Prediction(answer=scale.separator.join(likely), score=max(likely.values()), shares=likely, note=note)


def _tag_shares(labels: Sequence[Label], scale: Tags) -> dict[str, float]:
    """By tag the sum of the shares of the labels that name it; on an open scale labels are tags of their own too."""
    ids = vocabulary(scale.tags)
    shares: dict[str, float] = {}
    for label in labels:
        names = list(dict.fromkeys(ids[word] for word in _forms(label) if word in ids))
        if not names and scale.open:
            names = [" ".join(label.name.replace(scale.separator, " ").split())]
        for name in names:
            shares[name] = shares.get(name, 0.0) + label.share
    return shares


def _category(labels: Sequence[Label], scale: Categories | Ordered, least: float, note: str | None) -> Prediction:
    ids, shares = vocabulary(scale.categories), dict[str, float]()
    for label in labels:
        name = next((ids[word] for word in _forms(label) if word in ids), None)
        if name is not None:
            shares[name] = min(shares.get(name, 0.0) + label.share, 1.0)
    if not shares:
        return _unmatched(labels, list(scale.codes()))
    best = max(shares, key=shares.__getitem__)
    if shares[best] < least:
        return _unlikely([Label(best, shares[best])], least)
    return Prediction(answer=best, score=shares[best], shares=shares, note=note)


def _yes_no(labels: Sequence[Label], ask: Ask, note: str | None) -> Prediction:
    wanted = normalised(ask.question)
    share = math.fsum(label.share for label in labels if wanted in _forms(label))
    if not any(wanted in _forms(label) for label in labels):
        return Prediction.failed(
            f"'{ask.question}' is none of the names it knows; a question to be answered with yes or no must have such a name as "
            f"its id (seen: {_named(labels)})"
        )
    share = min(share, 1.0)
    return Prediction(
        answer="yes" if share >= 0.5 else "no",
        score=max(share, 1 - share),
        shares={"yes": share, "no": 1 - share},
        note=note,
    )


def _readable(
    text: str, scale: Scale, note: str | None, shares: Mapping[str, float] | None = None
) -> Prediction | None:
    try:
        scale.read(text)
    except InputError:
        return None
    return Prediction(answer=text, score=max(shares.values()) if shares else None, shares=shares, note=note)


def normalised(word: str) -> str:
    """A word as it is compared: without case, hyphens, a plural s, or a difference between grey and gray."""
    folded = _GRAY.sub("grey", _BREAKS.sub(" ", word).strip().casefold())
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


def _forms(label: Label) -> list[str]:
    return [normalised(word) for word in (label.name, *label.also)]


def vocabulary(parts: Iterable[Tag | str]) -> dict[str, str]:
    """The id behind every word of a list: ids and texts in every language."""
    ids: dict[str, str] = {}
    for part in parts:
        name, text = (part, None) if isinstance(part, str) else (part.id, part.text)
        for word in (name, *_texts(text)):
            ids.setdefault(normalised(word), name)
    return ids


def _texts(text: Text | None) -> Iterable[str]:
    return () if text is None else (text,) if isinstance(text, str) else text.values()


def _unmatched(labels: Sequence[Label], names: Sequence[str]) -> Prediction:
    shown_labels = _named(labels) if labels else "nothing"
    return Prediction.failed(f"{shown_labels}: this is not among the answers of the scale ({listed(names[:12])})")


def _unlikely(labels: Sequence[Label], least: float) -> Prediction:
    if not labels:
        return Prediction.failed("nothing was recognised")
    best = labels[0]
    return Prediction.failed(
        f"nothing is at least {least:g} likely; the likeliest is {best.name} with {best.share:.2g}"
    )


def _named(labels: Sequence[Label]) -> str:
    return listed([f"{label.name} {label.share:.2g}" for label in labels[:_LISTED]])


def _length(scale: Scale) -> str:
    return f"the text would not have a length the scale allows ({_kind(scale)})"


def _kind(scale: Scale) -> str:
    return f"scale of type {getattr(scale, 'type', 'unknown')}"


def _part(share: float, parts: int) -> int:
    return min(int(share * parts), parts - 1)


def _nearest(number: float) -> int:
    return math.floor(number + 0.5)


def moved_linearly(
    value: float, ends: tuple[float, float], bounds: tuple[float, float], source: str, notes: Sequence[str] = ()
) -> Prediction:
    """A number between a measure's ends (worst, best) moved onto the scale; ``source`` names what was too large or too small."""
    (worst, best), (low, high) = ends, bounds
    moved = low + (value - worst) / (best - worst) * (high - low)
    parts = list(notes)
    if ends != bounds:
        parts.append(f"moved linearly from {worst:g} to {best:g} onto {low:g} to {high:g}")
    if not low <= moved <= high:
        parts.append(f"held at the end of the scale ({source} {value:.3f})")
        moved = min(max(moved, low), high)
    return Prediction(value=moved, note="; ".join(parts) or None)
