"""What a generator is asked for, one prompt per stimulus, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypedDict

from heartfelt.errors import InputError


class Rendering(TypedDict):
    """What every built-in renderer is given of a prompt: the feeling (1-9), the system, and what decides chance."""

    valence: float
    arousal: float
    system: str
    seed: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusPrompt:
    """One stimulus to be made: by which system, from which text, to convey what.

    ``coordinates`` hold the intent's reference values by question, for example valence and arousal on 1-9. ``prompt`` is the id
    of the text where there are several, ``index`` the number among the stimuli of one system, intent and text.
    """

    stimulus: str
    system: str
    intent: str
    text: str
    coordinates: Mapping[str, float] = field(default_factory=dict)
    prompt: str = ""
    index: int = 1

    def coordinate(self, question: str) -> float:
        """The reference value under ``question``, or an error that names the stimulus."""
        if question not in self.coordinates:
            raise InputError(
                f"The prompt of {self.stimulus} has no reference value for '{question}'.",
                f"Give the intent '{self.intent}' its {question} in the study's intents.",
            )
        return float(self.coordinates[question])

    def rendering(self, seed: int) -> Rendering:
        """The arguments for a built-in renderer."""
        valence, arousal = self.coordinate("valence"), self.coordinate("arousal")
        return Rendering(valence=valence, arousal=arousal, system=self.system, seed=seed, name=self.stimulus)


def prompts_for(
    intents: Mapping[str, Mapping[str, float]],
    systems: Sequence[str],
    *,
    per_cell: int = 1,
    template: str = "{intent}",
    templates: Mapping[str, str] | None = None,
) -> list[StimulusPrompt]:
    """One prompt for each of ``per_cell`` stimuli in every (system, intent) cell.

    ``templates`` give a system its own text where ``template`` does not suit it. Stimuli are called
    ``{system}_{intent}_{number}``, numbered from 1.
    """
    if per_cell < 1:
        raise InputError(f"per_cell is {per_cell}.", "Ask for at least one stimulus per cell.")
    strangers = sorted(set(templates or {}) - set(systems))
    if strangers:
        raise InputError(
            f"There is a template for '{strangers[0]}', which is not among the systems.",
            f"Name it in the systems, or remove its template. Systems: {', '.join(systems)}.",
        )
    prompts = []
    for system in systems:
        text = (templates or {}).get(system, template)
        if "{intent}" not in text:
            raise InputError(
                f"The template '{text}' of {system} does not mention the intent.", "Write {intent} where it belongs."
            )
        for intent, coordinates in intents.items():
            words = text.replace("{intent}", intent)
            prompts += [
                StimulusPrompt(
                    stimulus=f"{system}_{intent}_{number}",
                    system=system,
                    intent=intent,
                    text=words,
                    coordinates=dict(coordinates),
                )
                for number in range(1, per_cell + 1)
            ]
    return prompts


class GeneratedMedium(Protocol):
    """What a generator makes: something of a ``kind`` ("audio", "image") that can save itself."""

    @property
    def kind(self) -> str:
        """What a rater does with it: "audio" or "image"."""

    def save(self, path: Path | str) -> Path:
        """Write it in the format the suffix names, and return the path."""


class Generator(Protocol):
    """Something that makes stimuli from prompts."""

    @property
    def kind(self) -> str:
        """The kind of media it makes."""

    @property
    def suffix(self) -> str:
        """The default suffix of its files."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems it can render for; empty if any name is accepted."""

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> GeneratedMedium:
        """Make the stimulus; the same prompt and seed make the same one."""
