"""Experiments on training: ablation, mixing, transfer, learning curves and sweeps, resumable and without leaks."""

from heartfelt.experiments.comparing import plan_ablation, plan_mix, plan_transfer
from heartfelt.experiments.design import ExperimentOptions
from heartfelt.experiments.learning import plan_learning_curve
from heartfelt.experiments.results import KINDS, Experiment, ScoreRow
from heartfelt.experiments.running import expected_seconds, listed_cells, prepare, run_plan
from heartfelt.experiments.sweeping import plan_sweep, run_sweep

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
