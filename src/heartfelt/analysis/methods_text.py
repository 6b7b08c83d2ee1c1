"""A methods and a results paragraph with the numbers filled in, to paste into a paper and edit."""

from __future__ import annotations

from heartfelt.analysis.phrases import f_test, listed, number, plural, sentence, share, with_interval
from heartfelt.analysis.spoken import NOT_THERE, Summary, cell_words, held, main_questions, spoken
from heartfelt.analysis.verdict_raters import flagged_raters
from heartfelt.study import Study

MOST_SHOWN = 3


def methods(summary: Summary, study: Study) -> str:
    """How the figures were made."""
    return " ".join(
        text
        for text in (
            _collected(summary, study),
            _screened(summary),
            _reliability_words(summary),
            _tests(summary),
            f"Analyses were run with heartfelt {summary['heartfelt']} (seed {summary['seed']},"
            f" data {summary['hash'][:12]}).",
        )
        if text
    )


def _collected(summary: Summary, study: Study) -> str:
    c = summary["counts"]
    names = listed([question.id for question in study.asked])
    if not c["answers"]:
        rated = plural(c["rated"], "stimulus", "stimuli")
        return f"Published means of {rated} on {names} were analysed; no single ratings were available."
    who = plural(c["raters"], "rater") if c["raters"] else "Raters whose identity was not recorded"
    per = [int(n) for n, items in summary["counts"]["ratings_per_item"].items() for _ in range(items)]
    spread = ""
    if per:
        each = f"{min(per)} to {max(per)} ratings each, mean {number(sum(per) / len(per), 1)}"
        spread = f" ({each if min(per) < max(per) else plural(min(per), 'rating') + ' each'})"
    made = f" by {plural(c['systems'], 'system')}" if c["systems"] else ""
    asked = f"{names}" if len(study.asked) <= 8 else plural(len(study.asked), "question")
    return f"{who} gave {plural(c['ratings'], 'rating')} of {plural(c['rated'], 'stimulus', 'stimuli')}{made}{spread} on {asked}."


def _screened(summary: Summary) -> str:
    found = summary["screening"]
    if not summary["counts"]["raters"]:
        return ""
    dropped = len(found["dropped"])
    kept = (
        f"{plural(dropped, 'rater')} were left out under the policy '{summary['policy']['name']}'"
        if dropped
        else "all were kept"
    )
    default = len(found["dropped_by_default"])
    text = f"Raters were screened with {plural(len(found['rules']), 'rule')} for careless and copied answers; {kept}."
    if not default:
        return f"{text} The default policy would leave nobody out."
    return (
        f"{text} Headline figures are also given without the {plural(default, 'rater')} whom the default policy would"
        " leave out."
    )


def _reliability_words(summary: Summary) -> str:
    parts = []
    if any(found["alpha_interval"]["value"] is not None for found in (summary["reliability"] or {}).values()):
        parts.append(
            "Reliability is Krippendorff's alpha and intraclass correlations (two-way from crossed variance components by REML)"
        )
        parts.append(
            "the ceiling is the square root of the labels' reliability, the correlation a predictor that knew every stimulus's true"
            " value would be expected to reach"
        )
    if summary["agreement"]:
        parts.append(
            "agreement on categories is Fleiss' and Cohen's kappa, Gwet's AC and each vote against the majority of the others"
        )
    return sentence([*parts, "intervals are 95%"]) if parts else ""


def _tests(summary: Summary) -> str:
    parts = []
    if summary["kind"] == "conveyance":
        parts.append(
            "Deviation is a stimulus's mean rating less the reference of its intent; signed deviations were analysed by system and"
            " intent, absolute deviations by quadrant and system, both also with the interaction of system and quadrant (type II"
            " sums of squares; eta squared is the share of the sum of the table's sums of squares). Absolute deviations contain the"
            " noise of the mean ratings"
        )
    elif summary["anova"]:
        parts.append(
            "Mean ratings were compared between systems by analysis of variance (type II sums of squares; eta squared is the share"
            " of the sum of the table's sums of squares)"
        )
    if summary["pairwise"]:
        parts.append(
            "pairs were compared by Tukey-Kramer tests of the means adjusted for the other effects of the same model, with its"
            " error term and degrees of freedom, by Games-Howell tests, and by a two-way jackknife with Holm's correction"
        )
    if summary["systems"]:
        parts.append("intervals of means take stimuli and raters as samples (two-way jackknife)")
    if any(row["F"] is not None for row in summary["mixed"] or []):
        parts.append(
            "a linear mixed model with crossed random intercepts of raters and stimuli tested systems on the ratings themselves"
        )
    return sentence(parts)


