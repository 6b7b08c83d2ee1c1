"""The end of a challenge: every team's submission scored once, exactly, on the part that nothing depended on before.

The submission that counts is the one a team chose; else, task by task, the one behind its published score; else its last. Scores,
intervals, tests against chance and between teams are those of ``heartfelt bench``: ranks are ranges, and teams whose paired
difference is not significant after Holm's correction are tied. Closing again after a crash goes on where it stopped, and closing
a closed challenge changes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.publishing.submissions.ledger import Submission, SubmissionLedger
from heartfelt.scoring import METRICS, ScoreOptions, Scores, Truth, score, truth_of
from heartfelt.scoring.bench.prediction_file import in_order
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.serialization import dumps, from_json, to_json
from heartfelt.web.challenge.challenge import AUTOMATIC, LEDGER, Challenge
from heartfelt.web.challenge.options import ChallengeOptions

DIGITS = 4
"""Of scores in the final ranking: a statistic of hidden labels to the last bit would tell a right guess of all of them."""
CHOSEN, BEST, LAST = "chosen by the team", "its best published", "its last"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalPlace:
    """One team in the final ranking of a task."""

    place: int | None
    """By score, best first; None for a team that does not beat chance."""
    best: int | None
    """The ranks that the data leave possible: from ``best`` to ``worst``."""
    worst: int | None
    team: str
    model: str
    counts_because: str
    score: float | None
    low: float | None
    """95% interval of this score alone, over stimuli."""
    high: float | None
    low_all: float | None
    """95% interval that holds for all teams at once (Bonferroni)."""
    high_all: float | None
    tied_with: tuple[str, ...] = ()
    """Ranked teams that do not differ significantly, after Holm's correction over all pairs."""
    published: float | None = None
    """The team's last score on the running board."""
    why_no_rank: str | None = None
    why_no_interval: str | None = None

    @property
    def ranks(self) -> str:
        """``2`` or ``1–3``; a dash for a team without a rank."""
        if self.best is None or self.worst is None:
            return "–"
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalBoard:
    """The final ranking of one task."""

    task: str
    metric: str
    title: str
    items: int
    chance: float | None
    places: tuple[FinalPlace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """The final ranking of a challenge."""

    challenge: str
    title: str
    closed: str
    teams: int
    submissions: int
    """Scored, of all teams."""
    refused: int
    untouched: bool
    """Whether nothing was ever published that depended on the final part; false where an earlier version published scores."""
    boards: tuple[FinalBoard, ...] = field(default=())


def reopened(folder: Path, ledger: Path | None = None) -> Challenge:
    """A challenge that was served before, by the rules its ledger holds."""
    path = ledger or folder.resolve().parent / LEDGER
    never = InputError(
        f"{path} holds no challenge.", "Serve it first with heartfelt serve-benchmark, or name its --ledger."
    )
    if not path.is_file():
        raise never
    book = SubmissionLedger(path)
    part, public, step = (book.fact(name) for name in ("part", "public share", "step"))
    book.close()
    if part is None:
        raise never
    options = ChallengeOptions(
        part=None if part == "None" else part,
        step=None if step in (None, AUTOMATIC) else float(step),
        public_share=0.5 if public is None else float(public),
    )
    return Challenge(folder, options, ledger=path)


def close(challenge: Challenge) -> Final:
    """Take no more submissions, score what waits, and rank the teams; the same result every time."""
    ledger = challenge.ledger
    closed = ledger.settle("closed", repr(time.time()))
    challenge.score_waiting()
    ready = final_of(challenge)
    if ready is not None:
        return ready
    entries = ledger.scored()
    teams = sorted({entry.submitter for entry in entries})
    truth = truth_of(in_order(challenge.division.final), ScoreOptions(ceilings=False, slices=()))
    boards = [_board(challenge, truth, task, entries) for task in challenge.tasks_in(truth) if len(teams) > 0]
    refused = sum(
        submission.status == "refused"
        for team in {m.team for m in ledger.members()}
        for submission in ledger.of_team(team)
    )
    final = Final(
        challenge=challenge.id,
        title=challenge.title,
        closed=datetime.fromtimestamp(float(closed), UTC).isoformat(timespec="seconds"),
        teams=len(teams),
        submissions=len(entries),
        refused=refused,
        untouched=ledger.fact("earlier step") is None,
        boards=tuple(board for board in boards if board is not None),
    )
    ledger.settle("final", json.dumps(to_json(final)))
    ready = final_of(challenge)
    assert ready is not None
    return ready


def final_of(challenge: Challenge) -> Final | None:
    """The final ranking, where the challenge was closed."""
    text = challenge.ledger.fact("final")
    return None if text is None else from_json(Final, json.loads(text))


def _board(challenge: Challenge, truth: Truth, task: ScoringTask, entries: Sequence[Submission]) -> FinalBoard | None:
    """The ranking of one task; None where the final part has nothing to score it on."""
    counting = {team: _counting(entries, team, task.id) for team in {e.submitter for e in entries}}
    tables = [
        challenge.predictions(entry.id)
        .filter(pl.col("question").is_in(task.questions))
        .with_columns(pl.lit(team).alias("model"))
        for team, (entry, _) in sorted(counting.items())
    ]
    predictions = pl.concat(tables)
    try:
        options = ScoreOptions(ceilings=False, slices=())
        scores = score(truth, predictions, options)
        wide = ScoreOptions(ceilings=False, slices=(), resamples=100, confidence=1 - 0.05 / len(counting))
        at_once = score(truth, predictions, wide)
    except InputError:
        return None
    if not any(scored.id == task.id for scored in scores.tasks):
        return None
    rungs = {rung.task: rung for rung in challenge.rungs}
    board_rows = []
    for rank in scores.ranked(task.id):
        entry, reason = counting[rank.model]
        exact, wider = (board_scores.headline(task.id, rank.model) for board_scores in (scores, at_once))
        ends = [_rounded(end) for end in (exact.value, exact.low, exact.high, wider.low, wider.high)]
        steps = entries_published(entries, rank.model).get(task.id)
        board_rows.append(
            FinalPlace(
                place=rank.place,
                best=rank.best,
                worst=rank.worst,
                team=rank.model,
                model=entry.model,
                counts_because=reason,
                score=ends[0],
                low=ends[1],
                high=ends[2],
                low_all=ends[3],
                high_all=ends[4],
                tied_with=tuple(scores.tied_with(task.id, rank.model)) if rank.place is not None else (),
                published=rungs[task.id].value(steps) if task.id in rungs else None,
                why_no_rank=rank.why_none,
                why_no_interval=exact.why_no_interval if exact.low is None else None,
            )
        )
    return FinalBoard(
        task=task.id,
        metric=task.headline,
        title=METRICS[task.headline].title,
        items=_items(scores, task),
        chance=_rounded(scores.chance(task.id).value),
        places=tuple(board_rows),
    )


def _items(scores: Scores, task: ScoringTask) -> int:
    return max((scores.answered(task.id, model)[1] for model in scores.models), default=0)


def entries_published(entries: Sequence[Submission], team: str) -> dict[str, int]:
    """A team's published scores, in steps."""
    return {task: entry.published[task] for entry in entries if entry.submitter == team for task in entry.changed}


def _counting(entries: Sequence[Submission], team: str, task: str) -> tuple[Submission, str]:
    team_entries = [entry for entry in entries if entry.submitter == team]
    for entry in team_entries:
        if entry.chosen is not None:
            return entry, CHOSEN
    raising = [entry for entry in team_entries if task in entry.changed]
    return (raising[-1], BEST) if raising else (max(team_entries, key=lambda entry: entry.at), LAST)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def final_table(final: Final) -> pl.DataFrame:
    """The final ranking with a row per team and task."""
    rows = [
        {
            "task": board.task,
            "metric": board.metric,
            "items": board.items,
            "place": entry.place,
            "ranks": entry.ranks,
            "team": entry.team,
            "model": entry.model,
            "score": entry.score,
            "low": entry.low,
            "high": entry.high,
            "low_all": entry.low_all,
            "high_all": entry.high_all,
            "published": entry.published,
            "tied_with": "; ".join(entry.tied_with),
            "counts_because": entry.counts_because,
            "why_no_rank": entry.why_no_rank,
            "why_no_interval": entry.why_no_interval,
        }
        for board in final.boards
        for entry in board.places
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def write_final(final: Final, page: str, folder: Path) -> Path:
    """Write the ranking as a page, JSON and CSV; the folder is either complete or absent."""
    with whole_folder(folder, replace=True) as scratch:
        write_text(scratch / "final.json", dumps(final) + "\n")
        write_text(scratch / "final.csv", csv_text(final_table(final)))
        write_text(scratch / "index.html", page)
    return folder
