"""What the verdict says about raters: who answered, who was left out and why, who is flagged, and how groups differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heartfelt.analysis.phrases import listed, p_value, plural, share, with_interval
from heartfelt.analysis.screening import parallel_words
from heartfelt.analysis.spoken import Summary, rows

MOST_SHOWN = 4


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on raters."""
    for part in (_counts, _policy, _flags, _constant, _crossfit, _groups):
        yield from part(summary)


def _counts(summary: Summary) -> Iterator[str]:
    c = summary["counts"]
    if not c["answers"]:
        if c["means"]:
            found = (summary.get("reliability") or {}).values()
            known = any(one["icc1k"]["value"] is not None for one in found)
            yield (
                f"The source gives {c['means']:,} published means and no single ratings: who answered carelessly and what"
                f" other raters would say{'' if known else ', and how far the labels can be trusted,'} is not known."
            )
        return
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
    text = f"{who} of {plural(c['rated'], 'stimulus', 'stimuli')}{' made ' if made else ''}{' '.join(made)}"
    none = c.get("raters_without_ratings") or 0
    text += f"; {plural(none, 'listed rater')} gave none" if none else ""
    yield f"{text}."


def _policy(summary: Summary) -> Iterator[str]:
    """Who was left out, under which policy."""
    c, found = summary["counts"], summary["screening"]
    dropped = len(found["dropped"])
    lost = c["ratings"] - c["ratings_kept"]
    name = summary["policy"]["name"]
    if dropped:
        yield (
            f"Under the policy '{name}', {dropped} of {plural(c['raters'], 'rater')} were left out, with {lost:,} of"
            f" {plural(c['ratings'], 'rating')}; all figures are those of the other {c['raters_kept']:,} unless they say"
            " otherwise."
        )
    elif lost:
        yield f"Under the policy '{name}', {lost:,} of {plural(c['ratings'], 'rating')} were left out."


def _flags(summary: Summary) -> Iterator[str]:
    """Flags of rules that hold their error; those that report a standard are no headline."""
    if not summary["counts"]["raters"]:
        return
    found = summary["screening"]
    if found.get("why_missing"):
        yield f"Raters were not screened: {found['why_missing']}."
        return
    flagged = flagged_raters(found)
    waiting = _not_judged(found)
    if not flagged:
        yield f"No rater is flagged by a screening rule{waiting}."
        return
    verb = "is" if len(flagged) == 1 else "are"
    text = f"{len(flagged)} of {plural(summary['counts']['raters'], 'rater')} {verb} flagged"
    empty = [name for name, words in flagged.items() if any(w.startswith("informativeness") for w in words)]
    if empty:
        text += f"; the answers of {len(empty)} show no sign of depending on what was presented"
    groups = found["collusion"]
    if groups:
        members = sum(len(group) for group in groups)
        text += f"; {members} fall into {plural(len(groups), 'group')} of parallel answer sequences{_alike(found)}"
    yield f"{text}{waiting}. A flag is a reason to look, not proof: a logging fault can look like a copied answer."


STANDARDS = ("bt500", "p913")


def flagged_raters(screening: Mapping[str, Any]) -> dict[str, list[str]]:
    """Raters flagged by a rule with error control; where screening does not separate them, without the standards."""
    flagged = dict(screening["flagged"])
    if "flagged_by_standards" in screening:
        return flagged
    kept = {name: [w for w in words if not w.startswith(STANDARDS)] for name, words in flagged.items()}
    return {name: words for name, words in kept.items() if words}


def _not_judged(screening: Mapping[str, Any]) -> str:
    """How many raters no rule could judge, where screening says so."""
    found = screening.get("not_judged")
    count = found if isinstance(found, int) else len(found) if found is not None else 0
    return f"; {plural(count, 'rater')} could not be judged" if count else ""


def _alike(screening: Mapping[str, Any]) -> str:
    """How alike parallel sequences are: the share of equal answers, and what chance gives."""
    words = parallel_words(screening.get("parallel") or [])
    return f" ({words})" if words else ""


