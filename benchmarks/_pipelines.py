"""Generative models with random weights, written as their libraries write them: of the published sizes, or tiny ones for tests.

Sizes are those of the published configurations, written out here so that nothing is downloaded. Tokenizers know single letters.
What such models make is noise; how long they take and how much memory they need is what the published weights do.
"""

from __future__ import annotations

import copy
import json
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from heartfelt.stimuli.generators.models.torch_models import library, listening

P = ParamSpec("P")
LETTERS = [*string.ascii_lowercase, *string.ascii_uppercase, *string.digits, *" ,.'-"]
T5_BASE = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "d_kv": 64}
T5_LARGE = {"d_model": 1024, "d_ff": 2816, "num_layers": 24, "num_heads": 16, "d_kv": 64}
T5_TINY = {"d_model": 24, "d_ff": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8}


def quietly(write: Callable[P, Path]) -> Callable[P, Path]:
    """Without what the libraries say while they are loaded and write."""

    @wraps(write)
    def call(*args: P.args, **kwargs: P.kwargs) -> Path:
        with listening("transformers", "diffusers"):
            return write(*args, **kwargs)

    return call


def t5_tokenizer() -> Any:
    scores = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    scores += [(letter, -3.0) for letter in LETTERS if letter != " "]
    return library("transformers").T5Tokenizer(scores, extra_ids=0, model_max_length=128)


def byte_tokenizer(kind: str, first: list[str], longest: int = 77, **tokens: Any) -> Any:
    """A byte-level tokenizer without merges."""
    letters = library("tokenizers").pre_tokenizers.ByteLevel.alphabet()
    words = [*first, *sorted(letters), *(f"{letter}</w>" for letter in sorted(letters))]
    vocabulary = {word: place for place, word in enumerate(words)}
    return getattr(library("transformers"), kind)(vocab=vocabulary, merges=[], model_max_length=longest, **tokens)


def clip_tokenizer(longest: int = 77) -> Any:
    return byte_tokenizer("CLIPTokenizer", ["<|startoftext|>", "<|endoftext|>"], longest)


def roberta_tokenizer(longest: int = 512) -> Any:
    return byte_tokenizer("RobertaTokenizer", ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], longest)


@dataclass
class Place:
    """Where weights are drawn, and in which type: large models are drawn faster on a GPU."""

    device: str = "cpu"
    dtype: str = "float32"


PLACE = Place()


def seeded(build: Any, seed: int = 0) -> Any:
    """Something with random weights, always the same on one kind of device."""
    torch = library("torch")
    usual = torch.get_default_dtype()
    devices = [] if PLACE.device == "cpu" else [PLACE.device]
    with torch.random.fork_rng(devices=devices), torch.device(PLACE.device):
        torch.manual_seed(seed)
        torch.set_default_dtype(getattr(torch, PLACE.dtype))
        try:
            return build().eval()
        finally:
            torch.set_default_dtype(usual)


def fill_codebooks(quantizer: Any) -> None:
    """Give a codec random vectors: untrained, all of them are zero."""
    torch = library("torch")
    for layer in quantizer.layers:
        shape = layer.codebook.embed.shape
        layer.codebook.embed.copy_(torch.randn(shape, generator=torch.Generator().manual_seed(0)))


