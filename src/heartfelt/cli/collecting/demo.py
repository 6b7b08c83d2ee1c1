"""``heartfelt demo``: the whole loop on embedded defaults, stage by stage, ending with a report to open.

A new stage is a function from the demo so far to a sentence about what it did, added to :data:`STAGES`.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import app, progress_bar, say
from heartfelt.clock import fixed_clock
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.progress import Progress

if TYPE_CHECKING:
    from heartfelt.analysis import Analysis
    from heartfelt.report.layout.page import Section
    from heartfelt.snapshot import Snapshot
    from heartfelt.stimuli.prompts.prompt import StimulusPrompt
    from heartfelt.study import Study

RATERS = 36
JUDGES = 20
VERIFIERS = 8
PLANTED = 0.15
DESIGN = {"ratings_per_item": 24, "stimuli_per_rater": 24}
PLANNED, EFFECT = (12, 24), 2.0
"""The ratings per clip that are compared before the study, and the difference between systems it should find."""
CLIP_SECONDS, CROP_SECONDS = 6.0, 5.0
CARELESS = {"random": 0.06, "straightline": 0.03, "colluder": 0.06}
MARKER = ".heartfelt-demo"
MADE_ON = datetime(2026, 1, 1, tzinfo=UTC)
"""The moment that the demo writes wherever files hold the time, so that the same seed gives the same bytes."""
MAY_DIFFER = ("collected.sqlite", ".media-probes.parquet", "journal.jsonl")
"""The files that two demos with the same seed need not share: a database, and two records that know media by their age."""


@dataclass(slots=True, kw_only=True)
class Demo:
    """What the stages before have made."""

    folder: Path
    seed: int
    snapshot: Snapshot = field(init=False)
    sections: list[Section] = field(default_factory=list)
    """What the report says about the steps before the first rater."""
    related: dict[str, Analysis] = field(default_factory=dict)
    """Smaller studies, by the folder of their report."""
    predictors: tuple[str, ...] = ("human", "intent", "system-mean", "constant")


def plan(demo: Demo, progress: Progress) -> str:
    """A small study of what clips convey, without its clips yet, and what it will show: simulated before anybody rates."""
    from heartfelt.planning import PlanOptions, plan_study
    from heartfelt.report import write_plan
    from heartfelt.report.pages.planning import plan_section
    from heartfelt.stimuli.options import StarterOptions
    from heartfelt.stimuli.starter import start_study
    from heartfelt.study.recipes import reference_recipe

    started = StarterOptions(per_cell=1, media=False, seed=demo.seed, design=DESIGN)
    start_study(reference_recipe(), demo.folder / "study", started, progress)
    options = PlanOptions(ratings=PLANNED, effect=EFFECT, studies=40, workers=1, seed=demo.seed)
    planned = plan_study(demo.folder / "study", options, progress=progress)
    write_plan(planned, demo.folder / "plan")
    demo.sections.append(plan_section(planned, "plan/plan.html"))
    return f"{planned.answers.sentences[0]} {demo.folder / 'plan' / 'plan.html'}"


def make(demo: Demo, progress: Progress) -> str:
    """The clips, by the built-in synthesiser in the place of four systems, as make.yaml says."""
    from heartfelt.files import write_text
    from heartfelt.stimuli import MakeOptions, make_study
    from heartfelt.study import load_study

    folder = demo.folder / "study"
    systems = [f"  {system.id}: {{generator: synth-music}}\n" for system in load_study(folder).systems]
    write_text(folder / "make.yaml", f"per_cell: 1\nseconds: {CLIP_SECONDS}\nsystems:\n{''.join(systems)}")
    # On one device clips are made one after the other, and the ledger lists them in that order.
    generated = make_study(folder, MakeOptions(device="cpu"), progress)
    return (
        f"{generated.complete} clips by {len(generated.systems)} systems, their provenance in {folder / 'stimuli.csv'}"
    )


def prepare(demo: Demo, progress: Progress) -> str:
    """Every clip cropped and brought to the same loudness; how systems differed before and after."""
    from heartfelt.report.pages.preparation import preparation_section, write_preparation
    from heartfelt.stimuli.options import PrepareOptions
    from heartfelt.stimuli.preparation.preparing import prepare as run

    options = PrepareOptions(seconds=CROP_SECONDS, between=(0.0, 1.0), rate=None, format=".flac")
    done = run(demo.folder / "study", options, progress)
    write_preparation(done, demo.folder / "preparation")
    demo.sections.append(preparation_section(done, "preparation/report.html"))
    count = f"{len(done.stimuli) - len(done.failed)} of {len(done.stimuli)} clips prepared"
    return f"{count}; {demo.folder / 'preparation' / 'report.html'}"


def collect(demo: Demo, progress: Progress) -> str:
    """Simulated raters, some of them careless, who come in by the study's own web pages."""
    from heartfelt.simulate import RaterMix, TruthOptions
    from heartfelt.stimuli.synthesis.music import MUSIC_SYSTEMS
    from heartfelt.web.serving.rehearsal import RehearsalOptions, rehearse

    options = RehearsalOptions(
        raters=RATERS,
        mix=RaterMix(shares=CARELESS, hazard=0.004),
        planted=TruthOptions(systems={name: system.conveyance for name, system in MUSIC_SYSTEMS.items()}),
        seed=demo.seed,
    )
    visits, demo.snapshot = rehearse(demo.folder / "study", options, progress)
    left_early = sum(visit.ending is None for visit in visits)
    ratings = f"{demo.snapshot.survey.ratings:,} ratings"
    return f"{ratings} by {RATERS} simulated raters ({left_early} left early), each stored as it was given"


