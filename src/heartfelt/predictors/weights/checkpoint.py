"""Weights published in the layout of their authors' code, as the state of classes of the Transformers library.

A checkpoint is a file, a folder that holds one, or a name on the hub. Nothing in it is run: a file written by ``torch.save`` is
read with ``weights_only``, and one that holds more than numbers is refused. Three layouts are translated: OpenCLIP (HPSv2), BLIP
(ImageReward) and fairseq's wav2vec 2.0 and WavLM (UTMOS, Audiobox Aesthetics). Sizes are taken from the weights.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import InputError
from heartfelt.files import sha256_of
from heartfelt.predictors.weights.loading import hub_folder
from heartfelt.predictors.weights.network import hub_library

Facts: TypeAlias = dict[str, Any]
"""What is stored with them, as JSON has it."""
_PUBLISHED = "Give the file that its authors published."
_WRAPPERS = ("state_dict", "model_state_dict", "model")
_HEAD_SIZE = 64
"""The width of an attention head of every text and sound model here; the published checkpoints do not say it."""


class NamedTensors(dict[str, Any]):
    """Tensors by name; one that is missing is an error that names the file."""

    def __init__(self, tensors: Mapping[str, Any], file: str) -> None:
        super().__init__(tensors)
        self.file = file

    def __missing__(self, name: str) -> Any:
        raise InputError(f"{self.file} has no weights '{name}'.", _PUBLISHED)

    def with_prefix(self, prefix: str) -> NamedTensors:
        start = len(prefix)
        return NamedTensors({name[start:]: self[name] for name in self if name.startswith(prefix)}, self.file)

    def renamed(self, pairs: Sequence[tuple[str, str]]) -> NamedTensors:
        tensors = {}
        for name, value in self.items():
            for pattern, replacement in pairs:
                name = re.sub(pattern, replacement, name)
            tensors[name] = value
        return NamedTensors(tensors, self.file)

    def count(self, pattern: str) -> int:
        """How many layers there are: one more than the largest number that ``pattern`` finds."""
        return 1 + max((int(match[1]) for name in self if (match := re.match(pattern, name))), default=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Weights with what identifies them."""

    state: NamedTensors
    hash: str
    """SHA-256 of the file."""
    path: Path
    revision: str | None = None
    """The commit, where it came from the hub."""
    facts: Facts = field(default_factory=dict)
    """What the file holds besides weights, in plain numbers and texts."""

    @property
    def config(self) -> Facts:
        """The ``config.json`` next to the weights; empty without one."""
        file = self.path.with_name("config.json")
        return dict(json.loads(file.read_bytes())) if file.is_file() else {}


def checkpoint_path(where: str, files: Sequence[str], extra_files: Sequence[str] = ()) -> tuple[Path, str | None]:
    """The checkpoint and its commit: ``where`` itself, the first of ``files`` in the folder, or on the hub.

    ``extra_files`` are fetched from the hub with it.
    """
    path = Path(where).expanduser()
    if path.is_file():
        return path, None
    if path.is_dir():
        checkpoint = _first_file(path, files)
        if checkpoint is None:
            raise InputError(
                f"{where} holds none of {', '.join(files)}.", "Give the folder or the file of the weights."
            )
        return checkpoint, None
    if where.startswith((".", "/", "~")) or where.count("/") != 1:
        raise InputError(
            f"There is no file or folder {where}.",
            "Give the file of the weights, its folder, or a name on the hub such as owner/name.",
        )
    fetch = partial(hub_library().snapshot_download, allow_patterns=[*files, *extra_files])
    folder = hub_folder(where, fetch=fetch)
    checkpoint = _first_file(folder, files)
    if checkpoint is None:
        raise InputError(f"'{where}' on the hub holds none of {', '.join(files)}.", "Give another name, or a file.")
    return checkpoint, folder.name


def _first_file(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def open_checkpoint(where: str, files: Sequence[str], extra_files: Sequence[str] = ()) -> Checkpoint:
    """Read the weights of a checkpoint; see :func:`checkpoint_path`."""
    path, revision = checkpoint_path(where, files, extra_files)
    import torch

    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            content: Any = load_file(path)
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path} holds more than weights: reading it would run code that is in it.",
            "Save only its 'state_dict' with safetensors where you trust the file, and give that.",
        ) from error
    except Exception as error:  # the libraries raise errors of many kinds for a damaged file
        reason = str(error).strip().split("\n")[0][:200].rstrip(".")
        raise InputError(f"{path} holds no weights that can be read: {reason}.", "Fetch the file again.") from error
    if not isinstance(content, Mapping):
        raise InputError(f"{path} holds no table of weights.", _PUBLISHED)
    wrapped = next((content[key] for key in _WRAPPERS if isinstance(content.get(key), Mapping)), content)
    facts = {
        key: value for key, value in content.items() if not isinstance(value, torch.Tensor) and value is not wrapped
    }
    tensors = {name: value.float() for name, value in wrapped.items() if isinstance(value, torch.Tensor)}
    return Checkpoint(
        state=NamedTensors(tensors, path.name), hash=sha256_of(path), path=path, revision=revision, facts=facts
    )