@quietly
def write_musicgen(folder: Path, *, tiny: bool = False, channels: int = 1, melody: bool = False) -> Path:
    """MusicGen small."""
    transformers = library("transformers")
    ratios = [4, 4, 2] if tiny else [8, 5, 4, 4]
    codec = transformers.EncodecConfig(
        sampling_rate=1_600 if tiny else 32_000,
        audio_channels=1,
        upsampling_ratios=ratios,
        num_filters=4 if tiny else 64,
        hidden_size=16 if tiny else 128,
        codebook_size=64 if tiny else 2_048,
        codebook_dim=16 if tiny else 128,
        target_bandwidths=[1.2] if tiny else [2.2],
        num_lstm_layers=1 if tiny else 2,
        use_causal_conv=False,
        normalize=False,
    )
    text = transformers.T5Config(**(T5_TINY | {"vocab_size": 128} if tiny else T5_BASE))
    width = 16 if tiny else 1_024
    sizes = {
        "vocab_size": codec.codebook_size,
        "hidden_size": width,
        "num_hidden_layers": 2 if tiny else 24,
        "num_attention_heads": 2 if tiny else 16,
        "ffn_dim": 4 * width,
        "num_codebooks": 4 * channels,
        "audio_channels": channels,
        "max_position_embeddings": 256 if tiny else 2_048,
        "initializer_factor": 0.3 if tiny else 0.02,
        "pad_token_id": codec.codebook_size,
        "bos_token_id": codec.codebook_size,
    }
    name = "MusicgenMelody" if melody else "Musicgen"
    decoder = getattr(transformers, f"{name}DecoderConfig")(**sizes)
    config = getattr(transformers, f"{name}Config")(
        text_encoder=text.to_dict(), audio_encoder=codec.to_dict(), decoder=decoder.to_dict()
    )
    model = seeded(lambda: getattr(transformers, f"{name}ForConditionalGeneration")(config))
    fill_codebooks(model.audio_encoder.quantizer)
    settings = model.generation_config
    settings.decoder_start_token_id = settings.pad_token_id = settings.bos_token_id = codec.codebook_size
    settings.do_sample, settings.guidance_scale, settings.max_length = True, 3.0, None
    model.save_pretrained(folder)
    t5_tokenizer().save_pretrained(folder)
    return folder


@quietly
def write_vits(folder: Path, *, tiny: bool = False) -> Path:
    """VITS as in MMS."""
    transformers = library("transformers")
    sizes: dict[str, Any] = {
        "vocab_size": 80,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "ffn_dim": 16,
        "flow_size": 16,
        "spectrogram_bins": 9,
        "upsample_initial_channel": 16,
        "upsample_rates": [4, 4],
        "upsample_kernel_sizes": [8, 8],
        "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1]],
        "prior_encoder_num_flows": 1,
        "prior_encoder_num_wavenet_layers": 1,
        "posterior_encoder_num_wavenet_layers": 1,
        "duration_predictor_num_flows": 1,
        "duration_predictor_filter_channels": 16,
        "depth_separable_num_layers": 1,
        "wavenet_dilation_rate": 1,
        "sampling_rate": 8_000,
    }
    model = seeded(lambda: transformers.VitsModel(transformers.VitsConfig(**(sizes if tiny else {}))))
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {letter: place for place, letter in enumerate(["<pad>", "<unk>", *LETTERS])}
    (folder / "letters.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    model.save_pretrained(folder)
    transformers.VitsTokenizer(folder / "letters.json", phonemize=False, normalize=False).save_pretrained(folder)
    return folder


@quietly
def write_hifigan(folder: Path, *, tiny: bool = False, mels: int = 64) -> Path:
    """The vocoder of AudioLDM; in its tiny form with the same number of samples per frame."""
    hifigan(tiny, mels).save_pretrained(folder)
    return folder


def hifigan(tiny: bool, mels: int = 64) -> Any:
    transformers = library("transformers")
    config = transformers.SpeechT5HifiGanConfig(
        model_in_dim=mels,
        sampling_rate=16_000,
        upsample_initial_channel=16 if tiny else 1_024,
        upsample_rates=[20, 8] if tiny else [5, 4, 2, 2, 2],
        upsample_kernel_sizes=[40, 16] if tiny else [16, 16, 8, 4, 4],
        resblock_kernel_sizes=[3] if tiny else [3, 7, 11],
        resblock_dilation_sizes=[[1]] if tiny else [[1, 3, 5]] * 3,
        normalize_before=False,
        initializer_range=0.1 if tiny else 0.01,
    )
    return seeded(lambda: transformers.SpeechT5HifiGan(config))


@quietly
def write_speecht5(folder: Path) -> Path:
    """A tiny SpeechT5; its own tokenizer needs a file that only a training run writes, so it has T5's."""
    transformers = library("transformers")
    config = transformers.SpeechT5Config(
        vocab_size=128,
        hidden_size=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_mel_bins=16,
        speech_decoder_prenet_units=16,
        speech_decoder_postnet_units=16,
        speech_decoder_postnet_layers=1,
        speaker_embedding_dim=8,
        reduction_factor=2,
        max_text_positions=64,
        max_speech_positions=400,
        initializer_range=0.3,
    )
    seeded(lambda: transformers.SpeechT5ForTextToSpeech(config)).save_pretrained(folder)
    tokenizer = t5_tokenizer()
    generic = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    generic.save_pretrained(folder)
    return folder


@quietly
def write_bark(folder: Path) -> Path:
    """A tiny Bark, whose clips end after a few tokens."""
    transformers = library("transformers")
    sizes = {"hidden_size": 8, "num_layers": 1, "num_heads": 2, "block_size": 1_024}
    semantic = transformers.BarkSemanticConfig(input_vocab_size=129_600, output_vocab_size=10_048, **sizes)
    coarse = transformers.BarkCoarseConfig(input_vocab_size=12_096, output_vocab_size=12_096, **sizes)
    fine = transformers.BarkFineConfig(input_vocab_size=1_056, output_vocab_size=1_056, **sizes)
    codec = transformers.EncodecConfig(
        num_filters=2,
        hidden_size=8,
        codebook_dim=8,
        codebook_size=1_024,
        num_lstm_layers=1,
        upsampling_ratios=[8, 5, 4, 2],
        target_bandwidths=[6.0],
    )
    config = transformers.BarkConfig(
        semantic_config=semantic.to_dict(),
        coarse_acoustics_config=coarse.to_dict(),
        fine_acoustics_config=fine.to_dict(),
        codec_config=codec.to_dict(),
    )
    model = seeded(lambda: transformers.BarkModel(config))
    fill_codebooks(model.codec_model.quantizer)
    words = {token: place for place, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS])}
    model.save_pretrained(folder)
    transformers.BarkProcessor(transformers.BertTokenizer(words)).save_pretrained(folder)
    limits: dict[str, Any] = {"semantic_config": {"max_new_tokens": 4, "max_input_semantic_length": 16}}
    limits |= {"coarse_acoustics_config": {"max_coarse_input_length": 16}, "fine_acoustics_config": {}}
    _written(folder / "generation_config.json", json.dumps(limits | {"sample_rate": 24_000, "codebook_size": 1_024}))
    return folder


