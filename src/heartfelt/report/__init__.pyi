from .analysis import write_analysis
from .bench.write import write_bench
from .conveyance import write_conveyance
from .experiments import write_experiment
from .figures import FIGURES
from .overview import write_overview
from .planning import write_plan
from .plotting import plot
from .training import write_evaluation

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
