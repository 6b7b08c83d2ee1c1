"""MusicEval: expert opinion scores of text-to-music, as the challenge release or as single ratings.

Read from one folder, as far as they are there: ``sets/{split}_mos_list.txt`` (clip means), ``person_mos/{split}_person_mos.txt``
(single ratings of the full release), ``ratings.csv`` (single ratings with batch and position), ``system_mos/*.csv``,
``prompt_info.txt``, ``demo_prompt_info.txt`` and ``wav/``. The files call the questions *overall* and *textual*; here they
are ``impression`` and ``alignment``. A clip ``...S###_P###.wav`` was made by system ``S###`` from prompt ``P###``, or, where
``demo_prompt_info.txt`` names the clip, from a text of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.columns import filled, ids, inside_paths, moments, need, not_taken, numbers, read_table, unique_keys, whole_numbers
from heartfelt.formats.delimited import line_ends, open_delimited, read_delimited
from heartfelt.formats.format import FORMATS, Format, Progress
from heartfelt.formats.lines import numbered_lines
from heartfelt.formats.musiceval_files import DEMO_PROMPTS, PROMPTS, RATINGS, unquoted, write_release
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.media import AUDIO, probe_stimuli
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Prompt, Study, System
from heartfelt.study.probe import AnchorProbe, Probe, RepeatProbe
from heartfelt.study.recipes import recipe_study
from heartfelt.tables import lossless_types

QUESTIONS = {"overall": "impression", "textual": "alignment"}
MEANS_END, PERSON_END, TOTAL = "_mos_list.txt", "_person_mos.txt", "total"
_CLIP = re.compile(r"(?:^|-)(S\d+)_(P\d+)$")
_SPLITS = ("train", "dev", "test")
Names: TypeAlias = tuple[str, ...]


class MusicEval(Format):
    """The MusicEval release: clip means, single ratings, or both."""

    name: ClassVar[str] = "musiceval"
    about: ClassVar[str] = "expert scores of text-to-music, 1 to 5 (sets/, person_mos/ or ratings.csv, prompts, wav/)"
    options: ClassVar[Mapping[str, str]] = {"media": "folder of the audio, wav/ beside the lists if left out"}

    def recognises(self, source: Path) -> bool:
        """A folder with MusicEval's lists, or one of them."""
        if source.is_file():
            return source.name.endswith((MEANS_END, PERSON_END)) or _is_ratings(source)
        lists = [*source.glob(f"sets/*{MEANS_END}"), *source.glob(f"person_mos/*{PERSON_END}")]
        return bool(lists) or _is_ratings(source / RATINGS)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read whatever of the release is there."""
        found = _find(source)
        clips = _Clips()
        means = _lists(found.means, clips, ("wavname", "overall", "textual"), _read_means)
        person = _lists(found.person, clips, ("wavname", "expert", "overall", "textual"), _read_person)
        single = None if found.ratings is None else _read_ratings(found.ratings, clips)
        ratings = _one_source(person, single, found)
        systems = {path.stem: _read_systems(path) for path in found.systems}
        prompts, own = _read_prompts(found.root / PROMPTS), _read_prompts(found.root / DEMO_PROMPTS)
        stimuli = _stimuli(clips, prompts, own)
        media = found.root / options.get("media", "wav")
        if "media" in options and not media.is_dir():
            raise InputError(f"There is no folder {media} (option 'media').", "Check the path; it is relative to the release.")
        if media.is_dir():
            report = None if progress is None else lambda done, total: progress("probing media", done, total)
            stimuli = probe_stimuli(stimuli, media, str(source), report)
        where = Source(self.name, source.name, dict(options), media if media.is_dir() else None, found.layout())
        study = _study(stimuli, systems, {**prompts, **own}, single)
        return Snapshot.build(
            study, stimuli=stimuli, ratings=None if ratings is None else _long(ratings, "value"),
            means=None if means is None else _long(means, "mean"), source=where,
        )  # fmt: skip

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write the files the snapshot was read from; of another source ``ratings.csv`` and the whole release."""
        write_release(snapshot, target, {question: column for column, question in QUESTIONS.items()})

    def example(self, folder: Path) -> Path:
        """Two systems and a demo system; means of two splits, ratings of three experts, a real clip, a repeat."""
        root = folder / "MusicEval"
        (root / "sets").mkdir(parents=True)
        (root / "system_mos").mkdir()
        name = "audiomos2025-track1-{}.wav".format
        write_text(root / "sets/train_mos_list.txt", f"{name('S002_P001')},3.5,4.0\n{name('S003_P001')},2.25,2.0\n{name('S001_P001')},4.0,3.0\n")
        write_text(root / "sets/dev_mos_list.txt", f"{name('S002_P002')},3.0,3.0\n")
        write_text(root / "system_mos/system_mos_phase1.csv", "S001,4.0,3.0\nS002,3.25,3.5\nS003,2.25,2.0\n")
        write_text(root / PROMPTS, 'id\ttext\nP001\tA "bright" piano piece, fast\nP002\tSlow strings\n')
        write_text(root / DEMO_PROMPTS, f"id\ttext\n{name('S001_P001')}\tWaltz for harp\n")
        rows = [
            ("1", name("S002_P001"), 4, 4, 1, 1), ("1", "real_1.wav", 5, 5, 1, 2), ("1", name("S003_P001"), 2, 2, 1, 3),
            ("1", name("S002_P001"), 3, 4, 1, 4), ("2", name("S002_P001"), 3, 4, 1, 1), ("2", name("S002_P002"), 3, 3, 2, 1),
            ("3", name("S001_P001"), 4, 3, 1, 1), ("3", name("S003_P001"), 2, 2, 1, 2),
        ]  # fmt: skip
        lines = [",".join(map(str, row)) for row in rows]
        write_text(root / RATINGS, "\n".join(["expert,wavname,overall,textual,batch,position", *lines]) + "\n")
        return root


