"""The engine ``ray`` on a real cluster of several nodes on this machine, one of which is killed in the middle."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from heartfelt.errors import HeartfeltError, InputError, MissingPartError
from heartfelt.predictors import ENGINES, Ask, Case, Media, Run, RunOptions, predictor_from, run
from heartfelt.predictors.execution.ray import Ray, SentMedia
from heartfelt.serialization import dumps
from heartfelt.study.scales.scale import Points, YesNo
from heartfelt.training.experiments import plan_learning_curve, run_plan
from tests.facts import mentions
from tests.training.experiments.studies import setup_of, study

if find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)
# Ray leaves processes and files to be closed at its own leisure, and says so at each other's expense.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning", "ignore:subprocess:ResourceWarning")

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
MODULE = """
import os, time
from pathlib import Path
import ray
from heartfelt.predictors.baselines import Sham

LOG = Path(os.environ["HEARTFELT_TEST_LOG"])


def _note(stimulus):
    with LOG.open("a") as log:
        log.write(f"{stimulus} {ray.get_runtime_context().get_node_id()}\\n")


def work(stimulus):
    time.sleep(0.03)
    _note(stimulus)
    return float(len(stimulus) % 9 + 1)


def shared(stimulus):
    # Waits until both nodes have begun.
    _note(stimulus)
    end = time.monotonic() + 120
    while len({line.split()[1] for line in LOG.read_text().splitlines()}) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    return float(len(stimulus) % 9 + 1)


def poison(stimulus):
    _note(stimulus)
    if stimulus == "s003":
        os._exit(1)
    return 2.0


def heard(content):
    return float(len(content) % 2)


def _fail():
    raise FileNotFoundError("the weights are not here")


class Unloadable(Sham):
    def __reduce__(self):
        return _fail, ()
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ray") / "log"


