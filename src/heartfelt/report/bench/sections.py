"""Sections of the bench page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.bench.told import Told, rank_words
from heartfelt.report.blocks import absent, folded, joined
from heartfelt.report.chart import Chart
from heartfelt.report.page import Section
from heartfelt.report.reading import value_of
from heartfelt.report.tables import Chance, Verdict, pairs_table, table
from heartfelt.report.words import interval, number, plain, plural

NUMBERS_SHOWN = 60


def drawn(name: str, chart: Chart | None, why: str = "") -> Markup:
    """A figure that the script draws, with the numbers behind it."""
    if chart is None:
        return absent(why) if why else Markup("")
    behind = pairs_table(
        f"{chart.title}: the numbers", chart.rows, most=NUMBERS_SHOWN, more="all are in the files"
    )
    return Markup(
        '<figure class="chart" id="figure-{0}">\n<h3>{1}</h3>\n<div class="figure" data-figure="{0}"><noscript>This figure is'
        " drawn by the page's own script.</noscript></div>\n<figcaption>{2}</figcaption>\n"
        "<details><summary>Numbers behind this figure</summary>\n{3}\n</details>\n</figure>"
    ).format(name, chart.title, chart.caption, behind)


def verdict(told: Told) -> Section:
    """What came out, in sentences."""
    said = [sentence for task in told.tasks for sentence in sentences(told, task)]
    items = Markup("\n").join(Markup("<li>{}</li>").format(sentence) for sentence in said)
    return Section(
        "verdict",
        "What came out",
        html=Markup('<ul class="verdict">\n{}\n</ul>').format(items),
        short="Verdict",
    )


def sentences(told: Told, task: Mapping[str, Any]) -> list[str]:
    """A task's outcome: who is ahead, how far from the ceiling, and what failed."""
    name, ranked = str(task["task"]), [rank for rank in told.ranks(task["task"]) if rank["place"]]
    if not ranked:
        return [f"{plain(name)}: no model has a {told.named(task['headline'])}."]
    best = ranked[0]
    found = told.headline(task, best["model"])
    tied = told.tied_with(name, best["model"])
    text = f"{plain(name)}: {best['model']} has the best {told.named(task['headline'])}, {interval(found['estimate'])}"
    text += f", not told apart from {', '.join(tied)}." if tied else "."
    ceiling, share = told.ceiling(task), value_of(found["of_ceiling"])
    if value_of(ceiling) is not None:
        text += f" The ceiling of these labels is {interval(ceiling)}"
        text += f"; that is {100 * share:.0f}% of it." if share is not None else "."
    out = [text]
    for rank in ranked:
        reach = told.headline(task, rank["model"])["of_ceiling"]
        if (reach.get("low") or 0.0) > 1:
            why = "has it seen them?"
            if task["kind"] != "numbers":
                why = "it has seen them, or raters are more of one mind than the ceiling's model takes them to be."
            out.append(
                f"{plain(name)}: {rank['model']} scores above the ceiling these labels should set: {why}"
            )
    for model in told.models:
        covered = told.said["coverage"][model].get(name)
        if covered and covered["answered"] < covered["items"]:
            failed = covered["items"] - covered["answered"]
            both = told.headline(task, model)["with_failures"]
            out.append(
                f"{plain(name)}: {model} failed on {plural(failed, 'item')} of {number(covered['items'])}; with those counted its"
                f" {told.named(task['headline'])} is {interval(both)}."
            )
    return out


def leaderboards(told: Told, charts: Mapping[str, Chart | None]) -> Section:
    """Figure and table of every task's headline."""
    parts = []
    for place, task in enumerate(told.tasks):
        parts.append(
            drawn(
                f"leaderboard-{place}",
                charts.get(f"leaderboard-{place}"),
                f"No model has a score on {task['task']}.",
            )
        )
        parts.append(leaderboard_table(told, task))
        parts.append(drawn(f"shares-{place}", charts.get(f"shares-{place}")))
    lead = (
        "Ranks are ranges where the data cannot tell models apart. Failed predictions count against coverage, and every"
        " score is given both ways."
    )
    return Section("leaderboard", "Leaderboard", lead, html=joined(*parts), short="Leaderboard")


