"""What a service's refusal means, and what to do about it; tokens never get into a message."""

from __future__ import annotations

import os

from heartfelt.errors import HeartfeltError, InputError

AGAIN = "Run the same command again: what was sent already is not sent again."
_MAX_LENGTH = 300
_REFUSALS = {
    401: ("did not accept the token in {variable}", "Set {variable} to a valid token."),
    403: (
        "does not allow this with the token in {variable}",
        "Use a token with permission to write there, or another name.",
    ),
    404: ("does not know this", "Check the name, and that the token belongs to its owner."),
    413: (
        "finds this too large",
        "Choose fewer layouts, publish links to the media, or ask the service for more space.",
    ),
}
"""What a service answers by its HTTP status, and what to do."""


class DepositError(HeartfeltError):
    """A service that did not take a release."""

    exit_code = 1


def token(variable: str, service: str, page: str) -> str:
    """The token from the environment, which is the only place it is taken from."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InputError(
            f"Sending to {service} needs a token in the environment variable {variable}.",
            f"Make one with permission to write at {page}, then: export {variable}=…",
        )
    if not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(f"{variable} does not hold a token.", f"Copy it again from {page}.")
    return value


def without_secrets(text: str, *secrets: str) -> str:
    """What a server reason, in one short line without tokens or control characters."""
    for secret in secrets:
        text = text.replace(secret, "***") if secret else text
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MAX_LENGTH else f"{line[:_MAX_LENGTH]}…"


def refused(
    service: str, action: str, status: int, message: str, *, variable: str, retry_after: str | None = None
) -> DepositError:
    """The error for an HTTP status that says no; ``action`` is what was being done, as in 'sending data.zip'."""
    reason = f": {message}" if message else ""
    problem = f"{service} answered {status} while {action}{reason}."
    if status in _REFUSALS:
        answer, fix = _REFUSALS[status]
        named = answer.format(variable=variable)
        return DepositError(f"{service} {named} ({action}){reason}.", fix.format(variable=variable))
    if status == 429:
        wait = f"after {retry_after} seconds" if retry_after and retry_after.isdigit() else "in a few minutes"
        return DepositError(f"{service} asks to wait: too many requests ({action}){reason}.", f"Try {wait}. {AGAIN}")
    if status >= 500:
        return DepositError(problem, f"The service has a problem; try later. {AGAIN}")
    if 300 <= status < 400:
        return DepositError(problem, "The address leads elsewhere, and the token is not sent there.")
    return DepositError(problem, "Read the service's message; nothing here was changed.")


def unreachable(service: str, action: str, error: BaseException, *secrets: str) -> DepositError:
    reason = without_secrets(str(error), *secrets).rstrip(".") or type(error).__name__
    name = service.replace("The ", "the ", 1)
    problem = f"The connection to {name} broke while {action}: {reason}."
    return DepositError(problem, f"Check the connection. {AGAIN}")
