"""Networks for sound and its prompt: CLAP with one head per question, and cross-attention over frozen encoders' states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn


class LogMel(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """The log-mel spectrogram of a CLAP feature extractor, computed on the device in batches.

    The same numbers as the extractor gives for a clip of its full length; always in single precision, since logarithms of small
    powers do not survive half precision.
    """

    def __init__(self, extractor: Any) -> None:
        super().__init__()
        self.size, self.hop = int(extractor.fft_window_size), int(extractor.hop_length)
        fused = extractor.truncation == "fusion"
        filters = extractor.mel_filters if fused else extractor.mel_filters_slaney
        self.channels = 4 if fused else 1
        self.register_buffer("window", torch.hann_window(self.size), persistent=False)
        self.register_buffer("filters", torch.as_tensor(filters, dtype=torch.float32), persistent=False)

    def forward(self, waveform: Any) -> Any:
        """``(n, samples)`` to ``(n, channels, frames, bands)`` in decibels."""
        with torch.autocast(waveform.device.type, enabled=False):
            spectrum = torch.stft(
                waveform.float(),
                self.size,
                self.hop,
                window=self.window,
                center=True,
                pad_mode="reflect",
                return_complex=True,
            )
            power = torch.view_as_real(spectrum).square().sum(-1)
            bands = torch.einsum("nft,fb->ntb", power, self.filters)
            decibels = 10.0 * torch.log10(bands.clamp_min(1e-10))
        return decibels[:, None].expand(-1, self.channels, -1, -1)


def head(inputs: int, hidden: tuple[int, int], outputs: int, dropout: float = 0.0) -> Any:
    first, second = hidden
    return nn.Sequential(
        nn.Linear(inputs, first),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(second, outputs),
    )


class ClapMosNetwork(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """CLAP with a head per question: on the sound's vector, or on those of the sound and its prompt together.

    Answers are in units of the training labels: 0 is their mean, 1 their standard deviation.
    """

    def __init__(
        self, clap: Any, extractor: Any, heads: Mapping[str, bool], hidden: tuple[int, int], dropout: float
    ) -> None:
        """``heads`` says of each question whether its head hears the prompt too."""
        super().__init__()
        size = int(clap.config.projection_dim)
        self.clap, self.log_mel, self.size = clap, LogMel(extractor), size
        self.with_text = dict(heads)
        self.heads = nn.ModuleList([head(size * (2 if text else 1), hidden, 1, dropout) for text in heads.values()])

    def forward(
        self, waveform: Any = None, input_features: Any = None, input_ids: Any = None, attention_mask: Any = None
    ) -> dict[str, torch.Tensor]:
        """From samples at the model's rate, or from the spectrogram its own extractor makes."""
        if input_features is None:
            input_features = self.log_mel(waveform)
        longer = torch.zeros((len(input_features), 1), dtype=torch.bool, device=input_features.device)
        sound = self.clap.get_audio_features(input_features, is_longer=longer).pooler_output
        vectors = {False: sound}
        if input_ids is not None:
            words = self.clap.get_text_features(input_ids=input_ids, attention_mask=attention_mask).pooler_output
            vectors[True] = torch.cat([sound, words], dim=-1)
        # The vectors have length 1; the layers are made for numbers of about that size each.
        scale = float(self.size) ** 0.5
        answers = [
            part(vectors[text] * scale)[:, 0] for part, text in zip(self.heads, self.with_text.values(), strict=True)
        ]
        return {"values": torch.stack(answers, dim=1)}


class SoftMosNetwork(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """Cross-attention between the states of a sound and of its prompt, ending in one distribution over bins per question.

    A question about the sound alone sees the sound's states only.
    """

    def __init__(
        self,
        audio: int,
        text: int,
        heads: Mapping[str, bool],
        *,
        width: int,
        layers: int,
        attention_heads: int,
        bins: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.with_text = dict(heads)
        self.from_audio = nn.Sequential(nn.LayerNorm(audio), nn.Linear(audio, width))
        self.from_text = nn.Sequential(nn.LayerNorm(text), nn.Linear(text, width)) if any(heads.values()) else None
        self.listen = nn.ModuleList([_Block(width, attention_heads, dropout) for _ in range(layers)])
        crosses = layers if any(heads.values()) else 0
        self.across = nn.ModuleList([_Cross(width, attention_heads, dropout) for _ in range(crosses)])
        self.heads = nn.ModuleList(
            [head(width * (2 if text_too else 1), (width, width // 2), bins, dropout) for text_too in heads.values()]
        )

    def forward(self, audio: Any, text: Any = None, text_mask: Any = None) -> dict[str, torch.Tensor]:
        """States ``(n, steps, size)``; the mask is true where there is text."""
        sound = self.from_audio(audio)
        for block in self.listen:
            sound = block(sound)
        pooled = {False: sound.mean(1)}
        if self.from_text is not None:
            words = self.from_text(text)
            for cross in self.across:
                sound, words = cross(sound, words, text_mask)
            share = text_mask / text_mask.sum(1, keepdim=True)
            pooled[True] = torch.cat([sound.mean(1), (words * share[..., None]).sum(1)], dim=-1)
        logits = [part(pooled[text_too]) for part, text_too in zip(self.heads, self.with_text.values(), strict=True)]
        return {"logits": torch.stack(logits, dim=1)}


class _Attention(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """What each step of one sequence draws from another; ``mask`` is 0 where the other has nothing.

    The library's own module fixes the length of texts when it is exported.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, queries: Any, context: Any, mask: Any = None) -> Any:
        """``(n, steps, width)``."""
        query, key, value = (
            layer(states).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, states in ((self.query, queries), (self.key, context), (self.value, context))
        )
        allowed = None if mask is None else (mask > 0)[:, None, None, :]
        attended = nn.functional.scaled_dot_product_attention(
            query, key, value, allowed, self.dropout if self.training else 0.0
        )
        return self.out(attended.transpose(1, 2).flatten(2))


class _Block(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """Attention of a sequence to itself, then two layers for each step; normalised before each."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = _Attention(width, heads, dropout)
        self.layers = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * width, width)
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, states: Any) -> Any:
        """``(n, steps, width)``."""
        normed = self.first(states)
        states = states + self.drop(self.attend(normed, normed))
        return states + self.drop(self.layers(self.second(states)))


class _Cross(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """The sound attends to the words, and the words to the sound."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.sound_norm, self.words_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_words, self.to_sound = (_Attention(width, heads, dropout) for _ in range(2))

    def forward(self, sound: Any, words: Any, mask: Any) -> tuple[Any, Any]:
        """Both sequences, each with what it drew from the other."""
        heard, read = self.sound_norm(sound), self.words_norm(words)
        return sound + self.to_words(heard, read, mask), words + self.to_sound(read, heard)
