"""Stimuli made ready for raters: crops, fades, channels, rate, loudness and format, and what is wrong with them.

Originals stay untouched. A prepared file lies under ``prepared/`` in the folder of the media; the manifest then names it, with the
original in the column ``original`` and every number that decided it: where the crop begins, the gain, both hashes. The same
original, settings and seed give the same bytes. Preparing again begins with the originals.

A stimulus that cannot be prepared has a reason and no file, so that no rater meets it by accident.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from heartfelt.errors import HeartfeltError, InputError, UnknownNameError, require, suggestion
from heartfelt.files import inside, whole_file, write_text
from heartfelt.formats.columns import PARQUET, Sheet
from heartfelt.formats.delimited import csv_text
from heartfelt.media import audio
from heartfelt.media.checks import check_sound, energetic_starts, sound_hash
from heartfelt.media.duplicates import Bits, duplicate_groups, image_hash
from heartfelt.media.image import SUFFIXES, Picture, decode_image
from heartfelt.media.pixels import measure_image
from heartfelt.media.sound import Samples, resample, to_one_channel
from heartfelt.progress import Progress
from heartfelt.serialization import write_json
from heartfelt.stats._bounds import t_mean
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.anova import AnovaRow, anova
from heartfelt.streams import stream
from heartfelt.study import load_study
from heartfelt.study.load import STUDY_FILE

PREPARED = "prepared"
RECORD = "prepare.json"
Crop: TypeAlias = Literal["random", "energy", "start", "centre"]
Channels: TypeAlias = Literal["keep", "mono", "stereo"]
Step: TypeAlias = Callable[
    [Path, str, str, Path, str, "PrepareOptions", int], tuple["PreparedStimulus", Bits | None]
]
"""Prepares one stimulus: media folder, stimulus, original, its file, target, options, seed."""
_LENGTH_SLACK = 0.05
"""A clip may be this many seconds longer or shorter than the others of the study."""


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """What is done to every stimulus. Sound settings have no effect on pictures, and the other way round."""

    seconds: float | None = None
    """Length of the crop; the whole clip if None."""
    crop: Crop = "random"
    """Where: at a random place between the marks; the same, but only where the clip is not much quieter than at its loudest
    (10 dB); at the first mark; or in the middle between them."""
    between: tuple[float, float] = (0.15, 0.85)
    """The marks, as shares of the clip."""
    fade: float = 0.02
    """Seconds over which a cut end fades."""
    channels: Channels = "keep"
    rate: int | None = 48_000
    """Samples per second; as they are if None."""
    loudness: float | None = -23.0
    """LUFS that every clip is brought to; None leaves the level untouched."""
    peak: float = -1.0
    """The highest true peak in dB; a clip that would pass it stays quieter."""
    format: str | None = None
    """The suffix of the files: .opus, .flac, .wav or .ogg; .webp, .png or .jpg for pictures. By default .opus or .webp."""
    side: int | None = None
    """Pictures: the longer side is reduced to this many pixels; as it is if None."""

    def __post_init__(self) -> None:
        for name, kind in (("crop", Crop), ("channels", Channels)):
            if getattr(self, name) not in get_args(kind):
                raise UnknownNameError(
                    f"'{getattr(self, name)}' is no way to treat {name}.",
                    suggestion(getattr(self, name), get_args(kind), "Allowed"),
                )
        low, high = self.between
        require(
            0 <= low < high <= 1,
            f"There is nothing between {low:g} and {high:g}.",
            "Give two marks from 0 to 1.",
        )
        wrong = [
            name
            for name in ("seconds", "rate", "side")
            if (value := getattr(self, name)) is not None and value <= 0
        ]
        require(
            not wrong and self.fade >= 0,
            f"{', '.join(wrong) or 'fade'} must be positive.",
            "Give a positive number.",
        )


@dataclass(frozen=True, slots=True)
class PreparedStimulus:
    """One stimulus, prepared or not; fields are columns of the manifest where they are known."""

    stimulus: str
    original: str
    path: str | None = None
    original_sha256: str | None = None
    sha256: str | None = None
    crop_start: float | None = None
    """Seconds into the original."""
    seconds: float | None = None
    gain_db: float | None = None
    loudness_before: float | None = None
    """LUFS of the crop as it was."""
    loudness: float | None = None
    true_peak_db: float | None = None
    brightness: float | None = None
    width: int | None = None
    height: int | None = None
    duplicate_of: str | None = None
    checks: str | None = None
    """What is wrong or was held back, in words."""
    problem: str | None = None
    """Why there is no prepared file."""


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """How a measure differs between systems, before or after preparation."""

    measure: str
    n: int
    test: AnovaRow
    means: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Preparation:
    """What became of every stimulus of a study."""

    study: str
    options: PrepareOptions
    stimuli: tuple[PreparedStimulus, ...]
    differences: tuple[SystemDifference, ...]
    systems: Mapping[str, str] = field(default_factory=dict)
    """The system of each stimulus, where it is known."""

    @property
    def failed(self) -> tuple[PreparedStimulus, ...]:
        """Stimuli without a prepared file."""
        return tuple(each for each in self.stimuli if each.problem is not None)


def prepare(
    folder: Path,
    options: PrepareOptions | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Preparation:
    """Prepare every stimulus of a study folder, and write the manifest that names the prepared files."""
    chosen = options or PrepareOptions()
    study = load_study(folder)
    manifest = inside(folder, study.stimuli.manifest, f"{folder / STUDY_FILE}, stimuli.manifest")
    root = inside(folder, study.stimuli.media, f"{folder / STUDY_FILE}, stimuli.media")
    sheet = Sheet.read(manifest)
    sheet.need("stimulus", "path")
    sheet = sheet.with_ids("stimulus")
    sheet.unique("stimulus")
    frame = sheet.frame
    originals = frame["path"]
    if "original" in frame.columns:
        # A stimulus that was made again after preparation has no original yet.
        originals = frame.select(pl.coalesce("original", "path")).to_series()
    jobs = list(zip(frame["stimulus"].to_list(), originals.cast(pl.String).to_list(), strict=True))
    suffix = chosen.format or (".webp" if study.media == "image" else ".opus")
    known = SUFFIXES if study.media == "image" else audio.AUDIO_SUFFIXES
    if suffix not in known:
        raise UnknownNameError(f"No file can be written as '{suffix}'.", suggestion(suffix, known, "Formats"))
    step = _prepare_picture if study.media == "image" else _prepare_sound
    targets = _targets([original for _, original in jobs], suffix)
    results: list[tuple[PreparedStimulus, Bits | None]] = []
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        attempt = partial(_attempt, step, root, chosen, study.seed)
        for result in pool.map(attempt, *zip(*jobs, strict=True), targets):
            results.append(result)
            if progress is not None:
                progress("preparing", len(results), len(jobs))
    done = _with_duplicates(results)
    if study.media != "image":
        done = _with_lengths(done, chosen.seconds)
    columns = frame.get_column("system").cast(pl.String).to_list() if "system" in frame.columns else []
    systems = {name: each for (name, _), each in zip(jobs, columns, strict=False) if each is not None}
    preparation = Preparation(study.name, chosen, tuple(done), tuple(_differences(done, systems)), systems)
    table = _manifest(frame, done)
    if manifest.suffix.lower() in PARQUET:
        with whole_file(manifest) as file:
            table.write_parquet(file)
    else:
        write_text(manifest, csv_text(table))
    write_json(folder / RECORD, preparation)
    return preparation


def _targets(originals: Sequence[str | None], suffix: str) -> list[str]:
    """Where each prepared file goes: named after its original, with a number where several would have one name."""
    seen: Counter[str] = Counter()
    out = []
    for original in originals:
        name = f"{PREPARED}/{Path(original or '').with_suffix('').as_posix()}"
        seen[name] += 1
        out.append(f"{name}{f'-{seen[name]}' if seen[name] > 1 else ''}{suffix}")
    return out


def _attempt(
    step: Step, root: Path, options: PrepareOptions, seed: int, name: str, original: str | None, target: str
) -> tuple[PreparedStimulus, Bits | None]:
    """One stimulus; what fails becomes its problem, and leaves no prepared file behind."""
    if original is None:
        return PreparedStimulus(name, "", problem="the manifest names no file"), None
    try:
        source = inside(root, original, f"stimulus {name}")
        return step(root, name, original, source, target, options, seed)
    except HeartfeltError as error:
        (root / target).unlink(missing_ok=True)
        return PreparedStimulus(name, original, problem=error.problem), None


# --- sound ------------------------------------------------------------------------------------------------------------


def _prepare_sound(
    root: Path, name: str, original: str, source: Path, target: str, options: PrepareOptions, seed: int
) -> tuple[PreparedStimulus, Bits | None]:
    clip = audio.read_audio(source)
    first = check_sound(clip.samples, clip.rate)
    if first.silent:
        raise InputError("The clip is silent.", "Generate it again.")
    start, samples = _cropped(clip, name, options, seed)
    if options.channels == "mono":
        samples = to_one_channel(samples)[:, None]
    elif options.channels == "stereo" and samples.shape[1] == 1:
        samples = np.repeat(samples, 2, axis=1)
    rate = options.rate or clip.rate
    samples = resample(samples, clip.rate, rate)
    # An end that was cut fades in or out; what is left to report are the clip's own.
    length = clip.frames if options.seconds is None else round(options.seconds * clip.rate)
    own_end = round(start * clip.rate) + length >= clip.frames
    faded = {"begins abruptly": start > 0, "ends abruptly": not own_end} if options.fade else {}
    notes = [problem for problem in first.problems if not faded.get(problem)]
    if options.loudness is None:
        before, gain = audio.loudness(samples, rate), 0.0
    else:
        levelled = audio.normalise_loudness(samples, rate, options.loudness, peak_db=options.peak)
        samples, before, gain = levelled.samples, levelled.before, levelled.gain_db
        notes += [levelled.held_back] if levelled.held_back else []
    peak = audio.true_peak(samples, rate)
    if peak > 1.0:
        # Resampling and decoding may raise peaks above full scale, which no file can hold.
        gain -= 20.0 * float(np.log10(peak))
        samples, peak = samples / np.float32(peak), 1.0
        notes.append("lowered because its peaks passed full scale")
    path = audio.write_audio(root / target, samples, rate)
    made = PreparedStimulus(
        name,
        original,
        crop_start=round(start, 6),
        seconds=samples.shape[0] / rate,
        gain_db=gain,
        loudness_before=before.value,
        loudness=None if before.value is None else before.value + gain,
        true_peak_db=20.0 * float(np.log10(peak)) if peak > 0 else None,
    )
    return _written(made, source, path, target, notes), sound_hash(samples, rate)


def _cropped(clip: audio.Audio, name: str, options: PrepareOptions, seed: int) -> tuple[float, Samples]:
    """Where the crop begins, in seconds, and its samples with faded ends."""
    if options.seconds is None:
        return 0.0, clip.samples
    frames, rate, seconds = clip.frames, clip.rate, options.seconds
    length = audio.crop_length(frames, rate, seconds, name)
    earliest, latest = (round(mark * frames) for mark in options.between)
    latest -= length
    if latest < earliest:
        earliest = latest = min(max((earliest + latest) // 2, 0), frames - length)
    if options.crop == "random":
        start = audio.crop_start(frames, rate, seconds, seed=seed, name=name, between=options.between)
    elif options.crop == "start":
        start = earliest
    elif options.crop == "centre":
        start = (earliest + latest) // 2
    else:
        starts = np.round(energetic_starts(clip.samples, rate, seconds) * rate).astype(np.int64)
        allowed = starts[(starts >= earliest) & (starts <= latest)]
        choices = allowed if allowed.size else np.array([earliest])
        start = int(stream(seed, "make", "energy", name).choice(choices))
    samples = clip.samples[start : start + length].copy()
    size = min(round(options.fade * clip.rate), length // 2)
    if size:
        ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(size) + 0.5) / size)).astype(np.float32)[:, None]
        if start > 0:
            samples[:size] *= ramp
        if start + length < clip.frames:
            samples[-size:] *= ramp[::-1]
    return start / clip.rate, samples


def _with_lengths(done: Sequence[PreparedStimulus], wanted: float | None) -> list[PreparedStimulus]:
    """Note clips that are longer or shorter than wanted, or than most."""
    lengths = [each.seconds for each in done if each.seconds is not None]
    usual = wanted if wanted is not None else float(np.median(lengths)) if lengths else 0.0
    than = f"not the {usual:.2f} s asked for" if wanted is not None else f"where most last {usual:.2f} s"
    return [
        _noted(each, f"lasts {each.seconds:.2f} s, {than}")
        if each.seconds is not None and abs(each.seconds - usual) > _LENGTH_SLACK
        else each
        for each in done
    ]


# --- pictures ---------------------------------------------------------------------------------------------------------


def _prepare_picture(
    root: Path, name: str, original: str, source: Path, target: str, options: PrepareOptions, seed: int
) -> tuple[PreparedStimulus, Bits | None]:
    del seed
    image = decode_image(source)
    notes = []
    if options.side is not None:
        if max(image.size) < options.side:
            notes.append(f"smaller than {options.side} pixels")
        image.thumbnail((options.side, options.side))
    path = Picture(image).save(root / target)
    brightness = measure_image(image).brightness
    made = PreparedStimulus(name, original, brightness=brightness, width=image.width, height=image.height)
    return _written(made, source, path, target, notes), image_hash(image)


# --- all together -----------------------------------------------------------------------------------------------------


def _written(
    made: PreparedStimulus, source: Path, path: Path, target: str, notes: Sequence[str]
) -> PreparedStimulus:
    return replace(
        made,
        path=target,
        original_sha256=audio.content_hash(source),
        sha256=audio.content_hash(path),
        checks="; ".join(notes) or None,
    )


def _noted(each: PreparedStimulus, note: str, duplicate_of: str | None = None) -> PreparedStimulus:
    words = "; ".join(filter(None, [each.checks, note]))
    return replace(each, checks=words, duplicate_of=duplicate_of or each.duplicate_of)


def _with_duplicates(results: Sequence[tuple[PreparedStimulus, Bits | None]]) -> list[PreparedStimulus]:
    groups = duplicate_groups([bits for _, bits in results]).tolist()
    return [
        each
        if groups[place] == place
        else _noted(
            each,
            f"nearly the same as {results[groups[place]][0].stimulus}",
            duplicate_of=results[groups[place]][0].stimulus,
        )
        for place, (each, _) in enumerate(results)
    ]


_MEASURES = {
    "loudness_before": "loudness before (LUFS)",
    "loudness": "loudness after (LUFS)",
    "seconds": "duration (s)",
    "brightness": "brightness (L*)",
}


def _differences(done: Sequence[PreparedStimulus], systems: Mapping[str, str]) -> list[SystemDifference]:
    """Every measure by system, tested: loudness, duration and brightness drive arousal, whatever a system conveys."""
    out = []
    for name, words in _MEASURES.items():
        rows = [
            (systems[each.stimulus], float(value))
            for each in done
            if each.stimulus in systems and (value := getattr(each, name)) is not None
        ]
        groups = {system: [value for own, value in rows if own == system] for system, _ in rows}
        if len(groups) < 2:
            continue
        values = [value for _, value in rows]
        (row,) = anova(values, {"system": [system for system, _ in rows]}).rows
        means = {system: _mean(each) for system, each in sorted(groups.items())}
        out.append(SystemDifference(words, len(rows), row, means))
    return out


def _mean(values: Sequence[float]) -> Estimate:
    plain = Estimate(float(np.mean(values)), method="mean over stimuli", counts={"stimuli": len(values)})
    ends = t_mean(np.array(values), 0.95)
    return plain if ends is None else replace(plain, low=ends[0], high=ends[1], interval="Student's t")


def _manifest(frame: pl.DataFrame, done: Sequence[PreparedStimulus]) -> pl.DataFrame:
    """The manifest with the prepared files in place of the originals, and the numbers that decided them."""
    names = [
        part.name
        for part in fields(PreparedStimulus)
        if part.name not in {"stimulus", "problem", "width", "height"}
    ]
    columns = {name: [getattr(each, name) for each in done] for name in names}
    # A stimulus that could not be prepared keeps the place its file would have, so that it counts as missing.
    columns["path"] = [each.path or f"{PREPARED}/{each.original}" for each in done]
    made = pl.DataFrame(columns, infer_schema_length=None)
    used = [name for name in names if name in {"path", "original"} or made[name].null_count() < made.height]
    return frame.drop(names, strict=False).with_columns(made.select(used).get_columns())