@dataclass(frozen=True, slots=True)
class _Found:
    """The files of a release that are there."""

    root: Path
    means: dict[str, Path] = field(default_factory=dict)
    person: dict[str, Path] = field(default_factory=dict)
    ratings: Path | None = None
    systems: tuple[Path, ...] = ()

    def layout(self) -> dict[str, str]:
        """Line ends and form of numbers, by path below the root."""
        prompts = [path for path in (self.root / PROMPTS, self.root / DEMO_PROMPTS) if path.is_file()]
        lists = [*self.means.values(), *self.person.values(), *self.systems]
        notes = {path.relative_to(self.root).as_posix(): line_ends(path) for path in [*lists, *prompts]}
        for path in lists:
            cells = [line.rsplit(",", 2)[1:] for _, line in numbered_lines(path)]
            if any("." not in cell for line in cells for cell in line):
                notes[f"{path.relative_to(self.root).as_posix()} numbers"] = "whole"
        for path in prompts:
            notes[f"{path.name} header"] = "yes" if _headed(path) else "no"
        if self.ratings is not None:
            notes[RATINGS] = line_ends(self.ratings)
            notes[f"{RATINGS} columns"] = "\t".join(open_delimited(self.ratings).header)
        return notes


@dataclass(slots=True)
class _Clips:
    """The clips met so far, in order, with the split that listed them."""

    splits: dict[str, str | None] = field(default_factory=dict)

    def add(self, names: pl.Series, split: str | None) -> None:
        for name in names.unique(maintain_order=True):
            if self.splits.get(name) is None:
                self.splits[name] = split


def _find(source: Path) -> _Found:
    if source.is_file():
        root = source.parent.parent if source.parent.name in {"sets", "person_mos"} else source.parent
        if source.name.endswith(PERSON_END):
            return _Found(root, person={source.name.removesuffix(PERSON_END): source})
        if source.name.endswith(MEANS_END):
            return _Found(root, means={source.name.removesuffix(MEANS_END): source})
        return _Found(root, ratings=source)
    means = {path.name.removesuffix(MEANS_END): path for path in sorted(source.glob(f"sets/*{MEANS_END}"))}
    person = {path.name.removesuffix(PERSON_END): path for path in sorted(source.glob(f"person_mos/*{PERSON_END}"))}
    ratings = source / RATINGS if (source / RATINGS).is_file() else None
    systems = tuple(sorted(source.glob("system_mos/*.csv")))
    if not means and not person and ratings is None:
        raise InputError(
            f"{source} holds none of sets/*{MEANS_END}, person_mos/*{PERSON_END} and {RATINGS}.",
            "Point to the folder of the release (with sets/ and wav/), or to one of its lists.",
        )
    return _Found(source, means, person, ratings, systems)


