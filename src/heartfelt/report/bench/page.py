"""The page of a bench: it opens offline, and plays the media files next to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
from markupsafe import Markup

from heartfelt.analysis.text.sentences import template_lines
from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.bench.figures import NO_CHANCE, bench_charts, rank_text
from heartfelt.report.bench.judges import judges
from heartfelt.report.bench.parts import agreement_by_part, part_charts
from heartfelt.report.bench.sections import all_scores, comparisons, coverage, method, models, repeats, slices, usage
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.layout.page import (
    PLAY,
    ReportPage,
    Section,
    absent,
    bullets,
    figure_block,
    joined,
    section_or_reason,
)
from heartfelt.report.layout.tables import CellValue, table
from heartfelt.report.layout.templates import part, section
from heartfelt.scoring import Scores
from heartfelt.scoring.results.scores import UNTESTED, ModelRank, ScoringTask, SystemRank
from heartfelt.wording import number, spaced

MOST_MISSES = 10
TEMPLATE = "report/bench/sentences"
SHARE = "share of the way from chance to the ceiling"
_Key: TypeAlias = tuple[str, str, str | None]
FURTHER: Mapping[str, tuple[_Key, ...]] = {
    "binary": (("balanced_accuracy", "item", "held-out threshold"), ("auroc", "item", None)),
    "numbers": (
        ("spearman", "item", None),
        ("ccc", "item", None),
        ("rmse", "item", None),
        ("spearman", "system", None),
    ),
    "categories": (("macro_f1", "item", None),),
    "ordinal": (("spearman", "item", None),),
    "text": (("rouge_l", "item", None), ("bleu_4", "item", None)),
    "choices": (
        ("majority_accuracy", "item", None),
        ("decided_accuracy", "item", None),
        ("log_loss", "item", None),
        ("choice_brier", "item", None),
    ),
    "strengths": (("kendall", "item", None), ("pearson", "item", None), ("spearman", "system", None)),
    "traces": (("trace_ccc", "item", "without lag"),),
}
"""The metrics next to the headline in the leaderboard, by kind of task: their name, aggregation and threshold."""


def bench_page(scores: Scores, media: Mapping[str, str]) -> ReportPage:
    """The page; ``media`` has the address of what plays for each stimulus."""
    charts = {**bench_charts(scores), **part_charts(scores)}
    every = range(len(scores.tasks))
    scatter = joined(*(_optional_figure(f"scatter-{index}", charts) for index in every))
    certainty = [f"{name}-{index}" for index in every for name in ("confusion", "calibration")]
    confusion = joined(*(figure_block(name, charts, files=False) for name in certainty))
    sections = [
        section_or_reason(verdict, scores),
        section_or_reason(leaderboards, scores, charts),
        section_or_reason(agreement_by_part, scores, charts),
        Section(id="scatter", title="Prediction and label", html=scatter, short="Scatter"),
        section_or_reason(_misses, scores, media),
        Section(id="certainty", title="Confusion and calibration", html=confusion, short="Calibration"),
        section_or_reason(judges, scores),
        *score_sections(scores),
    ]
    rows = scores.rows
    facts = [
        ("models", number(len(scores.models))),
        ("items", number(rows.select("stimulus", "question").n_unique() if rows.height else 0)),
        ("stimuli", number(rows["stimulus"].n_unique() if rows.height else 0)),
        ("tasks", number(len(scores.tasks))),
        ("source", scores.hash[:12]),
    ]
    shown = [section for section in sections if section.html]
    return ReportPage(
        title=f"{scores.title}: predictors against people",
        subtitle="",
        sections=shown,
        charts=charts,
        media=dict(media),
        facts=facts,
    )


def stimuli_of(scores: Scores) -> set[str]:
    """The stimuli that the page can play; a pair is named by its two."""
    if not scores.rows.height:
        return set()
    return {stimulus for name in scores.rows["stimulus"].unique() for stimulus in (name, *name.split(SEPARATOR))}


def score_sections(scores: Scores) -> list[Section]:
    """What a page says of scores alone, without their items."""
    return [
        *(section_or_reason(build, scores) for build in (comparisons, slices, all_scores, coverage, models)),
        *(section_or_reason(build, scores.model_info) for build in (usage, repeats)),
        section_or_reason(method, scores),
    ]


def verdict(scores: Scores, *links: Markup) -> Section:
    """The outcome in sentences."""
    outcome = bullets([sentence for task in scores.tasks for sentence in sentences(scores, task)], "verdict")
    return Section(id="verdict", title="What came out", html=joined(outcome, Markup(" ").join(links)), short="Verdict")


def sentences(scores: Scores, task: ScoringTask) -> list[str]:
    """A task's outcome: who is ahead, how far from the ceiling, and what failed."""
    name, ranks = spaced(task.id), scores.ranked(task.id)
    ranked = [rank for rank in ranks if rank.place]
    blind = [rank.model for rank in ranks if rank.below_chance]
    out = template_lines(
        TEMPLATE,
        "outcome",
        name=name,
        title=scores.metric_title(task.headline),
        best=_best(scores, task, ranked[0]) if ranked else None,
        blind=[(model, scores.headline(task.id, model)) for model in blind],
        untested=next((rank.why_none for rank in ranks if (rank.why_none or "").startswith(UNTESTED)), None),
        chance=scores.chance(task.id),
    )
    return out + _clips_only(scores, task, blind) + _above_ceiling(scores, task, ranked) + _failed(scores, task)


