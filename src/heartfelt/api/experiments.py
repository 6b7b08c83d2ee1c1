"""Experiments on training: ``experiment``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartfelt.api.sources import snapshot_of
from heartfelt.errors import InputError, suggestion
from heartfelt.options import options_of
from heartfelt.training.experiments.options import AblationOptions, AmountOptions, ExperimentOptions, SweepOptions

if TYPE_CHECKING:
    from heartfelt.progress import Progress
    from heartfelt.snapshot import Snapshot
    from heartfelt.training.experiments import Experiment
    from heartfelt.training.experiments.running import ExperimentPlan, Setup
    from heartfelt.training.experiments.sweeping import SweepPlan

_ONLY_OF = {"by": ("mix", "transfer"), "base": ("mix",), "amounts": ("mix", "learning-curve")}


def experiment(
    kind: str,
    sources: Mapping[str, object],
    options: ExperimentOptions,
    ablation: AblationOptions,
    growth: AmountOptions,
    search: SweepOptions,
    *,
    out: Path | str,
    progress: Progress | None = None,
) -> Experiment:
    """Run an experiment on training; the same call into the same folder continues it.

    Parameters
    ----------
    kind : str
        ``ablate``, ``mix``, ``transfer``, ``learning-curve`` or ``sweep``.
    sources : mapping of str to Snapshot, Panel, path or table
        The ratings by name; the first is a mix's base.
    out : path
        The folder with the fits, the table, the figures and the page.

    Returns
    -------
    Experiment
        ``result.rows`` are the conditions with their scores and differences.
    """

    def read() -> list[tuple[str, Snapshot]]:
        return [(name, snapshot_of(source, progress=progress)) for name, source in sources.items()]

    result = run_experiment(kind, read, options, ablation, growth, search, out=out, progress=progress)
    assert result is not None
    return result


def run_experiment(
    kind: str,
    read: Callable[[], Sequence[tuple[str, Snapshot]]],
    options: ExperimentOptions,
    ablation: AblationOptions,
    growth: AmountOptions,
    search: SweepOptions,
    *,
    out: Path | str,
    only_planned: Callable[[Setup, ExperimentPlan | SweepPlan], None] | None = None,
    progress: Progress | None = None,
) -> Experiment | None:
    """The experiment, or None where ``only_planned`` takes its plan; what cannot be is refused before sources are read."""
    from heartfelt.report.pages.experiments import write_experiment
    from heartfelt.training.experiments import KINDS, prepare, run_plan, run_sweep
    from heartfelt.training.experiments.cells import CellStore
    from heartfelt.training.experiments.sweeping import SweepPlan

    if kind not in KINDS:
        raise InputError(f"No experiment is called '{kind}'.", suggestion(kind, KINDS, "Experiments"))
    _refuse_others(kind, options, ablation, growth, search)
    home = Path(out)
    CellStore(home, kind, options.recipe)
    engine = options.make_engine()
    try:
        setup = prepare(read(), options, progress)
        plan = _planned(kind, setup, ablation, growth, search)
        if only_planned is not None:
            only_planned(setup, plan)
            return None
        if isinstance(plan, SweepPlan):
            result = run_sweep(setup, plan, home, engine=engine, progress=progress)
        else:
            result = run_plan(setup, plan, home, engine=engine, progress=progress)
        write_experiment(result, home)
    finally:
        engine.close()
    return result


def _planned(
    kind: str, setup: Setup, ablation: AblationOptions, growth: AmountOptions, search: SweepOptions
) -> ExperimentPlan | SweepPlan:
    from heartfelt.training.experiments import plan_ablation, plan_learning_curve, plan_mix, plan_sweep, plan_transfer
    from heartfelt.training.experiments.comparing import SHARES

    if kind == "ablate":
        ways = [way for way, excluded in (("without", ablation.only), ("only", ablation.drop)) if not excluded]
        return plan_ablation(setup, ablation.fields, ways)
    if kind == "mix":
        return plan_mix(setup, growth.amounts or SHARES, growth.base)
    if kind == "transfer":
        return plan_transfer(setup)
    if kind == "learning-curve":
        return plan_learning_curve(setup, growth.over, growth.amounts, growth.ahead)
    tried = {name: setting_values(text, setup.fit.fields) for name, text in search.tried.items()}
    return plan_sweep(setup, tried, most=search.most, inner=search.inner)


def _refuse_others(kind: str, *objects: Any) -> None:
    """Refuse options of other experiments."""
    for options in objects:
        for name, field in options_of(type(options)).items():
            kinds = _ONLY_OF.get(name) or {AblationOptions: ("ablate",), SweepOptions: ("sweep",)}.get(
                type(options), (kind,)
            )
            if kind not in kinds and name != "inner" and getattr(options, name):
                raise InputError(
                    f"{field.written} is an option of {' and '.join(kinds)}, not of {kind}.", "Leave it out."
                )


def setting_values(text: str, names: Sequence[str] = ()) -> list[str]:
    """The values between commas; a name that has a comma itself, such as 'signal, levelled', stays whole."""
    values: list[str] = []
    for part in (piece.strip() for piece in text.split(",") if piece.strip()):
        start = part.partition("+")[0]
        joined = f"{values[-1].rpartition('+')[2]}, {start.strip()}" if values else ""
        if joined in names and start.strip() not in names:
            values[-1] = f"{values[-1]}, {part}"
        else:
            values.append(part)
    return values
