"""Tiny encoders with random weights, of the classes that real ones have."""

from __future__ import annotations

from pathlib import Path

from heartfelt.predictors.weights.hub import quiet, transformers_library
from tests.predictors.tiny import byte_tokenizer, seeded


def write_tiny_audio_encoder(folder: Path) -> Path:
    """A wav2vec 2.0 model of a few thousand weights, at 8 kHz."""
    library = transformers_library()
    config = library.Wav2Vec2Config(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        conv_dim=(8, 8),
        conv_stride=(8, 8),
        conv_kernel=(16, 8),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    extractor = library.Wav2Vec2FeatureExtractor(sampling_rate=8_000, return_attention_mask=False)
    with quiet():
        seeded(library.Wav2Vec2Model, config, 0).save_pretrained(folder)
        extractor.save_pretrained(folder)
    return folder


def write_tiny_text_encoder(folder: Path, *, vocabulary: int = 260) -> Path:
    """A RoBERTa model of a few thousand weights that reads bytes."""
    library = transformers_library()
    config = library.RobertaConfig(
        vocab_size=vocabulary,
        hidden_size=12,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=162,
        pad_token_id=1,
    )
    with quiet():
        seeded(library.RobertaModel, config, 0).save_pretrained(folder)
        byte_tokenizer(library).save_pretrained(folder)
    return folder
