"""The pages of a study as one rater after the other would see them, for looking at: steps without a session.

Every form of answer is drawn once in a trial of its own, with the texts that take most room; a grid, a plane and the drafts
of one stimulus are drawn as they come together. Conditions are left out: what may be shown is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from heartfelt.collect.material import stimulus_prompt
from heartfelt.collect.messages.commands import (
    AskConsent,
    AskDemographics,
    AskHeadphones,
    AskQuestionnaire,
    SessionEnd,
    ShowInstructions,
    ShownMember,
    ShowTrial,
    Step,
    TakeBreak,
)
from heartfelt.formats.study_folder.machine_values import machine_values
from heartfelt.study.model import AttentionProbe, HeadphoneProbe, Question, say
from heartfelt.web.rater.forms import form_numbers
from heartfelt.web.rater.presentation import Blinding, step_json

if TYPE_CHECKING:
    from heartfelt.formats.study_folder.manifest import OpenStudy
    from heartfelt.study import Study

_MEDIA = "0" * 24
_PER_SCALE = 2
"""Questions on the same scale that are drawn: those with the longest texts."""
_MOST_TRIALS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPage:
    """A page to draw in one language: its name, and the step that the page's modules show."""

    name: str
    language: str
    step: Mapping[str, Any]


def drawn_pages(opened: OpenStudy) -> list[DrawnPage]:
    """Every page to look at, in every language of the study."""
    study = opened.study
    blinding = Blinding(bytes(32), study)
    steps = [*_before(study), *_trials(opened), *_after(study)]
    return [
        DrawnPage(name=name, language=language, step=_unconditional(step_json(step, blinding, language)))
        for language in study.languages
        for name, step in steps
    ]


def _unconditional(step: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in step.items() if name not in {"show_if", "url"}}


def _before(study: Study) -> Iterator[tuple[str, Step]]:
    if study.consent is not None:
        yield "consent", AskConsent()
    if study.demographics:
        yield "demographics", AskDemographics()
    yield from _questionnaire(study, "before")
    probe = next((probe for probe in study.probes if isinstance(probe, HeadphoneProbe)), None)
    if probe is not None:
        yield "headphones", AskHeadphones(probe.id, probe.trials)
    yield "instructions", ShowInstructions()
    for arm in study.design.arms:
        if arm.instructions is not None:
            yield f"instructions of the arm '{arm.id}'", ShowInstructions(arm.instructions)


def _after(study: Study) -> Iterator[tuple[str, Step]]:
    if study.design.batch is not None:
        yield "break", TakeBreak(study.design.batch, 2 * study.design.batch)
    for block in study.between:
        yield from _questionnaire(study, f"between:{block.id}")
    yield from _questionnaire(study, "after")
    yield "end", SessionEnd(ending="complete", code="CODE1234")


def _questionnaire(study: Study, time: str) -> Iterator[tuple[str, Step]]:
    pages: dict[str | None, list[str]] = defaultdict(list)
    for question in study.asked_in(time):
        pages[question.page].append(question.id)
    for names in pages.values():
        yield f"questionnaire '{time}' ({', '.join(names[:3])})", AskQuestionnaire(time, tuple(names))


def _trials(opened: OpenStudy) -> Iterator[tuple[str, Step]]:
    study = opened.study
    members = _members(opened)
    prompt = _longest_prompt(opened)
    drafts = _drafts(opened)
    for names in _together(study)[:_MOST_TRIALS]:
        shown = {name: drafts[name] for name in names if name in drafts}
        yield (
            f"trial with {', '.join(names[:3])}",
            _trial(study, names, members=members, prompt=prompt, machine=shown),
        )
    for probe in study.probes:
        if isinstance(probe, AttentionProbe):
            words = say(probe.text, study.languages[0])
            yield f"attention trial '{probe.id}'", _trial(study, (probe.question,), words=words)


def _trial(study: Study, names: Sequence[str], **parts: Any) -> ShowTrial:
    of = max(study.design.stimuli_per_rater or 1, 100)
    media = None if parts.get("members") or parts.get("words") else _MEDIA
    return ShowTrial(
        trial="1", kind="rating", media=media, questions=tuple(names), number=of, of=of, lease_seconds=600.0, **parts
    )


def _together(study: Study) -> list[tuple[str, ...]]:
    """Questions by the trials they are drawn in: alone, or with those they share a grid, a plane or a draft with."""
    numbers = form_numbers(study)
    distinct = list({numbers[question.id]: question for question in reversed(study.asked)}.values())[::-1]
    grid = study.design.affect_grid
    groups: dict[object, list[Question]] = defaultdict(list)
    for question in distinct:
        if grid is not None and question.id in grid:
            groups["affect grid"].append(question)
        elif question.machine_first:
            groups["drafts"].append(question)
        elif question.grid is not None:
            groups["grid", question.grid].append(question)
        else:
            groups["scale", question.scale].append(question)
    out: list[tuple[str, ...]] = []
    for key, questions in groups.items():
        if isinstance(key, tuple) and key[0] == "scale":
            longest = sorted(questions, key=lambda question: -_length(question, study.languages))
            out += [(question.id,) for question in longest[:_PER_SCALE]]
        else:
            out.append(tuple(question.id for question in questions))
    return out


def _length(question: Question, languages: Sequence[str]) -> int:
    texts = (question.text, question.help or "")
    return max(sum(len(say(text, language)) for text in texts) for language in languages)


def _members(opened: OpenStudy) -> tuple[ShownMember, ...]:
    if opened.sets is None or not opened.sets.sets or opened.study.sets is None:
        return ()
    largest = max(opened.sets.sets, key=lambda unit: len(unit.members))
    kinds: list[Literal["judged", "reference", "x"]] = [
        "reference" if role == "reference" else "judged" for _, role in largest.members
    ]
    if opened.study.sets.type == "abx":
        kinds.append("x")
    return tuple(ShownMember(_MEDIA, kind) for kind in kinds)


def _longest_prompt(opened: OpenStudy) -> str | None:
    if not any("prompt" in question.shows for question in opened.study.asked):
        return None
    rows = opened.stimuli.iter_rows(named=True)
    return max((stimulus_prompt(opened.study, row) or "" for row in rows), key=len, default=None)


def _drafts(opened: OpenStudy) -> dict[str, str]:
    """The longest draft of each question that has one."""
    longest: dict[str, str] = {}
    for (_, question), (value, _) in machine_values(opened).items():
        longest[question] = max(longest.get(question, ""), value, key=len)
    return longest