def freeze(demo: Demo, _: Progress) -> str:
    """The snapshot: plain tables, frozen and hashed."""
    demo.snapshot.write(demo.folder / "snapshot")
    return f"{demo.folder / 'snapshot'}, hash {demo.snapshot.hash[:16]}"


def compare(demo: Demo, progress: Progress) -> str:
    """A small arena of the same systems: people compare two clips at a time, the next pair where it tells most."""
    from heartfelt.analysis import AnalyzeOptions, analyze
    from heartfelt.report import write_analysis
    from heartfelt.simulate import RaterMix
    from heartfelt.stimuli.options import StarterOptions
    from heartfelt.stimuli.starter import start_study
    from heartfelt.web.serving.rehearsal import RehearsalOptions, rehearse

    folder = demo.folder / "arena"
    start_study("arena", folder / "study", StarterOptions(per_cell=1, seed=demo.seed), progress)
    options = RehearsalOptions(raters=JUDGES, mix=RaterMix(shares={"random": 0.1}), seed=demo.seed)
    _, snapshot = rehearse(folder / "study", options, progress)
    snapshot.write(folder / "snapshot")
    demo.related["arena"] = analysis = analyze(snapshot, AnalyzeOptions(seed=demo.seed), progress)
    _moved(write_analysis(analysis, folder / "analysis", progress=progress), folder)
    trials = snapshot.ratings["trial"].n_unique()
    return f"{trials:,} comparisons by {JUDGES} simulated raters; {folder / 'report.html'}"