def filled(model: Any, state: NamedTensors) -> Any:
    """The model with these weights, ready to answer; weights that are missing or of another size are an error."""
    try:
        mismatched = model.load_state_dict(state, strict=False)
    except RuntimeError as error:
        reason = str(error).strip().split("\n")[-1].strip().rstrip(".")
        raise InputError(f"The weights of {state.file} have other sizes: {reason}.", _PUBLISHED) from error
    if mismatched.missing_keys:
        raise InputError(f"{state.file} has no weights '{min(mismatched.missing_keys)}'.", _PUBLISHED)
    if mismatched.unexpected_keys:
        raise InputError(
            f"{state.file} has weights '{min(mismatched.unexpected_keys)}', which this model has not.", _PUBLISHED
        )
    return model.eval().requires_grad_(False)


def linear_stack(state: NamedTensors, between: Callable[[], Any] | None = None) -> Any:
    """Linear layers from their weights, in the order of their numbers, with ``between`` after all but the last."""
    from torch import nn

    layer_numbers = sorted({int(name.split(".")[0]) for name in state if name.split(".")[0].isdecimal()})
    layers: list[Any] = []
    for layer_number in layer_numbers:
        weight = state[f"{layer_number}.weight"]
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": state[f"{layer_number}.bias"]})
        layers += [layer, between()] if between is not None and layer_number != layer_numbers[-1] else [layer]
    return nn.Sequential(*layers).eval().requires_grad_(False)


_CLIP_NAMES = (
    (r"^(positional_embedding|token_embedding\.|transformer\.|ln_final)", r"text_model.\1"),
    (r"^visual\.proj$", "visual_projection.weight"),
    (r"^visual\.", "vision_model."),
    (r"transformer\.resblocks\.", "encoder.layers."),
    (r"\bpositional_embedding$", "embeddings.position_embedding.weight"),
    (r"\btoken_embedding\.", "embeddings.token_embedding."),
    (r"\bclass_embedding$", "embeddings.class_embedding"),
    (r"\bconv1\.", "embeddings.patch_embedding."),
    (r"\bln_final\.", "final_layer_norm."),
    (r"\bln_pre\.", "pre_layrnorm."),
    (r"\bln_post\.", "post_layernorm."),
    (r"\bln_(\d)\.", r"layer_norm\1."),
    (r"\bmlp\.c_fc\.", "mlp.fc1."),
    (r"\bmlp\.c_proj\.", "mlp.fc2."),
    (r"\battn\.", "self_attn."),
    (r"^text_projection$", "text_projection.weight"),
)


def clip_of_open_clip(library: Any, state: NamedTensors) -> Any:
    """A CLIP model from a checkpoint of OpenCLIP's ViT models; heads are 64 wide in text, 80 in ViT-H and 64 in others."""
    patch = state["visual.conv1.weight"]
    vision, text = patch.shape[0], state["ln_final.weight"].shape[0]
    vocabulary, width = state["token_embedding.weight"].shape
    patches = state["visual.positional_embedding"].shape[0] - 1
    blocks = r"transformer\.resblocks\.(\d+)\."
    config = library.CLIPConfig(
        text_config={
            "vocab_size": vocabulary,
            "hidden_size": width,
            "intermediate_size": state["transformer.resblocks.0.mlp.c_fc.weight"].shape[0],
            "num_hidden_layers": state.count(blocks),
            "num_attention_heads": text // _HEAD_SIZE,
            "max_position_embeddings": state["positional_embedding"].shape[0],
            "hidden_act": "gelu",
            "bos_token_id": vocabulary - 2,
            "eos_token_id": vocabulary - 1,
            "pad_token_id": 1,
        },
        vision_config={
            "hidden_size": vision,
            "intermediate_size": state["visual.transformer.resblocks.0.mlp.c_fc.weight"].shape[0],
            "num_hidden_layers": state.count(rf"visual\.{blocks}"),
            "num_attention_heads": vision // (80 if vision % 80 == 0 else _HEAD_SIZE),
            "image_size": round(patches**0.5) * patch.shape[-1],
            "patch_size": patch.shape[-1],
            "hidden_act": "gelu",
        },
        projection_dim=state["text_projection"].shape[1],
    )
    translated = NamedTensors({}, state.file)
    for name, value in state.renamed(_CLIP_NAMES).items():
        if name.endswith(("in_proj_weight", "in_proj_bias")):
            stem, kind = name.rsplit("in_proj_", 1)
            for part, rows in zip("qkv", value.chunk(3), strict=True):
                translated[f"{stem}{part}_proj.{kind}"] = rows
        elif name in ("text_projection.weight", "visual_projection.weight"):
            translated[name] = value.T.contiguous()
        elif name != "attn_mask":
            translated[name] = value
    return filled(library.CLIPModel(config), translated)


_BLIP_NAMES = (
    (r"^blocks\.", "encoder.layers."),
    (r"^patch_embed\.proj\.", "embeddings.patch_embedding."),
    (r"^pos_embed$", "embeddings.position_embedding"),
    (r"^cls_token$", "embeddings.class_embedding"),
    (r"^norm\.", "post_layernorm."),
    (r"\.norm(\d)\.", r".layer_norm\1."),
    (r"\.attn\.proj\.", ".self_attn.projection."),
    (r"\.attn\.", ".self_attn."),
)


