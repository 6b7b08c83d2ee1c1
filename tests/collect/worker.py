"""A process of its own that rates for a study until it is stopped. It prints what it was told is stored.

``python -m tests.collect.worker FOLDER DATABASE RATERS SEED`` with an empty DATABASE for the file in the folder.
"""

from __future__ import annotations

import asyncio
import random
import sys
from typing import TypeVar

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    Command,
    Flag,
    Heartbeat,
    Leave,
    Next,
    Ready,
    ShowInstructions,
    ShowTrial,
)
from heartfelt.collect.messages.errors import StoreUnavailable, StudyClosed

R = TypeVar("R")


async def insist(collection: Collection, command: Command[R]) -> R:
    """Do a command, again and again while the store is unavailable, as pages do."""
    while True:
        try:
            return await collection.ask(command)
        except StoreUnavailable:
            await asyncio.sleep(0.05)


async def rate(collection: Collection, name: str, rng: random.Random) -> None:
    try:
        rater = (await insist(collection, Arrive(recruiter="simulated", person=name))).rater
    except StudyClosed:
        return
    step = await insist(collection, Next(rater))
    if isinstance(step, ShowInstructions):
        step = await insist(collection, Ready(rater))
    number = 0
    while isinstance(step, ShowTrial):
        number += 1
        await asyncio.sleep(rng.uniform(0, 0.004))
        draw = rng.random()
        if draw < 0.02:
            step = await insist(collection, Flag(rater, step.trial, reason="noise", skip=True))
            continue
        if draw < 0.05:
            await insist(collection, Heartbeat(rater, step.trial))
        if draw > 0.985:
            await insist(collection, Leave(rater))
            return
        # A pair is answered with a choice, a larger set with grades that share their tens; a stimulus with a point and, where
        # that is asked, a trace that holds it.
        judged = sum(member.kind == "judged" for member in step.members)
        value = rng.randint(0, 1) if judged == 2 else rng.randint(1, 9)
        given: dict[str, object] = {
            "valence": value,
            "course": {"samples": [None, *([value / 9] * 50)]},
            "grades": [10 * value + place for place in range(judged)],
        }
        asked = {question: given[question] for question in step.questions}
        command = Answer(rater, step.trial, key=f"{name}-{number}", values=asked)
        receipt = await insist(collection, command)
        print(f"{receipt.status} {rater} {step.trial} {value}", flush=True)
        if rng.random() < 0.05:
            again = await insist(collection, command)
            assert again.status == "already"
        assert receipt.next_step is not None
        step = receipt.next_step


async def main(folder: str, database: str, raters: int, seed: int) -> None:
    with Collection.open(folder, database=database or None) as collection:
        print("ready", flush=True)
        people = [rate(collection, f"{seed}-{n}", random.Random(seed * 1000 + n)) for n in range(raters)]
        await asyncio.gather(*people)
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
