"""One system's part in a run: what is open, which attempt comes next, and when to give up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heartfelt.stimuli.generation.state import StimulusState, SystemState
from heartfelt.stimuli.generation.work import StimulusRequest

GIVE_UP_AFTER = 12
"""A system is stopped when this many attempts in a row failed and none has succeeded in this run."""


@dataclass(slots=True, eq=False, kw_only=True)
class SystemRun:
    """Where one system's run stands."""

    state: SystemState
    todo: dict[str, StimulusState]
    open: dict[str, StimulusState] = field(init=False)
    next_attempt: dict[str, int] = field(init=False)
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    attempts: int = 0
    under_way: int = 0
    """Attempts that have begun and not ended."""
    failures_in_a_row: int = 0
    any_success: bool = False
    stopped: str | None = None

    def __post_init__(self) -> None:
        self.open = dict(self.todo)
        self.next_attempt = {name: stimulus.next_attempt for name, stimulus in self.todo.items()}

    def request(self, stimulus: StimulusState, seed: int) -> StimulusRequest:
        attempt = self.next_attempt[stimulus.planned.prompt.stimulus]
        return StimulusRequest(stimulus.planned.prompt, stimulus.planned.seed(seed, attempt), attempt)

    def succeeded(self, name: str) -> None:
        del self.open[name]
        self.failed.pop(name, None)
        self.any_success, self.failures_in_a_row = True, 0

    def failed_attempt(self, name: str, problem: str, final: bool) -> None:
        """Note a failure: the stimulus stays open until its attempts are used up."""
        self.failed[name] = problem
        self.failures_in_a_row += 1
        last = self.todo[name].allowed(self.state.system.attempts)
        if final or self.next_attempt[name] >= last:
            del self.open[name]
        self.next_attempt[name] += 1
        if not self.any_success and self.failures_in_a_row >= GIVE_UP_AFTER and self.stopped is None:
            self.stopped = f"the first {self.failures_in_a_row} attempts all failed, the last because: {problem}"


def waiting_words(waiting: Sequence[StimulusState]) -> list[str]:
    reasons: dict[tuple[str, str], list[StimulusState]] = {}
    for stimulus in waiting:
        # What differs in the settings is the same for many; other reasons name the file of each.
        reasons.setdefault((stimulus.standing, stimulus.why if stimulus.standing == "changed" else ""), []).append(
            stimulus
        )
    return [
        f"{len(alike):,} left as they are, such as {alike[0].planned.prompt.stimulus}: {alike[0].why}"
        " (--replace makes them again)"
        for alike in reasons.values()
    ]


def survey_words(state: SystemState) -> list[str]:
    surplus = state.survey.surplus
    more = f" and {len(surplus) - 5:,} more" if len(surplus) > 5 else ""
    asked_for = [f"no stimulus asks for {', '.join(surplus[:5])}{more}"] if surplus else []
    return [*asked_for, *state.survey.notes]
