"""What a collection shows: the study's units with their media, texts and machine-filled values.

A unit is what one trial presents: a stimulus, or a set of them. Which one is known only here (``Unit``), where a trial is
presented (``session.steps``), answered and its listening judged (``session.answers``), and where what was answered is read
(``reading.sets``): assignment, leases, quotas and the journal deal in unit numbers.
"""

from __future__ import annotations

import hmac
import mimetypes
import os
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from heartfelt.collect.assign.model import AssignmentUnits
from heartfelt.collect.messages.commands import CollectOptions
from heartfelt.errors import require
from heartfelt.formats.study_folder.arms import arm_stimuli
from heartfelt.formats.study_folder.drafts import DraftFacts, draft_facts
from heartfelt.formats.study_folder.machine_values import asked_with_drafts, machine_values
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.media.probe import PROBED
from heartfelt.study import Study
from heartfelt.study.consistency.arms import questions_in
from heartfelt.study.model import AnchorProbe, fill
from heartfelt.study.parts.sets import Role
from heartfelt.tables import need_columns

_PROBED_ONLY = frozenset(PROBED) - {"duration"}
ALL_QUESTIONS = ""
"""In place of a question, for a unit that is a stimulus with all its questions."""
_NONE: Mapping[str, tuple[str, str]] = {}
_TYPES = {".wav": "audio/wav", ".flac": "audio/flac", ".opus": "audio/ogg", ".webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A media file of the study."""

    file: str
    content_type: str
    stimulus: str

    @property
    def path(self) -> Path:
        """Where the file is; made when asked for, since a study may have a hundred thousand of them."""
        return Path(self.file)


class UnitMember(NamedTuple):
    """One stimulus of a set."""

    stimulus: str
    role: Role
    media: str | None
    prompt: str | None
    duration: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What one trial is about: a stimulus or a set with its questions, or one item."""

    number: int
    stimulus: str
    """The stimulus, or the set."""
    questions: tuple[str, ...]
    media: str | None
    prompt: str | None
    machine: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Values a machine filled in and their sources, by question."""
    duration: float | None = None
    """Seconds the clip lasts; None for an image or where that is not known."""
    members: tuple[UnitMember, ...] = ()
    """The stimuli of a set; empty for a single stimulus."""

    @property
    def signature(self) -> str:
        """A short text that changes with the members of a set; empty for a single stimulus."""
        names = "".join(f"{member.stimulus}\0{member.role}\0" for member in self.members)
        return f"{zlib.crc32(names.encode()):08x}" if names else ""

    @property
    def stimuli(self) -> tuple[str, ...]:
        """The stimuli the unit presents."""
        return tuple(member.stimulus for member in self.members) or (self.stimulus,)


@dataclass(frozen=True, kw_only=True)
class StudyUnits:
    """All units, and what the design makes of them."""

    study: Study
    opened: OpenStudy
    units: Mapping[int, Unit]
    layout: AssignmentUnits
    media: Mapping[str, MediaFile]
    practice: Sequence[int]
    """Units that are set aside for practice."""
    anchors: Mapping[str, Sequence[int]]
    """Units of each anchor probe whose media are there."""
    playable: frozenset[int]
    """Units whose media are there, or that have none."""
    missing: Sequence[tuple[str, str]]
    """Stimuli that are left out because their media cannot be shown, and why."""
    others: Mapping[str, Sequence[str]]
    """Every machine value there is, by question."""

    @property
    def common_names(self) -> list[str]:
        """The stimuli or sets that every rater gets."""
        return [self.units[number].stimulus for number in self.layout.common]

    @cached_property
    def draft_facts(self) -> DraftFacts:
        """Boxes and limits of the drafts."""
        return draft_facts(self.opened.drafts)

    @cached_property
    def item_names(self) -> pl.DataFrame:
        """Stimulus and question of every ordinary item, and the place of its unit: in each arm in turn, where there are arms."""
        arms = self.layout.arms or {"": self.layout}
        numbers = [(arm, number) for arm, layout in arms.items() for number in layout.units]
        numbers += [(arm, number) for arm, layout in arms.items() for number in layout.common]
        rows = [
            (self.units[number].stimulus, question, position)
            for position, (arm, number) in enumerate(numbers)
            for question in questions_in(self.study, arm, self.units[number].questions)
        ]
        schema = {"stimulus": pl.String, "question": pl.String, "unit": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row")


def unit_names(opened: OpenStudy) -> list[tuple[str, str]]:
    """The (stimulus or set, question) names of all units, in the order of the manifest or of the sets."""
    if opened.sets is not None:
        together = opened.study.design.questions_per_page == "all"
        asked_each = [ALL_QUESTIONS] if together else [question.id for question in opened.study.asked]
        return [(stimulus_set.id, question) for stimulus_set in opened.sets.sets for question in asked_each]
    if opened.study.design.questions_per_page == "all":
        with_items = set(opened.items["stimulus"].to_list())
        return [(name, ALL_QUESTIONS) for name in opened.stimuli["stimulus"].to_list() if name in with_items]
    return list(opened.items.select("stimulus", "question").iter_rows())


def make_material(
    opened: OpenStudy, numbers: Mapping[tuple[str, str], int], secret: bytes, options: CollectOptions
) -> StudyUnits:
    """Prepare the units under the numbers they have in the store."""
    study = opened.study
    columns = [name for name in opened.stimuli.columns if name not in _PROBED_ONLY]
    rows = {row["stimulus"]: row for row in opened.stimuli.select(columns).iter_rows(named=True)}
    missing = _missing(opened)
    # Units without their media keep number and ratings; they are only not presented.
    gone = {name for name, _ in missing}
    files = _media(opened, gone, secret)
    machine = machine_values(opened)
    units = _make_units(opened, numbers, rows, {file.stimulus: name for name, file in files.items()}, machine)
    playable = frozenset(number for number, unit in units.items() if gone.isdisjoint(unit.stimuli))
    shown = {number: unit for number, unit in units.items() if number in playable}
    set_aside = study.set_aside.keys()
    ordinary = {n: unit for n, unit in shown.items() if unit.questions and set_aside.isdisjoint(unit.stimuli)}
    practice = _named_units(study.design.practice_stimuli, "design.practice_stimuli", shown, rows)
    anchors = {
        probe.id: [
            number
            for number in _named_units(probe.stimuli, f"probe {probe.id}", shown, rows)
            if probe.question in units[number].questions
        ]
        for probe in study.probes
        if isinstance(probe, AnchorProbe)
    }
    common = _common(study, ordinary, rows)
    by_quota = {n: unit for n, unit in ordinary.items() if n not in common}
    layout = make_layout(study, by_quota, rows, max(numbers.values(), default=0) + 1, options)
    layout = replace(layout, common=common)
    if opened.sets is not None:
        layout = replace(layout, contestants=_contestants(units, rows), leading=_leading(study, units, rows))
    if study.design.arms:
        layout = replace(layout, arms=arm_layouts(opened, layout, units))
    values_by_question: dict[str, list[str]] = {}
    for (_, question), (value, _) in machine.items():
        values_by_question.setdefault(question, []).append(value)
    return StudyUnits(
        study=study,
        opened=opened,
        units=units,
        layout=layout,
        media=files,
        practice=practice,
        anchors=anchors,
        playable=playable,
        missing=missing,
        others=values_by_question,
    )


def _make_units(
    opened: OpenStudy,
    numbers: Mapping[tuple[str, str], int],
    rows: Mapping[str, Mapping[str, Any]],
    opaque: Mapping[str, str],
    machine: Mapping[tuple[str, str], tuple[str, str]],
) -> dict[int, Unit]:
    """Every unit; ``rows`` are those of the manifest, ``opaque`` the ids of media, both by stimulus."""
    study = opened.study
    questions_by_stimulus = _asked(opened)
    with_prompt = {question.id for question in study.asked if "prompt" in question.shows}
    sets = {} if opened.sets is None else {stimulus_set.id: stimulus_set.members for stimulus_set in opened.sets.sets}
    everything = tuple(question.id for question in study.asked)
    units: dict[int, Unit] = {}
    for stimulus, question in unit_names(opened):
        number = numbers[stimulus, question]
        if stimulus in sets:
            questions = everything if question == ALL_QUESTIONS else (question,)
            shows_prompt = not with_prompt.isdisjoint(questions)
            units[number] = _set_unit(number, stimulus, questions, sets[stimulus], study, rows, opaque, shows_prompt)
            continue
        questions = questions_by_stimulus[stimulus] if question == ALL_QUESTIONS else (question,)
        questions = asked_with_drafts(study, stimulus, questions, machine)
        units[number] = Unit(
            number=number,
            stimulus=stimulus,
            questions=questions,
            media=opaque.get(stimulus),
            prompt=None if with_prompt.isdisjoint(questions) else stimulus_prompt(study, rows[stimulus]),
            # One empty mapping for all units without drafts: there may be a hundred thousand of them.
            machine={q: machine[stimulus, q] for q in questions if (stimulus, q) in machine} if machine else _NONE,
            duration=rows[stimulus].get("duration"),
        )
    return units


def _named_units(names: Sequence[str], where: str, units: Mapping[int, Unit], rows: Mapping[str, object]) -> list[int]:
    """The units with stimuli that ``study.yaml`` names."""
    for name in names:
        require(
            name in rows,
            f"study.yaml, {where}: there is no stimulus '{name}' in the manifest.",
            "Add it to the manifest, or name another.",
        )
    wanted = set(names)
    return [number for number, unit in units.items() if not wanted.isdisjoint(unit.stimuli)]


def _set_unit(
    number: int,
    name: str,
    questions: tuple[str, ...],
    members: Sequence[tuple[str, Role]],
    study: Study,
    rows: Mapping[str, Mapping[str, Any]],
    opaque: Mapping[str, str],
    shows_prompt: bool,
) -> Unit:
    """A set as a unit. A prompt that its members share is that of the trial, else each member has its own."""
    prompts = [stimulus_prompt(study, rows[stimulus]) if shows_prompt else None for stimulus, _ in members]
    shared = prompts[0] if len(set(prompts)) == 1 else None
    own_prompts = [None if shared is not None else prompt for prompt in prompts]
    shown = tuple(
        UnitMember(stimulus, role, opaque.get(stimulus), prompt, rows[stimulus].get("duration"))
        for (stimulus, role), prompt in zip(members, own_prompts, strict=True)
    )
    return Unit(number=number, stimulus=name, questions=questions, media=None, prompt=shared, members=shown)


def _asked(opened: OpenStudy) -> dict[str, tuple[str, ...]]:
    """The questions of every stimulus."""
    if opened.study.stimuli.items is None:
        everything = tuple(question.id for question in opened.study.asked)
        return dict.fromkeys(opened.stimuli["stimulus"].to_list(), everything)
    groups = opened.items.group_by("stimulus", maintain_order=True).agg("question")
    if not opened.study.conditional:
        return {stimulus: tuple(questions) for stimulus, questions in groups.iter_rows()}
    # What a condition tests comes before the question that depends on it, as in the study.
    order = {question.id: position for position, question in enumerate(opened.study.asked)}
    return {stimulus: tuple(sorted(names, key=order.__getitem__)) for stimulus, names in groups.iter_rows()}


def make_layout(
    study: Study,
    units: Mapping[int, Unit],
    rows: Mapping[str, Mapping[str, object]],
    size: int,
    options: CollectOptions,
) -> AssignmentUnits:
    """The design in plain numbers."""
    design = study.design
    columns = set(next(iter(rows.values()), ()))

    def codes(names: Sequence[str], where: str) -> dict[int, int]:
        of_manifest = [name for name in names if name != "question"]
        need_columns(columns, of_manifest, f"study.yaml, design.{where}: the manifest")
        code_by_key: dict[tuple[object, ...], int] = {}
        out: dict[int, int] = {}
        for number, unit in units.items():
            key = tuple(unit.questions if name == "question" else _value(unit, rows, name) for name in names)
            out[number] = code_by_key.setdefault(key, len(code_by_key))
        return out

    ordered = design.order in {"blocks", "latin-square"}
    block = codes([design.block_by or "system"], "block_by") if ordered else {}
    sets = study.sets
    return AssignmentUnits(
        size=size,
        units=sorted(units),
        quota=design.ratings_per_item,
        cell=codes(design.distinct, "distinct") if design.distinct else {},
        block=block,
        order=design.order,
        lease=max(options.least_lease, 4 * design.expected_seconds),
        adaptive=design.adaptive,
        minimum=max(2, design.minimum_ratings) if sets is None else 0,
        spans=_spans(study) if design.adaptive and sets is None else {},
        matching=sets is not None and sets.type == "abx",
    )


def _spans(study: Study) -> dict[str, float]:
    """The range of the answers to every question by which an adaptive study chooses; 0 for categories."""
    spans: dict[str, float] = {}
    for question in study.asked:
        scale = study.scale_of(question.id)
        bounds = scale.bounds()
        if question.show_if:
            continue  # how often a question is asked under a condition is not up to the assignment
        if scale.level in {"interval", "ordinal"} and bounds:
            spans[question.id] = bounds[1] - bounds[0]
        elif scale.level == "nominal":
            spans[question.id] = 0.0
    return spans


def _value(unit: Unit, rows: Mapping[str, Mapping[str, object]], column: str) -> object:
    """A unit's value in a column of the manifest; for a set those of all its members, whatever their order."""
    if unit.members:
        return tuple(sorted(str(rows[stimulus].get(column)) for stimulus in unit.stimuli))
    return rows[unit.stimulus].get(column)


def _contestants(units: Mapping[int, Unit], rows: Mapping[str, Mapping[str, object]]) -> dict[int, tuple[int, ...]]:
    """The system of every judged member of a set as a number, or the stimulus where it has no system; -1 for others."""
    code_by_system: dict[object, int] = {}
    systems = {
        stimulus: ("system", row["system"]) if row.get("system") is not None else ("stimulus", stimulus)
        for stimulus, row in rows.items()
    }
    return {
        number: tuple(
            -1
            if member.role == "reference"
            else code_by_system.setdefault(systems[member.stimulus], len(code_by_system))
            for member in unit.members
        )
        for number, unit in units.items()
    }


def _common(study: Study, units: Mapping[int, Unit], rows: Mapping[str, Mapping[str, object]]) -> list[int]:
    """The units that every rater gets: those of the stimuli or sets that the design names."""
    names = set(study.design.always)
    sets = {unit.stimulus for unit in units.values() if unit.members}
    for name in study.design.always:
        require(
            name in rows or name in sets,
            f"study.yaml, design.always: there is no stimulus or set '{name}'.",
            "Add it to the manifest, or name another.",
        )
    common = [number for number, unit in units.items() if not names.isdisjoint((unit.stimulus, *unit.stimuli))]
    per_rater = study.design.stimuli_per_rater
    require(
        not common or (len(common) < len(units) and per_rater is not None and len(common) < per_rater),
        f"study.yaml, design.always: {len(common)} of {len(units)} trials would come to everybody, of"
        f" {per_rater} trials per rater.",
        "Name fewer: some trials must be left to draw from, and some room for them.",
    )
    return sorted(common)


def _leading(study: Study, units: Mapping[int, Unit], rows: Mapping[str, Mapping[str, object]]) -> dict[int, int]:
    """The place of the reference system's stimulus among the members of each set, where it always comes first."""
    if study.sets is None or not study.sets.reference_first:
        return {}
    reference = study.sets.reference
    return {
        number: index
        for number, unit in units.items()
        for index, member in enumerate(unit.members)
        if member.role != "hidden-reference" and rows[member.stimulus].get("system") == reference
    }


def with_quota(study: Study, quota: int) -> Study:
    """The study with more ratings per item."""
    return study.changed(design=study.design.model_copy(update={"ratings_per_item": quota}))


def raised(material: StudyUnits, quota: int) -> StudyUnits:
    """The same material with more ratings per item."""
    study = with_quota(material.study, quota)
    return replace(
        material, study=study, opened=replace(material.opened, study=study), layout=material.layout.with_quota(quota)
    )


def opaque_id(secret: bytes, stimulus: str) -> str:
    """The name a stimulus has for raters: tells nothing, and is the same as long as the store lives."""
    return hmac.digest(secret, b"media\0" + stimulus.encode(), "sha256").hex()[:24]


def _missing(opened: OpenStudy) -> list[tuple[str, str]]:
    lost = opened.stimuli.filter(pl.col("stimulus").is_in(opened.missing_media))
    reasons = lost["media_problem"] if "media_problem" in lost.columns else [None] * lost.height
    return [(name, reason or "file not found") for name, reason in zip(lost["stimulus"], reasons, strict=True)]


def _media(opened: OpenStudy, gone: set[str], secret: bytes) -> dict[str, MediaFile]:
    if "path" not in opened.stimuli.columns:
        return {}
    out: dict[str, MediaFile] = {}
    kinds: dict[str, str] = {}
    root = opened.media_root.resolve()
    for stimulus, path in opened.stimuli.select("stimulus", "path").iter_rows():
        if path is None or stimulus in gone:
            continue
        # Probing has made sure that the file is inside the folder.
        suffix = f".{path.rpartition('.')[2]}".lower()
        if suffix not in kinds:
            guessed = _TYPES.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0]
            kinds[suffix] = guessed or "application/octet-stream"
        out[opaque_id(secret, stimulus)] = MediaFile(f"{root}{os.sep}{path}", kinds[suffix], stimulus)
    return out


def stimulus_prompt(study: Study, row: Mapping[str, object]) -> str | None:
    """The text a stimulus of the manifest was made from, with its intent filled in."""
    prompt_text = row.get("prompt")
    for prompt in study.prompts:
        if prompt.id == prompt_text:
            return fill(prompt.text, {"intent": str(row.get("intent") or "")})
    return None if prompt_text is None else str(prompt_text)


def arm_layouts(opened: OpenStudy, layout: AssignmentUnits, units: Mapping[int, Unit]) -> dict[str, AssignmentUnits]:
    """The part of a layout that each arm shows; empty for a study without arms."""
    return {
        arm: _arm_part(
            layout,
            {
                number
                for number in layout.counted
                if units[number].stimulus in shown and questions_in(opened.study, arm, units[number].questions)
            },
        )
        for arm, shown in arm_stimuli(opened).items()
    }


def _arm_part(layout: AssignmentUnits, shown: Collection[int]) -> AssignmentUnits:
    """The layout of the units that an arm shows; blocks are numbered from 0, as a Latin square needs them."""
    units = [unit for unit in layout.units if unit in shown]
    block = {unit: layout.block[unit] for unit in units if layout.block}
    numbers = {code: number for number, code in enumerate(sorted(set(block.values())))}
    return replace(
        layout,
        units=sorted(units),
        common=[unit for unit in layout.common if unit in shown],
        cell={unit: layout.cell[unit] for unit in units if layout.cell},
        block={unit: numbers[code] for unit, code in block.items()},
    )
