"""Studies of 20 trials in a real collection, with honest raters of many styles and scripts that cheat in eight ways.

Clips last twelve seconds. The studies: ``rating`` (two questions on nine points, every clip to be heard to its end), ``mushra``
(a reference and five versions, as the recipe: something of each must be heard) and ``arena`` (pairs with ties, both to
be heard to the end).

| cheat | answers | listening |
|---|---|---|
| instant | at random, within .4 s | nothing is reported |
| constant delay | at random, after 5 s each time | one play is reported |
| one clip heard | at random | only the first clip of the session, or the first of every set, is played |
| forged reports | at random, after .3 to 3 s | everything is reported as played |
| pattern | the same cycle over and over | real |
| copied | those of an honest rater, trial by trial | real |
| two accounts | honest, from a browser in which somebody has taken part before | real |
| headless browser | at random, in a person's time | real |
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import CollectOptions, ShowTrial, TrialLog
from heartfelt.collect.simulation import Clock, CollectionClient, SimulatedRater, TrialReply, run_visits, visit
from heartfelt.simulate import Habits, judge
from heartfelt.simulate.sessions.random_answers import simulated_answer, simulated_demographics
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from heartfelt.study.recipes import recipe_study, recipe_text
from heartfelt.study.scales.set_scale import Choice, Grade

CHEATS = (
    "instant",
    "constant delay",
    "one clip heard",
    "forged reports",
    "pattern",
    "copied",
    "two accounts",
    "headless browser",
)
STUDIES = ("rating", "mushra", "arena")
TRIALS = 20
CLIP = 12.0
_START = 1_800_000_000.0
_PARTS: Mapping[str, Mapping[str, Any]] = {
    "rating": {
        "scales": {"nine": {"type": "points", "points": 9}},
        "questions": [{"id": name, "text": name, "scale": "nine"} for name in ("valence", "arousal")],
        "design": {"listening": "full"},
    },
    "mushra": {
        "scales": {"quality": {"type": "grade", "low": 0, "high": 100, "step": 1}},
        "questions": [{"id": "quality", "text": "quality", "scale": "quality"}],
        "sets": {"type": "mushra", "rule": "by-prompt", "reference": "original", "anchors": ["anchor"]},
        "design": {"listening": "started"},
    },
    "arena": {
        "scales": {"better": {"type": "choice", "ties": True}},
        "questions": [{"id": "better", "text": "better", "scale": "better"}],
        "sets": {"type": "pair", "rule": "across-systems"},
        "design": {"listening": "full"},
    },
}
_SYSTEMS = {"rating": tuple("ABCDEF"), "mushra": ("original", "anchor", "A", "B", "C"), "arena": tuple("ABCDEF")}
_PROMPTS = {"rating": 10, "mushra": TRIALS, "arena": 6}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who takes part: how they use the scale, how fast they are, how they listen."""

    name: str
    kind: str = "honest"
    noise: float = 1.0
    gain: float = 1.0
    shift: float = 0.0
    coarse: bool = False
    tie_width: float = 0.5
    pace: float = 4.0
    """Median seconds for an answer after listening."""
    patience: float = 1.0
    """Share of every clip that is heard where it need not be heard to the end."""
    failures: float = 0.0
    """Share of trials in which the player reports nothing."""
    said: list[Any] = field(default_factory=list)


def honest_person(name: str, rng: np.random.Generator, kind: str = "honest") -> Person:
    """A person of any style: extreme, narrow, coarse, noisy, hurried, slow, with a player that fails now and then."""
    return Person(
        name=name,
        kind=kind,
        noise=float(np.exp(rng.normal(0.0, 0.3))),
        gain=float(rng.choice([1.0, 1.0, 1.0, 2.0, 0.5])),
        shift=float(rng.normal(0.0, 0.4)),
        coarse=bool(rng.random() < 0.1),
        tie_width=float(rng.choice([0.2, 0.5, 1.0])),
        pace=float(4.0 * np.exp(rng.normal(0.0, 0.5))),
        patience=float(rng.uniform(0.2, 1.0)),
        failures=float(rng.choice([0.0, 0.0, 0.02, 0.05])),
    )


