"""The training loop: the same weights after SIGKILL, halved batches, losses that are not finite, checkpoints of other runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.errors import DamagedError, InputError
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning import (
    FineTuned,
    FineTuneOptions,
    FineTuneSettings,
    FineTuneTask,
    fine_tune,
    recipe_named,
)
from heartfelt.training.finetuning.gathering import gather_data, gather_folds
from heartfelt.training.finetuning.loop.batches import BatchSchedule
from heartfelt.training.finetuning.loop.checkpoints import CHECKPOINT, Checkpoints, RunIdentity
from heartfelt.training.finetuning.loop.engine import TrainingLoop
from tests.facts import mentions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("my_package")]
SETTINGS: Mapping[str, object] = {
    "epochs": 4,
    "batch": 8,
    "learning_rate": 0.01,
    "checkpoint_every": 2,
    "questions": "impression,alignment",
}


def options(**changed: object) -> FineTuneOptions:
    return FineTuneOptions(recipe="my_package:recipe", settings={**SETTINGS, **changed}, policy="none")


def same_weights(first: FineTuneTask, second: FineTuneTask) -> bool:
    ours, theirs = first.module.state_dict(), second.module.state_dict()
    return all(bool((ours[key] == theirs[key]).all()) for key in ours)


@pytest.fixture(scope="module")
def whole(study: Snapshot, my_package: Path) -> FineTuned:
    """A run that nothing interrupts."""
    del my_package
    return fine_tune([study], options())


KILLED = """
import os, signal, sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from heartfelt.training.finetuning import FineTuneOptions, fine_tune
from heartfelt.snapshot import load
folder, settings = Path(sys.argv[1]), eval(sys.argv[2])
snapshot = load(folder / "snapshot")
snapshot.source = replace(snapshot.source, media_root=Path(sys.argv[3]))
def progress(doing, done, total):
    if doing == "training" and done == 8:
        os.kill(os.getpid(), signal.SIGKILL)
