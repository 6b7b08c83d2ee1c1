"""Small studies in which stimuli are judged together, with planted strengths."""

from __future__ import annotations

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

SYSTEMS = ("alpha", "beta", "gamma", "delta")
STRENGTHS = dict(zip(SYSTEMS, (0.9, 0.3, -0.3, -0.9), strict=True))


def study_of(scale: str, sets: str) -> str:
    return (
        f"name: compared\nscales: {{s: {scale}}}\nquestions: [{{id: better, text: Which is better, scale: s}}]\n"
        f"sets: {sets}\n"
    )


def stimuli(prompts: int = 8, systems: tuple[str, ...] = SYSTEMS) -> pl.DataFrame:
    rows = [
        {"stimulus": f"{s}/{p}", "system": s, "prompt": f"p{p}", "intent": "joy"}
        for s in systems
        for p in range(prompts)
    ]
    return pl.DataFrame(rows)


def rows_of(
    rater: str, trial: str, members: list[str], values: list[float], roles: list[str] | None = None
) -> list[dict[str, object]]:
    roles = roles or ["member"] * len(members)
    return [
        {
            "rater": rater,
            "stimulus": stimulus,
            "question": "better",
            "value": value,
            "trial": trial,
            "set": "|".join(sorted(members)),
            "place": place + 1,
            "role": role,
        }
        for place, (stimulus, value, role) in enumerate(zip(members, values, roles, strict=True))
    ]


def arena(
    raters: int = 10,
    each: int = 40,
    prompts: int = 8,
    *,
    ties: float = 0.0,
    order: float = 0.0,
    graded: bool = False,
    strengths: dict[str, float] | None = None,
    across: bool = False,
    extra: list[dict[str, object]] | None = None,
    seed: int = 0,
) -> Snapshot:
    """Pairs of systems on prompts; ``across`` compares stimuli of different prompts, so that all stimuli are connected."""
    rng, known = np.random.default_rng(seed), strengths or STRENGTHS
    rows: list[dict[str, object]] = []
    for rater in range(raters):
        for number in range(each):
            a, b = rng.choice(list(known), 2, replace=False)
            p, q = rng.integers(prompts, size=2)
            difference = known[a] - known[b] + order
            if graded:
                grade = float(np.clip(np.rint(difference + rng.normal()), -3, 3))
                values = [grade, 0.0 - grade]
            else:
                first = float(rng.random() < 1 / (1 + np.exp(-difference)))
                values = [0.5, 0.5] if rng.random() < ties else [first, 1 - first]
            members = [f"{a}/{p}", f"{b}/{q if across else p}"]
            rows += rows_of(f"r{rater:02}", f"t{number}", members, values)
    rows += extra or []
    scale = "{type: preference}" if graded else "{type: choice, ties: true}"
    study = parse_study(study_of(scale, "{type: pair, rule: by-prompt}"))
    return Snapshot.build(study, stimuli=stimuli(prompts, tuple(known)), ratings=pl.DataFrame(rows))


