"""``heartfelt plan``: what a study will show, take and cost, before anyone is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import AsJson, app, progress_bar, read_source, say
from heartfelt.errors import InputError


@app.command()
def plan(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; media are not needed.")],
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="SNAPSHOT", help="Ratings of a pilot: components, careless raters, drop-out, times."
        ),
    ] = None,
    raters: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of raters to try, such as 20,40,80.")
    ] = "",
    ratings: Annotated[str, typer.Option(metavar="N,N", help="Ratings per clip (or set) to try.")] = "",
    clips: Annotated[str, typer.Option(metavar="N,N", help="Clips per system and intent to try.")] = "",
    per_rater: Annotated[str, typer.Option(metavar="N,N", help="Trials per rater to try.")] = "",
    effect: Annotated[
        float | None,
        typer.Option(help="Smallest difference between two systems that matters, in points of the scale."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM=POINTS", help="A system's expected difference from the mean. May be repeated."
        ),
    ] = None,
    smallest_effect: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS", help="Also plan to show that systems are equivalent within so many points."
        ),
    ] = None,
    tastes: Annotated[
        float | None,
        typer.Option(
            metavar="SD", help="Spread of raters' tastes for systems, in points; the pilot's if left out."
        ),
    ] = None,
    careless: Annotated[float | None, typer.Option(help="Share of careless raters.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Share of raters who leave early.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds one trial takes.")] = None,
    pay_per_hour: Annotated[float | None, typer.Option(help="What a rater is paid per hour.")] = None,
    pay_per_rating: Annotated[float | None, typer.Option(help="What a rater is paid per trial.")] = None,
    fee: Annotated[float, typer.Option(help="Fee of the recruiting service, as a share on top.")] = 0.0,
    afford: Annotated[float | None, typer.Option(help="The budget.")] = None,
    power: Annotated[float, typer.Option(help="The power to aim for.")] = 0.8,
    policy: Annotated[str, typer.Option(help="Screening policy: default, strict or flag-only.")] = "default",
    studies: Annotated[int, typer.Option(help="Simulated studies per design, at most.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write plan.html, plan.json and figures."),
    ] = None,
    preregister: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="Write a preregistration, also to DIR/preregistration.json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a study through the real assignment and analysis: power, intervals, reliability, time and cost of designs."""
    from heartfelt.files import must_be_free
    from heartfelt.planning import PlanOptions, plan_study
    from heartfelt.planning.preregister import must_be_new
    from heartfelt.planning.preregister import preregister as register
    from heartfelt.planning.words import design_lines
    from heartfelt.report import write_plan
    from heartfelt.serialization import dumps

    if policy not in ("default", "strict", "flag-only"):
        raise InputError(f"A plan cannot use the policy '{policy}'.", "Use default, strict or flag-only.")
    if out is not None:
        must_be_free(out)
    if preregister is not None:
        must_be_new(folder, preregister)
    options = PlanOptions(
        raters=_numbers(raters, "raters"),
        ratings=_numbers(ratings, "ratings"),
        clips=_numbers(clips, "clips"),
        per_rater=_numbers(per_rater, "per-rater"),
        effect=effect,
        effects=_effects(expect),
        smallest_effect=smallest_effect,
        tastes=tastes,
        careless=careless,
        dropout=dropout,
        seconds=seconds,
        pay_per_hour=pay_per_hour,
        pay_per_rating=pay_per_rating,
        fee=fee,
        afford=afford,
        power=power,
        policy=policy,  # type: ignore[arg-type]  # checked above
        studies=studies,
        seed=seed,
    )
    with progress_bar(f"planning {folder}") as report:
        known = None if pilot is None else read_source(pilot, progress=report)
        made = plan_study(folder, options, pilot=known, progress=report)
        if out is not None:
            write_plan(made, out)
        if preregister is not None:
            register(made, folder, preregister)
    if as_json:
        print(dumps(made))
        return
    say(f"Pilot: {made.pilot.source}; up to {made.options.studies:,} simulated studies per design.")
    for number, each in enumerate(made.designs):
        head, *rest = design_lines(each)
        mark = (
            " (recommended)"
            if number == made.recommended
            else " (the study's own)"
            if each.design.own
            else ""
        )
        say(f"{head}{mark}", *rest)
    say("", *made.answers.sentences, *(f"note: {note}" for note in made.notes))
    if out is not None:
        say(f"Plan: {out / 'plan.html'}")
    if preregister is not None:
        say(f"Preregistration: {preregister}")


def _numbers(text: str, name: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InputError(
            f"--{name} {text}: not whole numbers with commas.", f"Write for example --{name} 20,40,80."
        ) from error


def _effects(pairs: list[str] | None) -> dict[str, float]:
    out = {}
    for pair in pairs or ():
        name, _, value = pair.rpartition("=")
        try:
            out[name] = float(value)
        except ValueError as error:
            raise InputError(
                f"--expect {pair}: not of the form SYSTEM=POINTS.", "Write for example --expect ModelA=0.4."
            ) from error
    return out