def write_study(folder: Path, name: str, seed: int, *, recipe: bool = False) -> Path:
    """The folder of a study, with clips of noise that last twelve seconds."""
    import soundfile

    rng = np.random.default_rng([seed, 1])
    (folder / "media").mkdir(parents=True)
    study = recipe_study(name) if recipe else parse_study(_study_text(name))
    prompts = [prompt.id for prompt in study.prompts] or [intent.id for intent in study.intents]
    systems = ("original", "anchor35", "anchor70", "A") if recipe and name == "mushra" else _SYSTEMS[name]
    rows = ["stimulus,path,system,prompt,intent"]
    for prompt, system in itertools.product(prompts, systems):
        stimulus = f"{system}-{prompt}"
        soundfile.write(folder / "media" / f"{stimulus}.wav", 0.01 * rng.standard_normal(1200), 100)
        rows.append(
            f"{stimulus},{stimulus}.wav,{system},{prompt if study.prompts else ''},{prompt if study.intents else ''}"
        )
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "study.yaml").write_text(recipe_text(name) if recipe else _study_text(name), encoding="utf-8")
    return folder


def _study_text(name: str) -> str:
    parts = dict(_PARTS[name])
    parts["design"] = {
        **parts["design"],
        "stimuli_per_rater": TRIALS,
        "ratings_per_item": 400,
        "practice": 0,
        "expected_seconds": 120,
    }
    intents = [{"id": f"p{prompt}"} for prompt in range(_PROMPTS[name])]
    prompts = [{"id": f"p{prompt}", "text": f"prompt {prompt}"} for prompt in range(_PROMPTS[name])]
    study = {"heartfelt": 1, "name": name, "media": "audio", "intents": intents, "prompts": prompts, **parts}
    return str(yaml.safe_dump(study))


