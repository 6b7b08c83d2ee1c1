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
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl

from heartfelt.errors import HeartfeltError, InputError, UnknownNameError, require, suggestion
from heartfelt.files import inside, whole_file, write_text
from heartfelt.formats.tables.columns import PARQUET, NamedTable
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.media import audio
from heartfelt.media.images.duplicates import Bits, duplicate_groups, image_hash
from heartfelt.media.images.image import SUFFIXES, PictureFile, decode_image
from heartfelt.media.images.pixels import measure_image
from heartfelt.media.sound import Samples, decode, resample, to_one_channel
from heartfelt.media.sounds.checks import check_sound
from heartfelt.media.sounds.recordings import NO_LANDMARKS, Landmarks, landmarks, recording_groups
from heartfelt.media.sounds.recordings import RATE as RECORDING_RATE
from heartfelt.media.sounds.speech import speech_rate
from heartfelt.progress import Progress, no_progress
from heartfelt.serialization import write_json
from heartfelt.stats.columns.triples import Ints
from heartfelt.stimuli.options import PrepareOptions
from heartfelt.stimuli.preparation.cropping import cropped
from heartfelt.stimuli.preparation.differences import SystemDifference, system_difference
from heartfelt.stimuli.preparation.prepared import PreparationResult, PreparedStimulus, VocalCheck
from heartfelt.study import load_study
from heartfelt.study.load import STUDY_FILE

PREPARED = "prepared"
RECORD = "prepare.json"
Result: TypeAlias = tuple[PreparedStimulus, Bits | Landmarks | None]
_LENGTH_SLACK = 0.05
"""A clip may be this many seconds longer or shorter than the others of the study."""
_UNUSUAL, _FEWEST = 3.5, 5
"""A speech rate is remarked on this many robust standard deviations (at least 10% each) from the median of at least five."""
_MEASURES = {
    "loudness_before": "loudness before (LUFS)",
    "loudness": "loudness after (LUFS)",
    "seconds": "duration (s)",
    "brightness": "brightness (L*)",
    "vocals": "voice score",
    "speech_rate": "speech rate (syllables/s)",
}


@dataclass(frozen=True, slots=True)
class _Settings:
    """The same for every stimulus."""

    root: Path
    options: PrepareOptions
    seed: int
    vocals: VocalCheck | None


@dataclass(frozen=True, slots=True)
class _Job:
    """One stimulus: its original file and where the prepared one goes."""

    stimulus: str
    original: str
    source: Path
    target: str


def prepare(
    folder: Path,
    options: PrepareOptions | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    vocals: VocalCheck | None = None,
) -> PreparationResult:
    """Prepare every stimulus of a study folder, and write the manifest that names the prepared files.

    Instrumental content needs a check for voices, such as ``heartfelt.stimuli.preparation.vocals.vocal_check()``.
    """
    chosen = options or PrepareOptions()
    study = load_study(folder)
    require(
        chosen.content == "any" or study.media != "image",
        f"The stimuli of {study.name} are images, not {chosen.content}.",
        "Leave the content out.",
    )
    require(
        vocals is not None or chosen.content != "instrumental",
        "Nothing listens for voices in instrumental clips.",
        "Pass vocals=heartfelt.stimuli.preparation.vocals.vocal_check().",
    )
    manifest = inside(folder, study.stimuli.manifest, f"{folder / STUDY_FILE}, stimuli.manifest")
    root = inside(folder, study.stimuli.media, f"{folder / STUDY_FILE}, stimuli.media")
    frame = _manifest_of(manifest)
    # A stimulus that was made again after preparation has no original yet.
    sources = [name for name in ("original", "path") if name in frame.columns]
    originals = frame.select(pl.coalesce(sources).cast(pl.String)).to_series().to_list()
    names = frame["stimulus"].to_list()
    is_image = study.media == "image"
    suffix = chosen.format or (".webp" if is_image else ".opus")
    suffixes = SUFFIXES if is_image else audio.AUDIO_SUFFIXES
    if suffix not in suffixes:
        raise UnknownNameError(f"No file can be written as '{suffix}'.", suggestion(suffix, suffixes, "Formats"))
    results: list[Result] = []
    report = progress or no_progress
    # Threads are enough: the libraries that decode and encode release the interpreter's lock.
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        step = _prepare_picture if is_image else _prepare_sound
        attempt = partial(_attempt, step, _Settings(root, chosen, study.seed, vocals))
        for result in pool.map(attempt, names, originals, _targets(originals, suffix)):
            results.append(result)
            report("preparing", len(results), len(names))
    if is_image:
        done = _with_duplicates(results, _same_pictures(results), "nearly the same as")
    else:
        done = _with_duplicates(results, _same_sounds(results, root), "the same recording as")
        done = _with_rates(_with_lengths(done, chosen.seconds))
    systems: dict[str, str] = {}
    if "system" in frame.columns:
        with_system = frame.select(pl.col("stimulus"), pl.col("system").cast(pl.String)).drop_nulls("system")
        systems = dict(with_system.iter_rows())
    preparation = PreparationResult(
        study=study.name, options=chosen, stimuli=tuple(done), differences=_differences(done, systems), systems=systems
    )
    _write_table(manifest, _manifest(frame, done))
    write_json(folder / RECORD, preparation)
    return preparation


