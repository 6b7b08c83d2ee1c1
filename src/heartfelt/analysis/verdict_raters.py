"""What the verdict says about raters: who answered, who was left out and why, who is flagged, and how groups differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heartfelt.analysis.prose import block_lines
from heartfelt.analysis.raters import parallel_words
from heartfelt.analysis.results import ALL, Checks
from heartfelt.analysis.summary import Summary
from heartfelt.analysis.verdict_comparisons import noun
from heartfelt.screening.rules.repetition import LEAST_ANSWERS
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, listed, p_value, plural, probability, share

TEMPLATE = "verdict_raters.txt.j2"
MOST_SHOWN = 4
MOST_RULES = 5
DEPENDENCE = frozenset({"informativeness", "choice-agreement"})
"""The rules that ask whether answers depend on the stimuli."""
NAMED = DEPENDENCE | {"straight-lining", "collusion"}
"""The rules whose findings have words of their own."""


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on raters."""
    for part in (_counts, _flags, _drafts, _constant, _crossfit, _groups):
        yield from part(summary)


def _counts(summary: Summary) -> list[str]:
    """Who answered, and who was left out under which policy."""
    c, answer_noun = summary.counts, noun(summary)
    # A rating is one answer: two questions about a stimulus are two ratings, given in one trial.
    total, retained = (c.answers, c.answers_kept) if answer_noun == "rating" else (c.ratings, c.ratings_kept)
    return block_lines(TEMPLATE, "counts", summary=summary, noun=answer_noun, total=total, retained=retained)


def _flags(summary: Summary) -> Iterator[str]:
    """Flags of rules that control their error; those that report a standard are not headlines."""
    screening, raters = summary.screening, summary.counts.raters
    if not raters:
        return
    if screening.why_missing:
        yield f"Raters were not screened: {screening.why_missing}."
        return
    if screening.flagged:
        alike, skipped = parallel_words(screening.parallel), len(screening.not_judged)
        waiting = f"; {plural(skipped, 'rater')} could not be judged" if skipped else ""
        yield f"{flagged_words(summary)}{f' ({alike})' if alike else ''}{waiting}."
    else:
        yield f"No rater is flagged: {judged_words(summary)}."
    chance = next((rule.power for rule in screening.rules.values() if rule.power is not None), None)
    if chance is not None:
        yield f"A rater who answers at random would be flagged in this panel with a probability of {probability(chance)}."


def judged_words(summary: Summary) -> str:
    """How many rules with error control could judge how many raters, and why the others could judge nobody."""
    raters = summary.counts.raters
    rules = [rule for rule in summary.screening.rules.values() if rule.error_controlled]
    able = [rule for rule in rules if rule.judged]
    if not rules:
        return "no rule was applied"
    text = f"{len(able) or 'none'} of {plural(len(rules), 'rule')} could be applied"
    if able and min(rule.judged for rule in able) == raters:
        text += f", {'each ' if len(able) > 1 else ''}to all {plural(raters, 'rater')}"
    elif able:
        judged = listed([f"{rule.rule} to {rule.judged:,}" for rule in able], MOST_RULES)
        text += f" ({judged} of {plural(raters, 'rater')})"
    dependence = [rule for rule in rules if rule.rule in DEPENDENCE]
    if any(rule.judged for rule in dependence):
        return text
    reasons = [reason for rule in dependence for reason in rule.why_missing]
    if reasons:
        text += f"; whether answers depend on the stimuli is not known ({reasons[0]})"
    return text


def flagged_words(summary: Summary) -> str:
    """``20 of 111 raters are flagged, some for two reasons: 18 with answers unrelated to the stimuli and 13 in 6 groups with
    parallel answers``.
    """
    flagged = len(summary.screening.flagged)
    text = f"{flagged} of {plural(summary.counts.raters, 'rater')} {'is' if flagged == 1 else 'are'} flagged"
    findings = flag_findings(summary)
    kinds = [DEPENDENCE, frozenset({"straight-lining"}), frozenset({"collusion"})]
    several = any(
        sum(bool(rater_rules & kind) for kind in kinds) > 1 for rater_rules in rules_by_rater(summary).values()
    )
    text += ", some for two reasons" if several else ""
    return f"{text}: {listed(findings)}" if findings else f"{text} by {listed(flagging_rules(summary))}"


def flagging_rules(summary: Summary) -> list[str]:
    """The rules with error control that flag anybody."""
    return [rule.rule for rule in summary.screening.rules.values() if rule.flagged and rule.error_controlled]


def flag_findings(summary: Summary) -> list[str]:
    """The findings behind all flags: answers unrelated to the stimuli, one answer throughout, parallel answers, and how many
    raters only other rules flag; nothing where all flags are by other rules.
    """
    screening = summary.screening
    rules = rules_by_rater(summary)

    def count(names: frozenset[str]) -> int:
        return sum(bool(rater_rules & names) for rater_rules in rules.values())

    parts = []
    if empty := count(DEPENDENCE):
        parts.append(f"{empty} with answers unrelated to the stimuli")
    if constant := count(frozenset({"straight-lining"})):
        parts.append(f"{constant} with one answer throughout")
    unnamed_only = [rater_rules for rater_rules in rules.values() if not rater_rules & NAMED]
    if unnamed_only and len(unnamed_only) < len(rules):
        parts.append(f"{len(unnamed_only)} by {listed(sorted(set().union(*unnamed_only)))} only")
    if screening.collusion:
        members = sum(len(group) for group in screening.collusion)
        parts.append(f"{members} in {plural(len(screening.collusion), 'group')} with parallel answers")
    return parts


