"""How good speech sounds, on scales from 1 to 5: DNSMOS, DistillMOS, PLCMOS and AECMOS.

DNSMOS answers as listeners of P.835 and P.808 tests would: ``sig`` is the speech itself, ``bak`` the background, ``ovrl``
everything together (P.835); ``p808`` everything together as a P.808 listener rates it. Windows of 9.01 s, one second apart, without
those that the package leaves out; a shorter clip is repeated. DistillMOS gives one score, distilled from a large self-supervised
network. Windows of 7.68 s spread evenly, at most a second apart, as in the package; a shorter clip is followed by silence. A clip's
score is the mean over its windows. Personalised DNSMOS has a network and curves of its own and counts other voices as background.

PLCMOS judges what concealed packet losses left of speech, as the mean of fifteen simulated raters, who are drawn once and for all
(the package draws new ones for every clip, which moves its score in the second decimal). A clip of up to two minutes is judged
whole, as any is in the package: its score depends on the length. A longer one has windows of two minutes spread evenly, at most a
minute apart. AECMOS compares speech after echo cancellation with the far-end signal and the microphone's; of longer clips it takes
the first twenty seconds, as in the package.

Conventions: samples are mono float32 at 16,000 Hz.

Source: C. K. A. Reddy, V. Gopal and R. Cutler, DNSMOS P.835 (ICASSP 2022), ``dnsmos.py``, ``plcmos.py`` and ``aecmos.py`` of
speechmos 0.0.1.1; B. Stahl and H. Gamper (ICASSP 2025), as in ``conversion/speech.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from math import ceil, log

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.predictors.networks.fixed_inputs import Tensors, sound
from heartfelt.predictors.networks.mel import RATE, mel_power, mono, need_length, silence_doubts
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model
from heartfelt.streams import stream

Array = npt.NDArray[np.float32]

MOST_WINDOWS = 40
"""A recording with more windows than this is judged on this many, spread evenly over it."""
_FITS = {
    "sig": (-0.08397278, 1.22083953, 0.0052439),
    "bak": (-0.13166888, 1.60915514, -0.39604546),
    "ovrl": (-0.06766283, 1.11546468, 0.04602535),
}
"""The package's curves from the network's output to the listeners' scale, highest power first."""
_PERSONAL_FITS = {
    "pdnsmos-sig": (-0.01019296, 0.02751166, 1.19576786, -0.24348726),
    "pdnsmos-bak": (-0.04976499, 0.44276479, -0.1644611, 0.96883132),
    "pdnsmos-ovrl": (-0.00533021, 0.005101, 1.18058466, -0.11236046),
}
_DISTILLMOS_WINDOW, _PLCMOS_WINDOW = 122_880, 120 * RATE
_DNSMOS_SECONDS, _DNSMOS_WINDOW = 9.01, 144_160
_PLCMOS_SHORTEST = 0.1
"""Seconds below which its network has too few frames."""
_N_FFT, _HOP = 320, 160
_ECHO_WHOLE = 20 * RATE
"""The samples that AECMOS looks at."""
_PACKET_FFT, _RATERS = 512, 15
TALKS = ("far-end", "near-end", "double")
"""Who speaks while an echo is cancelled, as AECMOS can be told."""
_MARKED_FRAMES, _ECHO_BANDS, _ECHO_FFT = 20, 160, 512


