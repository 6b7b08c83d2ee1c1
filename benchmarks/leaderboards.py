"""Rules of a leaderboard on hidden labels: what honest teams see, and what ten thousand adaptive submissions gain.

``python -m benchmarks leaderboards`` prints the tables of docs/challenge.md for 164 items (about five minutes);
``HEARTFELT_BENCH=full`` adds 40 and 1,000 items (about half an hour). Half of the items feeds the board; the
ladder of earlier versions had all of them. Every rule is a function of plain arrays; the one in use is
``heartfelt.publishing.submissions.ladder`` itself. 1,000 further items stand for the truth.

Attacks, each with 10,000 submissions by one team, by 100 teams of 100 and by 2,000 teams of 5 that share everything: ``boost``
(Blum and Hardt: the votes of random submissions that were published, weighted by their scores), ``climb`` (change a random number
of answers of a fair model, keep what rose), ``coordinates`` (one to four answers in turn) and ``readings`` (every team's first
submission is a changed fair model, whose published score is read; then all readings are combined).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from heartfelt.publishing.submissions.ladder import (
    Rung,
    Tries,
    level,
    overstatement,
    resolution,
    step_for,
    variance_proxy,
)
from heartfelt.stats.columns.triples import Floats

FULL = os.environ.get("HEARTFELT_BENCH") == "full"
SIZES = (40, 164, 1000) if FULL else (164,)
ATTACKED = 2
HONEST = 300
SUBMISSIONS = 10_000
TEAMS = (1, 100, 2000)
IN_USE = "first all, then team's tries"
FRESH = 1000
"""Further items that stand for the truth."""


class Task:
    """Labels with one way of scoring; ``influence`` is each item's part in a score, for standard errors of differences."""

    metric, chance, fair = "accuracy", 0.5, 0.7

    def __init__(self, labels: Floats) -> None:
        self.labels, self.n = labels, labels.size
        self.effective = float(self.n)

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int) -> Floats:
        return rng.integers(0, 2, n).astype(np.float64)

    @classmethod
    def model(cls, rng: np.random.Generator, labels: Floats, quality: float, shared: Any = None) -> Floats:
        """Predictions that are right so often; with ``shared``, four in five mistakes are those of that draw."""
        chosen = rng.random(labels.size)
        if shared is not None:
            chosen = np.where(rng.random(labels.size) < 0.2, chosen, shared)
        return np.asarray(np.where(chosen < quality, labels, 1 - labels))

    @classmethod
    def noise(cls, rng: np.random.Generator, n: int) -> Floats:
        return rng.random(n)

    @classmethod
    def guess(cls, rng: np.random.Generator, n: int) -> Floats:
        return rng.integers(0, 2, n).astype(np.float64)

    @classmethod
    def changed(cls, _rng: np.random.Generator, values: Floats, at: Any) -> Floats:
        new = values.copy()
        new[at] = 1 - new[at]
        return new

    @classmethod
    def voted(cls, votes: Floats) -> Floats:
        return (votes > 0).astype(np.float64)

    @classmethod
    def vote(cls, values: Floats) -> Floats:
        return 2 * values - 1

    def score(self, values: Floats) -> float:
        return float(np.mean(self.labels == values))

    def influence(self, values: Floats) -> Floats:
        return np.asarray(self.labels == values, np.float64)


