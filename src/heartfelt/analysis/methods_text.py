"""A methods and a results paragraph with the numbers filled in, to paste into a paper and edit."""

from __future__ import annotations

from collections.abc import Iterator

from heartfelt.analysis import category_text, verdict_comparisons
from heartfelt.analysis.highlights import cell_words, covered, f_test, held_constant, main_questions
from heartfelt.analysis.results import ALL
from heartfelt.analysis.summary import Summary
from heartfelt.analysis.verdict_comparisons import noun
from heartfelt.stats.estimate import FOR_RATERS, Estimate
from heartfelt.study import Study
from heartfelt.study.instrument import question_id, score_column
from heartfelt.wording import interval, listed, number, percent, plural, sentence, share

MOST_SHOWN = 3
MOST_EFFECTS = 12
MOST_NAMED = 8


def methods(summary: Summary, study: Study) -> str:
    """How the figures were made."""
    parts = (
        collected(summary, study),
        *instrument_words(summary, study),
        verified(summary),
        screened(summary),
        sentence(list(reliability_methods(summary))),
        sentence(list(tests(summary))),
        sentence(list(comparison_methods(summary))),
        sentence(list(category_text.methods(summary))),
        f"Analyses were run with heartfelt {summary.heartfelt} (seed {summary.seed}, data {summary.hash[:12]}).",
    )
    return " ".join(filter(None, parts))


def collected(summary: Summary, study: Study) -> str:
    """How many ratings of what there are."""
    c = summary.counts
    names = listed([question.id for question in study.asked])
    rated = plural(c.rated, "stimulus", "stimuli")
    if not c.answers:
        return f"Published means of {rated} on {names} were analysed; no single ratings were available."
    people = plural(c.raters, "rater") if c.raters else "Raters whose identity was not recorded"
    inferred = summary.source.inferred_raters
    people += f" (inferred from {inferred})" if inferred else ""
    spread = ""
    per = {int(n): items for n, items in c.ratings_per_item.items()}
    if per:
        low, high = min(per), max(per)
        mean = sum(n * items for n, items in per.items()) / sum(per.values())
        ratings_each = f"{low} to {high} ratings each, mean {number(mean, 1)}"
        spread = f" ({ratings_each if low < high else plural(low, 'rating') + ' each'})"
    by_systems = f" by {plural(c.systems, 'system')}" if c.systems else ""
    questions = names if len(study.asked) <= MOST_NAMED else plural(len(study.asked), "question")
    return f"{people} gave {plural(c.ratings, noun(summary))} of {rated}{by_systems}{spread} on {questions}."


def instrument_words(summary: Summary, study: Study) -> Iterator[str]:
    """Which published questionnaires raters filled in, when, how they were scored, and how consistent the scores are."""
    for key, instrument in study.instruments.items():
        first = question_id(key, instrument.items[0].id)
        when = "Before" if any(question.id == first for question in study.asked_in("before")) else "After"
        names = [
            f"{rule.name or name} ({rule.score} of {plural(len(rule.items), 'item')})"
            for name, rule in instrument.subscales.items()
        ]
        columns = {score_column(key, name) for name in instrument.subscales}
        alphas = [score.alpha.value for score in summary.instruments or () if score.column in columns]
        computed_alphas = sorted(value for value in alphas if value is not None)
        alpha = ""
        if computed_alphas:
            ends = dict.fromkeys(number(value, 2) for value in (computed_alphas[0], computed_alphas[-1]))
            alpha = f"; Cronbach's alpha {' to '.join(ends)}"
        yield (
            f"{when} the stimuli, raters filled in the {instrument.name}"
            f" ({plural(len(instrument.items), 'item')}), scored as {listed(names, 20)}{alpha}."
        )


def verified(summary: Summary) -> str:
    """How machine drafts were verified, with the shares that were withheld and planted."""
    verification = summary.verification
    if verification is None:
        return ""
    every = verification.fields[0]
    total = every.verdicts.verified + every.hidden + every.planted + every.planted_alike
    fields = plural(len(verification.fields) - (len(verification.fields) > 1), "field")
    tested = [
        f"{percent(count / total)} of the drafts were {outcome}"
        for count, outcome in (
            (every.hidden, "withheld"),
            (every.planted + every.planted_alike, "those of other stimuli"),
        )
        if count
    ]
    sources = listed([model.source for model in verification.models], 4)
    text = f"{fields} were drafted by machines ({sources}) and verified by raters"
    return f"{text}; {' and '.join(tested)}." if tested else f"{text}."


