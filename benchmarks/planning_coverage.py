"""How often the ranges predicted from a pilot contain what all ratings show: 20 of AImoclips' raters, a tenth of vcc2018."""

from __future__ import annotations

import os
from pathlib import Path

from tests.planning.predicted import covered, published, vcc2018

from heartfelt.formats import read

CHOICES = 40


def main() -> None:
    data = Path(os.environ.get("HEARTFELT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    for name, about, raters in (
        ("AImoclips, 20 of 111 raters", published(read(data / "aimoclips"), 4), 20),
        ("vcc2018, 27 of 270 judges", published(vcc2018(data), 1), 27),
    ):
        print(f"{name}, {CHOICES} random choices: share of 95% ranges that contain the figure of all ratings")
        for (question, figure), share in covered(about, raters, CHOICES, 100).items():
            print(f"  {question:10} {figure:18} {share:.3f}", flush=True)


if __name__ == "__main__":
    main()
