"""What the plain table formats share: finding the table, naming its columns, stating scales, describing the study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.anchors import ANCHOR_OPTIONS
from heartfelt.formats.columns import ids, need, numbers, one_of, read_table, unique_keys
from heartfelt.formats.source_table import OPTIONS as TABLE_OPTIONS
from heartfelt.formats.source_table import TABLES, SourceTable, open_table
from heartfelt.media.probe import find_media, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.study import Study, load_study
from heartfelt.study.question import Question
from heartfelt.study.scale import AnyScale, Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from heartfelt.study.study import Intent, System
from heartfelt.tables import number_types

UNSTATED = Numeric(type="numeric")
"""The scale of a question whose scale nobody stated: numbers without limits."""

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "rater": (
        "rater",
        "rater_id",
        "user",
        "user_id",
        "username",
        "participant",
        "participant_id",
        "subject",
        "subject_id",
        "worker",
        "worker_id",
        "annotator",
        "annotator_id",
        "listener",
        "respondent",
        "pid",
        "person",
        "id",
    ),
    "stimulus": (
        "stimulus",
        "stimulus_id",
        "stimuli",
        "item",
        "item_id",
        "clip",
        "clip_id",
        "file",
        "file_name",
        "filename",
        "name",
        "audio_file",
        "image",
        "image_id",
        "stim",
        "wav",
        "wavname",
        "sample",
        "sample_id",
        "id",
    ),
    "question": ("question", "question_id", "dimension", "scale", "attribute", "criterion"),
    "value": ("value", "rating", "score", "response", "answer", "label"),
    "system": ("system", "model", "generator"),
    "intent": ("intent", "target_emotion", "intended_emotion"),
    "prompt": ("prompt",),
    "path": ("path",),
    "position": ("position", "trial", "order"),
    "seconds": ("seconds", "rt_seconds"),
    "at": ("at", "time", "timestamp", "created_at"),
    "repeat": ("repeat",),
}
COMMON_OPTIONS: Mapping[str, str] = {
    "scale": "the scale of every question: 1-9, numeric:0-1, yes-no, ordered:low|mid|high, categories:a|b, tags, text;"
    " scale.QUESTION for one question",
    "rename": "a new name for a question: rename.Q1=valence",
    "reference": "where an intent lies on the questions' axes: reference.happy=valence:7.5,arousal:6",
    "references": "a table of references with a column 'intent' and one column per axis",
    "media": "folder of the media files, searched below the source if left out",
    "kind": "audio, speech or image; told from the media if left out",
    "name": "the study's name",
    **ANCHOR_OPTIONS,
    **TABLE_OPTIONS,
}
COLUMN_OPTIONS = (
    *SYNONYMS,
    "id",
    "value",
    "mean",
    "sd",
    "n",
    "stimulus_columns",
    "rater_columns",
    "categories",
    "anchors",
)
"""Options that name columns of the table."""


def opened(path: Path, options: Mapping[str, str]) -> SourceTable:
    """The table at ``path``, opened with the shared options; columns the options name are never taken as personal."""
    named = {part.strip() for key in COLUMN_OPTIONS for part in options.get(key, "").split(",")}
    return open_table(path, options, named)


def locate(source: Path, preferred: Sequence[str] = ()) -> Path:
    """The table ``source`` stands for: the file itself, or the one table of a folder."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise InputError(f"There is no file or folder {source}.", "Check the path.")
    for name in preferred:
        if (source / name).is_file():
            return source / name
    tables = sorted(p for p in source.iterdir() if p.suffix.lower() in TABLES and p.is_file())
    if len(tables) == 1:
        return tables[0]
    if not tables:
        raise InputError(f"{source} holds no CSV, TSV, Parquet or JSON table.", "Point to the table itself.")
    listed = ", ".join(p.name for p in tables[:6])
    raise InputError(f"{source} holds {len(tables)} tables ({listed}).", "Point to the one to read.")


def pick(
    columns: Sequence[str], role: str, options: Mapping[str, str], where: str, *, required: bool = True
) -> str | None:
    """The column that plays ``role``: the one the options name, else the only one with a usual name."""
    if role in options:
        need(pl.DataFrame(schema=dict.fromkeys(columns, pl.String)), [options[role]], where)
        return options[role]
    for name in SYNONYMS[role]:
        found = one_of(pl.DataFrame(schema=dict.fromkeys(columns, pl.String)), [name])
        if found is not None:
            return found
    if not required:
        return None
    raise InputError(
        f"{where}: no column is unmistakably the {role}.",
        f"Name it with --map {role}=COLUMN. The columns are: {', '.join(columns[:40])}.",
    )