@dataclass(frozen=True, slots=True)
class SpeechQuality:
    """The scores of a clip by name: the means over its windows."""

    scores: Mapping[str, float]
    windows: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Windows:
    """Where the windows of a recording begin, and what to know about them."""

    starts: tuple[int, ...]
    length: int
    warnings: tuple[str, ...] = ()

    def cut(self, samples: Array) -> Iterator[Array]:
        for start in self.starts:
            yield samples[start : start + self.length]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A network that judges speech window by window."""

    model: str
    scales: Mapping[str, str]
    """What each score is about."""
    window: int
    lengthen: Callable[[Array], Array]
    """A clip shorter than a window, made long enough."""
    starts: Callable[[int], list[int]]
    """Where windows begin in a clip of this many samples."""
    scores: Callable[[Model, Array], Mapping[str, float]]
    """The scores of one window."""
    shortest: float = 0.0
    """Seconds that a clip must last."""

    def __call__(self, samples: Array, *, model: Model | None = None) -> SpeechQuality:
        """The quality of mono speech at 16 kHz."""
        samples, warnings = checked_speech(samples, self.shortest)
        lengthened = self.lengthen(samples)
        windows = self.windows(len(lengthened), len(samples))
        return self.of_windows(windows.cut(lengthened), windows.warnings, warnings, model=model)

    def windows(self, frames: int, recorded: int | None = None) -> Windows:
        """Where to look in a clip of this many samples, of which the first ``recorded`` were not added to lengthen it."""
        return spread(self.starts(frames), self.window, frames if recorded is None else recorded)

    def of_windows(
        self, windows: Iterable[Array], *warnings: tuple[str, ...], model: Model | None = None
    ) -> SpeechQuality:
        loaded = model or load_model(self.model)
        rows = [self.scores(loaded, window) for window in windows]
        means = {name: float(np.mean([row[name] for row in rows])) for name in self.scales}
        return SpeechQuality(means, len(rows), sum(reversed(warnings), ()))


def checked_speech(samples: Array, shortest: float = 0.0) -> tuple[Array, tuple[str, ...]]:
    """The samples as float32, and what is doubtful about them; raise where there are none or less than so many seconds."""
    samples = mono(samples)
    need_length(samples, RATE, shortest, "the network")
    warnings = [*silence_doubts(samples)]
    if samples.size < RATE:
        warnings.append(f"the clip lasts {samples.size / RATE:.2f} s; scores of less than a second are unreliable")
    return samples, tuple(warnings)


def spread(starts: list[int], length: int, frames: int) -> Windows:
    """The windows to look at: all, with a warning of two seconds or more in none, or :data:`MOST_WINDOWS` spread evenly."""
    if len(starts) <= MOST_WINDOWS:
        unheard = frames - sum(
            min(start + length, following) - start
            for start, following in pairwise([*(min(start, frames) for start in starts), frames])
        )
        warning = f"as in the package, {unheard / RATE:.1f} of {frames / RATE:.1f} s are in none of its windows"
        return Windows(tuple(starts), length, (warning,) if unheard >= 2 * RATE else ())
    chosen = np.linspace(0, len(starts) - 1, MOST_WINDOWS).round().astype(int)
    warning = f"a long clip: judged on {MOST_WINDOWS} windows spread evenly over it"
    return Windows(tuple(starts[i] for i in chosen), length, (warning,))


def _repeated(samples: Array) -> Array:
    while len(samples) < _DNSMOS_WINDOW:
        samples = np.concatenate([samples, samples])
    return samples


def _dnsmos_starts(frames: int) -> list[int]:
    # The package counts whole seconds, so the last window may end up to two seconds before the clip does. Its product of seconds
    # and rate is not exact: windows that are a sample short for that (those after 7 to 23 s, 119 to 122 s, …) are left out.
    ends = {
        number * RATE: int((number + _DNSMOS_SECONDS) * RATE)
        for number in range(int(frames // RATE - _DNSMOS_SECONDS) + 1)
    }
    return [start for start, end in ends.items() if end - start == _DNSMOS_WINDOW]


def _p835_scores(fits: Mapping[str, tuple[float, ...]], model: Model, window: Array) -> dict[str, float]:
    (values,) = model.run({"input_1": window[None]}).values()
    return {scale: float(np.polyval(fits[scale], value)) for scale, value in zip(fits, values[0], strict=True)}


def _dnsmos_scores(model: Model, window: Array) -> dict[str, float]:
    bands = _decibels(window[:-160], 321, 160, 120)
    (values,) = model.run({"input_1": bands[None]}, file="p808.onnx").values()
    return _p835_scores(_FITS, model, window) | {"p808": float(values[0, 0])}


def _decibels(samples: Array, n_fft: int, hop: int, bands: int) -> Array:
    """Mel bands in decibels below the loudest, 80 at most, moved to about [-1, 1]."""
    level = 10.0 * np.log10(np.maximum(mel_power(samples, RATE, n_fft, hop, bands), np.float32(1e-10)))
    level -= level.max()
    scaled: Array = ((np.maximum(level, -80.0) + 40.0) / 40.0).astype(np.float32)
    return scaled


def _even_starts(length: int, spacing: int, frames: int) -> list[int]:
    """Windows from the beginning to the end of a clip, evenly spread and at most ``apart``."""
    over = max(frames - length, 0)
    return [int(share * over) for share in np.linspace(0, 1, ceil(over / spacing) + 1)]


def _distillmos_scores(model: Model, window: Array) -> dict[str, float]:
    return {"distillmos": float(model.run({"spectrograms": spectrogram(window)[None]})["score"][0])}


def spectrogram(window: Array) -> Array:
    """Real and imaginary parts with the magnitude to the power of 0.3, ``(2, 161, 768)``."""
    level = window / (np.abs(window).max() + np.float32(1e-8))
    padded = np.pad(level, (_N_FFT - _HOP) // 2, mode="reflect")
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_N_FFT) / _N_FFT)).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _N_FFT)[::_HOP] * hann
    spectrum = np.fft.rfft(frames, axis=1).T
    magnitude = np.maximum(np.abs(spectrum), np.float32(1e-12))
    compressed = spectrum * magnitude ** np.float32(0.3 - 1.0)
    return np.stack([compressed.real, compressed.imag]).astype(np.float32)


def _plcmos_scores(model: Model, window: Array) -> dict[str, float]:
    bands = packet_spectrum(window)[None, None]
    feeds = ({"degraded_audio": bands, "rater_embed": rater[None]} for rater in _raters())
    return {"plcmos": float(np.mean([model.run(feed)["plcmos"] for feed in feeds]))}


@cache
def _raters() -> Array:
    raters: Array = stream(0, "plcmos", "raters").normal(size=(_RATERS, 64)).astype(np.float32)
    return raters


def packet_spectrum(samples: Array) -> Array:
    """The logarithm of the squared power in frames of 32 ms with half overlap, over 20: ``(frames, 257)``."""
    half = _PACKET_FFT // 2
    count = ceil((len(samples) + half) / half)
    padded = np.pad(samples, (half, (count + 1) * half - half - len(samples)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _PACKET_FFT)[::half]
    power = np.abs(np.fft.rfft(frames * np.hamming(_PACKET_FFT + 1)[:-1])) ** 2
    heard = power > 0
    if not heard.any():
        return np.full(power.shape, -8 * log(10) / 20, np.float32)
    least = np.log(power[heard].min()) - 12 * log(10)
    bands: Array = (np.log(power, out=np.full(power.shape, least), where=heard) / 20).astype(np.float32)
    return bands


def aecmos(
    processed: Array, far_end: Array, microphone: Array, *, talk: str = "", model: Model | None = None
) -> SpeechQuality:
    """Echo (``aecmos-echo``) and other degradations (``aecmos-other``) in speech after echo cancellation.

    ``far_end`` is what the loudspeaker played, ``microphone`` what was recorded before the echo was cancelled; all begin at the
    same moment and are cut to the shortest. ``talk`` says who speaks (one of :data:`TALKS`), where that is known.
    """
    if talk and talk not in TALKS:
        raise InputError(f"'{talk}' does not say who speaks.", f"Choose from: {', '.join(TALKS)}, or say nothing.")
    processed, warnings = checked_speech(processed)
    signals = [checked_speech(samples)[0] for samples in (far_end, microphone)] + [processed]
    shortest = min(len(samples) for samples in signals)
    if shortest > _ECHO_WHOLE:
        warnings = (*warnings, "a long clip: judged on its first 20 s")
    if max(len(samples) for samples in signals) - shortest > RATE:
        warnings = (*warnings, "the three signals differ by more than a second; judged on the length of the shortest")
    bands = [
        _decibels(samples[: min(shortest, _ECHO_WHOLE)], _ECHO_FFT + 1, _ECHO_FFT // 2, _ECHO_BANDS)
        for samples in signals
    ]
    if talk:
        # The far-end signal is marked as silent where only the near end speaks, the microphone's the other way round.
        marks = (float(talk != "near-end"), float(talk != "far-end"), 1.0)
        silence = np.zeros((_MARKED_FRAMES, _ECHO_BANDS), np.float32)
        bands = [np.concatenate([rows, silence + mark, silence]) for rows, mark in zip(bands, marks, strict=True)]
    feeds = {"input": np.stack(bands)[None].astype(np.float32), "h0": np.zeros((4, 1, 64), np.float32)}
    loaded = model or load_model("aecmos")
    echo, other_quality = loaded.run(feeds, file="talk.onnx" if talk else "model.onnx")["output"][:2].tolist()
    return SpeechQuality({"aecmos-echo": echo, "aecmos-other": other_quality}, 1, warnings)


dnsmos = Judge(
    model="dnsmos",
    scales={
        "sig": "DNSMOS: the speech, P.835",
        "bak": "DNSMOS: the background, P.835",
        "ovrl": "DNSMOS: overall, P.835",
        "p808": "DNSMOS: overall, P.808",
    },
    window=_DNSMOS_WINDOW,
    lengthen=_repeated,
    starts=_dnsmos_starts,
    scores=_dnsmos_scores,
)
distillmos = Judge(
    model="distillmos",
    scales={"distillmos": "DistillMOS: overall quality"},
    window=_DISTILLMOS_WINDOW,
    lengthen=lambda samples: np.pad(samples, (0, max(0, _DISTILLMOS_WINDOW - len(samples)))),
    starts=partial(_even_starts, _DISTILLMOS_WINDOW, RATE),
    scores=_distillmos_scores,
)
pdnsmos = Judge(
    model="pdnsmos",
    scales={
        "pdnsmos-ovrl": "personalised DNSMOS: overall, P.835",
        "pdnsmos-sig": "personalised DNSMOS: the speech, P.835",
        "pdnsmos-bak": "personalised DNSMOS: the background, other voices included, P.835",
    },
    window=_DNSMOS_WINDOW,
    lengthen=_repeated,
    starts=_dnsmos_starts,
    scores=partial(_p835_scores, _PERSONAL_FITS),
)
plcmos = Judge(
    model="plcmos",
    scales={"plcmos": "PLCMOS: overall, after packet loss concealment"},
    window=_PLCMOS_WINDOW,
    lengthen=lambda samples: samples,
    starts=partial(_even_starts, _PLCMOS_WINDOW, _PLCMOS_WINDOW // 2),
    scores=_plcmos_scores,
    shortest=_PLCMOS_SHORTEST,
)
JUDGES = {judge.model: judge for judge in (dnsmos, distillmos, pdnsmos, plcmos)}


def reference_answers(model: Model) -> Tensors:
    long = sound(170_000)
    if model.name == "aecmos":
        far, microphone = 0.5 * long[::-1].copy(), long + 0.3 * long[::-1]
        return {talk or "any": _scores(aecmos(long, far, microphone, talk=talk, model=model)) for talk in ("", *TALKS)}
    judge = JUDGES[model.name]
    return {name: _scores(judge(samples, model=model)) for name, samples in (("long", long), ("short", long[:50_000]))}


def _scores(quality: SpeechQuality) -> npt.NDArray[np.float64]:
    return np.array(list(quality.scores.values()))
