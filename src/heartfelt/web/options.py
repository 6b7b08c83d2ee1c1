"""How the application is to be served."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from heartfelt.errors import InputError


@dataclass(frozen=True, slots=True)
class WebOptions:
    """What the application must be told; nothing here is read from the environment."""

    secret: bytes = field(repr=False)
    """Signs cookies and links. Whoever has it can be anybody."""
    prefix: str = ""
    """The path the application lives under, such as ``/studies/one``; empty at the root."""
    public_url: str | None = None
    """Where people reach it (``https://host/prefix``): for links, and as an origin that requests may come from."""
    secure_cookies: bool = False
    """Cookies only over https."""
    password: str | None = field(default=None, repr=False)
    """The argon2 hash of the researcher's password; nobody can log in without one."""
    body_limit: int = 256 * 1024
    """Bytes a request may bring."""
    address_per_minute: int = 3000
    """Requests from one address in a minute that no rater's cookie comes with, 0 for no limit: arrivals, the dashboard,
    the API. Pages' own files and media do not count, nor do raters who are known, who have a limit of their own."""
    rater_per_minute: int = 240
    """Requests one rater may make in a minute, 0 for no limit; media do not count."""
    logins_per_minute: int = 6
    """Wrong passwords one address may try in a minute."""
    wrong_tokens_per_minute: int = 30
    """Wrong API tokens one address may try in a minute."""
    refresh_seconds: float = 3.0
    """The dashboard's heavier figures are computed anew at most this often."""
    access_log: bool = True
    preview: bool = False
    """Whether the pages say that nothing is stored, and everybody at the door is somebody new."""

    def __post_init__(self) -> None:
        if len(self.secret) < 16:
            raise InputError(
                "The secret that signs cookies is too short.", "Give at least 16 bytes (HEARTFELT_SECRET)."
            )
        if self.public_url is not None and urlsplit(self.public_url).scheme not in {"http", "https"}:
            raise InputError(
                f"'{self.public_url}' is not a web address.",
                "Write it in full, such as https://example.org/study.",
            )
        if self.prefix and (
            not self.prefix.startswith("/") or self.prefix.endswith("/") or "//" in self.prefix
        ):
            raise InputError(
                f"The prefix '{self.prefix}' is not a path.",
                "Begin it with a slash and end it without one, such as /studies/one.",
            )

    @property
    def origin(self) -> str | None:
        """Scheme and host of the public address."""
        if self.public_url is None:
            return None
        parts = urlsplit(self.public_url)
        return f"{parts.scheme}://{parts.netloc}"
