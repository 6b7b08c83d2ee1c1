"""The files under ``deploy/``: everything they name exists, and the commands in them are commands of heartfelt.

No container can be built here. Where Caddy or systemd is installed, it checks its own file as well.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from heartfelt.cli.app import app

TOP = Path(__file__).parents[1]
DEPLOY = TOP / "deploy"
EXTRAS = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
CONTAINER_FILES = sorted(DEPLOY.rglob("Containerfile"))


def check_command(words: list[str]) -> None:
    """Raise unless ``heartfelt`` has this command with these options."""
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    name, *rest = words
    assert name in commands, f"heartfelt has no command {name}"
    known = {option for parameter in commands[name].params for option in parameter.opts}
    for word in rest:
        if word.startswith("--"):
            assert word.split("=")[0] in known, f"heartfelt {name} has no option {word}"


def instructions(path: Path) -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", path.read_text("utf-8")))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]  # type: ignore[misc]  # two words


@pytest.mark.slow
@pytest.mark.parametrize("path", CONTAINER_FILES, ids=lambda path: path.parent.name)
def test_a_container_file_copies_what_exists_and_runs_what_exists(path: Path) -> None:
    lines = instructions(path)
    names = {name for name, _ in lines}
    assert names <= {
        "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD", "ARG", "LABEL",
    }  # fmt: skip
    assert lines[0][0] in {"FROM", "ARG"}
    allowed = [line[1:] for line in (TOP / ".dockerignore").read_text("utf-8").split() if line.startswith("!")]
    for sources in (rest.split()[:-1] for name, rest in lines if name == "COPY" and "--from" not in rest):
        for source in (each for each in sources if not each.startswith("--")):
            assert list(TOP.glob(source.rstrip("/"))), f"{source} does not exist"
            top = source.removeprefix("./").split("/")[0]
            assert any(fnmatch.fnmatch(top, rule.split("/")[0]) for rule in allowed), f"{source} is ignored"
    for extras in re.findall(r"\.\[([\w,]+)\]", path.read_text("utf-8")):
        assert set(extras.split(",")) <= set(EXTRAS)
    users = [rest for name, rest in lines if name == "USER"]
    assert users, "the container does not run as root"
    assert users[-1] != "root"
    (entry,) = [yaml.safe_load(rest) for name, rest in lines if name == "ENTRYPOINT"]
    command = [yaml.safe_load(rest) for name, rest in lines if name == "CMD"]
    assert entry[0] == "heartfelt"
    check_command([*entry[1:], *(command[0] if command else [])] or ["serve"])


def test_the_two_ignore_files_are_the_same() -> None:
    assert (TOP / ".dockerignore").read_text("utf-8") == (TOP / ".containerignore").read_text("utf-8")


def test_the_compose_file_hangs_together() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    compose = yaml.safe_load(text)
    services = compose["services"]
    assert set(services) == {"proxy", "server", "database"}
    assert services["server"]["build"]["dockerfile"] == "deploy/Containerfile"
    assert (DEPLOY / services["server"]["build"]["context"]).resolve() == TOP
    for service in services.values():
        assert set(service["networks"]) <= set(compose["networks"])
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service["volumes"]:
            source = volume.rsplit(":", 2 if volume.endswith(":ro") else 1)[0]
            if source.startswith("./"):
                assert (DEPLOY / source).is_file()
            elif not source.startswith("${"):
                assert source in compose["volumes"]
    assert "ports" not in services["server"], "only the proxy is reachable"
    assert "ports" not in services["database"]
    assert compose["networks"]["inside"]["internal"]
    check_command(services["server"]["command"])
    (proxy,) = [word for word in services["server"]["command"] if word.startswith("--proxy=")]
    assert proxy.removeprefix("--proxy=") == services["proxy"]["networks"]["inside"]["ipv4_address"]
    example = dict(
        line.split("=", 1) for line in (DEPLOY / "example.env").read_text("utf-8").splitlines() if "=" in line
    )
    assert set(re.findall(r"\$\{(\w+)", text)) == set(example)
    assert not example["DATABASE_PASSWORD"], "an example has no password that somebody could keep"
    assert not example["ADMIN_PASSWORD"]


def test_the_proxy_passes_on_to_the_server() -> None:
    text = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert "reverse_proxy server:8000" in text
    assert "flush_interval -1" in text
    assert "health_uri /health" in text
    assert text.count("{") == text.count("}")
    caddy = shutil.which("caddy")
    if caddy:
        command = [caddy, "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"]
        done = subprocess.run(
            command, env={**os.environ, "DOMAIN": "ratings.example.org"}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(DEPLOY.glob("*.service")), ids=lambda path: path.name)
def test_a_unit_runs_a_command_that_exists(path: Path) -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their case
    unit.read(path, "utf-8")
    service = unit["Service"]
    assert service["User"] == "heartfelt"
    assert service["NoNewPrivileges"] == "yes"
    (called,) = re.findall(r"/opt/heartfelt/bin/heartfelt ([^']+)", service["ExecStart"])
    check_command(shlex.split(called))
    assert "/srv/heartfelt/%i" in service["ReadWritePaths"]


def test_the_nightly_timer_calls_the_backup() -> None:
    assert (DEPLOY / "heartfelt-backup@.service").is_file()
    assert "OnCalendar=*-*-* " in (DEPLOY / "heartfelt-backup@.timer").read_text("utf-8")