def parse_scale(text: str) -> AnyScale:
    """A scale in one word: ``1-9``, ``numeric:0-1``, ``yes-no``, ``ordered:a|b|c``, ``categories:a|b``, ``tags``, ``text``."""
    kind, _, rest = text.strip().partition(":")
    if kind == "yes-no":
        return YesNo(type="yes-no")
    if kind == "text":
        return FreeText(type="text")
    if kind == "tags":
        tags = [tag.strip() for tag in rest.split("|") if tag.strip()]
        return Tags(type="tags", tags=tags, open=not tags)
    if kind in {"ordered", "categories"} and rest.count("|"):
        names = [name.strip() for name in rest.split("|")]
        return (
            Ordered(type="ordered", categories=names)
            if kind == "ordered"
            else Categories(type="categories", categories=names)
        )
    limits = re.fullmatch(
        r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|\.\.)\s*(-?\d+(?:\.\d+)?)\s*", rest if kind == "numeric" else text
    )
    if limits:
        low, high = float(limits[1]), float(limits[2])
        if kind == "numeric" and low < high:
            return Numeric(type="numeric", low=low, high=high)
        if low.is_integer() and high.is_integer() and 1 <= high - low <= 100:
            return Points(type="points", points=int(high - low) + 1, first=int(low))
    if kind == "numeric" and not rest:
        return Numeric(type="numeric")
    raise InputError(
        f"'{text}' does not state a scale.",
        "Write 1-9, numeric, numeric:0-1, yes-no, ordered:low|mid|high, categories:happy|sad, tags, or text.",
    )


def stated_scale(question: str, options: Mapping[str, str]) -> AnyScale | None:
    """The scale the options state for a question, if they do."""
    text = options.get(f"scale.{question}", options.get("scale"))
    return None if text is None else parse_scale(text)


def describe(
    name: str,
    scales: Mapping[str, AnyScale],
    stimuli: pl.DataFrame,
    kind: str | None,
    references: Mapping[str, Mapping[str, float]] | None = None,
) -> Study:
    """A study for data that came without one: a question a column or name, systems and intents as they occur.

    ``references`` place intents on axes; a question of an axis' name measures it.
    """
    systems = (
        stimuli["system"].drop_nulls().unique(maintain_order=True).to_list()
        if "system" in stimuli.columns
        else []
    )
    intents = (
        stimuli["intent"].drop_nulls().unique(maintain_order=True).to_list()
        if "intent" in stimuli.columns
        else []
    )
    references = references or {}
    for intent in references:
        if intent not in intents:
            raise InputError(
                f"No stimulus has the intent '{intent}'.", suggestion(intent, intents, "Intents")
            )
    axes = {axis for reference in references.values() for axis in reference}
    if axes and not axes & set(scales):
        raise InputError(
            f"No question is called like an axis of the references ({', '.join(sorted(axes))}).",
            f"Questions: {', '.join(scales)}. Rename one with --map rename.OLD=NEW.",
        )
    shared = {scale.model_dump_json(): scale for scale in scales.values()}
    names = (
        {text: f"scale{place}" for place, text in enumerate(shared, 1)}
        if len(shared) > 1
        else dict.fromkeys(shared, "scale")
    )
    return Study(
        name=name,
        description="Described from the data; texts and scales are those the data show.",
        media=kind or "audio",
        systems=[System(id=system) for system in systems],
        intents=[Intent(id=intent, reference=dict(references.get(intent, {}))) for intent in intents],
        scales={names[text]: scale for text, scale in shared.items()},
        questions=[
            Question(
                id=question,
                text=question,
                scale=names[scale.model_dump_json()],
                axis=question if question in axes else None,
            )
            for question, scale in scales.items()
        ],
    )


def stated_references(options: Mapping[str, str], base: Path) -> dict[str, dict[str, float]]:
    """Where the options place intents: ``reference.INTENT`` one by one, ``references`` from a table."""
    out: dict[str, dict[str, float]] = {}
    if "references" in options:
        frame = read_table(base / options["references"])
        column = str(pick(frame.columns, "intent", {}, options["references"]))
        axes = [name for name in frame.columns if name != column]
        values = {axis: numbers(frame, axis, options["references"]) for axis in axes}
        for row, intent in enumerate(ids(frame[column])):
            out[intent] = {axis: values[axis][row] for axis in axes if values[axis][row] is not None}
    for option, text in options.items():
        family, _, intent = option.partition(".")
        if family != "reference":
            continue
        out[intent] = {}
        for part in text.split(","):
            axis, _, number = part.partition(":")
            try:
                out[intent][axis.strip()] = float(number)
            except ValueError as error:
                raise InputError(
                    f"'{text}' does not place the intent '{intent}'.",
                    f"Write for example --map reference.{intent or 'happy'}=valence:7.5,arousal:6.",
                ) from error
    return out


