"""Every model gives what independent runs of the same weights gave, and one that does not is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scripts.weights import musicnn
from scripts.weights.networks import skeleton
from scripts.weights.traced import Skeleton, located

from heartfelt.errors import DamagedError
from heartfelt.predictors.weights import MODELS, Model
from heartfelt.predictors.weights.filling import GRAPHS, evaluate, filled
from heartfelt.predictors.weights.store import PullError, archive_of, difference_from_reference, reference
from heartfelt.streams import stream
from tests.cases import check_all
from tests.predictors.weights.conftest import Pulled
from tests.predictors.weights.musicnn_forward import forward


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS.names())
def test_the_reference_outputs_are_met(name: str, pulled: Pulled) -> None:
    assert difference_from_reference(MODELS[name], pulled(name)) < reference(name)["tolerance"] / 5


@check_all("name", MODELS.names())
def test_a_reference_says_where_it_comes_from_and_holds_enough(name: str) -> None:
    stored = reference(name)
    assert len(stored["source"]) > 20
    assert stored["tolerance"] <= 1e-4
    for values in stored["outputs"].values():
        assert np.isfinite(values).all()
        assert np.std(values) > 0 or len(values) == 1


@pytest.fixture(scope="module")
def other_weights() -> dict[str, npt.NDArray[Any]]:
    """A network of MusicNN's shape with numbers of its own, a third of its normalisations turned round."""
    rng = stream(5, "other weights")
    shapes: dict[str, tuple[int, ...]] = {"conv2d": (7, 38, 1, 204), "conv2d_1": (7, 67, 1, 204)}
    shapes |= {f"conv2d_{2 + i}": (size, 1, 1, 51) for i, size in enumerate((128, 64, 32))}
    shapes |= {"conv2d_5": (7, 561, 1, 64), "conv2d_6": (7, 64, 1, 64), "conv2d_7": (7, 64, 1, 64)}
    shapes |= {"dense": (1506, 200), "dense_1": (200, 50)}
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name, shape in shapes.items():
        scale = 1 / np.sqrt(np.prod(shape[:-1]))
        tensors[f"{name}/kernel"] = (scale * rng.normal(size=shape)).astype("<f4")
        tensors[f"{name}/bias"] = rng.normal(size=shape[-1]).astype("<f4")
    for number, size in enumerate((1, 204, 204, 51, 51, 51, 64, 64, 64, 1506, 200)):
        name = f"batch_normalization_{number}" if number else "batch_normalization"
        signs = np.where(np.arange(size) % 3 == 1, -1.0, 1.0)
        tensors[f"{name}/gamma"] = (signs * rng.uniform(0.5, 1.5, size)).astype("<f4")
        tensors[f"{name}/moving_variance"] = rng.uniform(0.5, 1.5, size).astype("<f4")
        for part in ("beta", "moving_mean"):
            tensors[f"{name}/{part}"] = rng.normal(size=size).astype("<f4")
    return tensors


def built(tensors: dict[str, npt.NDArray[Any]]) -> Model:
    """The network with these weights, filled from a file in which they lie one after the other."""
    weights = b"".join(tensor.tobytes() for tensor in tensors.values())
    graph = Skeleton("musicnn")
    musicnn.build(graph, located(tensors, weights))
    return Model("musicnn-msd", "other", {"model.onnx": filled(graph.content(check=False), weights)})


@pytest.mark.slow
def test_the_graph_is_the_published_architecture(other_weights: dict[str, npt.NDArray[Any]]) -> None:
    torch = pytest.importorskip("torch")
    patches = stream(5, "patches").uniform(0, 4, (2, 187, 96)).astype(np.float32)
    result = built(other_weights).run({"patches": patches})
    for name, expected in forward(torch, other_weights, patches).items():
        np.testing.assert_allclose(result[name], expected, atol=2e-5 * np.abs(expected).max(), err_msg=name)


@pytest.mark.slow
def test_other_weights_are_found_out(other_weights: dict[str, npt.NDArray[Any]]) -> None:
    with pytest.raises(DamagedError, match="does not give its reference outputs"):
        difference_from_reference(MODELS["musicnn-msd"], built(other_weights))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["musicnn-msd", "mtcnn", "fer", "brisque"])
def test_the_shipped_graphs_are_those_the_script_builds(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    try:
        archive = archive_of(model, tmp_path)
    except PullError as error:
        pytest.skip(f"{name} cannot be fetched: {error.problem}")
    with zipfile.ZipFile(archive) as file:
        for stored in model.built_files:
            assert skeleton(model, stored, file) == (GRAPHS / f"{name}.{stored}").read_bytes(), stored


def test_every_graph_that_is_shipped_belongs_to_a_model() -> None:
    expected = {f"{name}.{stored}" for name in MODELS for stored in MODELS[name].built_files}
    assert {path.name for path in GRAPHS.iterdir()} == expected
    for name in MODELS:
        assert set(MODELS[name].files.values()) <= set(MODELS[name].members)


def test_recipes_are_computed_as_numpy_does() -> None:
    weights = np.arange(6, dtype="<f4").tobytes() + b"SV\n1.5 1:0.25 2:-3e2\n"
    tensor = ["tensor", "<f4", 8, [2, 2]]
    np.testing.assert_array_equal(evaluate(tensor, weights), [[2, 3], [4, 5]])
    np.testing.assert_array_equal(evaluate(["take", tensor, [1], 0], weights), [[4, 5]])
    np.testing.assert_array_equal(evaluate(["transpose", tensor, [1, 0]], weights), [[2, 4], [3, 5]])
    np.testing.assert_array_equal(evaluate(["multiply", tensor, 2.0], weights), [[4, 6], [8, 10]])
    np.testing.assert_array_equal(evaluate(["text", 27, [1, 5]], weights), [[1.5, 1, 0.25, 2, -300]])
    with pytest.raises(ValueError, match="'system', which is unknown"):
        evaluate(["system", tensor], weights)
