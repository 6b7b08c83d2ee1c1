"""A challenge: a benchmark with hidden labels, its rules, and the thread that scores what is submitted, one after another.

The hidden labels are divided in two (:mod:`heartfelt.web.challenge.parts`): what is submitted is scored on the public part alone,
and published as the ladder allows; the final part is scored once, when the challenge is closed
(:mod:`heartfelt.web.challenge.final`).
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.labels import load_benchmark
from heartfelt.publishing.submissions.ladder import Rung, Tries, overstatement, rungs_of
from heartfelt.publishing.submissions.ledger import Member, Steps, Submission, SubmissionLedger
from heartfelt.scoring import ScoreOptions, Truth, score, tasks_of, truth_of
from heartfelt.scoring.bench.prediction_file import FileScorer, in_order
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.scoring.scorer import coverage_of
from heartfelt.study.model import say
from heartfelt.web.challenge.options import ChallengeOptions
from heartfelt.web.challenge.parts import divided
from heartfelt.web.challenge.reading import SizeLimits, not_usable, readable_file, too_many_rows
from heartfelt.wording import plural

LEDGER = "challenge.sqlite"
AUTOMATIC = "automatic"
"""What the ledger says of a step that follows from the labels."""
_SPARE_ROWS = 1_000
_GRACE = 5.0
"""Seconds a submission may take to its end when the server stops; after that it is scored at the next start."""
_COLD = 10
"""How many times as long the first submission of a process may take."""
_AT_HAND = 64
"""Submissions whose predictions are kept in memory."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """One line of a leaderboard: a team's published score in one task."""

    rank: int
    team: str
    model: str
    score: float
    since: float
    """When it was published, in seconds since 1970."""
    submissions: int
    overstated_at_most: float
    """How far it can lie above the true score, with 95% confidence (see docs/challenge.md)."""
    overstated_if_shared: float
    """The same if all teams told each other everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A submission's scores on the public part, and how it compares with its team's bests."""

    scores: Mapping[str, float | None]
    p_better: Mapping[str, float | None]
    """By task: the p-value of the difference from the best, or from chance; None where it is no better."""
    compared_with: Mapping[str, str]
    """By task: the team's best submission."""


