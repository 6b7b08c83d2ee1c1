"""Sections of a bench page that need the scores alone: pairs, slices, every score, coverage, models and method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

from markupsafe import Markup

from heartfelt.predictors.execution.calls import Usage
from heartfelt.predictors.execution.repeats import SelfConsistency
from heartfelt.report.page import Section, absent, bullets, folded, joined
from heartfelt.report.tables import CellValue, Columns, PValue, YesNoCell, table, table_of
from heartfelt.scoring import Scores
from heartfelt.scoring.scores import ModelComparison, ModelCoverage, ModelInfo, ModelScore, ScoringTask, Slice
from heartfelt.wording import interval, money, number, spaced

MOST_REASONS = 3


def comparisons(scores: Scores) -> Section:
    """Every pair of models: for other clips of these systems, and for other systems."""
    parts = []
    for task in scores.tasks:
        pairs = [pair for pair in scores.comparisons if pair.task == task.id]
        if not pairs:
            continue
        title = scores.metric_title(task.headline)
        columns: Columns[ModelComparison] = {
            "pair": _pair,
            f"difference in {title} (95%, this pair alone)": lambda pair: pair.difference,
            "p (this pair alone)": lambda pair: PValue(pair.p.value),
            f"p (Holm over {len(pairs)})": lambda pair: PValue(pair.p_adjusted),
            "difference at the confidence left by Holm": lambda pair: pair.difference_adjusted,
            "differ significantly (Holm)": lambda pair: YesNoCell(pair.apart),
            "more stimuli needed": lambda pair: (
                pair.more_stimuli if pair.more_stimuli.value is None else int(pair.more_stimuli.value)
            ),
        }
        parts.append(table_of(f"{spaced(task.id)}: for other clips like these", pairs, columns))
        parts.append(_over_systems(task, title, pairs))
    lead = (
        "Pairs are compared on the items both were asked about, failures counted; interval and p come from one method and"
        " agree. The first table generalises to other clips of the same systems, the second to other systems: errors shared"
        " by the clips of a system count there. The last column of the first is for planning: how many more stimuli would"
        " show the difference four times in five, if it is as large as observed."
    )
    return Section(
        id="comparison",
        title="Which differences are real",
        lead=lead,
        html=joined(*parts),
        short="Comparison",
    )


def _over_systems(task: ScoringTask, title: str, pairs: Sequence[ModelComparison]) -> Markup:
    """The same pairs over systems, and by the means of systems; a sentence where there are too few."""
    compared = [pair for pair in pairs if pair.over_systems.difference.value is not None]
    if not compared:
        reason = pairs[0].over_systems.p.why_missing
        if reason in (None, "no systems", "not compared"):
            return Markup("")
        return absent(f"{spaced(task.id)}: no comparison over systems: {reason}.")
    holm = f"p (Holm over {len(compared)})"
    columns: dict[str, Callable[[ModelComparison], CellValue]] = {
        "pair": _pair,
        f"difference in {title} (95%, this pair alone, over systems)": lambda pair: (
            pair.over_systems.difference
        ),
        "p (this pair alone)": lambda pair: PValue(pair.over_systems.p.value),
        holm: lambda pair: PValue(pair.over_systems.p_adjusted),
        "differ significantly (Holm)": lambda pair: YesNoCell(pair.over_systems.apart),
    }
    if task.kind in ("numbers", "strengths"):
        columns |= {
            "difference on system means (95%)": lambda pair: pair.system_means.difference,
            "p": lambda pair: PValue(pair.system_means.p.value),
            f"{holm} ": lambda pair: PValue(pair.system_means.p_adjusted),
            "differ significantly on system means (Holm)": lambda pair: YesNoCell(pair.system_means.apart),
        }
    return table_of(f"{spaced(task.id)}: for other systems", compared, columns)


def _pair(pair: ModelComparison) -> str:
    return f"{pair.first} − {pair.second}"


def slices(scores: Scores) -> Section:
    """The headline by slice."""
    parts = []
    for task in scores.tasks:
        task_slices = [row for row in scores.slices if (row.task, row.metric) == (task.id, task.headline)]
        for column in dict.fromkeys(row.column for row in task_slices):
            column_slices = [row for row in task_slices if row.column == column]
            grid = _slice_table(scores, scores.metric_title(task.headline), column, column_slices)
            parts.append(folded(f"{spaced(task.id)} by {spaced(column)}", grid))
    lead = "The headline on the answered items of one kind, with intervals over stimuli. Small slices say little."
    return Section(
        id="slices", title="Where models do well and badly", lead=lead, html=joined(*parts), short="Slices"
    )


def _slice_table(scores: Scores, title: str, column: str, slices: Sequence[Slice]) -> Markup:
    sizes = {row.value: row.items for row in reversed(slices)}
    estimates = {(row.value, row.model): row.estimate for row in slices}
    lines = [
        [spaced(value), sizes[value], *(estimates.get((value, model)) for model in scores.models)]
        for value in dict.fromkeys(row.value for row in slices)
    ]
    return table(f"{title} by {spaced(column)}", [spaced(column), "items", *scores.models], lines)


def all_scores(scores: Scores) -> Section:
    """Every metric of every model."""
    columns: Columns[ModelScore] = {
        "model": lambda row: row.model,
        "metric": lambda row: scores.metric_title(row.metric),
        "aggregation": lambda row: row.aggregation,
        "decided by": lambda row: row.at,
        "score, failures counted": lambda row: row.with_failures,
        "on answered items only": lambda row: row.estimate,
        "over systems": lambda row: row.over_systems,
        "chance": lambda row: row.chance,
        "ceiling": lambda row: row.ceiling,
        "share of the way from chance to the ceiling": lambda row: row.of_ceiling,
    }
    parts = []
    for task in scores.tasks:
        task_scores = [row for row in scores.scores if row.task == task.id]
        grid = table_of(f"{spaced(task.id)}: every score", task_scores, columns)
        parts.append(folded(f"{spaced(task.id)}: {len(task_scores)} scores ({task.failures})", grid))
    lead = "By item, by system (means per system first, intervals over systems) and within cells of system and intent."
    return Section(id="scores", title="Every score", lead=lead, html=joined(*parts), short="Scores")


def coverage(scores: Scores) -> Section:
    """How many items were answered, why not all were, and how predictions were made."""
    rows = [
        (model, task, counts) for model, tasks in scores.coverage.items() for task, counts in tasks.items()
    ]
    columns: Columns[tuple[str, str, ModelCoverage]] = {
        "model": lambda row: row[0],
        "task": lambda row: spaced(row[1]),
        "items": lambda row: row[2].items,
        "answered": lambda row: row[2].answered,
        "without label": lambda row: row[2].without_label,
        "why not answered": lambda row: _most_frequent(row[2].problems),
        "how it was made": lambda row: _most_frequent(row[2].notes),
    }
    grid = table_of("Coverage", rows, columns)
    return Section(id="coverage", title="What was answered", html=grid, short="Coverage")


def _most_frequent(texts: Mapping[str, int]) -> str:
    """The most frequent texts with how often each came, and how many others there were; a dash for none."""
    ranked = sorted(texts.items(), key=lambda pair: -pair[1])
    parts = [f"{text} ({number(n)})" for text, n in ranked[:MOST_REASONS]]
    rarer = ranked[MOST_REASONS:]
    if rarer:
        parts.append(f"{len(rarer)} others ({number(sum(n for _, n in rarer))})")
    return "; ".join(parts) or "–"


def models(scores: Scores) -> Section:
    """Which models answered, and which version of heartfelt scored them."""
    columns: Columns[tuple[str, ModelInfo]] = {
        "asked for as": lambda row: row[0],
        "name": lambda row: row[1].display_name,
        "predictor": lambda row: row[1].predictor,
        "version": lambda row: row[1].version,
        "hash": lambda row: row[1].hash[:16] if row[1].hash else None,
        "identity": lambda row: row[1].identity,
    }
    lead = f"Scored by heartfelt {scores.heartfelt_version} on source {scores.hash[:12]}."
    return Section(
        id="models",
        title="Models",
        lead=lead,
        html=table_of("Models", list(scores.model_info.items()), columns),
    )


def usage(about: Mapping[str, ModelInfo]) -> Section:
    """What hosted models took: requests, tokens and cost; no section where no model is hosted."""
    rows = [(name, info.usage) for name, info in about.items() if info.usage is not None]
    columns: Columns[tuple[str, Usage]] = {
        "model": lambda row: row[0],
        "answered by": lambda row: ", ".join(row[1].models) or None,
        "requests": lambda row: row[1].requests,
        "input tokens": lambda row: row[1].input_tokens,
        "output tokens": lambda row: row[1].output_tokens,
        "requests without counts": lambda row: row[1].without_counts,
        "cost": lambda row: None if row[1].cost is None else money(row[1].cost),
        "cost per item": lambda row: None if row[1].cost_per_item is None else money(row[1].cost_per_item),
    }
    lead = (
        "Requests to hosted models, retries included; answers from the cache were paid for in an earlier run and are not counted."
        " The sums leave out requests without counts."
        " The cost is in the currency of the prices that were given (options input_price and output_price); a dash where"
        " none were. The cost per item is that of all requests over the items answered."
    )
    grid = table_of("Requests, tokens and cost", rows, columns) if rows else Markup("")
    return Section(id="usage", title="Tokens and cost", lead=lead, html=grid, short="Cost")


def repeats(about: Mapping[str, ModelInfo]) -> Section:
    """How far the repeats of each model's answers agree; no section where nothing was asked repeatedly."""
    rows = [(name, consistency) for name, info in about.items() for consistency in info.consistency.values()]
    columns: Columns[tuple[str, SelfConsistency]] = {
        "model": lambda row: row[0],
        "question": lambda row: spaced(row[1].question),
        "items": lambda row: row[1].items,
        "repeats answered": lambda row: row[1].repeats,
        "share of variance between items (ICC(1))": lambda row: row[1].between_items,
        "SD between repeats": lambda row: row[1].repeat_sd,
        "pairs of repeats with the same answer": lambda row: row[1].same_answer,
    }
    lead = (
        "Each question was asked repeatedly. Scores are those of the combined answers: the mean of numbers, the most frequent of"
        " categories. Numbers: how much of the variance of single answers lies between items rather than between repeats, and"
        " the standard deviation of single answers around their item's mean. Categories: the share of pairs of repeats with the"
        " same answer, mean over items."
    )
    grid = table_of("Self-consistency", rows, columns) if rows else Markup("")
    return Section(id="repeats", title="Agreement between repeats", lead=lead, html=grid, short="Repeats")


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
        "Models are ranked by the score with failures counted. A model beats chance where that score is better than chance"
        " and its predictions are associated with the labels: they are compared with themselves rearranged, within and between"
        " systems. For a rank for other systems, what whole systems show is rearranged. Both tests are two-sided and corrected by"
        " Holm for the number of models.",
        *(_chance(scores, task) for task in scores.tasks),
        f"Scores are cut at {options.threshold:g}, and at a threshold chosen on the other {options.folds - 1} of"
        f" {options.folds} folds of stimuli.",
        f"System truth is {truth}.",
        *(f"{spaced(task.id)}: {task.failures}." for task in scores.tasks),
        *(
            [
                "Predicted choices are scored answer by answer, with intervals over raters and pairs. A model that predicts a"
                " number for each stimulus is scored by the sign of the difference of two numbers."
            ]
            if any(task.kind == "choices" for task in scores.tasks)
            else []
        ),
        *scores.notes,
    ]
    chosen = [(field.name, getattr(options.selection, field.name)) for field in fields(options.selection)]
    selection = ", ".join(f"{spaced(name)} {value}" for name, value in chosen if value)
    if selection:
        lines.append(f"Items were selected: {selection}.")
    return Section(id="method", title="How this was made", html=bullets(lines), short="Method")


def _chance(scores: Scores, task: ScoringTask) -> str:
    """What chance is for the headline of a task."""
    chance = scores.chance(task.id)
    if chance.value is None:
        return f"{spaced(task.id)}: no chance level: {chance.why_missing}."
    about = chance.method.partition(": ")[2]
    return f"{spaced(task.id)}: chance is {interval(chance)}" + (f" ({about})." if about else ".")
