"""The networks of Mustango (Melechovsky et al. 2023) that no library has, and the published weights' names in the libraries' own.

A step of Mustango's denoiser attends to the text, then to the beats, then to the chords. Diffusers' UNet attends once: here each of
its attentions is replaced by three in a row, and what they attend to travels as one sequence (text, beats, chords), which every
attention takes apart again.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

BEATS, CHORDS = 50, 20
"""How many beats and chords a clip has, padded."""
BEAT_TYPES, CHORD_TYPES, INVERSIONS = 7, 12, 4
VOCODER: Mapping[str, Any] = {
    "sampling_rate": 16_000,
    "upsample_rates": [5, 4, 2, 2, 2],
    "upsample_kernel_sizes": [16, 16, 8, 4, 4],
    "resblock_kernel_sizes": [3, 7, 11],
    "resblock_dilation_sizes": [[1, 3, 5]] * 3,
    "normalize_before": False,
}
"""AudioLDM's vocoder for 16 kHz."""
_ATTENTION = re.compile(r"(.*\.attentions)([23]?)\.(\d+)\.(.*)")
_PARTS = {"": "text", "2": "beats", "3": "chords"}


class ThreeAttentions(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """Attention to the text, the beats and the chords, in this order."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.text = attention
        self.beats = copy.deepcopy(attention)
        self.chords = copy.deepcopy(attention)

    def forward(
        self,
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor,
        encoder_attention_mask: torch.Tensor,
        return_dict: bool = False,
        **options: Any,
    ) -> tuple[torch.Tensor]:
        del return_dict
        lengths = [encoder_hidden_states.shape[1] - BEATS - CHORDS, BEATS, CHORDS]
        states = encoder_hidden_states.split(lengths, dim=1)
        masks = encoder_attention_mask.split(lengths, dim=-1)
        for part, state, mask in zip((self.text, self.beats, self.chords), states, masks, strict=True):
            hidden_states = part(
                hidden_states, encoder_hidden_states=state, encoder_attention_mask=mask, return_dict=False, **options
            )[0]
        return (hidden_states,)


def music_unet(config: Mapping[str, Any]) -> Any:
    """The denoiser that a published configuration describes, without weights."""
    from diffusers import UNet2DConditionModel

    parameters = inspect.signature(UNet2DConditionModel.__init__).parameters
    arguments: dict[str, Any] = {name: _plain(value) for name, value in config.items() if name in parameters}
    unet = UNet2DConditionModel(**arguments)
    for block in [*unet.down_blocks, unet.mid_block, *unet.up_blocks]:
        if getattr(block, "attentions", None) is not None:
            block.attentions = nn.ModuleList(ThreeAttentions(attention) for attention in block.attentions)
    return unet


def _plain(value: Any) -> Any:
    """A block's name without the suffix of Mustango's own copy of Diffusers."""
    if isinstance(value, str):
        return value.removesuffix("Music")
    return [_plain(part) for part in value] if isinstance(value, list) else value


def unet_weights(state: Mapping[str, Any]) -> dict[str, Any]:
    """The denoiser's weights under the names of :func:`music_unet`."""
    out = {}
    for name, value in state.items():
        match = _ATTENTION.fullmatch(name)
        if match is not None:
            block, part, layer_number, parameter = match.groups()
            name = f"{block}.{layer_number}.{_PARTS[part]}.{parameter}"
        out[name] = value
    return out


class MusicEmbedding(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """Beats and chords as vectors of the text encoder's width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.translation_bias = nn.Parameter(torch.zeros(1, width))
        self.beat_ffn = nn.Linear(BEAT_TYPES + width, width)
        self.chord_ffn = nn.Linear(2 * width + CHORD_TYPES + INVERSIONS, width)

    def beats(self, types: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        """From the type and the time (s) of each beat, both (stimuli, beats)."""
        return self.beat_ffn(torch.cat([_one_hot(types, BEAT_TYPES), self._waves(times, 10_001)], dim=-1))

    def chords(
        self, roots: torch.Tensor, types: torch.Tensor, inversions: torch.Tensor, times: torch.Tensor
    ) -> torch.Tensor:
        """From the root, type, inversion and time (s) of each chord, all (stimuli, chords)."""
        parts = [
            self._waves(roots, 1) + self.translation_bias,
            _one_hot(types, CHORD_TYPES),
            _one_hot(inversions, INVERSIONS),
            self._waves(times, 10_001),
        ]
        return self.chord_ffn(torch.cat(parts, dim=-1))

    def _waves(self, values: torch.Tensor, base: int) -> torch.Tensor:
        """Sines and cosines in turn, ever slower where the base is above 1."""
        width = self.translation_bias.shape[1]
        dimensions = torch.arange(width, device=values.device)
        angles = values[..., None].float() / torch.pow(float(base), 2 * (dimensions // 2) / width)
        return torch.where(dimensions % 2 == 0, angles.sin(), angles.cos())


def _one_hot(values: torch.Tensor, size: int) -> torch.Tensor:
    return nn.functional.one_hot(values, size).float()


def embedding_weights(state: Mapping[str, Any]) -> dict[str, Any]:
    """The weights of :class:`MusicEmbedding` among those of the whole model."""
    names = {"translation_bias": "FME.translation_bias"}
    for part in ("beat", "chord"):
        for kind in ("weight", "bias"):
            names[f"{part}_ffn.{kind}"] = f"{part}_embedding_layer.{part}_ffn.{kind}"
    return {own_name: state[name] for own_name, name in names.items()}


class BeatModel(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """From a text to its beats per bar (the first token's class) and the time to each next beat (a number per token)."""

    def __init__(self, config: Any) -> None:
        from transformers import DebertaV2Model

        super().__init__()
        width = config.hidden_size
        self.deberta = DebertaV2Model(config)
        self.hidden1, self.classifier = nn.Linear(width, width), nn.Linear(width, 4)
        self.hidden2, self.regressor = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[int, list[float]]:
        """Beats per bar, and seconds from beat to beat, of a single text."""
        states = self.deberta(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        per_bar = 1 + int(self.classifier(self.hidden1(states))[0, 0].argmax())
        return per_bar, self.regressor(self.hidden2(states))[0, :, 0].tolist()


def autoencoder(config: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    """AudioLDM's autoencoder as Diffusers' own, with the published weights; latents are divided by its scaling factor first."""
    from diffusers import AutoencoderKL
    from diffusers.loaders.single_file_utils import convert_ldm_vae_checkpoint

    layers = config["ddconfig"]
    widths = [layers["ch"] * factor for factor in layers["ch_mult"]]
    vae = AutoencoderKL(
        in_channels=layers["in_channels"],
        out_channels=layers["out_ch"],
        latent_channels=layers["z_channels"],
        block_out_channels=widths,
        down_block_types=["DownEncoderBlock2D"] * len(widths),
        up_block_types=["UpDecoderBlock2D"] * len(widths),
        layers_per_block=layers["num_res_blocks"],
        scaling_factor=config["scale_factor"],
    )
    vae_weights = {name: value for name, value in state.items() if not name.startswith("vocoder.")}
    load_whole(vae, convert_ldm_vae_checkpoint(vae_weights, vae.config))
    return vae


def vocoder(state: Mapping[str, Any]) -> Any:
    """The HiFi-GAN stored with the autoencoder, as Transformers' own."""
    from transformers import SpeechT5HifiGan, SpeechT5HifiGanConfig

    weights = {name.removeprefix("vocoder."): value for name, value in state.items() if name.startswith("vocoder.")}
    for name in [name for name in weights if name.endswith(".weight_v")]:
        direction, length = weights.pop(name), weights.pop(f"{name[:-1]}g")
        norms = direction.flatten(1).norm(dim=1).reshape(-1, *[1] * (direction.dim() - 1))
        weights[name.removesuffix("_v")] = direction * length / norms
    weights = {re.sub(r"^ups\.", "upsampler.", name): value for name, value in weights.items()}
    channels, bands = weights["conv_pre.weight"].shape[:2]
    config = SpeechT5HifiGanConfig(**VOCODER, upsample_initial_channel=channels, model_in_dim=bands)
    model = SpeechT5HifiGan(config)
    load_whole(model, weights, may_lack=("mean", "scale"))
    return model


def load_whole(model: Any, weights: Mapping[str, Any], may_lack: Sequence[str] = ()) -> None:
    """Load weights; a model that lacks some of them is refused, and buffers of old releases are left out."""
    result = model.load_state_dict(weights, strict=False)
    missing = [name for name in result.missing_keys if name not in may_lack]
    unknown = [name for name in result.unexpected_keys if not name.endswith("position_ids")]
    if missing or unknown:
        problem = f"lacks {missing[0]}" if missing else f"has {unknown[0]}, which is not known"
        raise ValueError(f"the file for {type(model).__name__} {problem}")