def _constant(summary: Summary) -> Iterator[str]:
    """Constant raters, as far as screening rules out that one answer is right throughout."""
    found = (summary.get("checks") or {}).get("constant_raters") or []
    screening = summary["screening"]
    if "straight-lining" in (screening.get("rules") or {}):
        lines = {
            rater
            for rater, words in screening["flagged"].items()
            if any(one.startswith("straight-lining") for one in words)
        }
        found = [rater for rater in found if rater in lines]
    if found:
        verb = "gives" if len(found) == 1 else "give"
        yield (
            f"{plural(len(found), 'rater')} {verb} one and the same answer throughout ({listed(found, 6)}): that needs no"
            " comparison with others."
        )


def _crossfit(summary: Summary) -> Iterator[str]:
    """The rise in agreement after screening, and what of it holds on stimuli the raters were not chosen on."""
    if not summary["screening"]["dropped_by_default"]:
        return
    held_out = {row["question"]: row for row in (summary.get("crossfit") or {}).get("questions") or []}
    parts = []
    for row in rows(summary, "sensitivity"):
        a, b = row["with_all"], row["without"]
        if not row["figure"].startswith("alpha_") or not isinstance(a, Mapping) or a["value"] is None:
            continue
        other = held_out.get(row["question"])
        if other is None or other["figure"] != row["figure"] or b["value"] is None:
            continue
        parts.append(
            f"{row['question']} from {share(a['value'])} to {share(b['value'])}, and on held-out stimuli from"
            f" {share(other['with_all'])} to {share(other['without'])}"
        )
    if parts:
        yield (
            "Without the raters the default policy would leave out, Krippendorff's alpha changes:"
            f" {'; '.join(parts[:MOST_SHOWN])}. Part of the first change is built in, because raters are chosen by how"
            " they agree; for the second they were chosen on one half of the stimuli and alpha was measured on the other."
        )


def _groups(summary: Summary) -> Iterator[str]:
    """How groups of raters differ."""
    found = summary.get("by")
    if not found:
        return
    column = found["column"]
    sizes = listed([f"{one['group']} ({one['raters']})" for one in found["groups"]])
    yield f"Raters by {column}: {sizes}" + (
        f"; {plural(found['not_stated'], 'rater')} not stated." if found["not_stated"] else "."
    )
    every = [row for row in found["differences"] if row["system"] == "all"]
    differ = [row for row in every if row["significant"]]
    for row in differ[:MOST_SHOWN]:
        apart = row["difference"]
        side = "higher" if apart["value"] > 0 else "lower"
        size = {key: abs(apart[key]) for key in ("value", "low", "high")}
        size["low"], size["high"] = sorted((size["low"], size["high"]))
        yield (
            f"On the same stimuli, {row['a']} raters answer {row['question']} {side} than {row['b']} raters by"
            f" {with_interval(size, bare=False)} ({p_value(row['p'])}, Holm; raters and stimuli as samples)."
        )
    tested = [row for row in every if row["p"] is not None]
    if tested and not differ:
        yield (
            f"No difference between these groups is shown on the stimuli both rated ({plural(len(tested), 'test')}, Holm);"
            " that is not evidence that they are equal."
        )
    elif not tested and every:
        apart = every[0]["difference"]
        yield f"The groups cannot be compared: {apart.get('why_missing') or apart.get('why_no_interval')}."
    inner = [row for row in found["differences"] if row["system"] != "all" and row["significant"]]
    if inner:
        names = [f"{row['system']} ({row['question']}, {row['a']} and {row['b']})" for row in inner]
        yield f"System by system, groups differ for {listed(names, 4)}."
    small = dict.fromkeys(
        f"{row['group']}: {row['why_missing']}" for row in found["rows"] if row.get("why_missing")
    )
    if small:
        yield f"Too small to report: {listed(list(small), 4)}."
