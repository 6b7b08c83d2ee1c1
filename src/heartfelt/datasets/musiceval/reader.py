"""MusicEval: expert opinion scores of text-to-music, as the challenge release or as single ratings.

Read from one folder, as far as they are there: ``sets/{split}_mos_list.txt`` (clip means),
``person_mos/{split}_person_mos.txt`` (single ratings of the full release), ``ratings.csv`` (single ratings with batch
and position), ``system_mos/*.csv``, ``prompt_info.txt``, ``demo_prompt_info.txt`` and ``wav/``. The files call the
questions *overall* and *textual*; here they are ``impression`` and ``alignment``. A clip ``...S###_P###.wav`` was made
by system ``S###`` from prompt ``P###``, or, where ``demo_prompt_info.txt`` names the clip, from a text of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.datasets.musiceval.writer import DEMO_PROMPTS, PROMPTS, RATINGS, unquoted, write_release
from heartfelt.errors import InputError
from heartfelt.formats.format import FORMATS, Format, option_path
from heartfelt.formats.tables.columns import NamedTable, stacked
from heartfelt.formats.tables.delimited import first_row, header_of, line_ends, open_delimited, read_delimited
from heartfelt.formats.tables.json_files import numbered_lines
from heartfelt.media.probe import AUDIO, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Prompt, Study, System
from heartfelt.study.model import AnchorProbe, Probe, RepeatProbe
from heartfelt.study.recipes import recipe_study
from heartfelt.tables import lossless_types

QUESTIONS = {"overall": "impression", "textual": "alignment"}
MEANS_END, PERSON_END, TOTAL = "_mos_list.txt", "_person_mos.txt", "total"
_CLIP = re.compile(r"(?:^|[-_])(S\d+)_(P\d+)$")
_IS_AUDIO = rf"(?i)({'|'.join(re.escape(ending) for ending in sorted(AUDIO))})$"
_FIRST_OF_HEADERS = {"wavname", "wavid", "filename", "file", "system"}
_ORDER = {"train": 0, "dev": 1, "test": 2, TOTAL: 9}


class MusicEvalFormat(Format):
    """The MusicEval release: clip means, single ratings, or both."""

    name = "musiceval"
    about = "expert scores of text-to-music, 1 to 5 (sets/, person_mos/ or ratings.csv, prompts, wav/)"
    options: ClassVar[Mapping[str, str]] = {"media": "folder of the audio, wav/ beside the lists if left out"}
    answer_columns: ClassVar[Mapping[str, str]] = QUESTIONS
    example_data = "example/MusicEval"

    def recognises(self, source: Path) -> bool:
        columns = {"expert", "wavname", *QUESTIONS}
        if source.is_file():
            return _has_two_scores(source) or columns <= header_of(source)
        lists = [*source.glob(f"sets/*{MEANS_END}"), *source.glob(f"person_mos/*{PERSON_END}")]
        return any(map(_has_two_scores, lists)) or columns <= header_of(source / RATINGS)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        release = _find(source)
        clips: dict[str, str | None] = {}
        means = _lists(release.means, clips, ["wavname"])
        person = _lists(release.person, clips, ["wavname", "expert"])
        single = None
        if release.ratings is not None:
            single = _ratings(release.ratings)
            _add(clips, single["wavname"], None)
            if person is not None:
                raise InputError(
                    f"{release.root} has single ratings twice, in person_mos/ and in {RATINGS}.",
                    f"Point to the one to read: {release.ratings} or one of person_mos/*{PERSON_END}.",
                )
        systems = {path.stem: _systems(path) for path in release.systems}
        prompts, demo_prompts = _prompts(release.root / PROMPTS), _prompts(release.root / DEMO_PROMPTS)
        stimuli = _stimuli(clips, prompts, demo_prompts)
        media = option_path(options, "media", release.root) or release.root / "wav"
        if media.is_dir():
            stimuli = probe_stimuli(stimuli, media, str(source), progress)
        names = {"expert": "rater", "wavname": "stimulus"}
        ratings = person if single is None else single
        root = media if media.is_dir() else None
        return Snapshot.build(
            _study(stimuli, systems, {**prompts, **demo_prompts}, single),
            stimuli=stimuli,
            ratings=None if ratings is None else stacked(ratings, QUESTIONS, names),
            means=None if means is None else stacked(means, QUESTIONS, names, "mean"),
            source=Source(
                format=self.name, name=source.name, options=dict(options), media_root=root, layout=release.layout()
            ),
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        write_release(snapshot, target, {question: column for column, question in QUESTIONS.items()})

    def system_scores(self, path: Path) -> dict[str, dict[str, float]] | None:
        if len(first_row(path)) not in {1, 1 + len(QUESTIONS)}:
            return None
        listed = _systems(path)
        return {
            question: {system: scores[column] for system, scores in listed.items() if column in scores}
            for column, question in QUESTIONS.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """The files of a release that are there; lists by their split."""

    root: Path
    means: dict[str, Path] = field(default_factory=dict)
    person: dict[str, Path] = field(default_factory=dict)
    ratings: Path | None = None
    systems: tuple[Path, ...] = ()

    def layout(self) -> dict[str, str]:
        """Line ends and form of numbers, by path below the root."""
        prompts = list(filter(Path.is_file, (self.root / PROMPTS, self.root / DEMO_PROMPTS)))
        lists = [*self.means.values(), *self.person.values(), *self.systems]
        notes = {path.relative_to(self.root).as_posix(): line_ends(path) for path in [*lists, *prompts]}
        for path in lists:
            if any("." not in cell for _, line in numbered_lines(path) for cell in line.rsplit(",", 2)[1:]):
                notes[f"{path.relative_to(self.root).as_posix()} numbers"] = "whole"
        for path in prompts:
            notes[f"{path.name} header"] = "yes" if _has_header(path) else "no"
        if self.ratings is not None:
            notes[RATINGS] = line_ends(self.ratings)
            notes[f"{RATINGS} columns"] = "\t".join(open_delimited(self.ratings).header)
        return notes


def _has_two_scores(path: Path) -> bool:
    """Whether a file is a list of clips with two scores; other challenges have lists of this name with one."""
    fields = {MEANS_END: 3, PERSON_END: 4}
    count = next((count for end, count in fields.items() if path.name.endswith(end)), 0)
    return bool(count) and len(first_row(path)) in {1, count}


def _find(source: Path) -> _Release:
    if source.is_file():
        return _release_of_file(source)
    means, person = (
        {path.name.removesuffix(end): path for path in sorted(source.glob(f"{folder}/*{end}"))}
        for folder, end in (("sets", MEANS_END), ("person_mos", PERSON_END))
    )
    ratings = source / RATINGS if (source / RATINGS).is_file() else None
    if not means and not person and ratings is None:
        raise InputError(
            f"{source} holds none of sets/*{MEANS_END}, person_mos/*{PERSON_END} and {RATINGS}.",
            "Point to the folder of the release (with sets/ and wav/), or to one of its lists.",
        )
    return _Release(
        root=source, means=means, person=person, ratings=ratings, systems=tuple(sorted(source.glob("system_mos/*.csv")))
    )


def _release_of_file(path: Path) -> _Release:
    """The release of which only this list, or this file of ratings, is read."""
    root = path.parent.parent if path.parent.name in {"sets", "person_mos"} else path.parent
    means, person = (
        {path.name.removesuffix(end): path} if path.name.endswith(end) else {} for end in (MEANS_END, PERSON_END)
    )
    return _Release(root=root, means=means, person=person, ratings=None if means or person else path)


def _add(clips: dict[str, str | None], names: pl.Series, split: str | None) -> None:
    """Note clips in the order they are met, with the split that listed them."""
    for name in names.unique(maintain_order=True):
        clips[name] = clips.get(name) or split


def _lists(lists: Mapping[str, Path], clips: dict[str, str | None], key: list[str]) -> pl.DataFrame | None:
    """The lists of one kind as one table: train, dev, test, others, and the one of everything last.

    What the list of everything repeats must be the same there.
    """
    combined: pl.DataFrame | None = None
    for split, path in sorted(lists.items(), key=lambda pair: (_ORDER.get(pair[0], 5), pair[0])):
        new = _scores(path, key)
        if combined is not None:
            both = new.join(combined, on=key, how="inner", suffix="_before", maintain_order="left")
            differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_before")) for name in QUESTIONS)
            wrong = both.filter(differs) if split == TOTAL else both
            if wrong.height:
                raise InputError(
                    f"{path}: '{wrong['wavname'][0]}' is in another list of {path.parent} too"
                    + (" with other scores." if split == TOTAL else "."),
                    "Keep each clip in one split, with one pair of scores.",
                )
            new = new.join(combined, on=key, how="anti", maintain_order="left")
        _add(clips, new["wavname"], None if split == TOTAL else split)
        combined = new if combined is None else pl.concat([combined, new])
    return combined


def _scores(path: Path, key: list[str]) -> pl.DataFrame:
    """The key and the two scores of each row of a list without a header; a header that is there is passed over."""
    frame = read_delimited(path, ",", (*key, *QUESTIONS))
    headed = frame.height and str(frame.row(0)[0]).strip().casefold() in _FIRST_OF_HEADERS
    sheet = NamedTable(frame[1:] if headed else frame, str(path), 2 if headed else 1)
    if "wavname" in key:
        sheet = _clip_names(sheet)
    sheet = sheet.with_columns(sheet.numbers(name) for name in QUESTIONS)
    for name in QUESTIONS:
        problem = "the score {cell} is not between 1 and 5 ({rows} such cells)."
        fix = "MusicEval's scores run from 1 to 5; correct the list."
        sheet.refuse(~sheet[name].is_between(1, 5), sheet[name], problem, fix)
    sheet = sheet.with_ids("expert")
    sheet.filled(*key)
    sheet.unique(*reversed(key))
    return sheet.frame


def _clip_names(sheet: NamedTable) -> NamedTable:
    """Clip names without folders climbing out; one without an extension is a ``.wav``."""
    sheet.filled("wavname")
    sheet.inside_paths("wavname")
    name = pl.col("wavname").str.strip_chars()
    return sheet.with_columns(pl.when(name.str.contains(_IS_AUDIO)).then(name).otherwise(name + ".wav"))


def _ratings(path: Path) -> pl.DataFrame:
    """``ratings.csv``: one row per expert and presentation; the same clip again in the order is a repeat."""
    sheet = NamedTable.read(path)
    sheet.need("expert", "wavname", *QUESTIONS)
    sheet.not_taken("rater", "stimulus", "question", "value", "answer", "mean")
    sheet = _clip_names(sheet).with_ids("expert")
    sheet.filled("expert")
    turn = {**dict.fromkeys(QUESTIONS, sheet.numbers), "position": sheet.whole_numbers}
    turn |= {"repeat": sheet.whole_numbers, "at": sheet.moments, "seconds": sheet.numbers}
    typed = sheet.with_columns(read(name) for name, read in turn.items() if name in sheet)
    sheet = NamedTable(lossless_types(typed.frame, keep=["expert", "wavname"]), sheet.where)
    again = sheet.frame.select("expert", "wavname").is_duplicated().any()
    if "repeat" in sheet or "position" not in sheet or not again:
        sheet.unique("expert", "wavname", *(["repeat"] if "repeat" in sheet else []))
        return sheet.frame
    order = ["batch", "position"] if "batch" in sheet else ["position"]
    sheet.unique("expert", "wavname", *order)
    repeat = pl.struct(order).rank("ordinal").over("expert", "wavname").cast(pl.Int64) - 1
    return sheet.frame.with_columns(repeat.alias("repeat"))


def _systems(path: Path) -> dict[str, dict[str, float]]:
    """The published scores of each system."""
    return {
        row["system"]: {name: row[name] for name in QUESTIONS if row[name] is not None}
        for row in _scores(path, ["system"]).iter_rows(named=True)
    }


def _has_header(path: Path) -> bool:
    """Whether a list of prompts begins with ``id`` and ``text``."""
    first = next((line for _, line in numbered_lines(path)), "")
    return [cell.strip().casefold() for cell in first.split("\t")] == ["id", "text"]


def _prompts(path: Path) -> dict[str, str]:
    """``id``, a tab, ``text``. Quotes in a text are its own unless they enclose all of it."""
    if not path.is_file():
        return {}
    prompts: dict[str, str] = {}
    for number, line in list(numbered_lines(path))[_has_header(path) :]:
        name, tab, text = line.partition("\t")
        name, text = name.strip(), text.strip()
        if not tab or not name or not text or len(name) > 200:
            raise InputError(
                f"{path}, line {number}: there is no id, tab and text.",
                "Write each prompt as its id, a tab and its text.",
            )
        if prompts.setdefault(name, unquoted(text)) != unquoted(text):
            raise InputError(
                f"{path}, line {number}: the prompt '{name}' is there twice with different texts.",
                "Keep one of the two.",
            )
    return prompts


def _stimuli(
    clips: Mapping[str, str | None], prompts: Mapping[str, str], demo_prompts: Mapping[str, str]
) -> pl.DataFrame:
    rows: list[tuple[str | None, ...]] = []
    for name, split in clips.items():
        parts = _CLIP.search(Path(name).stem)
        system, prompt = (parts[1], parts[2]) if parts else (None, None)
        prompt = next((key for key in (name, Path(name).stem) if key in demo_prompts), prompt)
        text = demo_prompts.get(prompt or "") or prompts.get(prompt or "")
        rows.append((name, system, prompt, name, split, text))
    names = ("stimulus", "system", "prompt", "path", "split", "prompt_text")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _study(
    stimuli: pl.DataFrame,
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
    prompts: Mapping[str, str],
    single: pl.DataFrame | None,
) -> Study:
    """The recipe with the systems, prompts and probes of the data; system scores are facts about the systems."""
    base = recipe_study("musiceval")
    names = sorted({*stimuli["system"].drop_nulls(), *(name for table in scores.values() for name in table)})
    systems = []
    for name in names:
        published = {file: dict(table[name]) for file, table in scores.items() if name in table}
        systems.append(System(id=name, **({"system_mos": published} if published else {})))
    texts = [Prompt(id=name, text=text) for name, text in prompts.items()]
    return base.changed(systems=systems, prompts=texts, probes=_probes(base, stimuli, single))


def _probes(base: Study, stimuli: pl.DataFrame, single: pl.DataFrame | None) -> list[Probe]:
    """The recipe's probes as far as the ratings hold them; a clip of no system is real music."""
    if single is None:
        return []
    real = set(stimuli.filter(pl.col("system").is_null())["stimulus"]) & set(single["wavname"])
    again = "repeat" in single.columns and bool((single["repeat"].fill_null(0) > 0).any())
    probes: list[Probe] = []
    for probe in base.probes:
        if isinstance(probe, AnchorProbe) and real:
            probes.append(probe.model_copy(update={"stimuli": sorted(real)}))
        elif isinstance(probe, RepeatProbe) and again:
            probes.append(probe)
    return probes


FORMATS.add(MusicEvalFormat.name, MusicEvalFormat())