def t5_encoder(sizes: dict[str, int], gated: bool = False) -> Any:
    transformers = library("transformers")
    extra: dict[str, Any] = {"feed_forward_proj": "gated-gelu"} if gated else {}
    vocabulary = 128 if sizes is T5_TINY else 32_128
    config = transformers.T5Config(**sizes, **extra, vocab_size=vocabulary)
    return seeded(lambda: transformers.T5EncoderModel(config))


@quietly
def write_audioldm2(folder: Path, *, tiny: bool = False, language_model: str = "GPT2Model") -> Path:
    """AudioLDM 2 music; the published folder names the class of its language model GPT2Model."""
    transformers, diffusers = library("transformers"), library("diffusers")
    width = 16 if tiny else 768
    text = {"hidden_size": width, "intermediate_size": 16 if tiny else 3_072}
    text |= {"num_hidden_layers": 1 if tiny else 12, "num_attention_heads": 2 if tiny else 12}
    tokens = {"vocab_size": 520, "max_position_embeddings": 66} if tiny else {}
    audio = {"hidden_size": 16, "depths": [1, 1], "num_attention_heads": [2, 2], "num_hidden_layers": 2}
    audio |= {"spec_size": 32, "num_mel_bins": 16, "window_size": 2, "patch_stride": [4, 4]}
    audio |= {"patch_embeds_hidden_size": 8, "num_classes": 4}
    clap = transformers.ClapConfig(
        text_config=text | tokens, audio_config=audio if tiny else {}, projection_dim=16 if tiny else 512
    )
    language = transformers.GPT2Config(
        n_embd=width,
        n_layer=1 if tiny else 12,
        n_head=2 if tiny else 12,
        n_positions=1_024,
        vocab_size=8 if tiny else 50_257,
    )
    language.max_new_tokens = 8
    t5 = T5_TINY if tiny else T5_LARGE
    blocks = [8, 16] if tiny else [128, 256, 384, 640]
    unet = diffusers.AudioLDM2UNet2DConditionModel
    channels = 8
    parts = {
        "vae": seeded(lambda: audio_vae(tiny)),
        "text_encoder": seeded(lambda: transformers.ClapModel(clap)),
        "text_encoder_2": t5_encoder(t5, gated=True),
        "projection_model": seeded(
            lambda: diffusers.AudioLDM2ProjectionModel(
                text_encoder_dim=clap.projection_dim, text_encoder_1_dim=t5["d_model"], langauge_model_dim=width
            )
        ),
        "language_model": seeded(lambda: getattr(transformers, language_model)(language)),
        "tokenizer": roberta_tokenizer(64 if tiny else 512),
        "tokenizer_2": t5_tokenizer(),
        "feature_extractor": transformers.ClapFeatureExtractor(),
        "unet": seeded(
            lambda: unet(
                sample_size=32 if tiny else 256,
                in_channels=channels,
                out_channels=channels,
                block_out_channels=blocks,
                down_block_types=["DownBlock2D", *["CrossAttnDownBlock2D"] * (len(blocks) - 1)],
                up_block_types=[*["CrossAttnUpBlock2D"] * (len(blocks) - 1), "UpBlock2D"],
                layers_per_block=1 if tiny else 2,
                attention_head_dim=4 if tiny else 32,
                norm_num_groups=4 if tiny else 32,
                cross_attention_dim=[[None, width, t5["d_model"]]] * len(blocks),
            )
        ),
        "scheduler": diffusers.DDIMScheduler(
            beta_start=0.0015, beta_end=0.0195, beta_schedule="scaled_linear", clip_sample=False, steps_offset=1
        ),
        "vocoder": hifigan(tiny),
    }
    return _saved(diffusers.AudioLDM2Pipeline, parts, folder)