def verify(demo: Demo, progress: Progress) -> str:
    """A small study of images: machines draft fields, simulated people judge the images and verify the drafts."""
    from heartfelt.analysis import AnalyzeOptions, analyze
    from heartfelt.collect import CollectOptions
    from heartfelt.predictors.drafts import draft_from_pixels
    from heartfelt.report import write_analysis
    from heartfelt.simulate import RaterMix, VerifierMix
    from heartfelt.stimuli.options import StarterOptions
    from heartfelt.stimuli.starter import STARTERS, start_study
    from heartfelt.study.recipes import drafted_recipe
    from heartfelt.web.serving.rehearsal import RehearsalOptions, rehearse

    recipe, folder = drafted_recipe(), demo.folder / "images"
    if recipe is None:
        return "left out: no recipe has questions that a machine fills in first"
    design = {"ratings_per_item": VERIFIERS, "practice": 0}
    started = start_study(recipe, folder / "study", StarterOptions(seed=demo.seed, design=design), progress)
    draft_from_pixels(folder / "study", progress)
    options = RehearsalOptions(
        raters=VERIFIERS,
        mix=RaterMix(shares={}),
        verifying=VerifierMix(shares={"rubber-stamper": 0.25}),
        collecting=CollectOptions(planted=PLANTED),
        intended=_intended(started.study, [planned.ask for planned in STARTERS[recipe](1).stimuli]),
        seed=demo.seed,
    )
    _, snapshot = rehearse(folder / "study", options, progress)
    snapshot.write(folder / "snapshot")
    demo.related["images"] = analysis = analyze(snapshot, AnalyzeOptions(seed=demo.seed), progress)
    _moved(write_analysis(analysis, folder / "analysis", progress=progress), folder)
    verdicts = snapshot.fields["verdict"].drop_nulls()
    people = f"{VERIFIERS} simulated raters, {len(analysis.summary.screening.flagged)} of them flagged"
    return f"{len(verdicts):,} drafts verified by {people}; {folder / 'report.html'}"


def _intended(study: Study, prompts: Sequence[StimulusPrompt]) -> dict[str, dict[str, float]]:
    """By question, what each intent is to convey: the synthesiser's coordinates on 1 to 9, moved onto the question's scale."""
    out: dict[str, dict[str, float]] = {}
    for question in study.asked:
        bounds = study.scale_of(question.id).bounds()
        if bounds is not None and not question.machine_first:
            span = bounds[1] - bounds[0]
            values = {ask.intent: ask.coordinates.get(question.id) for ask in prompts}
            coordinates = {name: value for name, value in values.items() if value is not None}
            out[question.id] = {name: bounds[0] + span * (value - 1) / 8 for name, value in coordinates.items()}
    return {question: values for question, values in out.items() if values}


def _moved(source: Path, target: Path) -> None:
    """Move what a folder holds into another."""
    for path in source.iterdir():
        path.rename(target / path.name)
    source.rmdir()


def analyse(demo: Demo, progress: Progress) -> str:
    """Screening, reliability, ceiling and conveyance; a page that opens offline with the clips in it."""
    from heartfelt.analysis import AnalyzeOptions, analyze
    from heartfelt.report import write_analysis

    analysis = analyze(demo.snapshot, AnalyzeOptions(seed=demo.seed), progress)
    target = demo.folder / "analysis"
    shown = write_analysis(analysis, target, related=demo.related, before=demo.sections, progress=progress)
    _moved(shown, demo.folder)
    flagged = len(analysis.summary.screening.flagged)
    return f"{flagged} of {RATERS} raters flagged; {demo.folder / 'report.html'}"


def predict(demo: Demo, progress: Progress) -> str:
    """What a model trained on real ratings hears in the same clips, next to what the raters answered."""
    from heartfelt.report.pages.conveyance import write_conveyance
    from heartfelt.scoring.conveyance import convey

    try:
        conveyed = convey(demo.folder / "snapshot", progress=progress)
    except HeartfeltError as error:
        # Its weights come over the network; everything else of the demo does without.
        return f"left out: {error.problem} {error.fix}"
    demo.predictors = (*demo.predictors, "valence-arousal")
    folder = write_conveyance(conveyed, demo.folder / "predicted")
    return f"{conveyed.run.counts['answered']:,} predictions; {folder / 'report.html'}"


