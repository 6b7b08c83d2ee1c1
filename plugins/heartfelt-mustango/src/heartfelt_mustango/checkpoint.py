"""``mustango``: the published checkpoint (Melechovsky et al. 2023), run with parts of Diffusers and Transformers.

A prompt's beats come from a DeBERTa, its chords from a FLAN-T5 that reads text and beats; a UNet that attends to text, beats and
chords denoises latents of 10.24 s, which AudioLDM's autoencoder and HiFi-GAN turn into 163,872 samples at 16 kHz (10.242 s, the
length of Mustango's clips in AImoclips). Layout and steps follow the authors' published code.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from heartfelt.errors import InputError
from heartfelt.predictors.weights import hub_folder
from heartfelt.stimuli.generators.generator import CannotGenerate, GeneratorKind
from heartfelt.stimuli.generators.models.torch_models import (
    ModelFolder,
    ModelGenerator,
    ModelSettings,
    Sampling,
    clip_of,
    dtype_of,
    generator_of,
    library,
    listening,
    loaded,
    model_licence,
)
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt

LATENT_FRAMES, BANDS = 256, 16
"""The latents of 10.24 s: the only size the model was trained on."""
NOISE = {
    "num_train_timesteps": 1_000,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "prediction_type": "v_prediction",
    "clip_sample": False,
}
"""The schedule of Stable Diffusion 2.1, which the checkpoint's configuration names instead of holding it."""
FILES = {
    "vae": ("configs/vae_config.json", "vae/pytorch_model_vae.bin"),
    "model": ("configs/music_diffusion_model_config.json", "ldm/pytorch_model_ldm.bin"),
    "beats": ("configs/main_config.json", "beats/microsoft-deberta-v3-large.pt"),
    "chords": ("configs/main_config.json", "chords/flan-t5-large.bin"),
}
LETTERS = {"A": 0, "B": 2, "C": 3, "D": 5, "E": 7, "F": 8, "G": 10}
KINDS = ("pad", "N", "maj", "maj7", "m", "m6", "m7", "m7b5", "6", "7", "aug", "dim")
_CHORD = re.compile(r"([A-G])([#b]?)([^/\s]*)(/\S+)?")


class MustangoSampling(Sampling):
    """The defaults are those of the authors' code."""

    steps: Annotated[int, Field(ge=1, le=1000, description="denoising steps")] = 100
    guidance_scale: Annotated[float, Field(ge=1, le=50, description="1: none")] = 3.0


class MustangoSettings(ModelSettings):
    """Settings of ``mustango``. The checkpoint holds weights only: two other models lend their tokenizers and configurations."""

    model: Annotated[str, Field(min_length=1, description="a name on the hub, or a folder")] = "declare-lab/mustango"
    text_model: Annotated[str, Field(description="of text encoder and chords")] = "google/flan-t5-large"
    beats_model: Annotated[str, Field(description="of the beats")] = "microsoft/deberta-v3-large"
    settings: MustangoSampling = MustangoSampling()


@dataclass(frozen=True, slots=True)
class MusicalPlan:
    """What a prompt shall sound like: beats as (seconds, number in the bar), chords as (seconds, root, type, inversion)."""

    beats: tuple[tuple[float, int], ...] = ()
    chords: tuple[tuple[float, int, int, int], ...] = ()


def chord_of(name: str) -> tuple[int, int, int] | None:
    """Root, type and inversion of a chord such as "F#m7/A"; None where it is not one."""
    if name == "N":
        return 1, 1, 1
    match = _CHORD.fullmatch(name)
    if match is None or (match[3] or "maj") not in KINDS[2:]:
        return None
    sharp = {"#": 1, "b": -1}.get(match[2], 0)
    return 2 + (LETTERS[match[1]] + sharp) % 12, KINDS.index(match[3] or "maj"), 2 if match[4] else 3


def chords_of(text: str, most: int) -> tuple[tuple[float, int, int, int], ...]:
    """The chords of a text such as "Am at 0.46 n F7 at 1.39"; what cannot be read is left out."""
    out = []
    for item in text.split(" n "):
        name, _, time = item.partition(" at ")
        chord = chord_of(name.strip())
        try:
            seconds = float(time)
        except ValueError:
            continue
        if chord is not None:
            out.append((seconds, *chord))
    return tuple(out[:most])


