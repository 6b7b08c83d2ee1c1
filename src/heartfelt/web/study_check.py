"""Whether a study is ready for raters: its study.yaml, its stimuli and their media, its drafts and what is planned to be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.study_folder.arms import arm_stimuli
from heartfelt.formats.study_folder.machine_values import asked_with_drafts, invalid_machine_values, machine_values
from heartfelt.formats.study_folder.manifest import OpenStudy, open_study, require_media
from heartfelt.formats.study_folder.set_plan import plan_sets
from heartfelt.predictors import PREDICTORS, parse_spec
from heartfelt.screening.rules.verification import advise_planting
from heartfelt.stimuli import forecast_make, load_make
from heartfelt.stimuli.generation.make_file import MAKE_FILE
from heartfelt.study.consistency.adjudication import adjudicated
from heartfelt.study.load import check_documents
from heartfelt.study.parts.branding import contrast_notes
from heartfelt.web.rater.texts import check_languages
from heartfelt.wording import plural


@dataclass(frozen=True, slots=True)
class StudyCheck:
    """A study that is valid, and what there is to know about it, in sentences."""

    opened: OpenStudy
    lines: tuple[str, ...]


def check_study(folder: Path) -> StudyCheck:
    """Check a study folder; an error where it could not be served."""
    opened = open_study(folder)
    notes = check_languages(opened.study, opened.folder)
    check_documents(opened.study, opened.folder)
    notes = [*notes, *contrast_notes(opened.study.branding), *_instruments(opened)]
    planned, problems = _to_make(opened.folder)
    lost, stimuli = opened.missing_media, opened.stimuli.height
    if lost:
        raise InputError(
            f"{folder}: study.yaml is valid, but {len(lost):,} of {stimuli:,} media files are missing or unreadable:"
            f" {', '.join(lost[:5])}{' …' if len(lost) > 5 else ''}.",
            "Run 'heartfelt make' to make them, or put the files where the stimuli's paths say."
            if planned
            else "Put the files where the stimuli's paths say, or correct the paths.",
        )
    if not planned:
        require_media(opened)
    by_arm = list(_arms(opened))
    units = f"{opened.items.height} items" if opened.sets is None else f"{len(opened.sets.sets)} sets"
    lines = [f"{folder}: valid. {stimuli} stimuli, {len(opened.study.asked)} questions, {units}."]
    if planned:
        lines.append(f"  make.yaml asks for {planned:,} further stimuli: run 'heartfelt make {folder}'.")
    if opened.sets is not None and (unused := opened.sets.left_out):
        notes = [*notes, f"{len(unused)} stimuli are in no set, such as {next(iter(unused))}."]
    conditions, never = _conditional(opened)
    lines += [f"  {line}" for line in (*notes, *_drafted(opened), *by_arm, *conditions)]
    warnings = (*problems, *_off_scale(opened), *never, *_planted(opened))
    lines += [f"  warning: {line}" for line in warnings]
    if (decided := adjudicated(opened.study)) and opened.study.adjudication is not None:
        rules = dict.fromkeys(rule.type for rule in opened.study.adjudication.rules)
        needed = opened.study.adjudication.after or opened.study.design.ratings_per_item
        lines.append(f"  Senior raters decide {', '.join(decided)} after {needed} ratings, where: {', '.join(rules)}.")
    plan = plan_sets(opened)
    if plan is not None:
        lines += [f"  {line}" for line in plan.lines()]
        lines += [f"  warning: {line}" for line in plan.warnings]
    return StudyCheck(opened=opened, lines=tuple(lines))


def _arms(opened: OpenStudy) -> Iterator[str]:
    """What each arm shows, and who is screened out by what."""
    study = opened.study
    shown = arm_stimuli(opened)
    for arm in study.design.arms:
        names = ("stimulus", "stimuli") if opened.sets is None else ("set", "sets")
        what = plural(len(shown[arm.id]), *names)
        asked = sum(arm.asks(question.id) for question in study.asked)
        read = "own instructions" if arm.instructions is not None else "the study's instructions"
        yield f"Arm '{arm.id}' (weight {arm.weight:g}): {what}, {plural(asked, 'question')}, {read}."
    if study.design.arms:
        wanted = plural(study.design.ratings_per_item, "rating")
        yield f"Every arm wants {wanted} of each of its items."
    if study.design.strata:
        yield f"Arms are balanced within: {', '.join(study.design.strata)}."
    if study.screeners:
        yield f"Screeners: {', '.join(screener.id for screener in study.screeners)}."


def _instruments(opened: OpenStudy) -> Iterator[str]:
    """The questionnaires that score themselves, their licences, and what to know about them."""
    for key, instrument in opened.study.instruments.items():
        columns = ", ".join(f"{key}_{name}" for name in instrument.subscales)
        note = f" {' '.join(instrument.note.split())}" if instrument.note else ""
        yield f"{instrument.name} ({instrument.licence.name}): {columns}.{note}"


def _to_make(folder: Path) -> tuple[int, list[str]]:
    """How many stimuli a make.yaml asks for that are not made yet, and what is in the way; its mistakes are errors."""
    if not (folder / MAKE_FILE).is_file():
        return 0, []
    load_make(folder)
    try:
        forecast = forecast_make(folder)
    except HeartfeltError as error:
        return 0, [f"make.yaml: {error.problem} {error.fix}"]
    problems = [f"make.yaml, {each.system}: {each.problem}" for each in forecast.systems if each.problem]
    problems += [
        f"make.yaml, {each.system}: {len(each.missing):,} stimuli have no file; 'heartfelt make --dry-run' lists them."
        for each in forecast.systems
        if each.missing
    ]
    return forecast.to_make, problems if forecast.to_make or any(each.missing for each in forecast.systems) else []


def _drafted(opened: OpenStudy) -> Iterator[str]:
    """Which machine-first questions have drafts; an error for a drafter that does not exist."""
    first = [question for question in opened.study.asked if question.machine_first]
    for question in first:
        if question.draft is not None:
            PREDICTORS[parse_spec(question.draft).name]
    filled = machine_values(opened)
    asked, counts = Counter(opened.items["question"]), Counter(question for _, question in filled)
    complete = [question.id for question in first if asked[question.id] == counts[question.id]]
    if complete:
        yield f"Drafted for all stimuli: {', '.join(complete)}."
    for question in first:
        if question.id not in complete:
            yield (
                f"{question.id}: {counts[question.id]:,} of {asked[question.id]:,} stimuli have a draft"
                " ('heartfelt draft' fills them in; raters answer the others without one)."
            )


def _conditional(opened: OpenStudy) -> tuple[list[str], list[str]]:
    """Of how many stimuli questions are asked that depend on drafts, and those nobody would be asked."""
    depend = [q.id for q in opened.study.asked if any(c.draft is not None for c in q.show_if)]
    machine = machine_values(opened) if depend else {}
    lines, never = [], []
    for name in depend:
        stimuli = opened.items.filter(question=name)["stimulus"].to_list()
        count = sum(bool(asked_with_drafts(opened.study, each, (name,), machine)) for each in stimuli)
        lines.append(f"{name}: asked of {count:,} of {len(stimuli):,} stimuli, by its conditions on drafts.")
        if not count:
            never.append(f"{name}: no stimulus has drafts that fulfil its conditions, so nobody would be asked.")
    return lines, never


def _off_scale(opened: OpenStudy) -> Iterator[str]:
    """Drafts that nobody could accept."""
    invalid = invalid_machine_values(opened)
    for question, count in Counter(name for _, name in invalid).items():
        stimulus, value = next((item[0], value) for item, value in invalid.items() if item[1] == question)
        yield (
            f"{question}: {count:,} drafts are no answer on the question's scale, such as '{value[:60]}' of {stimulus};"
            " they are not shown, and raters answer without one."
        )


def _planted(opened: OpenStudy) -> Iterator[str]:
    """Whether raters who accept every draft would be noticed, and what would make sure of it."""
    filled = machine_values(opened)
    if filled:
        yield from advise_planting(opened.study, len({stimulus for stimulus, _ in filled}), len(filled))
