"""A challenge: a benchmark with hidden labels, its rules, and the thread that scores what is submitted, one after another."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import polars as pl

from heartfelt.benchmark.prediction_file import Scorer
from heartfelt.challenge.ladder import Rung, overstatement, rungs_of
from heartfelt.challenge.ledger import Ledger, Limits, Steps, Submission
from heartfelt.challenge.reading import SizeLimits, not_usable, readable_file, too_many_rows
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.labels import load_benchmark
from heartfelt.scoring import ScoreOptions, Scores, tasks_of
from heartfelt.study.model import say
from heartfelt.wording import plural

LEDGER = "challenge.sqlite"
_SPARE_ROWS = 1_000
_MODEL = "submission"
_GRACE = 5.0
"""Seconds a submission may take to its end when the challenge is closed; after that it is scored at the next start."""
_log = logging.getLogger("heartfelt.challenge")


@dataclass(frozen=True, slots=True)
class ChallengeOptions:
    """The rules of a challenge."""

    part: str | None = "test"
    """The part whose labels are hidden; None for all of them."""
    step: float | None = None
    """The step of published scores; by default chosen for each task by the number of its items."""
    limits: Limits = field(default_factory=Limits)
    megabytes: float = 16.0
    seconds: float = 60.0
    """How long scoring one submission may take."""


@dataclass(frozen=True, slots=True)
class Place:
    """One line of a leaderboard: a submitter's published score in one task."""

    rank: int
    submitter: str
    model: str
    score: float
    since: float
    """When it was published, in seconds since 1970."""
    submissions: int
    overstated_at_most: float
    """How far it can lie above the true score, with 95% confidence (see docs/challenge.md)."""


