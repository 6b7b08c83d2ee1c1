"""Tiny language models that see or hear, with random weights, of the classes that real ones have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heartfelt.predictors.hosted.chat_form import SYSTEM
from heartfelt.predictors.weights.hub import quiet, transformers_library
from tests.predictors.tiny import seeded

TEMPLATE = (
    "<s>{% for message in messages %}<{{ message['role'] }}>\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}MEDIUM\n{% endif %}"
    "{% endfor %}{% endif %}</s>\n{% endfor %}{% if add_generation_prompt %}<assistant>\n{% endif %}"
)
_SIZE = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def _tokenizer(library: Any, *more: str) -> Any:
    """Byte pairs of the words that every question has, so that conversations are short."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    letters = pre_tokenizers.ByteLevel.alphabet()
    known = ["<s>", "<pad>", "</s>", "<unk>", *more]
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    words = f"{SYSTEM} Answer: Answer with a JSON object: answer\n    Answer"
    made.train_from_iterator(
        [words],
        trainers.BpeTrainer(vocab_size=440, special_tokens=known, initial_alphabet=letters, show_progress=False),
    )
    return library.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        additional_special_tokens=list(more),
    )


def _language(tokenizer: Any) -> dict[str, Any]:
    return {**_SIZE, "num_key_value_heads": 2, "vocab_size": len(tokenizer), "max_position_embeddings": 4_096}


def write_tiny_llava(folder: Path, *, template: str | None = TEMPLATE) -> Path:
    """A LLaVA model of a few thousand weights: pictures of 16 pixels in four patches, a small Llama."""
    library = transformers_library()
    tokenizer = _tokenizer(library, "<image>")
    vision = library.CLIPVisionConfig(**_SIZE, image_size=16, patch_size=8, projection_dim=8)
    config = library.LlavaConfig(
        vision_config=vision,
        text_config=library.LlamaConfig(**_language(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        image_seq_length=4,
    )
    prepare = library.CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    processor = library.LlavaProcessor(
        prepare,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=None if template is None else template.replace("MEDIUM", "<image>"),
    )
    with quiet():
        seeded(library.LlavaForConditionalGeneration, config, 0).save_pretrained(folder)
        processor.save_pretrained(folder)
    return folder


def write_tiny_qwen_audio(folder: Path) -> Path:
    """A Qwen2-Audio model of a few thousand weights: sounds of up to a second at 16 kHz."""
    library = transformers_library()
    tokenizer = _tokenizer(library, "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    audio = {
        "num_mel_bins": 8,
        "encoder_layers": 1,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "d_model": 16,
        "max_source_positions": 25,
    }
    config = library.Qwen2AudioConfig(
        audio_config={**audio, "model_type": "qwen2_audio_encoder"},
        text_config={**_language(tokenizer), "model_type": "qwen2"},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    extract = library.WhisperFeatureExtractor(feature_size=8, sampling_rate=16_000, hop_length=320, chunk_length=1)
    template = TEMPLATE.replace("MEDIUM", "<|audio_bos|><|AUDIO|><|audio_eos|>")
    with quiet():
        seeded(library.Qwen2AudioForConditionalGeneration, config, 0).save_pretrained(folder)
        library.Qwen2AudioProcessor(extract, tokenizer, chat_template=template).save_pretrained(folder)
    return folder


def write_tiny_llama(folder: Path) -> Path:
    """A language model that reads text only."""
    library = transformers_library()
    tokenizer = _tokenizer(library)
    with quiet():
        seeded(library.LlamaForCausalLM, library.LlamaConfig(**_language(tokenizer)), 0).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder
