"""``make.yaml``: which generator makes which system's stimuli, from which texts, in which number.

It lies next to ``study.yaml``, which gives the intents (with their coordinates) and the systems. Stimuli are called
``{system}_{intent}_{number}``; where an intent has several texts, ``{system}_{intent}_{text}_{number}``. A prompt table, as
``heartfelt prompts --to`` writes it, gives its own ids.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field, ValidationError, model_validator

from heartfelt.errors import InputError, StudyError, suggestion
from heartfelt.files import inside, read_text
from heartfelt.formats.tables.columns import NamedTable
from heartfelt.serialization import dumps
from heartfelt.stimuli.generators.generator import GENERATORS, GeneratorKind, GeneratorSettings
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.streams import derived_seed
from heartfelt.study import Study, load_study
from heartfelt.study.load import STUDY_FILE, explained
from heartfelt.study.model import Id, Part, fill
from heartfelt.study.study import Intent
from heartfelt.study.yaml_lines import Document, read_yaml

MAKE_FILE = "make.yaml"
_HELP = "docs/make.md lists the keys of make.yaml."
_LONGEST_NAME = 100
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")


class MakeFile(Part):
    """What ``make.yaml`` says, less the systems' own keys."""

    seed: Annotated[int | None, Field(description="decides every stimulus; the study's if left out")] = None
    per_cell: Annotated[int, Field(ge=1, le=10_000, description="stimuli per system and intent")] = 1
    prompts: Annotated[str | None, Field(description="a table of stimulus, system, prompt and text")] = None
    template: Annotated[str | None, Field(description="the text, with {intent} in it")] = None
    templates: Annotated[list[str] | None, Field(min_length=1, description="several texts per intent")] = None
    seconds: Annotated[float | None, Field(gt=0, le=3600, description="length of a clip")] = None
    tolerance: Annotated[
        float, Field(ge=0, le=1, description="how far a clip's length may be from 'seconds', as a share")
    ] = 0.1
    size: Annotated[int | None, Field(ge=16, le=8192, description="pixels of an image's side")] = None
    attempts: Annotated[int, Field(ge=1, le=20, description="how often a stimulus is tried")] = 3
    systems: Annotated[dict[Id, dict[str, Any]], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_source_of_texts(self) -> MakeFile:
        if self.template is not None and self.templates is not None:
            raise ValueError("'template' and 'templates' are both given. Keep one of the two")
        if self.prompts is not None and (self.template or self.templates or self.per_cell > 1):
            raise ValueError(
                "'prompts' lists every stimulus with its text. Leave out 'template', 'templates' and 'per_cell'"
            )
        return self


@dataclass(frozen=True, slots=True)
class PlannedStimulus:
    """One stimulus to make: its prompt, and its file below the media folder, less the suffix."""

    prompt: StimulusPrompt
    stem: str

    def seed(self, seed: int, attempt: int = 1) -> int:
        """The seed of an attempt: it depends on the seed of ``make.yaml``, the system and the stimulus, and nothing else."""
        return derived_seed(seed, "generate", self.prompt.system, self.prompt.stimulus, attempt) % 2**31


@dataclass(frozen=True, kw_only=True)
class PlannedSystem:
    """One system: its generator with settings, and what it is to make."""

    name: str
    kind: GeneratorKind[GeneratorSettings]
    settings: GeneratorSettings
    attempts: int
    stimuli: tuple[PlannedStimulus, ...]

    @cached_property
    def deciding(self) -> dict[str, object]:
        dumped = self.settings.model_dump(mode="json", exclude=set(type(self.settings).operational))
        return {key: value for key, value in dumped.items() if value is not None}

    @property
    def batch(self) -> int:
        return int(getattr(self.settings, "batch", None) or 1)

    @cached_property
    def _given(self) -> dict[str, object]:
        """The deciding settings that are not the usual ones: a later version with further keys finds the same stimuli complete."""
        settings = self.settings
        return settings.model_dump(mode="json", exclude=set(type(settings).operational), exclude_defaults=True)

    @cached_property
    def settings_hash(self) -> str:
        return _hash(self._given)[:8]

    def digest(self, stimulus: PlannedStimulus, seed: int, source: str = "", *, stated: bool = True) -> str:
        """A hash of everything that decides a stimulus: settings, text, and its first seed or what it is taken from.

        Not ``stated``: as it was before the author said what model the generator runs.
        """
        prompt, later = stimulus.prompt, type(self.settings).stated_later
        settings = {key: value for key, value in self._given.items() if stated or key not in later}
        return _hash([settings, prompt.text, prompt.intent, source or stimulus.seed(seed)])[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePlan:
    """Everything ``make.yaml`` asks for."""

    folder: Path
    study: Study
    seed: int
    tolerance: float
    systems: tuple[PlannedSystem, ...]
    notes: tuple[str, ...] = ()

    @property
    def media_root(self) -> Path:
        """The folder that paths in the manifest are relative to."""
        return inside(self.folder, self.study.stimuli.media, f"{self.folder / STUDY_FILE}, stimuli.media")

    @property
    def manifest(self) -> Path:
        """The study's list of stimuli."""
        return inside(self.folder, self.study.stimuli.manifest, f"{self.folder / STUDY_FILE}, stimuli.manifest")

    @property
    def media_kind(self) -> str:
        """What the study's raters get: ``audio`` or ``image``."""
        return "image" if self.study.media == "image" else "audio"


def load_make(folder: Path | str) -> MakePlan:
    """Read ``make.yaml`` and ``study.yaml`` of a folder and list every stimulus; nothing is built and nothing made."""
    home = Path(folder)
    home = home.parent if home.is_file() else home
    study, path = load_study(home), home / MAKE_FILE
    text = read_text(path, "Write one that names a generator for each system; see docs/make.md.")
    document = read_yaml(text, str(path))
    if not isinstance(document.data, dict):
        raise StudyError(f"{path} names no systems.", "Write 'systems:' with a generator for each; see docs/make.md.")
    try:
        make_file = MakeFile.model_validate(document.data)
    except ValidationError as error:
        raise explained(error, document, str(path), MakeFile, help=_HELP) from error
    _check_systems(make_file, study, document, path)
    settings = {name: _settings(name, make_file, document, path, home) for name in make_file.systems}
    prompts = list(_prompts(make_file, settings, study, path))
    _check_ids(prompts, path)
    stimuli = [PlannedStimulus(prompt, stem) for prompt, stem in zip(prompts, _stems(prompts), strict=True)]
    systems = tuple(
        PlannedSystem(
            name=name,
            kind=kind,
            settings=system_settings,
            attempts=(system_settings.attempts or make_file.attempts) if kind.retries else 1,
            stimuli=tuple(stimulus for stimulus in stimuli if stimulus.prompt.system == name),
        )
        for name, (kind, system_settings) in settings.items()
    )
    unmade = [system.id for system in study.systems if system.id not in settings]
    notes = (f"make.yaml has no generator for {', '.join(unmade)}: their stimuli are not made here.",)
    return MakePlan(
        folder=home,
        study=study,
        seed=study.seed if make_file.seed is None else make_file.seed,
        tolerance=make_file.tolerance,
        systems=systems,
        notes=notes if unmade else (),
    )


def _check_ids(prompts: Sequence[StimulusPrompt], path: Path) -> None:
    doubled = [name for name, count in Counter(prompt.stimulus for prompt in prompts).items() if count > 1]
    if doubled:
        raise InputError(
            f"{path}: two stimuli would be called '{doubled[0]}'.",
            "Rename a system, an intent or a text, so that every id is different.",
        )


def _check_systems(make_file: MakeFile, study: Study, document: Document, path: Path) -> None:
    system_ids = [system.id for system in study.systems]
    for name in make_file.systems if system_ids else ():
        if name not in system_ids:
            line = document.line(("systems", name))
            raise StudyError(
                f"{path}, line {line}: study.yaml has no system '{name}'.",
                f"{suggestion(name, system_ids, 'Systems of the study')} Or add it to 'systems' in study.yaml.",
            )


def _settings(
    name: str, make_file: MakeFile, document: Document, path: Path, home: Path
) -> tuple[GeneratorKind[GeneratorSettings], GeneratorSettings]:
    entry, key_path = make_file.systems[name], ("systems", name)
    where = f"{path}, line {document.line(key_path)}, systems.{name}"
    if "generator" not in entry:
        raise StudyError(
            f"{where}: this key is missing: 'generator'.",
            f"Add one. Known generators: {', '.join(GENERATORS.names())}.",
        )
    if entry["generator"] not in GENERATORS and not GENERATORS.explains(str(entry["generator"])):
        raise StudyError(
            f"{where}: no generator is called '{entry['generator']}'.",
            suggestion(str(entry["generator"]), GENERATORS, "Known generators"),
        )
    kind = GENERATORS[entry["generator"]]
    usual = {key: getattr(make_file, key) for key in kind.settings.inherited if getattr(make_file, key) is not None}
    try:
        settings = kind.settings.model_validate({**usual, **entry}, context={"folder": home})
    except ValidationError as error:
        raise explained(error, document, str(path), kind.settings, key_path, _HELP) from error
    if settings.template is not None and settings.templates is not None:
        raise StudyError(f"{where}: 'template' and 'templates' are both given.", "Keep one of the two.")
    if make_file.prompts is not None and (settings.template or settings.templates):
        raise StudyError(
            f"{where}: it has a template, but every text is in {make_file.prompts}.", "Leave out the template."
        )
    return kind, settings


def _prompts(
    make_file: MakeFile,
    systems: dict[str, tuple[GeneratorKind[GeneratorSettings], GeneratorSettings]],
    study: Study,
    path: Path,
) -> Iterator[StimulusPrompt]:
    if make_file.prompts is not None:
        yield from _listed_prompts(inside(path.parent, make_file.prompts, f"{path}, prompts"), systems, study)
        return
    for name, (_, settings) in systems.items():
        for identifier, text in _texts(name, settings, make_file, study):
            if "{intent}" in text and not study.intents:
                raise InputError(
                    f"{path}: the text '{text}' of {name} mentions {{intent}}, but study.yaml has no intents.",
                    "Add intents to study.yaml, or write a text without {intent}.",
                )
            for intent in study.intents if "{intent}" in text else [None]:
                yield from _of_cell(name, intent, identifier, text, make_file.per_cell)


def _of_cell(system: str, intent: Intent | None, identifier: str, text: str, count: int) -> Iterator[StimulusPrompt]:
    """The prompts of one text for one intent, or of a text without one."""
    parts = [system, *([intent.id] if intent else []), *([identifier] if identifier else [])]
    for number in range(1, count + 1):
        numbered = [*parts, str(number)] if intent or count > 1 else parts
        yield StimulusPrompt(
            stimulus="_".join(numbered), system=system, intent=intent.id if intent else "",
            text=fill(text, {"intent": intent.id}) if intent else text,
            coordinates=dict(intent.reference) if intent else {}, prompt=identifier, index=number,
        )  # fmt: skip


def _texts(name: str, settings: GeneratorSettings, make_file: MakeFile, study: Study) -> list[tuple[str, str]]:
    """The texts of a system with their ids; a single text with intents has none."""
    templates = _templates(settings) or _templates(make_file)
    if templates:
        bare = [text for text in templates if "{intent}" not in text]
        if bare and study.intents:
            raise InputError(
                f"The template '{bare[0]}' of {name} does not mention the intent.", "Write {intent} where it belongs."
            )
        is_single = len(templates) == 1 and bool(study.intents)
        return [("" if is_single else str(number), text) for number, text in enumerate(templates, 1)]
    prompts = [prompt for prompt in study.prompts if not prompt.systems or name in prompt.systems]
    if prompts:
        several = len(prompts) > 1 or "{intent}" not in prompts[0].text
        return [(prompt.id if several else "", prompt.text) for prompt in prompts]
    if not study.intents:
        raise InputError(
            f"There is no text for {name}: study.yaml has no intents and no prompts.",
            "Give make.yaml 'prompts: prompts.csv' or 'templates', or add intents to study.yaml.",
        )
    return [("", "{intent}")]


def _templates(source: GeneratorSettings | MakeFile) -> list[str]:
    return source.templates or ([] if source.template is None else [source.template])


def _listed_prompts(
    source: Path, systems: dict[str, tuple[GeneratorKind[GeneratorSettings], GeneratorSettings]], study: Study
) -> Iterator[StimulusPrompt]:
    sheet = NamedTable.read(source)
    sheet.need("stimulus", "system", "text")
    sheet = sheet.with_ids("stimulus", "system", "prompt", "intent")
    sheet.unique("stimulus")
    for column, allowed in (("system", list(systems)), ("intent", [intent_entry.id for intent_entry in study.intents])):
        if column in sheet and allowed:
            series = sheet[column].cast(pl.String)
            bad = (~series.is_in(allowed)).fill_null(column == "system")
            fix = f"Systems of make.yaml and intents of study.yaml are known: {', '.join(allowed)}."
            sheet.refuse(bad, series, f"there is no {column} '{{cell}}'.", fix)
    references = {intent.id: intent.reference for intent in study.intents}
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in sheet.frame.to_dicts():
        system, text = str(row["system"]), str(row["text"] or "").strip()
        intent, identifier = str(row.get("intent") or ""), str(row.get("prompt") or "")
        if not text:
            raise InputError(f"{source}: {row['stimulus']} has no text.", "Fill in the column 'text'.")
        counts[system, intent, identifier] += 1
        yield StimulusPrompt(
            stimulus=str(row["stimulus"]),
            system=system,
            intent=intent,
            text=text,
            coordinates=dict(references.get(intent, {})),
            prompt=identifier,
            index=counts[system, intent, identifier],
        )


# --- file names -------------------------------------------------------------------------------------------------------


def _stems(prompts: Sequence[StimulusPrompt]) -> list[str]:
    """Where each stimulus goes below the media folder, less its suffix; no two alike, whatever the file system."""
    used_stems: set[str] = set()
    out = []
    for prompt in prompts:
        stem = f"{safe_name(prompt.system)}/{safe_name(prompt.stimulus)}"
        if stem.casefold() in used_stems:
            stem += f"-{_short_hash(prompt.system + '/' + prompt.stimulus)}"
        used_stems.add(stem.casefold())
        out.append(stem)
    return out


def safe_name(text: str) -> str:
    """A file name for an id, whatever its characters; one that had to be changed ends in a short hash of the id."""
    name = re.sub(r"[^\w .,+()=@-]", "_", unicodedata.normalize("NFC", text))
    name = re.sub(r"^[. -]|[. ]$", "_", name)
    while len(name.encode()) > _LONGEST_NAME:
        name = name[:-1]
    return name if name and name == text and not _RESERVED.match(name) else f"{name or '_'}-{_short_hash(text)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _hash(value: object) -> str:
    return hashlib.sha256(dumps(value, indent=None).encode()).hexdigest()
