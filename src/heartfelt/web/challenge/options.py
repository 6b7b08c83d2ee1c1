"""The rules of a challenge, and where it is served."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from heartfelt.options import Option
from heartfelt.publishing.submissions.options import SubmissionLimits

_rules = partial(Option, panel="Rules")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeOptions:
    """The rules of a challenge."""

    part: Annotated[
        str | None,
        _rules("The part with hidden labels; all of them for None.", flags=("--part", "--split"), metavar="NAME"),
    ] = "test"
    step: Annotated[float | None, _rules("Step of published scores; about half a standard error if left out.")] = None
    limits: SubmissionLimits = field(default_factory=SubmissionLimits)
    megabytes: Annotated[float, _rules("How large a submission may be, in MB.", low=0.01)] = 16.0
    seconds: float = 60.0
    """How long scoring one submission may take."""
    public_share: Annotated[
        float, _rules("Share of the hidden labels for the running board; the others are for the final ranking.")
    ] = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """Where a challenge is served."""

    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Option(help="The port to listen on.", low=1, high=65535)] = 8200
    url: Annotated[str | None, Option(help="The public address, behind a proxy.")] = None
    proxy: Annotated[str | None, Option(help="Proxies whose forwarded headers are trusted.", metavar="ADDRESSES")] = (
        None
    )

    @property
    def address(self) -> str:
        """Where it is reached, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.url or f"http://{host}:{self.port}").rstrip("/")