def score(demo: Demo, progress: Progress) -> str:
    """What knowing only the system, only the cell, or one more person gives, under the ceiling."""
    from heartfelt.report.bench.write import run_bench
    from heartfelt.scoring import ScoreOptions
    from heartfelt.scoring.bench import BenchOptions

    options = BenchOptions(score=ScoreOptions(seed=demo.seed, resamples=2000))
    bench = run_bench(demo.snapshot, demo.predictors, demo.folder / "bench", options, progress)
    task = bench.scores.tasks[0].id
    best = bench.scores.leader(task)
    result = None if best is None else bench.scores.find(task, best.model)
    answer = f"no predictor beats chance on {task}"
    if best is not None and result is not None:
        answer = f"best on {task}: {best.model}, {result.with_failures}, ceiling {result.ceiling}"
    return f"{len(demo.predictors)} predictors; {answer}; {demo.folder / 'bench' / 'report.html'}"


def publish(demo: Demo, progress: Progress) -> str:
    """A dataset for everybody: pseudonyms, coarsened facts about raters, splits, card, codebook and checksums."""
    from heartfelt.files import write_text
    from heartfelt.publishing.options import PublishOptions
    from heartfelt.publishing.publish import publish as run

    target = demo.folder / "published"
    # A real study's key is drawn at random; the demo's raters are simulated, and its pseudonyms the same each time.
    key = hashlib.sha256(f"heartfelt demo {demo.seed}".encode()).hexdigest()
    (demo.folder / "published-private").mkdir()
    write_text(demo.folder / "published-private" / "key", f"{key}\n", private=True)
    done = run(demo.snapshot, target, PublishOptions(figures=False, seed=demo.seed, texts="search"), progress=progress)
    shared = f"every fact about a rater is shared by {done.record.k} or more"
    return f"{len(done.record.steps)} steps to make it anonymous ({shared}); {target / 'README.md'}"


def show(demo: Demo, progress: Progress) -> str:
    """The benchmark as a static site: leaderboards, a page per model and per clip, how to submit."""
    from heartfelt.report.site import SiteOptions, write_site

    options = SiteOptions(title="The demo's benchmark", release=demo.folder / "published")
    site = write_site(demo.folder / "bench", demo.folder / "site", options, progress)
    return f"{site / 'index.html'}"


STAGES: Mapping[str, Callable[[Demo, Progress], str]] = {
    "Planning a study: what it will show": plan,
    "Making its clips": make,
    "Preparing the clips: crops, loudness, checks": prepare,
    "Serving the study and collecting ratings over HTTP": collect,
    "Freezing everything into a snapshot": freeze,
    "Comparing the systems in a small arena": compare,
    "Drafting fields of images and verifying them": verify,
    "Screening raters, measuring trust, writing the report": analyse,
    "Predicting what the clips convey": predict,
    "Scoring predictors against the people": score,
    "Publishing the dataset so that nobody can be identified": publish,
    "Building the benchmark's site": show,
}


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put the demo.")] = Path("demo"),
    replace: Annotated[bool, typer.Option("--replace", help="Make the demo anew if it is there.")] = False,
    seed: Annotated[int, typer.Option(help="The demo's seed.")] = 1,
) -> None:
    """Run the whole loop on embedded defaults and end with a report to open."""
    if folder.exists() and any(folder.iterdir()):
        if not replace:
            fix = "Choose another folder, or pass --replace to make the demo anew."
            raise InputError(f"{folder} already exists.", fix)
        if not (folder / MARKER).is_file():
            raise InputError(f"{folder} already exists and is not a demo.", "Choose another folder.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    state = Demo(folder=folder, seed=seed)
    begun = time.monotonic()
    for stage_number, (words, stage) in enumerate(STAGES.items(), 1):
        say(f"[{stage_number}/{len(STAGES)}] {words} …")
        with progress_bar(words) as report, fixed_clock(MADE_ON):
            outcome = stage(state, report)
        say(f"      {outcome}")
    page = (folder / "report.html").resolve()
    say(f"Done in {time.monotonic() - begun:.0f} s. Open {page} in a browser.")
