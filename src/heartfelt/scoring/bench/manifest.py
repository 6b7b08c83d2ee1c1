"""What decides the last digits of a score: versions, settings, hashes, seeds; and what differs between two of these records.

The same sum in another order, or with another processor's instructions, differs in its last digits. Scores that are to be the
same on another machine are therefore computed under :func:`fixed_settings`: a single thread everywhere; OpenBLAS and NumPy without
instructions that some processors lack; the plain variants of the C library's functions. Rows are scored in the order of their
names, whatever the order in the files. What is left are the versions of the libraries, which the manifest records, and
processors of another family; numbers are written with ``DIGITS`` significant digits, which these differences do not reach
(relative differences of 1e-13 were the largest seen).
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from heartfelt import __version__
from heartfelt.scoring.options import ScoreOptions
from heartfelt.serialization import Json, to_json

LAYOUT = 2
DIGITS = 9
"""Significant digits of every number in ``scores.json``."""
LIBRARIES = ("numpy", "scipy", "polars", "numba", "llvmlite")
_THREADS = ("OPENBLAS", "OMP", "MKL", "NUMBA")
_CORES = {"x86_64": "Nehalem", "AMD64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}
"""OpenBLAS kernels that every processor of a family can run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What was scored: the benchmark and the file of predictions, by hash."""

    study: str
    benchmark: str
    """The hash of the benchmark's content."""
    part: str | None
    predictions: str
    """The hash of the predictions' content, whatever the order of rows and the kind of file."""
    model: str
    """What the model is called."""
    file: str
    file_sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringManifest:
    """Everything that decides the numbers of a ``scores.json``."""

    heartfelt_score: int = LAYOUT
    """The layout of the file."""
    scores_sha256: str
    """Of ``scores.json``."""
    scored: Scored
    options: ScoreOptions
    seeds: Mapping[str, int]
    digits: int = DIGITS
    versions: Mapping[str, str]
    settings: Mapping[str, str]
    """Environment variables under which the scores were computed."""
    platform: Mapping[str, str]


def fixed_settings() -> dict[str, str]:
    """Environment variables, to be set before Python starts, under which the same versions give the same numbers."""
    out = {f"{name}_NUM_THREADS": "1" for name in _THREADS}
    out |= {"POLARS_MAX_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1", "MKL_CBWR": "COMPATIBLE"}
    out |= {"NUMBA_DISABLE_INTEL_SVML": "1", "PYTHONHASHSEED": "0"}
    if platform.machine() in _CORES:
        out["OPENBLAS_CORETYPE"] = _CORES[platform.machine()]
    config = np.show_config(mode="dicts")
    features = config.get("SIMD Extensions", {})
    beyond = [*features.get("found", []), *features.get("not found", [])]
    out["NPY_DISABLE_CPU_FEATURES"] = " ".join(sorted(beyond))
    if platform.libc_ver()[0] == "glibc" and _CORES.get(platform.machine()) == "Nehalem":
        out["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"
    return out


def library_versions() -> dict[str, str]:
    """Versions of what computes scores, with NumPy's BLAS."""
    out = {"heartfelt": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = "not installed"
    config = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return out | {"blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()}


def machine_facts() -> dict[str, str]:
    """The platform in words: nothing that names a machine or a person."""
    libc = " ".join(platform.libc_ver()).strip()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "implementation": platform.python_implementation(),
        "libc": libc or "unknown",
    }


def rounded(value: Json, digits: int = DIGITS) -> Json:
    """The same data with every number that is not whole rounded to this many significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {name: rounded(element, digits) for name, element in value.items()}
    return [rounded(element, digits) for element in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class ManifestDifference:
    """One thing that two manifests, or two files of scores, do not share."""

    where: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.where}: {self.before} before, {self.now} now"


def differences(before: object, now: object) -> list[ManifestDifference]:
    """Every value that differs, with its place: ``versions.numpy``, ``scores.3.estimate.value``."""
    return list(_differences(to_json(before), to_json(now), ""))


def _differences(before: Json, now: Json, where: str) -> Iterator[ManifestDifference]:
    if isinstance(before, dict) and isinstance(now, dict):
        parts = [(name, before.get(name), now.get(name)) for name in {**before, **now}]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        parts = [(str(index), first, second) for index, (first, second) in enumerate(zip(before, now, strict=True))]
    else:
        if before != now:
            first, second = ("nothing" if side is None else str(side)[:80] for side in (before, now))
            yield ManifestDifference(where, first, second)
        return
    for name, first_part, second_part in parts:
        yield from _differences(first_part, second_part, f"{where}.{name}" if where else name)
