"""Commands on what is being collected: ``snapshot``, ``simulate-collection``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer


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
    from heartfelt.collect.frozen import collected_snapshot

    with progress_bar(f"reading {folder}") as report:
        frozen = collected_snapshot(folder, report)
        stamp = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
        target = frozen.write(out or folder / "snapshots" / stamp)
    print_overview(frozen, target)


def simulate_collection(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A study folder; its media need not be there.")
    ],
    raters: Annotated[
        int | None, typer.Option(min=1, help="People who come; as many as the design needs if left out.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials each gets; what the design says if left out.")
    ] = None,
    dropout: Annotated[
        float, typer.Option(min=0, max=0.99, help="Share of people who leave before they are through.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of all that is left to chance.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try a design before anybody is paid: simulated people, the real assignment, the coverage it ends with."""
    from heartfelt.cli import screen
    from heartfelt.collect.simulation import SimulationOptions
    from heartfelt.collect.simulation import simulate_collection as simulate

    with screen.progress_bar("simulating raters") as report:
        options = SimulationOptions(raters=raters, trials=trials, dropout=dropout, seed=seed)
        outcome = simulate(folder, options, report)
    if as_json:
        print(json.dumps(outcome.to_json(), indent=2))
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


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(snapshot)
    app.command("simulate-collection")(simulate_collection)