def audio_vae(tiny: bool) -> Any:
    """The autoencoder of AudioLDM and AudioLDM 2: four mel frames and bands to one."""
    blocks = [4, 4, 8] if tiny else [128, 256, 512]
    return library("diffusers").AutoencoderKL(
        in_channels=1,
        out_channels=1,
        latent_channels=8,
        block_out_channels=blocks,
        down_block_types=["DownEncoderBlock2D"] * 3,
        up_block_types=["UpDecoderBlock2D"] * 3,
        layers_per_block=1 if tiny else 2,
        norm_num_groups=4 if tiny else 32,
        scaling_factor=0.4110,
    )


@quietly
def write_stable_audio(folder: Path, *, tiny: bool = False) -> Path:
    """Stable Audio Open 1.0."""
    diffusers = library("diffusers")
    t5 = T5_TINY if tiny else T5_BASE
    width = t5["d_model"]
    denoiser: dict[str, Any] = {
        "sample_size": 50,
        "in_channels": 4,
        "out_channels": 4,
        "num_layers": 1,
        "attention_head_dim": 8,
        "num_attention_heads": 2,
        "num_key_value_attention_heads": 1,
        "cross_attention_dim": width,
        "cross_attention_input_dim": width,
        "global_states_input_dim": 2 * width,
        "time_proj_dim": 8,
    }
    codec: dict[str, Any] = {
        "encoder_hidden_size": 4,
        "downsampling_ratios": [2, 4],
        "channel_multiples": [1, 2],
        "decoder_channels": 4,
        "decoder_input_channels": 4,
        "audio_channels": 2,
        "sampling_rate": 400,
    }
    parts = {
        "vae": seeded(lambda: diffusers.AutoencoderOobleck(**(codec if tiny else {}))),
        "text_encoder": t5_encoder(t5),
        "projection_model": seeded(
            lambda: diffusers.StableAudioProjectionModel(width, width, min_value=0, max_value=512)
        ),
        "tokenizer": t5_tokenizer(),
        "transformer": seeded(lambda: diffusers.StableAudioDiTModel(**(denoiser if tiny else {}))),
        "scheduler": diffusers.EDMDPMSolverMultistepScheduler(),
    }
    _saved(diffusers.StableAudioPipeline, parts, folder)
    # The published scheduler cannot be made without a further package (torchsde); its name and its settings can be written.
    name = "CosineDPMSolverMultistepScheduler"
    settings = {"_class_name": name, "sigma_min": 0.3, "sigma_max": 500, "sigma_data": 1.0, "solver_order": 2}
    settings |= {"sigma_schedule": "exponential", "prediction_type": "v_prediction"}
    (folder / "scheduler" / "scheduler_config.json").write_text(json.dumps(settings), encoding="utf-8")
    index = json.loads((folder / "model_index.json").read_bytes())
    index["scheduler"] = ["diffusers", name]
    (folder / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def clip_text(width: int, layers: int, heads: int, *, projected: bool = False, tiny: bool = False) -> Any:
    transformers = library("transformers")
    config = transformers.CLIPTextConfig(
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        projection_dim=width,
        hidden_act="gelu" if projected else "quick_gelu",
        bos_token_id=0,
        eos_token_id=1,
        **({"vocab_size": 520} if tiny else {}),
    )
    kind = "CLIPTextModelWithProjection" if projected else "CLIPTextModel"
    return seeded(lambda: getattr(transformers, kind)(config))


def image_vae(tiny: bool, scaling: float) -> Any:
    blocks = [8, 8, 8, 8] if tiny else [128, 256, 512, 512]
    return seeded(
        lambda: library("diffusers").AutoencoderKL(
            block_out_channels=blocks,
            down_block_types=["DownEncoderBlock2D"] * 4,
            up_block_types=["UpDecoderBlock2D"] * 4,
            layers_per_block=1 if tiny else 2,
            norm_num_groups=4 if tiny else 32,
            latent_channels=4,
            scaling_factor=scaling,
        )
    )


SD_NOISE = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "steps_offset": 1}


