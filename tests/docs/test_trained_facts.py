"""What the pages say of the recipes and of the shipped head, held to the recipes and the head themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.predictors.trained.embeddings import EMBEDDINGS
from heartfelt.predictors.trained.valence_arousal import shipped
from heartfelt.serialization import from_json
from heartfelt.training import RECIPES, ProtocolScore, TrainingRecipe
from heartfelt.training.heads.fitting import COMPONENTS
from heartfelt.wording import listed, number, percent

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("va-audio", "va-image", "mos-audio")
HEADS = ("recipe", "embedding", "questions", "learns from", "heads to choose from")
NETWORKS = ("msd", "msd-pools", "tags")


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def joined(page: str) -> str:
    """A page without its line breaks."""
    return " ".join(text_of(page).split())


def embedding_words(recipe: TrainingRecipe) -> str:
    words = EMBEDDINGS[recipe.embedding].about
    for question, blocks in recipe.ignored.items():
        names = listed([" ".join(reversed(block.split(", "))) for block in blocks])
        words += f"; {question or 'other questions'}: without {names}"
    if recipe.text_embedding:
        asked = [name for name in recipe.questions if recipe.embedding_of(name) == recipe.text_embedding]
        words += f"; {', '.join(asked)}: {EMBEDDINGS[recipe.text_embedding].about}"
    return words


def recipe_rows() -> list[str]:
    """The table of recipes on docs/training.md, from the recipes."""
    rows = [HEADS]
    for name in NAMES:
        recipe = RECIPES[name]
        heads = [f"{kind} ({recipe.components} components)" if kind != "ridge" else kind for kind in recipe.kinds]
        learned = "single answers" if recipe.raters else "means"
        rows.append((f"`{name}`", embedding_words(recipe), ", ".join(recipe.questions), learned, ", ".join(heads)))
    head, *lines = [f"| {' | '.join(row)} |" for row in rows]
    return [head, f"|{'---|' * len(HEADS)}", *lines]


def test_the_table_of_recipes_is_that_of_the_recipes() -> None:
    table = "\n".join(recipe_rows())
    assert table in text_of("training.md"), f"docs/training.md should have this table:\n{table}"
    assert f"the leading {COMPONENTS} components)" in joined("training.md")


def test_the_page_of_the_shipped_head_says_what_it_was_made_from() -> None:
    page, model = joined("valence-arousal.md"), shipped()
    facts, panel = model.facts, model.facts.panel
    sizes = {block.name: block.size for block in model.look().blocks}
    sound = sum(size for name, size in sizes.items() if name not in NETWORKS and not name.endswith(", levelled"))
    (components,) = {output.head.arrays["basis"].shape[1] for output in model.outputs}
    assert components == RECIPES[model.recipe].components
    for words in (
        f"{sound} numbers of the sound itself",
        f"radial basis functions over the {components} leading components",
        f"{facts.stimuli:,} of the 1,008 clips",
        f"text-to-music systems: {', '.join(facts.systems)};",
        f"{panel['retained']} of {panel['raters']} raters (policy `{facts.policy}`)",
        f"{panel['ratings_retained']:,} of {panel['ratings']:,} ratings",
        f"Snapshot `{facts.snapshot[:16]}`, seed {facts.seed}",
        model.hash[:16],
    ):
        assert words in page, words


@pytest.mark.parametrize("part", ["system", "intent", "stimulus"])
def test_the_page_of_the_shipped_head_says_how_far_off_it_is(part: str) -> None:
    page, model = joined("valence-arousal.md"), shipped()
    valence, arousal = (model.output(name) for name in ("valence", "arousal"))
    assert valence is not None
    assert arousal is not None
    widths = f"{valence.half_width:.2f} for valence and {arousal.half_width:.2f} for arousal"
    assert f"The half-width is usually {widths}" in page
    between = {
        "system": "between systems",
        "intent": "between intents of a system",
        "stimulus": "between clips of a cell",
    }
    errors = f"{valence.errors[part]:.2f} and {arousal.errors[part]:.2f} {between[part]}"
    assert errors in page, errors


def test_the_page_of_the_shipped_head_says_how_its_intervals_and_single_answers_do() -> None:
    page = joined("valence-arousal.md")
    scores = [from_json(ProtocolScore, row) for row in shipped().facts.evaluation]
    left_out = {(score.question, score.raters): score for score in scores if score.protocol == "leave-one-system-out"}
    valence, arousal = (left_out[name, "screened"] for name in ("valence", "arousal"))
    covered = f"{percent(valence.coverage, 1)} of the screened labels of valence and {percent(arousal.coverage, 1)} of arousal"
    assert f"they covered {covered}" in page
    assert f"{percent(left_out['valence', 'everyone'].unlike_training, 1)} of the clips flagged" in page
    assert valence.answers is not None
    assert arousal.answers is not None
    for name in ("crps", "ceiling", "blind"):
        pair = (getattr(each.answers, name).value for each in (valence, arousal))
        words = " and ".join(number(value, 2) for value in pair)
        assert words in page or words.replace(" and ", " points for valence and ") in page, f"{name}: {words}"