def _manifest_of(path: Path) -> pl.DataFrame:
    sheet = NamedTable.read(path)
    sheet.need("stimulus", "path")
    sheet = sheet.with_ids("stimulus")
    sheet.unique("stimulus")
    return sheet.frame


def _write_table(path: Path, table: pl.DataFrame) -> None:
    if path.suffix.lower() in PARQUET:
        with whole_file(path) as file:
            table.write_parquet(file)
    else:
        write_text(path, csv_text(table))


def _targets(originals: Sequence[str | None], suffix: str) -> list[str]:
    """Where each prepared file goes: named after its original, with a number where several would have one name."""
    counts: Counter[str] = Counter()
    out = []
    for original in originals:
        name = f"{PREPARED}/{Path(original or '').with_suffix('').as_posix()}"
        counts[name] += 1
        out.append(f"{name}{f'-{counts[name]}' if counts[name] > 1 else ''}{suffix}")
    return out


def _attempt(
    step: Callable[[_Job, _Settings], Result], settings: _Settings, name: str, original: str | None, target: str
) -> Result:
    """One stimulus; what fails becomes its problem, and leaves no prepared file behind."""
    if original is None:
        return PreparedStimulus(stimulus=name, original="", problem="the manifest names no file"), None
    try:
        source = inside(settings.root, original, f"stimulus {name}")
        return step(_Job(name, original, source, target), settings)
    except HeartfeltError as error:
        (settings.root / target).unlink(missing_ok=True)
        return PreparedStimulus(stimulus=name, original=original, problem=f"{error.problem} {error.fix}".strip()), None


# --- sound ------------------------------------------------------------------------------------------------------------


def _prepare_sound(job: _Job, settings: _Settings) -> Result:
    options = settings.options
    clip = audio.read_audio(job.source)
    first = check_sound(clip.samples, clip.rate)
    if first.silent:
        raise InputError(f"{job.original} is silent: nothing rises above -60 dB.", "Generate it again.")
    crop = cropped(clip, job.stimulus, job.original, options, settings.seed)
    rate = options.rate or clip.rate
    levelled = _levelled(resample(_in_channels(crop.samples, options.channels), clip.rate, rate), rate, options)
    samples, peak = levelled.samples, levelled.true_peak
    notes = [
        *(problem for problem in first.problems if not _is_cut_off(problem, clip, crop.start, options)),
        *filter(None, [crop.note, levelled.held_back]),
    ]
    gain, before = levelled.gain_db, levelled.before
    if peak > 1.0:
        # Resampling and decoding may raise peaks above full scale, which no file can hold.
        gain -= 20.0 * float(np.log10(peak))
        samples, peak = samples / np.float32(peak), 1.0
        notes.append("lowered because its peaks passed full scale")
    path = audio.write_audio(settings.root / job.target, samples, rate)
    prepared = PreparedStimulus(
        stimulus=job.stimulus,
        original=job.original,
        crop_start=round(crop.start, 6),
        seconds=samples.shape[0] / rate,
        gain_db=gain,
        loudness_before=before.value,
        loudness=None if before.value is None else before.value + gain,
        true_peak_db=20.0 * float(np.log10(peak)) if peak > 0 else None,
    )
    prepared, notes_on_content = _heard(prepared, samples, rate, settings)
    # Of the whole original: crops of one recording need not overlap.
    original_landmarks = landmarks(resample(to_one_channel(clip.samples), clip.rate, RECORDING_RATE))
    return _written(prepared, job, path, [*notes, *notes_on_content]), original_landmarks