@quietly
def write_stable_diffusion(folder: Path, *, tiny: bool = False, safety: bool = False) -> Path:
    """Stable Diffusion 1.5, without its safety checker unless asked for (tiny only)."""
    transformers, diffusers = library("transformers"), library("diffusers")
    sizes: dict[str, Any] = {
        "block_out_channels": [8, 8],
        "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"],
        "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"],
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "attention_head_dim": 2,
        "cross_attention_dim": 16,
        "sample_size": 4,
    }
    published = {"cross_attention_dim": 768, "sample_size": 64, "attention_head_dim": 8}
    checker = extractor = None
    if safety:
        vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        vision |= {"image_size": 32, "patch_size": 16}
        config = transformers.CLIPConfig(vision_config=vision, text_config={"hidden_size": 16}, projection_dim=8)
        kind = library("diffusers.pipelines.stable_diffusion.safety_checker").StableDiffusionSafetyChecker
        checker = seeded(lambda: kind(config))
        checker.concept_embeds_weights.fill_(-9.0)  # everything looks forbidden to it
        extractor = transformers.CLIPImageProcessorPil(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        )
    parts = {
        "vae": image_vae(tiny, 0.18215),
        "text_encoder": clip_text(16, 1, 2, tiny=True) if tiny else clip_text(768, 12, 12),
        "tokenizer": clip_tokenizer(),
        "unet": seeded(lambda: diffusers.UNet2DConditionModel(**(sizes if tiny else published))),
        "scheduler": diffusers.PNDMScheduler(**SD_NOISE, skip_prk_steps=True),
        "safety_checker": checker,
        "feature_extractor": extractor,
    }
    return _saved(diffusers.StableDiffusionPipeline, parts, folder, requires_safety_checker=safety)


