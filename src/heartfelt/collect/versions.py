"""Edits to a study that has answers: which are allowed, and which would invalidate what was collected.

Two versions of a study are compared key by key. An edit is harmless when ratings given before and after it mean the
same: instructions, help, translations, further stimuli, a higher quota. Everything that changes what a rater saw of a
question, or what a stored number stands for, is breaking, and so is every key this module does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import StudyError
from heartfelt.study import Question, Scale, Study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.scale import FreeText, Tags

Place: TypeAlias = tuple[str | int, ...]

_NEW_STUDY = "start a new study: copy the folder without its store"
_NEW_QUESTION = f"Put it back. To ask something else, add a question with a new id, or {_NEW_STUDY}."
_HARMLESS_KEYS = frozenset(
    {"title", "description", "instructions", "languages", "credit", "licence", "contact", "theme", "consent"}
    | {"demographics", "systems", "intents", "seed", "recruiting", "database"}
)
_HARMLESS_QUESTION = frozenset({"help", "required", "axis", "about"})
_HARMLESS_DESIGN = frozenset(
    {"stimuli_per_rater", "batch", "practice", "practice_stimuli", "minimum_ratings", "expected_seconds"}
    | {"replays", "order", "block_by", "distinct"}
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One difference between two versions of a study."""

    key: str
    problem: str
    """What changed, in words."""
    advice: str | None = None
    """What to do instead, for a breaking edit; None for a harmless one."""
    question: str | None = None
    """The question whose answers have a different meaning since."""
    place: Place = ()
    """Where the key is in ``study.yaml``."""

    @property
    def breaking(self) -> bool:
        """Whether ratings from before and after cannot be pooled."""
        return self.advice is not None


def edits(old: Study, new: Study) -> list[Edit]:
    """Every difference between two versions, in the order of the keys."""
    return [*_study_edits(old, new), *_question_edits(old, new), *_design_edits(old, new)]


def changed_questions(old: Study, new: Study) -> dict[str, str]:
    """Questions that both versions ask, but differently, with what changed."""
    return {
        edit.question: edit.problem
        for edit in _question_edits(old, new)
        if edit.breaking and edit.question is not None
    }


def removed_stimuli(names: Sequence[str], manifest: str) -> Edit:
    """The edit that removed stimuli with ratings."""
    examples = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    return Edit(
        "stimuli",
        f"{len(names)} stimuli with ratings were removed from {manifest} ({examples})",
        "Put them back. To stop showing a stimulus, move its media file out of the media folder: its ratings are kept and"
        f" no new rater gets it. Or {_NEW_STUDY}.",
        place=("stimuli",),
    )


def refuse(folder: Path, breaking: Sequence[Edit]) -> StudyError:
    """The error that names the first breaking edit with its line, and how many more there are."""
    first = breaking[0]
    path = folder / STUDY_FILE
    line = _line(path, first.place)
    more = f" ({len(breaking) - 1} more edits of this kind)" if len(breaking) > 1 else ""
    where = f"{path}, line {line}, {first.key}" if line else f"{path}, {first.key}"
    return StudyError(
        f"{where}: {first.problem}, but the study already has answers{more}.", first.advice or _NEW_QUESTION
    )


def edits_text(changes: Sequence[Edit]) -> str:
    """Edits as they are stored: a JSON list of sentences."""
    return json.dumps([f"{edit.key}: {edit.problem}" for edit in changes], ensure_ascii=False)


def _line(path: Path, place: Place) -> int | None:
    from heartfelt.study.yaml_lines import read_yaml

    try:
        return read_yaml(path.read_text(encoding="utf-8-sig"), str(path)).line(place) if place else None
    except (OSError, ValueError, StudyError):
        return None


def _study_edits(old: Study, new: Study) -> Iterator[Edit]:
    before, after = _plain(old), _plain(new)
    for key in dict.fromkeys((*before, *after)):
        if key in {"questions", "scales", "design", "stimuli", "probes", "prompts"}:
            continue
        if before.get(key) != after.get(key):
            harmless = key in _HARMLESS_KEYS
            yield Edit(
                key,
                "changed" if harmless else _from_to(before.get(key), after.get(key)),
                None if harmless else f"Put it back, or {_NEW_STUDY}.",
                place=(key,),
            )
    if before["stimuli"] != after["stimuli"]:
        yield Edit("stimuli", "changed", place=("stimuli",))
    yield from _prompt_edits(old, new)
    yield from _probe_edits(before["probes"], after["probes"])


def _prompt_edits(old: Study, new: Study) -> Iterator[Edit]:
    """A prompt that raters read next to the stimulus must not change; other prompts are only records."""
    shown = any("prompt" in question.shows for question in old.asked)
    before = {prompt.id: prompt for prompt in old.prompts}
    for place, prompt in enumerate(new.prompts):
        was = before.pop(prompt.id, None)
        if was == prompt:
            continue
        breaking = shown and was is not None and was.text != prompt.text
        yield Edit(
            f"prompts.{prompt.id}",
            _from_to(was.text, prompt.text) if was is not None and breaking else "changed",
            f"Put it back, give the prompt a new id, or {_NEW_STUDY}." if breaking else None,
            place=("prompts", place),
        )
    for name in before:
        yield Edit(f"prompts.{name}", "removed", place=("prompts",))


