"""Edits to a study that has answers: which are allowed, and which would invalidate what was collected.

Two versions of a study are compared key by key. An edit is harmless when ratings given before and after it mean the
same: instructions, help, translations, further stimuli, a higher quota. Everything that changes what a rater saw of a
question, or what a stored number stands for, is breaking, and so is every key this module does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel

from heartfelt.errors import StudyError
from heartfelt.study import Question, Scale, Study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.model import is_language
from heartfelt.study.parts.between import QuestionnaireSource
from heartfelt.study.parts.sets import Sets
from heartfelt.study.scales.scale import FreeText, Tags

Place: TypeAlias = tuple[str | int, ...]

_NEW_STUDY = "start a new study: copy the folder without its store"
_PUT_BACK = f"Put it back, or {_NEW_STUDY}."
_NEW_QUESTION = f"Put it back. To ask something else, add a question with a new id, or {_NEW_STUDY}."
_HARMLESS_KEYS = frozenset(
    {"title", "description", "instructions", "languages", "credit", "licence", "contact", "theme", "consent"}
    | {"demographics", "systems", "intents", "seed", "recruiting", "database", "stimuli", "adjudication"}
    | {"screeners", "instruments", "debriefing", "branding"}
)
_HARMLESS_QUESTION = frozenset({"help", "required", "axis", "about", "page"})
_HARMLESS_DESIGN = frozenset(
    {"stimuli_per_rater", "batch", "practice", "practice_stimuli", "minimum_ratings", "expected_seconds"}
    | {"replays", "order", "block_by", "distinct", "ratings_per_item", "always", "playback", "strata"}
    | {"sessions"}
)
_HARMLESS_SETS = frozenset({"rule", "by", "rounds", "per_stimulus", "file", "hidden_reference"})


@dataclass(frozen=True, slots=True, kw_only=True)
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
        edit.question: edit.problem for edit in _question_edits(old, new) if edit.breaking and edit.question is not None
    }


def _examples(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def removed_stimuli(names: Sequence[str], manifest: str) -> Edit:
    """The edit that removed stimuli with ratings."""
    return Edit(
        key="stimuli",
        problem=f"{len(names)} stimuli with ratings were removed from {manifest} ({_examples(names)})",
        advice="Put them back. To stop showing a stimulus, move its media file out of the media folder: its ratings are kept and"
        f" no new rater gets it. Or {_NEW_STUDY}.",
        place=("stimuli",),
    )


def changed_media(names: Sequence[str]) -> Edit:
    """The edit that put other media files in the place of those that were rated."""
    return Edit(
        key="stimuli",
        problem=f"the media files of {len(names)} stimuli with ratings were replaced ({_examples(names)})",
        advice="Put the old files back and give the new ones ids of their own in the manifest. Or serve with --accept-media: the"
        " new files are recorded as versions, and a snapshot tells their ratings from the earlier ones (column media_version).",
        place=("stimuli",),
    )


def changed_sets(names: Sequence[str]) -> Edit:
    """The edit that gave sets with answers other members."""
    return Edit(
        key="sets",
        problem=f"{len(names)} sets with answers have other stimuli or roles than before ({_examples(names)})",
        advice=f"Put them back; give a set with other stimuli another name. Or {_NEW_STUDY}.",
        place=("sets",),
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


def _line(path: Path, key_path: Place) -> int | None:
    from heartfelt.study.yaml_lines import read_yaml

    try:
        return read_yaml(path.read_text(encoding="utf-8-sig"), str(path)).line(key_path) if key_path else None
    except (OSError, ValueError, StudyError):
        return None


def _differences(old: BaseModel, new: BaseModel) -> Iterator[tuple[str, Any, Any]]:
    """The keys in which two parts of a study differ, with both values as plain data."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield key, before.get(key), after.get(key)


def _study_edits(old: Study, new: Study) -> Iterator[Edit]:
    for key, was, now in _differences(old, new):
        if key in _HARMLESS_KEYS:
            yield Edit(key=key, problem="changed", place=(key,))
        elif key == "sets" and old.sets is not None and new.sets is not None:
            yield from _set_edits(old.sets, new.sets)
        elif key not in {"questions", "scales", "design", "probes", "prompts", "before", "after", "between"}:
            yield Edit(key=key, problem=_from_to(was, now), advice=_PUT_BACK, place=(key,))
    # Keys with rules of their own, which the loop above has passed over.
    yield from _prompt_edits(old, new)
    yield from _probe_edits(old, new)
    yield from _between_edits(old, new)
    for form in dict.fromkeys((*old.forms, *new.forms)):
        if form != "questions":
            yield from _form_edits(old, new, form)