def _in_channels(samples: Samples, channels: str) -> Samples:
    if channels == "mono":
        return to_one_channel(samples)[:, None]
    return np.repeat(samples, 2, axis=1) if channels == "stereo" and samples.shape[1] == 1 else samples


def _levelled(samples: Samples, rate: int, options: PrepareOptions) -> audio.Levelled:
    """The clip at the loudness that was asked for, or as it is."""
    if options.loudness is not None:
        return audio.normalise_loudness(samples, rate, options.loudness, peak_db=options.peak)
    before, peak = audio.loudness(samples, rate), audio.true_peak(samples, rate)
    return audio.Levelled(samples=samples, gain_db=0.0, before=before, true_peak=peak)


def _is_cut_off(problem: str, clip: audio.Audio, start: float, options: PrepareOptions) -> bool:
    """Whether a problem of the original is none of the crop."""
    if problem.startswith("silent"):
        # How much of the original is silent says nothing about a crop, which is not.
        return bool(options.seconds)
    # An end that was cut fades in or out; what is left to report are the clip's own.
    length = clip.frames if options.seconds is None else round(options.seconds * clip.rate)
    has_own_end = round(start * clip.rate) + length >= clip.frames
    faded = {"begins abruptly": start > 0, "ends abruptly": not has_own_end}
    return options.fade > 0 and faded.get(problem, False)


def _heard(
    prepared: PreparedStimulus, samples: Samples, rate: int, settings: _Settings
) -> tuple[PreparedStimulus, list[str]]:
    """The stimulus with what was heard of voices in instrumental clips, or of the rate of speech; and notes."""
    if settings.options.content == "instrumental" and settings.vocals is not None:
        voices = settings.vocals(samples, rate)
        notes = [f"a voice is likely (score {voices.score:.2f})"] if voices.likely else []
        return replace(prepared, vocals=voices.score), notes
    if settings.options.content != "speech":
        return prepared, []
    spoken = speech_rate(samples, rate)
    if spoken is None:
        return prepared, ["no syllable was found"]
    prepared = replace(
        prepared, syllables=spoken.syllables, speech_rate=spoken.rate, articulation_rate=spoken.articulation
    )
    return prepared, [] if spoken.syllables else ["no syllable was found"]


def _with_lengths(done: Sequence[PreparedStimulus], wanted: float | None) -> list[PreparedStimulus]:
    """Note clips that are longer or shorter than wanted, or than most."""
    lengths = [stimulus.seconds for stimulus in done if stimulus.seconds is not None]
    usual = wanted if wanted is not None else float(np.median(lengths)) if lengths else 0.0
    than = f"not the {usual:.2f} s asked for" if wanted is not None else f"where most last {usual:.2f} s"
    return [
        _noted(stimulus, f"lasts {stimulus.seconds:.2f} s, {than}")
        if stimulus.seconds is not None and abs(stimulus.seconds - usual) > _LENGTH_SLACK
        else stimulus
        for stimulus in done
    ]


def _with_rates(done: Sequence[PreparedStimulus]) -> list[PreparedStimulus]:
    """Note clips that are spoken much faster or slower than most."""
    rates = np.array([stimulus.speech_rate for stimulus in done if stimulus.speech_rate is not None])
    if rates.size < _FEWEST:
        return list(done)
    usual = float(np.median(rates))
    spread = max(1.4826 * float(np.median(np.abs(rates - usual))), 0.1 * usual)
    return [
        _noted(stimulus, f"spoken at {stimulus.speech_rate:.1f} syllables per second, where {usual:.1f} are usual")
        if stimulus.speech_rate is not None and abs(stimulus.speech_rate - usual) > _UNUSUAL * spread
        else stimulus
        for stimulus in done
    ]


