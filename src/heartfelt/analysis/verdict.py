"""The verdict: one bottom line, then what the ratings say about systems, reliability and raters.

The bottom line gives the worst news first. Where the ratings show no sign of depending on the stimuli, nothing else
is worth reading, and it says what to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from heartfelt.analysis import verdict_comparisons, verdict_raters, verdict_systems
from heartfelt.analysis.answers_used import LEAST_SHARE
from heartfelt.analysis.highlights import (
    called,
    cell_words,
    covered,
    covers_pools,
    differs,
    highest,
    if_careless,
    information,
    main_effects,
    main_questions,
    mean_rating,
    rating_tests,
    single_rating,
)
from heartfelt.analysis.results import CorrectedCountTest, Reliability
from heartfelt.analysis.summary import ReportVerdict, Summary
from heartfelt.failures import Failed, attempt_part
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, listed, number, p_value, percent, plural, share

LEAST_RELIABLE = 0.7
SINGLE_ITEM_RELIABILITY = 0.9
WIDEST = 0.5
LEAST_CEILING = 0.05
NOTABLE_FLAGGED = 0.05
"""From this share of the raters on, those flagged are part of the bottom line."""
MOST_RATERS = 1000
MOST_NAMED = 4


def verdict(summary: Summary) -> ReportVerdict:
    """What these ratings let one conclude, and what they do not."""

    def written(topic: str, sentences: Callable[[Summary], Iterable[str]]) -> tuple[str, ...]:
        result = attempt_part(f"the verdict on {topic}", lambda: tuple(sentences(summary)))
        return (f"The verdict on {topic} is missing: {result.reason}.",) if isinstance(result, Failed) else result

    return ReportVerdict(
        bottom_line=" ".join(written("the bottom line", lambda of: [bottom_line(of)])),
        systems=(
            *written("the systems", verdict_systems.sentences),
            *written("the comparisons", verdict_comparisons.sentences),
        ),
        reliability=written("the reliability", reliability_sentences),
        raters=written("the raters", verdict_raters.sentences),
        next_step=" ".join(written("the next step", lambda of: [next_step(of)])),
    )


def bottom_line(summary: Summary) -> str:
    """One sentence."""
    c = summary.counts
    if not c.answers and not c.means:
        return "There are no ratings, so nothing can be concluded."
    nothing = _no_information(summary)
    if nothing:
        return " ".join([nothing, *(column.warning for column in summary.source.marked_columns)])
    clauses, hits = _systems(summary), summary.quadrants
    if hits is not None and not hits.hit_rate.is_missing:
        by_chance = hits.hit_rate_by_chance
        chance = f" (chance {percent(by_chance.share)})" if by_chance else ""
        clauses.append(f"{percent(hits.hit_rate.value)} of the stimuli land in the intended quadrant{chance}")
    clauses += verdict_comparisons.clauses(summary) + _trust(summary)
    if not clauses:
        clauses = ["the ratings are too few, or too much alike, to judge"]
    text = clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])}, and {clauses[-1]}"
    if not c.answers:
        return f"From {c.means:,} published means, without single ratings: {text}."
    left_out, answers = len(summary.screening.dropped), summary.answers_used
    if left_out and answers.share >= LEAST_SHARE:
        text += f" (the policy '{summary.policy.name}' excluded {left_out} of {plural(c.raters, 'rater')})"
    text = f"{text[0].upper()}{text[1:]}."
    flagged = len(summary.screening.flagged)
    if not left_out and flagged and flagged >= NOTABLE_FLAGGED * c.raters:
        text += f" {verdict_raters.flagged_words(summary)}."
    text = f"{text} Only {answers.words}{answers.because}." if answers.share < LEAST_SHARE else text
    return " ".join([text, *(column.warning for column in summary.source.marked_columns)])


def _no_information(summary: Summary) -> str | None:
    """The sentence for ratings that do not depend on the stimuli; None where some question's ratings do."""
    checks = summary.checks
    flat = set(checks.constant_questions) if checks else set()
    every = main_questions(summary) if covers_pools(summary) else summary.reliability or {}
    if not every or any(name not in flat and information(t) != "not shown" for name, t in every.items()):
        return None
    if set(every) <= flat:
        return (
            f"All answers on {listed(list(every))} are the same: check whether answers were recorded, and whether the right"
            " column was read."
        )
    figures = []
    for name, trust in [item for item in every.items() if item[0] not in flat][:MOST_NAMED]:
        coefficient, figure = single_rating(trust)
        figures.append(f"{called(name, trust)}: {coefficient} of one rating {interval(figure, bare=True)}")
    constant = ""
    if checks and checks.raters_judged:
        constant = f" ({verdict_raters.constant_words(checks)})"
    return (
        f"The ratings carry no detectable information about the stimuli ({'; '.join(figures)}); trust no difference below."
        f" Check for constant raters{constant}, for ids that were mixed up and for rows out of step with the stimuli."
    )