def rules_by_rater(summary: Summary) -> dict[str, set[str]]:
    """The rules with error control that flag each rater."""
    return {rater: {reason.split(":")[0] for reason in reasons} for rater, reasons in summary.screening.flagged.items()}


def _drafts(summary: Summary) -> list[str]:
    """What became of a machine's drafts, and who accepted planted ones."""
    verification = summary.verification
    if verification is None:
        return []
    stamps = sorted(
        rater
        for rater, reasons in summary.screening.flagged.items()
        if any(reason.startswith("rubber-stamping") for reason in reasons)
    )
    n_met = sum(rater.planted > 0 for rater in verification.raters)
    return block_lines(TEMPLATE, "drafts", summary=summary, stamps=stamps, n_met=n_met)


def _constant(summary: Summary) -> Iterator[str]:
    """Constant raters, of how many, and how many of them screening flags; nothing where one answer may be right throughout."""
    checks, screening = summary.checks, summary.screening
    if checks is None or not checks.constant_raters:
        return
    constant, flagged = checks.constant_raters, screening.flagged
    sure = [
        rater for rater in constant if any(reason.startswith("straight-lining") for reason in flagged.get(rater, ()))
    ]
    flagged_note = ""
    if "straight-lining" in screening.rules:
        if not sure:
            return
        if len(sure) < len(constant):
            flagged_note = (
                f"; {len(sure)} of them are flagged, since of the others a careful rater might give one answer as often"
            )
    yield f"{constant_words(checks)} ({listed(list(constant), 6)}){flagged_note}."


def constant_words(checks: Checks) -> str:
    """``85 of the 255 raters with 5 or more answers to a question always give the same answer``: the one count of them."""
    count = len(checks.constant_raters)
    among = f"{plural(checks.raters_judged, 'rater')} with {LEAST_ANSWERS} or more answers to a question"
    return f"{count or 'none'} of the {among} always {'give' if count > 1 else 'gives'} the same answer"


def _crossfit(summary: Summary) -> Iterator[str]:
    """The rise in agreement after screening, and how much of it holds on stimuli the raters were not chosen on."""
    if not summary.screening.dropped_by_default or summary.crossfit is None:
        return
    held_out = {(row.question, row.figure): row for row in summary.crossfit.questions}
    parts = []
    for row in summary.sensitivity or ():
        held_out_row = held_out.get((row.question or "", row.figure))
        if held_out_row is None or not isinstance(row.with_all, Estimate) or not isinstance(row.without, Estimate):
            continue
        before, after = share(row.with_all.value), share(row.without.value)
        if not row.with_all.is_missing and not row.without.is_missing and before != after:
            parts.append(
                f"{row.question} from {before} to {after} (on held-out stimuli from {share(held_out_row.with_all)} to"
                f" {share(held_out_row.without)})"
            )
    if parts:
        yield (
            "Excluding the raters flagged by the default policy, Krippendorff's alpha changes:"
            f" {'; '.join(parts[:MOST_SHOWN])}."
        )


def _groups(summary: Summary) -> Iterator[str]:
    """How groups of raters differ."""
    groups = summary.by
    if groups is None:
        return
    sizes = listed([f"{size.group} ({size.raters})" for size in groups.groups])
    not_stated = f"; {plural(groups.not_stated, 'rater')} not stated" if groups.not_stated else ""
    yield f"Raters by {groups.column}: {sizes}{not_stated}."
    every = [row for row in groups.differences if row.system == ALL]
    differ = [row for row in every if row.significant]
    for row in differ[:MOST_SHOWN]:
        size, side = row.difference, "higher" if float(row.difference) > 0 else "lower"
        if side == "lower" and size.low is not None and size.high is not None:
            size = replace(size, value=-float(size), low=-size.high, high=-size.low)
        yield (
            f"On the same stimuli, {row.a} raters answer {row.question} {side} than {row.b} raters by"
            f" {interval(size, 2)} ({p_value(row.p)}, Holm)."
        )
    tested = sum(row.p is not None for row in every)
    if tested and not differ:
        yield (
            f"No difference between these groups is shown on the stimuli both rated ({plural(tested, 'test')}, Holm)."
        )
    elif not tested and every:
        difference = every[0].difference
        yield f"The groups cannot be compared: {difference.why_missing or difference.why_no_interval}."
    inner = [
        f"{row.system} ({row.question}, {row.a} and {row.b})"
        for row in groups.differences
        if row.system != ALL and row.significant
    ]
    if inner:
        yield f"System by system, groups differ for {listed(inner, 4)}."
    small = dict.fromkeys(f"{row.group}: {row.why_missing}" for row in groups.rows if row.why_missing)
    if small:
        yield f"Too small to report: {listed(list(small), 4)}."