class Challenge:
    """Scores submissions against hidden labels; use it as a context, in which a thread scores what comes in."""

    def __init__(
        self, folder: Path, options: ChallengeOptions | None = None, *, ledger: Path | None = None
    ) -> None:
        self.options = options or ChallengeOptions()
        benchmark = load_benchmark(folder)
        scoring = ScoreOptions(part=self.options.part, resamples=100, ceilings=False, slices=())
        self._scorer = Scorer.of(benchmark, scoring)
        self.study = benchmark.study
        self.title = say(self.study.title) or self.study.name
        self.benchmark_hash = benchmark.hash
        present = set(self._scorer.truth.items["question"])
        tasks, _ = tasks_of(self.study, [q.id for q in self.study.asked if q.id in present])
        self.rungs = rungs_of(self._scorer.truth, tasks, self.options.limits.in_all, self.options.step)
        self.items, self.sets = self._items(), self._sets()
        self.sizes = SizeLimits(self.options.megabytes, 20 * self.items.height + _SPARE_ROWS)
        self.ledger = Ledger(ledger or folder.resolve().parent / LEDGER)
        steps = ", ".join(f"{rung.task} {rung.step:g}" for rung in self.rungs)
        self.ledger.bind({"benchmark": benchmark.hash, "part": str(self.options.part), "step": steps})
        self._wake = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def _items(self) -> pl.DataFrame:
        """``stimulus, question`` of everything that is scored."""
        asked = self._scorer.asked[False]
        rows = [(case.stimulus, ask.question) for case in asked for ask in case.asks]
        return pl.DataFrame(rows, schema=["stimulus", "question"], orient="row").sort("question", "stimulus")

    def _sets(self) -> pl.DataFrame:
        """``question, first, second …`` of the stimuli that were compared; predictions may be about these instead."""
        cases = [case for case in self._scorer.asked[True] if case.members]
        names = [[member.stimulus for member in case.members] for case in cases]
        places = [
            "first",
            "second",
            *(f"member_{at}" for at in range(3, max(map(len, names), default=0) + 1)),
        ]
        rows = [
            {"question": ask.question, **dict(zip(places, members, strict=False))}
            for case, members in zip(cases, names, strict=True)
            for ask in case.asks
        ]
        return pl.DataFrame(rows, schema=dict.fromkeys(["question", *places], pl.String)).sort(pl.all())

    # --- submitting ---

    def submit(self, submitter: str, content: bytes, model: str = "") -> Submission:
        """Store a submission and put it in line; its result comes later."""
        model = model.strip() or submitter
        if len(model) > 80 or not model.isprintable():
            raise InputError("The name of the model is not usable.", "Use at most 80 printable characters.")
        stored = self.ledger.receive(submitter, model, content, self.options.limits)
        with self._wake:
            self._wake.notify_all()
        return stored

    def wait_for(self, id: str, seconds: float) -> Submission:
        """The submission once it is scored or refused, or as it is after so many seconds."""
        until = time.monotonic() + seconds
        with self._wake:
            while (state := self.ledger.submission(id)).status == "received":
                left = until - time.monotonic()
                if left <= 0 or self._closing.is_set():
                    break
                self._wake.wait(left)
        return state

    def result(self, submission: Submission) -> dict[str, float]:
        """The published scores after a submission, by task; only tasks above chance."""
        values = {rung.task: rung.value(submission.published.get(rung.task)) for rung in self.rungs}
        return {task: value for task, value in values.items() if value is not None}

    def leaderboard(self, rung: Rung) -> list[Place]:
        """Every submitter above chance in a task, best first; the same score is the same rank."""
        best: dict[str, Submission] = {}
        changes: dict[str, int] = {}
        for each in self.ledger.raising():
            changes[each.submitter] = changes.get(each.submitter, 0) + len(each.changed)
            if rung.task in each.changed:
                best[each.submitter] = each
        counts, k = self.ledger.counts(), self.options.limits.in_all
        order = sorted(best.values(), key=lambda own: (-own.published[rung.task], own.finished or 0.0))
        scores = [own.published[rung.task] for own in order]
        return [
            Place(
                1 + scores.index(steps),
                own.submitter,
                own.model,
                rung.value(steps) or 0.0,
                own.finished or own.at,
                counts[own.submitter],
                overstatement(rung, self.rungs, k, changes[own.submitter]),
            )
            for own, steps in zip(order, scores, strict=True)
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
        """Score what waits, in the order it came, until the challenge is closed."""
        pool = ThreadPoolExecutor(1)
        while not self._closing.is_set():
            with self._wake:
                waiting = self.ledger.waiting()
                if not waiting:
                    self._wake.wait()
                    continue
            job: Future[dict[str, float | None]] = pool.submit(self.score, self.ledger.content(waiting[0]))
            try:
                self._finish(waiting[0], job.result(self.options.seconds))
            except TookTooLong:
                pool.shutdown(wait=False)
                pool = ThreadPoolExecutor(1)
                fix = "Send one row per item and nothing else, and try again."
                self.ledger.refuse(waiting[0], f"Scoring took longer than {self.options.seconds:g} s.", fix)
            except HeartfeltError as error:
                self.ledger.refuse(waiting[0], error.problem, error.fix)
            except Exception:  # noqa: BLE001  # the edge: whatever a file does, the next one is scored
                if self._closing.is_set():
                    break  # it is scored at the next start
                _log.exception("submission %s", waiting[0])
                self.ledger.refuse(
                    waiting[0],
                    "The submission cannot be read.",
                    "Send CSV with the columns stimulus, question and value or answer, as /items.csv has them.",
                )
            with self._wake:
                self._wake.notify_all()
        pool.shutdown(wait=False)

    def _finish(self, id: str, scores: dict[str, float | None]) -> None:
        def climb(before: Steps) -> dict[str, int]:
            steps = {
                rung.task: rung.published(before.get(rung.task), scores.get(rung.task)) for rung in self.rungs
            }
            return {task: value for task, value in steps.items() if value is not None}

        self.ledger.publish(id, scores, climb)

    def score(self, content: bytes) -> dict[str, float | None]:
        """The headline of every task, None where it has none; these are never sent to anybody."""
        with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
            path = readable_file(content, Path(folder), self.sizes)
            try:
                answers = self._scorer.read(path, _MODEL)
            except HeartfeltError as error:
                # Where the file is on the server concerns nobody.
                problem, fix = (text.replace(str(path), "The file") for text in (error.problem, error.fix))
                raise InputError(problem[:500], fix[:500]) from None
        if answers.unused.height > self.sizes.rows:
            raise too_many_rows(answers.unused.height, self.sizes)
        wrong = not_usable(answers.predictions, answers.unused)
        if wrong is not None:
            raise wrong
        scores = self._scorer.score(answers).scores
        _all_answered(scores)
        return {
            rung.task: scores.headline(rung.task, _MODEL).value
            for rung in self.rungs
            if any(task.id == rung.task for task in scores.tasks)
        }


def _all_answered(scores: Scores) -> None:
    """Raise where predictions cannot be used on their question's scale."""
    for task, covered in scores.coverage.get(_MODEL, {}).items():
        if covered.answered < covered.items:
            why = next(iter(covered.problems), "what was given cannot be scored on this task")
            raise InputError(
                f"{plural(covered.items - covered.answered, 'prediction')} of '{task}' cannot be used: {why[:300]}.",
                "Use the answers of the question's scale, as the page at / lists them.",
            )