options = FineTuneOptions(recipe="my_package:recipe", settings=settings, policy="none")
fine_tune([snapshot], options, checkpoints=folder / "run", progress=progress)
"""


def test_a_process_killed_in_the_middle_continues_to_the_same_weights(
    study: Snapshot, whole: FineTuned, my_package: Path, tmp_path: Path
) -> None:
    """Killed at step 8 of 12, in the middle of an epoch; the last checkpoint is of step 8 or before."""
    study.write(tmp_path / "snapshot")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(my_package), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), repr(dict(SETTINGS)), str(study.source.media_root)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = tmp_path / "run"
    assert (run / CHECKPOINT).is_file()
    with pytest.raises(InputError, match="resume"):
        fine_tune([study], options(), checkpoints=run)
    steps: list[int] = []

    def note(doing: str, done: int, total: int) -> None:
        if doing == "training" and total:
            steps.append(done)

    again = fine_tune([study], options(workers=1), checkpoints=run, resume=True, progress=note)
    assert steps[0] in (7, 8, 9)
    assert same_weights(again.task, whole.task)
    assert again.facts.fitted.history == whole.facts.fitted.history
    assert again.predictions.equals(whole.predictions)
    for changed, problem in (
        (options(learning_rate=0.02), "learning_rate=0.01, not 0.02"),
        (replace(options(), seed=5), "has the seed 0, not 5"),
        (replace(options(), policy="default", settings={**SETTINGS, "questions": "impression"}), "questions"),
    ):
        with pytest.raises(InputError, match=problem):
            fine_tune([study], changed, checkpoints=run, resume=True)


def test_checkpoints_of_another_recipe_or_version_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    own = RunIdentity(recipe="clap-mos", settings={"epochs": 3}, data="abc", seed=0)
    Checkpoints(tmp_path, own).write({"state": {}}, {}, 0)
    assert Checkpoints(tmp_path, own).read() is not None
    for other, problem in (
        (replace(own, recipe="soft-mos"), "is of the recipe 'clap-mos', not 'soft-mos'"),
        (replace(own, heartfelt="9.9"), "written by heartfelt"),
        (replace(own, data="xyz"), "other data"),
    ):
        with pytest.raises(InputError, match=problem):
            Checkpoints(tmp_path, other).read()
    (tmp_path / CHECKPOINT).write_bytes((tmp_path / CHECKPOINT).read_bytes()[:100])
    with pytest.raises(DamagedError, match="cannot be read"):
        Checkpoints(tmp_path, own).read()


def engine_for(study: Snapshot, **changed: object) -> TrainingLoop:
    recipe = recipe_named("my_package:recipe")
    settings: FineTuneSettings = recipe.settings.model_validate({**SETTINGS, **changed})
    data = gather_data([study], recipe, settings, policy="none")
    return TrainingLoop(recipe.build(data, settings), data, settings)


def test_a_batch_that_does_not_fit_is_computed_in_pieces(study: Snapshot) -> None:
    """Without dropout, pieces give the same steps as whole batches."""
    import torch

    histories = []
    for largest in (99, 3):
        torch.manual_seed(3)
        engine = engine_for(study, epochs=2)
        engine.task.module.layers[2].p = 0.0
        forward = engine.task.module.forward

        def limited(spectrum: Any, most: int = largest, forward: Any = forward) -> Any:
            if len(spectrum) > most:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
            return forward(spectrum)

        engine.task.module.forward = limited
        histories.append(engine.fit())
    plain, cut = histories
    assert not plain.notes
    assert [note for note in cut.notes if "computed in" in note]
    assert mentions(cut.notes[1], "4 stimuli", "once")
    for first, second in zip(plain.history, cut.history, strict=True):
        assert second.validation_loss == pytest.approx(first.validation_loss, rel=1e-5)
    impossible = engine_for(study)
    impossible.task.module.forward = partial(limited, most=0)
    with pytest.raises(InputError, match="too small for 1 stimuli"):
        impossible.fit()


@pytest.mark.parametrize(
    ("call", "problem", "last_good"),
    [(6, "The loss is nan at step 5", 4), (5, "A weight is not finite after step 4", 3)],
)
def test_what_is_not_finite_stops_with_the_checkpoint_before_it(
    call: int, problem: str, last_good: int, study: Snapshot, tmp_path: Path
) -> None:
    """A loss of NaN, and a finite loss whose gradient is NaN. The fourth call is the validation after three steps."""
    engine = engine_for(study)
    engine.checkpoints = Checkpoints(tmp_path / "run", RunIdentity(recipe="r", settings={}, data="", seed=0))
    loss, calls = engine.task.loss, [0]

    def broken(outputs: Any, batch: Any) -> Any:
        calls[0] += 1
        value = loss(outputs, batch)
        if calls[0] != call:
            return value
        # The root of 0 has an infinite slope.
        return value * float("nan") if call == 6 else value + (0 * outputs["values"].sum()).sqrt()

    engine.task.loss = broken  # type: ignore[method-assign]  # a task that diverges
    with pytest.raises(InputError, match=rf"{problem}.*checkpoint before it is in") as error:
        engine.fit()
    assert "learning_rate=0.001" in error.value.fix
    stored = engine.checkpoints.read()
    assert stored is not None
    assert stored["state"]["step"] == last_good
    assert all(bool(value.isfinite().all()) for value in stored["module"].values())


def test_every_stimulus_is_seen_once_an_epoch_whatever_the_pieces_and_processes() -> None:
    places = np.arange(10, 23)
    for world in (1, 2, 3):
        for pieces in (1, 2, 5):
            seen: dict[int, list[int]] = {}
            for rank in range(world):
                for step in BatchSchedule(places=places, batch=5, epochs=2, seed=7, rank=rank, world=world).steps(
                    0, pieces
                ):
                    assert len(step.pieces) <= pieces
                    seen.setdefault(step.epoch, []).extend(place for piece in step.pieces for _, place in piece)
            for epoch in (0, 1):
                assert set(seen[epoch]) == set(places)
                assert len(seen[epoch]) - places.size < 3 * world
    # Never a single stimulus, unless batches are that small.
    assert [step.size for step in BatchSchedule(places=places[:11], batch=5, epochs=1, seed=7).steps(0, 1)] == [5, 5, 2]
    assert [
        step.size for step in BatchSchedule(places=places[:11], batch=5, epochs=1, seed=7, rank=1, world=2).steps(0, 1)
    ] == [3, 3, 2]
    assert [step.size for step in BatchSchedule(places=places[:3], batch=1, epochs=1, seed=7).steps(0, 1)] == [1, 1, 1]
    assert [step.size for step in BatchSchedule(places=places[:1], batch=5, epochs=1, seed=7).steps(0, 1)] == [1]
    first = [step.pieces for step in BatchSchedule(places=places, batch=5, epochs=2, seed=7).steps(0, 1)]
    assert [step.pieces for step in BatchSchedule(places=places, batch=5, epochs=2, seed=7).steps(4, 1)] == first[4:]
    assert first[:3] != first[3:]


TWO = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from accelerate import debug_launcher
from heartfelt.training.finetuning import recipe_named
from heartfelt.training.finetuning.gathering import gather_data, gather_folds
from heartfelt.training.finetuning.loop.engine import TrainingLoop
from heartfelt.snapshot import load
from dataclasses import replace
folder, settings = Path(sys.argv[1]), eval(sys.argv[2])
def work():
    import torch
    snapshot = load(folder / "snapshot")
    snapshot.source = replace(snapshot.source, media_root=Path(sys.argv[3]))
    recipe = recipe_named("my_package:recipe")
    chosen = recipe.settings.model_validate(settings)
    data = gather_data([snapshot], recipe, chosen, policy="none")
    torch.manual_seed(3)
    engine = TrainingLoop(recipe.build(data, chosen), data, chosen)
    engine.task.module.layers[2].p = 0.0
    fitted = engine.fit()
    rank = engine.accelerator.process_index
    state = {key: value.tolist() for key, value in engine.task.module.state_dict().items()}
    rows = [[each.training_loss, each.validation_loss] for each in fitted.history]
    (folder / f"{rank}.json").write_text(json.dumps([engine.accelerator.num_processes, rows, state]))
debug_launcher(work, num_processes=2)
"""