def _systems(summary: Summary) -> list[str]:
    """Whether systems differ and which is highest: by the model of the ratings, else by the analysis of variance."""
    tests, main_by_name = rating_tests(summary), main_effects(summary)
    differ: list[str] = []
    only_here: list[str] = []
    same: list[str] = []
    for name in dict.fromkeys([*main_by_name, *tests]):
        if name in tests and differs(tests[name]):
            ends = highest(tests[name])
            differ.append(f"{name} ({ends[0]} highest)" if ends else name)
        elif name in tests or not differs(main_by_name[name]):
            (only_here if name in main_by_name and differs(main_by_name[name]) else same).append(name)
        else:
            differ.append(name)
    parts = [f"systems differ in {_some(differ)}"] if differ else []
    if only_here:
        parts.append(f"systems differ in {_some(only_here)} for these raters (not shown for others)")
    if same and not parts:
        return ["no difference between systems is shown"]
    if same:
        parts[-1] += f" but are not shown to differ in {_some(same)}"
    return parts


def _some(names: list[str]) -> str:
    return listed(names) if len(names) <= MOST_NAMED else f"{len(names)} questions"


def _range(values: Iterable[float | None]) -> str:
    """``.63 to .81``, or one number where both are the same."""
    numbers = [value for value in values if value is not None]
    return " to ".join(dict.fromkeys(share(limit) for limit in (min(numbers), max(numbers))))


def _trust(summary: Summary) -> list[str]:
    """What the labels are good for, over the questions the verdict covers; drafted ones only if there are no others."""
    every, drafted = main_questions(summary), _drafted(summary)
    every = {name: trust for name, trust in every.items() if name not in drafted} or every
    rated = {name: trust for name, trust in every.items() if not mean_rating(trust).is_missing}
    parts: list[str] = []
    only_means = verdict_comparisons.only_means_usable(summary)
    by_use: dict[str, dict[str, Reliability]] = {}
    for name, trust in rated.items():
        if information(trust) != "not shown":
            by_use.setdefault(fitness(mean_rating(trust)), {})[called(name, trust)] = trust
    for use, questions in by_use.items():
        of = f" of {_some(list(questions))}" if len(by_use) > 1 else ""
        between = _range(mean_rating(trust).value for trust in questions.values())
        usable_part = "only the mean per stimulus is usable: the means" if only_means and not parts else "the labels"
        parts.append(f"{usable_part}{of} are {use} (reliability {between})")
    # For answers without an order: whether raters agree beyond chance.
    agree = {called(name, t): single_rating(t)[1] for name, t in every.items() if information(t) == "shown"}
    if not rated and agree:
        n_further = 0 if covers_pools(summary) else len(covered(summary)[1])
        more = f" (and see below for {plural(n_further, 'further question')})" if n_further else ""
        range_ = _range(figure.value for figure in agree.values())
        parts.append(f"raters agree beyond chance on {_some(list(agree))} (Krippendorff's alpha {range_}){more}")
    unknown = [figure for _, figure in map(single_rating, every.values()) if figure.is_missing]
    if every and len(unknown) == len(every):
        parts.append(f"how reliable the ratings are is not known ({unknown[0].why_missing})")
    lost = [called(name, trust) for name, trust in every.items() if information(trust) == "not shown"]
    if lost:
        parts.append(f"the ratings of {_some(lost)} carry no detectable information about the stimuli")
    return parts


