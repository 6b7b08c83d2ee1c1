"""Describing the study behind a plain table: its scales, references, anchors and media, stated by options or read off it.

Anchors are stimuli with a known answer, which screening uses and nothing else counts. ``--map anchors=`` takes stimuli with
commas between them, each with the limits of its answer where there are any (``clip7=0-2, clip9=7-``), or the name of a
column of the stimuli that holds the limits (or yes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.formats.ratings.set_rows import joined_ledgers
from heartfelt.formats.tables.columns import NamedTable, ids, read_table
from heartfelt.formats.tables.source_table import OPTIONS, SourceTable, pick
from heartfelt.media.probe import AUDIO, IMAGES, find_media, media_by_path, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source, Spooled
from heartfelt.study import Intent, Question, Study, System, load_study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.model import AnchorProbe
from heartfelt.study.parts.sets import Sets
from heartfelt.study.scales.scale import AnyScale, Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from heartfelt.study.scales.set_scale import BestWorst, Choice, Grade, Preference, Ranking, Trace
from heartfelt.study.study import Prompt

UNSTATED = Numeric(type="numeric")
"""The scale of a question whose scale nobody stated: numbers without limits."""
COMMON_OPTIONS: Mapping[str, str] = {
    "scale": "the scale of every question: 1-9, numeric:0-1, yes-no, ordered:low|mid|high, categories:a|b, tags, text,"
    " choice, preference:3, grade:0-100, rank, best-worst, trace:-1-1; scale.QUESTION for one question",
    "rename": "a new name for a question: rename.Q1=valence",
    "reference": "where an intent lies on the questions' axes: reference.happy=valence:7.5,arousal:6",
    "references": "a table of references with a column 'intent' and one column per axis",
    "media": "folder of the media files, searched below the source if left out",
    "kind": "audio, speech or image; detected from the media if left out",
    "name": "the study's name",
    "anchors": "stimuli with a known answer, used for screening only: clip7=0-2, clip9=7- with commas,"
    " or the column of the stimuli that holds such limits (or yes)",
    "anchor_question": "the question the anchors' limits are about; required where several are asked",
    **OPTIONS,
}
USUAL_STEPS = 3
"""Grades of a preference to each side, as in a CMOS test."""
_RANGE = r"(-?\d+(?:\.\d+)?)\s*(?:-|\.\.)\s*(-?\d+(?:\.\d+)?)"
_LIMITS = re.compile(r"(-?\d+(?:\.\d+)?)?\s*(?:\.\.|-)\s*(-?\d+(?:\.\d+)?)?")
_YES = {"yes", "true", "1", "1.0", "x", "anchor"}
_NO = {"", "no", "false", "0", "0.0"}
Limits = tuple[float | None, float | None]


def build(
    format: str,
    table: SourceTable,
    source: Path,
    progress: Progress | None,
    *,
    stimuli: pl.DataFrame,
    scales: Mapping[str, AnyScale],
    notes: Iterable[str] = (),
    study: Study | None = None,
    sets: Sets | None = None,
    ratings: pl.DataFrame | Spooled | None = None,
    ledger: pl.DataFrame | None = None,
    prompts: Sequence[Prompt] = (),
    reading: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
    **tables: pl.DataFrame | None,
) -> Snapshot:
    """The snapshot of a plain table: its media found, its study the one given or described from the data.

    ``reading`` says how columns were understood; ``texts`` are those of questions, by their ids.
    """
    path, options = table.path, table.options
    stimuli, root, kind = _with_media(stimuli, source, path, options, progress)
    if study is None:
        name = options.get("name") or path.stem
        references = stated_references(options, path.parent)
        study = _described(name, scales, stimuli, kind, references, sets, texts or {})
    study = study.changed(prompts=[*prompts]) if prompts else study
    return Snapshot.build(
        _with_anchors(study, stimuli, options, str(path)),
        stimuli=stimuli,
        ratings=ratings,
        source=Source(
            format=format,
            name=path.name,
            options=dict(options),
            media_root=root,
            notes=(*table.notes, *notes),
            reading=tuple(reading),
        ),
        ledger=joined_ledgers(table.ledger, ledger),
        **tables,
    )


def study_next_to(table: Path, questions: set[str]) -> Study | None:
    """The study that lies beside a table, if it asks these questions."""
    path = table.parent / STUDY_FILE
    if not path.is_file():
        return None
    study = load_study(path)
    return study if {question.id for question in study.asked} >= questions else None


def parse_scale(text: str) -> AnyScale:
    """A scale in one word: ``1-9``, ``numeric:0-1``, ``yes-no``, ``ordered:a|b|c``, ``choice``, ``grade:0-100`` and so on."""
    kind, _, definition = text.strip().partition(":")
    names = [name.strip() for name in definition.split("|") if name.strip()]
    limits = re.fullmatch(rf"\s*{_RANGE}\s*", definition if kind in {"numeric", "grade", "trace"} else text)
    bounds = {"low": float(limits[1]), "high": float(limits[2])} if limits else {}
    try:
        return _set_scale(kind, definition, bounds) or _plain_scale(text, kind, definition, names, bounds)
    except ValueError as error:
        raise InputError(
            f"'{text}' does not state a scale.",
            "Write 1-9, numeric, numeric:0-1, yes-no, ordered:low|mid|high, categories:happy|sad, tags, text, choice,"
            " preference:3, grade:0-100, rank, best-worst or trace:-1-1.",
        ) from error


def _set_scale(kind: str, definition: str, bounds: Mapping[str, float]) -> AnyScale | None:
    """The scales of sets and of traces."""
    if kind in {"grade", "trace"} and (bounds or not definition):
        return Grade(type="grade", **bounds) if kind == "grade" else Trace(type="trace", **bounds)
    if kind == "preference":
        return preference(int(definition or USUAL_STEPS))
    scale_of_kind: Mapping[str, AnyScale] = {
        "choice": Choice(type="choice", ties=True),
        "rank": Ranking(type="rank"),
        "best-worst": BestWorst(type="best-worst"),
    }
    return scale_of_kind.get(kind) if not definition else None


def preference(steps: int) -> Preference:
    """A preference with so many steps to each side."""
    if steps == USUAL_STEPS:
        return Preference(type="preference")
    return Preference(type="preference", steps=steps, anchors={0: "About the same", steps: "Much better"})


def _plain_scale(text: str, kind: str, definition: str, names: list[str], bounds: Mapping[str, float]) -> AnyScale:
    if kind == "tags":
        return Tags(type="tags", tags=names, open=not names)
    if kind == "ordered" and "|" in definition:
        return Ordered(type="ordered", categories=names)
    if kind == "categories" and "|" in definition:
        return Categories(type="categories", categories=names)
    if bounds:
        return _bounded_scale(kind, bounds["low"], bounds["high"])
    if text.strip() == "numeric":
        return UNSTATED
    scale_of_kind: Mapping[str, AnyScale] = {"yes-no": YesNo(type="yes-no"), "text": FreeText(type="text")}
    if kind not in scale_of_kind:
        raise ValueError
    return scale_of_kind[kind]


def _bounded_scale(kind: str, low: float, high: float) -> AnyScale:
    if kind == "numeric" and low < high:
        return Numeric(type="numeric", low=low, high=high)
    if low.is_integer() and high.is_integer() and 1 <= high - low <= 100:
        return Points(type="points", points=int(high - low) + 1, first=int(low))
    raise ValueError


def stated_scale(question: str, options: Mapping[str, str]) -> AnyScale | None:
    """The scale the options state for a question, if they do."""
    text = options.get(f"scale.{question}", options.get("scale"))
    return None if text is None else parse_scale(text)


def stated_references(options: Mapping[str, str], base: Path) -> dict[str, dict[str, float]]:
    """Where the options place intents: ``reference.INTENT`` one by one, ``references`` from a table."""
    out: dict[str, dict[str, float]] = {}
    if "references" in options:
        sheet = NamedTable(read_table(base / options["references"]), options["references"])
        column = pick(sheet.frame.columns, "intent", {}, sheet.where)
        axes = [sheet.numbers(name) for name in sheet.frame.columns if name != column]
        for row, intent in enumerate(ids(sheet[column])):
            out[intent] = {axis.name: axis[row] for axis in axes if axis[row] is not None}
    return out | {intent: _coordinates(intent, text) for intent, text in _keyed(options, "reference").items()}


def _coordinates(intent: str, text: str) -> dict[str, float]:
    """The place of an intent, written as ``valence:7.5,arousal:6``."""
    parts = [part.partition(":") for part in text.split(",")]
    try:
        return {axis.strip(): float(number) for axis, _, number in parts}
    except ValueError as error:
        raise InputError(
            f"'{text}' does not place the intent '{intent}'.",
            f"Write for example {as_option('reference.' + (intent or 'happy'), 'valence:7.5,arousal:6')}.",
        ) from error


def new_names(options: Mapping[str, str], questions: Iterable[str]) -> dict[str, str]:
    """The new name of each question that the options rename."""
    question_ids, renamed = list(questions), _keyed(options, "rename")
    for old in renamed:
        if old not in question_ids:
            raise InputError(
                f"No question is called '{old}', so it cannot be renamed.", suggestion(old, question_ids, "Questions")
            )
    return renamed


def _keyed(options: Mapping[str, str], family: str) -> dict[str, str]:
    """The options ``family.KEY`` by their keys."""
    split = {option.partition("."): value for option, value in options.items()}
    return {key: value for (name, dot, key), value in split.items() if name == family and dot}


def _described(
    name: str,
    scales: Mapping[str, AnyScale],
    stimuli: pl.DataFrame,
    kind: str | None,
    references: Mapping[str, Mapping[str, float]],
    sets: Sets | None,
    texts: Mapping[str, str],
) -> Study:
    """A study for data that came without one: a question per column or name, systems and intents as they occur.

    ``references`` place intents on axes; a question with the name of an axis measures it.
    """
    systems, intents = (_occurring(stimuli, column) for column in ("system", "intent"))
    axes = _axes(references, intents, scales)
    shared = {scale.model_dump_json(): scale for scale in scales.values()}
    names = {text: f"scale{number}" if len(shared) > 1 else "scale" for number, text in enumerate(shared, 1)}
    questions = [
        Question(
            id=question,
            text=texts.get(question, question),
            scale=names[scale.model_dump_json()],
            axis=question if question in axes else None,
        )
        for question, scale in scales.items()
    ]
    return Study(
        name=name,
        description="Described from the data; texts and scales are those the data show.",
        media=kind or "audio",
        systems=[System(id=system) for system in systems],
        intents=[Intent(id=intent, reference=dict(references.get(intent, {}))) for intent in intents],
        scales={names[text]: scale for text, scale in shared.items()},
        questions=questions,
        sets=sets,
    )


def _occurring(stimuli: pl.DataFrame, column: str) -> list[str]:
    """The different cells of a column that are not empty; none where there is no such column."""
    if column not in stimuli.columns:
        return []
    return [value for value in stimuli[column].drop_nulls().unique(maintain_order=True) if value != ""]


def _axes(references: Mapping[str, Mapping[str, float]], intents: Sequence[str], questions: Iterable[str]) -> set[str]:
    """The axes of the references; an error where no stimulus has their intent, or no question measures an axis."""
    for intent in references:
        if intent not in intents:
            raise InputError(f"No stimulus has the intent '{intent}'.", suggestion(intent, intents, "Intents"))
    axes = {axis for reference in references.values() for axis in reference}
    if axes and axes.isdisjoint(questions):
        raise InputError(
            f"No question is called like an axis of the references ({', '.join(sorted(axes))}).",
            f"Questions: {', '.join(questions)}. Rename one with {as_option('rename.OLD', 'NEW')}.",
        )
    return axes


def _with_media(
    stimuli: pl.DataFrame, source: Path, table: Path, options: Mapping[str, str], progress: Progress | None
) -> tuple[pl.DataFrame, Path | None, str | None]:
    """The stimuli with their media found and probed, the media root, and the kind of media.

    ``source`` is what was to be read, ``table`` the file in it that was: a folder given as source, or named as media,
    holds this data's media, while a file may lie anywhere.
    """
    base = table.parent
    root = base / options.get("media", "")
    if "media" in options and not root.is_dir():
        raise InputError(
            f"There is no media folder {root}.", f"Check {as_option('media', 'FOLDER')}; it is relative to the table."
        )
    kind = options.get("kind")
    if kind not in {None, "audio", "speech", "image"}:
        raise InputError(
            f"'{kind}' is not a kind of media.", suggestion(str(kind), ["audio", "speech", "image"], "Kinds")
        )
    if "path" not in stimuli.columns:
        paths = _paths_near(stimuli["stimulus"].to_list(), root, stated="media" in options or source.is_dir())
        if not any(paths):
            return stimuli, None, kind or _kind(stimuli["stimulus"])
        stimuli = stimuli.with_columns(pl.Series("path", paths, dtype=pl.String))
    stimuli = probe_stimuli(stimuli, root, str(base), progress)
    return stimuli, root, kind or _kind(stimuli["path"].drop_nulls())


def _paths_near(names: list[str], root: Path, *, stated: bool) -> list[str | None]:
    """The media files of stimuli; a folder that nobody named may hold anything, so it is searched for usual folders first."""
    if stated:
        return _paths(names, root)
    if any((root / name).is_dir() for name in ("media", "images", "audio", "wav")):
        with suppress(InputError):
            return _paths(names, root)
    return []


def _paths(names: list[str], root: Path) -> list[str | None]:
    """The media file of each stimulus: of that name or stem, or at that path where several folders have files of one name."""
    try:
        files = find_media(root)
    except InputError:
        by_path = media_by_path(root)
        relative = (name.removeprefix("./") for name in names)
        paths = [by_path.get(name) or by_path.get(str(PurePosixPath(name).with_suffix(""))) for name in relative]
        if not any(paths):
            raise
        return paths
    by_name = {Path(path).name: path for path in files.values()}
    return [by_name.get(name) or files.get(name) or files.get(Path(name).stem) for name in names]


def _kind(names: pl.Series) -> str | None:
    endings = {Path(name).suffix.lower() for name in names.head(20)}
    if endings & IMAGES and not endings & AUDIO:
        return "image"
    return "audio" if endings & AUDIO else None


def _with_anchors(study: Study, stimuli: pl.DataFrame, options: Mapping[str, str], where: str) -> Study:
    """The study with an anchor probe for every distinct pair of limits that the options name."""
    if "anchors" not in options:
        return study
    groups: dict[Limits, list[str]] = {}
    for name, limits in _marked(options["anchors"].strip(), stimuli, where).items():
        groups.setdefault(limits, []).append(name)
    question = _anchor_question(
        study, options.get("anchor_question"), limited=any(limits != (None, None) for limits in groups)
    )
    probe_ids = {probe.id for probe in study.probes}
    free = (name for number in range(1, 10**6) if (name := f"anchor{number}") not in probe_ids)
    anchors = [
        AnchorProbe(type="anchor", id=next(free), stimuli=names, question=question, at_least=low, at_most=high)
        for (low, high), names in groups.items()
    ]
    return study.changed(probes=[*study.probes, *anchors])


def _marked(text: str, stimuli: pl.DataFrame, where: str) -> dict[str, Limits]:
    if text in stimuli.columns and text != "stimulus":
        column = stimuli.select("stimulus", pl.col(text).cast(pl.String)).fill_null("")
        limits_of = {name: limits for name, limits in column.iter_rows() if limits.strip().casefold() not in _NO}
    else:
        limits_of = _listed_anchors(text, stimuli, where)
    if not limits_of:
        raise InputError(
            f"{where}: no stimulus is marked as an anchor by '{text}'.",
            f"Name stimuli ({as_option('anchors', 'clip7=0-2')}), or a column of the stimuli with limits or yes.",
        )
    return {name: _limits(limits, where) for name, limits in limits_of.items()}


def _listed_anchors(text: str, stimuli: pl.DataFrame, where: str) -> dict[str, str]:
    """The stimuli in a list such as ``clip7=0-2, clip9``, each with the text of its limits."""
    stimulus_ids = set(stimuli["stimulus"])
    limits_of: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        # The id of a stimulus may hold an equals sign itself.
        name, _, limits = part.rpartition("=") if part not in stimulus_ids and "=" in part else (part, "", "yes")
        limits_of[name.strip()] = limits
    for name in limits_of:
        if name not in stimulus_ids:
            raise InputError(
                f"{where}: the anchor '{name}' is not among the stimuli, nor is '{text}' a column of them.",
                suggestion(name, sorted(stimulus_ids)[:200], "Stimuli"),
            )
    return limits_of


def marks_anchors(cell: str) -> bool:
    """Whether a cell of a column named by ``anchors`` makes its stimulus an anchor: yes, or limits of its answer."""
    match = _LIMITS.fullmatch(cell.strip())
    return cell.strip().casefold() in _YES or (match is not None and match.groups() != (None, None))


def _limits(text: str, where: str) -> Limits:
    if text.strip().casefold() in _YES:
        return None, None
    match = _LIMITS.fullmatch(text.strip())
    if match is None or match.groups() == (None, None):
        raise InputError(
            f"{where}: '{text}' does not say within which limits an anchor's answer must lie.",
            "Write LOW-HIGH, LOW-, -HIGH, or yes for an anchor without limits.",
        )
    low, high = (None if end is None else float(end) for end in match.groups())
    if low is not None and high is not None and low > high:
        raise InputError(f"{where}: the limits '{text}' of an anchor are the wrong way round.", "Write LOW-HIGH.")
    return low, high


def _anchor_question(study: Study, named: str | None, *, limited: bool) -> str:
    question_ids = [question.id for question in study.asked]
    if named is not None and named not in question_ids:
        raise InputError(
            f"No question is called '{named}', so it cannot have anchors.", suggestion(named, question_ids, "Questions")
        )
    if named is None and limited and len(question_ids) > 1:
        raise InputError(
            "The anchors have limits, and several questions are asked.",
            f"Say which question they are about: {as_option('anchor_question', 'NAME')} ({', '.join(question_ids[:12])}).",
        )
    return named or question_ids[0]
