"""The polarity of a question's categories: which are positive, which negative, or any other grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heartfelt.errors import InputError, suggestion
from heartfelt.study import Study
from heartfelt.study.recipes import RECIPES, recipe_study


def polarity_of(
    study: Study, categories: Sequence[str], groups_by_name: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The group of each category, in their order; empty where it is not known.

    In this order: what was given; the ``group`` of the study's intents of the same names; that of a registered recipe's intents
    that has all the categories, as those of Mikels et al. (2005) in eight emotions.
    """
    if groups_by_name:
        for name in groups_by_name:
            if name not in categories:
                raise InputError(
                    f"There is no category '{name}' to have a polarity.",
                    suggestion(name, categories, "Categories"),
                )
        lacking = [name for name in categories if name not in groups_by_name]
        if lacking:
            raise InputError(
                f"The polarity of '{lacking[0]}' is missing.", f"Give it for all: {', '.join(categories)}."
            )
        return tuple(groups_by_name[name] for name in categories)
    for candidate in (study, *(recipe_study(name) for name in RECIPES.names())):
        groups = {intent.id: intent.group for intent in candidate.intents if intent.group}
        chosen = [groups.get(name) for name in categories]
        if all(chosen) and len(set(chosen)) > 1:
            return tuple(str(group) for group in chosen)
    return ()


def group_numbers(groups: Sequence[str]) -> tuple[int, ...]:
    """The groups as numbers from 0, in the order they first appear."""
    order = list(dict.fromkeys(groups))
    return tuple(order.index(group) for group in groups)