class Crowd:
    """The raters of one study: what the stimuli convey, and how each kind of person replies to a trial."""

    def __init__(self, collection: Collection, seed: int) -> None:
        self._collection, self._study = collection, collection.study
        rng = np.random.default_rng([seed, 2])
        stimuli = collection.opened.stimuli
        system = {name: rng.normal(0.0, 1.0, 2) for name in sorted(set(stimuli["system"]))}
        if "original" in system:
            system = {name: -1.0 + 0.7 * level for name, level in system.items()}
            system |= {"original": np.array([6.0, 6.0])}
            system |= {made_by: np.array([-3.0, -3.0]) for made_by in system if made_by.startswith("anchor")}
        self.truth = {
            stimulus: system[made_by] + rng.normal(0.0, 0.7, 2)
            for stimulus, made_by in stimuli.select("stimulus", "system").iter_rows()
        }
        self._seed = seed
        self.people: list[Person] = []

    def rater(self, person: Person, source: Person | None = None) -> SimulatedRater:
        rng = np.random.default_rng([self._seed, 3, len(self.people)])
        self.people.append(person)
        reply = self._reply_of(person, source, rng)
        about = simulated_demographics(self._study)
        return SimulatedRater(name=person.name, answer=reply, about=about, page_seconds=float(rng.uniform(3, 20)))

    def _reply_of(
        self, person: Person, source: Person | None, rng: np.random.Generator
    ) -> Callable[[ShowTrial], TrialReply]:
        def reply(trial: ShowTrial) -> TrialReply:
            names = self._shown(trial)
            given = self._answers(person, source, trial, names, rng)
            person.said.append(given)
            seconds = float(person.pace * np.exp(0.4 * rng.standard_normal()))
            return _timed(person, trial, given, len(names), seconds, self._study.design.listening, rng)

        return reply

    def _shown(self, trial: ShowTrial) -> list[str]:
        media = [member.media for member in trial.members] or [trial.media]
        files = [self._collection.media(name or "") for name in media]
        return [file.stimulus for file in files if file is not None]

    def _answers(
        self, person: Person, source: Person | None, trial: ShowTrial, names: list[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        number = trial.number - 1
        if person.kind == "copied" and source is not None:
            return dict(source.said[number % len(source.said)])
        judged = [
            name for place, name in enumerate(names) if not trial.members or trial.members[place].kind == "judged"
        ]
        honest = person.kind in {"honest", "two accounts"}
        out = {}
        for place, question in enumerate(trial.questions):
            scale = self._study.scale_of(question)
            if person.kind == "pattern":
                out[question] = _pattern(scale, number + place, len(judged))
            elif not honest:
                out[question] = simulated_answer(scale, rng, len(judged))
            else:
                out[question] = self._honest(person, scale, [self.truth[name][place] for name in judged], rng)
        return out

    def _honest(self, person: Person, scale: Any, truth: list[float], rng: np.random.Generator) -> Any:
        if isinstance(scale, Choice):
            return judge(scale, truth, rng, Habits(noise=person.noise, tie_width=person.tie_width))
        latent = person.shift + person.gain * (np.array(truth) + person.noise * rng.standard_normal(len(truth)))
        if isinstance(scale, Grade):
            grades = 100 / (1 + np.exp(-latent))
            return [float(10 * round(grade / 10) if person.coarse else round(grade)) for grade in grades]
        points = np.clip(np.round(5 + 1.6 * latent), 1, 9)
        return int(4 * np.clip(round((points[0] - 5) / 3), -1, 1) + 5 if person.coarse else points[0])


def _pattern(scale: Any, number: int, members: int) -> Any:
    if isinstance(scale, Choice):
        return number % 2
    if isinstance(scale, Grade):
        return [float(20 + 15 * ((place + number) % 5)) for place in range(members)]
    return (1, 3, 5, 7, 9, 7, 5, 3)[number % 8]


def _timed(
    person: Person,
    trial: ShowTrial,
    given: dict[str, Any],
    clips: int,
    seconds: float,
    listening: str,
    rng: np.random.Generator,
) -> TrialReply:
    """The reply with its timing and what the page, or the script, reports about listening."""
    kind, sets = person.kind, bool(trial.members)

    def reply(played: list[float], duration: float, plays: int = 1, net: float = seconds) -> TrialReply:
        parts = tuple(((0.0, round(end, 3)),) if end else () for end in played)
        log = TrialLog(seconds=net, plays=plays, device="computer")
        if sets:
            log = replace(log, played=parts)
        elif parts:
            log = replace(log, intervals=parts[0])
        return TrialReply(values=given, seconds=net, duration=duration, log=log)

    if kind == "instant":
        return reply([0.0] * clips, float(rng.uniform(0.05, 0.4)), plays=0, net=0.0)
    if kind == "constant delay":
        return reply([], 5.0, net=5.0)
    if kind == "forged reports":
        return reply([CLIP] * clips, float(rng.uniform(0.3, 3.0)))
    if kind == "one clip heard":
        played = [CLIP, *[0.0] * (clips - 1)] if sets or trial.number == 1 else [0.0]
        return reply(played, sum(played) + seconds, plays=int(sum(played) > 0))
    share = 1.0 if listening == "full" else person.patience
    played = [CLIP * share * (1.0 if share == 1 else float(rng.uniform(0.7, 1.0))) for _ in range(clips)]
    spent = sum(played) + seconds + float(rng.uniform(0.2, 1.5))
    net = max(0.0, spent - CLIP * clips)
    if rng.random() < person.failures:
        return reply([0.0] * clips, spent, plays=0, net=net)
    return reply(played, spent, net=net)


@dataclass(frozen=True, kw_only=True)
class Cheated:
    """A collected study and who its raters are: the kind of each, and the honest raters whose answers were copied."""

    collection: Collection
    snapshot: Snapshot
    kinds: Mapping[str, str]
    sources: frozenset[str]


@contextmanager
def cheated(
    name: str, seed: int, *, honest: int, cheats: int = 1, kinds: tuple[str, ...] = CHEATS, recipe: bool = False
) -> Iterator[Cheated]:
    """Collect a study of ``honest`` raters and ``cheats`` of each kind; one of the study's type, or the recipe of that name."""
    rng = np.random.default_rng([seed, 4])
    clock, options = Clock(_START), CollectOptions(seed=seed, durable=False)
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as temporary:
        folder = write_study(Path(temporary) / name, name, seed, recipe=recipe)
        with Collection.open(folder, clock=clock, options=options) as collection:
            crowd = Crowd(collection, seed)
            clients: dict[str, CollectionClient] = {}

            def visits(people: list[tuple[Person, Person | None]]) -> list[Iterator[float]]:
                out = []
                for person, source in people:
                    before = {"raters_before": 1} if person.kind == "two accounts" else {}
                    client = CollectionClient(collection, person.name, {"class": "computer", **before})
                    clients[person.name] = client
                    out.append(visit(client, crowd.rater(person, source), lambda _: None))
                return out

            careful = [honest_person(f"h{number}", rng) for number in range(honest)]
            run_visits(visits([(person, None) for person in careful]), clock)
            others: list[tuple[Person, Person | None]] = []
            sources: list[Person] = []
            for kind, _ in itertools.product(kinds, range(cheats)):
                source = careful[len(sources) % len(careful)] if kind == "copied" else None
                sources += [source] if source is not None else []
                others.append((honest_person(f"c{len(others)}", rng, kind), source))
            run_visits(visits(others), clock)
            ids = {name: client.rater for name, client in clients.items()}
            yield Cheated(
                collection=collection,
                snapshot=collection.snapshot(),
                kinds={ids[person.name]: person.kind for person in crowd.people},
                sources=frozenset(ids[source.name] for source in sources),
            )