# --- pictures ---------------------------------------------------------------------------------------------------------


def _prepare_picture(job: _Job, settings: _Settings) -> Result:
    options = settings.options
    image = decode_image(job.source)
    notes = []
    if options.side is not None:
        if max(image.size) < options.side:
            notes.append(f"smaller than {options.side} pixels")
        image.thumbnail((options.side, options.side))
    path = PictureFile(image).save(settings.root / job.target)
    brightness = measure_image(image).brightness
    prepared = PreparedStimulus(
        stimulus=job.stimulus, original=job.original, brightness=brightness, width=image.width, height=image.height
    )
    return _written(prepared, job, path, notes), image_hash(image)


# --- all together -----------------------------------------------------------------------------------------------------


def _written(prepared: PreparedStimulus, job: _Job, path: Path, notes: Sequence[str]) -> PreparedStimulus:
    return replace(
        prepared,
        path=job.target,
        original_sha256=audio.content_hash(job.source),
        sha256=audio.content_hash(path),
        checks="; ".join(notes) or None,
    )


def _noted(stimulus: PreparedStimulus, note: str, duplicate_of: str | None = None) -> PreparedStimulus:
    words = "; ".join(filter(None, [stimulus.checks, note]))
    return replace(stimulus, checks=words, duplicate_of=duplicate_of or stimulus.duplicate_of)


def _same_pictures(results: Sequence[Result]) -> Ints:
    return duplicate_groups([None if isinstance(marks, Landmarks) else marks for _, marks in results])


def _same_sounds(results: Sequence[Result], root: Path) -> Ints:
    """For each clip, the first of the same recording, by the sound of the originals, or by their bytes."""
    clips = [marks if isinstance(marks, Landmarks) else NO_LANDMARKS for _, marks in results]
    groups = recording_groups(clips, lambda index: decode(root / results[index][0].original, RECORDING_RATE))
    firsts: dict[str, int] = {}
    for index, (stimulus, _) in enumerate(results):
        earlier = firsts.setdefault(stimulus.original_sha256 or f"none {index}", index)
        low, high = sorted((groups[earlier], groups[index]))
        groups[groups == high] = low
    return groups


def _with_duplicates(results: Sequence[Result], groups: Ints, words: str) -> list[PreparedStimulus]:
    firsts = [results[first][0].stimulus for first in groups.tolist()]
    return [
        stimulus if first == stimulus.stimulus else _noted(stimulus, f"{words} {first}", duplicate_of=first)
        for (stimulus, _), first in zip(results, firsts, strict=True)
    ]


def _differences(done: Sequence[PreparedStimulus], systems: Mapping[str, str]) -> tuple[SystemDifference, ...]:
    tests = [
        system_difference(
            words,
            [
                (systems[stimulus.stimulus], float(value))
                for stimulus in done
                if stimulus.stimulus in systems and (value := getattr(stimulus, name)) is not None
            ],
        )
        for name, words in _MEASURES.items()
    ]
    return tuple(test for test in tests if test is not None)


def _manifest(frame: pl.DataFrame, done: Sequence[PreparedStimulus]) -> pl.DataFrame:
    """The manifest with the prepared files in place of the originals, and the numbers that decided them."""
    names = [
        part.name for part in fields(PreparedStimulus) if part.name not in {"stimulus", "problem", "width", "height"}
    ]
    columns = {name: [getattr(stimulus, name) for stimulus in done] for name in names}
    # A stimulus that could not be prepared keeps the place its file would have, so that it counts as missing.
    columns["path"] = [stimulus.path or f"{PREPARED}/{stimulus.original}" for stimulus in done]
    facts = pl.DataFrame(columns, infer_schema_length=None)
    used = [name for name in names if name in {"path", "original"} or facts[name].null_count() < facts.height]
    return frame.drop(names, strict=False).with_columns(facts.select(used).get_columns())