class Correlation(Task):
    """Mean ratings on a nine-point scale, scored by Pearson's correlation."""

    metric, chance, fair = "pearson", 0.0, 0.6

    def __init__(self, labels: Floats) -> None:
        super().__init__(labels)
        self.z = (labels - labels.mean()) / labels.std()
        self.effective = self.n / 4 / variance_proxy(labels)

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int) -> Floats:
        return np.clip(np.round(rng.normal(5, 1.5, n), 1), 1, 9)

    @classmethod
    def model(cls, rng: np.random.Generator, labels: Floats, quality: float, shared: Any = None) -> Floats:
        error = rng.normal(size=labels.size)
        if shared is not None:
            error = 0.9 * shared + math.sqrt(1 - 0.81) * error
        return quality * (labels - 5) / 1.5 + math.sqrt(1 - quality**2) * error

    @classmethod
    def noise(cls, rng: np.random.Generator, n: int) -> Floats:
        return rng.normal(size=n)

    guess = noise

    @classmethod
    def changed(cls, rng: np.random.Generator, values: Floats, at: Any) -> Floats:
        new = values.copy()
        new[at] += rng.normal(0, rng.choice([0.3, 1.0, 3.0]), len(at))
        return new

    @classmethod
    def voted(cls, votes: Floats) -> Floats:
        return votes

    @classmethod
    def vote(cls, values: Floats) -> Floats:
        return values

    def score(self, values: Floats) -> float:
        y = values - values.mean()
        spread = y.std()
        return float(self.z @ y / self.n / spread) if spread else 0.0

    def influence(self, values: Floats) -> Floats:
        y = (values - values.mean()) / values.std()
        return np.asarray(self.z * y - float(np.mean(self.z * y)) / 2 * (self.z**2 + y**2))


@dataclass(slots=True)
class Team:
    """What a rule knows of a team."""

    published: float | None = None
    exact: float = 0.0
    influence: Floats | None = None
    submissions: int = 0


Rule = Callable[[Team, Task, Floats, int, np.random.Generator], bool]
"""Judges a submission of a team, the so-and-so-many-th of all; whether its published score rose."""


def floored(value: float, step: float) -> float:
    return math.floor(value / step + 1e-9) * step


def raised(team: Team, task: Task, reached: float, step: float) -> bool:
    """Publish a score that is above everything before, at first above chance rounded up to a step."""
    before = math.ceil(task.chance / step - 1e-9) * step if team.published is None else team.published
    if reached > before + 1e-12:
        team.published = reached
        return True
    return False


def fixed(step: float) -> Rule:
    """Rounded down to a step, when that is above everything before."""

    def judge(team: Team, task: Task, values: Floats, _tries: int, _rng: np.random.Generator) -> bool:
        reached = floored(task.score(values), step)
        return raised(team, task, reached, step)

    return judge


def parameter_free(team: Team, task: Task, values: Floats, _tries: int, _rng: np.random.Generator) -> bool:
    """Blum and Hardt's: better by a standard error of the paired difference, rounded to 1 / items."""
    exact = task.score(values)
    if exact <= (team.exact if team.influence is not None else task.chance):
        return False
    own = task.influence(values)
    paired = own if team.influence is None else own - team.influence
    if exact - (task.chance if team.influence is None else team.exact) <= paired.std() / math.sqrt(task.n):
        return False
    team.published, team.exact, team.influence = round(exact * task.n) / task.n, exact, own
    return True


def noisy(step: float, sigma: float) -> Rule:
    """A fixed step on scores with Laplace noise, drawn anew for every different file."""

    def judge(team: Team, task: Task, values: Floats, _tries: int, rng: np.random.Generator) -> bool:
        reached = min(floored(task.score(values) + rng.laplace(0, sigma / math.sqrt(2)), step), 1.0)
        return raised(team, task, reached, step)

    return judge


def thresholdout(threshold: float, sigma: float) -> Rule:
    """Dwork et al. (2015): answered, with noise, only beyond a noisy threshold above the best so far."""

    def judge(team: Team, task: Task, values: Floats, _tries: int, rng: np.random.Generator) -> bool:
        exact, unit = task.score(values), sigma / math.sqrt(2)
        before = task.chance if team.published is None else team.published
        if exact <= before + threshold + rng.laplace(0, 2 * unit):
            return False
        answer = min(exact + rng.laplace(0, unit), 1.0)
        if answer <= before:
            return False
        team.published = answer
        return True

    return judge


