"""Which function does which command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heartfelt.collect import commands
from heartfelt.collect.session import answering, people, researching
from heartfelt.collect.session.work import Work
from heartfelt.errors import InputError

DO: dict[type, Callable[[Work, Any], Any]] = {
    commands.Arrive: people.arrive,
    commands.Next: people.next_step,
    commands.Consent: people.consent,
    commands.Demographics: people.demographics,
    commands.Headphones: people.headphones,
    commands.Ready: people.ready,
    commands.Leave: people.leave,
    commands.Answer: answering.answer,
    commands.Beat: answering.beat,
    commands.Flag: answering.flag,
    commands.MediaProblem: answering.media_problem,
    commands.Exclude: researching.exclude,
    commands.Restore: researching.restore,
    commands.Change: researching.change,
    commands.Invite: researching.invite,
    commands.Erase: researching.erase,
    researching.Settle: researching.settle,
    researching.Keep: researching.keep,
    researching.Refresh: researching.refresh,
}


def carry_out(work: Work, command: Any) -> Any:
    """Do one command."""
    function = DO.get(type(command))
    if function is None:
        raise InputError(
            f"A collection does not know the command {type(command).__name__}.", "Use those of commands.py."
        )
    return function(work, command)
