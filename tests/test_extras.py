"""The base install reads, analyses and reports; a missing package is answered with the command that installs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from heartfelt.errors import MissingPartError
from heartfelt.extras import EXTRAS, missing_extra, names_the_extra

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"argon2-cffi": "argon2", "python-multipart": "python_multipart"}
# Not imported by heartfelt itself: FastAPI, Uvicorn and the tokenizers of Transformers look for them.
UNSEEN = {"python_multipart", "sentencepiece"}
BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from heartfelt.cli import main
sys.exit(main(sys.argv[1:]))
"""


def packages(requirements: list[str]) -> set[str]:
    names = {
        text.split(">")[0].split("[")[0].split(";")[0].strip()
        for text in requirements
        if "heartfelt[" not in text
    }
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def test_every_extra_is_known_with_the_packages_it_brings() -> None:
    base = packages(PROJECT["dependencies"])
    declared = {extra: packages(PROJECT["optional-dependencies"][extra]) - base - UNSEEN for extra in EXTRAS}
    assert {extra: set(modules) - {"starlette"} for extra, modules in EXTRAS.items()} == {
        "serve": declared["serve"] - declared["predict"],
        **{extra: result for extra, result in declared.items() if extra != "serve"},
    }


def without_extras(
    *arguments: str, extras: tuple[str, ...] = tuple(EXTRAS)
) -> subprocess.CompletedProcess[str]:
    blocked = {module for extra in extras for module in EXTRAS[extra]}
    code = f"BLOCKED = {blocked!r}\n{BLOCKED}"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extras") / "ratings.csv"
    rows = [f"r{r},s{s},liking,{1 + (r + 2 * s) % 5}" for r in range(5) for s in range(8)]
    path.write_text("rater,stimulus,question,value\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.slow
def test_the_base_install_reads_analyses_and_reports(table: Path, tmp_path: Path) -> None:
    done = without_extras("analyze", str(table), "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert without_extras("show", str(table)).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["serve", "."], "serve"),
        (["predict", "x.wav"], "predict"),
        (["models", "pull", "musicnn-mtt"], "predict"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_missing_extra_is_named_with_its_command(command: list[str], extra: str, tmp_path: Path) -> None:
    if command[-1] == "x.wav":
        import numpy as np
        import soundfile

        command = ["predict", "valence-arousal", str(tmp_path / "x.wav")]
        soundfile.write(command[-1], np.zeros(16000), 16000)
    if command[0] == "serve":
        from heartfelt.cli import main

        assert main(["new", "musiceval", str(tmp_path / "study")]) == 0
        command = ["serve", str(tmp_path / "study")]
    done = without_extras(*command)
    assert done.returncode == 2, done.stderr
    assert f"pip install 'heartfelt[{extra}]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 2


@pytest.mark.slow
def test_the_base_install_measures_images_and_names_the_extra_for_models(tmp_path: Path) -> None:
    from heartfelt.cli import main

    assert main(["new", "aigiemo", str(tmp_path / "study")]) == 0
    done = without_extras("draft", str(tmp_path / "study"), "--replace", "--no-duplicates")
    assert "pixels: 32 stimuli" in done.stdout
    for name in ("objects", "expressions"):
        assert f"{name} was not asked: This needs onnxruntime" in done.stderr
    assert done.stderr.count("pip install 'heartfelt[predict]'") == 2
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_pandas_frame_without_pyarrow_names_the_extra() -> None:
    pytest.importorskip("pandas")
    code = BLOCKED.split("from heartfelt.cli")[0] + (
        "import heartfelt, pandas\n"
        "rows = {'rater': ['a', 'b'], 'stimulus': ['s', 't'], 'value': [1, 2], 'note': ['x', None]}\n"
        "try:\n    heartfelt.read(pandas.DataFrame(rows), scale='1-9')\n"
        "except heartfelt.errors.MissingPartError as error:\n    print(error.problem, error.fix)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"BLOCKED = {{'pyarrow'}}\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "This needs pyarrow" in done.stdout, done.stderr
    assert "pip install 'heartfelt[pandas]'" in done.stdout


def test_a_module_no_extra_brings_is_left_alone() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'nothing'", name="nothing")) is None

    @names_the_extra
    def broken() -> None:
        raise ModuleNotFoundError("No module named 'nothing'", name="nothing")

    with pytest.raises(ModuleNotFoundError):
        broken()

    @names_the_extra
    def serving() -> None:
        raise ModuleNotFoundError("No module named 'fastapi.x'", name="fastapi.x")

    with pytest.raises(MissingPartError, match="fastapi"):
        serving()
