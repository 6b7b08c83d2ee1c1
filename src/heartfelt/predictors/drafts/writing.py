"""The files of drafts in a study folder, and what they come to by field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from heartfelt.files import write_text
from heartfelt.formats.study_folder.drafts import write_drafts
from heartfelt.formats.study_folder.machine_values import machine_values
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.formats.tables.delimited import csv_text, read_delimited
from heartfelt.media.images.duplicates import find_near_duplicates
from heartfelt.predictors.drafts.choosing import Assignment
from heartfelt.predictors.drafts.result import DrafterRun, Drafting, FieldDrafts
from heartfelt.progress import Progress
from heartfelt.study.scales.answer import NONE
from heartfelt.tables import DRAFTS, need_columns

LEDGER_FILE = "drafts_ledger.csv"
DUPLICATES_FILE = "drafts_duplicates.csv"
_ITEM = ("stimulus", "question")
_COLUMNS = ("what", *_ITEM, "reason", "stage")
_MISSING, _CHANGED = "draft", "changed draft"
_MOST_PROBLEMS = 3
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")
_FILE = re.compile(r"^.{1,300}? cannot be read")
_Reason = tuple[str, str, str]
"""A stimulus, a question, and a reason."""


class DraftFiles:
    """The drafts of a study and their ledger, written after every drafter."""

    def __init__(self, opened: OpenStudy) -> None:
        self.opened = opened
        self.drafts = opened.drafts
        self.ledger = self._earlier()
        self.new: Counter[str] = Counter()
        """How many drafts of each field were made in this run."""
        self.problems: dict[str, Counter[str]] = {}
        """The reasons for failures in this run, by field."""
        self.duplicates: int | None = None
        self.duplicate_images = 0

    def _earlier(self) -> pl.DataFrame:
        path = self.opened.folder / LEDGER_FILE
        if not path.is_file():
            return _rows([], _MISSING)
        table = read_delimited(path)
        need_columns(table.columns, _COLUMNS, str(path))
        return table.select(_COLUMNS)

    def add(self, rows: pl.DataFrame, problems: Sequence[_Reason], changed: Sequence[_Reason]) -> None:
        """Take in what a drafter made, failed at and changed, and write it."""
        earlier = self.drafts.join(rows, on=_ITEM, how="anti", maintain_order="left")
        self.drafts = DRAFTS.check(pl.concat([earlier, rows], how="diagonal"), "drafts")
        self.new.update(rows["question"].to_list())
        for _, question, reason in problems:
            self.problems.setdefault(question, Counter())[_kind(reason)] += 1
        new = _rows(problems, _MISSING), _rows(changed, _CHANGED)
        touched = pl.concat([rows.select(_ITEM), *(part.select(_ITEM) for part in new)])
        self.ledger = pl.concat(
            [self.ledger.join(touched, on=_ITEM, how="anti", maintain_order="left"), *new], how="diagonal"
        )
        self._write()

    def fail(self, items: pl.DataFrame, reason: str) -> None:
        self.add(DRAFTS.empty(), [(*item, reason) for item in items.select(_ITEM).iter_rows()], [])

    def _write(self) -> None:
        folder = self.opened.folder
        write_drafts(folder, self.drafts)
        if self.ledger.height or (folder / LEDGER_FILE).is_file():
            write_text(folder / LEDGER_FILE, csv_text(self.ledger.sort("what", *_ITEM)))

    def write_duplicates(self, progress: Progress | None) -> None:
        """Find near-duplicates among the images, and list them; without any there is no file."""
        opened = self.opened
        stimuli = opened.stimuli.select("stimulus", "path").drop_nulls() if "path" in opened.stimuli.columns else None
        if stimuli is None:
            return
        names = {opened.media_root / path: stimulus for stimulus, path in stimuli.iter_rows()}
        groups = find_near_duplicates([path for path in names if path.is_file()], progress).groups
        self.duplicates, self.duplicate_images = len(groups), sum(len(group.paths) for group in groups)
        rows = [
            {"group": number, "stimulus": names[path], "most_bits": group.most_bits}
            for number, group in enumerate(groups, 1)
            for path in group.paths
        ]
        path = opened.folder / DUPLICATES_FILE
        if rows:
            write_text(path, csv_text(pl.DataFrame(rows)))
        else:
            path.unlink(missing_ok=True)


def _kind(reason: str) -> str:
    """A reason without what differs from item to item, so that like failures are counted together."""
    return _FILE.sub("a file cannot be read", _QUOTED.sub("'…'", reason)).partition("; ")[0]


def _rows(reasons: Sequence[_Reason], subject: str) -> pl.DataFrame:
    table = pl.DataFrame(reasons, schema=dict.fromkeys((*_ITEM, "reason"), pl.String), orient="row")
    return table.with_columns(what=pl.lit(subject), stage=pl.lit("draft")).select(_COLUMNS)


def summary(
    files: DraftFiles,
    assigned: Sequence[Assignment],
    runs: Sequence[DrafterRun],
    without: Sequence[str],
    spent: float | None,
) -> Drafting:
    opened = files.opened
    drafter = {question.id: assignment.spec for assignment in assigned for question in assignment.fields}
    items = dict(opened.items.group_by("question").len().iter_rows())
    filled: dict[str, list[tuple[str, str]]] = {}
    for (_, name), fact in machine_values(replace(opened, drafts=files.drafts)).items():
        filled.setdefault(name, []).append(fact)
    fields = []
    for question in opened.study.asked:
        if question.id not in drafter and question.id not in without:
            continue
        drafts, values = files.drafts.filter(pl.col("question") == question.id), filled.get(question.id, [])
        sure = drafts["confidence"].drop_nulls() if "confidence" in drafts.columns else pl.Series([], dtype=pl.Float64)
        problems = files.problems.get(question.id, Counter())
        mean = sure.mean()
        fields.append(
            FieldDrafts(
                field=question.id,
                drafter=drafter.get(question.id),
                items=items.get(question.id, 0),
                drafted=len(values),
                new=files.new[question.id],
                failed=problems.total(),
                none=sum(value == NONE for value, _ in values),
                confidence=float(mean) if isinstance(mean, float) else None,
                sources=dict(Counter(source for _, source in values).most_common()),
                problems=dict(problems.most_common(_MOST_PROBLEMS)),
            )
        )
    return Drafting(
        study=opened.study.name,
        stimuli=opened.stimuli.height,
        fields=tuple(fields),
        drafters=tuple(runs),
        without=tuple(without),
        duplicates=files.duplicates,
        duplicate_images=files.duplicate_images,
        spent=spent,
        folder=opened.folder,
        drafts=files.drafts,
        ledger=files.ledger,
    )
