"""Tiny models with random weights: for trying everything without a download. They know nothing.

They are written by the Transformers library as any model is, so loading one is loading a real one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from heartfelt.predictors.weights.hub import quiet, transformers_library

_TOKENS = 160
_END = 260


def write_tiny_clap(folder: Path, *, fusion: bool = False, seed: int = 0) -> Path:
    """Write a CLAP model of a few thousand weights: one-second windows at 8 kHz."""
    library = transformers_library()
    audio = {
        "spec_size": 32,
        "num_mel_bins": 16,
        "window_size": 2,
        "patch_size": 4,
        "patch_stride": [4, 4],
        "patch_embeds_hidden_size": 8,
        "hidden_size": 16,
        "depths": [1, 1],
        "num_attention_heads": [2, 2],
        "num_hidden_layers": 2,
        "num_classes": 4,
        "enable_fusion": fusion,
        "fusion_type": "aff_2d" if fusion else None,
    }
    config = library.ClapConfig(
        text_config={**_text(), "max_position_embeddings": _TOKENS + 2, "initializer_factor": 10.0},
        audio_config=audio,
        projection_dim=16,
    )
    extract = library.ClapFeatureExtractor(
        feature_size=16,
        sampling_rate=8_000,
        hop_length=160,
        max_length_s=1,
        fft_window_size=256,
        frequency_max=4_000,
        truncation="fusion" if fusion else "rand_trunc",
    )
    with quiet():
        seeded(library.ClapModel, config, seed).save_pretrained(folder)
        library.ClapProcessor(extract, byte_tokenizer(library)).save_pretrained(folder)
    return folder


def write_tiny_clip(folder: Path, *, seed: int = 0) -> Path:
    """Write a CLIP model of a few thousand weights: pictures of 32 pixels."""
    library = transformers_library()
    vision = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    # An end token of 2 makes the library read the text up to its highest byte only, as the first CLIP models did.
    text = {**_text(), "vocab_size": _END + 1, "max_position_embeddings": _TOKENS}
    text |= {"eos_token_id": _END, "bos_token_id": 0, "hidden_act": "gelu", "initializer_factor": 8.0}
    config = library.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    prepare = library.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    with quiet():
        seeded(library.CLIPModel, config, seed).save_pretrained(folder)
    prepare.save_pretrained(folder)
    byte_tokenizer(library, end=_END).save_pretrained(folder)
    return folder


def _text() -> dict[str, Any]:
    return {
        "vocab_size": 260,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "pad_token_id": 1,
    }


def seeded(kind: Any, config: Any, seed: int) -> Any:
    """A model of this class with random weights, always the same."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)


def byte_tokenizer(library: Any, *, end: int = 2) -> Any:
    """One token a byte; ``end`` is the number of the token that ends a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = {"<s>": 0, "<pad>": 1, "</s>": end, "<unk>": 3}
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {**special, **{letter: 4 + place for place, letter in enumerate(letters)}}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", end)]
    )
    return library.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=_TOKENS,
    )


def write_tiny_mert(folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Write a MERT model of a few thousand weights as its authors do: HuBERT's weights, a type of its own, Python code."""
    import torch

    library = transformers_library()
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "conv_dim": [8] * 7,
        "conv_kernel": [10, 3, 3, 3, 3, 2, 2],
        "conv_stride": [5, 2, 2, 2, 2, 2, 2],
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 2,
    }
    model = seeded(library.HubertModel, library.HubertConfig(**sizes), seed)
    folder.mkdir(parents=True, exist_ok=True)
    old = {"original0": "weight_g", "original1": "weight_v"}
    state = {}
    for name, value in model.state_dict().items():
        end = name.rsplit(".", 1)[-1]
        state[name.replace(f"parametrizations.weight.{end}", old[end]) if end in old else name] = value
    torch.save({**state, "final_proj.weight": torch.zeros(4, 4)}, folder / "pytorch_model.bin")
    code = {"AutoConfig": "configuration_MERT.MERTConfig", "AutoModel": "modeling_MERT.MERTModel"}
    facts = {"model_type": "mert_model", "auto_map": code, "sample_rate": 24_000, **sizes}
    facts |= {"feature_extractor_cqt": False, "deepnorm": False, "attention_relax": -1.0, **changes}
    (folder / "config.json").write_text(json.dumps(facts))
    (folder / "preprocessor_config.json").write_text(json.dumps({"sampling_rate": 24_000, "do_normalize": True}))
    for module in ("configuration_MERT", "modeling_MERT"):
        (folder / f"{module}.py").write_text(f"raise SystemExit('{module} was run')\n")
    return folder
