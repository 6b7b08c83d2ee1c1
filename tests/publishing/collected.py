"""A study collected through the real store by people who typed what should not be published, with a roster of who they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from heartfelt.collect.collection import Collection
from heartfelt.collect.messages import commands
from heartfelt.collect.simulation import Clock, page_reply
from tests.media.metadata.tagged import SOUNDS

STUDY = """
name: collected
scales:
  nine: {type: points, points: 9}
  words: {type: text}
  consent: {type: yes-no}
demographics:
  - {id: age, text: Age, type: number}
  - {id: gender, text: Gender, type: choice, choices: [woman, man, other]}
  - {id: country, text: Country}
  - {id: diagnosis, text: Diagnosis, type: choice, choices: ["yes", "no", "not saying"]}
after:
  - {id: guess, text: What was it about, scale: words, required: false}
  - {id: no_comments, text: Keep my comments, scale: consent, wish: comments}
  - {id: no_answers, text: Keep my answers, scale: consent, wish: answers}
questions:
  - {id: valence, text: How pleasant, scale: nine}
  - {id: caption, text: Describe it, scale: words}
design: {ratings_per_item: 100}
"""
START = 1_767_225_600.0
DAY = 86_400.0
PHONE, MAIL = "+49 170 7654321", "lena.brandt@uni-example.org"
CITIZEN = "Liechtenstein"


@dataclass(frozen=True)
class Person:
    """Somebody who took part, as their neighbour knows them."""

    participant: str
    age: int
    gender: str
    country: str
    diagnosis: str
    day: int
    rater: str = ""
    captions: tuple[str, ...] = ("calm", "bright and quick", "like rain")
    comment: str | None = None
    guess: str | None = None
    no_comments: bool = False
    no_answers: bool = False


def people(count: int = 40) -> list[Person]:
    """Forty people; some typed who they are, one comes from where nobody else does, two do not want to share."""
    rng = np.random.default_rng(5)
    everybody = [
        Person(
            participant=rng.bytes(12).hex(),
            age=int(rng.integers(18, 71)),
            gender=str(rng.choice(["woman", "man", "other"], p=[0.5, 0.45, 0.05])),
            country=str(rng.choice(["Germany", "France", "Brazil", "South Korea"], p=[0.4, 0.3, 0.2, 0.1])),
            diagnosis=str(rng.choice(["yes", "no", "not saying"])),
            day=int(rng.integers(0, 6)),
        )
        for _ in range(count)
    ]
    changes: dict[int, dict[str, Any]] = {
        0: {"captions": ("calm", f"call me on {PHONE}", "like rain")},
        1: {"comment": f"write to {MAIL} please"},
        2: {"guess": f"my prolific id is {everybody[2].participant}"},
        3: {"country": CITIZEN, "age": 91},
        4: {"no_comments": True, "comment": "for the researchers only", "guess": "moods"},
        5: {"no_answers": True, "captions": ("never to be seen", "never to be read", "never at all")},
        6: {"guess": "what music makes people feel", "comment": "nice study"},
    }
    return [replace(person, **changes.get(place, {})) for place, person in enumerate(everybody)]


def collect(folder: Path, everybody: list[Person]) -> list[Person]:
    """Collect for a study in ``folder`` in the real store; return the people with the ids they were given."""
    (folder / "media").mkdir(parents=True)
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    names = [f"clip{number}" for number in range(3)]
    for name in names:
        SOUNDS["wav"](folder / "media" / f"{name}.wav")
    pl.DataFrame({"stimulus": names, "path": [f"{name}.wav" for name in names], "system": ["a", "a", "b"]}).write_csv(
        folder / "stimuli.csv"
    )
    clock = Clock(START)
    out = []
    with Collection.open(folder, clock=clock, options=commands.CollectOptions(seed=1, durable=False)) as collection:
        for place, person in enumerate(everybody):
            clock.now = START + person.day * DAY + 300.0 * place
            out.append(replace(person, rater=_visit(collection, clock, person)))
    return out


def _visit(collection: Collection, clock: Clock, person: Person) -> str:
    facts = {"session": f"{person.participant[::-1]}", "study": "61a0"}
    machine: dict[str, str | int | float | bool] = {"agent": "Mozilla", "width": 1000 + person.age}
    arrived = collection.do(
        commands.Arrive(recruiter="prolific", person=person.participant, facts=facts, device=machine)
    )
    about = {name: getattr(person, name) for name in ("age", "gender", "country", "diagnosis")}
    step: Any = collection.do(commands.Next(arrived.rater))
    while not isinstance(step, commands.SessionEnd):
        clock.now += 7.3
        if isinstance(step, commands.ShowTrial):
            place = (step.number - 1) % 3
            values = {"valence": 1 + (person.age + place) % 9, "caption": person.captions[place]}
            log = commands.TrialLog(seconds=6.1234, plays=1, device="computer")
            answer = commands.Answer(
                arrived.rater,
                step.trial,
                key=f"{person.participant}-{step.trial}",
                values=values,
                comment=person.comment,
                log=log,
            )
            step = collection.do(answer).next_step
        else:
            step = collection.do(page_reply(arrived.rater, step, about, lambda page: _page(person, page)))
    return arrived.rater


def _page(person: Person, page: commands.AskQuestionnaire) -> dict[str, Any]:
    given = {
        "guess": person.guess,
        "no_comments": "yes" if person.no_comments else "no",
        "no_answers": "yes" if person.no_answers else "no",
    }
    return {name: given[name] for name in page.questions if given[name] is not None}