def fitness(labels: Estimate) -> str:
    """What labels of such a reliability are good for."""
    value, low, high = labels.value, labels.low, labels.high
    if value is None or low is None or high is None or high - low > WIDEST:
        return "too uncertain to judge"
    if value >= SINGLE_ITEM_RELIABILITY:
        return "reliable enough for single stimuli"
    if value >= LEAST_RELIABLE:
        return "reliable enough for groups of stimuli, not for single ones"
    return "too unreliable for single stimuli"


def reliability_sentences(summary: Summary) -> Iterator[str]:
    """All sentences on reliability."""
    yield from _selected(summary)
    yield from _agreement(summary)
    for name, trust in main_questions(summary).items():
        yield from _one_question(summary, called(name, trust), trust)
    drafted = _drafted(summary)
    if drafted:
        yield (
            f"Most answers to {listed(drafted, 4)} were given in sight of the same draft, which overstates their reliability"
            " and agreement."
        )
    yield from _others(summary)
    cell = cell_words(summary)
    ceilings = [
        words
        for name, trust in main_questions(summary).items()
        if (words := _ceiling(called(name, trust), trust, cell))
    ]
    if ceilings:
        yield f"Ceiling: {'; '.join(ceilings)}."


def _drafted(summary: Summary) -> list[str]:
    """The questions with a reliability whose answers were mostly given in sight of a machine's draft."""
    verification = summary.verification
    verified_fields = (
        {field.field for field in verification.fields if field.verdicts.verified} if verification is not None else set()
    )
    return [
        name
        for name, trust in (summary.reliability or {}).items()
        if name in verified_fields and not (trust.alpha_interval.is_missing and trust.alpha_nominal.is_missing)
    ]


def _selected(summary: Summary) -> Iterator[str]:
    """Whether the number of ratings depends on the answers, which makes agreement that of a selected sample."""
    tests = summary.checks.ratings_per_item if summary.checks else {}
    by_answer = {name: test.answers for name, test in tests.items() if test.answers.significant}
    significant = {name: test.disagreement for name, test in tests.items() if test.disagreement.significant}
    parts = []

    def rises(test: CorrectedCountTest) -> bool:
        return test.change is not None and (test.change.value or 0.0) > 0

    if by_answer:
        test = next(iter(by_answer.values()))
        side = "other" if test.category is not None else "higher" if rises(test) else "lower"
        parts.append(f"stimuli with more ratings have {side} answers on {listed(list(by_answer), 4)}")
    if significant:
        more = "more" if rises(next(iter(significant.values()))) else "less"
        parts.append(f"raters disagree {more} on stimuli with more ratings ({listed(list(significant), 4)})")
    if parts:
        smallest = min(test.p_corrected or 0.0 for test in (*by_answer.values(), *significant.values()))
        strata = ["raters"] if not summary.counts.answers_of_unknown_raters else []
        strata += ["cells"] if cell_words(summary) else []
        within = f"within {listed(strata)}, " if strata else ""
        yield (
            f"How many ratings a stimulus has depends on its answers: {listed(parts)} ({within}{p_value(smallest)},"
            " Holm). If ratings were added because of earlier answers, agreement and reliability describe a selected sample."
        )


