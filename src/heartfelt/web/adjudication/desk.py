"""What lies on the desk of senior raters: the items that wait, which of them is given to whom, and how each is shown.

The items are read from the store when something has changed, at most every few seconds. An item that is given to somebody
is given to others of the same server process last for a while; whoever decides an item first wins, in every process.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import threading
import time
from collections.abc import Callable, Hashable
from collections.abc import Collection as Container
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, cast

from starlette.requests import HTTPConnection

from heartfelt.collect import Collection
from heartfelt.collect.reading.adjudication import AdjudicationDecision, AdjudicationItem, AdjudicationState, counted
from heartfelt.errors import InputError
from heartfelt.study import Study
from heartfelt.study.consistency.adjudication import answer_key
from heartfelt.web.study.background import IDLE_SHARE, Reader

HELD_SECONDS = 600.0
"""How long an item that was shown to a senior rater is kept from others."""
_ID_BYTES = 6


class OfferedAnswer(NamedTuple):
    """One of the answers that were given: the words or the number, how many gave it, and what they made of the draft."""

    words: float | str
    raters: int
    accepted: int = 0
    fixed: int = 0
    machine: bool = False
    """Whether it is the machine's draft."""


class QueueCounts(NamedTuple):
    """How many items wait and are decided, and how many decisions are this senior rater's."""

    waiting: int
    decided: int
    mine: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """An item as it is shown to one senior rater."""

    id: str
    sight: str
    """A digest of what is shown: an answer that came in since makes another one."""
    seen: int
    """The number of the latest change when it was read."""
    item: AdjudicationItem
    options: tuple[OfferedAnswer, ...]
    rejected: int
    """Raters who rejected the draft without another answer."""


