"""Example clips as MP3 files: small, and played by Chrome, Firefox and Safari alike.

Where libsndfile was built without MP3 (before 1.1), the clips are FLAC, which the three play as well.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from heartfelt.files import write_bytes
from heartfelt.make.prompts import Prompt
from heartfelt.media.audio import Audio


class ClipMaker(Protocol):
    """A generator that makes clips."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems it can render for."""

    def generate(self, prompt: Prompt, seed: int = 0) -> Audio:
        """Make the clip."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A clip on its way to a compressed file."""

    audio: Audio
    kind: ClassVar[str] = "audio"

    def save(self, path: Path | str) -> Path:
        """Write the clip in the format its suffix names, MP3 included."""
        import soundfile

        path = Path(path)
        if path.suffix.lower() != ".mp3":
            return self.audio.save(path)
        memory = io.BytesIO()
        with soundfile.SoundFile(
            memory, "w", self.audio.rate, self.audio.channels, "MPEG_LAYER_III", format="MP3"
        ) as file:
            file.write(self.audio.samples)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, memory.getvalue())
        return path


@dataclass(frozen=True, slots=True)
class SmallClips:
    """A generator whose clips are saved as MP3."""

    maker: ClipMaker
    kind: str = "audio"

    @property
    def suffix(self) -> str:
        """``.mp3`` where it can be written, else ``.flac``."""
        import soundfile

        return ".mp3" if "MP3" in soundfile.available_formats() else ".flac"

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems of the maker behind it."""
        return self.maker.systems

    def generate(self, prompt: Prompt, seed: int = 0) -> Clip:
        """Make the clip."""
        return Clip(self.maker.generate(prompt, seed))
