"""What the verdict says about raters: who answered, who was left out and why, who is flagged, and how groups differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heartfelt.analysis.findings.parts import ALL, Checks
from heartfelt.analysis.panel.screening import parallel_words
from heartfelt.analysis.summary import HeldOutAlpha, SensitivityFigure, Summary
from heartfelt.analysis.text.sentences import template_lines, template_text
from heartfelt.analysis.text.verdict_comparisons import noun
from heartfelt.screening.panel import RuleSummary
from heartfelt.screening.rules.ratings.repetition import LEAST_ANSWERS
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import share

TEMPLATE = "analysis/verdict_raters"
DEPENDENCE = frozenset({"informativeness", "choice-agreement"})
"""The rules that ask whether answers depend on the stimuli."""
STRAIGHT_LINING = frozenset({"straight-lining"})
NAMED = DEPENDENCE | STRAIGHT_LINING | {"collusion"}
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
    return template_lines(TEMPLATE, "counts", summary=summary, noun=answer_noun, total=total, retained=retained)


def _flags(summary: Summary) -> list[str]:
    screening = summary.screening
    if not summary.counts.raters:
        return []
    return template_lines(
        TEMPLATE,
        "flags",
        screening=screening,
        flagged=flagged_words(summary) if screening.flagged else "",
        judged=judged_words(summary),
        parallel=parallel_words(screening.parallel),
        chance=next((rule.power for rule in screening.rules.values() if rule.power is not None), None),
    )


def judged_words(summary: Summary) -> str:
    """How many rules with error control could judge how many raters, and why the others could judge nobody."""
    rules = [rule for rule in summary.screening.rules.values() if rule.error_controlled]
    return template_text(
        TEMPLATE,
        "judged",
        rules=rules,
        able=[rule for rule in rules if rule.judged],
        raters=summary.counts.raters,
        reason=_why_dependence_unknown([rule for rule in rules if rule.rule in DEPENDENCE]),
    )


def _why_dependence_unknown(rules: Sequence[RuleSummary]) -> str | None:
    """The first reason why these rules could judge nobody; None where one of them could."""
    if any(rule.judged for rule in rules):
        return None
    return next((reason for rule in rules for reason in rule.why_missing), None)


def flagged_words(summary: Summary) -> str:
    """How many raters are flagged, and by what."""
    kinds = (DEPENDENCE, STRAIGHT_LINING, frozenset({"collusion"}))
    by_rater = rules_by_rater(summary).values()
    return template_text(
        TEMPLATE,
        "flagged",
        count=len(summary.screening.flagged),
        raters=summary.counts.raters,
        several=any(sum(bool(rater_rules & kind) for kind in kinds) > 1 for rater_rules in by_rater),
        findings=flag_findings(summary),
        rules=flagging_rules(summary),
    )


def flagging_rules(summary: Summary) -> list[str]:
    """The rules with error control that flag anybody."""
    return [rule.rule for rule in summary.screening.rules.values() if rule.flagged and rule.error_controlled]


def flag_findings(summary: Summary) -> list[str]:
    """The findings behind all flags: answers unrelated to the stimuli, one answer throughout, parallel answers, and how many
    raters only other rules flag; nothing where all flags are by other rules.
    """
    by_rater = rules_by_rater(summary).values()
    unnamed_only = [rules for rules in by_rater if not rules & NAMED]
    return template_lines(
        TEMPLATE,
        "findings",
        unrelated=sum(bool(rules & DEPENDENCE) for rules in by_rater),
        constant=sum(bool(rules & STRAIGHT_LINING) for rules in by_rater),
        others=len(unnamed_only) if len(unnamed_only) < len(by_rater) else 0,
        other_rules=sorted(set().union(*unnamed_only)),
        groups=summary.screening.collusion,
    )


def rules_by_rater(summary: Summary) -> dict[str, set[str]]:
    """The rules with error control that flag each rater."""
    return {rater: {reason.split(":")[0] for reason in reasons} for rater, reasons in summary.screening.flagged.items()}


def _flagged_by(summary: Summary, rule: str) -> set[str]:
    return {
        rater
        for rater, reasons in summary.screening.flagged.items()
        if any(reason.startswith(rule) for reason in reasons)
    }


def _drafts(summary: Summary) -> list[str]:
    """What became of a machine's drafts, and who accepted planted ones."""
    verification = summary.verification
    if verification is None:
        return []
    stamps = sorted(_flagged_by(summary, "rubber-stamping"))
    n_met = sum(rater.planted > 0 for rater in verification.raters)
    return template_lines(TEMPLATE, "drafts", every=verification.fields[0], stamps=stamps, n_met=n_met)


def _constant(summary: Summary) -> list[str]:
    """Constant raters, of how many, and how many of them screening flags; nothing where one answer may be right throughout."""
    checks = summary.checks
    if checks is None or not checks.constant_raters:
        return []
    raters, n_flagged = checks.constant_raters, len(checks.constant_raters)
    if "straight-lining" in summary.screening.rules:
        n_flagged = len(_flagged_by(summary, "straight-lining") & set(raters))
        if not n_flagged:
            return []
    words = constant_words(checks)
    return template_lines(TEMPLATE, "constant_raters", words=words, raters=raters, n_flagged=n_flagged)


def constant_words(checks: Checks | None) -> str:
    """How many of the raters who answered often enough always give the same answer; nothing where nobody did."""
    if checks is None or not checks.raters_judged:
        return ""
    count = len(checks.constant_raters)
    return template_text(TEMPLATE, "constant", count=count, judged=checks.raters_judged, least=LEAST_ANSWERS)


def _crossfit(summary: Summary) -> list[str]:
    if not summary.screening.dropped_by_default or summary.crossfit is None:
        return []
    held_out = {(row.question, row.figure): row for row in summary.crossfit.questions}
    changes: list[tuple[SensitivityFigure, HeldOutAlpha]] = []
    for row in summary.sensitivity or ():
        held_out_row = held_out.get((row.question or "", row.figure))
        if held_out_row is not None and _changes(row.with_all, row.without):
            changes.append((row, held_out_row))
    return template_lines(TEMPLATE, "crossfit", changes=changes)


def _changes(before: Estimate | float | None, after: Estimate | float | None) -> bool:
    """Whether two estimates differ as they are printed."""
    if not isinstance(before, Estimate) or not isinstance(after, Estimate) or before.is_missing or after.is_missing:
        return False
    return share(before.value) != share(after.value)


def _groups(summary: Summary) -> list[str]:
    """How groups of raters differ."""
    groups = summary.by
    if groups is None:
        return []
    overall = [row for row in groups.differences if row.system == ALL]
    return template_lines(
        TEMPLATE,
        "groups",
        groups=groups,
        differences=overall,
        inner=[row for row in groups.differences if row.system != ALL and row.significant],
        tested=sum(row.p is not None for row in overall),
        small=list(dict.fromkeys(f"{row.group}: {row.why_missing}" for row in groups.rows if row.why_missing)),
    )