def _set_edits(old: Sets, new: Sets) -> Iterator[Edit]:
    """Which sets there are may change, as long as those with answers stay what they are; what is done with them may not."""
    for name, was, now in _differences(old, new):
        advice = None if name in _HARMLESS_SETS else _PUT_BACK
        yield Edit(key=f"sets.{name}", problem=_from_to(was, now), advice=advice, place=("sets", name))


def _prompt_edits(old: Study, new: Study) -> Iterator[Edit]:
    """A prompt that raters read next to the stimulus must not change; other prompts are only records."""
    shown = any("prompt" in question.shows for question in old.asked)
    before = {prompt.id: prompt for prompt in old.prompts}
    for index, prompt in enumerate(new.prompts):
        was = before.pop(prompt.id, None)
        problem, advice = "changed", None
        if shown and was is not None and was.text != prompt.text:
            problem = _from_to(was.text, prompt.text)
            advice = f"Put it back, give the prompt a new id, or {_NEW_STUDY}."
        if was != prompt:
            yield Edit(key=f"prompts.{prompt.id}", problem=problem, advice=advice, place=("prompts", index))
    for name in before:
        yield Edit(key=f"prompts.{name}", problem="removed", place=("prompts",))


def _probe_edits(old: Study, new: Study) -> Iterator[Edit]:
    """A probe may be added or removed; one that stays must test the same thing."""
    before = {probe.id: probe for probe in old.probes}
    for index, probe in enumerate(new.probes):
        was = before.pop(probe.id, None)
        if was is None:
            yield Edit(key=f"probes.{probe.id}", problem="added", place=("probes", index))
            continue
        for name, then, now in _differences(was, probe):
            if name != "per_session" and not _same_or_translated(then, now):
                advice = f"Put it back, give the changed probe a new id, or {_NEW_STUDY}."
                key = f"probes.{probe.id}.{name}"
                yield Edit(key=key, problem=_from_to(then, now), advice=advice, place=("probes", index, name))
    for name in before:
        yield Edit(key=f"probes.{name}", problem="removed", place=("probes",))


def _question_edits(old: Study, new: Study) -> Iterator[Edit]:
    return _form_edits(old, new, "questions")


def _form_edits(old: Study, new: Study, where: str) -> Iterator[Edit]:
    """Edits to the questions about stimuli, or of a questionnaire, from which questions may be removed too."""
    before = {question.id: question for question in (old.asked_in(where) if where in old.forms else ())}
    after = {question.id: question for question in (new.asked_in(where) if where in new.forms else ())}
    at, written = new.forms.get(where, QuestionnaireSource((where.partition(":")[0],), []))
    numbers = {concrete.id: number for number, question in enumerate(written) for concrete in question.spread()}
    for name, question in before.items():
        rated = name if where == "questions" else None
        if name not in after:
            advice = None if rated is None else _NEW_QUESTION
            yield Edit(
                key=f"{where}.{name}", problem="the question was removed", advice=advice, question=rated, place=at
            )
            continue
        yield from _wording_edits(question, after[name], f"{where}.{name}", rated, (*at, numbers[name]))
        scales = old.scales[question.scale], new.scales[after[name].scale]
        yield from (replace(edit, question=rated) for edit in _scale_edits(name, *scales, after[name].scale))
    for name in (name for name in after if name not in before):
        yield Edit(key=f"{where}.{name}", problem="added", place=(*at, numbers[name]))


def _wording_edits(old: Question, new: Question, key: str, rated: str | None, place: Place) -> Iterator[Edit]:
    """Edits to what a question says and when it is asked; ``rated`` is the question if its answers are ratings."""
    for name, was, now in _differences(old, new):
        edit = Edit(key=f"{key}.{name}", problem="changed", place=(*place, name))
        if name in _HARMLESS_QUESTION or _same_or_translated(was, now):
            yield edit
        elif name != "scale":
            yield replace(edit, problem=_from_to(was, now), advice=_NEW_QUESTION, question=rated)


