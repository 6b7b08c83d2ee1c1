"""The verdict: in plain words, what these ratings let one conclude and what they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heartfelt.analysis.phrases import f_test, listed, number, p_value, plural, share, with_interval

Summary = Mapping[str, Any]

LEAST_RELIABLE = 0.7
SINGLE = 0.9
LEAST_KNOWN = 0.5
LEAST_CEILING = 0.05
MOST_SHOWN = 3
TUKEY = "Tukey-Kramer"


def verdict(summary: Summary) -> list[str]:
    """Sentences for the top of a report, the ones that matter most first."""
    parts = (
        _what_there_is,
        _system_differences,
        _covariates,
        _interaction,
        _shrinkage,
        _hits,
        _agreement,
        _trust,
        _ceiling,
        _raters,
        _limits,
    )
    return [sentence for part in parts for sentence in part(summary)]


def _what_there_is(summary: Summary) -> Iterator[str]:
    c = summary["counts"]
    if not c["answers"] and c["means"]:
        known = any(found["icc1k"]["value"] is not None for found in (summary["reliability"] or {}).values())
        yield (
            f"The source gives {c['means']:,} published means and no single ratings: who answered carelessly and what other"
            f" raters would say{'' if known else ', and how far the labels can be trusted,'} cannot be told from them."
        )
    elif not c["answers"]:
        yield "There are no ratings, so nothing can be concluded."
    else:
        who = (
            f"{plural(c['raters'], 'person', 'people')} gave {plural(c['ratings'], 'rating')}"
            if c["raters"]
            else f"There are {plural(c['answers'], 'answer')} of unknown raters"
        )
        made = []
        if c["systems"]:
            made.append(f"by {plural(c['systems'], 'system')}")
        if c["intents"]:
            made.append(f"for {plural(c['intents'], 'intent')}")
        yield f"{who} of {plural(c['rated'], 'stimulus', 'stimuli')}{' made ' if made else ''}{' '.join(made)}."


def held(row: Mapping[str, Any], summary: Summary) -> list[str]:
    """The covariates a model holds constant."""
    return [name for name in summary["covariates"] if name in row["model"].split(" + ")]


def _rows(summary: Summary, part: str, **where: Any) -> list[dict[str, Any]]:
    return [row for row in summary[part] or [] if all(row.get(key) == value for key, value in where.items())]


def _system_differences(summary: Summary) -> Iterator[str]:
    """Whether systems differ, with and without the raters the default policy would leave out."""
    shown = 0
    for row in _rows(summary, "anova", effect="system"):
        if (
            "*" in row["model"]
            or row["deviation"] == "absolute"
            or row.get("why_missing")
            or row["F"] is None
        ):
            continue
        if shown == MOST_SHOWN:
            break
        shown += 1
        what = "mean" if row["deviation"] == "value" else "signed deviation"
        if row["p"] < 0.05:
            text = f"Systems differ in {row['outcome']} ({what}): {f_test(row)}. {_pairs(summary, row)}{_holds(summary, row)}"
            yield text.strip()
        else:
            yield (
                f"No difference between systems in {row['outcome']} ({what}) was shown ({f_test(row)}); that is not evidence that"
                " they are equal."
            )


def _pairs(summary: Summary, row: Mapping[str, Any]) -> str:
    found = _rows(
        summary, "pairwise", outcome=row["outcome"], deviation=row["deviation"], factor="system", method=TUKEY
    )
    if not found:
        return ""
    differ = sum(bool(pair["significant"]) for pair in found)
    return f"{differ} of {plural(len(found), 'pair')} of systems differ ({TUKEY}). "


def _holds(summary: Summary, row: Mapping[str, Any]) -> str:
    """Whether the same is found without the raters the default policy would leave out."""
    dropped = len(summary["screening"]["dropped_by_default"])
    if not dropped:
        return "Screening would leave nobody out." if summary["counts"]["raters"] else ""
    model = f"{row['deviation']} ~ {row['model']}"
    f = next(
        (
            one
            for one in summary["sensitivity"] or []
            if one["figure"].startswith("F of ")
            and (one["question"], one["of"], one["model"]) == (row["outcome"], row["effect"], model)
        ),
        None,
    )
    other = f["without"] if f is not None else None
    text = f"Without the {plural(dropped, 'rater')} the default policy would leave out"
    text += f" F is {number(other)}" if isinstance(other, float) else ""
    family = _rows(
        summary,
        "sensitivity_pairs",
        question=row["outcome"],
        deviation=row["deviation"],
        factor="system",
        method=TUKEY,
    )
    if family:
        one = family[0]
        text += (
            f"{' and' if isinstance(other, float) else ','} {one['without']} of {one['pairs']} pairs differ"
        )
        moved = [f"{a} and {b}" for a, b in (*one["only_with_all"], *one["only_without"])]
        text += f" (changed: {listed(moved, 4)})" if moved else " (the same pairs)"
    return f"{text}."


def _interaction(summary: Summary) -> Iterator[str]:
    """The largest effect on how far stimuli land from their intent, where it is an interaction."""
    found = [
        row
        for row in _rows(summary, "anova", deviation="absolute")
        if not held(row, summary)
        and row["eta_squared"] is not None
        and row["p"] is not None
        and row["p"] < 0.05
    ]
    if not found:
        return
    largest = max(found, key=lambda row: float(row["eta_squared"]))
    others = [
        row
        for row in found
        if row["outcome"] == largest["outcome"]
        and row["effect"] != largest["effect"]
        and row["model"] == largest["model"]
    ]
    if ":" not in largest["effect"]:
        yield (
            f"The largest effect on the distance from the intent is that of {largest['effect']} on absolute"
            f" {largest['outcome']} deviation: {f_test(largest)}."
        )
        return
    beside = listed([f"{row['effect']} {share(row['eta_squared'], 3)}" for row in others])
    yield (
        f"Which system comes closest to its intent depends on the quadrant: the interaction of system and quadrant on absolute"
        f" {largest['outcome']} deviation ({f_test(largest)}) is the largest effect on the distance from the intent"
        + (f" (in the same model: {beside})" if others else "")
        + ". One overall rank per system hides this."
    )


def _covariates(summary: Summary) -> Iterator[str]:
    """Whether systems still differ with covariates held constant."""
    for row in _rows(summary, "anova", effect="system"):
        with_these = held(row, summary)
        if with_these and "*" not in row["model"] and row["deviation"] != "absolute" and row["F"] is not None:
            bare = share(row["without_covariates"]["eta_squared"], 3)
            yield (
                f"With {listed(with_these)} held constant, the effect of system on {row['outcome']} is {f_test(row)};"
                f" without, on the same {row['n']:,} stimuli, eta squared is {bare}."
            )


def _shrinkage(summary: Summary) -> Iterator[str]:
    for row in _rows(summary, "slopes", system="all")[:MOST_SHOWN]:
        if row["slope"]["value"] is None:
            continue
        below = row["slope"].get("high") is not None and row["slope"]["high"] < 1
        systems = [
            one for one in _rows(summary, "slopes", question=row["question"]) if one["system"] != "all"
        ]
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
    found = summary["quadrants"]
    if not found or found["hit_rate"]["value"] is None:
        return
    rate = found["hit_rate"]
    bounds = "" if rate.get("low") is None else f" [{100 * rate['low']:.0f}, {100 * rate['high']:.0f}]"
    yield f"{100 * rate['value']:.0f}%{bounds} of the stimuli are perceived in the quadrant they were meant for."


def _agreement(summary: Summary) -> Iterator[str]:
    """What people agree on, where answers are categories."""
    pooled = summary["agreement_pooled"] or summary["agreement"] or {}
    for name, found in list(pooled.items())[:MOST_SHOWN]:
        kappa, others = found["fleiss_kappa"], found["leave_one_out"]
        if kappa["value"] is None:
            continue
        where = f"{found['n_questions']} questions on the scale {name}" if "n_questions" in found else name
        shown = (kappa.get("low") or 0.0) > 0
        text = f"On {where}, " + (
            "raters agree beyond chance" if shown else "no agreement beyond chance is shown"
        )
        text += f" (Fleiss' kappa {with_interval(kappa)})"
        if others["value"] is not None:
            text += f"; one person's answer matches the majority of the others {100 * others['value']:.0f}% of the time"
        yield text + "."


def _trust(summary: Summary) -> Iterator[str]:
    """How reliable labels are, and how many raters a better one would need."""
    for name, found in main_questions(summary).items():
        single = found["icc2"] if found["icc2"]["value"] is not None else found["icc1"]
        several = found["icc2k"] if found["icc2k"]["value"] is not None else found["icc1k"]
        if single["value"] is None or several["value"] is None:
            if found["alpha_nominal"]["value"] is None and summary["counts"]["answers"]:
                yield f"The reliability of {name} is unknown: {single.get('why_missing')}."
            continue
        text = f"One rating of {name} has a reliability of {with_interval(single)}, "
        if several["value"] <= 0:
            yield text + "so the means of the ratings say nothing about how stimuli differ."
            continue
        text += f"the mean of the ratings a stimulus got {with_interval(several)}: {_fit(several)}"
        needed = found.get("raters_needed", {}).get("0.9")
        yield text + (f"; .9 would take {plural(needed, 'rater')} a stimulus." if needed else ".")


def _fit(several: Mapping[str, Any]) -> str:
    """What labels of such a reliability are good for."""
    low, high, value = several.get("low"), several.get("high"), several["value"]
    if low is None or high is None or high - low > LEAST_KNOWN:
        return "too uncertain to say what the labels are good for"
    if value >= SINGLE:
        return "single labels can be told apart"
    if value >= LEAST_RELIABLE:
        return "fit for comparing groups of stimuli, not for trusting single labels"
    return "too low to trust single labels"


def main_questions(summary: Summary) -> dict[str, Any]:
    """The questions a verdict speaks of: all, or where there are many the pools."""
    found = dict(summary["reliability"] or {})
    if len(found) > MOST_SHOWN and summary["reliability_pooled"]:
        found = dict(summary["reliability_pooled"])
    return dict(list(found.items())[: MOST_SHOWN + 1])


def cell_words(summary: Summary) -> str:
    """What stimuli of one cell have in common: ``system and intent``, one of them, or nothing."""
    return " and ".join(name[:-1] for name in ("systems", "intents") if summary["counts"][name] > 1)


def _ceiling(summary: Summary) -> Iterator[str]:
    cell = cell_words(summary)
    for name, found in main_questions(summary).items():
        top = found["ceiling"]
        best = top["correlation"]
        if top.get("accuracy", {}).get("value") is not None:
            yield f"No predictor can be expected to pass an accuracy of {with_interval(top['accuracy'])} on these {name} labels."
        elif best["value"] is not None and best["value"] < LEAST_CEILING:
            yield f"The ratings of {name} show no difference between stimuli that a predictor could find."
        elif best["value"] is not None:
            text = f"No predictor can be expected to correlate above {with_interval(best)} with these {name} labels"
            within, bare = top.get("within_cells", {}), top.get("cell_means", {})
            if within.get("value") is not None and cell:
                text += f", nor above {with_interval(within)} within the same {cell}"
            if (bare.get("value") or 0.0) > 0 and cell:
                text += f"; knowing nothing but the {cell} of a stimulus already gives {with_interval(bare)}"
            yield text + "."


def _raters(summary: Summary) -> Iterator[str]:
    found = summary["screening"]
    flagged, groups = found["flagged"], found["collusion"]
    if not summary["counts"]["raters"]:
        return
    if not flagged:
        yield "No rater is flagged by any screening rule."
        return
    verb = "is" if len(flagged) == 1 else "are"
    text = f"{len(flagged)} of {plural(summary['counts']['raters'], 'rater')} {verb} flagged"
    empty = [
        name for name, words in flagged.items() if any(one.startswith("informativeness") for one in words)
    ]
    if empty:
        text += f"; the answers of {len(empty)} show no sign of depending on what was played"
    if groups:
        members = sum(len(group) for group in groups)
        text += f"; {members} fall into {plural(len(groups), 'group')} of near-identical answer sequences"
    yield f"{text}. A flag is a reason to look, not proof: a logging fault can look like a copied answer."


def _limits(summary: Summary) -> Iterator[str]:
    parts = ("anova", "mixed", "pairwise")
    tests = sum(row["p"] is not None for part in parts for row in summary[part] or [])
    if tests:
        yield (
            f"This page holds {plural(tests, 'test')}. Pairs are corrected within their family; nothing is corrected across"
            " families, so treat what was not planned beforehand as a lead, not as a finding."
        )
    for row in summary["mixed"] or []:
        if row["effect"] == "system" and row["p"] is not None:
            found = "systems differ" if row["p"] < 0.05 else "no difference between systems is shown"
            yield (
                f"With raters taken as a sample too (mixed model), {found} in {row['outcome']} ({p_value(row['p'])});"
                " the analyses of variance speak for these raters."
            )
            break