@quietly
def write_stable_diffusion_xl(folder: Path, *, tiny: bool = False) -> Path:
    """Stable Diffusion XL base 1.0."""
    diffusers = library("diffusers")
    small = {"block_out_channels": [8, 8], "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"]}
    small |= {"up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"], "transformer_layers_per_block": [1, 1]}
    small |= {"attention_head_dim": [2, 2], "cross_attention_dim": 32, "sample_size": 4, "norm_num_groups": 4}
    small |= {"addition_time_embed_dim": 4, "projection_class_embeddings_input_dim": 6 * 4 + 16}
    published = {
        "block_out_channels": [320, 640, 1280],
        "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
        "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
        "transformer_layers_per_block": [1, 2, 10],
        "attention_head_dim": [5, 10, 20],
        "cross_attention_dim": 2_048,
        "sample_size": 128,
        "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 2_816,
    }
    parts = {
        "vae": image_vae(tiny, 0.13025),
        "text_encoder": clip_text(16, 2, 2, tiny=True) if tiny else clip_text(768, 12, 12),
        "text_encoder_2": clip_text(16, 2, 2, projected=True, tiny=True)
        if tiny
        else clip_text(1_280, 32, 20, projected=True),
        "tokenizer": clip_tokenizer(),
        "tokenizer_2": clip_tokenizer(),
        "unet": seeded(
            lambda: diffusers.UNet2DConditionModel(
                **(small if tiny else published), use_linear_projection=True, addition_embed_type="text_time"
            )
        ),
        "scheduler": diffusers.EulerDiscreteScheduler(**SD_NOISE, timestep_spacing="leading"),
    }
    return _saved(diffusers.StableDiffusionXLPipeline, parts, folder)


def _saved(kind: Any, parts: dict[str, Any], folder: Path, **options: Any) -> Path:
    kind(**parts, **options).save_pretrained(folder)
    return folder


@quietly
def write_mustango(folder: Path, *, tiny: bool = False) -> Path:
    """Mustango's checkpoint as published, and in ``text`` and ``beats`` below it what it borrows from other models."""
    torch, transformers = library("torch"), library("transformers")
    networks = library("heartfelt_mustango.networks")
    sizes = T5_TINY if tiny else T5_LARGE
    small = {"block_out_channels": [8, 8], "attention_head_dim": [2, 2], "norm_num_groups": 4, "layers_per_block": 1}
    small |= {"cross_attention_dim": sizes["d_model"], "sample_size": [32, 2]}
    small |= {"down_block_types": ["CrossAttnDownBlock2DMusic", "DownBlock2D"]}
    small |= {"up_block_types": ["UpBlock2D", "CrossAttnUpBlock2DMusic"]}
    published: dict[str, Any] = {"block_out_channels": [320, 640, 1280, 1280], "attention_head_dim": [5, 10, 20, 20]}
    published |= {"layers_per_block": 2, "cross_attention_dim": 1024, "norm_num_groups": 32, "sample_size": [32, 2]}
    published |= {"down_block_types": [*["CrossAttnDownBlock2DMusic"] * 3, "DownBlock2D"]}
    published |= {"up_block_types": ["UpBlock2D", *["CrossAttnUpBlock2DMusic"] * 3], "upcast_attention": True}
    unet: dict[str, Any] = {"_class_name": "UNet2DConditionModelMusic", "in_channels": 8, "out_channels": 8}
    unet |= {"mid_block_type": "UNetMidBlock2DCrossAttnMusic", "use_linear_projection": True}
    unet |= small if tiny else published
    layers: dict[str, Any] = {"double_z": True, "z_channels": 8, "resolution": 256, "in_channels": 1, "out_ch": 1}
    layers |= {"ch": 32 if tiny else 128, "ch_mult": [1, 1, 1] if tiny else [1, 2, 4]}
    layers |= {"num_res_blocks": 1 if tiny else 2, "attn_resolutions": []}
    vae = {"ddconfig": layers, "embed_dim": 8, "scale_factor": 0.92, "subband": 1}
    text = transformers.T5Config(
        **sizes, vocab_size=128 if tiny else 32_128, feed_forward_proj="gated-gelu", tie_word_embeddings=False
    )
    text.decoder_start_token_id = 0
    width = 16 if tiny else 1_024
    beats = transformers.DebertaV2Config(
        vocab_size=520 if tiny else 128_100,
        hidden_size=width,
        num_hidden_layers=1 if tiny else 24,
        num_attention_heads=2 if tiny else 16,
        intermediate_size=16 if tiny else 4_096,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
    )
    main = {"text_encoder_name": "google/flan-t5-large", "scheduler_name": "stabilityai/stable-diffusion-2-1"}
    for name, config in (("vae", vae), ("music_diffusion_model", unet), ("main", main)):
        _written(folder / "configs" / f"{name}_config.json", json.dumps(config))
    text.save_pretrained(folder / "text")
    beats.save_pretrained(folder / "beats")
    t5_tokenizer().save_pretrained(folder / "text")
    roberta_tokenizer(512).save_pretrained(folder / "beats")
    weights = {
        f"text_encoder.{name}": part for name, part in _state(lambda: transformers.T5EncoderModel(copy.deepcopy(text)))
    }
    for name, part in _state(lambda: networks.music_unet(unet)):
        for own, suffix in (("text", ""), ("beats", "2"), ("chords", "3")):
            name = re.sub(rf"attentions\.(\d+)\.{own}\.", rf"attentions{suffix}.\1.", name)
        weights[f"unet.{name}"] = part
    for name, part in _state(lambda: networks.MusicEmbedding(text.d_model)):
        layer = {"beat_ffn": "beat_embedding_layer.", "chord_ffn": "chord_embedding_layer."}
        weights[f"{layer.get(name.split('.')[0], 'FME.')}{name}"] = part
    stored = {_published_vae(name, len(layers["ch_mult"])): part for name, part in _state(lambda: _mustango_vae(vae))}
    stored = {
        name: part[..., None, None] if ".attn_1." in name and part.dim() == 2 else part for name, part in stored.items()
    }
    channels = 32 if tiny else 1_024
    config = transformers.SpeechT5HifiGanConfig(
        **networks.VOCODER, upsample_initial_channel=channels, model_in_dim=64, initializer_range=0.1
    )
    for name, part in _state(lambda: transformers.SpeechT5HifiGan(config)):
        if name not in ("mean", "scale"):
            stored[f"vocoder.{name.replace('upsampler.', 'ups.')}"] = part
    files = {
        "ldm/pytorch_model_ldm.bin": weights,
        "vae/pytorch_model_vae.bin": stored,
        "beats/microsoft-deberta-v3-large.pt": dict(_state(lambda: networks.BeatModel(beats))),
        "chords/flan-t5-large.bin": dict(_state(lambda: transformers.T5ForConditionalGeneration(text))),
    }
    files["chords/flan-t5-large.bin"]["lm_head.weight"] = torch.full((text.vocab_size, text.d_model), 0.01)
    for name, state in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        torch.save({key: part.clone() for key, part in state.items()}, folder / name)
    return folder


