"""What only the authors know about a dataset: who made it, under which licence, how raters were paid."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Details:
    """Statements of the authors; every one may be missing, and the papers then say that it is not stated."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    licence: str | None = None
    """Of the ratings and labels, as an SPDX identifier such as CC-BY-4.0."""
    media_licence: str | None = None
    media_may_be_shared: bool | None = None
    """False: links and hashes are published in place of the media."""
    contact: str | None = None
    purpose: str | None = None
    pay: str | None = None
    ethics: str | None = None
    funding: str | None = None
    limits: str | None = None
    citation: str | None = None
    doi: str | None = None
    url: str | None = None
