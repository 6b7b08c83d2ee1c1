"""Whether weights may be fetched, where from, and what to do where they cannot be.

The one place that knows about being offline: everything that fetches weights asks here before it waits. ``HEARTFELT_OFFLINE=1``
forbids all fetching, ``HF_HUB_OFFLINE=1`` (or ``TRANSFORMERS_OFFLINE=1``) that from the hub. Packages come from the index pip is
configured to use, models of the hub from ``HF_ENDPOINT``. A server that does not answer within a few seconds is an error at
once; pip and the hub's library would try again for minutes.
"""

from __future__ import annotations

import ast
import logging
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from heartfelt.errors import HeartfeltError, MissingPartError
from heartfelt.extras import install_command
from heartfelt.failures import error_summary

CONNECT_SECONDS = 5.0
"""Seconds to wait for a server to answer."""
_TRUST_SECONDS = 60.0
_log = logging.getLogger(__name__)
"""Seconds for which the result of trying a server is used again."""
_DEFAULT_INDEX = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
"""Prints the index that pip uses where none is configured."""
_HUB_SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
OTHER_LIBRARIES = ["*.h5", "*.msgpack", "*.ot", "*.tflite", "onnx/*", "openvino/*", "coreml/*"]
"""Files of the hub with the same weights for libraries that are not used here."""
_tried: dict[tuple[str, str], tuple[float, str | None]] = {}
_announced: set[str] = set()


class PullError(HeartfeltError):
    """Weights that could not be fetched."""


def offline_switch(*, hub: bool = False) -> str | None:
    """The environment variable that forbids fetching, or None; ``hub``: fetching from the Hugging Face hub."""
    names: tuple[str, ...] = ("HEARTFELT_OFFLINE", *_HUB_SWITCHES) if hub else ("HEARTFELT_OFFLINE",)
    for name in names:
        if os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off"):
            return name
    forbidden = hub and bool(getattr(_hub_constants(), "HF_HUB_OFFLINE", False))
    return "HF_HUB_OFFLINE" if forbidden else None


def announce(*lines: str) -> None:
    """Say on standard error what is about to be fetched, before the wait."""
    for number, line in enumerate(lines):
        print(f"{'           ' if number else 'heartfelt: '}{line}", file=sys.stderr, flush=True)


class _NoRedirect(HTTPRedirectHandler):
    """A redirection is an answer."""

    def redirect_request(self, *_: Any) -> None:
        """Nothing more is asked."""


def unreachable(url: str, proxy: str = "") -> str | None:
    """Why the server of a URL does not answer, itself or by the proxy before it; None if it does.

    Any answer counts but a server error and a proxy's refusal. Certificates are left to those who fetch something.
    """
    address = without_password(url)
    when, reason = _tried.get((address, proxy), (-_TRUST_SECONDS, None))
    if time.monotonic() - when < _TRUST_SECONDS:
        return reason
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    proxies = ProxyHandler({"http": proxy, "https": proxy} if proxy else None)
    opener = build_opener(proxies, HTTPSHandler(context=trusting), _NoRedirect)
    host = urlsplit(address).netloc
    try:
        opener.open(Request(address, method="HEAD"), timeout=CONNECT_SECONDS).close()
        reason = None
    except HTTPError as error:
        error.close()
        refused = error.code >= 500 or error.code == 407
        reason = f"{host} answers HTTP {error.code} {error.reason}".rstrip(" .") if refused else None
    except (OSError, ValueError, HTTPException) as error:
        cause = getattr(error, "reason", None) or error
        reason = f"{host}: {getattr(cause, 'strerror', None) or cause or type(cause).__name__}".rstrip(".")
    _tried[address, proxy] = (time.monotonic(), reason)
    return reason


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageIndex:
    """Where pip looks for packages, as it is configured."""

    remote: tuple[str, ...]
    """Addresses of indexes and pages of links."""
    local: tuple[str, ...]
    """Folders on this machine."""
    proxy: str = ""

    def __str__(self) -> str:
        return ", ".join(map(without_password, (*self.remote, *self.local))) or "no package index"

    @property
    def problem(self) -> str | None:
        """Why none of the remote addresses can be reached; None if one can, or if there is none."""
        reasons = [unreachable(url, self.proxy) for url in self.remote]
        return None if None in reasons else next((reason for reason in reasons if reason), None)