def _clips_only(scores: Scores, task: ScoringTask, blind: Sequence[str]) -> list[str]:
    """A sentence for every model without a rank that is better than chance on these stimuli."""
    out: list[str] = []
    for model in blind:
        score = scores.find(task.id, model)
        # The interval leaves chance out, and yet the model does not beat it.
        if score is not None and score.p_chance.value is not None and (score.beyond_chance.low or 0.0) > 0:
            out += template_lines(TEMPLATE, "clips_only", name=spaced(task.id), model=model, p=score.p_chance.value)
    return out


def _above_ceiling(scores: Scores, task: ScoringTask, ranked: Sequence[ModelRank]) -> list[str]:
    out: list[str] = []
    about = {"name": spaced(task.id), "numbers": task.kind == "numbers"}
    for rank in ranked:
        if (scores.headline(task.id, rank.model, "of_ceiling").low or 0.0) > 1:
            out += template_lines(TEMPLATE, "above_ceiling", **about, model=rank.model)
    return out


def _best(scores: Scores, task: ScoringTask, rank: ModelRank) -> dict[str, object]:
    """What is said of the model that is ahead, by the score with failures counted."""
    done, items = scores.answered(task.id, rank.model)
    return {
        "rank": rank,
        "range": _range(rank.over_systems),
        "done": done,
        "total": items,
        "score": scores.headline(task.id, rank.model),
        "share": scores.headline(task.id, rank.model, "of_ceiling").value,
        "tied": scores.tied_with(task.id, rank.model),
        "ceiling": scores.ceiling(task.id),
        "smooth": scores.smooth_ceiling(task.id),
        "chance": scores.chance(task.id),
    }


def _range(rank: SystemRank) -> str:
    """The ranks that comparisons over systems leave open."""
    if rank.best is None:
        return NO_CHANCE if rank.beats_chance is False else "–"
    return str(rank.best) if rank.best == rank.worst else f"{rank.best}–{rank.worst}"


def _failed(scores: Scores, task: ScoringTask) -> list[str]:
    """A sentence for every model that did not answer everything."""
    out: list[str] = []
    about = {"name": spaced(task.id), "title": scores.metric_title(task.headline)}
    for model in scores.models:
        done, items = scores.answered(task.id, model)
        if done < items:
            counted, alone = scores.headline(task.id, model), scores.headline(task.id, model, "estimate")
            values = {"model": model, "done": done, "items": items, "counted": counted, "alone": alone}
            out += template_lines(TEMPLATE, "failed", **about, **values)
    return out