def sets_of_four(kind: str, raters: int = 10, each: int = 12, seed: int = 0) -> Snapshot:
    """All four systems of a prompt ranked (``rank``) or picked as best and worst (``best-worst``)."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for rater in range(raters):
        for number in range(each):
            order = rng.permutation(SYSTEMS).tolist()
            worth = [STRENGTHS[s] + rng.gumbel() for s in order]
            place = np.argsort(np.argsort(-np.array(worth)))
            values = (place + 1.0 if kind == "rank" else (place == 0) * 1.0 - (place == 3) * 1.0).tolist()
            rows += rows_of(f"r{rater:02}", f"t{number}", [f"{s}/{number % 8}" for s in order], values)
    scale = "{type: rank}" if kind == "rank" else "{type: best-worst}"
    sets = "{type: ranking}" if kind == "rank" else "{type: best-worst}"
    return Snapshot.build(parse_study(study_of(scale, sets)), stimuli=stimuli(), ratings=pl.DataFrame(rows))


def mushra(raters: int = 8, prompts: int = 4, careless: int = 0, seed: int = 0) -> Snapshot:
    """Two systems, a hidden reference and an anchor graded 0 to 100; the last ``careless`` listeners grade at random."""
    rng = np.random.default_rng(seed)
    level = {"reference": 98.0, "good": 75.0, "poor": 45.0, "anchor": 15.0}
    roles = {"reference": "hidden-reference", "anchor": "anchor"}
    rows: list[dict[str, object]] = []
    for rater in range(raters):
        for prompt in range(prompts):
            order = rng.permutation(list(level)).tolist()
            values = [float(np.clip(np.rint(level[s] + 4 * rng.normal()), 0, 100)) for s in order]
            if rater >= raters - careless:
                values = [float(v) for v in rng.integers(0, 101, 4)]
            rows += rows_of(
                f"r{rater:02}",
                f"t{prompt}",
                [f"{s}/{prompt}" for s in order],
                values,
                [roles.get(s, "member") for s in order],
            )
    study = parse_study(study_of("{type: grade}", "{type: mushra, reference: reference, anchors: [anchor]}"))
    return Snapshot.build(study, stimuli=stimuli(prompts, tuple(level)), ratings=pl.DataFrame(rows))


def abx(raters: int = 10, each: int = 20, right: float = 0.8, seed: int = 0) -> Snapshot:
    """Three systems in pairs, X matched with probability ``right``; alpha and gamma are told apart by chance only."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for rater in range(raters):
        for number in range(each):
            a, b = rng.choice(SYSTEMS[:3], 2, replace=False)
            p = number % 8
            chance = 0.5 if {a, b} == {"alpha", "gamma"} else right
            row = rows_of(f"r{rater:02}", f"t{number}", [f"{a}/{p}"], [float(rng.random() < chance)], ["x"])[0]
            rows.append(row | {"set": f"{a}/{p}|{b}/{p}", "place": int(rng.integers(1, 3))})
    study = parse_study(study_of("{type: choice}", "{type: abx}"))
    return Snapshot.build(study, stimuli=stimuli(8, SYSTEMS[:3]), ratings=pl.DataFrame(rows))


def traced(raters: int = 6, clips: int = 3, rate: float = 2.0, seed: int = 0) -> Snapshot:
    """Clips with a shared course, followed by raters with levels and noise of their own."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for clip in range(clips):
        course = 0.5 * np.sin(np.linspace(0, 6, 60) + clip)
        for rater in range(raters):
            samples = np.clip(course + 0.1 * rng.normal() + 0.1 * rng.normal(size=60), -1, 1)
            rows.append(
                {"rater": f"r{rater}", "stimulus": f"c{clip}", "question": "valence", "samples": samples.tolist()}
                | {"rate": rate, "start": 0.0}
            )
    table = pl.DataFrame(rows)
    ratings = table.select("rater", "stimulus", "question", pl.col("samples").list.mean().alias("value"))
    study = parse_study(
        f"name: traced\nscales: {{v: {{type: trace, rate: {rate}}}}}\n"
        "questions: [{id: valence, text: How pleasant, scale: v}]\n"
    )
    clips_table = pl.DataFrame({"stimulus": [f"c{c}" for c in range(clips)], "system": ["alpha"] * clips})
    return Snapshot.build(study, stimuli=clips_table, ratings=ratings, traces=table)


def referenced(raters: int = 6, prompts: int = 4, seed: int = 1) -> Snapshot:
    """Two systems rated on five points next to the original."""
    rng = np.random.default_rng(seed)
    rows = [
        row
        for rater in range(raters)
        for p in range(prompts)
        for s, level in (("good", 4.2), ("poor", 2.4))
        for row in rows_of(
            f"r{rater}", f"{s}{p}", [f"{s}/{p}"], [float(np.clip(round(level + rng.normal() / 2), 1, 5))]
        )
    ]
    study = parse_study(
        "name: dmos\nscales: {five: {type: points, points: 5}}\nquestions: [{id: better, text: How, scale: five}]\n"
        "sets: {type: reference, reference: original}\n"
    )
    return Snapshot.build(study, stimuli=stimuli(prompts, ("good", "poor", "original")), ratings=pl.DataFrame(rows))