def _state(build: Any) -> Any:
    return seeded(build).state_dict().items()


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _mustango_vae(config: dict[str, Any]) -> Any:
    layers = config["ddconfig"]
    widths = [layers["ch"] * factor for factor in layers["ch_mult"]]
    return library("diffusers").AutoencoderKL(
        in_channels=1,
        out_channels=1,
        latent_channels=layers["z_channels"],
        block_out_channels=widths,
        down_block_types=["DownEncoderBlock2D"] * len(widths),
        up_block_types=["UpDecoderBlock2D"] * len(widths),
        layers_per_block=layers["num_res_blocks"],
    )


def _published_vae(name: str, blocks: int) -> str:
    """The name of a weight of Diffusers' autoencoder in the format of the first latent diffusion models."""
    name = re.sub(r"up_blocks\.(\d+)", lambda found: f"up.{blocks - 1 - int(found[1])}", name)
    name = re.sub(r"mid_block\.resnets\.(\d)", lambda found: f"mid.block_{int(found[1]) + 1}", name)
    for own, published in (
        ("down_blocks.", "down."),
        ("resnets.", "block."),
        ("downsamplers.0", "downsample"),
        ("upsamplers.0", "upsample"),
        ("conv_shortcut", "nin_shortcut"),
        ("mid_block.attentions.0", "mid.attn_1"),
        ("group_norm", "norm"),
        ("to_q", "q"),
        ("to_k", "k"),
        ("to_v", "v"),
        ("to_out.0", "proj_out"),
        ("conv_norm_out", "norm_out"),
    ):
        name = name.replace(own, published)
    return name
