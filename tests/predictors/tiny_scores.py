"""Tiny checkpoints in the layouts in which preference and quality models are published; the weights are drawn by name.

Names and shapes are those of the authors' code, with fewer and narrower layers. A weight depends on its name alone, so that the
authors' own code gives the same numbers anywhere (``peer_scores.json``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.predictors.weights.hub import quiet, transformers_library
from heartfelt.streams import stream
from tests.predictors.tiny import byte_tokenizer, seeded

Shapes = dict[str, tuple[int, ...]]
CLIP_TEXT, CLIP_IMAGE, CLIP_SIZE, CLIP_PATCH, WORDS = 64, 80, 32, 8, 261
BLIP_TEXT, BLIP_IMAGE = 64, 128
SPEECH = 64
MEANS = {"CE": 5.0, "CU": 5.5, "PC": 3.0, "PQ": 6.0}


def tensors(shapes: Mapping[str, tuple[int, ...]], scale: float = 0.2) -> dict[str, Any]:
    """A tensor for each name: norms near 1, everything else around 0."""
    import torch

    out = {}
    for name, shape in shapes.items():
        values = stream(27, "tiny", name).normal(size=shape).astype(np.float32) * scale
        is_norm = (name.endswith("weight") and len(shape) == 1) or name.endswith("weight_g")
        out[name] = torch.from_numpy(np.asarray(values + 1 if is_norm else values, dtype=np.float32))
    return out


def _linear(name: str, rows: int, columns: int) -> Shapes:
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def _norm(name: str, size: int) -> Shapes:
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


def _clip_block(name: str, size: int) -> Shapes:
    return {
        **_norm(f"{name}.ln_1", size),
        f"{name}.attn.in_proj_weight": (3 * size, size),
        f"{name}.attn.in_proj_bias": (3 * size,),
        **_linear(f"{name}.attn.out_proj", size, size),
        **_norm(f"{name}.ln_2", size),
        **_linear(f"{name}.mlp.c_fc", 4 * size, size),
        **_linear(f"{name}.mlp.c_proj", size, 4 * size),
    }


def open_clip_shapes() -> Shapes:
    """A ViT model of OpenCLIP: two layers of each kind, images of 32 pixels."""
    out: Shapes = {
        "positional_embedding": (160, CLIP_TEXT),
        "text_projection": (CLIP_TEXT, 16),
        "logit_scale": (),
        "visual.class_embedding": (CLIP_IMAGE,),
        "visual.positional_embedding": ((CLIP_SIZE // CLIP_PATCH) ** 2 + 1, CLIP_IMAGE),
        "visual.proj": (CLIP_IMAGE, 16),
        "visual.conv1.weight": (CLIP_IMAGE, 3, CLIP_PATCH, CLIP_PATCH),
        "token_embedding.weight": (WORDS, CLIP_TEXT),
        **_norm("visual.ln_pre", CLIP_IMAGE),
        **_norm("visual.ln_post", CLIP_IMAGE),
        **_norm("ln_final", CLIP_TEXT),
    }
    for layer in range(2):
        out |= _clip_block(f"visual.transformer.resblocks.{layer}", CLIP_IMAGE)
        out |= _clip_block(f"transformer.resblocks.{layer}", CLIP_TEXT)
    return out


def image_reward_shapes() -> Shapes:
    """ImageReward: BLIP with images of 32 pixels in patches of 16, and the stack of linear layers."""
    vision, text = "blip.visual_encoder", "blip.text_encoder"
    out: Shapes = {
        f"{vision}.cls_token": (1, 1, BLIP_IMAGE),
        f"{vision}.pos_embed": (1, 5, BLIP_IMAGE),
        f"{vision}.patch_embed.proj.weight": (BLIP_IMAGE, 3, 16, 16),
        f"{vision}.patch_embed.proj.bias": (BLIP_IMAGE,),
        **_norm(f"{vision}.norm", BLIP_IMAGE),
        f"{text}.embeddings.word_embeddings.weight": (WORDS, BLIP_TEXT),
        f"{text}.embeddings.position_embeddings.weight": (64, BLIP_TEXT),
        **_norm(f"{text}.embeddings.LayerNorm", BLIP_TEXT),
    }
    for layer in range(2):
        block = f"{vision}.blocks.{layer}"
        out |= _norm(f"{block}.norm1", BLIP_IMAGE) | _norm(f"{block}.norm2", BLIP_IMAGE)
        out |= _linear(f"{block}.attn.qkv", 3 * BLIP_IMAGE, BLIP_IMAGE)
        out |= _linear(f"{block}.attn.proj", BLIP_IMAGE, BLIP_IMAGE)
        out |= _linear(f"{block}.mlp.fc1", 4 * BLIP_IMAGE, BLIP_IMAGE)
        out |= _linear(f"{block}.mlp.fc2", BLIP_IMAGE, 4 * BLIP_IMAGE)
        block = f"{text}.encoder.layer.{layer}"
        for kind, width in (("attention", BLIP_TEXT), ("crossattention", BLIP_IMAGE)):
            out |= _linear(f"{block}.{kind}.self.query", BLIP_TEXT, BLIP_TEXT)
            out |= _linear(f"{block}.{kind}.self.key", BLIP_TEXT, width)
            out |= _linear(f"{block}.{kind}.self.value", BLIP_TEXT, width)
            out |= _linear(f"{block}.{kind}.output.dense", BLIP_TEXT, BLIP_TEXT)
            out |= _norm(f"{block}.{kind}.output.LayerNorm", BLIP_TEXT)
        out |= _linear(f"{block}.intermediate.dense", 4 * BLIP_TEXT, BLIP_TEXT)
        out |= _linear(f"{block}.output.dense", BLIP_TEXT, 4 * BLIP_TEXT)
        out |= _norm(f"{block}.output.LayerNorm", BLIP_TEXT)
    return out | _stack("mlp.layers", (BLIP_TEXT, 32, 16, 8, 4, 1), (0, 2, 4, 6, 7))


def _stack(name: str, sizes: tuple[int, ...], places: tuple[int, ...]) -> Shapes:
    out: Shapes = {}
    for place, columns, rows in zip(places, sizes[:-1], sizes[1:], strict=True):
        out |= _linear(f"{name}.{place}", rows, columns)
    return out


def speech_shapes(prefix: str, *, wavlm: bool) -> Shapes:
    """wav2vec 2.0 or WavLM as fairseq writes them: eight channels in the convolutions, two layers."""
    out: Shapes = {f"{prefix}mask_emb": (SPEECH,)}
    for layer, kernel in enumerate((10, 3, 3, 3, 3, 2, 2)):
        out[f"{prefix}feature_extractor.conv_layers.{layer}.0.weight"] = (8, 8 if layer else 1, kernel)
    out |= _norm(f"{prefix}feature_extractor.conv_layers.0.2", 8) | _norm(f"{prefix}layer_norm", 8)
    out |= _linear(f"{prefix}post_extract_proj", SPEECH, 8)
    out |= {
        f"{prefix}encoder.pos_conv.0.bias": (SPEECH,),
        f"{prefix}encoder.pos_conv.0.weight_g": (1, 1, 128),
        f"{prefix}encoder.pos_conv.0.weight_v": (SPEECH, SPEECH // 16, 128),
        **_norm(f"{prefix}encoder.layer_norm", SPEECH),
    }
    for layer in range(2):
        block = f"{prefix}encoder.layers.{layer}"
        for part in "qkv":
            out |= _linear(f"{block}.self_attn.{part}_proj", SPEECH, SPEECH)
        out |= _linear(f"{block}.self_attn.out_proj", SPEECH, SPEECH)
        out |= _norm(f"{block}.self_attn_layer_norm", SPEECH) | _norm(f"{block}.final_layer_norm", SPEECH)
        out |= _linear(f"{block}.fc1", 128, SPEECH) | _linear(f"{block}.fc2", SPEECH, 128)
        if wavlm:
            out |= _linear(f"{block}.self_attn.grep_linear", 8, SPEECH // 2)
            out[f"{block}.self_attn.grep_a"] = (1, 2, 1, 1)
    if wavlm:
        out[f"{prefix}encoder.layers.0.self_attn.relative_attention_bias.weight"] = (320, 2)
    return out


def utmos_shapes() -> Shapes:
    """UTMOS as SpeechMOS stores it."""
    out = speech_shapes("wav2vec2.", wavlm=False) | {"domain_emb": (1, 4), "judge_emb": (1, 4)}
    for end in ("l0", "l0_reverse"):
        out |= {f"blstm.weight_ih_{end}": (32, SPEECH + 8), f"blstm.weight_hh_{end}": (32, 8)}
        out |= {f"blstm.bias_ih_{end}": (32,), f"blstm.bias_hh_{end}": (32,)}
    return out | _linear("projection.0", 16, 16) | _linear("projection.2", 1, 16)


def audiobox_shapes() -> Shapes:
    """Audiobox Aesthetics: WavLM and, for each axis, weights of its layers and two linear layers with a norm."""
    out = speech_shapes("wavlm_model.", wavlm=True)
    for axis in MEANS:
        out |= _linear(f"proj_layer.{axis}.0", SPEECH, SPEECH) | _norm(f"proj_layer.{axis}.1", SPEECH)
        out |= _linear(f"proj_layer.{axis}.3", 1, SPEECH)
        out[f"layer_weights.{axis}"] = (3,)
    return out


AUDIOBOX = {
    "proj_num_layer": 2,
    "proj_ln": True,
    "proj_act_fn": "gelu",
    "proj_dropout": 0,
    "nth_layer": 3,
    "use_weighted_layer_sum": True,
    "normalize_embed": True,
    "precision": "32",
    "output_dim": 1,
    "target_transform": {axis: {"mean": mean, "std": 1.5} for axis, mean in MEANS.items()},
}
NISQA: dict[str, Any] = {
    "cnn_c_out_1": 4,
    "cnn_c_out_2": 4,
    "cnn_c_out_3": 4,
    "cnn_kernel_size": [3, 3],
    "cnn_pool_1": [24, 7],
    "cnn_pool_2": [12, 5],
    "cnn_pool_3": [6, 3],
    "cnn_dropout": 0.2,
    "td_sa_d_model": 8,
    "td_sa_nhead": 1,
    "td_sa_dropout": 0.1,
    "td_sa_h": 8,
    "td_sa_num_layers": 2,
    "pool_att_h": 16,
    "pool_att_dropout": 0.1,
    "ms_seg_length": 15,
    "ms_seg_hop_length": 4,
    "ms_max_segments": 1300,
    "ms_hop_length": 0.01,
    "ms_win_length": 0.02,
    "ms_n_fft": 4096,
    "ms_n_mels": 48,
    "ms_fmax": 20000,
}


def write_tiny(name: str, folder: Path) -> Path:
    """Write the tiny checkpoint of a predictor into a folder, in the files its authors use; returns what to give it."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    match name:
        case "hpsv2":
            torch.save({"state_dict": tensors(open_clip_shapes())}, folder / "HPS_v2.1_compressed.pt")
            byte_tokenizer(transformers_library(), end=WORDS - 1).save_pretrained(folder)
        case "imagereward":
            torch.save(tensors(image_reward_shapes()), folder / "ImageReward.pt")
            byte_tokenizer(transformers_library()).save_pretrained(folder)
        case "aesthetic":
            _write_aesthetic(folder)
        case "utmos":
            path = folder / "utmos22_strong_step7459_v1.pt"
            torch.save(tensors(utmos_shapes()), path)
            return path
        case "audiobox-aesthetics":
            from safetensors.torch import save_file

            save_file(tensors(audiobox_shapes()), folder / "model.safetensors")
            (folder / "config.json").write_text(json.dumps(AUDIOBOX))
        case "scoreq":
            return _write_scoreq(folder / "adapt_nr_synthetic.onnx")
        case "nisqa":
            _write_nisqa(folder / "nisqa.tar")
        case _:
            raise ValueError(name)
    return folder


