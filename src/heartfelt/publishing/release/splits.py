"""The split of a release: which part every stimulus is in, and whether anything lies on both sides.

A split that the source was published with (column ``split``) is used as it is. Otherwise stimuli are divided by what they
share, the prompt or else the intent, so that no model is tested on a prompt it was trained on. Parts are decided by a keyed hash
of the group (:mod:`heartfelt.labels.splits`); where few groups leave a part empty, the first seed that fills every part is taken,
unless a seed was asked for. The hash of the assignment names it, whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels.benchmark import Benchmark, freeze, frozen_labels
from heartfelt.labels.labelling import LabelOptions, Labels
from heartfelt.labels.splits import SHARES, SplitOptions, assigned, groups_of
from heartfelt.media.images.duplicates import find_near_duplicates
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.media.sounds.recordings import same_recordings
from heartfelt.progress import Progress
from heartfelt.publishing.release.release import PublishedMedium, Release, ReleaseStep
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.snapshot.snapshot import SPLIT, published_parts
from heartfelt.wording import listed, plural

UNASSIGNED = "unassigned"
"""The part of stimuli that the source's own split leaves out."""
PUBLISHED = "published"
_GROUPINGS = ("prompt", "intent")
"""What stimuli are divided by, the first that has enough groups."""
_SEEDS = 1000
_NAMED = 5
"""How many stimuli a sentence names."""


def split_options(stimuli: pl.DataFrame, settings: Mapping[str, str] | None = None) -> SplitOptions:
    """How to divide stimuli.

    ``settings`` may hold ``by`` (a column, or ``published`` for the source's own split), ``seed``, ``folds``, and any other name as
    a part with its share (``train=0.8``). What they leave open is decided by the stimuli.
    """
    remaining = dict(settings or {})
    by, seed, folds = remaining.pop("by", None), remaining.pop("seed", None), remaining.pop("folds", None)
    own_parts = bool(remaining or folds or seed)
    has_published = SPLIT in stimuli.columns and stimuli[SPLIT].null_count() < stimuli.height
    if by in {PUBLISHED, SPLIT} or (by is None and has_published and not own_parts):
        if own_parts:
            raise InputError(
                "A published split has its own parts: seed, folds and shares do not apply.",
                "Leave them out, or divide by a column, such as by=prompt.",
            )
        return _published(stimuli)
    shares = {name: _number(name, text) for name, text in remaining.items()}
    if folds and shares:
        raise InputError("A split has folds or named shares, not both.", "Leave one of them out.")
    count = int(_number("folds", folds)) if folds else None
    chosen = SplitOptions(by="stimulus", shares=shares or SHARES, folds=count, seed=int(_number("seed", seed or "0")))
    chosen = replace(chosen, by=by or _grouping(stimuli, len(chosen.shares)))
    return chosen if seed is not None else _filled(stimuli, chosen)


def _filled(stimuli: pl.DataFrame, split: SplitOptions) -> SplitOptions:
    """The split with the first seed that leaves no part empty, where there is one."""
    groups = groups_of(stimuli, split.by)["group"].unique().sort().to_list()
    # Few groups may all fall into one part; the same stimuli try the same seeds in the same order.
    if len(groups) >= len(split.shares):
        for seed in range(_SEEDS):
            tried = replace(split, seed=seed)
            if len({tried.part_of(group) for group in groups}) == len(split.shares):
                return tried
    return split


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"The split's {name} is '{text}', which is not a number.",
            "Write settings such as by=prompt, seed=3, folds=5, or shares such as train=0.8 and test=0.2.",
        ) from None


def _grouping(stimuli: pl.DataFrame, parts: int) -> str:
    for name in _GROUPINGS:
        if name in stimuli.columns and stimuli[name].drop_nulls().n_unique() >= parts:
            return name
    return "stimulus"


def _published(stimuli: pl.DataFrame) -> SplitOptions:
    names = published_parts(stimuli)
    groups = groups_of(stimuli, SPLIT)["group"]
    fixed = {group: group if group in names else UNASSIGNED for group in groups.unique().sort()}
    sizes = groups.replace_strict(fixed, return_dtype=pl.String).value_counts().rows()
    shares = {name: count / stimuli.height for name, count in sizes}
    order = [*names, *([UNASSIGNED] if UNASSIGNED in shares and UNASSIGNED not in names else [])]
    return SplitOptions(by=SPLIT, shares={name: shares[name] for name in order}, fixed=fixed)


