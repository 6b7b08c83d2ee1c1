"""What the base install leaves out, and the command that adds it.

Reading, analysing, reporting and publishing need nothing more. Each extra is listed with the packages that only it brings, so that
a missing package is answered with the extra to install. :func:`require_extra` asks before any work is done; the command it
names fits the way this copy was installed: from a clone, a wheel, an index, with pipx or with uv.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import unquote, urlsplit

from heartfelt.errors import MissingPartError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "serve": (
        "fastapi",
        "uvicorn",
        "sqlalchemy",
        "starlette",
        "alembic",
        "argon2",
        "itsdangerous",
        "orjson",
        "httptools",
        "uvloop",
    ),
    "predict": ("onnxruntime", "onnx", "httpx", "httpcore", "filelock", "safetensors"),
    "tables": ("fastexcel", "pyreadstat"),
    "pandas": ("pandas", "pyarrow"),
    "postgres": ("psycopg",),
    "transformers": ("torch", "transformers"),
    "nisqa": ("torchmetrics", "librosa"),
    "finetune": ("accelerate", "peft"),
    "generate": ("accelerate", "diffusers"),
    "ray": ("ray",),
    "metrics": ("visqol",),
    "hub": ("huggingface_hub",),
    "ner": ("presidio_analyzer",),
}
INCLUDES: Mapping[str, tuple[str, ...]] = {
    "all": ("serve", "predict", "tables"),
    "postgres": ("serve",),
    "transformers": ("predict",),
    "nisqa": ("transformers",),
    "finetune": ("transformers",),
    "generate": ("transformers",),
    "ray": ("predict",),
    "metrics": ("predict",),
}
"""Extras that bring others along."""
REPOSITORY = "https://github.com/heartfelt-toolkit/heartfelt"
_NOT_ON_WINDOWS = {"httptools", "uvloop"}
P = ParamSpec("P")
R = TypeVar("R")


def packages_of(extra: str) -> tuple[str, ...]:
    """The packages an extra brings, with those of the extras it includes."""
    included = [name for part in INCLUDES.get(extra, ()) for name in packages_of(part)]
    return tuple(dict.fromkeys([*included, *EXTRAS.get(extra, ())]))


def require_extra(extra: str) -> None:
    """Raise an error that names the install command unless every package of an extra is installed."""
    for package in packages_of(extra):
        if sys.platform == "win32" and package in _NOT_ON_WINDOWS:
            continue
        if not is_installed(package):
            raise _missing(package, extra)


def require_package(package: str) -> None:
    """Raise an error that names the install command unless a package is installed that some extra brings."""
    if not is_installed(package):
        raise missing_package(package) or ModuleNotFoundError(f"No module named '{package}'", name=package)


def is_installed(package: str) -> bool:
    """Whether a package can be imported, found without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def missing_extra(error: ModuleNotFoundError) -> MissingPartError | None:
    """The extra that brings the module an import did not find; None if no extra does."""
    return missing_package((error.name or "").split(".")[0])


def missing_package(module: str) -> MissingPartError | None:
    """The extra that brings a package; None if no extra does."""
    for extra, modules in EXTRAS.items():
        if module in modules:
            return _missing(module, extra)
    return None


def _missing(package: str, extra: str) -> MissingPartError:
    return MissingPartError(
        f"This needs {package}, which is not installed.",
        f"Install the part of heartfelt that brings it: {install_command(extra)}",
    )


def names_the_extra(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function answer a missing package with the command that installs it."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as error:
            problem = missing_extra(error)
            if problem is None:
                raise
            raise problem from error

    return call


def install_command(extra: str) -> str:
    """The command that adds an extra to this copy of heartfelt."""
    try:
        installed: Distribution | None = distribution("heartfelt")
    except PackageNotFoundError:
        installed = None
    requirement, editable = _requirement(installed, extra)
    match _installed_with():
        case "uv":
            return f"uv tool install --force {requirement}"
        case "pipx":
            return f"pipx install --force {requirement}"
    return f"{_pip()} install {'-e ' if editable else ''}{requirement}"


def plugin_command(name: str) -> str:
    """The command that installs a plug-in of heartfelt's repository: from the clone this copy runs from, else from the web."""
    folder = Path(__file__).resolve().parents[2] / "plugins" / name
    requirement = _quoted(str(folder) if folder.is_dir() else f"{name} @ git+{REPOSITORY}#subdirectory=plugins/{name}")
    match _installed_with():
        case "uv":
            return f"uv tool install --force heartfelt --with {requirement}"
        case "pipx":
            return f"pipx inject heartfelt {requirement}"
    return f"{_pip()} install {requirement}"


def _installed_with() -> str:
    """What made the environment heartfelt runs in: ``uv``, ``pipx`` or ``pip``."""
    marks = {"uv-receipt.toml": "uv", "pipx_metadata.json": "pipx"}
    return next((tool for mark, tool in marks.items() if (Path(sys.prefix) / mark).is_file()), "pip")


def _requirement(installed: Distribution | None, extra: str) -> tuple[str, bool]:
    """What to install, quoted for a shell, and whether this copy is an editable one."""
    origin = None if installed is None else installed.read_text("direct_url.json")
    if installed is None:
        clone = Path(__file__).resolve().parents[2]
        return _quoted(f"{clone}[{extra}]"), True
    if origin is None:
        return _quoted(f"heartfelt[{extra}]"), False
    facts = json.loads(origin)
    url = str(facts.get("url", ""))
    editable = bool(facts.get("dir_info", {}).get("editable"))
    if not url.startswith("file:"):
        source = f"{facts['vcs_info']['vcs']}+{url}" if "vcs_info" in facts else url
        return _quoted(f"heartfelt[{extra}] @ {source}"), False
    path = Path(unquote(urlsplit(url).path))
    if not path.exists():  # what it was installed from is gone: the person knows where it is now
        path = Path(path.name if path.suffix == ".whl" else ".")
        return _quoted(f"./{path}[{extra}]" if path.suffix == ".whl" else f".[{extra}]"), editable
    return _quoted(f"{path}[{extra}]"), editable


def _quoted(requirement: str) -> str:
    return f"'{requirement}'" if "'" not in requirement else shlex.quote(requirement)


def _pip() -> str:
    """pip of the environment heartfelt runs in, which may not be the one on the path."""
    if os.environ.get("VIRTUAL_ENV") and Path(os.environ["VIRTUAL_ENV"]).resolve() == Path(sys.prefix).resolve():
        return "pip"
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return f"{shlex.quote(str(python))} -m pip"