def significant(rung: Rung, first: str, further: str) -> Rule:
    """Better with p at most 1 / tries, rounded down to the step; of all teams or of the team, at first and after that."""

    def judge(team: Team, task: Task, values: Floats, tries: int, _rng: np.random.Generator) -> bool:
        exact = task.score(values)
        counted = first if team.influence is None else further
        tries = tries if counted == "all" else team.submissions
        if exact <= (task.chance if team.influence is None else team.exact):
            return False
        own = task.influence(values)
        if team.influence is None:
            p = rung.p_chance(exact)
        else:
            error = float((own - team.influence).std()) / math.sqrt(task.n)
            p = math.erfc((exact - team.exact) / error / math.sqrt(2)) if error else None
        before = None if team.published is None else round(team.published / rung.step)
        now = rung.published(before, exact, p, Tries(of_all=tries, of_team=tries))
        if now == before:
            return False
        team.published, team.exact, team.influence = rung.value(now), exact, own
        return True

    return judge


def rung_of(task: Task) -> Rung:
    step = step_for(task.metric, task.effective, task.chance)
    return Rung(
        task="task", metric=task.metric, title="", items=task.n, effective=task.effective, chance=task.chance, step=step
    )


def earlier_step(task: Task, submissions: int) -> float:
    """The step of versions before 0.9: of the smallest such that chance alone reaches no second one."""
    steps = (0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.25)
    for step in steps:
        values = math.floor(1 / step) - math.ceil(task.chance / step)
        exponent = 2 * math.log(submissions) + math.log(max(values, 1)) + math.log(6 / 0.05)
        if 2 * step >= math.sqrt(exponent / (2 * task.effective)):
            return step
    return steps[-1]


def rules(task: Task) -> dict[str, Rule]:
    """The rules that are compared on the public half."""
    rung = rung_of(task)
    error = rung.error
    return {
        "fixed step, 2 errors": fixed(2 * error),
        "fixed step, 1 error": fixed(error),
        "fixed step, 1/2 error": fixed(error / 2),
        "parameter-free": parameter_free,
        "noise 1/2 error, step 1": noisy(error, error / 2),
        "noise 1 error, step 1": noisy(error, error),
        "Thresholdout 1, noise 1/2": thresholdout(error, error / 2),
        "Thresholdout 2, noise 1/2": thresholdout(2 * error, error / 2),
        "p <= 1 / team's tries": significant(rung, "team", "team"),
        "p <= 1 / all tries": significant(rung, "all", "all"),
        IN_USE: significant(rung, "all", "team"),
    }


@dataclass(slots=True)
class Board:
    """A board under attack: a new team begins when the last one has nothing left."""

    task: Task
    rule: Rule
    per_team: int
    rng: np.random.Generator
    team: Team = field(default_factory=Team)
    tries: int = 0
    changes: int = 0
    top: float = -math.inf
    best: Floats | None = None
    seen: tuple[int, int, int] = (0, 0, 1)
    """At the best one: its number, and the changes and teams before it."""
    teams: int = 1

    @property
    def fresh(self) -> bool:
        return self.team.submissions >= self.per_team

    def new_team(self) -> None:
        self.team = Team()
        self.teams += 1

    def submit(self, values: Floats) -> bool:
        if self.fresh:
            self.new_team()
        self.team.submissions += 1
        self.tries += 1
        rose = self.rule(self.team, self.task, values[: self.task.n], self.tries, self.rng)
        if rose:
            assert self.team.published is not None
            if self.team.published > self.top:
                self.top, self.best = self.team.published, values.copy()
                self.seen = self.tries, self.changes, self.teams
            self.changes += 1
        return rose


Attack = Callable[[Board, Any, Floats, np.random.Generator], None]


def boost(board: Board, kind: Any, start: Floats, rng: np.random.Generator) -> None:
    votes = np.zeros(start.size)
    while board.tries < SUBMISSIONS - 1:
        guess = kind.guess(rng, start.size)
        if board.submit(guess):
            assert board.team.published is not None
            votes += (board.team.published - kind.chance) * kind.vote(guess)
    if votes.any():
        board.new_team()
        board.submit(kind.voted(votes))