def new_names(options: Mapping[str, str], questions: Iterable[str]) -> dict[str, str]:
    """The new name of each question that the options rename."""
    known = list(questions)
    out = {
        option.partition(".")[2]: name
        for option, name in options.items()
        if option.partition(".")[0] == "rename"
    }
    for old in out:
        if old not in known:
            raise InputError(f"There is no question '{old}' to rename.", suggestion(old, known, "Questions"))
    return out


def study_beside(table: Path, questions: Iterable[str]) -> Study | None:
    """The study that lies beside a table, if it asks these questions."""
    path = table.parent / "study.yaml"
    if not path.is_file():
        return None
    study = load_study(path)
    return study if {question.id for question in study.asked} >= set(questions) else None


def tidy_name(path: Path, options: Mapping[str, str]) -> str:
    """The name of a study that was described from a file."""
    return options.get("name") or path.stem


def with_media(
    stimuli: pl.DataFrame, source: Path, table: Path, options: Mapping[str, str], progress: Progress | None
) -> tuple[pl.DataFrame, Path | None, str | None]:
    """The stimuli with their media found and probed, the media root, and the kind of media.

    ``source`` is what was to be read, ``table`` the file in it that was: a folder given as source, or named as media,
    holds this data's media, while a file may lie anywhere.
    """
    base = table.parent
    root = base / options["media"] if "media" in options else base
    if "media" in options and not root.is_dir():
        raise InputError(
            f"There is no media folder {root}.", "Check --map media=FOLDER; it is relative to the table."
        )
    kind = options.get("kind")
    if kind not in {None, "audio", "speech", "image"}:
        raise InputError(
            f"'{kind}' is no kind of media.", suggestion(str(kind), ["audio", "speech", "image"], "Kinds")
        )
    if "path" not in stimuli.columns:
        near = any((base / name).is_dir() for name in ("media", "images", "audio", "wav"))
        found = find_media(root) if "media" in options or source.is_dir() or near else {}
        by_name = {Path(path).name: path for path in found.values()}
        paths = (
            []
            if not found
            else [
                by_name.get(name) or found.get(name) or found.get(Path(name).stem)
                for name in stimuli["stimulus"].to_list()
            ]
        )
        if not any(paths):
            return stimuli, None, kind or _kind(stimuli["stimulus"].head(20).to_list())
        stimuli = stimuli.with_columns(pl.Series("path", paths, dtype=pl.String))
    stimuli = probe_stimuli(stimuli, root, str(base), progress)
    return stimuli, root, kind or _kind(stimuli["path"].drop_nulls().head(20).to_list())


def _kind(names: Sequence[str]) -> str | None:
    from heartfelt.media.probe import AUDIO, IMAGES

    endings = {Path(name).suffix.lower() for name in names}
    if endings & IMAGES and not endings & AUDIO:
        return "image"
    return "audio" if endings & AUDIO else None


def side_table(
    path: Path, role: str, id_column: str | None = None, same_as: str | None = None
) -> pl.DataFrame:
    """A table of stimuli or raters beside the ratings, with its id column named ``role``.

    ``id_column`` is the id's column where the options name it; otherwise the column called like the ratings' own
    (``same_as``), or the only one with a usual name.
    """
    frame = opened(path, {role: id_column or ""}).collect()
    if id_column is None and same_as in frame.columns:
        id_column = same_as
    column = str(pick(frame.columns, role, {} if id_column is None else {role: id_column}, str(path)))
    frame = frame.with_columns(ids(frame[column]).alias(column)).rename({column: role})
    unique_keys(frame, [role], str(path))
    return number_types(frame, keep=[role, "system", "intent", "prompt", "path"])


def compile_pattern(pattern: str, allowed: Sequence[str]) -> re.Pattern[str]:
    """A column-name pattern such as ``{question}_{stimulus}`` as a regular expression."""
    names = re.findall(r"\{(\w+)\}", pattern)
    for name in names:
        if name not in allowed:
            raise InputError(
                f"The pattern '{pattern}' holds {{{name}}}.", suggestion(name, allowed, "It may hold")
            )
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"The pattern '{pattern}' must hold each of its names once.",
            f"Use one or more of: {', '.join('{' + name + '}' for name in allowed)}.",
        )
    parts = re.split(r"\{\w+\}", pattern)
    out = re.escape(parts[0])
    for place, (name, part) in enumerate(zip(names, parts[1:], strict=True)):
        greedy = ".+?" if place < len(names) - 1 else ".+"
        out += f"(?P<{name}>{greedy}){re.escape(part)}"
    return re.compile(out)