def screened(summary: Summary) -> str:
    """How raters were screened, and with what result."""
    screening = summary.screening
    if not summary.counts.raters:
        return ""
    dropped, default = len(screening.dropped), len(screening.dropped_by_default)
    result = (
        f"{plural(dropped, 'rater')} were left out under the policy '{summary.policy.name}'"
        if dropped
        else "all were kept"
    )
    rules = plural(len(screening.rules), "rule")
    text = f"Raters were screened with {rules} for careless and copied answers; {result}."
    if not default:
        return f"{text} The default policy would leave nobody out."
    raters = plural(default, "rater")
    return f"{text} Headline figures were also computed without the {raters} whom the default policy would leave out."


def reliability_methods(summary: Summary) -> Iterator[str]:
    """How reliability, ceilings and agreement were estimated."""
    numbers = any(not trust.alpha_interval.is_missing for trust in (summary.reliability or {}).values())
    if numbers:
        yield (
            "Reliability was estimated by Krippendorff's alpha and intraclass correlations (two-way from crossed variance"
            f" components by REML), with intervals {FOR_RATERS[summary.future_raters]}"
        )
        yield (
            "the ceiling was computed as the square root of the labels' reliability, the correlation a predictor that knew every"
            " stimulus's true value would be expected to reach"
        )
    if summary.agreement:
        yield (
            "agreement on categories was measured by Fleiss' and Cohen's kappa, Gwet's AC and each vote against the majority of"
            " the others"
        )
    if numbers or summary.agreement:
        yield "intervals were computed at 95%"


def tests(summary: Summary) -> Iterator[str]:
    """How systems and intents were compared."""
    squares = "type II sums of squares; eta squared as the share of the sum of the table's sums of squares"
    if summary.kind == "conveyance":
        yield (
            "Deviation was defined as a stimulus's mean rating less the reference of its intent; signed deviations were analysed by"
            " system and intent, absolute deviations by quadrant and system, both also with the interaction of system and quadrant"
            f" ({squares}). Absolute deviations contained the noise of the mean ratings"
        )
    elif summary.anova:
        yield f"Mean ratings were compared between systems by analysis of variance ({squares})"
    if summary.pairwise:
        yield (
            "pairs were compared by Tukey-Kramer tests of the means adjusted for the other effects of the same model, with its"
            " error term and degrees of freedom, by Games-Howell tests, and by a two-way jackknife with Holm's correction"
        )
    if summary.systems:
        yield "intervals of means took stimuli and raters as samples (two-way jackknife)"
    fitted = [row for row in summary.mixed or () if row.f is not None and row.effect == "system"]
    if any("rater x system" in row.variances for row in fitted):
        yield (
            "linear mixed models of the single ratings tested systems, with random intercepts of raters, stimuli and raters within"
            " systems (their tastes for systems), restricted maximum likelihood, Satterthwaite degrees of freedom and Tukey's"
            " correction over the pairs"
        )
    elif fitted:
        yield (
            "linear mixed models of the single ratings tested systems, with crossed random intercepts of raters and stimuli; the"
            " design cannot tell raters' tastes for systems from other variation"
        )
    if summary.equivalence:
        margin = number(summary.equivalence[0].margin, 2)
        yield f"equivalence of systems within {margin} points was tested by two one-sided tests in the same model (Holm)"
    if any(check.p is not None for check in summary.ordinal or ()):
        yield (
            "as a check, cumulative logit models with the same factors and random effects (maximum likelihood, Laplace"
            " approximation) took the ratings for ordered categories"
        )


def comparison_methods(summary: Summary) -> Iterator[str]:
    """How comparisons of stimuli, MUSHRA grades and traces were analysed."""
    models = dict.fromkeys(comparison.model for comparison in summary.comparisons or () if comparison.model)
    if models:
        yield (
            f"Strengths were estimated by {listed(list(models))} models with mean zero, those of pairs with an effect of the"
            " order of presentation; their intervals took raters, and what systems were compared on, as samples (jackknife);"
            " pairs were tested with Holm's correction"
        )
    if any(comparison.abx for comparison in summary.comparisons or ()):
        yield "ABX answers were tested against guessing by the exact binomial test, with d' by the differencing model"
    if any(comparison.mushra for comparison in summary.comparisons or ()):
        yield "MUSHRA listeners were post-screened after ITU-R BS.1534-3; mean grades took listeners and items as samples"
    if summary.traces:
        yield (
            "agreement of traces was measured by Lin's concordance correlation; its ceiling came from the variance of the"
            " shared course"
        )