def blip_of_salesforce(library: Any, state: NamedTensors, pad: int) -> tuple[Any, Any]:
    """The encoder of images, and that of text which attends to it, from a checkpoint of BLIP's own code; heads are 64 wide."""
    from transformers.models.blip.modeling_blip_text import BlipTextModel

    vision, text = state.with_prefix("visual_encoder."), state.with_prefix("text_encoder.")
    text.pop("embeddings.position_ids", None)
    patch = vision["patch_embed.proj.weight"]
    words = text["embeddings.word_embeddings.weight"]
    images = library.BlipVisionConfig(
        hidden_size=patch.shape[0],
        intermediate_size=vision["blocks.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=vision.count(r"blocks\.(\d+)\."),
        num_attention_heads=patch.shape[0] // _HEAD_SIZE,
        image_size=round((vision["pos_embed"].shape[1] - 1) ** 0.5) * patch.shape[-1],
        patch_size=patch.shape[-1],
        layer_norm_eps=1e-6,
    )
    texts = library.BlipTextConfig(
        vocab_size=words.shape[0],
        hidden_size=words.shape[1],
        encoder_hidden_size=patch.shape[0],
        intermediate_size=text["encoder.layer.0.intermediate.dense.weight"].shape[0],
        num_hidden_layers=text.count(r"encoder\.layer\.(\d+)\."),
        num_attention_heads=words.shape[1] // _HEAD_SIZE,
        max_position_embeddings=text["embeddings.position_embeddings.weight"].shape[0],
        pad_token_id=pad,
        bos_token_id=None,
        eos_token_id=None,
        sep_token_id=None,
    )
    image_model = filled(library.BlipVisionModel(images), vision.renamed(_BLIP_NAMES))
    return image_model, filled(BlipTextModel(texts, add_pooling_layer=False), text)


_SPEECH_NAMES = (
    (r"^mask_emb$", "masked_spec_embed"),
    (r"^layer_norm\.", "feature_projection.layer_norm."),
    (r"^post_extract_proj\.", "feature_projection.projection."),
    (r"^(feature_extractor\.conv_layers\.\d+)\.0\.", r"\1.conv."),
    (r"^(feature_extractor\.conv_layers\.\d+)\.2\.", r"\1.layer_norm."),
    (r"^encoder\.pos_conv\.0\.weight_g$", "encoder.pos_conv_embed.conv.parametrizations.weight.original0"),
    (r"^encoder\.pos_conv\.0\.weight_v$", "encoder.pos_conv_embed.conv.parametrizations.weight.original1"),
    (r"^encoder\.pos_conv\.0\.", "encoder.pos_conv_embed.conv."),
    (r"\.self_attn\.relative_attention_bias\.", ".attention.rel_attn_embed."),
    (r"\.self_attn\.grep_linear\.", ".attention.gru_rel_pos_linear."),
    (r"\.self_attn\.grep_a$", ".attention.gru_rel_pos_const"),
    (r"\.self_attn\.", ".attention."),
    (r"\.self_attn_layer_norm\.", ".layer_norm."),
    (r"\.fc1\.", ".feed_forward.intermediate_dense."),
    (r"\.fc2\.", ".feed_forward.output_dense."),
)
_STRIDES = (5, 2, 2, 2, 2, 2, 2)


def speech_of_fairseq(library: Any, state: NamedTensors) -> Any:
    """wav2vec 2.0 or WavLM of the base layout from a checkpoint of fairseq's code; heads are 64 wide where no weight says it."""
    bias = state.get("encoder.layers.0.self_attn.relative_attention_bias.weight")
    width = state["encoder.layer_norm.weight"].shape[0]
    position = state["encoder.pos_conv.0.weight_v"]
    convolutions = [state[f"feature_extractor.conv_layers.{i}.0.weight"].shape for i in range(len(_STRIDES))]
    facts: Facts = {
        "hidden_size": width,
        "intermediate_size": state["encoder.layers.0.fc1.weight"].shape[0],
        "num_hidden_layers": state.count(r"encoder\.layers\.(\d+)\."),
        "num_attention_heads": width // _HEAD_SIZE if bias is None else bias.shape[1],
        "conv_dim": [shape[0] for shape in convolutions],
        "conv_kernel": [shape[2] for shape in convolutions],
        "conv_stride": list(_STRIDES),
        "num_conv_pos_embeddings": position.shape[2],
        "num_conv_pos_embedding_groups": width // position.shape[1],
    }
    unused = ("quantizer.", "project_q.", "final_proj.", "label_embs_concat")
    encoder = NamedTensors({name: state[name] for name in state if not name.startswith(unused)}, state.file)
    if bias is None:
        model = library.Wav2Vec2Model(library.Wav2Vec2Config(**facts))
    else:
        model = library.WavLMModel(library.WavLMConfig(**facts, num_buckets=bias.shape[0]))
    return filled(model, encoder.renamed(_SPEECH_NAMES))