def results(summary: Summary) -> str:
    """What was found."""
    return " ".join(
        text
        for part in (_found_reliability, _found_effects, _found_slopes, _found_systems, _found_screening)
        for text in part(summary)
    )


def _found_reliability(summary: Summary) -> list[str]:
    out = []
    for name, found in main_questions(summary).items():
        first = next(
            (
                (key, found[key])
                for key in _alphas(name, summary)
                if found.get(key, NOT_THERE)["value"] is not None
            ),
            None,
        )
        if first is None:
            continue
        text = f"For {name}, Krippendorff's alpha ({first[0].removeprefix('alpha_')}) was {with_interval(first[1])}"
        if found.get("icc1k", NOT_THERE)["value"] is not None:
            text += f", ICC(1,k) {with_interval(found['icc1k'])}"
        top = found["ceiling"]
        best = (
            top["correlation"]
            if top["correlation"]["value"] is not None
            else top.get("accuracy", {"value": None})
        )
        if best["value"] is not None:
            text += f", and the ceiling {with_interval(best)}"
        if top.get("within_cells", {}).get("value") is not None and cell_words(summary):
            text += f" ({with_interval(top['within_cells'])} within the same {cell_words(summary)})"
        out.append(f"{text}.")
    return out


def _alphas(name: str, summary: Summary) -> tuple[str, ...]:
    """Krippendorff's alpha at the level of the answers first."""
    levels = {row["question"]: row["level"] for row in summary["questions"] or []}
    first = f"alpha_{levels.get(name, 'interval')}"
    return (first, "alpha_interval", "alpha_ordinal", "alpha_nominal")


def _found_effects(summary: Summary) -> list[str]:
    out = []
    done = 0
    chosen = set(spoken(summary).names)
    for row in summary["anova"] or []:
        if row["outcome"] not in chosen:
            continue
        plain = "*" not in row["model"] and row["effect"] in ("system", "quadrant")
        wanted = (plain and row["effect"] == row["model"].split(" + ")[0]) or ":" in row["effect"]
        if not wanted or row["F"] is None or held(row, summary):
            continue
        what = "mean rating" if row["deviation"] == "value" else f"{row['deviation']} deviation"
        name = row["effect"].replace(":", " x ")
        out.append(f"The effect of {name} on {row['outcome']} ({what}) was {f_test(row)}.")
        done += 1
        if done >= 4 * MOST_SHOWN:
            break
    return out


def _found_slopes(summary: Summary) -> list[str]:
    return [
        f"The slope of perceived on intended {row['question']} was {with_interval(row['slope'])}."
        for row in (summary["slopes"] or [])
        if row["system"] == "all" and row["slope"]["value"] is not None
    ][:MOST_SHOWN]


def _found_systems(summary: Summary) -> list[str]:
    """The ranking of systems by mean rating, for studies of opinion."""
    out: list[str] = []
    if summary["kind"] == "conveyance":
        return out
    ranked = {row["question"] for row in summary["systems"] or []}
    for name in [name for name in spoken(summary).names if name in ranked]:
        rows = [r for r in summary["systems"] if r["question"] == name and r["rank"] is not None]
        rows.sort(key=lambda row: int(row["rank"]))
        if len(rows) < 2:
            continue
        best, last = rows[0], rows[-1]
        text = f"On {name}, {best['system']} ranked first ({with_interval(best['mean'], bare=False)})"
        if best["tied_with"]:
            text += f", not told apart from {listed(best['tied_with'])},"
        out.append(f"{text} and {last['system']} last ({with_interval(last['mean'], bare=False)}).")
    return out


def _found_screening(summary: Summary) -> list[str]:
    found = summary["screening"]
    flagged = flagged_raters(found)
    if not summary["counts"]["raters"] or not flagged:
        return []
    verb = "was" if len(flagged) == 1 else "were"
    text = f"{len(flagged)} of {plural(summary['counts']['raters'], 'rater')} {verb} flagged"
    if found["dropped_by_default"]:
        text += f"; without the {len(found['dropped_by_default'])} that the default policy would leave out"
        held_out = {row["question"]: row for row in (summary["crossfit"] or {}).get("questions") or []}
        moved = []
        for row in summary["sensitivity"] or []:
            if row["figure"] == "alpha_interval" and row["without"]["value"] is not None:
                words = f"alpha of {row['question']} became {share(row['without']['value'])}"
                other = held_out.get(row["question"])
                words += (
                    f" ({share(other['without'])} on stimuli the raters were not chosen on)" if other else ""
                )
                moved.append(words)
        text += f" {listed(moved[:MOST_SHOWN])}" if moved else " nothing could be compared"
    return [f"{text}."]