def _write_aesthetic(folder: Path) -> None:
    """CLIP's image encoder by the library, with the stack of linear layers next to its weights."""
    from safetensors.torch import load_file, save_file

    library = transformers_library()
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = library.CLIPVisionConfig(**sizes, image_size=32, patch_size=8, projection_dim=16)
    with quiet():
        seeded(library.CLIPVisionModelWithProjection, config, 0).save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    save_file(
        weights | tensors(_stack("layers", (16, 32, 16, 8, 4, 1), (0, 2, 4, 6, 7))),
        folder / "model.safetensors",
        {"format": "pt"},
    )


def _write_scoreq(path: Path) -> Path:
    """A graph with the input and output of SCOREQ's: the mean of the absolute samples, plus 1."""
    import onnx
    from onnx import TensorProto, helper

    wave = helper.make_tensor_value_info("onnx::Unsqueeze_0", TensorProto.FLOAT, [1, "samples"])
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, [1, 1])
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    nodes = [
        helper.make_node("Abs", ["onnx::Unsqueeze_0"], ["loud"]),
        helper.make_node("ReduceMean", ["loud"], ["mean"], keepdims=1, axes=[1]),
        helper.make_node("Add", ["mean", "one"], ["score"]),
    ]
    graph = helper.make_graph(nodes, "scoreq", [wave], [score], [one])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def _write_nisqa(path: Path) -> None:
    import torch
    from torchmetrics.functional.audio import nisqa

    shapes = {name: tuple(value.shape) for name, value in nisqa._NISQADIM(NISQA).state_dict().items()}
    state = tensors(shapes)
    for name in state:
        if name.endswith("running_var"):
            state[name] = torch.ones_like(state[name])
        if name.endswith("linear3.bias"):
            state[name] += 3
        if name.endswith("num_batches_tracked"):
            state[name] = torch.tensor(0)
    torch.save({"args": NISQA, "model_state_dict": state}, path)