class Mustango(ModelGenerator):
    """The checkpoint in memory."""

    given: MustangoSettings
    libraries: ClassVar[tuple[str, ...]] = ("torch", "diffusers", "transformers")

    def _load(self) -> None:
        missing = [name for pair in FILES.values() for name in pair if not (self.weights.folder / name).is_file()]
        if missing:
            raise CannotGenerate(
                f"{self.weights.name} is not Mustango's checkpoint: it has no {missing[0]}.",
                "Give declare-lab/mustango, or a folder with all of its files.",
            )
        if self.given.offload != "none":
            raise CannotGenerate("mustango has no offload.", "Leave it out; use half precision or smaller batches.")
        self.dtype = dtype_of(self.given, self.device)
        text, beats = (_lent(self.given.located(name)) for name in (self.given.text_model, self.given.beats_model))
        tokenizer = library("transformers").AutoTokenizer.from_pretrained
        self._tokenizer: Any = loaded(text, tokenizer)
        self._beat_tokenizer: Any = loaded(beats, tokenizer)
        loaded(self.weights, lambda path: self._build(path, text, beats))
        self.rate = int(self._model_vocoder.config.sampling_rate)
        longest = LATENT_FRAMES * 4 * 160 / self.rate
        self.seconds = self.given.seconds
        if self.seconds is not None and self.seconds > longest:
            raise InputError(
                f"Mustango makes {longest:.2f} s, and {self.seconds:g} s are asked for.",
                f"Ask for at most {longest:.2f} seconds (seconds: 10 under this system).",
            )
        self._music: dict[str, MusicalPlan] = {}

    def _build(self, path: str, text: ModelFolder, beats: ModelFolder) -> None:
        transformers = library("transformers")
        networks = library("heartfelt_mustango.networks")
        read = partial(library("torch").load, map_location="cpu", weights_only=True)
        state = {part: read(f"{path}/{file}") for part, (_, file) in FILES.items()}
        text_config = transformers.AutoConfig.from_pretrained(text.folder)
        encoder = transformers.T5EncoderModel(copy.deepcopy(text_config))
        networks.load_whole(encoder, _below(state["model"], "text_encoder."))
        unet = networks.music_unet(self.weights.described(FILES["model"][0]))
        networks.load_whole(unet, networks.unet_weights(_below(state["model"], "unet.")))
        embedding = networks.MusicEmbedding(text_config.d_model)
        networks.load_whole(embedding, networks.embedding_weights(state["model"]))
        beat_model = networks.BeatModel(transformers.AutoConfig.from_pretrained(beats.folder))
        networks.load_whole(beat_model, state["beats"])
        chord_model = transformers.T5ForConditionalGeneration(text_config)
        # FLAN-T5 has an output layer of its own, which Transformers ties to the input until both are loaded.
        chord_model.lm_head.weight = library("torch").nn.Parameter(chord_model.lm_head.weight.detach().clone())
        networks.load_whole(chord_model, state["chords"])
        vae = networks.autoencoder(self.weights.described(FILES["vae"][0]), state["vae"])
        # What reads the text runs once for each prompt and stays in full precision.
        full_precision = [part.to(self.device).eval() for part in (encoder, embedding, beat_model, chord_model)]
        self._model_text, self._model_embedding, self._model_beats, self._model_chords = full_precision
        half_precision = (unet, vae, networks.vocoder(state["vae"]))
        halved = [part.to(self.device, self.dtype).eval() for part in half_precision]
        self._model_unet, self._model_vae, self._model_vocoder = halved
        self._networks = networks

    def music_of(self, text: str) -> MusicalPlan:
        """The beats and chords that the checkpoint's own models choose for a text; always the same."""
        if text not in self._music:
            tokens = self._beat_tokenizer(text, max_length=512, truncation=True, return_tensors="pt")
            per_bar, intervals = self._model_beats(
                tokens["input_ids"].to(self.device), tokens["attention_mask"].to(self.device)
            )
            times, at = [], 0.0
            for interval in intervals:
                at += round(interval, 4)
                if at >= 10:
                    break
                times.append(round(at, 2))
            times = times[: self._networks.BEATS]
            timestamps = " , ".join(str(time) for time in times)
            # The letters "\n", not a new line: what the model was trained with.
            question = f"Caption: {text} \\n Timestamps: {timestamps} \\n Max Beat: {per_bar}"
            words = self._tokenizer(question, max_length=512, truncation=True, return_tensors="pt").to(self.device)
            answer = self._model_chords.generate(
                **words, min_length=8, max_length=128, num_beams=5, early_stopping=True
            )
            written = self._tokenizer.decode(answer[0], skip_special_tokens=True)
            beats = tuple((time, 1 + index % per_bar) for index, time in enumerate(times))
            self._music[text] = MusicalPlan(beats, chords_of(written, self._networks.CHORDS))
        return self._music[text]

    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        torch, sampling = library("torch"), self.given.settings
        with listening("transformers", "diffusers"):
            texts = [prompt.text for prompt in prompts]
            states, mask = self._condition(texts, [self.music_of(text) for text in texts])
            is_guided = sampling.guidance_scale > 1
            if is_guided:
                # As long as the texts, so that both halves can be computed together.
                length = states.shape[1] - self._networks.BEATS - self._networks.CHORDS
                without, shown = self._condition([""] * len(texts), [MusicalPlan()] * len(texts), length)
                states, mask = torch.cat([without, states]), torch.cat([shown, mask])
            scheduler = library("diffusers").DDPMScheduler(**NOISE)
            scheduler.set_timesteps(sampling.steps, device=self.device)
            generators = [generator_of(seed) for seed in seeds]
            shape = (1, self._model_unet.config.in_channels, LATENT_FRAMES, BANDS)
            latents = torch.cat([torch.randn(shape, generator=generator) for generator in generators])
            latents = latents.to(self.device, self.dtype) * scheduler.init_noise_sigma
            for step in scheduler.timesteps:
                model_input = torch.cat([latents, latents]) if is_guided else latents
                noise = self._model_unet(
                    model_input, step, encoder_hidden_states=states, encoder_attention_mask=mask
                ).sample
                if is_guided:
                    free, led = noise.chunk(2)
                    noise = free + sampling.guidance_scale * (led - free)
                latents = scheduler.step(noise, step, latents, generator=generators).prev_sample
            mel = self._model_vae.decode(latents / self._model_vae.config.scaling_factor).sample
            sound = self._model_vocoder(mel[:, 0])
        return [clip_of(row, self.rate, self.seconds) for row in sound]

    def _condition(
        self, texts: Sequence[str], music: Sequence[MusicalPlan], length: int | None = None
    ) -> tuple[Any, Any]:
        """What the denoiser attends to, and where there is something: text, beats and chords in one sequence."""
        torch = library("torch")
        padding: dict[str, Any] = (
            {"padding": True} if length is None else {"padding": "max_length", "max_length": length}
        )
        words = self._tokenizer(list(texts), truncation=True, return_tensors="pt", **padding).to(self.device)
        hidden = self._model_text(input_ids=words["input_ids"], attention_mask=words["attention_mask"])[0]
        beats = [
            _padded([(time, number + 1) for time, number in piece.beats], self._networks.BEATS, 2) for piece in music
        ]
        chords = [_padded(piece.chords or ((0.0, 1, 1, 1),), self._networks.CHORDS, 4) for piece in music]
        table = partial(torch.tensor, device=self.device)
        beat, chord = table([rows for rows, _ in beats]), table([rows for rows, _ in chords])
        parts = [
            hidden,
            self._model_embedding.beats(beat[..., 1].long(), beat[..., 0]),
            self._model_embedding.chords(*(chord[..., column].long() for column in (1, 2, 3)), chord[..., 0]),
        ]
        masks = [words["attention_mask"] == 1, table([mask for _, mask in beats]), table([mask for _, mask in chords])]
        return torch.cat(parts, dim=1).to(self.dtype), torch.cat(masks, dim=1)

    def _sampling(self) -> Mapping[str, object]:
        lent = {"text_model": self.given.text_model, "beats_model": self.given.beats_model}
        return {"seconds": self.seconds, **self.given.settings.model_dump(), **lent, "scheduler": "DDPMScheduler"}


def _padded(rows: Sequence[Sequence[float]], length: int, columns: int) -> tuple[list[list[float]], list[bool]]:
    """Rows up to ``length``, and which are real; the others have the last one's time and the types of padding."""
    last = rows[-1][0] if rows else 0.0
    more = length - len(rows)
    return [*map(list, rows), *[[last, *[0.0] * (columns - 1)]] * more], [True] * len(rows) + [False] * more


def _below(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _lent(name: str) -> ModelFolder:
    """A model's tokenizer and configuration, without its weights."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return ModelFolder(name, folder)
    download = library("huggingface_hub").snapshot_download
    fetch = partial(download, allow_patterns=["*.json", "*.model", "*.txt"])
    return ModelFolder(name, hub_folder(name, fetch=fetch))


MUSTANGO = GeneratorKind(
    name="mustango",
    about="music from text: Mustango's published checkpoint",
    settings=MustangoSettings,
    build=Mustango,
    licence=model_licence,
)