def leaderboard_table(told: Told, task: Mapping[str, Any]) -> Markup:
    """The headline of every model of a task, with what stands beside it."""
    name = str(task["task"])
    more = _beside(told, task)
    columns = [
        "model",
        "rank",
        told.named(task["headline"]),
        "failures counted",
        "over systems",
        "share of the ceiling",
        "answered",
    ]
    rows = []
    for rank in told.ranks(name):
        found = told.headline(task, rank["model"])
        covered = told.said["coverage"][rank["model"]].get(name, {})
        own = [one for key in more for one in told.scores(name, model=rank["model"], **dict(key))]
        rows.append(
            [
                rank["model"], rank_words(rank), found["estimate"], found["with_failures"], found["over_systems"],
                found["of_ceiling"], f"{number(covered.get('answered'))} of {number(covered.get('items'))}",
                *(one["estimate"] for one in own),
            ]
        )  # fmt: skip
    columns += [_column(told, dict(key)) for key in more]
    return table(f"{plain(name)}: every model", columns, rows)


def _beside(told: Told, task: Mapping[str, Any]) -> list[tuple[tuple[str, str], ...]]:
    """The metrics that stand beside the headline in the leaderboard."""
    at = "held-out threshold"
    wanted: dict[str, list[dict[str, str]]] = {
        "binary": [{"metric": "balanced_accuracy", "at": at}, {"metric": "auroc"}],
        "numbers": [{"metric": m, "level": "item"} for m in ("spearman", "ccc", "rmse")]
        + [{"metric": "spearman", "level": "system"}],
        "categories": [{"metric": "macro_f1"}],
        "ordinal": [{"metric": "spearman"}],
        "text": [{"metric": "rouge_l"}, {"metric": "bleu_4"}],
    }
    return [tuple(one.items()) for one in wanted[task["kind"]] if told.scores(task["task"], **one)]


def _column(told: Told, key: Mapping[str, str]) -> str:
    parts = [
        told.named(key["metric"]),
        key.get("at", ""),
        "by system" if key.get("level") == "system" else "",
    ]
    return ", ".join(part for part in parts if part)


def all_scores(told: Told) -> Section:
    """Every metric of every model."""
    parts = []
    for task in told.tasks:
        rows = [
            [
                one["model"], told.named(one["metric"]), one["level"], one["at"], one["estimate"], one["with_failures"],
                one["over_systems"], one["ceiling"], one["of_ceiling"],
            ]
            for one in told.scores(task["task"])
        ]  # fmt: skip
        columns = (
            "model",
            "metric",
            "level",
            "decided by",
            "score",
            "failures counted",
            "over systems",
            "ceiling",
            "share of the ceiling",
        )
        grid = table(f"{plain(task['task'])}: every score", columns, rows, more="all are in scores.json")
        parts.append(folded(f"{plain(task['task'])}: {len(rows)} scores ({task['failures']})", grid))
    lead = "By item, by system (means per system first, intervals over systems) and within cells of system and intent."
    return Section("scores", "Every score", lead, html=joined(*parts), short="Scores")


def comparisons(told: Told) -> Section | None:
    """Every pair of models."""
    if not told.said["comparisons"]:
        return None
    parts = []
    for task in told.tasks:
        rows = [
            [
                f"{pair['first']} − {pair['second']}", pair["difference"],
                None if pair["p_adjusted"] is None else Chance(pair["p_adjusted"]), Verdict(pair["apart"]),
                _whole(pair["more_stimuli"]),
            ]
            for pair in told.comparisons(task["task"])
        ]  # fmt: skip
        if rows:
            columns = (
                "pair",
                f"difference in {told.named(task['headline'])}",
                "p (Holm)",
                "told apart",
                "more stimuli needed",
            )
            parts.append(table(plain(task["task"]), columns, rows))
    lead = (
        "Pairs are compared on the items both answered. The last column plans: how many more stimuli would tell the two apart"
        " four times in five, were the difference as large as it looks."
    )
    return Section("comparison", "Which differences are real", lead, html=joined(*parts), short="Comparison")


