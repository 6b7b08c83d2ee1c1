"""What the verdict says about systems: whether they differ, which pairs, and how close they come to their intents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heartfelt.analysis.pairwise import model_pairs
from heartfelt.analysis.phrases import f_test, listed, number, p_value, plural, share, with_interval
from heartfelt.analysis.spoken import Summary, held, rows, spoken, system_effects

MOST_SHOWN = 4


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on systems and intents."""
    for part in (_differences, _others, _mixed, _covariates, _distance, _shrinkage, _hits, _tests):
        yield from part(summary)


def _differences(summary: Summary) -> Iterator[str]:
    """Whether systems differ, with and without the raters the default policy would leave out."""
    effects = system_effects(summary)
    for name in spoken(summary).names:
        row = effects.get(name)
        if row is None:
            continue
        what = "mean" if row["deviation"] == "value" else "signed deviation"
        if row["p"] < 0.05:
            text = f"Systems differ in {name} ({what}): {f_test(row)}. {_pairs(summary, row)}{_holds(summary, row)}"
            yield text.strip()
        else:
            yield (
                f"No difference between systems in {name} ({what}) was shown ({f_test(row)}); that is not evidence"
                " that they are equal."
            )


def _others(summary: Summary) -> Iterator[str]:
    """The questions without a sentence of their own."""
    effects = system_effects(summary)
    rest = [effects[name] for name in spoken(summary).rest if name in effects]
    if not rest:
        return
    differ = [row["outcome"] for row in rest if row["p"] < 0.05]
    sizes = sorted(float(row["eta_squared"]) for row in rest if row["eta_squared"] is not None)
    text = f"Of the other {plural(len(rest), 'question')}, systems differ in {len(differ)} (p < .05 each, not corrected)"
    text += f": {listed(differ, 6)}" if differ else ""
    if sizes:
        text += f"; eta squared runs from {share(sizes[0], 3)} to {share(sizes[-1], 3)}"
    yield f"{text}."


def _pairs(summary: Summary, row: Mapping[str, Any]) -> str:
    """How many pairs differ, in the model the F test belongs to."""
    found = model_pairs(summary.get("pairwise"), row)
    known = [pair for pair in found if pair["p"] is not None]
    if not known:
        return ""
    differ = sum(bool(pair["significant"]) for pair in known)
    others = [name for name in row["model"].split(" + ") if name != row["effect"]]
    how = f"Tukey, adjusted for {listed(others)}" if others else "Tukey-Kramer"
    text = f"{differ} of {plural(len(known), 'pair')} of systems differ ({how})"
    gone = len(found) - len(known)
    return f"{text}; {plural(gone, 'pair')} cannot be compared. " if gone else f"{text}. "


def _holds(summary: Summary, row: Mapping[str, Any]) -> str:
    """The same test on the other side: without the raters the default policy would leave out, or with those left out here."""
    screening = summary["screening"]
    ours = len(screening["dropped"])
    dropped = ours or len(screening["dropped_by_default"])
    if not dropped:
        return ""
    side = "with_all" if ours else "without"
    model = f"{row['deviation']} ~ {row['model']}"
    f = next(
        (
            one
            for one in summary.get("sensitivity") or []
            if one["figure"].startswith("F of ")
            and (one["question"], one["of"], one["model"]) == (row["outcome"], row["effect"], model)
        ),
        None,
    )
    other = f[side] if f is not None else None
    text = (
        f"With the {plural(dropped, 'rater')} left out by the policy"
        if ours
        else f"Without the {plural(dropped, 'rater')} the default policy would leave out"
    )
    known = isinstance(other, float)
    text += f" F is {number(other)}" if known else ""
    family = [
        one
        for one in rows(summary, "sensitivity_pairs", question=row["outcome"], deviation=row["deviation"])
        if one["factor"] == row["effect"] and one.get("model") == row["model"]
    ]
    if family:
        one = family[0]
        text += f"{' and' if known else ','} {one[side]} of {one['pairs']} pairs differ"
        if not ours or set(screening["dropped"]) == set(screening["dropped_by_default"]):
            moved = [f"{a} and {b}" for a, b in (*one["only_with_all"], *one["only_without"])]
            text += f" (changed: {listed(moved, 4)})" if moved else " (the same pairs)"
    elif not known:
        return ""
    return f"{text}."


def _mixed(summary: Summary) -> Iterator[str]:
    """The test that takes raters as a sample too."""
    chosen = set(spoken(summary).names)
    found = [row for row in rows(summary, "mixed", effect="system") if row["outcome"] in chosen]
    known = [row for row in found if row["p"] is not None]
    if not known:
        return
    parts = [
        f"{row['outcome']} ({'systems differ' if row['p'] < 0.05 else 'no difference shown'}, {p_value(row['p'])})"
        for row in known
    ]
    yield (
        f"With raters taken as a sample too (mixed model): {listed(parts)}; the analyses of variance speak for these"
        " raters."
    )


