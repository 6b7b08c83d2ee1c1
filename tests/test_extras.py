"""A missing package is answered at once, with the command that installs it into this copy.

What each install can do is tried in environments of its own by ``scripts/try_installs.py``.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heartfelt.cli import main
from heartfelt.cli.app import app
from heartfelt.cli.needs import NEEDS, commands_of
from heartfelt.errors import MissingPartError
from heartfelt.extras import (
    EXTRAS,
    INCLUDES,
    install_command,
    missing_extra,
    names_the_extra,
    packages_of,
    plugin_command,
    require_extra,
)

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"argon2-cffi": "argon2", "python-multipart": "python_multipart", "visqol-python": "visqol"}
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
        text.split(">")[0].split("[")[0].split(";")[0].strip() for text in requirements if "heartfelt[" not in text
    }
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def test_every_extra_is_known_with_the_packages_it_brings() -> None:
    base = packages(PROJECT["dependencies"])
    declared = {extra: packages(PROJECT["optional-dependencies"][extra]) - base - UNSEEN for extra in EXTRAS}
    assert {extra: set(modules) - {"starlette"} for extra, modules in EXTRAS.items()} == {
        "serve": declared["serve"] - declared["predict"],
        **{extra: result for extra, result in declared.items() if extra != "serve"},
    }


def without_extras(*arguments: str, extras: tuple[str, ...] = tuple(EXTRAS)) -> subprocess.CompletedProcess[str]:
    blocked = {module for extra in extras for module in EXTRAS[extra]}
    code = f"BLOCKED = {blocked!r}\n{BLOCKED}"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extras") / "ratings.csv"
    rows = [f"r{r},s{s},liking,{1 + (r + 2 * s) % 5}" for r in range(5) for s in range(8)]
    path.write_text("rater,stimulus,question,value\n" + "\n".join(rows) + "\n")
    return path


def test_extras_that_include_others_say_so() -> None:
    included = {
        extra: tuple(
            part
            for text in requirements
            if text.startswith("heartfelt[")
            for part in text.removeprefix("heartfelt[").rstrip("]").split(",")
        )
        for extra, requirements in PROJECT["optional-dependencies"].items()
        if extra not in {"dev", "train"}
    }
    assert {extra: parts for extra, parts in included.items() if parts} == dict(INCLUDES)
    assert set(packages_of("all")) == {*EXTRAS["serve"], *EXTRAS["predict"], *EXTRAS["tables"]}


@pytest.mark.slow
def test_every_command_that_needs_an_extra_exists_and_asks_for_it_first() -> None:
    commands = dict(commands_of(app))
    assert set(NEEDS) <= set(commands)
    for name, extra in NEEDS.items():
        done = CliRunner().invoke(app, [*name.split(), "--help"])
        assert done.exit_code == 0, "help needs no extra"
        assert hasattr(commands[name].callback, "__wrapped__"), name
        assert set(packages_of(extra)), name


def test_a_command_is_refused_before_it_does_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heartfelt.extras.is_installed", lambda _: False)
    monkeypatch.chdir(tmp_path)
    arguments = {
        "demo": ["demo", "out"],
        "serve": ["serve", "missing"],
        "restore": ["restore", "backup", "folder"],
        "train": ["train", "missing", "--recipe", "va-audio", "--out", "model"],
        "conveyance": ["conveyance", "missing", "--out", "out"],
        "distances": ["distances", "missing", "--embedding", "music", "--out", "out"],
        "bench": ["bench", "missing", "--model", "clap", "--out", "out"],
        "ray": ["bench", "missing", "--model", "human", "--engine", "ray", "--out", "out"],
        "zenodo": ["publish", "missing", "out", "--deposit", "zenodo:sandbox"],
        "hub": ["publish", "missing", "out", "--push", "hub:somebody/something"],
        "names": ["publish", "missing", "out", "--ner", "en=en_core_web_lg"],
        "fine-tuning": ["train", "missing", "--recipe", "clap-mos", "--out", "model"],
    }
    for name, words in arguments.items():
        assert main(words) == 2, name
        problem, fix = capsys.readouterr().err.strip().splitlines()
        assert problem.startswith("This needs "), (name, problem)
        assert "install" in fix, name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_base_install_measures_images_and_names_the_extra_for_models(tmp_path: Path) -> None:
    assert main(["new", "aigiemo", str(tmp_path / "study")]) == 0
    done = without_extras("draft", str(tmp_path / "study"), "--replace", "--no-duplicates")
    assert "pixels: 32 stimuli" in done.stdout
    for name in ("objects", "expressions"):
        assert f"{name} was not asked: This needs onnxruntime" in done.stderr
    assert done.stderr.count("[predict]'") == 2
    named = without_extras("draft", str(tmp_path / "study"), "--field", "objects", "--replace")
    assert named.returncode == 2, "what was asked for by name is refused, not left out"
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
        [sys.executable, "-c", f"BLOCKED = {{'pyarrow'}}\n{code}"], capture_output=True, text=True, timeout=120
    )
    assert "This needs pyarrow" in done.stdout, done.stderr
    assert "[pandas]'" in done.stdout


class FakeDistribution:
    def __init__(self, origin: object) -> None:
        self.origin = origin

    def read_text(self, _: str) -> str | None:
        return None if self.origin is None else json.dumps(self.origin)


def test_the_command_fits_the_way_this_copy_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone, wheel = tmp_path / "my clone", tmp_path / "heartfelt-1.0-py3-none-any.whl"
    clone.mkdir()
    wheel.touch()
    prefix = tmp_path / "environment"
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setenv("VIRTUAL_ENV", str(prefix))
    origins: list[tuple[object, str]] = [
        (None, "pip install 'heartfelt[serve]'"),
        ({"url": clone.as_uri(), "dir_info": {"editable": True}}, f"pip install -e '{clone}[serve]'"),
        ({"url": clone.as_uri(), "dir_info": {}}, f"pip install '{clone}[serve]'"),
        ({"url": wheel.as_uri(), "archive_info": {}}, f"pip install '{wheel}[serve]'"),
        ({"url": "file:///gone/heartfelt", "dir_info": {}}, "pip install '.[serve]'"),
        (
            {"url": "file:///gone/heartfelt-1.0-py3-none-any.whl", "archive_info": {}},
            "pip install './heartfelt-1.0-py3-none-any.whl[serve]'",
        ),
        (
            {"url": "https://example.org/x.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            "pip install 'heartfelt[serve] @ git+https://example.org/x.git'",
        ),
    ]
    for origin, command in origins:
        monkeypatch.setattr("heartfelt.extras.distribution", lambda _, o=origin: FakeDistribution(o))
        assert install_command("serve") == command
    monkeypatch.setattr("heartfelt.extras.distribution", lambda _: FakeDistribution(None))
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.chdir(prefix)
    assert install_command("serve") == f"{shlex.quote(sys.executable)} -m pip install 'heartfelt[serve]'"
    (prefix / "pipx_metadata.json").touch()
    assert install_command("serve") == "pipx install --force 'heartfelt[serve]'"
    (prefix / "uv-receipt.toml").touch()
    assert install_command("serve") == "uv tool install --force 'heartfelt[serve]'"


def test_an_extra_that_is_complete_is_not_asked_for() -> None:
    require_extra("serve")
    require_extra("all")


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


@pytest.mark.parametrize(
    ("mark", "begins"),
    [
        ("", "pip install"),
        ("uv-receipt.toml", "uv tool install --force heartfelt --with"),
        ("pipx_metadata.json", "pipx inject heartfelt"),
    ],
)
def test_a_plug_in_is_installed_the_way_heartfelt_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, begins: str
) -> None:
    names = [folder.name for folder in (Path(__file__).parents[1] / "plugins").iterdir() if folder.is_dir()]
    assert names
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    if mark:
        (tmp_path / mark).touch()
    for name in names:
        command = plugin_command(name)
        assert command.startswith(begins)
        assert (Path(shlex.split(command)[-1]) / "pyproject.toml").is_file()
    monkeypatch.setattr("heartfelt.extras.__file__", str(tmp_path / "lib/site-packages/heartfelt/extras.py"))
    address = f"git+{PROJECT['urls']['Source']}#subdirectory=plugins/{names[0]}"
    assert shlex.split(plugin_command(names[0]))[-1] == f"{names[0]} @ {address}"
