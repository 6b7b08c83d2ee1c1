"""Commands on a collection: ``snapshot``, ``participants``, ``erase``, ``quota``, ``simulate-collection``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heartfelt.collect import Collection


def snapshot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; it may be running.")],
    out: Annotated[
        Path | None,
        typer.Argument(metavar="[OUT]", help="The snapshot folder to make; DIR/snapshots/NOW if left out."),
    ] = None,
) -> None:
    """Freeze what a study has collected so far, without stopping it."""
    from heartfelt.cli.overview import print_overview
    from heartfelt.cli.screen import progress_bar
    from heartfelt.collect.collection import collected_snapshot

    with progress_bar(f"reading {folder}") as report:
        result = collected_snapshot(folder, report)
        stamp = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
        target = result.write(out or folder / "snapshots" / stamp)
    print_overview(result, target)


def simulate_collection(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; its media are not needed.")],
    raters: Annotated[
        int | None, typer.Option(min=1, help="Raters who come; as many as the design needs if left out.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials per rater; as in the design if left out.")
    ] = None,
    dropout: Annotated[float, typer.Option(min=0, max=0.99, help="Share of raters who leave early.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try a design before anybody is paid: simulated raters, the real assignment, and the resulting coverage."""
    from heartfelt.cli import screen
    from heartfelt.collect.simulation import SimulationOptions
    from heartfelt.collect.simulation import simulate_collection as simulate
    from heartfelt.serialization import dumps

    with screen.progress_bar("simulating raters") as report:
        options = SimulationOptions(raters=raters, trials=trials, dropout=dropout, seed=seed)
        outcome = simulate(folder, options, report)
    if as_json:
        print(dumps(outcome))
        return
    gone = f", {outcome.turned_away} turned away" if outcome.turned_away else ""
    screen.out.print(
        f"{outcome.raters} raters ({outcome.left} left early{gone}) gave {outcome.ratings:,} ratings of"
        f" {outcome.stimuli:,} stimuli in {outcome.days:.2g} days"
    )
    screen.out.print(
        f"  {outcome.min} to {outcome.max} ratings each; {outcome.lost_stimuli} stimuli have too few for a label"
    )
    most = max(outcome.histogram.values(), default=1)
    for count, stimuli in outcome.histogram.items():
        screen.out.print(f"  {count:>6} {screen.bar(stimuli / most, 40)} {stimuli:,}")


Study = Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; it may be running.")]
Database = Annotated[
    str | None,
    typer.Option(help="URL of a PostgreSQL database; SQLite in the study folder if left out.", metavar="URL"),
]


def _open(folder: Path, database: str | None) -> Collection:
    from heartfelt.cli import screen
    from heartfelt.collect import Collection

    with screen.progress_bar(f"opening {folder}") as report:
        return Collection.open(folder, database=database, progress=report)


def participants(
    folder: Study,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a CSV file instead of printing it.")
    ] = None,
    database: Database = None,
) -> None:
    """List recruiters' participant ids with their raters as CSV: to pay, reject or match people."""
    from heartfelt.files import write_text
    from heartfelt.formats.delimited import csv_text

    with _open(folder, database) as collection:
        text = csv_text(collection.participants())
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)


def erase(
    folder: Study,
    participant: Annotated[str | None, typer.Option(help="The recruiter's id of the person.")] = None,
    rater: Annotated[str | None, typer.Option(help="The rater's id in this study.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    database: Database = None,
) -> None:
    """Delete everything about one person, for good. Only a count is left; their slots open again."""
    from heartfelt.cli import screen
    from heartfelt.collect.collection import snapshots_holding
    from heartfelt.errors import InputError

    if (participant is None) == (rater is None):
        raise InputError("erase needs exactly one person.", "Give --participant ID or --rater ID.")
    if not yes:
        typer.confirm(f"Delete everything about {participant or rater}, for good?", abort=True)
    with _open(folder, database) as collection:
        done = collection.erase(rater=rater, participant=participant)
    screen.out.print(f"Erased rater {done.rater}: {done.trials} answered trials.", markup=False)
    for path in snapshots_holding(folder, done.rater):
        screen.out.print(f"  {path} was frozen earlier and still contains them: delete it.", markup=False)


def quota(
    folder: Study,
    ratings: Annotated[int, typer.Argument(min=1, help="Ratings wanted for each item.")],
    database: Database = None,
) -> None:
    """Raise the number of ratings per item while the study runs; recorded as a version of the study."""
    from heartfelt.cli import screen
    from heartfelt.collect.commands import Change

    with _open(folder, database) as collection:
        before = collection.study.design.ratings_per_item
        collection.do(Change({"ratings_per_item": ratings}))
    screen.out.print(f"{folder}: {ratings} ratings per item from now on (before: {before}).", markup=False)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(snapshot)
    app.command()(participants)
    app.command()(erase)
    app.command()(quota)
    app.command("simulate-collection")(simulate_collection)