def climb(board: Board, kind: Any, start: Floats, rng: np.random.Generator) -> None:
    best = start
    while board.tries < SUBMISSIONS:
        if board.fresh:
            board.submit(best)
            continue
        at = rng.integers(0, start.size, int(2 ** rng.uniform(0, math.log2(start.size))))
        trial = kind.changed(rng, best, at)
        if board.submit(trial):
            best = trial


def coordinates(board: Board, kind: Any, start: Floats, rng: np.random.Generator) -> None:
    best, order, begin = start, rng.permutation(start.size), 0
    while board.tries < SUBMISSIONS:
        if board.fresh:
            board.submit(best)
            continue
        count = int(rng.integers(1, 5))
        at = order[(begin + np.arange(count)) % start.size]
        begin += count
        trial = kind.changed(rng, best, at)
        if board.submit(trial):
            best = trial


def readings(board: Board, kind: Any, start: Floats, rng: np.random.Generator) -> None:
    teams = max(SUBMISSIONS // board.per_team - 1, 1)
    rows, scores = [], []
    for _ in range(teams):
        board.new_team()
        trial = kind.changed(rng, start, np.flatnonzero(rng.random(start.size) < 0.15))
        if board.submit(trial):
            assert board.team.published is not None
            rows.append(kind.vote(trial))
            scores.append(board.team.published)
    if len(rows) > 2:
        made, seen = np.array(rows), np.array(scores)
        slope = (seen - seen.mean()) @ (made - made.mean(axis=0)) / len(rows)
        weight = 3 * np.abs(kind.vote(start)).mean() / max(np.abs(slope).mean(), 1e-12)
        board.new_team()
        for scale in (0.3, 1.0):
            board.submit(kind.voted(kind.vote(start) + scale * weight * slope))


ATTACKS: Mapping[str, Attack] = {"boost": boost, "climb": climb, "coordinates": coordinates, "readings": readings}


def attacked(
    kind: type[Task], items: int, teams: int, name: str, attack: str, seed: int
) -> tuple[float, float, float, int]:
    """Published score of the attack's best above its truth, and above the private part; the bound; and the changes."""
    rng = np.random.default_rng([seed, items, teams])
    labels = kind.drawn(rng, items + FRESH)
    start = kind.model(rng, labels, kind.fair)
    public = items if name == "earlier" else items // 2
    task, fresh = kind(labels[:public]), kind(labels[items:])
    rule = fixed(earlier_step(task, SUBMISSIONS // teams)) if name == "earlier" else rules(task)[name]
    board = Board(task, rule, SUBMISSIONS // teams, rng)
    ATTACKS[attack](board, kind, start, rng)
    if board.best is None:
        return 0.0, 0.0, math.inf, 0
    truth = fresh.score(board.best[items:])
    final = kind(labels[public:items]).score(board.best[public:items]) if public < items else math.nan
    rung = rung_of(task)
    tries, changes, shared = board.seen
    bound = overstatement(rung, [rung], tries, changes, teams=shared)
    return board.top - truth, board.top - final, bound, board.changes


def honest(kind: type[Task], items: int, each: int, repetitions: int) -> dict[str, tuple[float, ...]]:
    """Eight teams of graded quality with so many submissions each, rising to their best: what the board shows.

    Rank agreement with the true order, share of teams shown, published above true score, and how often a team of .5 is shown
    above one of .74 (accuracies of .70 and .82).
    """
    top, middle = (0.74, 0.5) if kind is Correlation else (0.82, 0.7)
    qualities = np.append(np.linspace(kind.chance + 0.3 * (top - kind.chance), top, 7), middle)
    results: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, items, each, 7])
        labels = kind.drawn(rng, items)
        sent = []
        for team, quality in enumerate(qualities):
            shared = kind.noise(rng, items)
            for turn in range(each):
                reached = kind.chance + (quality - kind.chance) * (1 - 0.35 * (each - 1 - turn) / each)
                sent.append((turn, rng.random(), team, kind.model(rng, labels, reached, shared)))
        sent.sort(key=lambda entry: entry[:2])
        half, whole = kind(labels[: items // 2]), kind(labels)
        compared = {name: (half, rule) for name, rule in rules(half).items()}
        compared["earlier"] = whole, fixed(earlier_step(whole, 100))
        compared["exact scores"] = half, fixed(1e-6)
        for name, (task, rule) in compared.items():
            teams = [Team() for _ in qualities]
            for tries, (_, _, team, values) in enumerate(sent, 1):
                teams[team].submissions += 1
                rule(teams[team], task, values[: task.n], tries, rng)
            shown = np.array([kind.chance if t.published is None else t.published for t in teams])
            known = np.array([t.published is not None for t in teams])
            agreement = kendalltau(shown, qualities).statistic if np.ptp(shown) else 0.0
            above = float((shown - qualities)[known].mean()) if known.any() else math.nan
            results.setdefault(name, []).append((agreement, known.mean(), above, shown[6] > shown[7]))
    return {name: tuple(np.nanmean(np.array(rows, float), axis=0)) for name, rows in results.items()}


def measured_resolution(kind: type[Task], items: int, rule_name: str, repetitions: int = 500) -> float:
    """The smallest true difference, to .01, that two teams with one submission each are shown in the right order at."""
    for difference in np.arange(0.02, 0.6, 0.01):
        middle = (kind.chance + 1) / 2
        right = 0
        for seed in range(repetitions):
            rng = np.random.default_rng([seed, items, int(1000 * difference)])
            labels = kind.drawn(rng, items)
            task = kind(labels if rule_name == "earlier" else labels[: items // 2])
            rule = fixed(earlier_step(task, 100)) if rule_name == "earlier" else rules(task)[rule_name]
            teams = []
            for quality in (middle - difference / 2, middle + difference / 2):
                teams.append(Team(submissions=1))
                rule(teams[-1], task, kind.model(rng, labels, quality)[: task.n], 1, rng)
            low, high = (-1.0 if team.published is None else team.published for team in teams)
            right += high > low
        if right >= 0.9 * repetitions:
            return float(difference)
    return math.nan


def main() -> None:
    kinds: tuple[type[Task], ...] = (Task, Correlation)
    for items in SIZES:
        for kind in kinds:
            rung = rung_of(kind(kind.drawn(np.random.default_rng(1), items // 2)))
            print(
                f"\n{kind.metric}, {items} items, {items // 2} on the board: step {rung.step:g}, resolution"
                f" {resolution(rung.error, rung.step):.3f}, a first score appears from {rung.appears_from(10):.2f}"
                f" (p <= {level(10):g}) to {rung.appears_from(1000):.2f} after 1,000 submissions"
            )
            for each in (1, 10):
                print(f"honest, {each} submissions each: rank agreement, share shown, above truth, .74 above .5")
                for name, row in honest(kind, items, each, HONEST).items():
                    print(f"  {name:28}" + "".join(f"{value:8.2f}" for value in row), flush=True)
            for name in (IN_USE, "fixed step, 1 error", "earlier"):
                found = measured_resolution(kind, items, name)
                print(f"measured resolution, {name}: {found:.2f}", flush=True)
            for teams in TEAMS:
                print(f"10,000 submissions by {teams} teams: gain (largest of {ATTACKED}); worst attack over bound")
                half = kind(kind.drawn(np.random.default_rng(1), items // 2))
                for name in ("earlier", *rules(half)):
                    cells, worst = [], -math.inf
                    for attack in ATTACKS:
                        runs = [attacked(kind, items, teams, name, attack, seed) for seed in range(ATTACKED)]
                        gains = [run[0] for run in runs]
                        cells.append(f"{attack} {np.mean(gains):.2f} ({max(gains):.2f})")
                        worst = max(worst, *(run[0] - run[2] for run in runs))
                    held = f"  within the bound by {-worst:.2f}" if name == IN_USE else ""
                    print(f"  {name:28}" + "  ".join(cells) + held, flush=True)


if __name__ == "__main__":
    main()
