"""Commands around a frozen benchmark: ``score``, ``serve-benchmark``, and those of ``challenge`` (teams, the end, submissions)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, app, say, say_template
from heartfelt.cli.flags import App
from heartfelt.cli.modelling.bench import show_scores
from heartfelt.options import Without
from heartfelt.scoring.options import ScoreOptions
from heartfelt.serialization import dumps
from heartfelt.web.challenge.options import ChallengeOptions, HostOptions
from heartfelt.wording import plural

if TYPE_CHECKING:
    from heartfelt.publishing.submissions.ledger import SubmissionLedger
    from heartfelt.scoring.bench.pinned import ReproductionCheck

_SHOWN = 8
"""Differences that are listed one by one."""


@app.command()
def score(
    benchmark: Annotated[Path, typer.Argument(metavar="BENCHMARK", help="The folder of a frozen benchmark.")],
    predictions: Annotated[Path, typer.Argument(metavar="PREDICTIONS", help="A CSV, JSON Lines or Parquet file.")],
    options: Annotated[ScoreOptions, Without("slices")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write scores.json, scores.csv and manifest.json here."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the model is called; the file's name if left out.")] = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            metavar="MANIFEST", help="Score again with the options of an earlier manifest.json and list what differs."
        ),
    ] = None,
) -> None:
    """Score a file of predictions against a frozen benchmark, with the same numbers on every machine."""
    from heartfelt.scoring.bench.pinned import read_manifest, score_pinned
    from heartfelt.scoring.bench.pinned import verify as compare

    if verify is not None:
        earlier = read_manifest(verify)
        options, name = earlier.options, name or earlier.scored.model
    result = score_pinned(benchmark, predictions, options, name=name)
    show_scores(result.scores)
    say(f"sha256 of scores.json: {result.manifest.scores_sha256}")
    if out is not None:
        result.write(out)
        say(f"Scores: {out / 'scores.json'}", f"Manifest: {out / 'manifest.json'}")
    if verify is not None:
        _show_verification(compare(result, verify))


def _show_verification(result: ReproductionCheck) -> None:
    """Say whether the numbers are the same, and what differs; status 1 where they are not."""
    if result.same:
        say("Verified: every number is the same to the last digit.")
    else:
        count = plural(len(result.numbers), "value") if result.numbers else "Values"
        say(f"Not verified. {count} in scores.json differ:" if result.numbers else "Not verified.")
        say(*(f"• {difference}" for difference in result.numbers[:_SHOWN]))
    if result.facts:
        say("What else differs from the earlier run:", *(f"• {difference}" for difference in result.facts))
    if not result.same:
        raise typer.Exit(1)


_people = partial(typer.Option, rich_help_panel="Teams")
_Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A benchmark with hidden labels, or the private folder it is in.")
]
_Ledger = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where submissions are stored; challenge.sqlite next to DIR if left out."),
]


def _inner(folder: Path) -> Path:
    """The benchmark itself, where the folder around it was named."""
    inner = folder / "benchmark"
    return inner if (inner / "manifest.json").is_file() else folder


@app.command("serve-benchmark")
def serve_benchmark(
    folder: _Folder,
    options: ChallengeOptions,
    where: HostOptions,
    add_submitter: Annotated[
        str | None, _people(metavar="NAME", help="Print a token for a team of one, and leave.")
    ] = None,
    revoke_submitter: Annotated[
        str | None, _people(metavar="NAME", help="Make a team's tokens invalid, and leave.")
    ] = None,
    ledger: _Ledger = None,
) -> None:
    """Score submissions over HTTP against hidden labels, without giving the labels away."""
    from heartfelt.web.challenge.challenge import Challenge
    from heartfelt.web.challenge.server import serve_challenge

    challenge = Challenge(_inner(folder), options, ledger=ledger)
    if add_submitter is not None:
        token = challenge.ledger.add_member(add_submitter)
        say(f"Token of {add_submitter}, shown only now: {token}")
        return
    if revoke_submitter is not None:
        challenge.ledger.revoke(revoke_submitter)
        say(f"The token of {revoke_submitter} is no longer valid.")
        return
    say(f"Scoring {plural(challenge.items.height, 'item')} of {challenge.title} at {where.address}/")
    for rung in challenge.rungs:
        few = "" if rung.appears_from(1) is not None else "; too few for a score before the end"
        say(
            f"• {rung.task}: {rung.title} on {plural(rung.items, 'item')}, published in steps of {rung.step:g},"
            f" resolution {rung.resolution:.2f}{few}"
        )
    if challenge.ledger.fact("earlier step") is not None:
        say("What an earlier version scored is scored again by the present rules; a copy of its ledger is beside it.")
    serve_challenge(challenge, where)


challenge = App(
    name="challenge", help="Teams and the end of a challenge; a team's own submissions.", no_args_is_help=True
)
app.add_typer(challenge)


@challenge.command()
def team(
    folder: _Folder,
    name: Annotated[str | None, typer.Argument(metavar="TEAM", help="The team; all are listed if left out.")] = None,
    add: Annotated[
        str | None, typer.Option(metavar="MEMBER", help="Print a token for a member, who is added if new.")
    ] = None,
    remove: Annotated[str | None, typer.Option(metavar="MEMBER", help="Make a member's token invalid.")] = None,
    remove_all: Annotated[bool, typer.Option("--remove-all", help="Make all tokens of the team invalid.")] = False,
    ledger: _Ledger = None,
) -> None:
    """List teams and their members, give out tokens, or make them invalid. Limits and scores are per team."""
    from heartfelt.errors import InputError
    from heartfelt.publishing.submissions.ledger import SubmissionLedger
    from heartfelt.web.challenge.challenge import LEDGER

    inner = _inner(folder)
    if not (inner / "manifest.json").is_file():
        raise InputError(f"{folder} is not a benchmark.", "Point to the private folder that publish made.")
    book = SubmissionLedger(ledger or inner.resolve().parent / LEDGER)
    changes = add is not None or remove is not None or remove_all
    if name is None and changes:
        raise InputError("Which team is not said.", "Name it after the folder.")
    if name is None or not changes:
        _list_members(book, name)
    else:
        if add is not None:
            say(f"Token of {add} ({name}), shown only now: {book.add_member(name, add)}")
        if remove is not None or remove_all:
            book.revoke(name, None if remove_all else remove)
            say(f"No longer valid: {'all tokens' if remove_all else remove} ({name}).")
    book.close()


def _list_members(book: SubmissionLedger, team: str | None) -> None:
    """Say who is in a team, or in every team."""
    members = [member for member in book.members() if team in (None, member.team)]
    for member in members:
        say(f"{member.team}: {member.name}{'' if member.revoked is None else ', token no longer valid'}")
    if not members:
        say("No team yet. Add one: heartfelt challenge team DIR TEAM --add MEMBER")


@challenge.command()
def close(
    folder: _Folder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where the ranking is written; final next to DIR if left out."),
    ] = None,
    ledger: _Ledger = None,
) -> None:
    """End a challenge: no more submissions, and every team scored once, exactly, on the final part."""
    from heartfelt.web.challenge.final import close as closed
    from heartfelt.web.challenge.final import reopened, write_final
    from heartfelt.web.challenge.pages import final_page

    inner = _inner(folder)
    reopened_challenge = reopened(inner, ledger)
    final = closed(reopened_challenge)
    target = out or inner.resolve().parent / "final"
    write_final(final, final_page(reopened_challenge, final), target)
    say_template("final", final=final, target=target)
    reopened_challenge.ledger.close()


@challenge.command()
def submissions(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the challenge is served.")],
    token: Annotated[
        str, typer.Option(envvar="HEARTFELT_CHALLENGE_TOKEN", help="Your token.", prompt=True, hide_input=True)
    ],
    choose: Annotated[
        str | None, typer.Option(metavar="ID", help="Make this submission count in the final ranking.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List your team's submissions to a challenge, or choose the one that counts in the end."""
    from heartfelt.web.challenge.client import choose_final, own_submissions

    if choose is not None:
        choose_final(url, token, choose)
    listed = own_submissions(url, token)
    if as_json:
        print(dumps(listed))
        return
    say(f"{listed.team}: {listed.left_in_24_hours} left in 24 hours, {listed.left_in_all} in all.")
    for entry in listed.submissions:
        scores = ", ".join(f"{task} {value:g}" for task, value in entry.published.items())
        final = "  (counts in the final ranking)" if entry.final else ""
        say(f"{entry.received}  {entry.status:8}  {entry.name}  {entry.problem or scores}{final}  {entry.id}")