def release_split(
    snapshot: Snapshot, labels: Labels | LabelOptions | None = None, settings: Mapping[str, str] | None = None
) -> SplitOptions:
    """How to divide the stimuli that have labels, as ``split_options`` decides; an error where none has."""
    return split_options(freeze(snapshot, labels).stimuli, settings)


def freeze_release(
    snapshot: Snapshot, labels: Labels | LabelOptions | None = None, settings: Mapping[str, str] | None = None
) -> Benchmark:
    """Freeze the labels of what is published, divided as ``split_options`` decides."""
    frozen = labels if isinstance(labels, Labels) else frozen_labels(snapshot, labels)
    return freeze(snapshot, frozen, release_split(snapshot, frozen, settings))


def split_of(release: Release) -> SplitOptions:
    split = release.split if release.benchmark is None else release.benchmark.split
    return split or split_options(release.snapshot.stimuli)


def placement(release: Release) -> pl.DataFrame:
    """``stimulus, group, split`` of every stimulus of a release, with or without a label."""
    return placed_by(release.snapshot.stimuli, split_of(release))


def placed_by(stimuli: pl.DataFrame, split: SplitOptions) -> pl.DataFrame:
    """``stimulus, group, split``; groups that the split fixes and that are not there do not matter.

    A published split is taken as it is, also for parts in which nothing has a label; stimuli it leaves out are ``unassigned``.
    """
    groups = groups_of(stimuli, split.by)
    if split.by == SPLIT:
        alone = pl.col("group").str.starts_with("\x00stimulus ")
        return groups.with_columns(pl.when(alone).then(pl.lit(UNASSIGNED)).otherwise("group").alias("split"))
    group_names = set(groups["group"])
    fixed = {group: part for group, part in split.fixed.items() if group in group_names}
    return assigned(groups, replace(split, fixed=fixed))


def parts_of(placed: pl.DataFrame, split: SplitOptions | None = None) -> tuple[str, ...]:
    """The parts that hold at least one stimulus, in the split's order."""
    present = placed["split"].unique().sort().to_list()
    order = [] if split is None else [name for name in split.shares if name in present]
    return (*order, *(name for name in present if name not in order))


def assignment_hash(placed: pl.DataFrame) -> str:
    """The name of an assignment: the same for the same stimuli in the same parts."""
    return table_hash("split", placed.select("stimulus", "split"))


@dataclass(frozen=True, slots=True)
class Crossing:
    """Stimuli with the same or nearly the same media in more than one part."""

    stimuli: tuple[str, ...]
    parts: tuple[str, ...]
    identical: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCheck:
    """What a release's split is, and what lies in more than one of its parts."""

    by: str
    seed: int
    hash: str
    stimuli: Mapping[str, int]
    """How many are in each part."""
    groups: int
    divided: Mapping[str, int]
    """For the grouping, prompt and intent: how many values have stimuli in several parts."""
    crossings: tuple[Crossing, ...]
    compared: int
    """Media that could be compared."""
    by_content: bool
    """Whether media were compared by what they show or sound like, not only by their bytes."""

    @property
    def steps(self) -> tuple[ReleaseStep, ...]:
        """The split and its check as steps of the record."""
        sizes = listed([f"{name} {count:,}" for name, count in self.stimuli.items()])
        crossing = [
            f"{count:,} {name if count == 1 else name + 's'} with stimuli in several parts"
            for name, count in self.divided.items()
            if count
        ]
        about = f"Stimuli are divided by {self.by}: {sizes}."
        about += "" if self.divided[self.by] else f" No {self.by} is in two parts."
        about += f" There are {listed(crossing)}." if crossing else ""
        settings = {"by": self.by, "seed": str(self.seed), "hash": self.hash}
        split = ReleaseStep(
            kind="split", table="stimuli", column=SPLIT, about=about, rows=sum(self.stimuli.values()), settings=settings
        )
        return split, ReleaseStep(
            kind="check", table="stimuli", column=SPLIT, about=self._media(), rows=len(self.crossings)
        )

    def _media(self) -> str:
        if not self.compared:
            return "Media could not be compared between parts: none are at hand."
        how = "identical or nearly identical" if self.by_content else "identical"
        if not self.crossings:
            return f"No {how} media are in two parts ({plural(self.compared, 'file')} compared)."
        first = "; ".join(
            f"{listed(list(crossing.stimuli[:_NAMED]))} ({', '.join(crossing.parts)})"
            for crossing in self.crossings[:_NAMED]
        )
        return f"{plural(len(self.crossings), 'group')} of {how} media lie in more than one part: {first}."


