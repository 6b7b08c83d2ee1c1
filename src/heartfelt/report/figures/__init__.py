"""The figures of a report, one file each."""

from heartfelt.report.figures import (
    absolute_deviation,
    ceiling,
    confusion,
    deviation_by_cell,
    deviation_by_system,
    deviation_maps,
    distributions,
    distributions_by_system,
    perceived_maps,
    presence,
    ranking,
    rater_groups,
    raters,
    ratings_per_item,
    reliability_curve,
    sensitivity,
    slopes,
)
from heartfelt.report.figures.figure import FIGURES, Figure

__all__ = [
    "FIGURES",
    "Figure",
    "absolute_deviation",
    "ceiling",
    "confusion",
    "deviation_by_cell",
    "deviation_by_system",
    "deviation_maps",
    "distributions",
    "distributions_by_system",
    "perceived_maps",
    "presence",
    "ranking",
    "rater_groups",
    "raters",
    "ratings_per_item",
    "reliability_curve",
    "sensitivity",
    "slopes",
]
