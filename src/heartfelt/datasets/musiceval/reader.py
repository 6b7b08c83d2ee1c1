"""MusicEval: expert opinion scores of text-to-music, as the challenge release or as single ratings.

Read from one folder, as far as they are there: ``sets/{split}_mos_list.txt`` (clip means),
``person_mos/{split}_person_mos.txt`` (single ratings of the full release), ``ratings.csv`` (single ratings with batch
and position), ``system_mos/*.csv``, ``prompt_info.txt``, ``demo_prompt_info.txt`` and ``wav/``. The files call the
questions *overall* and *textual*; here they are ``impression`` and ``alignment``. A clip ``...S###_P###.wav`` was made
by system ``S###`` from prompt ``P###``, or, where ``demo_prompt_info.txt`` names the clip, from a text of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.datasets.musiceval.lists import (
    Names,
    has_header,
    read_means,
    read_person,
    read_prompts,
    read_ratings,
    read_systems,
)
from heartfelt.datasets.musiceval.writer import DEMO_PROMPTS, PROMPTS, RATINGS, write_release
from heartfelt.errors import InputError
from heartfelt.formats.delimited import line_ends, open_delimited
from heartfelt.formats.format import Format
from heartfelt.formats.json_files import numbered_lines
from heartfelt.media.probe import probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Prompt, Study, System
from heartfelt.study.model import AnchorProbe, Probe, RepeatProbe
from heartfelt.study.recipes import recipe_study

QUESTIONS = {"overall": "impression", "textual": "alignment"}
MEANS_END, PERSON_END, TOTAL = "_mos_list.txt", "_person_mos.txt", "total"
_CLIP = re.compile(r"(?:^|[-_])(S\d+)_(P\d+)$")
_SPLITS = ("train", "dev", "test")


class MusicEvalFormat(Format):
    """The MusicEval release: clip means, single ratings, or both."""

    name: ClassVar[str] = "musiceval"
    about: ClassVar[str] = (
        "expert scores of text-to-music, 1 to 5 (sets/, person_mos/ or ratings.csv, prompts, wav/)"
    )
    options: ClassVar[Mapping[str, str]] = {"media": "folder of the audio, wav/ beside the lists if left out"}
    answer_columns: ClassVar[Mapping[str, str]] = QUESTIONS
    example_data: ClassVar[str] = "example/MusicEval"

    def recognises(self, source: Path) -> bool:
        """A folder with MusicEval's lists, or one of them."""
        if source.is_file():
            return source.name.endswith((MEANS_END, PERSON_END)) or _is_ratings(source)
        lists = [*source.glob(f"sets/*{MEANS_END}"), *source.glob(f"person_mos/*{PERSON_END}")]
        return bool(lists) or _is_ratings(source / RATINGS)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read whatever of the release is there."""
        release = _find(source)
        clips = _Clips()
        means = _lists(release.means, clips, ("wavname", "overall", "textual"), read_means)
        person = _lists(release.person, clips, ("wavname", "expert", "overall", "textual"), read_person)
        single = None if release.ratings is None else read_ratings(release.ratings)
        if single is not None:
            clips.add(single["wavname"], None)
        ratings = _one_source(person, single, release)
        systems = {path.stem: read_systems(path) for path in release.systems}
        prompts, own = read_prompts(release.root / PROMPTS), read_prompts(release.root / DEMO_PROMPTS)
        stimuli = _stimuli(clips, prompts, own)
        media = release.root / options.get("media", "wav")
        if "media" in options and not media.is_dir():
            raise InputError(
                f"There is no folder {media} (option 'media').",
                "Check the path; it is relative to the release.",
            )
        if media.is_dir():
            stimuli = probe_stimuli(stimuli, media, str(source), progress)
        where = Source(
            self.name, source.name, dict(options), media if media.is_dir() else None, release.layout()
        )
        study = _study(stimuli, systems, {**prompts, **own}, single)
        return Snapshot.build(
            study, stimuli=stimuli, ratings=None if ratings is None else _long(ratings, "value"),
            means=None if means is None else _long(means, "mean"), source=where,
        )  # fmt: skip

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write the files the snapshot was read from; of another source the whole release."""
        write_release(snapshot, target, {question: column for column, question in QUESTIONS.items()})

    def system_scores(self, path: Path) -> dict[str, dict[str, float]]:
        """A list ``S###,overall,textual``."""
        listed = read_systems(path)
        return {
            question: {system: scores[column] for system, scores in listed.items() if column in scores}
            for column, question in QUESTIONS.items()
        }


