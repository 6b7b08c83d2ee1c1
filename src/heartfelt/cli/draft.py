"""``heartfelt draft``: machines fill in the fields of a study that people verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, StudyFolder, app, err, out, progress_bar, say
from heartfelt.cli.flags import Defaults
from heartfelt.predictors.drafts.options import DraftOptions
from heartfelt.serialization import dumps
from heartfelt.wording import money, number, percent, plural, share

if TYPE_CHECKING:
    from heartfelt.predictors.drafts import Drafting, DraftPlan


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
    _show_without(plan.without)
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
        if run.problem is not None:
            err.print(f"{run.drafter} was not asked: {run.problem}", markup=False, soft_wrap=True)
        elif run.stimuli:
            speed = f", {number(1000 * run.seconds / run.stimuli, 1)} ms per stimulus" if run.seconds else ""
            tokens = ""
            if run.requests:
                lacking = f" ({run.without_counts:,} without token counts)" if run.without_counts else ""
                tokens = f", {run.requests:,} requests{lacking}, {run.input_tokens:,} input and {run.output_tokens:,} output tokens"
                tokens += "" if run.cost is None else f", cost {money(run.cost)}"
            say(f"{run.source}: {run.stimuli:,} stimuli in {run.seconds:,.1f} s{speed}{tokens}")
            if run.limits:
                say(f"    what it cannot see: {run.limits}")
    for field in result.fields:
        for reason, count in field.problems.items():
            say(f"  {field.field}, {count:,} failed: {reason}")
    _show_without(result.without)
    if result.duplicates:
        share_of = percent(result.duplicate_images / max(1, result.stimuli))
        say(
            f"{plural(result.duplicates, 'group')} of near-duplicates with {result.duplicate_images:,} images ({share_of}):"
            f" {result.folder / 'drafts_duplicates.csv'}"
        )
    if result.spent is not None:
        say(f"All drafts of the study have cost {money(result.spent)} so far.")
    if result.failed:
        again = " Run the command again to ask for them." if any(run.requests for run in result.drafters) else ""
        say(f"{result.failed:,} drafts are missing; {result.folder / 'drafts_ledger.csv'} says why.{again}")
    say(f"Drafts: {result.folder / 'drafts.parquet'}")


def _show_without(names: tuple[str, ...]) -> None:
    if names:
        say(
            f"No machine is named for {', '.join(names)}: add --with chat:MODEL@URL, or a key 'draft' to each question."
        )
