"""``vgmidi``: raw traces of valence and arousal over pieces of video game music, one sample per measure.

The file is one JSON object: ``annotations`` (``piece12_3`` is the third annotation of piece 12, with two lists of samples
and what the listener said about themselves) and ``pieces`` (name, audio, MIDI, measures). Some annotated pieces are not
among the pieces. Listeners have no ids: annotations with the same answers to every question about the listener, the two
free texts included, count as one listener, which is how nearly all come in twos; those without free texts count alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.ratings.set_rows import trace_means
from heartfelt.formats.tables.delimited import read_bytes
from heartfelt.formats.tables.json_files import looks_like_json, read_json
from heartfelt.media.probe import probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Design, Question, Study
from heartfelt.study.scales.set_scale import Trace
from heartfelt.tables import LEDGER, number_types

AXES = ("valence", "arousal")
TEXTS = ("ex1_description", "ex2_arousal")
"""The answers in the listener's own words, which set listeners apart."""
ABOUT_PIECE = {"name": "name", "midi": "midi", "measures": "measures", "duration": "piece_seconds"}
CREDIT = (
    "Ferreira, L. N., & Whitehead, J. (2019). Learning to generate music with sentiment. ISMIR. Raw traces of the"
    " VGMIDI dataset."
)


class VGMIDI(Format):
    """Traces of valence and arousal, one sample per measure."""

    name = "vgmidi"
    about = "VGMIDI's raw traces of valence and arousal: vgmidi_raw_1.json"
    example_data = "example/vgmidi_raw.json"
    writes = False
    options: ClassVar[Mapping[str, str]] = {
        "listeners": "annotations: every annotation is a listener of its own, without matching their answers"
    }

    def recognises(self, source: Path) -> bool:
        path = _file(source)
        if path is None or not looks_like_json(path) or path.suffix.lower() != ".json":
            return False
        head = read_bytes(path, 4096)
        return b'"annotations"' in head and b'"piece' in head

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        path = _file(source)
        if path is None:
            raise InputError(f"{source} holds no JSON file of VGMIDI.", "Point to vgmidi_raw_1.json.")
        alone = options.get("listeners")
        if alone not in {None, "annotations"}:
            raise InputError(f"listeners={alone} is not known.", suggestion(str(alone), ["annotations"], "It may be"))
        annotations, pieces = _annotations_and_pieces(path)
        traces, raters, ledger = _traces(annotations, named_apart=alone is not None)
        if not traces.height:
            raise InputError(f"{path} holds no usable trace.", "Get a complete copy of the file.")
        stimuli, notes = _pieces(pieces, traces["stimulus"].unique(maintain_order=True).to_list())
        if any((path.parent / name).is_file() for name in stimuli["audio"].drop_nulls()):
            stimuli = probe_stimuli(stimuli.rename({"audio": "path"}), path.parent, str(path), progress)
        familiarity = traces.select("rater", "stimulus", "question", "known")
        means = trace_means(traces).join(familiarity, on=["rater", "stimulus", "question"], maintain_order="left")
        listeners = raters.height
        notes.append(
            f"Listeners have no ids: {len(annotations):,} annotations were read as those of {listeners:,} listeners."
        )
        inferred = "equal questionnaires" if alone is None else "annotations, one person each"
        return Snapshot.build(
            _study(),
            stimuli=stimuli,
            ratings=means,
            raters=raters,
            traces=traces.drop("known"),
            ledger=ledger,
            source=Source(
                format=self.name,
                name=path.name,
                options=dict(options),
                media_root=path.parent,
                notes=tuple(notes),
                inferred_raters=f"{inferred}: the source has no ids",
            ),
        )


def _file(source: Path) -> Path | None:
    if source.is_file():
        return source
    files = sorted(source.glob("*.json")) if source.is_dir() else []
    return files[0] if len(files) == 1 else None