class Challenge:
    """Scores submissions against hidden labels; use it as a context, in which a thread scores what comes in."""

    def __init__(self, folder: Path, options: ChallengeOptions | None = None, *, ledger: Path | None = None) -> None:
        self.options = options or ChallengeOptions()
        benchmark = load_benchmark(folder)
        self._scoring = ScoreOptions(resamples=100, ceilings=False, slices=())
        self._scorer = FileScorer.of(benchmark, ScoreOptions(part=self.options.part))
        self.study = benchmark.study
        self.title = say(self.study.title) or self.study.name
        self.ledger = SubmissionLedger(ledger or folder.resolve().parent / LEDGER)
        self.id, key = (self.ledger.fact(name) or "" for name in ("id", "key"))
        self.division = divided(in_order(benchmark), self.options.part, self.options.public_share, bytes.fromhex(key))
        self._truth = truth_of(self.division.public, self._scoring)
        self.tasks = self.tasks_in(self._truth)
        # Strengths of systems cannot be divided: both parts would have the same labels.
        tasks = [task for task in self.tasks if task.kind != "strengths" or self._truth.contestants(task) == "stimulus"]
        self.rungs = rungs_of(self._truth, tasks, self.options.step)
        self.ledger.bind(
            {
                "benchmark": benchmark.hash,
                "part": str(self.options.part),
                "public share": f"{self.options.public_share:g}",
                "step": AUTOMATIC if self.options.step is None else f"{self.options.step:g}",
            }
        )
        self.items, self.sets = self._items(), self._sets()
        self.sizes = SizeLimits(self.options.megabytes, 20 * self.items.height + _SPARE_ROWS)
        self._at_hand: dict[str, pl.DataFrame] = {}
        self._warm = False
        self._wake = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def tasks_in(self, truth: Truth) -> list[ScoringTask]:
        """The tasks of the questions that have labels."""
        present = set(truth.items["question"])
        return tasks_of(self.study, [q.id for q in self.study.asked if q.id in present])[0]

    def _items(self) -> pl.DataFrame:
        """``stimulus, question`` of everything that is scored."""
        cases = self._scorer.asked[False]
        rows = [(case.stimulus, ask.question) for case in cases for ask in case.asks]
        return pl.DataFrame(rows, schema=["stimulus", "question"], orient="row").sort("question", "stimulus")

    def _sets(self) -> pl.DataFrame:
        """``question, first, second …`` of the stimuli that were compared; predictions may be about these instead."""
        cases = [case for case in self._scorer.asked[True] if case.members]
        names = [[member.stimulus for member in case.members] for case in cases]
        member_columns = ["first", "second", *(f"member_{at}" for at in range(3, max(map(len, names), default=0) + 1))]
        rows = [
            {"question": ask.question, **dict(zip(member_columns, members, strict=False))}
            for case, members in zip(cases, names, strict=True)
            for ask in case.asks
        ]
        return pl.DataFrame(rows, schema=dict.fromkeys(["question", *member_columns], pl.String)).sort(pl.all())

    # --- submitting ---

    def submit(self, member: Member, content: bytes, model: str = "") -> Submission:
        """Store a submission and put it in line; its result comes later."""
        model = model.strip() or member.team
        if len(model) > 80 or not model.isprintable():
            raise InputError("The name of the model is not usable.", "Use at most 80 printable characters.")
        stored = self.ledger.receive(member, model, content, self.options.limits)
        with self._wake:
            self._wake.notify_all()
        return stored

    def wait_for(self, id: str, seconds: float) -> Submission:
        """The submission once it is scored or refused, or as it is after so many seconds."""
        until = time.monotonic() + seconds
        with self._wake:
            while (state := self.ledger.submission(id)).status == "received":
                remaining = until - time.monotonic()
                if remaining <= 0 or self._closing.is_set():
                    break
                self._wake.wait(remaining)
        return state

    def result(self, submission: Submission) -> dict[str, float]:
        """The published scores after a submission, by task; only tasks with one."""
        values = {rung.task: rung.value(submission.published.get(rung.task)) for rung in self.rungs}
        return {task: value for task, value in values.items() if value is not None}

    def leaderboard(self, rung: Rung) -> list[LeaderboardEntry]:
        """Every team with a published score in a task, best first; the same score is the same rank."""
        best: dict[str, tuple[Submission, float, float]] = {}
        tries: dict[str | None, int] = {}
        changes: dict[str | None, int] = {}
        for entry in self.ledger.scored():
            for team in (entry.submitter, None):
                tries[team] = tries.get(team, 0) + 1
            if rung.task in entry.changed:
                alone, shared = (
                    overstatement(rung, self.rungs, tries[counted], changes.get(counted, 0), teams=teams)
                    for counted, teams in ((entry.submitter, 1), (None, len(tries) - 1))
                )
                best[entry.submitter] = entry, alone, shared
            for team in (entry.submitter, None):
                changes[team] = changes.get(team, 0) + len(entry.changed)
        order = sorted(best.values(), key=lambda line: (-line[0].published[rung.task], line[0].finished or 0.0))
        scores = [entry.published[rung.task] for entry, _, _ in order]
        return [
            LeaderboardEntry(
                rank=1 + scores.index(entry.published[rung.task]),
                team=entry.submitter,
                model=entry.model,
                score=rung.value(entry.published[rung.task]) or 0.0,
                since=entry.finished or entry.at,
                submissions=tries[entry.submitter],
                overstated_at_most=round(alone, 4),
                overstated_if_shared=round(shared, 4),
            )
            for entry, alone, shared in order
        ]

    # --- scoring ---

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._work, name="heartfelt-challenge", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._wake:
            self._closing.set()
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(_GRACE)
        self.ledger.close()

    def _work(self) -> None:
        """Score what waits, in the order it came, until the server stops."""
        while not self._closing.is_set():
            with self._wake:
                if not self.ledger.waiting():
                    self._wake.wait()
                    continue
            self.score_waiting()

    def score_waiting(self) -> None:
        """Score everything that waits, in the order it came."""
        pool = ThreadPoolExecutor(1)
        while not self._closing.is_set() and (waiting := self.ledger.waiting()):
            job: Future[_Measured] = pool.submit(self._measured, waiting[0])
            # The first one waits for code to be compiled, which is not its sender's fault.
            limit = self.options.seconds * (1 if self._warm else _COLD)
            try:
                self._finish(waiting[0], job.result(limit))
                self._warm = True
            except TookTooLong:
                if self._closing.is_set():
                    break
                pool.shutdown(wait=False)
                pool = ThreadPoolExecutor(1)
                fix = "Send one row per item and nothing else, and try again."
                self.ledger.refuse(waiting[0], f"Scoring took longer than {self.options.seconds:g} s.", fix)
            except HeartfeltError as error:
                self.ledger.refuse(waiting[0], error.problem, error.fix)
            except Exception:  # noqa: BLE001  # the edge: whatever a file does, the next one is scored
                if self._closing.is_set():
                    break  # it is scored at the next start
                _log.exception("heartfelt failed on submission %s", waiting[0])
                self.ledger.refuse(
                    waiting[0],
                    "heartfelt failed while it scored the submission.",
                    "This is a bug in heartfelt; tell the organizers, whose log has the details.",
                )
            with self._wake:
                self._wake.notify_all()
        pool.shutdown(wait=False)

    def _finish(self, id: str, measured: _Measured) -> None:
        def climb(before: Steps, tries: Tries) -> dict[str, int]:
            steps = {
                rung.task: rung.published(
                    before.get(rung.task), measured.scores[rung.task], measured.p_better[rung.task], tries
                )
                for rung in self.rungs
            }
            return {task: value for task, value in steps.items() if value is not None}

        # Where the team's bests have changed meanwhile, it stays in line and is measured again.
        self.ledger.publish(id, measured.scores, measured.compared_with, climb)

    def _measured(self, id: str) -> _Measured:
        """A submission on the public part, beside its team's bests; none of this is ever sent to anybody."""
        bests = self.ledger.bests(self.ledger.submission(id).submitter)
        compared_with = {task: best.id for task, best in bests.items()}
        models = [id, *dict.fromkeys(compared_with.values())]
        scores = score(self._truth, pl.concat([self.predictions(name) for name in models]), self._scoring)
        values = {
            rung.task: scores.headline(rung.task, id).value
            if any(task.id == rung.task for task in scores.tasks)
            else None
            for rung in self.rungs
        }
        p_better: dict[str, float | None] = {}
        for rung in self.rungs:
            rival = compared_with.get(rung.task)
            p_better[rung.task] = rung.p_chance(values[rung.task]) if rival is None else None
            for pair in scores.comparisons:
                if pair.task == rung.task and {pair.first, pair.second} == {id, rival}:
                    ahead = (pair.difference.value or 0.0) * (1 if pair.first == id else -1)
                    p_better[rung.task] = pair.p.value if ahead > 0 else None
        return _Measured(scores=values, p_better=p_better, compared_with=compared_with)

    def predictions(self, id: str) -> pl.DataFrame:
        """What a submission predicts, under its id as the model's name."""
        if id not in self._at_hand:
            while len(self._at_hand) >= _AT_HAND:
                self._at_hand.pop(next(iter(self._at_hand)))
            self._at_hand[id] = self.read(self.ledger.content(id), id)
        return self._at_hand[id]

    def read(self, content: bytes, name: str) -> pl.DataFrame:
        """The predictions in a file, one for every item; an error with its fix where it cannot be used.

        No answer here depends on a label, or on the part an item is in.
        """
        with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
            path = readable_file(content, Path(folder), self.sizes)
            try:
                answers = self._scorer.read(path, name)
            except HeartfeltError as error:
                # Where the file is on the server concerns nobody.
                problem, fix = (text.replace(str(path), "The file") for text in (error.problem, error.fix))
                raise InputError(problem[:500], fix[:500]) from None
        if answers.unused.height > self.sizes.rows:
            raise too_many_rows(answers.unused.height, self.sizes)
        wrong = not_usable(answers.predictions, answers.unused)
        if wrong is not None:
            raise wrong
        self._all_answered(answers.predictions, name)
        return answers.predictions

    def _all_answered(self, predictions: pl.DataFrame, name: str) -> None:
        """Raise where predictions cannot be used on their question's scale."""
        for task, covered in coverage_of(self._scorer.truth, predictions, name).items():
            if covered.answered < covered.items:
                reason = next(iter(covered.problems), "what was given cannot be scored on this task")
                raise InputError(
                    f"{plural(covered.items - covered.answered, 'prediction')} of '{task}' cannot be used:"
                    f" {reason[:300]}.",
                    "Use the answers of the question's scale, as the page at / lists them.",
                )