def _whole(estimate: Mapping[str, Any]) -> Any:
    value = value_of(estimate)
    return estimate if value is None else int(value)


def slices(told: Told) -> Section | None:
    """Headline by slice."""
    parts = []
    for task in told.tasks:
        mine = [
            one
            for one in told.said["slices"]
            if one["task"] == task["task"] and one["metric"] == task["headline"]
        ]
        parts += [
            folded(f"{plain(task['task'])} by {plain(column)}", _slice_table(told, task, column, mine))
            for column in dict.fromkeys(one["column"] for one in mine)
        ]
    if not parts:
        return None
    lead = "The headline on the items of one kind; intervals by the delta method, over stimuli. Small slices say little."
    return Section("slices", "Where models do well and badly", lead, html=joined(*parts), short="Slices")


def _slice_table(told: Told, task: Mapping[str, Any], column: str, mine: list[dict[str, Any]]) -> Markup:
    own = [one for one in mine if one["column"] == column]
    values = list(dict.fromkeys(one["value"] for one in own))
    found = {(one["value"], one["model"]): one for one in own}
    rows = []
    for value in values:
        first = next(one for one in own if one["value"] == value)
        cells = [
            found[value, model]["estimate"] if (value, model) in found else None for model in told.models
        ]
        rows.append([plain(value), first["n_items"], *cells])
    return table(
        f"{told.named(task['headline'])} by {plain(column)}", [plain(column), "items", *told.models], rows
    )


def failures(told: Told) -> Section:
    """What was not answered, and why; how predictions were made."""
    rows = []
    for model, tasks in told.said["coverage"].items():
        for name, found in tasks.items():
            why, notes = _most_frequent(found["problems"]), _most_frequent(found["notes"])
            rows.append(
                [
                    model,
                    plain(name),
                    found["items"],
                    found["answered"],
                    found["without_label"],
                    why or "–",
                    notes or "–",
                ]
            )
    columns = ("model", "task", "items", "answered", "without label", "why not answered", "how it was made")
    grid = table("Coverage", columns, rows)
    return Section("coverage", "What was answered", html=joined(grid), short="Coverage")


def _most_frequent(texts: Mapping[str, int], most: int = 3) -> str:
    """The most frequent of some texts with how often each came; the rest in numbers."""
    ranked = sorted(texts.items(), key=lambda pair: -pair[1])
    shown = "; ".join(f"{text} ({number(n)})" for text, n in ranked[:most])
    rest = ranked[most:]
    return shown + (f"; {len(rest)} others ({number(sum(n for _, n in rest))})" if rest else "")


def method(told: Told) -> Section:
    """How the figures were made."""
    options = told.said["options"]
    lines = [
        f"Intervals are at {100 * options['level']:.0f}%, from {number(options['resamples'])} resamples of stimuli with"
        f" all their items (seed {options['seed']}); where resamples times rows pass 100 million, from influence values."
        " Those over systems resample whole systems.",
        f"Scores are cut at {options['threshold']:g}, and at a threshold chosen on the other {options['folds'] - 1} of"
        f" {options['folds']} folds of stimuli.",
        f"System truth is {_truth(options['system_truth'])}.",
        *(f"{plain(task['task'])}: {task['failures']}." for task in told.tasks),
        *told.said["notes"],
    ]
    selection = {name: value for name, value in options["selection"].items() if value}
    if selection:
        lines.append(
            f"Items were chosen: {', '.join(f'{plain(name)} {value}' for name, value in selection.items())}."
        )
    items = Markup("\n").join(Markup("<li>{}</li>").format(line) for line in lines)
    return Section(
        "method", "How this was made", html=Markup("<ul>\n{}\n</ul>").format(items), short="Method"
    )


def _truth(words: str) -> str:
    return "the mean of the scored clips' labels" if words == "the scored clips" else words