class AdjudicationQueue:
    """The items of one study, for any number of senior raters."""

    def __init__(
        self,
        collection: Collection,
        secret: bytes,
        seconds: float,
        reader: Reader | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._collection = collection
        self._secret = secret
        self._seconds = seconds
        self._reader = reader or Reader(collection)
        self._clock = clock
        self._lock = threading.Lock()
        self._state = AdjudicationState(-1, ())
        self._by_id: dict[str, AdjudicationItem] = {}
        self._read_at = self._took = 0.0
        self._held: dict[str, tuple[str, float]] = {}
        self._just_decided: dict[str, int] = {}

    def next(self, adjudicator: str, skipped: Container[str] = ()) -> ShownItem | None:
        """The next item for a senior rater: all questions about a stimulus come one after the other."""
        with self._lock:
            self._refresh()
            chosen = self._pick(adjudicator, skipped)
            if chosen is None and self._refresh(at_once=True):
                chosen = self._pick(adjudicator, skipped)
            if chosen is None:
                return None
            self._held = {name: hold for name, hold in self._held.items() if hold[1] > self._clock()}
            self._held[chosen] = (adjudicator, self._clock() + HELD_SECONDS)
            return self._shown(adjudicator, chosen)

    def shown(self, adjudicator: str, id: str, sight: str | None = None) -> ShownItem | None:
        """An item by its id; None if it is not there, or if it looks different from the ``sight`` given."""
        with self._lock:
            for at_once in (False, True):
                self._refresh(at_once=at_once)
                shown = self._shown(adjudicator, id) if id in self._by_id else None
                if shown is not None and sight in {None, shown.sight}:
                    return shown
        return None

    def decided(self, id: str, seq: int) -> None:
        """Take note of a decision, which the items read before it do not show."""
        with self._lock:
            self._just_decided[id] = seq
            self._held.pop(id, None)

    def erased(self) -> None:
        """Take note that decisions were deleted: the items are read again when somebody looks next."""
        with self._lock:
            self._read_at = -math.inf

    def counts(self, adjudicator: str) -> QueueCounts:
        """How far the senior raters are."""
        with self._lock:
            self._refresh()
            undecided = {id for id, item in self._by_id.items() if not item.decisions}
            now = len(undecided & self._just_decided.keys())
            people = dict(self._collection.adjudicators().select("adjudicator", "decisions").iter_rows())
            return QueueCounts(
                len(undecided) - now, len(self._by_id) - len(undecided) + now, people.get(adjudicator, 0)
            )

    def id_of(self, stimulus: str, question: str) -> str:
        """The name of an item for the page: digits that tell nothing."""
        return str(int.from_bytes(self._digest("item", stimulus, question)[:_ID_BYTES]))

    def _pick(self, adjudicator: str, skipped: Container[str]) -> str | None:
        """The first item in this person's own order; one that somebody else holds only if nothing else is left."""
        now = self._clock()
        held_by_others = {id for id, (holder, until) in self._held.items() if holder != adjudicator and until > now}
        open_ = [
            id
            for id, item in self._by_id.items()
            if not item.decisions and id not in self._just_decided and id not in skipped
        ]
        stimuli = {self._by_id[id].stimulus for id in open_}
        order = {stimulus: self._digest("order", adjudicator, stimulus) for stimulus in stimuli}
        # The smallest comes first in the list: the questions about a stimulus stay in the study's order.
        return min(open_, key=lambda id: (id in held_by_others, order[self._by_id[id].stimulus]), default=None)

    def _shown(self, adjudicator: str, id: str) -> ShownItem:
        item, study = self._by_id[id], self._collection.study
        options = list(_options(item, study))
        Random(self._digest("options", adjudicator, id)).shuffle(options)
        rejected = sum(answer.verdict == "rejected" and answer.words is None for answer in item.answers)
        sight = self._digest("sight", repr((item.answers, item.draft)))[:12].hex()
        return ShownItem(
            id=id, sight=sight, seen=self._state.change, item=item, options=tuple(options), rejected=rejected
        )

    def _refresh(self, *, at_once: bool = False) -> bool:
        """Read the items again if something changed and it is time; whether that was done."""
        pause = max(self._seconds, IDLE_SHARE * self._took)
        first = self._state.change < 0
        if not first and not at_once and self._clock() - self._read_at < pause:
            return False
        if self._collection.change() == self._state.change:
            self._read_at = self._clock()
            return False
        began = self._clock()
        self._state = state = self._reader.call(_read)
        self._by_id = {self.id_of(item.stimulus, item.question): item for item in state.items}
        self._just_decided = {id: seq for id, seq in self._just_decided.items() if seq > state.change}
        self._read_at = self._clock()
        # The first time includes loading the libraries, which says nothing about the next.
        self._took = 0.0 if first else self._read_at - began
        return True

    def _digest(self, *words: str) -> bytes:
        return hmac.digest(self._secret, "\0".join(("adjudication", *words)).encode(), hashlib.sha256)


def _read(collection: Collection) -> AdjudicationState:
    return collection.adjudication()


def _options(item: AdjudicationItem, study: Study) -> list[OfferedAnswer]:
    """The different answers."""
    options: dict[Hashable, OfferedAnswer] = {}
    scale = study.scale_of(item.question)
    for answer in counted(item.answers):
        assert answer.words is not None
        key = answer_key(answer.words, scale)
        before = options.get(key, OfferedAnswer(answer.words, 0))
        options[key] = before._replace(
            raters=before.raters + 1,
            accepted=before.accepted + (answer.verdict == "accepted"),
            fixed=before.fixed + (answer.verdict == "fixed"),
        )
    drafted = draft_words(item, study)
    if drafted is not None and study.adjudication is not None and study.adjudication.draft:
        key = answer_key(drafted, scale)
        options[key] = options.get(key, OfferedAnswer(drafted, 0))._replace(machine=True)
    return list(options.values())


def draft_words(item: AdjudicationItem, study: Study) -> float | str | None:
    """The machine's draft as an answer; None if there is none, or none that the scale allows."""
    if item.draft is None:
        return None
    try:
        value, answer = study.read(study.question(item.question), item.draft)
    except InputError:
        return None
    return value if answer is None else answer


def chosen_option(
    options: Container[OfferedAnswer], decision: AdjudicationDecision, question: str, study: Study
) -> int | None:
    """Which of the options was decided for; None if it was another answer."""
    words = decision.value if decision.answer is None else decision.answer
    scale = study.scale_of(question)
    keys = [answer_key(option.words, scale) for option in options]
    wanted = answer_key(words, scale)
    return keys.index(wanted) if wanted in keys else None


def desk_of(request: HTTPConnection) -> AdjudicationQueue:
    """The senior raters' desk of the application that handles a request."""
    return cast(AdjudicationQueue, request.app.state.desk)
