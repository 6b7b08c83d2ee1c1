"""Sentences from templates: every line of a macro is a sentence, or a clause of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial

from jinja2 import Environment

from heartfelt.analysis.text import highlights
from heartfelt.stats.estimate import FOR_RATERS, Estimate
from heartfelt.templates import text_templates
from heartfelt.wording import interval, listed, probability, share

READ_BY_TEMPLATES = (
    highlights.called,
    highlights.cell_words,
    highlights.differs,
    highlights.f_test,
    highlights.fitness,
    highlights.highest,
    highlights.if_careless,
    highlights.information,
    highlights.main_effects,
    highlights.mean_rating,
    highlights.single_rating,
)


def template_lines(template: str, macro: str, **values: object) -> list[str]:
    """The lines of a macro of ``FOLDER/templates/NAME.txt.j2`` below heartfelt for ``FOLDER/NAME``; empty ones are left out."""
    folder, _, name = template.rpartition("/")
    text: str = getattr(_environment().get_template(f"{folder}/templates/{name}.txt.j2").module, macro)(**values)
    return [line for line in text.split("\n") if line]


def template_text(template: str, macro: str, **values: object) -> str:
    """The lines of a macro one after another."""
    return " ".join(template_lines(template, macro, **values))


def capitalized(text: str) -> str:
    """The text with a capital at its start, all else as it is."""
    return f"{text[:1].upper()}{text[1:]}"


def extremes(estimates: Iterable[Estimate]) -> str:
    """``.63 to .81``, or one number where both are the same."""
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    return " to ".join(dict.fromkeys(share(limit) for limit in (min(values), max(values))))


def _listing(rows: Sequence[object], most: int = 8, *, caller: Callable[[object], str]) -> str:
    """Rows as a list in words, each as the body of a template's ``call`` writes it."""
    return listed([caller(row) for row in rows], most)


def _reversed(difference: Estimate) -> Estimate:
    """The same difference the other way round; as it is where it has no interval."""
    if difference.low is None or difference.high is None:
        return difference
    return replace(difference, value=-float(difference), low=-difference.high, high=-difference.low)


@cache
def _environment() -> Environment:
    environment = text_templates(
        "heartfelt",
        bare=partial(interval, bare=True),
        capitalized=capitalized,
        extremes=extremes,
        probability=probability,
    )
    environment.globals |= {function.__name__: function for function in READ_BY_TEMPLATES}
    environment.globals |= {
        "for_raters": FOR_RATERS,
        "listing": _listing,
        "reversed": _reversed,
        "most_raters": highlights.MOST_RATERS,
    }
    environment.tests["significant"] = highlights.is_significant
    return environment
