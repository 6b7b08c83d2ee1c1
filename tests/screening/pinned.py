"""Small panels made by a formula, without a library's generator, for figures that are pinned to the last digit.

Every panel holds one rater of each kind that a rule has to tell from its neighbours: counts of answers at, below and
above each minimum; copies with and without a lost trial; one answer throughout, nearly throughout and not quite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.screening import Panel, screen
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study, parse_study
from heartfelt.study.model import AnchorProbe, RepeatProbe
from tests.screening.planted import study

Row = dict[str, Any]


def uniforms(seed: int) -> Iterator[float]:
    """Numbers from 0 to 1 by Lehmer's generator (16807, 2^31 - 1)."""
    state = 1 + seed * 7919
    while True:
        state = state * 16807 % 2147483647
        yield state / 2147483647


class Draws:
    """Draws that any machine repeats."""

    def __init__(self, seed: int) -> None:
        self._next = uniforms(seed)

    def uniform(self) -> float:
        return next(self._next)

    def normal(self) -> float:
        return sum(next(self._next) for _ in range(12)) - 6.0

    def order(self, size: int) -> list[int]:
        keys = [self.uniform() for _ in range(size)]
        return sorted(range(size), key=keys.__getitem__)


def on_scale(value: float, points: int = 9) -> float:
    return float(min(points, max(1, round(value))))


class Maker:
    """Stimuli of 3 systems and 4 intents with a truth for two questions, and raters who follow it."""

    questions: tuple[str, ...] = ("valence", "arousal")

    def __init__(self, stimuli: int, seed: int) -> None:
        self.draws = Draws(seed)
        cells = [(f"s{system}", f"i{intent}") for system in range(3) for intent in range(4)]
        level = {cell: (self.draws.normal(), self.draws.normal()) for cell in cells}
        self.stimuli = [f"x{at:03d}" for at in range(stimuli)]
        self.cell = [cells[at % len(cells)] for at in range(stimuli)]
        self.truth = [tuple(1.2 * level[cell][q] + 0.9 * self.draws.normal() for q in range(2)) for cell in self.cell]
        self.rows: list[Row] = []

    def honest(self, trials: int, noise: float = 1.2, order: list[int] | None = None) -> list[tuple[int, list[float]]]:
        """Trials of a careful rater: a stimulus and its answers, in order."""
        shown = (order or self.draws.order(len(self.stimuli)))[:trials]
        bias = 0.4 * self.draws.normal()
        return [
            (s, [on_scale(5 + bias + self.truth[s][q] + noise * self.draws.normal()) for q in range(2)]) for s in shown
        ]

    def add(self, rater: str, trials: list[tuple[int, list[float]]], **more: Any) -> None:
        """Ratings of one rater; ``more`` are columns, a value or a function of the place, from 0."""
        pace = 2.0 + 2.0 * self.draws.uniform()
        for place, (stimulus, answers) in enumerate(trials):
            base = {"rater": rater, "stimulus": self.stimuli[stimulus], "position": place + 1}
            base |= {name: make(place) if callable(make) else make for name, make in more.items()}
            for question, value in zip(self.questions, answers, strict=False):
                seconds = pace * (0.6 + 0.8 * self.draws.uniform())
                self.rows.append({"seconds": seconds} | base | {"question": question, "value": value})

    def snapshot(self, of: Study | None = None, **columns: Any) -> Snapshot:
        table = pl.DataFrame(
            {
                "stimulus": self.stimuli,
                "system": [cell[0] for cell in self.cell],
                "intent": [cell[1] for cell in self.cell],
                **columns,
            }
        )
        ratings = pl.DataFrame(self.rows, infer_schema_length=None)
        return Snapshot.build(of or study(self.questions), stimuli=table, ratings=ratings)


def lengths() -> Snapshot:
    """Raters with 3 to 24 trials beside ten with 40: every minimal count has someone below, at and above it."""
    made = Maker(40, 1)
    for trials in (*range(3, 25), *[40] * 10):
        made.add(f"r{trials:02d}_{len(made.rows):04d}", made.honest(trials))
    return made.snapshot()