def test_two_processes_train_as_one_does(study: Snapshot, my_package: Path, tmp_path: Path) -> None:
    """Each computes half of every batch, and both end with the weights of one process that computes all of it."""
    import torch

    study.write(tmp_path / "snapshot")
    torch.manual_seed(3)
    alone = engine_for(study, epochs=2, workers=0)
    alone.task.module.layers[2].p = 0.0
    history = alone.fit().history
    settings = {**SETTINGS, "epochs": 2, "workers": 0, "device": "cpu"}
    path = os.pathsep.join([str(my_package), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable, "-c", TWO, str(tmp_path), repr(settings), str(study.source.media_root)
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert results[0][2] == results[1][2]
    processes, rows, state = results[0]
    assert processes == 2
    for ours, theirs in zip(rows, history, strict=True):
        assert ours[1] == pytest.approx(theirs.validation_loss, rel=1e-5)
    mean = np.mean([[rank[1][at][0] for at in range(2)] for rank in results], axis=0)
    np.testing.assert_allclose(mean, [each.training_loss for each in history], rtol=1e-5)
    for key, value in alone.task.module.state_dict().items():
        np.testing.assert_allclose(np.array(state[key]), value.numpy(), rtol=1e-4, atol=1e-6)


def test_cross_validation_scores_every_stimulus_once_by_a_model_that_never_saw_its_group(
    study: Snapshot, tmp_path: Path
) -> None:
    recipe = recipe_named("my_package:recipe")
    settings = recipe.settings.model_validate({**SETTINGS, "epochs": 1})
    whole, every = gather_folds([study], recipe, settings, 3, policy="none")
    tested = np.concatenate([data.parts.test["test"] for data in every])
    assert sorted(tested) == list(range(len(whole.examples)))
    for data in every:
        used = np.concatenate([data.parts.train, data.parts.validation])
        assert not np.intersect1d(data.grouping.groups[used], data.grouping.groups[data.parts.test["test"]]).size
    assert not whole.parts.test
    assert whole.parts.train.size + whole.parts.validation.size == len(whole.examples)
    chosen = replace(options(epochs=1), folds=2)
    made = fine_tune([study], chosen, checkpoints=tmp_path / "run")
    scored = made.predictions.filter(part="test", question="impression")
    assert sorted(scored["stimulus"]) == sorted(example.stimulus for example in made.data.examples)
    assert {row.n for row in made.facts.scores if row.aggregation == "item"} == {len(made.data.examples)}
    assert "2 folds" in made.facts.split
    # Finished folds are not trained again.
    steps: list[int] = []
    again = fine_tune(
        [study],
        chosen,
        checkpoints=tmp_path / "run",
        resume=True,
        progress=lambda doing, done, total: steps.append(done) if doing == "training" and total else None,
    )
    assert not steps
    assert again.predictions.equals(made.predictions)
    for wrong, problem in (({"folds": 1}, "2 or more"), ({"folds": 3, "split": "published"}, "published split")):
        with pytest.raises(InputError, match=problem):
            replace(options(), **wrong)
    with pytest.raises(InputError, match="999 folds"):
        gather_folds([study], recipe, settings, 999, policy="none")
