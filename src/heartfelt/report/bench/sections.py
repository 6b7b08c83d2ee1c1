"""Sections of the bench page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.bench.told import NO_CHANCE, Told, below_chance, rank_words
from heartfelt.report.blocks import absent, folded, joined
from heartfelt.report.chart import Chart
from heartfelt.report.page import Section
from heartfelt.report.reading import value_of
from heartfelt.report.tables import pairs_table, table
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
    name, ranks = str(task["task"]), told.ranks(task["task"])
    ranked = [rank for rank in ranks if rank["place"]]
    blind = [str(rank["model"]) for rank in ranks if below_chance(rank)]
    out = []
    if ranked:
        out += _leading(told, task, ranked)
    elif blind:
        title, chance = told.named(task["headline"]), told.chance(task)
        top = told.headline(task, blind[0])["with_failures"]
        out.append(
            f"{plain(name)}: no model beats chance. {blind[0]} comes closest with a {title} of {interval(top)};"
            f" chance is {interval(chance)}."
        )
    else:
        out.append(f"{plain(name)}: no model has a {told.named(task['headline'])}.")
    if ranked and blind:
        verb = "does" if len(blind) == 1 else "do"
        out.append(
            f"{plain(name)}: {_listed(blind)} {verb} not beat chance"
            f" ({interval(told.chance(task))}) and {'has' if len(blind) == 1 else 'have'} no rank."
        )
    for rank in ranked:
        reach = told.headline(task, rank["model"])["of_ceiling"]
        if (reach.get("low") or 0.0) > 1:
            why = "has it seen them?"
            if task["kind"] != "numbers":
                why = "it has seen them, or raters are more of one mind than the ceiling's model takes them to be."
            out.append(
                f"{plain(name)}: {rank['model']} scores above the ceiling these labels should set: {why}"
            )
    return out + _failed(told, task)


def _listed(names: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _leading(told: Told, task: Mapping[str, Any], ranked: list[dict[str, Any]]) -> list[str]:
    """Who is ahead, by the score with failures counted."""
    name, best = str(task["task"]), ranked[0]
    found = told.headline(task, best["model"])
    answered, items = told.coverage(name, best["model"])
    tied = told.tied_with(name, best["model"])
    text = f"{plain(name)}: {best['model']} has the best {told.named(task['headline'])}, {interval(found['with_failures'])}"
    text += (
        f" (answered {number(answered)} of {number(items)} items, failures counted)"
        if answered < items
        else ""
    )
    text += f", not told apart from {', '.join(tied)}." if tied else "."
    ceiling, share, chance = told.ceiling(task), value_of(found["of_ceiling"]), told.chance(task)
    if value_of(ceiling) is not None:
        text += f" The ceiling of these labels is {interval(ceiling)}"
        at = f" from chance ({interval(chance)})" if value_of(chance) is not None else ""
        text += f"; that is {100 * share:.0f}% of the way{at} to it." if share is not None else "."
    if len(ranked) > 1 or best.get("generalises_to"):
        text += f" {_reach(best)}"
    return [text]


def _reach(best: Mapping[str, Any]) -> str:
    """What the ranks speak of."""
    to = str(best.get("generalises_to") or "other stimuli like these")
    systems = best.get("over_systems") or {}
    text = f"Ranks speak of {to}"
    if systems.get("best") is not None:
        low, high = systems["best"], systems["worst"]
        range_ = str(low) if low == high else f"{low}–{high}"
        return f"{text}; for other systems its rank is {range_}."
    if "systems" in to:
        return f"{text}; they say nothing of other systems ({systems.get('why_none') or 'no comparison over systems'})."
    return f"{text}."


def _failed(told: Told, task: Mapping[str, Any]) -> list[str]:
    """A sentence for every model that did not answer everything."""
    out, name = [], str(task["task"])
    for model in told.models:
        answered, items = told.coverage(name, model)
        if answered < items:
            found = told.headline(task, model)
            failed = items - answered
            out.append(
                f"{plain(name)}: {model} failed on {plural(failed, 'item')} of {number(items)}; with those counted its"
                f" {told.named(task['headline'])} is {interval(found['with_failures'])}, which is what it is ranked by; on the"
                f" {number(answered)} it answered it is {interval(found['estimate'])}."
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
        "Models are ranked by the score with failures counted: every item counts, and a failed or missing prediction counts"
        " as the task's fallback says. Ranks are ranges where the data cannot tell models apart; a model that does not beat"
        " chance has none. The score on answered items alone is secondary."
    )
    return Section("leaderboard", "Leaderboard", lead, html=joined(*parts), short="Leaderboard")


def leaderboard_table(told: Told, task: Mapping[str, Any]) -> Markup:
    """The headline of every model of a task, with what stands beside it."""
    name = str(task["task"])
    more = _beside(told, task)
    columns = [
        "model", "rank", "rank for other systems", told.named(task["headline"]), "answered", "on answered items only",
        "over systems", "chance", "share of the way from chance to the ceiling",
    ]  # fmt: skip
    rows = []
    for rank in told.ranks(name):
        found = told.headline(task, rank["model"])
        answered, items = told.coverage(name, rank["model"])
        own = [one for key in more for one in told.scores(name, model=rank["model"], **dict(key))]
        share = NO_CHANCE if below_chance(rank) else found["of_ceiling"]
        rows.append(
            [
                rank["model"], rank_words(rank), _system_rank(rank), found["with_failures"],
                f"{number(answered)} of {number(items)}", found["estimate"] if answered < items else "the same",
                found["over_systems"], found.get("chance"), share, *(one["with_failures"] for one in own),
            ]
        )  # fmt: skip
    columns += [_column(told, dict(key)) for key in more]
    return table(f"{plain(name)}: every model", columns, rows)


def _system_rank(rank: Mapping[str, Any]) -> str:
    """The rank that comparisons over systems leave open."""
    known = rank.get("over_systems") or {}
    if known.get("best") is None:
        return "–"
    return str(known["best"]) if known["best"] == known["worst"] else f"{known['best']}–{known['worst']}"


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
                one["model"], told.named(one["metric"]), one["level"], one["at"], one["with_failures"], one["estimate"],
                one["over_systems"], one.get("chance"), one["ceiling"], one["of_ceiling"],
            ]
            for one in told.scores(task["task"])
        ]  # fmt: skip
        columns = (
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
        )
        grid = table(f"{plain(task['task'])}: every score", columns, rows, more="all are in scores.json")
        parts.append(folded(f"{plain(task['task'])}: {len(rows)} scores ({task['failures']})", grid))
    lead = "By item, by system (means per system first, intervals over systems) and within cells of system and intent."
    return Section("scores", "Every score", lead, html=joined(*parts), short="Scores")


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
    lead = "The headline on the answered items of one kind, with intervals over stimuli. Small slices say little."
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
        f"Intervals are at {100 * options['level']:.0f}%, from leaving out one stimulus with all its items at a time (the"
        " jackknife; influence values for very many), with Student's t. Those over systems leave out whole systems. Interval and"
        f" p-value of a difference come from the same standard error and degrees of freedom. BLEU and calibration resample"
        f" {number(options['resamples'])} times at most (seed {options['seed']}).",
        "Models are ranked by the score with failures counted. A model beats chance where that score is better than chance,"
        " corrected by Holm for the number of models.",
        *_levels_of_chance(told),
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


def _levels_of_chance(told: Told) -> list[str]:
    """What chance is for the headline of every task."""
    out = []
    for task in told.tasks:
        found = told.chance(task)
        if value_of(found) is not None:
            what = str(found.get("method", "")).partition(": ")[2]
            out.append(
                f"{plain(task['task'])}: chance is {interval(found)}" + (f" ({what})." if what else ".")
            )
        else:
            out.append(f"{plain(task['task'])}: no chance level: {found.get('why_missing')}.")
    return out


def models(told: Told) -> Section | None:
    """Which models answered, and which version of heartfelt scored them."""
    info = told.said.get("model_info") or {}
    if not info:
        return None
    rows = [
        [name, one["display_name"], one["predictor"] or "–", one["version"] or "–", (one["hash"] or "–")[:16],
         one["identity"] or "–"]
        for name, one in info.items()
    ]  # fmt: skip
    grid = table("Models", ("asked for as", "name", "predictor", "version", "hash", "identity"), rows)
    lead = f"Scored by heartfelt {told.said.get('heartfelt_version')} on source {str(told.said.get('source'))[:12]}."
    return Section("models", "Models", lead, html=joined(grid), short="Models")


def _truth(words: str) -> str:
    return "the mean of the scored clips' labels" if words == "the scored clips" else words
