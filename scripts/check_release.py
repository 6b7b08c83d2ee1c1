"""Build the distribution twice and see that it could be released: the same bytes, a valid description, and it runs.

    python scripts/check_release.py [--out dist]

The wheel and the source distribution of two builds, in copies of the tree made at different times under different names, must
be equal byte for byte; ``twine check --strict`` must pass; ``pipx run`` and ``uvx`` must start the wheel. With ``--out`` the
checked files are kept.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build", "twine", "pipx", "uv", "hatchling")


def _run(command: list[str], folder: Path, variables: dict[str, str] | None = None) -> str:
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def _copy_of_tree(target: Path) -> Path:
    """The files that git knows, or would add: what a clean clone has."""
    listed = _run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
            shutil.copymode(ROOT / name, target / name)
    return target


def _built(python: str, tree: Path, out: Path) -> dict[str, Path]:
    _run([python, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)], tree)
    return {path.name: path for path in sorted(out.iterdir())}


def _look_inside(files: dict[str, Path]) -> None:
    """The wheel holds the package alone; neither file holds data of the public sets."""
    for name, path in files.items():
        if name.endswith(".whl"):
            with zipfile.ZipFile(path) as wheel:
                names = wheel.namelist()
            foreign = [entry for entry in names if not entry.startswith(("heartfelt/", "heartfelt-"))]
        else:
            with tarfile.open(path) as source:
                names = source.getnames()
            foreign = [entry for entry in names if "/shared/" in entry or "__pycache__" in entry]
        if foreign:
            sys.exit(f"{name} holds {foreign[0]}, which does not belong there.")
        print(f"{name}: {path.stat().st_size / 1e6:.1f} MB, {len(names):,} files")


def main() -> None:
    """Build, compare, check and start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="keep the checked files in this folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heartfelt-release-") as name:
        scratch = Path(name)
        _run([sys.executable, "-m", "venv", "tools"], scratch)
        python = str(scratch / "tools" / "bin" / "python")
        _run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *TOOLS], scratch)
        builds = [_built(python, _copy_of_tree(scratch / f"tree {at}"), scratch / f"dist{at}") for at in range(2)]
        for file in builds[0]:
            digests = {hashlib.sha256(build[file].read_bytes()).hexdigest() for build in builds}
            if len(digests) != 1:
                sys.exit(f"{file} differs between two builds of the same tree.")
        _look_inside(builds[0])
        files = [str(path) for path in builds[0].values()]
        print(_run([python, "-m", "twine", "check", "--strict", *files], scratch))
        wheel = next(path for path in files if path.endswith(".whl"))
        home = {"PIPX_HOME": str(scratch / "pipx"), "UV_CACHE_DIR": str(scratch / "uv")}
        print(
            "pipx run:", _run([python, "-m", "pipx", "run", "--spec", wheel, "heartfelt", "--version"], scratch, home)
        )
        print(
            "uvx:", _run([python, "-m", "uv", "tool", "run", "--from", wheel, "heartfelt", "--version"], scratch, home)
        )
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            for path in files:
                shutil.copy2(path, given.out)


if __name__ == "__main__":
    main()
