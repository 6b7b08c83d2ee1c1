"""The page of a bench: it opens offline, and plays the media files next to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import polars as pl
from markupsafe import Markup

from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.bench.figures import NO_CHANCE, bench_charts, rank_text
from heartfelt.report.bench.judges import judges
from heartfelt.report.bench.parts import agreement_by_part, part_charts
from heartfelt.report.bench.sections import all_scores, comparisons, coverage, method, models, repeats, slices, usage
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.page import PLAY, ReportPage, Section, absent, bullets, figure_block, joined, section_or_reason
from heartfelt.report.tables import CellValue, table
from heartfelt.report.templates import part, section
from heartfelt.scoring import Scores
from heartfelt.scoring.scores import UNTESTED, ModelRank, ScoringTask, SystemRank
from heartfelt.wording import interval, listed, number, p_value, plural, spaced

MOST_MISSES = 10
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
    name, title = spaced(task.id), scores.metric_title(task.headline)
    ranks = scores.ranked(task.id)
    ranked = [rank for rank in ranks if rank.place]
    blind = [rank.model for rank in ranks if rank.below_chance]
    chance = interval(scores.chance(task.id))
    out = []
    if ranked:
        out.append(_leading(scores, task, ranked))
    elif blind:
        best = interval(scores.headline(task.id, blind[0]))
        out.append(
            f"{name}: no model beats chance. {blind[0]} comes closest with a {title} of {best}; chance is {chance}."
        )
    else:
        untested = next((rank.why_none for rank in ranks if (rank.why_none or "").startswith(UNTESTED)), None)
        out.append(f"{name}: no model {f'is ranked; {untested}' if untested else f'has a {title}'}.")
    if ranked and blind:
        do, have = ("does", "has") if len(blind) == 1 else ("do", "have")
        out.append(f"{name}: {listed(blind)} {do} not beat chance ({chance}) and {have} no rank.")
    out += [sentence for model in blind if (sentence := _clips_only(scores, task, model))]
    for rank in ranked:
        if (scores.headline(task.id, rank.model, "of_ceiling").low or 0.0) > 1:
            reason = "has it seen them?"
            if task.kind != "numbers":
                reason = "it has seen them, or raters agree more than the ceiling's model assumes."
            out.append(f"{name}: {rank.model} scores above the ceiling these labels should set: {reason}")
    return out + _failed(scores, task)


def _clips_only(scores: Scores, task: ScoringTask, model: str) -> str | None:
    """Why a model does not beat chance although its interval leaves chance out; None where it does not."""
    score = scores.find(task.id, model)
    if score is None or score.p_chance.value is None or (score.beyond_chance.low or 0.0) <= 0:
        return None
    return (
        f"{spaced(task.id)}: the interval of {model} leaves chance out because it is over single clips; its predictions assigned"
        f" to other systems and clips do as well often enough ({p_value(score.p_chance.value)})."
    )


def _leading(scores: Scores, task: ScoringTask, ranked: list[ModelRank]) -> str:
    """Who is ahead, by the score with failures counted."""
    best = ranked[0]
    done, items = scores.answered(task.id, best.model)
    tied = scores.tied_with(task.id, best.model)
    text = f"{spaced(task.id)}: {best.model} has the best {scores.metric_title(task.headline)},"
    text += f" {interval(scores.headline(task.id, best.model))}"
    text += f" (answered {number(done)} of {number(items)} items, failures counted)" if done < items else ""
    text += f", not significantly different from {listed(tied)} (Holm's correction)." if tied else "."
    ceiling, chance = scores.ceiling(task.id), scores.chance(task.id)
    share = scores.headline(task.id, best.model, "of_ceiling").value
    if ceiling.value is not None:
        text += f" The ceiling of these labels is {interval(ceiling)}"
        smooth = scores.smooth_ceiling(task.id)
        text += f" ({interval(smooth)} if items' votes follow a smooth family)" if smooth is not None else ""
        at = f" from chance ({interval(chance)})" if chance.value is not None else ""
        text += f"; that is {100 * share:.0f}% of the way{at} to it." if share is not None else "."
    return f"{text} {_reach(best)}"


def _reach(best: ModelRank) -> str:
    """What the ranks generalise to."""
    text = f"Ranks generalise to {best.generalises_to}"
    if best.over_systems.best is not None:
        return f"{text}; for other systems its rank is {_range(best.over_systems)}."
    if "systems" in best.generalises_to:
        reason = best.over_systems.why_none or "no comparison over systems"
        return f"{text}; they say nothing about other systems ({reason})."
    return f"{text}."


def _range(rank: SystemRank) -> str:
    """The ranks that comparisons over systems leave open."""
    if rank.best is None:
        return NO_CHANCE if rank.beats_chance is False else "–"
    return str(rank.best) if rank.best == rank.worst else f"{rank.best}–{rank.worst}"


def _failed(scores: Scores, task: ScoringTask) -> list[str]:
    """A sentence for every model that did not answer everything."""
    out, title = [], scores.metric_title(task.headline)
    for model in scores.models:
        done, items = scores.answered(task.id, model)
        if done < items:
            counted, alone = scores.headline(task.id, model), scores.headline(task.id, model, "estimate")
            out.append(
                f"{spaced(task.id)}: {model} failed on {plural(items - done, 'item')} of {number(items)}; with those counted"
                f" its {title} is {interval(counted)}, which is what it is ranked by; on the {number(done)} it answered it"
                f" is {interval(alone)}."
            )
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
    lines: list[list[CellValue]] = []
    for row in worst.iter_rows(named=True):
        name, model, answer = row["stimulus"], row["model"], row["answer"]
        predicted = row["code"] if row["code"] is not None else row["score"]
        label = number(row["truth"], 2)
        if task.kind == "binary":
            label = {1.0: "present", 0.0: "absent"}.get(row["truth"], label)
        words = f"label {label}, {model} predicted {answer or number(predicted, 2)}"
        # A pair is named by its two stimuli.
        stimuli = name.split(SEPARATOR) if task.kind == "choices" else [name]
        plays = Markup("").join(
            PLAY.format(stimulus, f"{stimulus}\n{words}") for stimulus in stimuli if stimulus in media
        )
        shown = Markup("{}{}").format(plays, " and ".join(stimuli))
        answered = answer if answer is not None and task.kind == "categories" else predicted
        question = [row["question"]] if several else []
        lines.append([shown, model, *question, label, answered, row["off"], row["system"], row["intent"]])
    question_column = ["question"] if several else []
    columns = ["stimulus", "model", *question_column, "label", "prediction", "off by", "system", "intent"]
    grid = table(f"Worst misses, {MOST_MISSES} per model", columns, lines)
    return grid or absent("No model missed any item.")
