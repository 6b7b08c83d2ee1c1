"""What models that match text with media are given: sentences for questions and answers, and names for stimuli."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.interface.predictor import Ask, Case, Prediction
from heartfelt.study import Scale
from heartfelt.study.model import say
from heartfelt.study.scales.scale import Categories, Category, Ordered, Points

MEDIA = {"audio": "Music", "speech": "Speech audio", "image": "An image"}
VERBS = {"perceived": "conveys", "felt": "evokes"}


def general_text(scale: Scale, words: str, about: Mapping[str, str]) -> str:
    """A sentence for any question: the medium with the scale's upper end, or the question itself."""
    if isinstance(scale, Points) and scale.anchors:
        return _sentence(about, say(scale.anchors[max(scale.anchors)]))
    if isinstance(scale, Categories | Ordered):
        return f"{plain_text(words, about)} One of: {', '.join(answer_names(scale).values())}."
    return plain_text(words, about)


def plain_text(words: str, about: Mapping[str, str]) -> str:
    return f"{_medium(about)}. {words}".strip()


def _medium(about: Mapping[str, str]) -> str:
    return MEDIA.get(about.get("media", ""), "Media")


def answer_texts(ask: Ask) -> dict[float, str]:
    """A sentence for each answer that has a name, by its value: anchored points, categories, yes. Empty where none has."""
    scale = ask.scale
    if isinstance(scale, Points):
        return {float(point): _sentence(ask.about, say(text)) for point, text in sorted(scale.anchors.items())}
    if isinstance(scale, Categories | Ordered):
        emotion = ask.about.get("emotion")
        if emotion is None:
            return {code: _sentence(ask.about, name) for code, name in answer_names(scale).items()}
        verb = f"{_medium(ask.about)} that {VERBS[emotion]}"
        return {code: f"{verb} {name.lower()}." for code, name in answer_names(scale).items()}
    return {1.0: ask.text} if scale.labels() else {}


def texts_to_match(ask: Ask) -> list[tuple[float | None, str]]:
    """What is matched for a question: its text; for unordered categories a sentence each, with its code."""
    return list(answer_texts(ask).items()) if isinstance(ask.scale, Categories) else [(None, ask.text)]


def best_match(ask: Ask, scores: Sequence[tuple[float | None, float]]) -> Prediction:
    """The prediction from the scores of :func:`texts_to_match`: the only score, or the category with the highest."""
    code, score = max(scores, key=lambda pair: pair[1])
    answer = None if code is None else ask.scale.labels()[code]
    return Prediction(value=code, score=score, answer=answer)


def answer_names(scale: Scale) -> dict[float, str]:
    names = dict(scale.labels())
    if isinstance(scale, Categories | Ordered):
        codes = scale.codes()
        for category in scale.categories:
            if isinstance(category, Category) and category.text is not None:
                names[codes[category.id]] = say(category.text)
    return names


def _sentence(about: Mapping[str, str], name: str) -> str:
    return f"{_medium(about)} that is {name}."


def stem_of(case: Case, ask: Ask) -> str:
    """The stimulus's stem: for EmoLia's levels ``{stem}__{DIM}_{level}_{polarity}``; folders are joined with ``__``."""
    stem = _split(case.stimulus)[0]
    level = [ask.about[name] for name in ("dimension", "level", "polarity") if name in ask.about]
    if len(level) == 3:
        return f"{PurePosixPath(stem).name}__{'_'.join(level)}"
    return stem.replace("/", "__")


def file_name_of(case: Case, ask: Ask, *, unique: bool = True) -> str:
    """The stimulus's file name; ``unique=False`` leaves out the folders, as EmoLia's own client does."""
    stem, suffix = _split(case.stimulus)
    if not suffix and case.media is not None:
        suffix = case.media.path.suffix
    return (stem_of(case, ask) if unique else PurePosixPath(stem).name) + suffix


def _split(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    return (name[: -len(suffix)], suffix) if suffix.lower() in AUDIO | IMAGES else (name, "")


class StimulusNames:
    """Stimuli by any unambiguous form of their name: with or without extension, with all, some or none of its folders.

    A name may have more folders than the stimulus (``/data/A/1.wav`` is ``A/1.wav``) or others, but not the folder of other
    stimuli: ``B/1.wav`` is never ``A/1.wav`` where there are stimuli in ``B``.
    """

    def __init__(self, stimuli: Iterable[str]) -> None:
        self._exact = dict.fromkeys(stimuli)
        self._forms: dict[str, str | None] = {}
        self._folders: set[str] = set()
        for stimulus in self._exact:
            self._folders.add(_folder(stimulus))
            for form in dict.fromkeys(_forms(stimulus)):
                self._forms[form] = None if form in self._forms else stimulus

    def find(self, name: str) -> str | None:
        """The stimulus of that name; None where there is none, or more than one."""
        if name in self._exact:
            return name
        form = self._form(name)
        return None if form is None else self._forms[form]

    def is_ambiguous(self, name: str) -> bool:
        """Whether several stimuli have that name."""
        form = None if name in self._exact else self._form(name)
        return form is not None and self._forms[form] is None

    def _form(self, name: str) -> str | None:
        form = next((form for form in _forms(name) if form in self._forms), None)
        if form is None or "/" in form:
            return form
        stimulus = self._forms[form]
        is_of_others = _folder(name) in self._folders - {"", _folder(stimulus or "")}
        return None if stimulus is not None and is_of_others and _folder(stimulus) else form


def _folder(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).parent.name


def _forms(name: str) -> Iterator[str]:
    """The name with all of its folders, then with fewer and fewer of them; each with and without its extension."""
    name = name.replace("\\", "/")
    stem = _split(name)[0]
    parts = name.count("/")
    for skipped in range(parts + 1):
        yield name.split("/", skipped)[-1]
        yield stem.split("/", skipped)[-1]