def _is_ratings(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return {"expert", "wavname", "overall", "textual"} <= {name.strip() for name in file.readline().split(",")}
    except OSError:
        return False


def _ordered(lists: Mapping[str, Path]) -> list[tuple[str, Path]]:
    """The lists in the order train, dev, test, others, and the one of everything last."""
    rank = {name: place for place, name in enumerate(_SPLITS)} | {TOTAL: 9}
    return sorted(lists.items(), key=lambda pair: (rank.get(pair[0], 5), pair[0]))


def _lists(lists: Mapping[str, Path], clips: _Clips, names: Names, read: Callable[[Path, Names], pl.DataFrame]) -> pl.DataFrame | None:
    """All lists of one kind as one table; what the list of everything repeats must be the same there."""
    if not lists:
        return None
    key = [name for name in names if name not in QUESTIONS]
    whole: pl.DataFrame | None = None
    for split, path in _ordered(lists):
        frame = read(path, names)
        if whole is None:
            clips.add(frame["wavname"], None if split == TOTAL else split)
            whole = frame
            continue
        both = frame.join(whole, on=key, how="inner", suffix="_before", maintain_order="left")
        differ = both.filter(pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_before")) for name in QUESTIONS))
        if split != TOTAL and both.height or differ.height:
            name = (both if split != TOTAL else differ)["wavname"][0]
            raise InputError(
                f"{path}: '{name}' is in another list of {path.parent} too" + (" with other scores." if split == TOTAL else "."),
                "Keep each clip in one split, with one pair of scores.",
            )
        new = frame.join(whole, on=key, how="anti", maintain_order="left")
        clips.add(new["wavname"], None if split == TOTAL else split)
        whole = pl.concat([whole, new])
    return whole


def _headless(path: Path, names: Names) -> tuple[pl.DataFrame, int]:
    """A list without a header, and the line of its first row; a header that is there all the same is passed over."""
    frame = read_delimited(path, ",", names)
    first = frame.row(0) if frame.height else ()
    if first and str(first[0]).strip().casefold() in {"wavname", "wavid", "filename", "file", "system"}:
        return frame[1:], 2
    return frame, 1


def _scores(frame: pl.DataFrame, where: str, first: int) -> pl.DataFrame:
    frame = frame.with_columns(numbers(frame, name, where, first) for name in QUESTIONS)
    for name in QUESTIONS:
        off = (~frame[name].is_between(1, 5)).fill_null(False)
        if off.any():
            row = int(off.arg_max() or 0)
            raise InputError(
                f"{where}, line {row + first}: the {name} score {frame[name][row]:g} is not between 1 and 5 ({int(off.sum())} such cells).",
                "MusicEval's scores run from 1 to 5; correct the list.",
            )
    return frame


def _clip_names(frame: pl.DataFrame, where: str, first: int = 2) -> pl.DataFrame:
    """Clip names without folders climbing out; one without an extension is a ``.wav``."""
    filled(frame, ["wavname"], where, first)
    inside_paths(frame["wavname"], where, first)
    suffix = "|".join(re.escape(one) for one in sorted(AUDIO))
    name = pl.col("wavname").str.strip_chars()
    return frame.with_columns(pl.when(name.str.contains(rf"(?i)({suffix})$")).then(name).otherwise(name + ".wav").alias("wavname"))


def _read_means(path: Path, names: Names) -> pl.DataFrame:
    frame, first = _headless(path, names)
    frame = _scores(_clip_names(frame, str(path), first), str(path), first)
    unique_keys(frame, ["wavname"], str(path), first)
    return frame


def _read_person(path: Path, names: Names) -> pl.DataFrame:
    frame, first = _headless(path, names)
    frame = _scores(_clip_names(frame, str(path), first), str(path), first).with_columns(ids(frame["expert"]).alias("expert"))
    filled(frame, ["expert"], str(path), first)
    unique_keys(frame, ["expert", "wavname"], str(path), first)
    return frame


def _read_ratings(path: Path, clips: _Clips) -> pl.DataFrame:
    """``ratings.csv``: one row per expert and presentation; the same clip again in the order is a repeat."""
    where = str(path)
    frame = read_table(path)
    need(frame, ("expert", "wavname", "overall", "textual"), where)
    not_taken(frame, ("rater", "stimulus", "question", "value", "answer", "mean"), where)
    frame = _clip_names(frame, where).with_columns(ids(frame["expert"]).alias("expert"))
    filled(frame, ["expert"], where)
    typed = [numbers(frame, name, where) for name in QUESTIONS]
    typed += [whole_numbers(frame, name, where) for name in ("position", "repeat") if name in frame.columns]
    typed += [moments(frame, "at", where)] if "at" in frame.columns else []
    typed += [numbers(frame, "seconds", where)] if "seconds" in frame.columns else []
    frame = lossless_types(frame.with_columns(typed), keep=["expert", "wavname"])
    clips.add(frame["wavname"], None)
    if "repeat" in frame.columns:
        unique_keys(frame, ["expert", "wavname", "repeat"], where)
        return frame
    if "position" not in frame.columns or not frame.select("expert", "wavname").is_duplicated().any():
        unique_keys(frame, ["expert", "wavname"], where)
        return frame
    order = ["batch", "position"] if "batch" in frame.columns else ["position"]
    unique_keys(frame, ["expert", "wavname", *order], where)
    again = pl.struct(order).rank("ordinal").over("expert", "wavname").cast(pl.Int64) - 1
    return frame.with_columns(again.alias("repeat"))


def _one_source(person: pl.DataFrame | None, single: pl.DataFrame | None, found: _Found) -> pl.DataFrame | None:
    if person is not None and single is not None:
        raise InputError(
            f"{found.root} has single ratings twice, in person_mos/ and in {RATINGS}.",
            f"Point to the one to read: {found.ratings} or one of person_mos/*{PERSON_END}.",
        )
    return person if single is None else single


def _read_systems(path: Path) -> dict[str, dict[str, float]]:
    frame, first = _headless(path, ("system", "overall", "textual"))
    frame = _scores(frame, str(path), first)
    filled(frame, ["system"], str(path), first)
    unique_keys(frame, ["system"], str(path), first)
    return {row["system"]: {name: row[name] for name in QUESTIONS if row[name] is not None} for row in frame.iter_rows(named=True)}


def _headed(path: Path) -> bool:
    first = next((line for _, line in numbered_lines(path)), "")
    return [cell.strip().casefold() for cell in first.split("\t")] == ["id", "text"]


def _read_prompts(path: Path) -> dict[str, str]:
    """``id``, a tab, ``text``. Quotes in a text are its own unless they enclose all of it."""
    if not path.is_file():
        return {}
    prompts: dict[str, str] = {}
    skip = _headed(path)
    for number, line in numbered_lines(path):
        name, tab, text = line.partition("\t")
        name, text = name.strip(), text.strip()
        if skip:
            skip = False
            continue
        if not tab or not name or not text or len(name) > 200:
            raise InputError(f"{path}, line {number}: there is no id, tab and text.", "Write each prompt as its id, a tab and its text.")
        text = unquoted(text)
        if prompts.get(name, text) != text:
            raise InputError(f"{path}, line {number}: the prompt '{name}' is there twice with different texts.", "Keep one of the two.")
        prompts[name] = text
    return prompts


def _stimuli(clips: _Clips, prompts: Mapping[str, str], own: Mapping[str, str]) -> pl.DataFrame:
    rows: list[dict[str, str | None]] = []
    for name, split in clips.splits.items():
        parts = _CLIP.search(Path(name).stem)
        system, prompt = (parts[1], parts[2]) if parts else (None, None)
        if name in own or Path(name).stem in own:
            prompt = name if name in own else Path(name).stem
        text = own.get(prompt or "") or prompts.get(prompt or "")
        rows.append({"stimulus": name, "system": system, "prompt": prompt, "path": name, "split": split, "prompt_text": text})
    return pl.DataFrame(rows, schema=dict.fromkeys(("stimulus", "system", "prompt", "path", "split", "prompt_text"), pl.String))


def _study(
    stimuli: pl.DataFrame,
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
    prompts: Mapping[str, str],
    single: pl.DataFrame | None,
) -> Study:
    """The recipe with the systems, prompts and probes of the data; published system scores are facts about the systems."""
    base = recipe_study("musiceval")
    names = sorted({*stimuli["system"].drop_nulls(), *(name for table in scores.values() for name in table)})
    systems = []
    for name in names:
        published = {file: dict(table[name]) for file, table in scores.items() if name in table}
        systems.append(System(id=name, **({"system_mos": published} if published else {})))
    texts = [Prompt(id=name, text=text) for name, text in prompts.items()]
    return base.changed(systems=systems, prompts=texts, probes=_probes(base, stimuli, single))


def _probes(base: Study, stimuli: pl.DataFrame, single: pl.DataFrame | None) -> list[Probe]:
    """The recipe's probes, as far as the ratings hold them: clips of no system are real music, repeats are repeats."""
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


def _long(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    extras = [name for name in frame.columns if name not in QUESTIONS]
    long = frame.unpivot(list(QUESTIONS), index=extras, variable_name="question", value_name=value)
    return long.with_columns(pl.col("question").replace(QUESTIONS)).rename(
        {"expert": "rater", "wavname": "stimulus"}, strict=False
    )


FORMATS.add(MusicEval.name, MusicEval())
