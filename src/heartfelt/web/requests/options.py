"""How the application is to be served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from heartfelt.errors import InputError
from heartfelt.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """The options of the application; nothing here is read from the environment."""

    secret: bytes = field(repr=False)
    """Signs cookies and links. Anybody who has it can pose as anybody."""
    prefix: str = ""
    """The path the application is served under, such as ``/studies/one``; empty at the root."""
    public_url: str | None = None
    """Where people reach it (``https://host/prefix``): for links, and as an allowed origin of requests."""
    secure_cookies: bool = False
    """Cookies only over https."""
    password: str | None = field(default=None, repr=False)
    """The argon2 hash of the researcher's password; nobody can log in without one."""
    body_limit: int = 1024 * 1024
    """Bytes a request may bring: enough for traces of ten minutes on two axes, ten samples a second."""
    address_per_minute: int = 3000
    """Requests per minute from one address without a rater's cookie (arrivals, dashboard, API), 0 for no limit. Static
    files and media do not count; known raters have a limit of their own."""
    rater_per_minute: int = 240
    """Requests per minute of one rater, 0 for no limit; media do not count."""
    logins_per_minute: int = 6
    """Wrong passwords per minute from one address."""
    wrong_tokens_per_minute: int = 30
    """Wrong API tokens per minute from one address."""
    refresh_seconds: float = 3.0
    """The dashboard's heavier figures are recomputed at most this often."""
    access_log: bool = True
    preview: bool = False
    """Whether the pages say that nothing is stored, and every visit starts a new session."""

    def __post_init__(self) -> None:
        if len(self.secret) < 16:
            raise InputError(
                "The secret that signs cookies is too short.", "Give at least 16 bytes (HEARTFELT_SECRET)."
            )
        if self.public_url is not None and urlsplit(self.public_url).scheme not in {"http", "https"}:
            raise InputError(
                f"'{self.public_url}' is not a web address.", "Write it in full, such as https://example.org/study."
            )
        if self.prefix and (not self.prefix.startswith("/") or self.prefix.endswith("/") or "//" in self.prefix):
            raise InputError(
                f"The prefix '{self.prefix}' is not a path.",
                "It must begin with a slash and not end with one, such as /studies/one.",
            )

    @property
    def origin(self) -> str | None:
        """Scheme and host of the public address."""
        if self.public_url is None:
            return None
        parts = urlsplit(self.public_url)
        return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Where and how to serve; passed to the server's processes in the environment, so nothing secret is here."""

    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1"
    port: Annotated[int, Option(help="Port to listen on.", low=1, high=65535)] = 8000
    workers: Annotated[int, Option(help="Server processes.", low=1, high=64)] = 1
    prefix: Annotated[str, Option(help="Path under which a proxy shows the study, such as /one.")] = ""
    url: Annotated[
        str | None, Option(help="Public address, such as https://example.org/one; https secures cookies.")
    ] = None
    proxy: Annotated[
        str | None, Option(help="Trust forwarded headers from these addresses, separated by commas.", metavar="IPS")
    ] = None
    database: Annotated[
        str | None, Option(help="URL of a PostgreSQL database; SQLite in the study folder if left out.", metavar="URL")
    ] = None
    address_per_minute: Annotated[
        int, Option(help="Requests per minute from one address; 0 for no limit.", flags=("--address-limit",), low=0)
    ] = 3000
    rater_per_minute: Annotated[
        int, Option(help="Requests per minute of one rater; 0 for no limit.", flags=("--rater-limit",), low=0)
    ] = 240
    access_log: Annotated[bool, Option(help="Log one line per request, without query strings.")] = True
    accept_media: Annotated[
        bool, Option(help="Accept files in the place of rated ones, as new versions that snapshots tell apart.")
    ] = False

    @property
    def path(self) -> str:
        """The prefix, from the public address if it is not given."""
        return self.prefix or (urlsplit(self.url).path.rstrip("/") if self.url else "")

    @property
    def address(self) -> str:
        """Where the server is reached, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
        return (self.url or f"http://{shown}:{self.port}{self.path}").rstrip("/")