def _probe_edits(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Iterator[Edit]:
    """A probe may be added or removed; one that stays must test the same thing."""
    before = {probe["id"]: probe for probe in old}
    for place, probe in enumerate(new):
        was = before.pop(probe["id"], None)
        key = f"probes.{probe['id']}"
        if was is None:
            yield Edit(key, "added", place=("probes", place))
            continue
        for name in dict.fromkeys((*was, *probe)):
            if name == "per_session" or _same_or_translated(was.get(name), probe.get(name)):
                continue
            yield Edit(
                f"{key}.{name}",
                _from_to(was.get(name), probe.get(name)),
                f"Put it back, give the changed probe a new id, or {_NEW_STUDY}.",
                place=("probes", place, name),
            )
    for name in before:
        yield Edit(f"probes.{name}", "removed", place=("probes",))


def _question_edits(old: Study, new: Study) -> Iterator[Edit]:
    before = {question.id: question for question in old.asked}
    after = {question.id: question for question in new.asked}
    places = {each.id: place for place, question in enumerate(new.questions) for each in question.spread()}
    for name, question in before.items():
        if name not in after:
            yield Edit(f"questions.{name}", "the question was removed", _NEW_QUESTION, name, ("questions",))
            continue
        place: Place = ("questions", places[name])
        yield from _changes_of_question(question, after[name], place)
        yield from _scale_edits(name, old.scale_of(name), new.scale_of(name), after[name].scale)
    for name in (name for name in after if name not in before):
        yield Edit(f"questions.{name}", "added", place=("questions", places[name]))


def _changes_of_question(old: Question, new: Question, place: Place) -> Iterator[Edit]:
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    for name in dict.fromkeys((*before, *after)):
        if name == "scale" or before.get(name) == after.get(name):
            continue
        harmless = name in _HARMLESS_QUESTION or _same_or_translated(before.get(name), after.get(name))
        yield Edit(
            f"questions.{new.id}.{name}",
            "changed" if harmless else _from_to(before.get(name), after.get(name)),
            None if harmless else _NEW_QUESTION,
            None if harmless else new.id,
            (*place, name),
        )


def _scale_edits(question: str, old: Scale, new: Scale, name: str) -> Iterator[Edit]:
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    for key in dict.fromkeys((*before, *after)):
        was, now = before.get(key), after.get(key)
        if _same_or_translated(was, now):
            if was != now:
                yield Edit(f"scales.{name}.{key}", "translated", place=("scales", name, key))
            continue
        if type(old) is type(new) and (isinstance(new, FreeText) or _more_tags(old, new, key)):
            yield Edit(f"scales.{name}.{key}", "changed", place=("scales", name, key))
            continue
        yield Edit(
            f"scales.{name}.{key}",
            f"question '{question}': {_from_to(was, now)}",
            f"Put it back. To use another scale, add a question with a new id and a scale of its own, or {_NEW_STUDY}.",
            question,
            ("scales", name, key),
        )


def _more_tags(old: Scale, new: Scale, key: str) -> bool:
    """Whether a list of tags only grew: every stored answer is still one."""
    return (
        key == "tags"
        and isinstance(old, Tags)
        and isinstance(new, Tags)
        and new.tags[: len(old.tags)] == old.tags
    )


def _design_edits(old: Study, new: Study) -> Iterator[Edit]:
    before, after = old.design.model_dump(mode="json"), new.design.model_dump(mode="json")
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        place: Place = ("design", name)
        if name == "ratings_per_item" and new.design.ratings_per_item < old.design.ratings_per_item:
            advice = "Put it back; to stop earlier, close the study in the dashboard."
            yield Edit("design.ratings_per_item", f"lowered from {was} to {now}", advice, place=place)
        elif name == "ratings_per_item" or name in _HARMLESS_DESIGN:
            yield Edit(f"design.{name}", _from_to(was, now), place=place)
        else:
            yield Edit(f"design.{name}", _from_to(was, now), f"Put it back, or {_NEW_STUDY}.", place=place)


def _plain(study: Study) -> dict[str, Any]:
    return study.model_dump(mode="json")


def _same_or_translated(old: Any, new: Any) -> bool:
    """Whether every text that was there is still there, in a language at least; further languages may be new."""
    if old == new:
        return True
    if isinstance(old, str) and isinstance(new, dict):
        return bool(new) and all(isinstance(text, str) for text in new.values()) and old in new.values()
    if isinstance(old, dict) and isinstance(new, dict):
        if not (old.keys() <= new.keys() and all(_same_or_translated(old[key], new[key]) for key in old)):
            return False
        # A further key is a further language only in a text; in anchors or categories it is a further point.
        return old.keys() == new.keys() or all(_is_language(key) for key in new)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return all(_same_or_translated(was, now) for was, now in zip(old, new, strict=True))
    return False


def _is_language(key: str) -> bool:
    from heartfelt.study.model import _LANGUAGE

    return bool(_LANGUAGE.match(str(key)))


def _from_to(old: Any, new: Any) -> str:
    return f"changed from {_short(old)} to {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else f"'{value}'"
    return text if len(text) <= 60 else f"{text[:57]}…"
