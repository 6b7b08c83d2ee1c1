"""Write the head that is shipped with heartfelt: ``python scripts/ship_head.py SOURCE`` trains it, or takes a trained one.

SOURCE is the ratings with their media, or a folder written by ``heartfelt train``. The folder is the same as that of any other
trained head; only the licence of the weights is stated, and the licence and credit of the data where the folder does not have them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import heartfelt
from heartfelt.predictors.trained.folder import MODEL, NOT_STATED, DataSource
from heartfelt.predictors.trained.model import load_trained
from heartfelt.predictors.trained.valence_arousal import SHIPPED
from heartfelt.study.recipes import RECIPES, recipe_study
from heartfelt.training import train
from heartfelt.training.heads.card import card

LICENCE = "Apache-2.0"


def main(source: Path) -> None:
    """Train the head, or read it, and write it to where it is shipped from."""
    model = load_trained(source) if (source / MODEL).is_file() else train(heartfelt.read(source)).model
    model = replace(model, licence=LICENCE, data=tuple(_credited(part) for part in model.data))
    replace(model, card=card(model)).write(SHIPPED, replace=True)
    print(f"{SHIPPED}: weights {load_trained(SHIPPED).hash[:16]}")


def _credited(part: DataSource) -> DataSource:
    """Data with the licence and credit of the recipe of the same name, where the folder has none."""
    if part.licence != NOT_STATED or part.study not in RECIPES:
        return part
    return DataSource.of(recipe_study(part.study), part.snapshot)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
