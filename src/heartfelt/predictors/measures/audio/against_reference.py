"""``stoi`` and ``visqol``: how much of a reference is left in a processed copy of it.

Both signals are brought to one rate and one channel. Where they are alike, the copy is moved by up to a second onto the
reference, and both are cut to what they share; a copy that is then more than a tenth, and more than half a second, shorter or
longer than the reference is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.sound import decode_with_doubts
from heartfelt.media.sounds.intelligibility import RATE as STOI_RATE
from heartfelt.media.sounds.intelligibility import stoi
from heartfelt.predictors.interface.predictor import PREDICTORS, Case, Media
from heartfelt.predictors.measures.metrics import MeasuredFile, MetricPredictor, MetricScore
from heartfelt.predictors.networks.mel import is_silent

Array = npt.NDArray[np.float32]

FARTHEST_SECONDS, _ALIKE = 1.0, 0.3
_UNEQUAL_SECONDS, _UNEQUAL_SHARE = 0.5, 0.1
_LOWEST_RATE = 32_000
"""Samples per second that hold what can be told of music."""
NO_REFERENCE = (
    "no reference is known; name it in a column 'reference' of the stimuli (a stimulus, or a file that is there), or give files "
    "their originals with --reference"
)


class ReferenceMetric(MetricPredictor):
    """Compares a sound with its reference."""

    media_kinds = ("audio",)
    revision = 2
    needs_reference = True

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options)

    def measure(self, case: Case, score: str) -> MeasuredFile:
        if case.reference is None:
            return MeasuredFile({}, (NO_REFERENCE,))
        rate = self.rate(score)
        copy, doubts = decode_with_doubts(case.media_file.content, rate, min(rate, _LOWEST_RATE))
        original, its_doubts = self._original(case.reference, rate)
        original, copy, warnings = aligned(original, copy, rate)
        silent = ("the clip is silent",) if is_silent(float(np.abs(copy).max(initial=0.0))) else ()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = self.compared(original, copy, score)
        if not np.isfinite(value):
            return MeasuredFile({score: None}, silent)
        notes = (*doubts, *silent, *(f"the reference: {doubt}" for doubt in its_doubts), *warnings)
        return MeasuredFile({score: value}, notes)

    def _original(self, reference: Media, rate: int) -> tuple[Array, tuple[str, ...]]:
        """The reference, and what is doubtful about it; an error that says so where it cannot be used."""
        try:
            original, doubts = decode_with_doubts(reference.content, rate, min(rate, _LOWEST_RATE))
        except InputError as error:
            raise InputError(f"{reference.path}, the reference: {error.problem}", error.fix) from error
        except OSError as error:
            raise InputError(
                f"{reference.path}, the reference, cannot be read: {error.strerror}.", "Check the file."
            ) from error
        if is_silent(float(np.abs(original).max(initial=0.0))):
            raise InputError(
                f"{reference.path}, the reference, is silent: nothing can be compared with it.",
                "Give the undistorted original.",
            )
        return original, doubts

    def rate(self, score: str) -> int:
        """Samples per second at which two sounds are compared."""
        raise NotImplementedError

    def compared(self, original: Array, copy: Array, score: str) -> float:
        """The score of two sounds of equal length."""
        raise NotImplementedError

    def key(self, case: Case, score: str) -> str:
        return f"{super().key(case, score)} {score}"


def aligned(original: Array, copy: Array, rate: int) -> tuple[Array, Array, tuple[str, ...]]:
    """Both sounds without what only one of them has at its beginning and end, and what was done to them."""
    if not len(original) or not len(copy):
        raise InputError("There is no sound to compare.", "Give files with sound in them.")
    lag, notes = _lag(original, copy, rate), []
    if lag:
        notes.append(f"moved by {1000 * abs(lag) / rate:.0f} ms onto the reference")
    original, copy = (original, copy[lag:]) if lag > 0 else (original[-lag:], copy)
    unequal = abs(len(original) - len(copy))
    if unequal > max(_UNEQUAL_SECONDS * rate, _UNEQUAL_SHARE * len(original)):
        lengths = " and ".join(f"{len(part) / rate:.2f} s" for part in (original, copy))
        raise InputError(
            f"The reference and its copy last {lengths}.",
            "Cut them to the same stretch: they are compared moment by moment.",
        )
    if unequal > rate // 100:
        notes.append(f"{unequal / rate:.2f} s that only one of the two has were left out")
    length = min(len(original), len(copy))
    return original[:length], copy[:length], tuple(notes)


def _lag(original: Array, copy: Array, rate: int) -> int:
    """How many samples later the copy begins; 0 where the two are not alike at any lag."""
    import scipy.fft

    size = scipy.fft.next_fast_len(len(original) + len(copy), real=True)
    spectrum = np.conj(scipy.fft.rfft(original.astype(np.float64), size))
    product = scipy.fft.irfft(spectrum * scipy.fft.rfft(copy.astype(np.float64), size), size)
    reach = min(round(FARTHEST_SECONDS * rate), size // 2 - 1)
    near = np.concatenate([product[size - reach :], product[: reach + 1]])
    norm = float(np.linalg.norm(original.astype(np.float64)) * np.linalg.norm(copy.astype(np.float64)))
    best = int(np.abs(near).argmax())
    return best - reach if norm > 0 and abs(near[best]) >= _ALIKE * norm else 0


@PREDICTORS.register("stoi")
class Stoi(ReferenceMetric):
    """How intelligible processed speech is, against the clean speech."""

    name = "stoi"
    about = "intelligibility of processed speech against the clean speech, by STOI or extended STOI"
    argument = "which score: stoi (default) or estoi"
    limits = "It needs the clean speech, and judges intelligibility, not quality."
    scores: ClassVar[Mapping[str, MetricScore]] = {
        "stoi": MetricScore("STOI: intelligibility, 0 to 1", 0, 1),
        "estoi": MetricScore("extended STOI: intelligibility, 0 to 1", 0, 1),
    }

    def rate(self, score: str) -> int:
        del score
        return STOI_RATE

    def compared(self, original: Array, copy: Array, score: str) -> float:
        return stoi(original, copy, extended=score == "estoi")


@PREDICTORS.register("visqol")
class Visqol(ReferenceMetric):
    """How good a coded or processed sound is, against the original."""

    name = "visqol"
    extra = "metrics"
    about = "quality of coded or processed sound against the original, by ViSQOL"
    argument = "which score: audio (default; music and anything else) or speech"
    limits = "It needs the original, and knows the faults of codecs and networks."
    scores: ClassVar[Mapping[str, MetricScore]] = {
        "audio": MetricScore("ViSQOL, audio mode: quality, 1 to 5", 1, 5),
        "speech": MetricScore("ViSQOL, speech mode: quality, 1 to 5", 1, 5),
    }
    _rates: ClassVar[Mapping[str, int]] = {"audio": 48_000, "speech": 16_000}

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options)
        self._loaded: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": {}}

    def _settings(self) -> str:
        from importlib.metadata import version

        return f"{super()._settings()} by visqol-python {version('visqol-python')}"

    def rate(self, score: str) -> int:
        return self._rates[score]

    def compared(self, original: Array, copy: Array, score: str) -> float:
        from visqol import VisqolApi

        if score not in self._loaded:
            api = VisqolApi()
            api.create(mode=score, use_lattice_model=False)
            self._loaded[score] = api
        result = self._loaded[score].measure_from_arrays(
            original.astype(np.float64), copy.astype(np.float64), self.rate(score)
        )
        return float(result.moslqo)
