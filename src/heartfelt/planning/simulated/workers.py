"""Simulating designs in two processes: a helper of our own takes every second design.

The helper is ``python -m heartfelt.planning.simulated.workers``, not a pool: a pool would import the caller's main module
again, which a script without a guard does not survive. Where the helper fails, its designs are simulated here.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.pilot import Pilot
from heartfelt.planning.simulated.comparison import simulate_comparisons
from heartfelt.planning.simulated.design import PlannedDesign, StudyContents
from heartfelt.planning.simulated.simulation import SimulatedDesign, simulate_design

LEAST_RATINGS = 8_000_000
"""Simulated ratings below which starting a second process costs more than it gains."""


@dataclass(frozen=True, slots=True, eq=False)
class DesignWork:
    """Everything a design is simulated from."""

    material: StudyContents
    pilot: Pilot
    dropout: float
    options: PlanOptions

    def simulate(self, design: PlannedDesign) -> SimulatedDesign:
        run = simulate_comparisons if self.material.compares else simulate_design
        return run(self.material, design, self.pilot, self.dropout, self.options, self.options.studies)


def simulate_all(
    work: DesignWork, designs: Sequence[PlannedDesign], done: Callable[[int], None] = lambda _: None
) -> list[SimulatedDesign]:
    """Simulate the designs, in their order; ``done`` is told how many are finished."""
    both = len(designs) > 1 and _pays(work, designs)
    own_designs, delegated = (designs[::2], designs[1::2]) if both else (designs, [])
    simulated: list[SimulatedDesign] = []

    def simulate(part: Sequence[PlannedDesign]) -> list[SimulatedDesign]:
        for design in part:
            simulated.append(work.simulate(design))
            done(len(simulated))
        return simulated[-len(part) :]

    if not delegated:
        return simulate(own_designs)
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
        results = Path(folder) / "simulated.pickle"
        with _helped(work, delegated, results) as helper:
            own_results = simulate(own_designs)
            finished = helper is not None and helper.wait() == 0
            delegated_results = pickle.loads(results.read_bytes()) if finished else simulate(delegated)
    done(len(designs))
    out: list[SimulatedDesign] = [*designs]  # type: ignore[list-item]  # replaced, place by place
    out[::2], out[1::2] = own_results, delegated_results
    return out


def _pays(work: DesignWork, designs: Sequence[PlannedDesign]) -> bool:
    """Whether there is work for a second process, and a processor for it."""
    workers = work.options.workers or min(2, os.cpu_count() or 1)
    size = sum(design.wanted for design in designs) * work.options.studies
    return workers > 1 and size >= LEAST_RATINGS and bool(sys.executable)


@contextmanager
def _helped(
    work: DesignWork, designs: Sequence[PlannedDesign], results: Path
) -> Iterator[subprocess.Popen[bytes] | None]:
    """A helper that simulates designs, ended with the block; None where it does not start."""
    helper = _start(work, designs, results)
    try:
        yield helper
    finally:
        if helper is not None and helper.poll() is None:
            helper.kill()
            helper.wait()


def _start(work: DesignWork, designs: Sequence[PlannedDesign], results: Path) -> subprocess.Popen[bytes] | None:
    command = [sys.executable, "-P", "-m", "heartfelt.planning.simulated.workers", str(results)]
    with tempfile.TemporaryFile() as task:
        pickle.dump((work, list(designs)), task)
        task.seek(0)
        try:
            return subprocess.Popen(command, stdin=task, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:
            return None


if __name__ == "__main__":
    given, wanted = pickle.load(sys.stdin.buffer)
    Path(sys.argv[1]).write_bytes(pickle.dumps([given.simulate(design) for design in wanted]))
