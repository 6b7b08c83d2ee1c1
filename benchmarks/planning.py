"""A planning grid of 50 designs x 200 simulated studies of AImoclips' size on two cores: the limit is 60 s."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from heartfelt.planning import PlanOptions, plan_study
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study

LIMIT = 60.0


def main() -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "study"
        start_study("aimoclips", folder, StarterOptions(per_cell=14, media=False, seed=None))
        _six_systems(folder)
        grid = PlanOptions(
            clips=(13, 14), ratings=(4, 5, 6, 7, 8), per_rater=(48, 52, 56, 60, 64), studies=200, workers=2
        )
        began = time.perf_counter()
        made = plan_study(folder, grid)
        took = time.perf_counter() - began
        worked = sum(
            part.ru_utime + part.ru_stime
            for part in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )
    sizes = [each.ratings_given for each in made.designs]
    print(
        f"{len(made.designs)} designs x {grid.studies} studies of {min(sizes):,.0f} to {max(sizes):,.0f} ratings"
        f" (mean {sum(sizes) / len(sizes):,.0f}) x 2 questions: {took:.1f} s on two cores, {worked:.1f} s of processor time"
        f" (limit {LIMIT:.0f} s, {'met' if took < LIMIT else 'NOT met'})"
    )


def _six_systems(folder: Path) -> None:
    """The recipe's four systems made six, as AImoclips has."""
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    rows = (folder / "stimuli.csv").read_text(encoding="utf-8").splitlines()
    for old, new in (("Sinewood", "Reedorgan"), ("Pluckbox", "Glassharp")):
        rows += [row.replace(old, new) for row in rows if row.startswith(old)]
        line = next(each for each in text.splitlines() if f"id: {old}" in each)
        text = text.replace(line, f"{line}\n{line.replace(old, new)}")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
