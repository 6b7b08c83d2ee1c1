"""Image networks: shapes, gradients, published sizes and names, and losses by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heartfelt.errors import InputError, MissingPartError
from heartfelt.predictors.weights.hub import quiet, transformers_library
from heartfelt.training.finetuning.recipes.images.architectures import ARCHITECTURES, NetworkSpec
from heartfelt.training.finetuning.recipes.images.networks.backbones import (
    BACKBONES,
    BackboneOutput,
    check_config,
    published_backbone,
    random_backbone,
)
from heartfelt.training.finetuning.recipes.images.networks.emotion import CoupledTrunk, gram_matrix
from heartfelt.training.finetuning.recipes.images.networks.losses import (
    LossOptions,
    Targets,
    group_logits,
    loss_parts,
    polarity_factor,
    soft_cross_entropy,
)
from heartfelt.training.finetuning.recipes.images.networks.network import build_network
from tests.training.finetuning.tiny_images import CONFIGS, batch_of

pytestmark = pytest.mark.slow  # PyTorch alone takes seconds to import

# SOURCE: torchvision's documentation of its weights (num_params of VGG16, ResNet50, DenseNet121, ConvNeXt-T, Swin-T, ViT-B/16).
PUBLISHED = {
    "vgg16": 138_357_544,
    "densenet121": 7_978_856,
    "resnet50": 25_557_032,
    "convnext-t": 28_589_128,
    "swin-t": 28_288_354,
    "vit-b16": 86_567_656,
}
GROUPS = (0, 0, 1, 1)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        yield


def spec_of(architecture: str, backbone: str) -> NetworkSpec:
    return NetworkSpec(
        architecture=architecture,
        backbone=backbone,
        config=CONFIGS[backbone],
        categories=4,
        numbers=2,
        groups=GROUPS,
        attributes=(2, 3),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_backbone_has_as_many_parameters_as_the_published_network(name: str) -> None:
    with torch.device("meta"):
        backbone = random_backbone(name, {})
    own = sum(tensor.numel() for tensor in backbone.parameters())
    assert own + (backbone.size + 1) * 1000 == PUBLISHED[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "backbone"),
    [
        *((name, name) for name in BACKBONES),
        *((name, "resnet50") for name in ARCHITECTURES if name not in BACKBONES),
        ("wscnet", "convnext-t"),
        ("pdanet", "vgg16"),
        ("pdanet", "vit-b16"),
        ("stylenet", "densenet121"),
        ("mdan", "swin-t"),
    ],
)
def test_every_architecture_answers_and_learns(architecture: str, backbone: str) -> None:
    """Shapes are right, the loss reaches every parameter, and the stored configuration builds the same network."""
    network = build_network(spec_of(architecture, backbone))
    inputs, targets = batch_of()
    outputs = network(**inputs)
    assert outputs["logits"].shape == (6, 4)
    assert outputs["values"].shape == (6, 2)
    parts = loss_parts(outputs, targets, network.spec, LossOptions())
    sum(parts.values()).backward()
    without = [name for name, tensor in network.named_parameters() if tensor.grad is None]
    zero = [name for name, tensor in network.named_parameters() if not without and not tensor.grad.any()]
    assert not without
    assert not zero
    again = build_network(network.spec)
    again.load_state_dict(network.state_dict())
    network.eval(), again.eval()
    torch.testing.assert_close(again(**inputs)["logits"], network(**inputs)["logits"], rtol=0, atol=0)


def test_extra_losses_are_those_of_the_architecture() -> None:
    _, targets = batch_of()
    extra = {
        "wscnet": ({"detector": torch.zeros(6, 4)}, {"detector"}),
        "mdan": ({"local": torch.zeros(6, 4), "groups": torch.zeros(6, 2)}, {"local", "groups"}),
        "stimuli-aware": ({}, {"groups"}),
        "resnet50": ({}, set()),
    }
    plain = {"logits": torch.zeros(6, 4), "values": torch.zeros(6, 2)}
    for architecture, (outputs, names) in extra.items():
        parts = loss_parts({**plain, **outputs}, targets, spec_of(architecture, "resnet50"), LossOptions(penalty=1.0))
        assert set(parts) == {"categories", "numbers"} | names
        # Equal scores: every cross-entropy is that of an even choice.
        assert parts["categories"].item() == pytest.approx(math.log(4))
        for name in names:
            assert parts[name].item() == pytest.approx(math.log(2 if name == "groups" else 4))


@pytest.mark.slow
def test_gram_matrix_by_hand() -> None:
    """Two channels over three places: products summed over places and divided by their number."""
    features = torch.tensor([[[[1.0, 2.0, 3.0]], [[0.0, -1.0, 2.0]]]])
    expected = torch.tensor([[[14.0, 4.0], [4.0, 5.0]]]) / 3
    torch.testing.assert_close(gram_matrix(features), expected)


def test_coupled_map_by_hand() -> None:
    """Two categories, one feature, two places, every detector the same: scores are maxima, the map their weighted mean."""
    trunk = CoupledTrunk([1], 1, 2, 0)
    with torch.no_grad():
        trunk.detect.weight.copy_(torch.tensor([2.0] * 4 + [-1.0] * 4).view(8, 1, 1, 1))
        trunk.detect.bias.zero_()
    last = torch.tensor([[[[1.0, 3.0]]]])
    vector, outputs = trunk(BackboneOutput((last,), None), {})
    torch.testing.assert_close(outputs["detector"], torch.tensor([[6.0, -1.0]]))
    # Maps (2, 6) and (-1, -3); weighted with 6 and -1 and averaged: (12 + 1) / 2 and (36 + 3) / 2.
    torch.testing.assert_close(outputs["map"], torch.tensor([[[6.5, 19.5]]]))
    torch.testing.assert_close(vector, torch.tensor([[2.0, (6.5 + 58.5) / 2]]))


def test_polarity_losses_by_hand() -> None:
    """Four categories in two groups; the second row is wrong within its group, the third is of the other polarity."""
    logits = torch.tensor([[4.0, 0, 0, 0], [4.0, 0, 0, 0], [4.0, 0, 0, 0], [4.0, 0, 0, 0]])
    target = torch.eye(4)
    factor = polarity_factor(logits, target, GROUPS, 0.5)
    assert factor.tolist() == [1.0, 1.0, 1.5, 1.5]
    total = math.exp(4) + 3
    right, wrong = math.log(total) - 4, math.log(total)
    torch.testing.assert_close(soft_cross_entropy(logits, target), torch.tensor([right, wrong, wrong, wrong]))
    groups = group_logits(logits, GROUPS)[0].exp()
    torch.testing.assert_close(groups, torch.tensor([(math.exp(4) + 1) / total, 2 / total]))
    values, numbers = torch.tensor([[0.2], [-0.2], [0.5], [0.5]]), torch.tensor([[0.4], [0.3], [0.0], [9.0]])
    known = torch.tensor([[1.0], [2.0], [1.0], [0.0]])
    spec = replace(spec_of("pdanet", "resnet50"), numbers=1)
    targets = Targets(target, torch.ones(4), numbers, known)
    parts = loss_parts({"logits": logits, "values": values}, targets, spec, LossOptions())
    assert parts["categories"].item() == pytest.approx((right + wrong + 1.5 * 2 * wrong) / 4)
    # The second number is on the other side of the middle and counts half as much again; the last has no label.
    assert parts["numbers"].item() == pytest.approx((0.2 + 2 * 0.5 * 1.5 + 0.5) / 4)
    squared = loss_parts({"values": values}, targets, replace(spec, categories=0), LossOptions("mse", 2.0))
    assert squared["numbers"].item() == pytest.approx(2 * (0.04 + 2 * 0.25 * 1.5 + 0.25) / 4)


def test_a_row_without_label_costs_nothing_and_smoothing_keeps_the_sum() -> None:
    logits = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    target = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    log = torch.log_softmax(logits[1], dim=0)
    expected = -(0.9 * log[2] + 0.1 * log.mean()).item()
    assert soft_cross_entropy(logits, target, 0.1).tolist() == pytest.approx([0.0, expected])


@pytest.mark.slow
def test_weights_are_read_from_a_folder_and_must_fit(tmp_path: Path) -> None:
    """Folders as the hub has them: a network with a head for its classes, which is not used."""
    library = transformers_library()
    for name, kind in BACKBONES.items():
        if kind.model:
            classes = getattr(library, kind.model.replace("Model", "ForImageClassification"))
            with quiet():
                whole = classes(classes.config_class(**CONFIGS[name], num_labels=7))
                whole.save_pretrained(tmp_path / name)
            again = published_backbone(name, str(tmp_path / name))
            stored = whole.base_model.state_dict()
            own = again.network.state_dict()
            assert all(torch.equal(own[key], stored[key]) for key in own)
            config = again.configuration()
            assert "id2label" not in config
            rebuilt = random_backbone(name, config)
            assert [tensor.shape for tensor in rebuilt.parameters()] == [tensor.shape for tensor in again.parameters()]
    (tmp_path / "vit").symlink_to(tmp_path / "vit-b16")
    larger = published_backbone("vit-b16", str(tmp_path / "vit"))(torch.zeros(1, 3, 96, 96))
    assert larger.maps[-1].shape == (1, 16, 12, 12)
    with pytest.raises(InputError, match=r"'vit'.*resnet50.*'resnet'"):
        published_backbone("resnet50", str(tmp_path / "vit"))
    with pytest.raises(InputError, match=r"config\.json"):
        published_backbone("resnet50", str(tmp_path))


@pytest.mark.slow
def test_a_configuration_has_what_the_network_has() -> None:
    check_config("swin-t", CONFIGS["swin-t"])
    for name, key in (("swin-t", "depth"), ("vgg16", "width")):
        with pytest.raises(InputError, match=f"configuration of {name} has no '{key}'"):
            check_config(name, {key: 3})


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (NetworkSpec(architecture="resnet50", backbone="resnet50"), "no question to learn from"),
        (NetworkSpec(architecture="resnet50", backbone="resnet50", categories=1), "only one category"),
        (NetworkSpec(architecture="wscnet", backbone="resnet50", numbers=2), "needs a question with categories"),
        (NetworkSpec(architecture="mdan", backbone="resnet50", categories=4), "needs the polarity"),
        (
            NetworkSpec(architecture="vgg16", backbone="vgg16", config={"width": 3}, categories=4),
            "configuration of vgg16",
        ),
        (NetworkSpec(architecture="stylenet", backbone="efficientnet-lite2", numbers=2), "looks at feature maps"),
    ],
)
def test_what_cannot_be_built_says_why(spec: NetworkSpec, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        build_network(spec)


def test_a_backbone_of_a_plugin_that_is_not_installed_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BACKBONES, "_things", {name: kind for name, kind in BACKBONES.items() if name != "vgg16"})
    with pytest.raises(MissingPartError) as refused:
        random_backbone("vgg16", {})
    assert "pip install" in refused.value.fix