def _agreement(summary: Summary) -> Iterator[str]:
    """What people agree on, where answers are categories; ordered ones by a coefficient that knows the order."""
    every = summary.agreement or {}
    if covers_pools(summary) and summary.agreement_pooled:
        every = summary.agreement_pooled
    else:
        every = {name: every[name] for name in covered(summary)[0] if name in every}
    for name, votes in every.items():
        if votes.lead.is_missing:
            continue
        coefficient = "Krippendorff's alpha, ordinal," if votes.leading == "alpha_ordinal" else "Fleiss' kappa"
        shown = f"{_shown(votes.lead)} ({coefficient} {interval(votes.lead, bare=True)})"
        text = f"On {called(name, votes)}, {shown}"
        if not votes.leave_one_out.is_missing:
            text += f"; {percent(votes.leave_one_out.value)} of single answers match the majority of the others"
        if votes.n_tied:
            text += (
                f"; {votes.n_tied:,} of {votes.n_items:,} labels are missing because the most frequent answers are tied"
            )
        yield f"{text}."


def _shown(agreement: Estimate) -> str:
    """What a coefficient of agreement shows; perfect agreement, which has no interval, is no lack of it."""
    if agreement.low is None:
        perfect = agreement.value is not None and agreement.value >= 1
        return "raters always agree" if perfect else "it is not known whether raters agree beyond chance"
    return "raters agree beyond chance" if agreement.low > 0 else "no agreement beyond chance is shown"


def _one_question(summary: Summary, name: str, trust: Reliability) -> Iterator[str]:
    """How reliable labels are, and how many raters a better label would need."""
    coefficient, single = single_rating(trust)
    labels = mean_rating(trust)
    if single.is_missing or (labels.is_missing and coefficient == "reliability"):
        if trust.alpha_nominal.is_missing and summary.counts.answers:
            yield f"Reliability of {name}: unknown ({single.why_missing})."
    elif information(trust) == "not shown":
        yield (
            f"{coefficient[0].upper()}{coefficient[1:]} of {name}: {interval(single, bare=True)} for one rating,"
            " which includes zero: no information about the stimuli is shown."
        )
    elif labels.value is not None:
        text = f"Reliability of {name}: {interval(single, bare=True)} for one rating"
        if labels.value <= 0:
            yield f"{text}; the means say nothing about how stimuli differ."
        else:
            text += (
                f", {interval(labels, bare=True)} for the mean of a stimulus ({fitness(labels)}{if_careless(labels)})"
            )
            yield f"{text}{_needed(trust)}."


def _needed(trust: Reliability) -> str:
    """How many raters a reliability of .9 would take; nothing where that cannot be bounded."""
    needed = trust.raters_needed.get("0.9")
    low, high = trust.raters_needed_between.get("0.9", (None, None))
    if not needed or high is None:
        return ""
    if high > MOST_RATERS:
        return f"; .9 needs {number(low)} raters per stimulus or more" if low else ""
    between = f" ({low:,} to {high:,})" if low is not None and low != high else ""
    return f"; .9 needs {plural(needed, 'rater')} per stimulus{between}"


def _others(summary: Summary) -> Iterator[str]:
    """The questions without a sentence of their own."""
    every = summary.reliability or {}
    remaining = list(every) if covers_pools(summary) else covered(summary)[1]
    by_figure: dict[str, list[tuple[float, str]]] = {}
    for name in remaining:
        figure_name, single = single_rating(every[name])
        labels = mean_rating(every[name])
        if labels.value is not None:
            by_figure.setdefault("the reliability of the labels", []).append((labels.value, name))
        elif single.value is not None:
            by_figure.setdefault(figure_name, []).append((single.value, name))
    if not by_figure:
        return
    lead = f"Of the other {plural(len(remaining), 'question')}"
    lead = "Question by question" if covers_pools(summary) else lead
    parts = []
    for figure_name, values in by_figure.items():
        (low, first), (high, last) = min(values), max(values)
        parts.append(f"{figure_name} runs from {share(low)} ({first}) to {share(high)} ({last})")
    text = f"{lead}, {listed(parts)}"
    lost = [name for name in remaining if information(every[name]) == "not shown"]
    text += f"; {len(lost)} show no information about the stimuli ({listed(lost, 5)})" if lost else ""
    yield f"{text}."


