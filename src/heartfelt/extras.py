"""What ``pip install heartfelt`` leaves out, and the command that adds it.

Reading, analysing and reporting need nothing more. Each extra is listed with the packages that only it brings, so that a
package that is missing can be answered with the extra to install.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from heartfelt.errors import MissingPartError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "serve": (
        "alembic",
        "argon2",
        "fastapi",
        "httptools",
        "itsdangerous",
        "orjson",
        "sqlalchemy",
        "starlette",
        "uvicorn",
        "uvloop",
    ),
    "predict": ("filelock", "httpcore", "httpx", "onnx", "onnxruntime", "soxr"),
    "tables": ("fastexcel", "pyreadstat"),
    "pandas": ("pandas", "pyarrow"),
    "postgres": ("psycopg",),
    "transformers": ("torch", "transformers"),
    "finetune": ("accelerate", "peft", "safetensors"),
    "generate": ("accelerate", "diffusers"),
    "ray": ("ray",),
    "hub": ("huggingface_hub",),
}
P = ParamSpec("P")
R = TypeVar("R")


def missing_extra(error: ModuleNotFoundError) -> MissingPartError | None:
    """The extra that brings the module an import did not find; None if no extra does."""
    return missing_package((error.name or "").split(".")[0])


def missing_package(module: str) -> MissingPartError | None:
    """The extra that brings a package; None if no extra does."""
    for extra, modules in EXTRAS.items():
        if module in modules:
            return MissingPartError(
                f"This needs {module}, which is not installed.",
                f"Install the part of heartfelt that brings it: pip install 'heartfelt[{extra}]'",
            )
    return None


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
