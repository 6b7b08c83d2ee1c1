"""Sections of a bench page that need the scores alone: pairs, slices, every score, coverage, models and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from markupsafe import Markup

from heartfelt.report.bench.figures import metric_name, of_task
from heartfelt.report.page import Section, absent, bullets, folded, joined
from heartfelt.report.tables import CellValue, PValue, Verdict, table
from heartfelt.scoring import Scores
from heartfelt.scoring.scores import Comparison, Slice, Task
from heartfelt.wording import interval, number, spaced

MOST_REASONS = 3


def comparisons(scores: Scores) -> Section | None:
    """Every pair of models: for other clips of these systems, and for other systems."""
    parts = []
    for task in scores.tasks:
        pairs = [pair for pair in scores.comparisons if pair.task == task.id]
        if not pairs:
            continue
        title = metric_name(scores, task.headline)
        lines: list[list[CellValue]] = [
            [
                f"{pair.first} − {pair.second}",
                pair.difference,
                PValue(pair.p.value),
                PValue(pair.p_adjusted),
                pair.difference_adjusted,
                Verdict(pair.apart),
                pair.more_stimuli if pair.more_stimuli.value is None else int(pair.more_stimuli.value),
            ]
            for pair in pairs
        ]
        columns = (
            "pair",
            f"difference in {title} (95%, this pair alone)",
            "p (this pair alone)",
            f"p (Holm over {len(pairs)})",
            "difference at the confidence left by Holm",
            "told apart (Holm)",
            "more stimuli needed",
        )
        parts.append(table(f"{spaced(task.id)}: for other clips like these", columns, lines))
        parts.append(_over_systems(task, title, pairs))
    lead = (
        "Pairs are compared on the items both were asked about, failures counted; interval and p come from one method and"
        " agree. The first table generalises to other clips of the same systems, the second to other systems: errors shared"
        " by the clips of a system count there. The last column of the first is for planning: how many more stimuli would"
        " show the difference four times in five, if it is as large as observed."
    )
    return (
        Section("comparison", "Which differences are real", lead, joined(*parts), "Comparison")
        if parts
        else None
    )


def _over_systems(task: Task, title: str, pairs: Sequence[Comparison]) -> Markup:
    """The same pairs over systems, and by the means of systems; a sentence where there are too few."""
    known = [pair for pair in pairs if pair.over_systems.difference.value is not None]
    if not known:
        why = pairs[0].over_systems.p.why_missing
        if why in (None, "no systems", "not compared"):
            return Markup("")
        return absent(f"{spaced(task.id)}: no comparison over systems: {why}.")
    holm = f"p (Holm over {len(known)})"
    columns = [
        "pair",
        f"difference in {title} (95%, this pair alone, over systems)",
        "p (this pair alone)",
        holm,
        "told apart (Holm)",
    ]
    with_means = task.kind == "numbers"
    if with_means:
        columns += ["difference on system means (95%)", "p", f"{holm} ", "told apart on system means"]
    lines: list[list[CellValue]] = []
    for pair in known:
        line: list[CellValue] = [f"{pair.first} − {pair.second}"]
        for part in (pair.over_systems, pair.system_means) if with_means else (pair.over_systems,):
            line += [part.difference, PValue(part.p.value), PValue(part.p_adjusted), Verdict(part.apart)]
        lines.append(line)
    return table(f"{spaced(task.id)}: for other systems", columns, lines)


def slices(scores: Scores) -> Section | None:
    """The headline by slice."""
    parts = []
    for task in scores.tasks:
        mine = [one for one in scores.slices if (one.task, one.metric) == (task.id, task.headline)]
        for column in dict.fromkeys(one.column for one in mine):
            own = [one for one in mine if one.column == column]
            grid = _slice_table(scores, metric_name(scores, task.headline), column, own)
            parts.append(folded(f"{spaced(task.id)} by {spaced(column)}", grid))
    if not parts:
        return None
    lead = "The headline on the answered items of one kind, with intervals over stimuli. Small slices say little."
    return Section("slices", "Where models do well and badly", lead, joined(*parts), "Slices")


def _slice_table(scores: Scores, title: str, column: str, slices: Sequence[Slice]) -> Markup:
    sizes = {one.value: one.items for one in reversed(slices)}
    held = {(one.value, one.model): one.estimate for one in slices}
    lines = [
        [spaced(value), sizes[value], *(held.get((value, model)) for model in scores.models)]
        for value in dict.fromkeys(one.value for one in slices)
    ]
    return table(f"{title} by {spaced(column)}", [spaced(column), "items", *scores.models], lines)


def all_scores(scores: Scores) -> Section:
    """Every metric of every model."""
    columns = [
        "model",
        "metric",
        "level",
        "decided by",
        "score, failures counted",
        "on answered items only",
        "over systems",
        "chance",
        "ceiling",
        "share of the way from chance to the ceiling",
    ]
    parts = []
    for task in scores.tasks:
        lines: list[list[CellValue]] = [
            [
                one.model,
                metric_name(scores, one.metric),
                one.aggregation,
                one.at,
                one.with_failures,
                one.estimate,
                one.over_systems,
                one.chance,
                one.ceiling,
                one.of_ceiling,
            ]
            for one in scores.scores
            if one.task == task.id
        ]
        grid = table(f"{spaced(task.id)}: every score", columns, lines, more="all are in scores.json")
        parts.append(folded(f"{spaced(task.id)}: {len(lines)} scores ({task.failures})", grid))
    lead = "By item, by system (means per system first, intervals over systems) and within cells of system and intent."
    return Section("scores", "Every score", lead, joined(*parts), "Scores")


def coverage(scores: Scores) -> Section:
    """How many items were answered, why not all were, and how predictions were made."""
    lines: list[list[CellValue]] = [
        [
            model,
            spaced(task),
            held.items,
            held.answered,
            held.without_label,
            _most_frequent(held.problems),
            _most_frequent(held.notes),
        ]
        for model, tasks in scores.coverage.items()
        for task, held in tasks.items()
    ]
    columns = ("model", "task", "items", "answered", "without label", "why not answered", "how it was made")
    return Section("coverage", "What was answered", html=table("Coverage", columns, lines), short="Coverage")


def _most_frequent(texts: Mapping[str, int]) -> str:
    """The most frequent texts with how often each came, and how many others there were; a dash for none."""
    ranked = sorted(texts.items(), key=lambda pair: -pair[1])
    parts = [f"{text} ({number(n)})" for text, n in ranked[:MOST_REASONS]]
    rest = ranked[MOST_REASONS:]
    if rest:
        parts.append(f"{len(rest)} others ({number(sum(n for _, n in rest))})")
    return "; ".join(parts) or "–"


def models(scores: Scores) -> Section | None:
    """Which models answered, and which version of heartfelt scored them."""
    if not scores.about:
        return None
    lines = [
        [
            name,
            one.display_name,
            one.predictor or "–",
            one.version or "–",
            (one.hash or "–")[:16],
            one.identity or "–",
        ]
        for name, one in scores.about.items()
    ]
    grid = table("Models", ("asked for as", "name", "predictor", "version", "hash", "identity"), lines)
    lead = f"Scored by heartfelt {scores.version} on source {scores.hash[:12]}."
    return Section("models", "Models", lead, grid)


def method(scores: Scores) -> Section:
    """How the numbers were computed."""
    options = scores.options
    truth = options.systems_from
    truth = "the mean of the scored clips' labels" if truth == "the scored clips" else truth
    lines = [
        f"Intervals are at {100 * options.confidence:.0f}%, from leaving out one stimulus with all its items at a time (the"
        " jackknife; influence values for very many), with Student's t. Those over systems leave out whole systems. Interval"
        " and p-value of a difference come from the same standard error and degrees of freedom. BLEU and calibration"
        f" resample {number(options.resamples)} times at most (seed {options.seed}).",
        "Models are ranked by the score with failures counted. A model beats chance where that score is better than chance,"
        " corrected by Holm for the number of models.",
        *(_chance(scores, task) for task in scores.tasks),
        f"Scores are cut at {options.threshold:g}, and at a threshold chosen on the other {options.folds - 1} of"
        f" {options.folds} folds of stimuli.",
        f"System truth is {truth}.",
        *(f"{spaced(task.id)}: {task.failures}." for task in scores.tasks),
        *scores.notes,
    ]
    chosen = [(field.name, getattr(options.selection, field.name)) for field in fields(options.selection)]
    selection = ", ".join(f"{spaced(name)} {value}" for name, value in chosen if value)
    if selection:
        lines.append(f"Items were selected: {selection}.")
    return Section("method", "How this was made", html=bullets(lines), short="Method")


def _chance(scores: Scores, task: Task) -> str:
    """What chance is for the headline of a task."""
    chance = of_task(scores, task, "chance")
    if chance.value is None:
        return f"{spaced(task.id)}: no chance level: {chance.why_missing}."
    about = chance.method.partition(": ")[2]
    return f"{spaced(task.id)}: chance is {interval(chance)}" + (f" ({about})." if about else ".")
