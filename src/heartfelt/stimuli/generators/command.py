"""The generator ``command``: any program that writes a stimulus to a file.

``command: ["tool", "--prompt", "{prompt}", "--seed", "{seed}", "--out", "{file}"]`` is run once per stimulus, without a shell: a
prompt with quotes or semicolons in it is one argument, whatever it says. ``{prompt}`` is the text, ``{file}`` the file to write.
``model``, ``revision`` and ``licence`` say what the program runs, for the provenance.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from heartfelt.errors import InputError
from heartfelt.predictors.execution.work import shortened
from heartfelt.stimuli.generators.generator import (
    CannotGenerate,
    GeneratorKind,
    GeneratorSettings,
    SourceSurvey,
    register,
)
from heartfelt.stimuli.generators.provenance import ClipProvenance, StatedProvenance, missing_words
from heartfelt.stimuli.generators.results import LARGEST, FileMedia, media_kind, suffix_of
from heartfelt.stimuli.prompts.prompt import StimulusPrompt

_NAMES = ("prompt", "system", "intent", "stimulus", "index", "seed", "seconds", "size", "file")
_PART = re.compile(r"\{(\w*)\}")


class CommandSettings(StatedProvenance):
    """The command, how long it may take, and what is recorded about it."""

    operational: ClassVar[frozenset[str]] = GeneratorSettings.operational | {*("in_folder", "licence", "licence_url")}
    stated_later: ClassVar[frozenset[str]] = frozenset({"model", "revision"})

    command: Annotated[list[str], Field(min_length=1, description="the program and its arguments")]
    timeout: Annotated[float, Field(gt=0, description="seconds one stimulus may take")] = 600.0
    at_once: Annotated[int, Field(ge=1, le=64, description="commands that run at the same time")] = 1
    in_folder: Annotated[
        str, Field(validate_default=True, description="where the command runs; the study's folder if left out")
    ] = "."

    @field_validator("command")
    @classmethod
    def _writes_a_file(cls, value: list[str]) -> list[str]:
        for name in (name for part in value for name in _PART.findall(part)):
            if name not in _NAMES:
                placeholders = ", ".join(f"{{{placeholder}}}" for placeholder in _NAMES)
                raise ValueError(
                    f"{{{name}}} stands for nothing. Known: {placeholders}; write {{{{ and }}}} for braces"
                )
        if not any("{file}" in part for part in value):
            raise ValueError("no argument is {file}. The command must be told which file to write")
        return value

    @field_validator("in_folder")
    @classmethod
    def _from_the_study(cls, value: str, info: ValidationInfo) -> str:
        return str(Path((info.context or {}).get("folder", Path())) / Path(value).expanduser())


@dataclass(frozen=True, slots=True)
class CommandGenerator:
    """Runs the command once per stimulus."""

    settings: CommandSettings
    kind: str
    suffix: str
    systems: tuple[str, ...] = ()

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> FileMedia:
        with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
            path = Path(folder) / f"made{self.suffix}"
            values = {
                "prompt": prompt.text, "system": prompt.system, "intent": prompt.intent, "stimulus": prompt.stimulus,
                "index": str(prompt.index), "seed": str(seed), "file": str(path),
                "seconds": f"{self.settings.seconds:g}" if self.settings.seconds is not None else "",
                "size": str(self.settings.size or ""),
            }  # fmt: skip
            arguments = [_PART.sub(lambda part: values[part[1]], argument) for argument in self.settings.command]
            _run(arguments, self.settings)
            if not path.is_file():
                raise InputError("The command ended without writing {file}.", "Check its arguments.")
            if path.stat().st_size > LARGEST:
                raise InputError("The command wrote more than 512 MiB.", "Ask it for a shorter stimulus.")
            content = path.read_bytes()
        suffix = suffix_of(content) or self.suffix
        return FileMedia(content, media_kind(suffix), suffix)


def _run(arguments: list[str], settings: CommandSettings) -> None:
    """Run a program to its end; a failure is its exit code and the last line it wrote to standard error."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                arguments,
                cwd=settings.in_folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotGenerate(
                f"The command '{arguments[0]}' cannot be run: {error.strerror}.",
                "Install it, or correct 'command' in make.yaml.",
            ) from error
        try:
            code = process.wait(settings.timeout)
        except subprocess.TimeoutExpired:
            raise InputError(
                f"The command did not end within {settings.timeout:g} s.", "Raise 'timeout' in make.yaml."
            ) from None
        finally:
            _end(process)
        if code:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            words = f": {shortened(lines[-1], 300)}" if lines else ""
            raise InputError(f"The command ended with exit code {code}{words}", "Check its arguments.")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (OSError, AttributeError):  # Windows has no process groups
            process.kill()
        process.wait()


def _check(settings: CommandSettings) -> None:
    program = settings.command[0]
    is_installed = Path(settings.in_folder, program).is_file() if "/" in program else shutil.which(program) is not None
    if not is_installed and "{" not in program:
        raise CannotGenerate(f"There is no command '{program}'.", "Install it, or correct 'command' in make.yaml.")


def survey(settings: CommandSettings, prompts: Sequence[StimulusPrompt]) -> SourceSurvey:
    notes = missing_words([ClipProvenance.of(settings)] * len(prompts), "make.yaml")
    if any("{seed}" in part for part in settings.command):
        return SourceSurvey(notes=notes)
    # A seed that the program is never told made nothing.
    return SourceSurvey(provenance={prompt.stimulus: {"seed": None} for prompt in prompts}, notes=notes)


def _build(settings: CommandSettings, device: str) -> CommandGenerator:
    del device
    suffix = settings.suffix or (".png" if settings.size is not None else ".wav")
    return CommandGenerator(settings, media_kind(suffix), suffix)


register(
    GeneratorKind(
        name="command",
        about="any program that writes a file, run once per stimulus",
        settings=CommandSettings,
        build=_build,
        where="here",
        check=_check,
        survey=survey,
    )
)
