"""Published datasets, each at home in a folder of its own; nothing else in heartfelt knows them by name.

A folder holds all that belongs to one dataset: reader and writer, recipe, starter, published layouts and figures. Its
``__init__`` registers a :class:`Dataset` that says what it offers; the registries of the other packages (formats,
recipes, starters, policies, published figures, layouts) take that in when they are first asked. Deleting a folder
removes the dataset and nothing else.
"""

from heartfelt.datasets.dataset import DATASETS, Dataset

__all__ = ["DATASETS", "Dataset"]