def check_split(release: Release, folder: Path | None = None, progress: Progress | None = None) -> SplitCheck:
    """Look for groups and media that lie in more than one part; ``folder`` is the release's, where media are in it already.

    Media are identical if their published bytes are. Images are compared by what they show as well
    (:mod:`heartfelt.media.images.duplicates`), sounds by the recording they hold
    (:mod:`heartfelt.media.sounds.recordings`), and by what ``heartfelt prepare`` found out about the originals.
    """
    split, placed = split_of(release), placement(release)
    facts = placed.join(release.snapshot.stimuli.drop("split", strict=False), on="stimulus", maintain_order="left")
    divided = {split.by: _divided(placed, "group")}
    more = [name for name in _GROUPINGS if name != split.by and name in facts.columns]
    divided |= {name: _divided(facts.drop_nulls(name), name) for name in more}
    part = dict(placed.select("stimulus", "split").rows())
    media = {name: medium for name, medium in release.media.items() if name in part}
    files = {name: path for name, medium in media.items() if (path := file_of(medium, folder)) is not None}
    crossings = _crossings(_identical(media), part, identical=True)
    exact = {frozenset(crossing.stimuli) for crossing in crossings}
    near = _crossings(_alike(files, facts, progress), part, identical=False)
    sizes = dict(placed["split"].value_counts().rows())
    return SplitCheck(
        by=split.by,
        seed=split.seed,
        hash=assignment_hash(placed),
        stimuli={name: sizes[name] for name in parts_of(placed, split)},
        groups=placed["group"].n_unique(),
        divided=divided,
        crossings=(*crossings, *(crossing for crossing in near if frozenset(crossing.stimuli) not in exact)),
        compared=sum(bool(medium.sha256) for medium in media.values()),
        by_content=any(path.suffix.lower() in AUDIO | IMAGES for path in files.values()),
    )


def _identical(media: Mapping[str, PublishedMedium]) -> list[list[str]]:
    """Stimuli by the published bytes of their media."""
    same: dict[str, list[str]] = {}
    for name, medium in media.items():
        if medium.sha256:
            same.setdefault(medium.sha256, []).append(name)
    return list(same.values())


def file_of(medium: PublishedMedium, folder: Path | None) -> Path | None:
    """The published file of a medium: in the release's folder, or where it waits to be copied; None without a file."""
    if medium.path is None:
        return None
    inside = None if folder is None else folder / medium.path
    if inside is not None and inside.is_file():
        return inside
    return medium.source if medium.source is not None and medium.source.is_file() else None


def _alike(files: Mapping[str, Path], stimuli: pl.DataFrame, progress: Progress | None) -> list[list[str]]:
    """Groups of stimuli whose media show nearly the same picture, or hold the same recording."""
    pictures = {path: name for name, path in files.items() if path.suffix.lower() in IMAGES}
    out = [[pictures[path] for path in group.paths] for group in find_near_duplicates(list(pictures), progress).groups]
    groups = _recordings(files, stimuli, progress).values()
    return [*out, *(list(dict.fromkeys(group)) for group in groups if len(group) > 1)]


def _recordings(files: Mapping[str, Path], stimuli: pl.DataFrame, progress: Progress | None) -> Mapping[str, list[str]]:
    """Stimuli by the recording they hold, named after the first that holds it."""
    sounds = {path: name for name, path in files.items() if path.suffix.lower() in AUDIO}
    names = list(sounds.values())
    out: dict[str, list[str]] = {}
    for name, first in zip(names, same_recordings(list(sounds), progress).tolist(), strict=True):
        out.setdefault(names[first], []).append(name)
    # What 'heartfelt prepare' found out about the originals, whose copies may differ by now.
    for name, original in _duplicates(stimuli):
        out.setdefault(original, [original]).append(name)
    return out


def _duplicates(stimuli: pl.DataFrame) -> list[tuple[str, str]]:
    if "duplicate_of" not in stimuli.columns:
        return []
    return stimuli.select("stimulus", pl.col("duplicate_of").cast(pl.String)).drop_nulls().rows()


def _divided(placed: pl.DataFrame, group: str) -> int:
    parts = placed.group_by(group).agg(pl.n_unique("split").alias("parts"))
    return int((parts["parts"] > 1).sum())


def _crossings(groups: Sequence[Sequence[str]], part: Mapping[str, str], *, identical: bool) -> tuple[Crossing, ...]:
    out = []
    for names in groups:
        parts = tuple(dict.fromkeys(part[name] for name in names))
        if len(parts) > 1:
            out.append(Crossing(tuple(names), parts, identical))
    return tuple(out)