@dataclass(frozen=True, slots=True)
class _Release:
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
            notes[f"{path.name} header"] = "yes" if has_header(path) else "no"
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


def _find(source: Path) -> _Release:
    if source.is_file():
        root = source.parent.parent if source.parent.name in {"sets", "person_mos"} else source.parent
        if source.name.endswith(PERSON_END):
            return _Release(root, person={source.name.removesuffix(PERSON_END): source})
        if source.name.endswith(MEANS_END):
            return _Release(root, means={source.name.removesuffix(MEANS_END): source})
        return _Release(root, ratings=source)
    means = {path.name.removesuffix(MEANS_END): path for path in sorted(source.glob(f"sets/*{MEANS_END}"))}
    person = {
        path.name.removesuffix(PERSON_END): path for path in sorted(source.glob(f"person_mos/*{PERSON_END}"))
    }
    ratings = source / RATINGS if (source / RATINGS).is_file() else None
    systems = tuple(sorted(source.glob("system_mos/*.csv")))
    if not means and not person and ratings is None:
        raise InputError(
            f"{source} holds none of sets/*{MEANS_END}, person_mos/*{PERSON_END} and {RATINGS}.",
            "Point to the folder of the release (with sets/ and wav/), or to one of its lists.",
        )
    return _Release(source, means, person, ratings, systems)


def _is_ratings(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return {"expert", "wavname", "overall", "textual"} <= {
                name.strip() for name in file.readline().split(",")
            }
    except OSError:
        return False


def _ordered(lists: Mapping[str, Path]) -> list[tuple[str, Path]]:
    """The lists in the order train, dev, test, others, and the one of everything last."""
    rank = {name: place for place, name in enumerate(_SPLITS)} | {TOTAL: 9}
    return sorted(lists.items(), key=lambda pair: (rank.get(pair[0], 5), pair[0]))


def _lists(
    lists: Mapping[str, Path], clips: _Clips, names: Names, read: Callable[[Path, Names], pl.DataFrame]
) -> pl.DataFrame | None:
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
        differ = both.filter(
            pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_before")) for name in QUESTIONS)
        )
        if (split != TOTAL and both.height) or differ.height:
            name = (both if split != TOTAL else differ)["wavname"][0]
            raise InputError(
                f"{path}: '{name}' is in another list of {path.parent} too"
                + (" with other scores." if split == TOTAL else "."),
                "Keep each clip in one split, with one pair of scores.",
            )
        new = frame.join(whole, on=key, how="anti", maintain_order="left")
        clips.add(new["wavname"], None if split == TOTAL else split)
        whole = pl.concat([whole, new])
    return whole


def _one_source(
    person: pl.DataFrame | None, single: pl.DataFrame | None, release: _Release
) -> pl.DataFrame | None:
    if person is not None and single is not None:
        raise InputError(
            f"{release.root} has single ratings twice, in person_mos/ and in {RATINGS}.",
            f"Point to the one to read: {release.ratings} or one of person_mos/*{PERSON_END}.",
        )
    return person if single is None else single


def _stimuli(clips: _Clips, prompts: Mapping[str, str], own: Mapping[str, str]) -> pl.DataFrame:
    rows: list[dict[str, str | None]] = []
    for name, split in clips.splits.items():
        parts = _CLIP.search(Path(name).stem)
        system, prompt = (parts[1], parts[2]) if parts else (None, None)
        if name in own or Path(name).stem in own:
            prompt = name if name in own else Path(name).stem
        text = own.get(prompt or "") or prompts.get(prompt or "")
        rows.append(
            {
                "stimulus": name,
                "system": system,
                "prompt": prompt,
                "path": name,
                "split": split,
                "prompt_text": text,
            }
        )
    return pl.DataFrame(
        rows,
        schema=dict.fromkeys(("stimulus", "system", "prompt", "path", "split", "prompt_text"), pl.String),
    )


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


def _long(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    extras = [name for name in frame.columns if name not in QUESTIONS]
    long = frame.unpivot(list(QUESTIONS), index=extras, variable_name="question", value_name=value)
    return long.with_columns(pl.col("question").replace(QUESTIONS)).rename(
        {"expert": "rater", "wavname": "stimulus"}, strict=False
    )
