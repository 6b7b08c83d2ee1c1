"""What every test may use: the public data beside the project, and optional parts that must not vanish quietly."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PATIENCE = 60_000
"""Milliseconds that a test with a browser waits for anything: a busy machine is slow, not wrong."""
REQUIRE_ALL = bool(os.environ.get("REQUIRE_ALL"))

# Small inputs are interpreted at first, which pays for one study; thousands of tests pay less if every loop is compiled once, for
# all workers. tests/stats/test_small_and_compiled.py compares the two.
os.environ.setdefault("HEARTFELT_COMPILE", "1")

# CI tries the same examples every time and is not hurried by a busy machine; elsewhere each run looks for new ones.
settings.register_profile(
    "heartfelt", derandomize=REQUIRE_ALL, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("heartfelt")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests and all modules stay to the end: the garbage collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _data_folder() -> Path:
    return Path(os.environ.get("HEARTFELT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HEARTFELT_CACHE where it is set; else a folder all workers of this run share, so that a model is pulled once."""
    if not os.environ.get("HEARTFELT_CACHE"):
        base = tmp_path_factory.getbasetemp()
        shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
        os.environ["HEARTFELT_CACHE"] = str(shared / "heartfelt-cache")
    return Path(os.environ["HEARTFELT_CACHE"])


@pytest.fixture(scope="session", autouse=True)
def kernels_compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A worker that needs a kernel another one is compiling waits for it and reads the result from the cache on disk."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        yield
        return
    from filelock import FileLock
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    locks = tmp_path_factory.getbasetemp().parent
    compile_here = Dispatcher.compile

    def compile_or_wait(self: Any, signature: Any) -> Any:
        kernel = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if not kernel.startswith("heartfelt."):
            return compile_here(self, signature)
        with global_compiler_lock, FileLock(locks / f"{kernel}.lock"):
            return compile_here(self, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_or_wait)
        yield


@pytest.fixture(scope="session", autouse=True)
def stores_migrated_once() -> Iterator[None]:
    """Every further empty store is given the statements that the migrations ran on the first of its kind.

    Running the migrations takes longer than most tests of a store. Tests about migrations unwrap them.
    """
    database: Any = sys.modules.get("heartfelt.collect.store.database")
    if database is None:
        yield  # no test that was collected uses a store
        return
    from sqlalchemy import event

    run_migrations = database.migrate
    ran: dict[str, list[tuple[str, Any]]] = {}

    @functools.wraps(run_migrations)
    def migrate(connection: Any) -> None:
        kind = connection.dialect.name
        if database.revision(connection) is not None:
            run_migrations(connection)
        elif kind in ran:
            for statement, values in ran[kind]:
                connection.exec_driver_sql(statement, values)
        else:
            made: list[tuple[str, Any]] = []

            def note(_: Any, __: Any, statement: str, values: Any, ___: Any, ____: Any) -> None:
                if statement.split(maxsplit=1)[0] in {"CREATE", "ALTER", "INSERT", "UPDATE", "DROP"}:
                    made.append((statement, values))

            event.listen(connection, "before_cursor_execute", note)
            try:
                run_migrations(connection)
            finally:
                event.remove(connection, "before_cursor_execute", note)
            ran[kind] = made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "migrate", migrate)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the public data sets (aimoclips, oasis, agiqa); the test is skipped where it is absent."""
    folder = _data_folder()
    if not (folder / "aimoclips" / "ratings_metadata.csv").is_file():
        pytest.skip(f"the public data are not at {folder} (set HEARTFELT_DATA to where they are)")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium, gone after the module: as long as it is there, an event loop runs in the main thread."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    result = next(filter(None, map(shutil.which, names)), None)
    if result is None:
        pytest.skip("no Chromium on the path")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    arguments += ["--disable-sync", "--autoplay-policy=no-user-gesture-required"]
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=result, args=arguments, timeout=PATIENCE)
        open_context = running.new_context

        def patient(**options: Any) -> BrowserContext:
            context: BrowserContext = open_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        running.new_context = patient
        yield running
        running.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With REQUIRE_ALL set, a test that would be skipped fails and says what was missing."""
    report = yield
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"REQUIRE_ALL is set, but {item.nodeid} would be skipped: {reason}"
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """The same for a whole module that skips itself while being collected."""
    if REQUIRE_ALL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"REQUIRE_ALL is set, but {report.nodeid} would be skipped: {report.longrepr}"


WHOLE_ANALYSES = {
    "conveyance", "opinion", "presence", "traced", "compared", "best_and_worst", "graded", "matched", "referenced", "drafted",
    "emotional",
}  # fmt: skip
"""Fixtures of tests/report: a study from its ratings to its results."""
MARKED_BY_FIXTURE = {
    "browser": "browser",
    "shared_data": "data",
    "postgres_server": "server",
    "cluster": "server",
    "written": "slow",  # a whole analysis with its figures
    "musicnn": "slow",  # pretrained weights
}


def _longest(item: pytest.Item) -> float:
    """How many seconds a test is given beyond what every test is."""
    own = item.get_closest_marker("timeout")
    return max(0.0, (float(own.args[0]) if own is not None else 0.0) - 300.0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use; those of the web package drive the whole application, as a server does.

    The longest come first, or all workers would wait for the last of them at the end.
    """
    items.sort(key=_longest, reverse=True)
    web, report = (Path(__file__).parent / package for package in ("web", "report"))
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if item.path.is_relative_to(web):
            item.add_marker("server")
        if item.path.is_relative_to(report) and not WHOLE_ANALYSES.isdisjoint(fixtures):
            item.add_marker("slow")
        for fixture, marker in MARKED_BY_FIXTURE.items():
            if fixture in fixtures:
                item.add_marker(marker)
        if "postgresql" in item.name:
            item.add_marker("server")
        module = getattr(item, "module", None)
        if any(hasattr(module, name) for name in ("serving", "served", "Running", "launched")):
            item.add_marker("server")
