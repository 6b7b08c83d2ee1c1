"""The generator ``folder``: stimuli of systems without an API, matched to files by a pattern.

``pattern: "{intent}_{index}.mp3"`` says how the files are called. ``{system}``, ``{intent}``, ``{prompt}`` and ``{index}`` stand
for the stimulus's own values, ``*`` for anything within a name. Upper and lower case, spaces and underscores, Unicode forms and
leading zeros of the index do not matter. Files are copied as they are; the folder is never changed. What ``make.yaml`` and the
table ``clips.csv`` in the folder say about the files is their provenance (:mod:`heartfelt.stimuli.generators.provenance`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from heartfelt.errors import InputError
from heartfelt.media.audio import content_hash
from heartfelt.stimuli.generators.generator import (
    CannotGenerate,
    GeneratorKind,
    GeneratorSettings,
    NoStimulus,
    SourceSurvey,
    register,
)
from heartfelt.stimuli.generators.provenance import (
    CLIPS_TABLE,
    ClipProvenance,
    StatedProvenance,
    checked_day,
    missing_words,
    read_clips_table,
    unused_rows,
)
from heartfelt.stimuli.generators.results import LARGEST, FileMedia, media_kind, suffix_of
from heartfelt.stimuli.prompts.prompt import StimulusPrompt

_NAMES = ("system", "intent", "prompt", "index")
_PART = re.compile(r"\{(\w*)\}|(\*)")


class FolderSettings(StatedProvenance):
    """Which files belong to which stimulus, and where they come from."""

    operational: ClassVar[frozenset[str]] = GeneratorSettings.operational | {
        *("folder", "first", "pattern", "table"),
        *("model", "revision", "licence", "licence_url", "generated_on", "settings"),
    }
    inherited: ClassVar[frozenset[str]] = frozenset()

    folder: Annotated[str, Field(description="the folder of the files, relative to the study's")]
    pattern: Annotated[str, Field(min_length=1, description="how the files are called")]
    first: Annotated[int, Field(ge=0, description="the index of the first file of a cell")] = 1
    table: Annotated[
        str | None,
        Field(description="what is known of each file, in the folder; clips.csv where there is one if left out"),
    ] = None
    generated_on: Annotated[str | None, Field(description="the day the files were generated, as 2026-03-04")] = None
    settings: Annotated[
        dict[str, Any], Field(default_factory=dict, description="what the service was told, for the provenance")
    ]

    @field_validator("folder")
    @classmethod
    def _from_the_study(cls, value: str, info: ValidationInfo) -> str:
        home = (info.context or {}).get("folder", Path())
        return str(Path(home) / Path(value).expanduser())

    @field_validator("generated_on", mode="before")
    @classmethod
    def _is_day(cls, value: object) -> str | None:
        return None if value is None else checked_day(str(value))

    @field_validator("pattern")
    @classmethod
    def _known_names(cls, value: str) -> str:
        unknown = [name for name, star in _PART.findall(value) if not star and name not in _NAMES]
        if unknown:
            raise ValueError(
                f"{{{unknown[0]}}} stands for nothing. Use {{system}}, {{intent}}, {{prompt}}, {{index}} or *"
            )
        if value.startswith("/") or ".." in value.split("/"):
            raise ValueError("the pattern leads out of the folder. Name files inside it")
        return value.removeprefix("./")


def _plain(text: str) -> str:
    """A name as it is compared: one Unicode form, no case, spaces as underscores."""
    return re.sub(r"[ _]+", "_", unicodedata.normalize("NFKC", text).casefold())


def _expression(settings: FolderSettings, prompt: StimulusPrompt) -> re.Pattern[str]:
    values = {"system": prompt.system, "intent": prompt.intent, "prompt": prompt.prompt}
    out, last = "", 0
    for part in _PART.finditer(settings.pattern):
        out += re.escape(_plain(settings.pattern[last : part.start()]))
        if part[2]:
            out += "[^/]*"
        elif part[1] == "index":
            out += f"(?<![0-9])0*{prompt.index - 1 + settings.first}(?![0-9])"
        else:
            out += re.escape(_plain(values[part[1]]))
        last = part.end()
    return re.compile(out + re.escape(_plain(settings.pattern[last:])))


def _files(settings: FolderSettings) -> dict[str, list[Path]]:
    """The folder's files by their names as they are compared, hidden ones left out."""
    root = Path(settings.folder)
    if not root.is_dir():
        raise InputError(f"There is no folder {root}.", "Put the files there, or correct 'folder' in make.yaml.")
    out: dict[str, list[Path]] = {}
    table = _table(settings)
    for path in sorted(root.rglob("*") if "/" in settings.pattern else root.iterdir()):
        relative = path.relative_to(root)
        if path.is_file() and path != table and not any(part.startswith((".", "~")) for part in relative.parts):
            out.setdefault(_plain(relative.as_posix()), []).append(path)
    return out


def _table(settings: FolderSettings) -> Path | None:
    path = Path(settings.folder) / (settings.table or CLIPS_TABLE)
    return path if settings.table is not None or path.is_file() else None