def _covariates(summary: Summary) -> Iterator[str]:
    """Whether systems still differ with covariates held constant."""
    chosen = set(spoken(summary).names)
    for row in rows(summary, "anova", effect="system"):
        with_these = held(row, summary)
        plain = "*" not in row["model"] and row["deviation"] != "absolute" and row["F"] is not None
        if with_these and plain and row["outcome"] in chosen:
            bare = share(row["without_covariates"]["eta_squared"], 3)
            text = (
                f"With {listed(with_these)} held constant, the effect of system on {row['outcome']} is {f_test(row)};"
                f" without, on the same {row['n']:,} stimuli, eta squared is {bare}. {_pairs(summary, row)}"
            )
            yield text.strip()


def _distance(summary: Summary) -> Iterator[str]:
    """The largest effect on how far stimuli land from their intent, and how much of the distance is noise."""
    found = [
        row
        for row in rows(summary, "anova", deviation="absolute")
        if not held(row, summary)
        and row["eta_squared"] is not None
        and row["p"] is not None
        and row["p"] < 0.05
    ]
    if found:
        yield _largest(max(found, key=lambda row: float(row["eta_squared"])), found)
    parts = []
    for row in rows(summary, "questions"):
        plain, true = row["absolute_deviation"], row["absolute_deviation_corrected"]
        if plain["value"] is not None and true["value"] is not None:
            parts.append(
                f"{row['question']} {number(plain['value'])}, of which {with_interval(true, bare=False)} remain without the noise"
            )
    if parts:
        yield (
            "Absolute deviations contain the noise of the labels, so fewer ratings make them larger; mean distance from"
            f" the intent: {'; '.join(parts[:MOST_SHOWN])}."
        )


def _largest(largest: Mapping[str, Any], found: list[dict[str, Any]]) -> str:
    if ":" not in largest["effect"]:
        return (
            f"The largest effect on the distance from the intent is that of {largest['effect']} on absolute"
            f" {largest['outcome']} deviation: {f_test(largest)}."
        )
    others = [
        row
        for row in found
        if row["outcome"] == largest["outcome"]
        and row["effect"] != largest["effect"]
        and row["model"] == largest["model"]
    ]
    also = listed([f"{row['effect']} {share(row['eta_squared'], 3)}" for row in others])
    return (
        "Which system comes closest to its intent depends on the quadrant: the interaction of system and quadrant on"
        f" absolute {largest['outcome']} deviation ({f_test(largest)}) is the largest effect on the distance from the"
        " intent"
        + (f" (in the same model: {also})" if others else "")
        + ". One overall rank per system hides this."
    )


def _shrinkage(summary: Summary) -> Iterator[str]:
    for row in rows(summary, "slopes", system="all")[:MOST_SHOWN]:
        if row["slope"]["value"] is None:
            continue
        below = row["slope"].get("high") is not None and row["slope"]["high"] < 1
        systems = [one for one in rows(summary, "slopes", question=row["question"]) if one["system"] != "all"]
        known = sorted(
            (one["slope"]["value"], one["system"]) for one in systems if one["slope"]["value"] is not None
        )
        text = f"Perceived {row['question']} moves by {with_interval(row['slope'])} points for every intended point"
        text += ": intended differences shrink" if below else ""
        if len(known) > 1:
            text += (
                f" (from {share(known[0][0])} for {known[0][1]} to {share(known[-1][0])} for {known[-1][1]})"
            )
        yield text + "."


def _hits(summary: Summary) -> Iterator[str]:
    found = summary.get("quadrants")
    if found and found["hit_rate"]["value"] is not None:
        yield f"{_percent(found['hit_rate'])} of the stimuli are perceived in the quadrant they were meant for{_chance(found)}."
    for one in (summary.get("intent_confusion") or [])[:MOST_SHOWN]:
        if one["hit_rate"]["value"] is not None:
            yield (
                f"For {_percent(one['hit_rate'])} of the stimuli the most frequent answer to {one['question']} is the"
                f" intent{_chance(one)}."
            )


def _percent(rate: Mapping[str, Any]) -> str:
    bounds = "" if rate.get("low") is None else f" [{100 * rate['low']:.0f}, {100 * rate['high']:.0f}]"
    return f"{100 * rate['value']:.0f}%{bounds}"


def _chance(found: Mapping[str, Any]) -> str:
    chance = found.get("hit_rate_by_chance")
    if not chance:
        return ""
    text = f"; {100 * chance['value']:.0f}% would be by chance"
    if chance["p"] is None:
        return text
    verb = "more than chance" if chance["p"] < 0.05 else "not shown to be more than chance"
    return f"{text} ({verb}, {p_value(chance['p'])}, intents dealt out anew within systems)"


def _tests(summary: Summary) -> Iterator[str]:
    parts = ("anova", "mixed", "pairwise")
    tests = sum(row["p"] is not None for part in parts for row in summary.get(part) or [])
    if tests:
        yield (
            f"This page holds {plural(tests, 'test')}. Pairs are corrected within their family; nothing is corrected across"
            " families, so treat what was not planned beforehand as a lead, not as a finding."
        )
