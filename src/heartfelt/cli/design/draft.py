"""``heartfelt draft``: machines fill in the fields of a study that people verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, StudyFolder, app, err, out, progress_bar, say, say_template
from heartfelt.cli.flags import Defaults
from heartfelt.predictors.drafts.options import DraftOptions
from heartfelt.serialization import dumps
from heartfelt.wording import money, number, share

if TYPE_CHECKING:
    from heartfelt.predictors.drafts import Drafting, DraftPlan
    from heartfelt.predictors.drafts.result import DrafterRun


@app.command()
def draft(
    folder: StudyFolder,
    options: Annotated[DraftOptions, Defaults(cache=True)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it may cost; ask nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let machines fill in the questions that people verify: pixels, built-in models, a language model, or a file."""
    from heartfelt.api import stimuli
    from heartfelt.predictors.drafts import plan_drafts

    with progress_bar(f"reading {folder}") as report:
        if dry_run:
            plan = plan_drafts(folder, options, report)
        else:
            result = stimuli.draft(folder, options, progress=report)
    if dry_run:
        print(dumps(plan)) if as_json else _show_plan(plan)
        return
    print(dumps(result)) if as_json else _show(result)
    if result.failed:
        raise typer.Exit(1)


def _show_plan(plan: DraftPlan) -> None:
    for drafter in plan.drafters:
        named = f"{drafter.source}{f' ({drafter.version})' if drafter.version else ''}"
        say(f"{named}: {', '.join(drafter.fields)}")
        if drafter.problem:
            say(f"    cannot be asked: {drafter.problem}")
            continue
        say(f"    {drafter.stimuli:,} of {plan.stimuli:,} stimuli, {drafter.items:,} drafts to make")
        if drafter.requests:
            cost = (
                "unknown: give input_price and output_price" if drafter.cost is None else f"about {money(drafter.cost)}"
            )
            say(
                f"    {drafter.requests:,} requests, about {drafter.input_tokens:,} input"
                f" and {drafter.output_tokens:,} output tokens"
                f" ({drafter.basis}), cost {cost}"
            )
    say_template("undrafted", without=plan.without)
    say("Nothing was asked (--dry-run).")


def _show(result: Drafting) -> None:
    from rich.table import Table

    grid = Table(title=f"Drafts of {result.study}", title_justify="left")
    for name in ("field", "by", "drafted", "none", "new", "failed", "mean confidence"):
        right = name not in ("field", "by")
        grid.add_column(name, justify="right" if right else "left", overflow="fold")
    for field in result.fields:
        grid.add_row(
            field.field,
            ", ".join(field.sources) or "–",
            f"{field.drafted:,} of {field.items:,}",
            number(field.none),
            number(field.new),
            number(field.failed),
            share(field.confidence),
        )
    out.print(grid)
    for run in result.drafters:
        _show_run(run)
    say_template("drafted", result=result)


def _show_run(run: DrafterRun) -> None:
    """What one drafter did, how fast, and at what cost."""
    if run.problem is not None:
        err.print(f"{run.drafter} was not asked: {run.problem}", markup=False, soft_wrap=True)
    elif run.stimuli:
        speed = f", {number(1000 * run.seconds / run.stimuli, 1)} ms per stimulus" if run.seconds else ""
        say(f"{run.source}: {run.stimuli:,} stimuli in {run.seconds:,.1f} s{speed}{_spent(run)}")
        if run.limits:
            say(f"    what it cannot see: {run.limits}")


def _spent(run: DrafterRun) -> str:
    if not run.requests:
        return ""
    lacking = f" ({run.without_counts:,} without token counts)" if run.without_counts else ""
    cost = "" if run.cost is None else f", cost {money(run.cost)}"
    tokens = f"{run.input_tokens:,} input and {run.output_tokens:,} output tokens"
    return f", {run.requests:,} requests{lacking}, {tokens}{cost}"