def leaderboards(scores: Scores, charts: Charts) -> Section:
    """Figure and table of every task's headline."""
    tables = [leaderboard_table(scores, task) for task in scores.tasks]
    drawn = [name for name, chart in charts.items() if isinstance(chart, Chart)]
    return section("bench/leaderboard", "leaderboard", charts, tables=tables, drawn=drawn)


def leaderboard_table(
    scores: Scores, task: ScoringTask, model: Callable[[str], CellValue] = lambda name: name
) -> Markup:
    """The headline of every model of a task, with further metrics; ``model`` is how a model is shown."""

    further = {}
    for index, key in enumerate(FURTHER[task.kind]):
        metric, by, at = key
        if any(scores.find(task.id, model, *key) is not None for model in scores.models):
            heading = (scores.metric_title(metric), at, "by system" if by == "system" else None)
            further[", ".join(filter(None, heading))] = f"further(row[0].model, {index})"

    def further_score(name: str, index: int) -> CellValue:
        score = scores.find(task.id, name, *FURTHER[task.kind][index])
        return score.with_failures if score else None

    ranked = [(rank, scores.find(task.id, rank.model)) for rank in scores.ranked(task.id)]
    return part(
        "bench/leaderboard_table",
        scores=scores,
        task=task,
        rows=[(rank, score, *scores.answered(task.id, rank.model)) for rank, score in ranked if score],
        model=model,
        rank_text=rank_text,
        range_of=_range,
        share_title=SHARE,
        further_columns=further,
        further=further_score,
    )


def _optional_figure(name: str, charts: Charts) -> Markup:
    """A figure; nothing where it is absent."""
    return figure_block(name, charts, files=False) if isinstance(charts.get(name), Chart) else Markup("")


def _misses(scores: Scores, media: Mapping[str, str]) -> Section:
    tables = [(spaced(task.id), _miss_table(scores, task, media)) for task in scores.tasks]
    return section("bench/misses", "misses", tables=tables)


def _miss_table(scores: Scores, task: ScoringTask, media: Mapping[str, str]) -> Markup:
    """The items on which each model was furthest off."""
    if task.kind == "text":
        return absent("Texts have no misses: see the scores.")
    worst = scores.misses(task, MOST_MISSES)
    several = scores.rows.filter(pl.col("task") == task.id)["question"].n_unique() > 1
    question = ["question"] if several else []
    columns = ["stimulus", "model", *question, "label", "prediction", "off by", "system", "intent"]
    lines = [_miss_line(row, task, question, media) for row in worst.iter_rows(named=True)]
    grid = table(f"Worst misses, {MOST_MISSES} per model", columns, lines)
    return grid or absent("No model missed any item.")


def _miss_line(
    row: Mapping[str, Any], task: ScoringTask, question: Sequence[str], media: Mapping[str, str]
) -> list[CellValue]:
    name, model, answer = row["stimulus"], row["model"], row["answer"]
    predicted = row["code"] if row["code"] is not None else row["score"]
    label = number(row["truth"], 2)
    if task.kind == "binary":
        label = {1.0: "present", 0.0: "absent"}.get(row["truth"], label)
    words = f"label {label}, {model} predicted {answer or number(predicted, 2)}"
    # A pair is named by its two stimuli.
    stimuli = name.split(SEPARATOR) if task.kind == "choices" else [name]
    plays = Markup("").join(PLAY.format(stimulus, f"{stimulus}\n{words}") for stimulus in stimuli if stimulus in media)
    shown = Markup("{}{}").format(plays, " and ".join(stimuli))
    answered = answer if answer is not None and task.kind == "categories" else predicted
    about = (row[column] for column in question)
    return [shown, model, *about, label, answered, row["off"], row["system"], row["intent"]]
