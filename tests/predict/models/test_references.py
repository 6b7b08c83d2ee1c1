"""Every model gives what independent runs of the same weights gave, and one that does not is refused."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import DamagedError
from heartfelt.predict.models import MODELS, Model
from heartfelt.predict.models.convert import musicnn as converted
from heartfelt.predict.models.references import hold_against_reference, reference
from tests.predict.models.conftest import Pulled


@pytest.mark.parametrize("name", MODELS.names())
def test_the_reference_outputs_are_met(name: str, pulled: Pulled) -> None:
    assert hold_against_reference(MODELS[name], pulled(name)) < reference(name)["tolerance"] / 5


@pytest.mark.parametrize("name", MODELS.names())
def test_a_reference_says_where_it_comes_from_and_holds_enough(name: str) -> None:
    stored = reference(name)
    assert len(stored["source"]) > 20
    assert stored["tolerance"] <= 1e-4
    for values in stored["outputs"].values():
        assert np.isfinite(values).all()
        assert np.std(values) > 0 or len(values) == 1


def test_other_weights_are_found_out() -> None:
    """A network of the same shape with other numbers runs, and is refused."""
    rng = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {"conv2d": (7, 38, 1, 204), "conv2d_1": (7, 67, 1, 204)}
    shapes |= {f"conv2d_{2 + i}": (size, 1, 1, 51) for i, size in enumerate((128, 64, 32))}
    shapes |= {"conv2d_5": (7, 561, 1, 64), "conv2d_6": (7, 64, 1, 64), "conv2d_7": (7, 64, 1, 64)}
    shapes |= {"dense": (1506, 200), "dense_1": (200, 50)}
    tensors = {f"{name}/kernel": rng.normal(size=shape).astype("<f4") for name, shape in shapes.items()}
    tensors |= {f"{name}/bias": np.zeros(shape[-1], "<f4") for name, shape in shapes.items()}
    for number, size in enumerate((1, 204, 204, 51, 51, 51, 64, 64, 64, 1506, 200)):
        name = f"batch_normalization_{number}" if number else "batch_normalization"
        signs = np.where(np.arange(size) % 3 == 0, -1.0, 1.0).astype("<f4")
        tensors |= {f"{name}/gamma": signs, f"{name}/beta": np.zeros(size, "<f4")}
        tensors |= {
            f"{name}/moving_mean": np.zeros(size, "<f4"),
            f"{name}/moving_variance": np.ones(size, "<f4"),
        }
    other = Model("musicnn-msd", "other", {"model.onnx": converted.build(tensors)})
    with pytest.raises(DamagedError, match="does not give its reference outputs"):
        hold_against_reference(MODELS["musicnn-msd"], other)
