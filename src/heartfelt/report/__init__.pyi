from .analysis import write_analysis
from .bench.write import write_bench
from .figures import FIGURES
from .pages.conveyance import write_conveyance
from .pages.experiments import write_experiment
from .pages.overview import write_overview
from .pages.planning import write_plan
from .pages.training import write_evaluation
from .plotting import plot

__all__ = [
    "FIGURES",
    "plot",
    "write_analysis",
    "write_bench",
    "write_conveyance",
    "write_evaluation",
    "write_experiment",
    "write_overview",
    "write_plan",
]