def _between_edits(old: Study, new: Study) -> Iterator[Edit]:
    """When a questionnaire between trials comes may change: every answer says after how many trials it was given."""
    before = {block.id: block for block in old.between}
    for number, block in enumerate(new.between):
        for key, was, now in _differences(before.get(block.id, block), block):
            if key != "questions":
                yield Edit(key=f"{block.form}.{key}", problem=_from_to(was, now), place=("between", number, key))


def _scale_edits(question: str, old: Scale, new: Scale, name: str) -> Iterator[Edit]:
    """A scale may be translated; the rules of free text may change, and lists of tags and suggestions may grow."""
    advice = f"Put it back. To use another scale, add a question with a new id and a scale of its own, or {_NEW_STUDY}."
    for key, was, now in _differences(old, new):
        key_path = ("scales", name, key)
        tags = isinstance(old, Tags) and isinstance(new, Tags) and key in {"tags", "suggestions"}
        grown = tags and (was or []) == (now or [])[: len(was or [])]
        if _same_or_translated(was, now):
            yield Edit(key=".".join(key_path), problem="translated", place=key_path)
        elif grown or (isinstance(old, FreeText) and isinstance(new, FreeText)):
            yield Edit(key=".".join(key_path), problem="changed", place=key_path)
        else:
            problem = f"question '{question}': {_from_to(was, now)}"
            yield Edit(key=".".join(key_path), problem=problem, advice=advice, question=question, place=key_path)


def _design_edits(old: Study, new: Study) -> Iterator[Edit]:
    lowered = new.design.ratings_per_item < old.design.ratings_per_item
    for name, was, now in _differences(old.design, new.design):
        key, key_path = f"design.{name}", ("design", name)
        if name == "ratings_per_item" and lowered:
            advice = "Put it back; to stop earlier, close the study in the dashboard."
            yield Edit(key=key, problem=f"lowered from {was} to {now}", advice=advice, place=key_path)
        elif name == "arms" and old.design.arms and new.design.arms:
            yield from _arm_edits(old, new)
        elif name in _HARMLESS_DESIGN:
            yield Edit(key=key, problem=_from_to(was, now), place=key_path)
        else:
            yield Edit(key=key, problem=_from_to(was, now), advice=_PUT_BACK, place=key_path)


def _arm_edits(old: Study, new: Study) -> Iterator[Edit]:
    """An arm may be added, weighted otherwise and translated; one with raters must stay what it is."""
    after = {arm.id: (number, arm) for number, arm in enumerate(new.design.arms)}
    for arm in old.design.arms:
        key = f"design.arms.{arm.id}"
        if arm.id not in after:
            yield Edit(key=key, problem="the arm was removed", advice=_PUT_BACK, place=("design", "arms"))
            continue
        number, changed = after.pop(arm.id)
        for name, was, now in _differences(arm, changed):
            harmless = name == "weight" or _same_or_translated(was, now)
            advice = None if harmless else f"Put it back, give the changed arm a new id, or {_NEW_STUDY}."
            key_path = ("design", "arms", number, name)
            yield Edit(key=f"{key}.{name}", problem=_from_to(was, now), advice=advice, place=key_path)
    for name, (number, _) in after.items():
        yield Edit(key=f"design.arms.{name}", problem="added", place=("design", "arms", number))


def _same_or_translated(old: Any, new: Any) -> bool:
    """Whether every text that was there is still there, in a language at least; further languages may be new."""
    match old, new:
        case str(), dict():
            return all(isinstance(text, str) for text in new.values()) and old in new.values()
        case dict(), dict():
            return _adds_languages(old, new) and all(_same_or_translated(was, new[key]) for key, was in old.items())
        case list(), list():
            return len(old) == len(new) and all(map(_same_or_translated, old, new))
    return bool(old == new)


def _adds_languages(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """Whether further keys are languages, as in a text; in anchors or categories they would be further points."""
    return old.keys() == new.keys() or (old.keys() < new.keys() and all(map(is_language, new)))


def _from_to(old: Any, new: Any) -> str:
    return f"changed from {_short(old)} to {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else f"'{value}'"
    return text if len(text) <= 60 else f"{text[:57]}…"