@pytest.fixture(scope="module")
def cluster(log: Path) -> Iterator[Any]:
    """Two nodes with one CPU each; their processes can import the module with the functions."""
    (log.parent / "cluster_work.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("HEARTFELT_TEST_LOG", str(log))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(log.parent), os.environ.get("PYTHONPATH", "")]))
        patch.syspath_prepend(str(log.parent))
        from ray.cluster_utils import Cluster

        made: Any = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        made.add_node(**NODE)
        try:
            yield made
        finally:
            made.shutdown()


def cases(n: int) -> list[Case]:
    ask = Ask(question="q", scale=Points(type="points", points=9), text="text")
    return [Case(stimulus=f"s{place:03}", asks=(ask,)) for place in range(n)]


def asked(cluster: Any, spec: str, n: int, folder: Path | None = None, **options: Any) -> Run:
    settings = RunOptions(engine="ray", engine_options={"address": cluster.address}, **options)
    return run(predictor_from(spec), cases(n), folder, settings)


def logged(log: Path) -> list[tuple[str, str]]:
    if not log.is_file():
        return []
    lines = [line.split() for line in log.read_text().splitlines()]
    log.unlink()
    return [(stimulus, node) for stimulus, node in lines]


@pytest.mark.slow
def test_the_answers_are_those_of_this_machine(cluster: Any, log: Path, tmp_path: Path) -> None:
    away = asked(cluster, "cluster_work:shared", 40, tmp_path / "away", batch=3)
    done = logged(log)
    assert Counter(stimulus for stimulus, _ in done) == Counter(case.stimulus for case in cases(40))
    assert len({node for _, node in done}) == 2
    here = run(predictor_from("sham"), cases(40), options=RunOptions())
    again = run(
        predictor_from("sham"),
        cases(40),
        options=RunOptions(engine="ray", engine_options={"address": cluster.address, "workers": "1"}),
    )
    assert again.table.drop("seconds").equals(here.table.drop("seconds"))
    assert away.counts == {"items": 40, "answered": 40, "failed": 0, "kept": 0, "cached": 0, "asked": 40}
    assert away.table["value"].to_list() == [5.0] * 40


@pytest.mark.slow
def test_experiments_fit_the_same_cells_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    setup = setup_of(tmp_path, study(tmp_path / "media"))
    plan = plan_learning_curve(setup, "ratings", [1, 3])
    away = ENGINES["ray"].make({"address": cluster.address, "workers": "2"})
    made = [run_plan(setup, plan, tmp_path / name, engine=engine) for name, engine in (("away", away), ("here", None))]
    away.close()
    assert dumps(made[0]) == dumps(made[1])
    files = sorted((tmp_path / "here" / "cells").iterdir())
    assert len(files) == 4 * 3
    for file in files:
        assert (tmp_path / "away" / "cells" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_a_killed_node_costs_its_own_share_only(cluster: Any, log: Path, tmp_path: Path) -> None:
    doomed = cluster.add_node(**NODE)
    name = doomed.node_id
    seen: list[int] = []

    def progress(doing: str, done: int, total: int) -> None:
        if not seen and name in log.read_text():
            cluster.remove_node(doomed, allow_graceful=False)
            seen.append(done)
        elif not seen:
            # The others are slowed down until the one that will be lost has begun.
            time.sleep(0.5)

    settings = RunOptions(engine="ray", engine_options={"address": cluster.address})
    n = 150
    result = run(predictor_from("cluster_work:work"), cases(n), tmp_path, settings, progress)
    assert seen
    assert seen[0] < n
    assert result.counts["answered"] == n
    assert result.table["stimulus"].to_list() == [case.stimulus for case in cases(n)]
    times = Counter(stimulus for stimulus, _ in logged(log))
    assert set(times) == {case.stimulus for case in cases(n)}
    # What the lost worker had at hand: one it worked on and one that waited.
    assert sum(times.values()) <= n + 2
    journal = [json.loads(line)["row"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert Counter(row["stimulus"] for row in journal) == Counter(case.stimulus for case in cases(n))
    rest = asked(cluster, "cluster_work:work", n, tmp_path)
    assert rest.counts["asked"] == 0
    assert logged(log) == []


@pytest.mark.slow
def test_a_batch_that_kills_its_workers_is_settled_alone(cluster: Any, log: Path) -> None:
    result = asked(cluster, "cluster_work:poison", 8)
    bad = result.table.filter(~result.table["ok"])
    assert bad["stimulus"].to_list() == ["s003"]
    assert bad["problem"].to_list() == ["its worker was lost 3 times while it was worked on"]
    assert bad["attempts"].to_list() == [3]
    times = Counter(stimulus for stimulus, _ in logged(log))
    assert times.pop("s003") == 3
    # One that was done a moment before may have been on its way back from the worker that was lost.
    assert max(times.values()) <= 2


@pytest.mark.slow
def test_media_can_travel(cluster: Any, tmp_path: Path) -> None:
    asks = (Ask(question="q", scale=YesNo(type="yes-no"), text="text"),)
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "b").write_bytes(b"123")
    sent = SentMedia(tmp_path / "b", b"123")
    given = [Case(stimulus=name, asks=asks, media=Media(tmp_path / name)) for name in ("a", "b", "gone")]
    options = {"address": cluster.address, "media": "send", "workers": "1"}
    table = run(
        predictor_from("cluster_work:heard"), given, options=RunOptions(engine="ray", engine_options=options)
    ).table
    assert table["value"].to_list() == [0.0, 1.0, None]
    assert "gone" in table["problem"][2]
    (tmp_path / "b").unlink()
    assert pickle.loads(pickle.dumps(sent)).content == b"123"


@pytest.mark.slow
def test_what_does_not_load_there_is_told_here(cluster: Any) -> None:
    from cluster_work import Unloadable  # type: ignore[import-not-found]  # written by the test

    settings = RunOptions(engine="ray", engine_options={"address": cluster.address})
    with pytest.raises(InputError, match=r"cannot be loaded on the cluster: .*the weights are not here"):
        run(Unloadable.make(), cases(4), None, settings)


def test_a_cluster_without_room_is_told(cluster: Any) -> None:
    """Two nodes with one CPU each have no room for a worker that takes two."""
    for options in ({"gpus": "1"}, {"cpus": "2"}, {"cpus": "2", "workers": "1"}):
        settings = RunOptions(engine="ray", engine_options={"address": cluster.address, **options})
        with pytest.raises(InputError, match="no room for a worker") as message:
            run(predictor_from("sham"), cases(1), None, settings)
        assert mentions(message.value.fix, "1 CPUs", "0 GPUs")


def test_a_cluster_that_gives_no_worker_is_not_waited_for_forever(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ray, "_capacity", lambda _: 1)
    monkeypatch.setattr("heartfelt.predictors.execution.ray._PATIENCE", 2.0)
    settings = RunOptions(engine="ray", engine_options={"address": cluster.address, "cpus": "2"})
    with pytest.raises(HeartfeltError, match=r"worker.*2") as message:
        run(predictor_from("sham"), cases(1), None, settings)
    assert "continues where it stopped" in message.value.fix


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "127.0.0.1:99999"])
def test_an_address_where_nothing_is_is_told(address: str) -> None:
    settings = RunOptions(engine="ray", engine_options={"address": address})
    with pytest.raises(InputError, match="cannot be used") as message:
        run(predictor_from("sham"), cases(1), None, settings)
    assert f"'{address}'" in message.value.problem


@pytest.mark.parametrize(
    "failure",
    [OSError("no socket"), FileNotFoundError(2, "gone", "/tmp/ray"), AssertionError(), SystemExit(1), TypeError("x")],
)
def test_ray_that_cannot_start_is_told(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def init(**_: object) -> NoReturn:
        raise failure

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(InputError, match="Ray cannot start on this machine") as message:
        run(predictor_from("sham"), cases(1), None, RunOptions(engine="ray"))
    assert "Leave out '--engine ray'" in message.value.fix


def test_a_function_that_cannot_travel_is_told() -> None:
    with pytest.raises(InputError, match="cannot travel to other processes") as message:
        run(predictor_from(lambda question: len(question)), cases(1), None, RunOptions(engine="ray"))
    assert "module:function" in message.value.fix


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"adress": "auto"}, "no option 'adress'"),
        ({"workers": "1.5"}, "'1.5' is not a valid workers"),
        ({"cpus": "many"}, "'many' is not a valid cpus"),
        ({"media": "carry"}, "neither path nor send"),
    ],
)
def test_options_that_make_no_sense_are_told(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as message:
        ENGINES["ray"].make(options)
    assert message.value.fix


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPartError, match=r"\[ray\]"):
        Ray.make()