def _annotations_and_pieces(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    content = read_json(path)
    annotations, pieces = (content.get(key) if isinstance(content, dict) else None for key in ("annotations", "pieces"))
    if not isinstance(annotations, dict) or not annotations or not isinstance(pieces, dict | None):
        raise InputError(f"{path} holds no annotations.", "Point to the file with 'annotations' and 'pieces'.")
    return annotations, pieces or {}


def _study() -> Study:
    return Study(
        name="vgmidi",
        title="VGMIDI",
        description="Valence and arousal of video game music, traced while it plays; one sample per measure.",
        scales={"trace": Trace(type="trace", low=-1, high=1)},
        questions=[
            Question(id=axis, text=f"How does the {axis} of the music change?", scale="trace", emotion="perceived")
            for axis in AXES
        ],
        design=Design(affect_grid=AXES),
        credit=CREDIT,
    )


def _traces(
    annotations: Mapping[str, Any], *, named_apart: bool
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    """The traces, the listeners, and a ledger of what cannot be used."""
    rows: list[tuple[str, str, str, list[float | None], str | None]] = []
    raters: dict[str, dict[str, str | None]] = {}
    listeners: dict[tuple[str | None, ...], str] = {}
    met: set[tuple[str, str]] = set()
    faults: list[tuple[str, str | None, str | None, str]] = []
    for name, annotation in annotations.items():
        piece, _, number = name.rpartition("_")
        if not isinstance(annotation, dict) or not piece or not number:
            faults.append(("row", None, piece or name, "not an annotation of a piece"))
            continue
        facts = _facts(annotation)
        alone = named_apart or any(not (facts.get(text) or "").strip() for text in TEXTS)
        rater = name if alone else listeners.setdefault(tuple(facts.values()), name)
        if (rater, piece) in met:
            rater = name  # nobody annotates a piece twice
        met.add((rater, piece))
        raters.setdefault(rater, facts)
        for axis in AXES:
            course = _samples(annotation.get(axis))
            reason = _fault(course)
            if reason is not None:
                faults.append(("rating", rater, piece, f"{axis}: {reason}"))
            else:
                rows.append((rater, piece, axis, course or [], _truth(annotation.get("isKnown"))))
    schema: dict[str, pl.DataType] = {
        "rater": pl.String(), "stimulus": pl.String(), "question": pl.String(), "samples": pl.List(pl.Float32),
        "known": pl.String(),
    }  # fmt: skip
    traces = pl.DataFrame(rows, schema=schema, orient="row")
    people = pl.DataFrame([{"rater": rater, **facts} for rater, facts in raters.items()], infer_schema_length=None)
    ledger = None
    if faults:
        lines = pl.DataFrame(faults, schema=["what", "rater", "stimulus", "reason"], orient="row")
        ledger = LEDGER.check(lines.with_columns(stage=pl.lit("import")), "the annotations")
    return traces, number_types(people, keep=["rater"]), ledger


def _facts(annotation: Mapping[str, Any]) -> dict[str, str | None]:
    """What the listener said about themselves, in the order of the questions' names."""
    answers = {key: annotation[key] for key in sorted(annotation) if key not in {*AXES, "isKnown"}}
    return {key: None if answer is None else str(answer) for key, answer in answers.items()}


def _truth(value: Any) -> str | None:
    return ("yes" if value else "no") if isinstance(value, bool) else None


def _samples(samples: Any) -> list[float | None] | None:
    """The samples with gaps as None; None where this is no list of numbers."""
    if not isinstance(samples, list):
        return None
    recorded = [sample for sample in samples if sample is not None]
    if any(isinstance(s, bool) or not isinstance(s, int | float) or not math.isfinite(s) for s in recorded):
        return None
    return [None if sample is None else float(sample) for sample in samples]


def _fault(samples: list[float | None] | None) -> str | None:
    if samples is None:
        return "no list of numbers"
    values = [sample for sample in samples if sample is not None]
    if not values:
        return "a trace without samples"
    return "samples lie outside -1 to 1" if min(values) < -1 or max(values) > 1 else None


def _pieces(pieces: Mapping[str, Any], annotated: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """One row per piece, those without annotations included, and a note on those that are not described."""
    strangers = [piece for piece in annotated if piece not in pieces]
    rows = []
    for piece in [*pieces, *strangers]:
        facts = pieces.get(piece)
        facts = facts if isinstance(facts, dict) else {}
        audio = facts.get("audio")
        piece_facts = {name: facts.get(key) for key, name in ABOUT_PIECE.items()}
        rows.append({"stimulus": piece, "audio": None if audio is None else str(audio), **piece_facts})
    notes = []
    if strangers:
        listed = ", ".join(strangers[:6]) + (" …" if len(strangers) > 6 else "")
        notes.append(f"{len(strangers)} annotated pieces are not described in the file: {listed}.")
    types = {"stimulus": pl.String, "audio": pl.String, "name": pl.String, "midi": pl.String}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None, strict=False), notes


FORMATS.add(VGMIDI.name, VGMIDI())
