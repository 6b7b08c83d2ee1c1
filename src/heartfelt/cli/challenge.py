"""Commands around a frozen benchmark: ``score``, ``serve-benchmark``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.bench import show_scores
from heartfelt.cli.command import app, say
from heartfelt.wording import plural

if TYPE_CHECKING:
    from heartfelt.benchmark.pinned import Verification

_SHOWN = 8
"""Differences that are listed one by one."""
_scoring = partial(typer.Option, rich_help_panel="Scoring")


@app.command()
def score(
    benchmark: Annotated[Path, typer.Argument(metavar="BENCHMARK", help="The folder of a frozen benchmark.")],
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS", help="A CSV, JSON Lines or Parquet file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write scores.json, scores.csv and manifest.json here."
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option("--part", "--split", metavar="NAME", help="Only this part of the split, such as test."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the model is called; the file's name if left out.")
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            metavar="MANIFEST",
            help="Score again with the options of an earlier manifest.json and list what differs.",
        ),
    ] = None,
    threshold: Annotated[float, _scoring(help="Scores above it mean yes, or present.")] = 0.0,
    resamples: Annotated[
        int, _scoring(help="Resamples of calibration intervals and of tests against chance.")
    ] = 10_000,
    seed: Annotated[int, _scoring(help="Seed of all resampling.")] = 0,
    interval_confidence: Annotated[
        float, _scoring(min=0.01, max=0.999, help="Confidence that the predicted intervals claim.")
    ] = 0.9,
) -> None:
    """Score a file of predictions against a frozen benchmark, with the same numbers on every machine."""
    from heartfelt.benchmark.pinned import read_manifest, score_pinned
    from heartfelt.benchmark.pinned import verify as compare
    from heartfelt.scoring import ScoreOptions

    options = ScoreOptions(
        threshold=threshold,
        resamples=resamples,
        seed=seed,
        part=part,
        interval_confidence=interval_confidence,
    )
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


def _show_verification(result: Verification) -> None:
    """Say whether the numbers are the same, and what differs; status 1 where they are not."""
    if result.same:
        say("Verified: every number is the same to the last digit.")
    else:
        count = plural(len(result.numbers), "value") if result.numbers else "Values"
        say(f"Not verified. {count} in scores.json differ:" if result.numbers else "Not verified.")
        say(*(f"• {each}" for each in result.numbers[:_SHOWN]))
    if result.facts:
        say("What else differs from the earlier run:", *(f"• {each}" for each in result.facts))
    if not result.same:
        raise typer.Exit(1)


_rules = partial(typer.Option, rich_help_panel="Rules")
_people = partial(typer.Option, rich_help_panel="Submitters")


@app.command("serve-benchmark")
def serve_benchmark(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A benchmark with hidden labels, or the private folder it is in."),
    ],
    part: Annotated[
        str, _rules("--part", "--split", metavar="NAME", help="The part with hidden labels.")
    ] = "test",
    step: Annotated[
        float | None, _rules(help="Step of published scores; chosen by the number of items if left out.")
    ] = None,
    per_day: Annotated[int, _rules(min=1, help="Submissions in 24 hours for each submitter.")] = 5,
    in_all: Annotated[int, _rules(min=1, help="Submissions in all for each submitter.")] = 100,
    megabytes: Annotated[float, _rules(min=0.01, help="How large a submission may be.")] = 16.0,
    add_submitter: Annotated[
        str | None, _people(metavar="NAME", help="Print a token for a submitter, and leave.")
    ] = None,
    revoke_submitter: Annotated[
        str | None, _people(metavar="NAME", help="Make a submitter's token invalid, and leave.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where submissions are stored; challenge.sqlite next to DIR if left out."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8200,
    url: Annotated[str | None, typer.Option(help="The public address, behind a proxy.")] = None,
    proxy: Annotated[
        str | None, typer.Option(metavar="ADDRESSES", help="Proxies whose forwarded headers are trusted.")
    ] = None,
) -> None:
    """Score submissions over HTTP against hidden labels, without giving the labels away."""
    from heartfelt.challenge.challenge import Challenge, ChallengeOptions
    from heartfelt.challenge.ledger import Limits
    from heartfelt.challenge.server import HostOptions, serve_challenge

    inner = folder / "benchmark"
    folder = inner if (inner / "manifest.json").is_file() else folder
    options = ChallengeOptions(part, step, Limits(per_day, in_all), megabytes)
    challenge = Challenge(folder, options, ledger=ledger)
    if add_submitter is not None:
        token = challenge.ledger.add_submitter(add_submitter)
        say(f"Token of {add_submitter}, shown only now: {token}")
        return
    if revoke_submitter is not None:
        challenge.ledger.revoke(revoke_submitter)
        say(f"The token of {revoke_submitter} is no longer valid.")
        return
    where = HostOptions(host, port, url, proxy)
    say(f"Scoring {plural(challenge.items.height, 'item')} of {challenge.title} at {where.address}/")
    for rung in challenge.rungs:
        say(
            f"• {rung.task}: {rung.title} on {plural(rung.items, 'item')}, published in steps of {rung.step:g}"
        )
    serve_challenge(challenge, where)