def _ceiling(name: str, trust: Reliability, cell: str) -> str:
    """The best a predictor can expect on the labels of a question: ``valence r = .95 [.93, .98]``."""
    top = trust.ceiling
    if top.accuracy is not None and not top.accuracy.is_missing:
        smooth = top.accuracy_smooth
        if smooth is None or smooth.low is None:
            return f"{name} accuracy = {interval(top.accuracy, bare=True)}"
        return (
            f"{name} accuracy = {interval(smooth, bare=True)} if items' votes follow a smooth family,"
            f" {interval(top.accuracy, bare=True)} with no shape assumed"
        )
    if top.correlation.value is None:
        return ""
    if top.correlation.value < LEAST_CEILING or information(trust) == "not shown":
        return f"none for {name}, whose ratings show no difference between stimuli"
    within, means = top.within_cells, top.cell_means
    more = []
    if within is not None and not within.is_missing and cell:
        more.append(f"{interval(within, bare=True)} within the same {cell}")
    if means is not None and (means.value or 0.0) > 0 and cell:
        more.append(f"{interval(means, bare=True)} from the {cell} alone")
    return f"{name} r = {interval(top.correlation, bare=True)}" + (f" ({', '.join(more)})" if more else "")


def next_step(summary: Summary) -> str:
    """The one thing to do next: what would change the conclusions most."""
    c, screening = summary.counts, summary.screening
    if not c.answers:
        return "Get the single ratings: means show no careless raters." if c.means else "Collect ratings."
    if _no_information(summary):
        return "Check how the answers were recorded before collecting more."
    answers = summary.answers_used
    lost = max(answers.not_used.items(), key=lambda reason: reason[1], default=("", 0))
    if answers.share < LEAST_SHARE and not screening.dropped:
        return f"Find out why answers are not used: {lost[1]:,} {'is' if lost[1] == 1 else 'are'} lost to “{lost[0]}”."
    excluded = [rater for rater in screening.dropped_by_default if rater not in screening.dropped]
    if excluded and not screening.dropped:
        some = f"{len(excluded)} of them" if len(excluded) < len(screening.flagged) else "them"
        return f"Review {_flagged_raters(summary)}; `--policy default` repeats the analysis without {some}."
    for advice in (_unknown_reliability, _weakest, verdict_comparisons.unlinked, verdict_comparisons.undecided):
        if text := advice(summary):
            return text
    if screening.flagged and not screening.dropped:
        return f"Review {_flagged_raters(summary)} before you publish."
    if summary.comparisons and all(comparison.abx for comparison in summary.comparisons):
        return "Publish the answers: `heartfelt publish` releases them."
    return "Use the labels: `heartfelt bench` scores predictors against them, `heartfelt publish` releases them."


def _flagged_raters(summary: Summary) -> str:
    count = len(summary.screening.flagged)
    return "the flagged rater" if count == 1 else f"the {count:,} flagged raters"


def _unknown_reliability(summary: Summary) -> str:
    """What would tell how reliable the ratings are, where that is not known of any question."""
    every = main_questions(summary)
    if not every or any(not single_rating(trust)[1].is_missing for trust in every.values()):
        return ""
    return "Have some stimuli rated by a second rater: without that, nobody knows how reliable the ratings are."


def _weakest(summary: Summary) -> str:
    """How many more ratings the least reliable question needs; nothing where labels are reliable or that is not known."""
    rated = {
        called(name, trust): trust
        for name, trust in main_questions(summary).items()
        if (value := mean_rating(trust).value) is not None and value < SINGLE_ITEM_RELIABILITY
    }
    if not rated:
        return ""
    name, trust = min(rated.items(), key=lambda item: float(mean_rating(item[1])))
    needed, high = trust.raters_needed.get("0.9"), trust.raters_needed_between.get("0.9", (None, None))[1]
    if not needed or high is None or high > MOST_RATERS:
        return f"Collect more ratings per stimulus: the reliability of {name} is {interval(mean_rating(trust), bare=True)}."
    return f"Collect ratings until {name} has {plural(needed, 'rater')} per stimulus, for a reliability of .9."
