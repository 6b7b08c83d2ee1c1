from .comparing import plan_ablation, plan_mix, plan_transfer
from .learning import plan_learning_curve
from .options import ExperimentOptions
from .results import KINDS, Experiment, ScoreRow
from .running import expected_seconds, listed_cells, prepare, run_plan
from .sweeping import plan_sweep, run_sweep

__all__ = [
    "KINDS",
    "Experiment",
    "ExperimentOptions",
    "ScoreRow",
    "expected_seconds",
    "listed_cells",
    "plan_ablation",
    "plan_learning_curve",
    "plan_mix",
    "plan_sweep",
    "plan_transfer",
    "prepare",
    "run_plan",
    "run_sweep",
]