def package_index() -> PackageIndex:
    """Where pip would look: its configuration files and environment variables, such as PIP_INDEX_URL, are its own to read."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sections: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        parts = re.fullmatch(r"(global|download|:env:)\.([\w-]+)=(['\"].*['\"])", line)
        if parts:
            sections.setdefault(parts[1], {})[parts[2]] = str(ast.literal_eval(parts[3]))
    settings = {**sections.get("global", {}), **sections.get("download", {}), **sections.get(":env:", {})}
    addresses = settings.get("find-links", "").split()
    if settings.get("no-index", "").lower() not in ("1", "true", "yes", "on"):
        if "index-url" not in settings:
            default = subprocess.run(
                [sys.executable, "-c", _DEFAULT_INDEX], capture_output=True, text=True, check=False
            )
            settings["index-url"] = default.stdout.strip()
        addresses = [*settings["index-url"].split(), *settings.get("extra-index-url", "").split(), *addresses]
    remote = tuple(address for address in addresses if address.startswith(("http://", "https://")))
    local = tuple(address for address in addresses if address not in remote)
    return PackageIndex(remote=remote, local=local, proxy=settings.get("proxy", ""))


def without_password(url: str) -> str:
    return re.sub(r"(?<=//)[^/@]*@", "", url)


def hub_library() -> Any:
    """The library of the Hugging Face hub; its absence is an error that names the extra."""
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ImportError as error:
        raise MissingPartError(
            "Models of the hub need the huggingface_hub library.", f"Install it with: {install_command('transformers')}"
        ) from error
    return huggingface_hub


@contextmanager
def hub_access(name: str, revision: str | None = None) -> Iterator[str | None]:
    """While a model of the hub is loaded: yields why only the hub's cache is used, or None if the hub is asked.

    Where fetching is forbidden or the hub is out of reach, a model that is not in the cache is an error at once, which says what
    to copy where. Before something is fetched, what, how much and from where is announced. A ``name`` that is a path
    needs no hub; the libraries are then kept from asking it all the same.
    """
    switch = offline_switch(hub=True)
    if Path(name).expanduser().exists() or is_path(name):
        with _cache_only(switch is not None):
            yield None
        return
    library = hub_library()
    stored = _in_hub_cache(library, name, revision)
    reason = f"{switch} is set" if switch else _why_unreachable(library)
    if reason is not None and not stored:
        raise PullError(f"'{name}' is not stored here, and {reason}.", hub_copy_hint(name))
    # Silent where all is as it was asked for: from the cache, or from there alone.
    as_expected = stored if reason is None else switch is not None
    if not as_expected and name not in _announced:
        _announced.add(name)
        if reason is None:
            _announce_hub(library, name, revision)
        else:
            announce(f"{name}: {reason}; the copy stored earlier is used.")
    with _cache_only(reason is not None):
        yield reason


def is_path(name: str) -> bool:
    """Whether a name can only be that of a file or folder: models of the hub are called OWNER/NAME, or NAME."""
    return name.startswith((".", "/", "~")) or name.count("/") > 1


def _why_unreachable(library: Any) -> str | None:
    problem = unreachable(library.constants.ENDPOINT)
    return f"the hub cannot be reached ({problem})" if problem else None


def require_stored_offline(name: str, revision: str | None = None) -> None:
    """Raise where fetching is forbidden and a model of the hub is not stored; to be asked before slow libraries are loaded."""
    if offline_switch(hub=True):
        with hub_access(name, revision):
            pass


def hub_copy_hint(name: str) -> str:
    cache, folder = hub_library().constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}"
    return (
        f"Run 'heartfelt models pull {name}' on a machine with a network, and copy the folder {folder} from its hub cache "
        f"(usually ~/.cache/huggingface/hub) to {Path(cache) / folder} here; or copy config.json, the weights and the "
        "tokenizer or processor files to any folder and give that folder in place of the name."
    )


@contextmanager
def _cache_only(forbidden: bool) -> Iterator[None]:
    """Keep the libraries from asking the hub, if ``forbidden``: they read this setting only once by themselves."""
    constants = _hub_constants()
    if not forbidden or constants is None:
        yield
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _hub_constants() -> Any:
    return sys.modules.get("huggingface_hub.constants")


def _in_hub_cache(library: Any, name: str, revision: str | None) -> bool:
    try:
        library.snapshot_download(name, revision=revision, local_files_only=True)
    except (library.errors.LocalEntryNotFoundError, library.errors.HFValidationError, OSError, ValueError):
        return False
    return True


def _announce_hub(library: Any, name: str, revision: str | None) -> None:
    """Say what is fetched from the hub, how large it is, and what to do behind a firewall or offline."""
    constants = library.constants
    announce(
        f"fetching {name}{_hub_size(library, name, revision)} from {constants.ENDPOINT} to {constants.HF_HUB_CACHE}, once.",
        "Mirror: HF_ENDPOINT names another address of the hub.",
        f"Firewall: set HTTPS_PROXY, or run 'heartfelt models pull {name}' on another machine and copy the folder "
        f"models--{name.replace('/', '--')} of its hub cache to {constants.HF_HUB_CACHE}.",
        "Offline: HEARTFELT_OFFLINE=1 fetches nothing and says what to copy where.",
    )


def _hub_size(library: Any, name: str, revision: str | None) -> str:
    """The size of a model's files, in words; nothing where the hub does not tell, which loading will report."""
    from fnmatch import fnmatch

    try:
        info = library.HfApi().model_info(name, revision=revision, files_metadata=True, timeout=CONNECT_SECONDS)
    except Exception as error:  # noqa: BLE001  # only the size is missing: the library raises errors of many kinds
        _log.info("the size of %s is unknown: %s", name, error_summary(error))
        return ""
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    unused = list(OTHER_LIBRARIES)
    if any(file.endswith(".safetensors") for file in sizes):
        unused += ["*.bin", "*.pt"]
    total = sum(size for file, size in sizes.items() if not any(fnmatch(file, pattern) for pattern in unused))
    return f" (up to {max(1, round(total / 1e6)):,} MB)" if total else ""