def _comparisons(summary: Summary) -> Iterator[str]:
    yield from verdict_comparisons.sentences(summary)


def _categories(summary: Summary) -> Iterator[str]:
    for result in summary.categories or ():
        yield from category_text.sentences(result, reasons=False)


def results(summary: Summary) -> str:
    """What the analysis found."""
    parts = (_reliability, _effects, _systems, _comparisons, _categories, _screening)
    return " ".join(text for part in parts for text in part(summary))


def _reliability(summary: Summary) -> Iterator[str]:
    levels = {row.question: row.level for row in summary.questions or ()}
    for name, trust in main_questions(summary).items():
        alphas = {
            "interval": trust.alpha_interval,
            "ordinal": trust.alpha_ordinal,
            "nominal": trust.alpha_nominal,
        }
        order = dict.fromkeys((levels.get(name, "interval"), *alphas))
        level = next((level for level in order if not alphas[level].is_missing), None)
        if level is None:
            continue
        text = f"For {name}, Krippendorff's alpha ({level}) was {interval(alphas[level], bare=True)}"
        if not trust.icc1k.is_missing:
            text += f", ICC(1,k) {interval(trust.icc1k, bare=True)}"
        top, within = trust.ceiling, trust.ceiling.within_cells
        best = top.accuracy if top.correlation.is_missing else top.correlation
        if best is not None and not best.is_missing:
            text += f", and the ceiling {interval(best, bare=True)}"
        if within is not None and not within.is_missing and cell_words(summary):
            text += f" ({interval(within, bare=True)} within the same {cell_words(summary)})"
        yield f"{text}."


def _effects(summary: Summary) -> list[str]:
    out = []
    chosen = covered(summary)[0]
    for row in summary.anova or ():
        main_effect = "*" not in row.model and row.effect in ("system", "quadrant")
        wanted = (main_effect and row.effect == row.model.split(" + ")[0]) or ":" in row.effect
        if row.outcome in chosen and wanted and row.f is not None and not held_constant(row, summary):
            outcome_words = "mean rating" if row.deviation == "value" else f"{row.deviation} deviation"
            name = row.effect.replace(":", " x ")
            out.append(f"The effect of {name} on {row.outcome} ({outcome_words}) was {f_test(row)}.")
    return out[:MOST_EFFECTS]


def _systems(summary: Summary) -> Iterator[str]:
    """Slopes; and for studies of opinion the ranking of systems by mean rating."""
    slopes = [row for row in summary.slopes or () if row.system == ALL and not row.slope.is_missing]
    for line in slopes[:MOST_SHOWN]:
        yield f"The slope of perceived on intended {line.question} was {interval(line.slope, bare=True)}."
    if summary.kind == "conveyance":
        return
    for name in covered(summary)[0]:
        rows = [row for row in summary.systems or () if row.question == name and row.rank is not None]
        rows.sort(key=lambda row: row.rank or 0)
        if len(rows) > 1:
            best, last = rows[0], rows[-1]
            text = f"On {name}, {best.system} ranked first ({interval(best.means.mean, 2)})"
            text += f", not shown to differ from {listed(best.tied_with)}," if best.tied_with else ""
            yield f"{text} and {last.system} last ({interval(last.means.mean, 2)})."


def _screening(summary: Summary) -> Iterator[str]:
    screening, raters = summary.screening, summary.counts.raters
    flagged = len(screening.flagged)
    if not raters or not flagged:
        return
    text = f"{flagged} of {plural(raters, 'rater')} {'was' if flagged == 1 else 'were'} flagged"
    if screening.dropped_by_default:
        text += f"; without the {len(screening.dropped_by_default)} that the default policy would leave out"
        held_out = {row.question: row for row in (summary.crossfit.questions if summary.crossfit else ())}
        moved = []
        for row in summary.sensitivity or ():
            if row.figure != "alpha_interval" or not isinstance(row.without, Estimate) or not row.question:
                continue
            if not row.without.is_missing:
                held_out_row = held_out.get(row.question)
                words = f"alpha of {row.question} became {share(row.without.value)}"
                words += (
                    f" ({share(held_out_row.without)} on stimuli the raters were not chosen on)"
                    if held_out_row
                    else ""
                )
                moved.append(words)
        text += f" {listed(moved[:MOST_SHOWN])}" if moved else " nothing could be compared"
    yield f"{text}."
