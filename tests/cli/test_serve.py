"""``heartfelt serve`` and ``heartfelt study token``: real processes on a real port."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from typer.main import get_command

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.web.serving.serve import bind_port, run_server
from tests.docs.reference import command_pages
from tests.facts import mentions
from tests.ports import free_port
from tests.web.studies import write_study

PATIENCE = 240.0


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("served") / "study")


@dataclass
class Running:
    """A server process and what it has said."""

    process: subprocess.Popen[str]
    address: str
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    _following: list[threading.Thread] = field(default_factory=list)

    def follow(self) -> None:
        for stream, retained in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            assert stream is not None
            self._following.append(threading.Thread(target=retained.extend, args=(stream,), daemon=True))
            self._following[-1].start()

    def close(self) -> None:
        for thread in self._following:
            thread.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "".join(self.err)
            if any("is served" in line for line in self.out):
                # Said only when it is so: the first request is answered.
                assert httpx.get(f"{self.address}/study/login", timeout=60).status_code == 200
                return
            time.sleep(0.05)
        raise AssertionError("".join(self.err))

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        for thread in self._following:
            thread.join(PATIENCE)
        return code

    def password(self) -> str | None:
        while "API" not in "".join(self.out):
            time.sleep(0.01)
        time.sleep(0.1)  # the password is in the lines behind it
        result = re.search(r"password\s+(\S+)", "".join(self.out))
        return result[1] if result else None

    @contextmanager
    def log_in(self, password: str) -> Iterator[httpx.Client]:
        with httpx.Client(base_url=self.address, timeout=30) as client:
            self._enter(client, password)
            yield client

    @staticmethod
    def _enter(client: httpx.Client, password: str) -> None:
        page = client.get("/study/login").text
        hidden = page.split('name="page" value="')[1].split('"')[0]
        done = client.post("/study/login", data={"password": password, "page": hidden})
        assert done.status_code == 303, done.text


def heed_ctrl_c() -> None:
    """A background shell has its programs ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def serving(folder: Path, *more: str, **environment: str) -> Iterator[Running]:
    port = free_port()
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HEARTFELT_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "heartfelt", "serve", str(folder), "--port", str(port), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, "PYTHONUNBUFFERED": "1", **environment},
        preexec_fn=heed_ctrl_c,
    )
    running = Running(process, f"http://127.0.0.1:{port}")
    running.follow()
    try:
        running.wait()
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        running.close()


@pytest.mark.slow
def test_a_study_is_served_stopped_and_served_again(study: Path) -> None:
    with serving(study, "--workers", "2") as first:
        password = first.password()
        assert password
        with first.log_in(password) as client:
            assert client.get("/api/v1/study").json()["name"] == "small"
            token = made_token(study)
            for _ in range(6):
                answer = client.get("/api/v1/coverage", headers={"authorization": f"Bearer {token}", "cookie": ""})
                assert answer.status_code == 200
            client.get("/?PROLIFIC_PID=person-1")
            cookies = dict(client.cookies)
            with client.stream("GET", "/study/events") as events:
                assert next(events.iter_lines()) == "retry: 2000"
                assert first.stop(signal.SIGINT) == 130
        assert mentions(first.err[-1], "Stopped", "complete")
        reply = "".join(first.err)
        assert "GET /api/v1/coverage 200" in reply
        assert not any(secret in reply for secret in (password, token, "person-1", cookies["heartfelt_study"]))
    with serving(study) as second:
        assert second.password() is None
        answer = httpx.get(f"{second.address}/api/v1/coverage", cookies=cookies, timeout=30)
        assert answer.json()["raters"]["all"] == 1
        with second.log_in(password):
            pass
        assert second.stop() in {0, -signal.SIGTERM}


def made_token(study: Path) -> str:
    command = [sys.executable, "-m", "heartfelt", "study", "token", str(study), "--name", "backup"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_the_password_of_the_environment_is_taken_and_never_shown(study: Path) -> None:
    with serving(study, HEARTFELT_ADMIN_PASSWORD="from outside", HEARTFELT_SECRET="s" * 32) as running:
        with running.log_in("from outside"):
            pass
        running.stop()
        assert "from outside" not in "".join(running.out) + "".join(running.err)


def call(*arguments: str) -> None:
    app(args=list(arguments), standalone_mode=False)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HEARTFELT_SECRET", "HEARTFELT_ADMIN_PASSWORD", "HEARTFELT_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("more", [[], ["--workers", "2"]])
def test_a_taken_port_is_said_in_words(
    study: Path, bare: pytest.MonkeyPatch, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match=r"Cannot listen on 127\.0\.0\.1") as message:
            call("serve", str(study), "--port", str(taken.getsockname()[1]), *more)
        assert "--port" in message.value.fix
    assert "is served" not in capsys.readouterr().out


def test_a_port_that_is_taken_while_the_study_is_opened_is_said_in_words(study: Path) -> None:
    with bind_port("127.0.0.1", 0) as ours, bind_port("127.0.0.1", ours.getsockname()[1]) as theirs:
        theirs.listen()
        with pytest.raises(InputError, match="Cannot listen on"):
            run_server("nothing:at_all", listener=ours, ready=lambda: pytest.fail("is served"))


@pytest.mark.parametrize(
    ("more", "variable", "value", "words"),
    [
        (["--prefix", "one"], "X", "", "prefix"),
        (["--url", "example.org"], "X", "", "web address"),
        ([], "HEARTFELT_SECRET", "short", "shorter than 16"),
        ([], "HEARTFELT_ADMIN_PASSWORD", "short", "shorter than 8"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_starts(
    study: Path, bare: pytest.MonkeyPatch, more: list[str], variable: str, value: str, words: str
) -> None:
    bare.setenv(variable, value)
    with pytest.raises(InputError, match=words):
        call("serve", str(study), "--port", str(free_port()), *more)


def test_a_folder_without_a_study_is_said_in_words(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    for command in (["serve", str(tmp_path)], ["study", "token", str(tmp_path), "--name", "x"]):
        with pytest.raises(HeartfeltError) as message:
            call(*command)
        assert message.value.fix


def test_a_token_needs_a_name(study: Path, bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="name"):
        call("study", "token", str(study), "--name", " ")


def test_every_option_of_serving_is_in_the_docs() -> None:
    """In the generated reference of the command, each with its meaning."""
    rows = re.findall(r"^\| (`--.*?) \| (\S.{9,}?) \|", command_pages()["serve.md"], re.MULTILINE)
    written = "".join(options for options, _ in rows)
    command = get_command(app).commands["serve"]  # type: ignore[attr-defined]  # a group has commands
    names = {name for param in command.params for name in [*param.opts, *param.secondary_opts] if name.startswith("--")}
    missing = {name for name in names - {"--access-log"} if f"`{name}" not in written}
    assert not missing