def careless() -> Snapshot:
    """Sixteen careful raters and one of each kind that some rule looks for."""
    made = Maker(84, 2)
    draws = made.draws
    for at in range(16):
        made.add(f"good{at:02d}", made.honest(60))
    for at in range(3):
        shown = draws.order(84)[:60]
        made.add(f"random{at}", [(s, [1.0 + int(9 * draws.uniform()) for _ in range(2)]) for s in shown])
    for name, other in (("line60", 0), ("line57", 3), ("line56", 4)):
        shown = draws.order(84)[:60]
        away = set(draws.order(60)[:other])
        made.add(name, [(s, [4.0 if t in away else 6.0] * 2) for t, s in enumerate(shown)])
    first = made.honest(60)
    made.add("copied", first)
    shown = draws.order(84)[:59]
    sheet = [answers for t, (_, answers) in enumerate(first) if t != 30]
    moved = [[on_scale(v + (draws.uniform() < 0.15) - (draws.uniform() > 0.9)) for v in row] for row in sheet]
    made.add("copy", list(zip(shown, moved, strict=True)))
    made.add("reversed", [(s, [10 - v for v in answers]) for s, answers in made.honest(60)])
    half = made.honest(60)
    made.add(
        "stops", [(s, v if t < 30 else [1.0 + int(9 * draws.uniform()) for _ in v]) for t, (s, v) in enumerate(half)]
    )
    made.add("narrow", [(s, [5 + round((v - 5) / 4) for v in answers]) for s, answers in made.honest(60)])
    made.add("high", [(s, [min(9.0, v + 3) for v in answers]) for s, answers in made.honest(60)])
    made.add("twice", [(s, [answers[0]] * 2) for s, answers in made.honest(60)])
    made.add("fast", made.honest(60), seconds=lambda place: 0.2 + 0.01 * (place % 7))
    made.add("stuck", [(s, [7.0, v[1]] if 15 <= t < 50 else v) for t, (s, v) in enumerate(made.honest(60))])
    return made.snapshot()


def few(raters: int) -> Snapshot:
    """So many careful raters and one with a shifted scale: the least number a norm needs."""
    made = Maker(30, 3)
    for at in range(raters - 1):
        made.add(f"r{at}", made.honest(24))
    made.add("high", [(s, [min(9.0, v + 2) for v in answers]) for s, answers in made.honest(24)])
    return made.snapshot()


def heard() -> Snapshot:
    """Trials heard in part: 4 to 12 trials, and 0 to 12 of 20 below and at what counts as heard to the end."""
    made = Maker(24, 4)
    for trials in range(3, 8):
        made.add(f"few{trials}", made.honest(trials), heard=lambda place: 0.2 if place < 3 else 1.0)
    for short in range(13):
        made.add(
            f"short{short:02d}", made.honest(20), heard=lambda place, short=short: 0.949 if place < short else 0.95
        )
    made.add("unknown", made.honest(20), heard=lambda place: None if place % 2 else 0.5)
    return made.snapshot()


def probes() -> Snapshot:
    """Anchors at, below and above their limits and repeats at 1, 2 and 3 points, in batches."""
    made = Maker(12, 5)
    made.questions = ("valence",)
    for at, (anchor, apart) in enumerate([(3, 0), (2, 2), (4, 3), (3, 1), (7, 2), (8, 0)]):
        trials = [(s, answers[:1]) for s, answers in made.honest(10, order=list(range(1, 12)))]
        whole = [(0, [float(anchor)]), *trials]
        made.add(f"r{at}", whole, batch=lambda place: "a" if place < 5 else "b", repeat=0)
        first = trials[0][1][0]
        again = [(1, [first + apart if first <= 5 else first - apart])]
        made.add(f"r{at}", again, batch="b", repeat=1, position=12)
    given = [
        AnchorProbe(type="anchor", id="real", stimuli=["x000"], question="valence", at_least=3, at_most=7),
        RepeatProbe(type="repeat", id="again", at_most_apart=2),
    ]
    return made.snapshot(study(("valence",), probes=given))


def repeats() -> Snapshot:
    """Repeated stimuli without a limit of the study's own: differences against the norm."""
    made = Maker(30, 6)
    for at in range(9):
        trials = made.honest(20)
        made.add(f"r{at}", trials, repeat=0)
        far = 5.0 if at == 8 else 1.0
        again = [(s, [on_scale(v + far * made.draws.normal()) for v in answers]) for s, answers in trials[:8]]
        made.add(f"r{at}", again, repeat=1, position=lambda place: 21 + place)
    return made.snapshot()