def match_files(
    settings: FolderSettings, prompts: Sequence[StimulusPrompt], files: Mapping[str, list[Path]]
) -> tuple[dict[str, Path], list[Path]]:
    """The file of each stimulus, and the files that belong to none; an error where that is not clear."""
    prompt_of: dict[Path, StimulusPrompt] = {}
    out: dict[str, Path] = {}
    for prompt in prompts:
        names = _matching(settings, prompt, files)
        matched = [path for name in names for path in files[name]]
        if len(matched) > 1:
            shown = " and ".join(path.name for path in matched[:2])
            raise InputError(
                f"{settings.folder}: {shown} both fit {prompt.stimulus} by the pattern '{settings.pattern}'.",
                "Remove or rename one of them, or make the pattern narrower.",
            )
        for path in matched:
            if path in prompt_of:
                raise _ambiguous(settings, prompt_of[path], prompt, path)
            prompt_of[path] = prompt
            out[prompt.stimulus] = path
    surplus = [path for paths in files.values() for path in paths if path not in prompt_of]
    return out, surplus


def _matching(settings: FolderSettings, prompt: StimulusPrompt, files: Mapping[str, list[Path]]) -> list[str]:
    expression = _expression(settings, prompt)
    if "*" in settings.pattern:
        return [name for name in files if expression.fullmatch(name)]
    # Without wildcards only the zeros of the index vary: a look-up in place of a comparison with every name.
    names = {_plain(_name(settings, prompt, width)) for width in range(1, 7)}
    return sorted(name for name in names if name in files and expression.fullmatch(name))


def _name(settings: FolderSettings, prompt: StimulusPrompt, width: int = 1) -> str:
    """How a stimulus's file is called, with an index of so many digits."""
    values = {"system": prompt.system, "intent": prompt.intent, "prompt": prompt.prompt}
    values["index"] = str(prompt.index - 1 + settings.first).zfill(width)
    return _PART.sub(lambda part: part[2] or values[part[1]], settings.pattern)


def _ambiguous(settings: FolderSettings, first: StimulusPrompt, second: StimulusPrompt, path: Path) -> InputError:
    differ = [
        f"{{{name}}}"
        for name in _NAMES
        if getattr(first, name) != getattr(second, name) and f"{{{name}}}" not in settings.pattern
    ]
    fix = (
        f"Add {differ[-1]} to the pattern." if differ else "Separate the parts of the pattern, as in {intent}_{index}."
    )
    return InputError(
        f"{path.name} fits both {first.stimulus} and {second.stimulus} by the pattern '{settings.pattern}'.", fix
    )


def survey(settings: FolderSettings, prompts: Sequence[StimulusPrompt]) -> SourceSurvey:
    if not Path(settings.folder).is_dir():
        reason = f"there is no folder {settings.folder}"
        return SourceSurvey(missing={prompt.stimulus: reason for prompt in prompts})
    files, root = _files(settings), Path(settings.folder)
    matched, surplus = match_files(settings, prompts, files)
    stated, table = ClipProvenance.of(settings), _table(settings)
    described = {} if table is None else read_clips_table(table, stated, _plain)
    clips = {name: described.get(_plain(path.relative_to(root).as_posix()), stated) for name, path in matched.items()}
    where = f"make.yaml, or to {settings.table or CLIPS_TABLE} in {root.name}"
    return SourceSurvey(
        missing={
            prompt.stimulus: f"there is no file {_name(settings, prompt)} in {root.name}"
            for prompt in prompts
            if prompt.stimulus not in matched
        },
        surplus=tuple(path.relative_to(root).as_posix() for path in surplus),
        sources={name: content_hash(path) for name, path in matched.items()},
        provenance={name: clip.columns() for name, clip in clips.items()},
        notes=(
            *missing_words(clips.values(), where),
            *(unused_rows(described, list(files), table.name) if table else ()),
        ),
    )


@dataclass(slots=True, kw_only=True)
class FolderGenerator:
    """Takes every stimulus from its file."""

    settings: FolderSettings
    files: Mapping[str, list[Path]]
    kind: str = "audio"
    suffix: str = ".wav"
    systems: tuple[str, ...] = ()

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> FileMedia:
        del seed
        matched, _ = match_files(self.settings, [prompt], self.files)
        if prompt.stimulus not in matched:
            raise NoStimulus(f"There is no file for {prompt.stimulus}.", "Put it into the folder.")
        path = matched[prompt.stimulus]
        if path.stat().st_size > LARGEST:
            raise NoStimulus(f"{path.name} is larger than 512 MiB.", "Use a shorter file.")
        content = path.read_bytes()
        suffix = suffix_of(content) or path.suffix.lower()
        source = path.relative_to(self.settings.folder).as_posix()
        return FileMedia(content, media_kind(suffix), suffix, source)


def _build(settings: FolderSettings, device: str) -> FolderGenerator:
    del device
    if settings.suffix is not None:
        raise CannotGenerate(
            "Files of a folder are copied as they are; they cannot be given another format.",
            "Leave out 'suffix'; 'heartfelt prepare --format' converts them.",
        )
    return FolderGenerator(settings=settings, files=_files(settings))


register(
    GeneratorKind(
        name="folder",
        about="files made elsewhere, such as by Suno or Udio, matched by a pattern",
        settings=FolderSettings,
        build=_build,
        where="here",
        survey=survey,
        retries=False,
    )
)
