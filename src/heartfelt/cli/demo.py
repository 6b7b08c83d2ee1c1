"""``heartfelt demo``: the whole loop on embedded defaults, stage by stage, ending with a report to open.

A new stage is a function from the demo so far to a sentence about what it did, added to :data:`STAGES`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.errors import HeartfeltError, InputError

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot

RATERS = 36
DESIGN = {"ratings_per_item": 24, "stimuli_per_rater": 24}
CARELESS = {"random": 0.06, "straightline": 0.03, "colluder": 0.06}
MARKER = ".heartfelt-demo"


@dataclass(slots=True)
class Demo:
    """What the stages before have made."""

    folder: Path
    seed: int
    snapshot: Snapshot | None = None
    predictors: tuple[str, ...] = ("human", "intent", "system-mean", "constant")

    @property
    def study_folder(self) -> Path:
        """The study."""
        return self.folder / "study"

    def frozen(self) -> Snapshot:
        """The snapshot, once a stage has made it."""
        if self.snapshot is None:
            raise RuntimeError("the demo's stages are out of order: no snapshot yet")
        return self.snapshot


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the loop: what it is about to do, and the function that does it."""

    words: str
    run: Callable[[Demo], str]


def design(demo: Demo) -> str:
    """A small study of what clips convey, rendered on the spot."""
    from heartfelt.cli.screen import progress_bar
    from heartfelt.make.starter import StarterOptions, start_study
    from heartfelt.study.recipes import reference_recipe

    with progress_bar("rendering clips") as report:
        options = StarterOptions(per_cell=1, seed=demo.seed, design=DESIGN)
        made = start_study(reference_recipe(), demo.study_folder, options, report)
    study = made.study
    return f"{made.stimuli.height} clips by {len(study.systems)} systems for {len(study.intents)} intents in {demo.study_folder}"


def collect(demo: Demo) -> str:
    """Simulated raters, some of them careless, who come in by the study's own web pages."""
    from heartfelt.cli.screen import progress_bar
    from heartfelt.make.generators.music import MUSIC_SYSTEMS
    from heartfelt.simulate import RaterMix, TruthOptions
    from heartfelt.web.rehearsal import RehearsalOptions, rehearse

    options = RehearsalOptions(
        raters=RATERS,
        mix=RaterMix(shares=CARELESS, hazard=0.004),
        planted=TruthOptions(systems={name: system.conveyance for name, system in MUSIC_SYSTEMS.items()}),
        seed=demo.seed,
    )
    with progress_bar("simulated raters answer over HTTP") as report:
        visits, demo.snapshot = rehearse(
            demo.study_folder,
            options,
            report,
        )
    left = sum(visit.ending is None for visit in visits)
    return f"{demo.snapshot.survey.ratings:,} ratings by {RATERS} simulated raters ({left} left early), each stored as it was given"


def freeze(demo: Demo) -> str:
    """The snapshot: plain tables, frozen and hashed."""
    snapshot = demo.frozen()
    snapshot.write(demo.folder / "snapshot")
    return f"{demo.folder / 'snapshot'}, hash {snapshot.hash[:16]}"


def analyse(demo: Demo) -> str:
    """Screening, reliability, ceiling and conveyance; a page that opens offline with the clips in it."""
    from heartfelt.analysis import AnalyzeOptions, analyze
    from heartfelt.report import write_analysis

    made = analyze(demo.frozen(), AnalyzeOptions(seed=demo.seed))
    folder = write_analysis(made, demo.folder / "analysis")
    for path in folder.iterdir():
        path.rename(demo.folder / path.name)
    folder.rmdir()
    flagged = len(made.summary.screening.flagged)
    return f"{flagged} of {RATERS} raters flagged; {demo.folder / 'report.html'}"


def predict(demo: Demo) -> str:
    """What a model trained on real ratings hears in the same clips, beside what the raters said."""
    from heartfelt.cli.screen import progress_bar
    from heartfelt.conveyance import convey
    from heartfelt.report.conveyance import write_conveyance

    try:
        with progress_bar("listening to the clips") as report:
            conveyed = convey(demo.folder / "snapshot", progress=report)
    except HeartfeltError as error:
        # Its weights come over the network; everything else of the demo does without.
        return f"left out: {error.problem} {error.fix}"
    demo.predictors = (*demo.predictors, "valence-arousal")
    write_conveyance(conveyed, demo.folder / "predicted")
    return f"{conveyed.run.counts['answered']:,} predictions; {demo.folder / 'predicted' / 'report.html'}"


def score(demo: Demo) -> str:
    """What knowing only the system, only the cell, or one more person gives, under the ceiling."""
    from heartfelt.benchmark import BenchOptions
    from heartfelt.cli.screen import progress_bar
    from heartfelt.report.bench import run_bench
    from heartfelt.scoring import ScoreOptions

    options = BenchOptions(ScoreOptions(seed=demo.seed, resamples=2000))
    with progress_bar("scoring predictors") as report:
        made = run_bench(demo.frozen(), demo.predictors, demo.folder / "bench", options, report)
    first = made.scores.tasks[0]
    best = made.scores.leader(first.id)
    result = None if best is None else made.scores.find(first.id, best.model)
    answer = f"; no predictor beats chance on {first.id}"
    if best is not None and result is not None:
        answer = f"; best on {first.id}: {best.model}, {result.with_failures}, ceiling {result.ceiling}"
    return f"{len(demo.predictors)} predictors{answer}; {demo.folder / 'bench' / 'report.html'}"


STAGES: tuple[Stage, ...] = (
    Stage("Designing a study and rendering its clips", design),
    Stage("Serving the study and collecting ratings over HTTP", collect),
    Stage("Freezing everything into a snapshot", freeze),
    Stage("Screening raters, measuring trust, writing the report", analyse),
    Stage("Predicting what the clips convey", predict),
    Stage("Scoring predictors against the people", score),
)


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put the demo.")] = Path("demo"),
    replace: Annotated[bool, typer.Option("--replace", help="Make the demo anew if it is there.")] = False,
    seed: Annotated[int, typer.Option(help="The demo's seed.")] = 1,
) -> None:
    """Run the whole loop on embedded defaults and end with a report to open."""
    from heartfelt.cli import screen

    if folder.exists() and any(folder.iterdir()):
        if not replace or not (folder / MARKER).is_file():
            raise InputError(
                f"{folder} already exists" + ("." if not replace else " and is not a demo."),
                "Choose another folder"
                + (", or pass --replace to make the demo anew." if not replace else "."),
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    made = Demo(folder, seed)
    begun = time.monotonic()
    for place, stage in enumerate(STAGES, 1):
        screen.out.print(f"[{place}/{len(STAGES)}] {stage.words} …", markup=False)
        screen.out.print(f"      {stage.run(made)}", markup=False)
    screen.out.print(
        f"Done in {time.monotonic() - begun:.0f} s. Open {(folder / 'report.html').resolve()} in a browser.",
        markup=False,
    )


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(demo)
