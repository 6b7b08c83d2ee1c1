"""Recipes: which embedding, which questions, which heads. ``va-audio``, ``va-image`` and ``mos-audio``."""

from __future__ import annotations

from dataclasses import dataclass

from heartfelt.registry import Registry


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained.

    ``questions`` are the ids to take where the study has them; none named, or none found, takes every question answered
    with numbers. ``with_text`` marks, by a part of the question's id, those that are about the fit of stimulus and text.
    """

    name: str
    about: str
    embedding: str
    questions: tuple[str, ...] = ()
    with_text: tuple[str, ...] = ()
    text_embedding: str | None = None
    kinds: tuple[str, ...] = ("ridge", "kernel")

    def embedding_of(self, question: str) -> str:
        """The embedding a question's head looks through."""
        about_text = any(part in question.casefold() for part in self.with_text)
        return self.text_embedding if about_text and self.text_embedding else self.embedding


RECIPES: Registry[Recipe] = Registry("training recipe")
for _recipe in (
    Recipe("va-audio", "valence and arousal of music", "music", ("valence", "arousal"), kinds=("kernel",)),
    Recipe("va-image", "valence and arousal of pictures", "picture", ("valence", "arousal")),
    Recipe(
        "mos-audio",
        "opinion of music: impression from the sound, alignment from the sound and its prompt together",
        "music",
        ("impression", "alignment"),
        ("align", "fit", "match"),
        "music-words",
        ("ridge", "mlp", "ordinal"),
    ),
):
    RECIPES.add(_recipe.name, _recipe)
