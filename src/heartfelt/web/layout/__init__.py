"""Whether the rating pages of a study can be read: drawn in a browser where there is one, else estimated from the texts."""

from heartfelt.web.layout.check import LayoutCheck, check_layout
from heartfelt.web.layout.problem import LayoutProblem

__all__ = ["LayoutCheck", "LayoutProblem", "check_layout"]
