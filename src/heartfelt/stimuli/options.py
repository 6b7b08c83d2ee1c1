"""How stimuli are chosen, started and prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from heartfelt.errors import InputError, require
from heartfelt.options import Option, check

Crop: TypeAlias = Literal["random", "energy", "start", "centre"]
Channels: TypeAlias = Literal["keep", "mono", "stereo"]
Content: TypeAlias = Literal["any", "instrumental", "speech"]
Choice: TypeAlias = Literal["clear", "spread", "random"]


def parse_range(limits: str | Sequence[float]) -> tuple[float, float]:
    """Two numbers, or a text such as ``1..9``."""
    parts = limits.split("..") if isinstance(limits, str) else list(limits)
    try:
        low, high = (float(part) for part in parts)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high:
        raise InputError(f"'{limits}' is no range.", "Write the lowest and the highest number, such as 1..9 or -1..1.")
    return low, high


def _rate(rate: int | str) -> int | None:
    return None if rate == "keep" else int(_number(rate, "rate"))


def _loudness(loudness: float | str) -> float | None:
    return None if loudness == "keep" else _number(loudness, "loudness")


def _number(text: float | str, name: str) -> float:
    try:
        return int(text) if name == "rate" else float(text)
    except ValueError:
        raise InputError(f"'{text}' is no {name}.", "Give a number, or 'keep' to leave it as it is.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentOptions:
    """Which emotion words are chosen."""

    per_quadrant: Annotated[int, Option(help="Words for each quadrant.", low=1)] = 3
    margin: Annotated[float, Option(help="Words this near to the middle (5) are left out.")] = 1.0
    by: Annotated[Choice, Option(help="How to choose: clear, spread or random.")] = "clear"
    seed: Annotated[int, Option(help="Seed of the random choice.")] = 0

    def __post_init__(self) -> None:
        require(
            self.per_quadrant >= 1 and 0 <= self.margin < 4,
            f"per_quadrant = {self.per_quadrant} and margin = {self.margin:g} leave nothing to choose.",
            "Ask for at least one word, and a margin from 0 to less than 4.",
        )
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterOptions:
    """How a study is started."""

    per_cell: Annotated[int, Option(help="Example stimuli per system and intent.", low=1, high=100)] = 1
    media: Annotated[bool, Option(help="Render example stimuli, so that the study can be run at once.")] = True
    seed: Annotated[int | None, Option(help="Seed of the study; the recipe's own if left out.")] = None
    design: Mapping[str, int] = field(default_factory=dict)
    """Numbers of the recipe's design to change, such as ``ratings_per_item``."""

    def __post_init__(self) -> None:
        if self.per_cell < 1:
            raise InputError(f"A cell of {self.per_cell} stimuli is empty.", "Ask for at least one stimulus per cell.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareOptions:
    """What is done to every stimulus. Sound settings have no effect on pictures, and the other way round."""

    seconds: Annotated[float | None, Option(help="Length of the crop; the whole clip if left out.")] = None
    crop: Annotated[
        Crop,
        Option(
            help="Where to crop: at a random place between the marks; the same, but only where the clip is not much quieter than"
            " at its loudest (energy); at the first mark (start); or in the middle between them (centre)."
        ),
    ] = "random"
    between: Annotated[
        tuple[float, float],
        Option(
            help="The marks a crop lies between, as shares.", metavar="LOW..HIGH", separator="..", parse=parse_range
        ),
    ] = (0.15, 0.85)
    fade: Annotated[float, Option(help="Seconds over which a cut end fades.")] = 0.02
    channels: Annotated[Channels, Option(help="keep, mono or stereo.")] = "keep"
    rate: Annotated[int | None, Option(help="Samples per second, or 'keep'.", parse=_rate)] = 48_000
    loudness: Annotated[
        float | None, Option(help="LUFS of every clip, or 'keep' to leave levels untouched.", parse=_loudness)
    ] = -23.0
    peak: Annotated[float, Option(help="Highest true peak in dB; a clip that would pass it stays quieter.")] = -1.0
    format: Annotated[
        str | None,
        Option(help="Suffix of the files, such as .opus or .webp (the usual ones), .flac, .wav, .ogg, .png or .jpg."),
    ] = None
    side: Annotated[int | None, Option(help="Pictures: pixels of the longer side.")] = None
    content: Annotated[
        Content, Option(help="What clips are meant to be: instrumental (checked for voices), speech (its rate) or any.")
    ] = "any"

    def __post_init__(self) -> None:
        check(self)
        low, high = self.between
        require(0 <= low < high <= 1, f"There is nothing between {low:g} and {high:g}.", "Give two marks from 0 to 1.")
        wrong = [
            name for name in ("seconds", "rate", "side") if (value := getattr(self, name)) is not None and value <= 0
        ]
        require(
            not wrong and self.fade >= 0, f"{', '.join(wrong) or 'fade'} must be positive.", "Give a positive number."
        )
