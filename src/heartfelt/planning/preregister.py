"""A preregistration from a study and its plan: hypotheses, design, exclusion rules and analyses, for people and for machines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from heartfelt import __version__
from heartfelt.analysis.preregistration import FILE, Preregistration, registered_questions
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.manifest import open_study
from heartfelt.planning.results import Plan
from heartfelt.planning.words import design_lines
from heartfelt.screening.policy import parse_policy
from heartfelt.serialization import write_json
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.wording import listed, percent

RATINGS = (
    "Analysis of variance of the stimuli's mean ratings by system (and intent, where there are several), type II.",
    "All pairs of systems by Tukey and Kramer's test on the adjusted means of that model, at .05 over all pairs of a question.",
    "Means of systems with 95% intervals that take raters and stimuli as samples (two-way jackknife).",
    "Reliability: Krippendorff's alpha, ICC(1,1) and ICC(1,k), and the ceiling of the correlation with mean ratings.",
    "The same figures with and without the raters that the exclusion rules would leave out.",
)
COMPARISONS = (
    "Strengths of systems by Bradley and Terry's model (Davidson's where ties are allowed) with an order effect.",
    "All pairs of systems by their difference of strengths, jackknife over raters and sets, with Holm's correction at .05.",
)


def preregistration_of(plan: Plan, study: Study, written: str | None = None) -> Preregistration:
    """What is registered: the plan's recommended design (or its best), the study's questions, rules and analyses."""
    chosen = plan.best
    design = chosen.design
    names = tuple(name for name in design.systems if name)
    hypotheses = []
    for question in chosen.questions:
        if plan.options.effects:
            order = sorted(plan.options.effects.items(), key=lambda each: -each[1])
            expected = listed([f"{name} ({value:+g})" for name, value in order])
            hypotheses.append(f"Under '{question}' systems differ as expected: {expected}.")
        elif len(names) > 1:
            hypotheses.append(
                f"Under '{question}' the systems ({listed(list(names))}) differ in their means."
            )
    if not hypotheses:
        hypotheses.append("No difference is tested: the study estimates means and their reliability.")
    return Preregistration(
        heartfelt=__version__,
        written=written or datetime.now(UTC).strftime("%Y-%m-%d"),
        study=study.name,
        hash=study.hash,
        hypotheses=tuple(hypotheses),
        raters=design.raters,
        ratings_per_item=design.ratings,
        stimuli_per_rater=design.per_rater,
        stimuli=design.stimuli,
        systems=names,
        intents=tuple(name for name in design.intents if name),
        minimum_ratings=study.design.minimum_ratings,
        questions=registered_questions(study),
        policy=plan.options.policy,
        analyses=COMPARISONS if plan.kind == "comparison" else RATINGS,
        expected=tuple(line.strip() for line in design_lines(chosen)[1:]),
    )


def preregister(plan: Plan, folder: Path, target: Path) -> Preregistration:
    """Write the preregistration as Markdown to ``target`` and as ``preregistration.json`` into the study folder.

    Neither may be there yet: what was registered is never overwritten.
    """
    study = open_study(folder).study
    home = folder if folder.is_dir() else folder.parent
    for path in (target, home / FILE):
        if path.exists():
            raise InputError(
                f"{path} is there already; a preregistration is never overwritten.",
                "Move it away if nothing was collected yet, or write down the change as a deviation.",
            )
    made = preregistration_of(plan, study)
    write_text(target, markdown(made, plan, study))
    write_json(home / FILE, made)
    return made


def markdown(made: Preregistration, plan: Plan, study: Study) -> str:
    """The preregistration to read."""
    policy = parse_policy(made.policy)
    drops = [rule for rule, action in policy.actions.items() if action == "drop"]
    rules = "nobody is left out; flagged raters are reported"
    if drops:
        rules = f"raters flagged by {listed(sorted(drops), 20)} are left out"
    made_by = f" from {len(made.systems)} systems ({listed(list(made.systems))})" if made.systems else ""
    lines = [
        f"# Preregistration: {say(study.title) or study.name}",
        "",
        f"Written {made.written} with heartfelt {made.heartfelt}; study hash `{made.hash[:16]}`.",
        "",
        "## Hypotheses",
        "",
        *(f"- {text}" for text in made.hypotheses),
        "",
        "## Design",
        "",
        f"- Raters: {made.raters}, {made.stimuli_per_rater} trials each",
        f"- Stimuli: {made.stimuli}{made_by}",
        *([f"- Intents: {listed(list(made.intents), 20)}"] if made.intents else []),
        f"- Ratings per stimulus or set: {made.ratings_per_item}; fewer than {made.minimum_ratings} give no label",
        "- Questions:",
        *(f"  - {question.id}: {question.text} (`{question.scale}`)" for question in made.questions),
        "",
        "## Sample size",
        "",
        f"From {plan.pilot.source}, {plan.options.studies} simulated studies per design, {percent(plan.pilot.careless)} careless"
        f" raters, {percent(plan.pilot.dropout)} leaving early. Collecting stops when every stimulus has its ratings.",
        "",
        *(f"- {text}" for text in made.expected),
        "",
        "## Exclusion rules",
        "",
        f"Screening policy `{made.policy}`: {rules}.",
        "",
        "## Analyses",
        "",
        *(f"- {text}" for text in made.analyses),
        "",
        "Anything else is exploratory. The report lists where the study deviated from this document.",
        "",
    ]
    return "\n".join(lines)