def gross() -> Snapshot:
    """Times that include the clip, of which 95% reach its length."""
    made = Maker(24, 7)
    for at in range(7):
        made.add(f"r{at}", made.honest(20), seconds=lambda place, at=at: 10.0 + 0.4 * (at + 1) + 0.05 * place)
    made.add("hasty", made.honest(20), seconds=10.05)
    return made.snapshot(duration=[10.0 if at % 24 else 12.0 for at in range(24)])


def one_order() -> Snapshot:
    """Everybody meets the same cells in the same order, two of them with one sheet."""
    made = Maker(96, 8)
    by_cell = sorted(range(96), key=lambda s: s % 12)
    sheet: list[list[float]] = []
    for at in range(14):
        order = [cell * 8 + (k + at) % 8 for cell in range(12) for k in range(3)]
        trials = made.honest(36, order=[by_cell[place] for place in order])
        sheet = [answers for _, answers in trials] if at == 3 else sheet
        if at == 9:
            trials = [(s, answers) for (s, _), answers in zip(trials, sheet, strict=True)]
        made.add(f"r{at:02d}", trials)
    return made.snapshot()


def parallel() -> Snapshot:
    """Two raters with one regular pattern, and two who met stimuli of the same cells in the same order."""
    made = Maker(96, 10)
    draws = made.draws
    for at in range(12):
        made.add(f"r{at:02d}", made.honest(48))
    for name in ("pattern1", "pattern2"):
        made.add(name, [(s, [1.0 + (2 * t) % 9, 9.0 - (t % 9)]) for t, s in enumerate(draws.order(96)[:48])])
    order = draws.order(96)[:48]
    made.add("alike1", made.honest(48, 0.05, order))
    made.add("alike2", made.honest(48, 0.05, [(s + 12) % 96 for s in order]))
    return made.snapshot()


def categories() -> Snapshot:
    """A choice among three categories without an order and a yes/no question."""
    made = Maker(40, 9)
    made.questions = ("which", "is")
    draws = made.draws
    kind = [int(3 * draws.uniform()) for _ in range(40)]
    for at in range(10):
        blind = at == 9
        trials = []
        for s in draws.order(40)[:30]:
            which = kind[s] if draws.uniform() < 0.75 and not blind else int(3 * draws.uniform())
            trials.append((s, [float(which), float((kind[s] == 1) != (draws.uniform() < (0.5 if blind else 0.1)))]))
        made.add(f"r{at}", trials)
    return made.snapshot(
        parse_study(
            "name: c\nscales: {e: {type: categories, categories: [joy, fear, calm]}, y: {type: yes-no}}\n"
            "questions: [{id: which, text: w, scale: e}, {id: is, text: i, scale: y}]\n"
        )
    )


PANELS: dict[str, Callable[[], Snapshot]] = {
    "lengths": lengths,
    "careless": careless,
    "four": lambda: few(4),
    "five": lambda: few(5),
    "heard": heard,
    "probes": probes,
    "repeats": repeats,
    "gross": gross,
    "one_order": one_order,
    "categories": categories,
    "parallel": parallel,
}


def figures(panel: Panel) -> pl.DataFrame:
    """Everything a rule says in figures. A reason is a number, in the order in which the rule gives them."""
    codes: dict[tuple[str, str], int] = {}
    why = []
    for rule, text in panel.flags.select("rule", "why_missing").iter_rows():
        seen = len([key for key in codes if key[0] == rule])
        why.append(None if text is None else codes.setdefault((rule, text), seen + 1))
    table = panel.flags.drop("why_missing", "words", "statistic")
    return table.with_columns(pl.Series("why", why, dtype=pl.Int64))


def golden(name: str) -> Path:
    """Where figures are kept; ``python -m tests.screening.pinned`` writes them anew."""
    return Path(__file__).parent / "golden" / f"{name}.csv"


def write() -> None:
    """Pin the figures of all panels."""
    for name, make in PANELS.items():
        panel = screen(make(), "flag-only", seed=3)
        figures(panel).write_csv(golden(name))
        if panel.pairs.height:
            panel.pairs.write_csv(golden(f"{name}_pairs"))


if __name__ == "__main__":
    write()
