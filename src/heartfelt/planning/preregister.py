"""A preregistration from a study and its plan, for people and for machines: the affordable design of the study's own stimuli.

Its sections are those of the usual templates (OSF Preregistration, PRP-QUANT, AsPredicted): hypotheses, design, sampling plan,
variables, exclusions, analysis plan.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Template

from heartfelt import __version__
from heartfelt.analysis.data.preregistration import FILE, Preregistration, registered_questions
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.planning.results import DesignForecast, StudyPlan
from heartfelt.planning.words import design_lines, target
from heartfelt.screening.policy import parse_policy
from heartfelt.screening.rules import RULES
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Study
from heartfelt.study.model import Question, say
from heartfelt.templates import text_templates
from heartfelt.wording import listed, number, percent

_TEXTS = tomllib.loads(files(__package__).joinpath("preregistration.toml").read_text("utf-8"))
RATINGS, COMPARISONS = (tuple(_TEXTS[kind]) for kind in ("ratings", "comparisons"))
STOPPING: str = _TEXTS["stopping"]


def registered_design(plan: StudyPlan) -> DesignForecast:
    """The cheapest design that can be registered: the study's own stimuli, within the budget, with the wanted power."""
    several = len(plan.designs[0].design.systems) > 1
    options = plan.options
    if several and options.effect is None and not options.effects:
        raise InputError(
            "A preregistration names the effect that the study is to find, and none was given.",
            f"Give --effect {0.5 if options.smallest_effect is None else options.smallest_effect:g}, the smallest difference"
            " between two systems that would matter,"
            " or each system's with --expect.",
        )
    within = _within_budget(plan)
    able = [forecast for forecast in within if not several or forecast.power >= options.power]
    if not able:
        raise _too_little_power(plan, max(within, key=lambda forecast: forecast.power))
    return min(able, key=lambda forecast: forecast.hours if forecast.cost_at_most is None else forecast.cost_at_most)


def _within_budget(plan: StudyPlan) -> list[DesignForecast]:
    """The designs of the study's own stimuli that the budget pays."""
    with_listed = [forecast for forecast in plan.designs if not plan.listed or forecast.design.stimuli == plan.listed]
    within = [forecast for forecast in plan.affordable if forecast in with_listed]
    if not within:
        cheapest = min(with_listed, key=lambda forecast: forecast.cost_at_most or 0.0)
        raise InputError(
            f"No design of the study's own {plan.listed:,} stimuli costs {number(plan.options.afford, 2)} or less: the cheapest,"
            f" {cheapest.words}, may cost {number(cheapest.cost_at_most, 2)}.",
            f"Raise the budget ({_afford(cheapest.cost_at_most or 0.0)}), or list fewer stimuli in the study.",
        )
    return within


def _too_little_power(plan: StudyPlan, best: DesignForecast) -> InputError:
    """That no design of the study's own stimuli has the wanted power, and which designs have it."""
    wanted, limit, first = plan.options.power, plan.options.afford, plan.first_reaching
    if first is None:
        more = "No design that was tried reaches it, so plan for a larger --effect or more stimuli"
    elif first.design.stimuli == plan.listed:
        cost = "" if first.cost_at_most is None else f" ({_afford(first.cost_at_most)})"
        more = f"Pay for the first design that reaches it, {first.words}{cost}"
    else:
        more = f"Make stimuli for the first design that reaches it, {first.words}, and list them in the study"
    money = "" if limit is None else f" for at most {number(limit, 2)}"
    return InputError(
        f"{best.words} is the best design of the study's own stimuli{money}; its power to find {target(plan)} is"
        f" {percent(best.power)}, and {percent(wanted)} was asked for.",
        f"{more}; or register the lower power, --power {int(100 * best.power) / 100:g}.",
    )


def preregistration_of(plan: StudyPlan, study: Study, written: str | None = None) -> Preregistration:
    """What is registered: the study's questions, rules and analyses, and the design of ``registered_design``."""
    chosen = registered_design(plan)
    design = chosen.design
    names, intents = (tuple(filter(None, listed_names)) for listed_names in (design.systems, design.intents))
    powers = [question.power for question in chosen.questions.values() if not question.power.is_missing]
    is_comparison = plan.kind == "comparison"
    return Preregistration(
        heartfelt=__version__,
        written=written or datetime.now(UTC).strftime("%Y-%m-%d"),
        study=study.name,
        hash=study.hash,
        hypotheses=_hypotheses(plan, chosen, names),
        raters=design.raters,
        ratings_per_item=design.ratings,
        stimuli_per_rater=design.per_rater,
        stimuli=design.stimuli,
        systems=names,
        intents=intents,
        minimum_ratings=study.design.minimum_ratings,
        questions=registered_questions(study),
        policy=plan.options.policy,
        analyses=COMPARISONS if is_comparison else (*_models(study, design.intents), *RATINGS),
        expected=(*map(str.strip, design_lines(chosen)[1:]), *_intervals(powers)),
        effect=target(plan) if powers else "",
        smallest_effect=plan.options.smallest_effect,
        power=chosen.power if powers else None,
        cost_at_most=chosen.cost_at_most,
        exclusions=_exclusions(plan.options.policy),
        stopping=STOPPING.format(
            unit="set" if design.sets else "stimulus",
            ratings=design.ratings,
            raters=design.raters,
            dropout=percent(plan.pilot.dropout),
        ),
        seed=plan.options.seed,
    )


