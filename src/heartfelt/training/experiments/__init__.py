"""Experiments on training: ablation, mixing, transfer, learning curves and sweeps, resumable and without leaks."""

from heartfelt.training.experiments.comparing import plan_ablation, plan_mix, plan_transfer
from heartfelt.training.experiments.design import ExperimentOptions
from heartfelt.training.experiments.learning import plan_learning_curve
from heartfelt.training.experiments.results import KINDS, Experiment, ScoreRow
from heartfelt.training.experiments.running import expected_seconds, listed_cells, prepare, run_plan
from heartfelt.training.experiments.sweeping import plan_sweep, run_sweep

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