def _intervals(powers: Sequence[Estimate]) -> dict[str, None]:
    """What the intervals of powers are, each once."""
    return dict.fromkeys(f"Intervals of powers: {power.interval}" for power in powers)


def _hypotheses(plan: StudyPlan, chosen: DesignForecast, names: tuple[str, ...]) -> tuple[str, ...]:
    out = []
    for question in chosen.questions:
        if plan.options.effects:
            order = sorted(plan.options.effects.items(), key=lambda named_effect: -named_effect[1])
            expected = listed([f"{name} ({value:+g})" for name, value in order])
            out.append(f"Under '{question}' systems differ as expected: {expected}.")
        elif len(names) > 1:
            out.append(f"Under '{question}' the systems ({listed(list(names))}) differ in their means.")
    if out and plan.options.smallest_effect is not None:
        out.append(
            f"Systems whose difference lies within {plan.options.smallest_effect:g} points are shown to be equivalent (two"
            " one-sided tests at .05, Holm)."
        )
    return tuple(out) or ("No difference is tested: the study estimates means and their reliability.",)


def _models(study: Study, intents: tuple[str, ...]) -> tuple[str, ...]:
    """The exact model of each question's ratings."""

    def outcome(question: Question) -> str:
        if question.axis and study.scale_of(question.id).level == "interval" and study.reference(question.axis):
            return f"{question.id} less its intent's reference"
        return question.id

    fixed = "system + intent" if len(intents) > 1 else "system"
    return tuple(
        f"{outcome(question)} ~ {fixed} + (1 | rater) + (1 | stimulus) + (1 | rater:system)" for question in study.asked
    )


def _exclusions(name: str) -> tuple[str, ...]:
    """The rules of a policy that leave raters out, with the settings they are applied with."""
    policy = parse_policy(name)
    out = []
    for rule, action in policy.actions.items():
        if action == "drop":
            settings = {key: default for key, (default, _) in RULES[rule].settings.items()} | dict(
                policy.settings.get(rule, {})
            )
            shown = ", ".join(f"{key} {value}" for key, value in settings.items())
            out.append(f"{rule}: level {policy.alpha:g}{', ' if shown else ''}{shown}")
    return tuple(out)


def must_be_new(folder: Path, target: Path) -> None:
    """Raise if a study is registered already: what was registered is never overwritten."""
    for path in (target, _home(folder) / FILE):
        if path.exists():
            raise InputError(
                f"{path} is there already; a preregistration is never overwritten.",
                "Move it away if nothing was collected yet, or write down the change as a deviation.",
            )


def _home(folder: Path) -> Path:
    return folder if folder.is_dir() else folder.parent


def preregister(plan: StudyPlan, folder: Path, target: Path) -> Preregistration:
    """Write the preregistration as Markdown to ``target`` and as ``preregistration.json`` into the study folder.

    Neither may be there yet: what was registered is never overwritten.
    """
    study = open_study(folder).study
    must_be_new(folder, target)
    preregistration = preregistration_of(plan, study)
    write_text(target, markdown(preregistration, plan, study))
    write_json(_home(folder) / FILE, preregistration)
    return preregistration


def markdown(preregistration: Preregistration, plan: StudyPlan, study: Study) -> str:
    return _template().render(
        registered=preregistration,
        title=say(study.title) or study.name,
        options=plan.options,
        pilot=plan.pilot,
        policy=parse_policy(preregistration.policy),
        pay=_pay(plan),
    )


@cache
def _template() -> Template:
    return text_templates("heartfelt.planning").get_template("preregistration.md.j2")


def _afford(cost: float) -> str:
    """The option that pays a cost, in whole units, as it can be typed."""
    return f"--afford {math.ceil(cost)}"


def _pay(plan: StudyPlan) -> str:
    options, parts = plan.options, []
    if options.pay_per_hour is not None:
        parts.append(f"{options.pay_per_hour:g} per hour")
    if options.pay_per_rating is not None:
        parts.append(f"{options.pay_per_rating:g} per trial")
    return listed([*parts, f"fee {percent(options.fee)}"])
