"""``text-to-speech``: VITS (MMS), SpeechT5 and Bark of Transformers; a prompt's text is what is said.

These models draw from PyTorch's own stream of random numbers, so stimuli are made one after the other, each with that stream
set to its seed (and put back afterwards): a stimulus never depends on the others of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from heartfelt.errors import InputError
from heartfelt.stimuli.generators.generator import CannotGenerate, GeneratorKind, register
from heartfelt.stimuli.generators.models.torch_models import (
    ModelGenerator,
    ModelSettings,
    Sampling,
    Unusable,
    clip_of,
    dtype_of,
    library,
    listening,
    loaded,
    model_licence,
    weights_of,
)
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt

ONLY = {
    "vits": {"speaker", "speaking_rate", "noise_scale", "noise_scale_duration"},
    "speecht5": {"voice", "vocoder"},
    "bark": {"voice", "temperature"},
}
"""Which settings each kind of model has."""


class SpeechSampling(Sampling):
    """Where a value is left out, it is the model's own."""

    voice: Annotated[
        str | None,
        Field(
            description="SpeechT5: a file with the speaker's vector (.npy or text); Bark: a preset such as v2/en_speaker_6"
        ),
    ] = None
    vocoder: Annotated[
        str | None, Field(description="SpeechT5: from spectrogram to sound; microsoft/speecht5_hifigan if left out")
    ] = None
    speaker: Annotated[int | None, Field(ge=0, description="VITS: number of the speaker")] = None
    speaking_rate: Annotated[float | None, Field(gt=0, le=10, description="VITS: 1 is the usual speed")] = None
    noise_scale: Annotated[float | None, Field(ge=0, le=5, description="VITS: variation of the voice")] = None
    noise_scale_duration: Annotated[float | None, Field(ge=0, le=5, description="VITS: of the rhythm")] = None
    temperature: Annotated[float | None, Field(gt=0, le=5, description="Bark: randomness")] = None


class SpeechSettings(ModelSettings):
    """Settings of ``text-to-speech``. How long a clip lasts is up to the text."""

    inherited: ClassVar[frozenset[str]] = frozenset()

    settings: SpeechSampling = SpeechSampling()


class TextToSpeech(ModelGenerator):
    """A text-to-speech model in memory."""

    given: SpeechSettings

    def _load(self) -> None:
        transformers = library("transformers")
        self.type = str(self.weights.described("config.json").get("model_type"))
        if self.type not in ONLY:
            raise CannotGenerate(
                f"{self.weights.name} is a model of type '{self.type}', which text-to-speech cannot run.",
                "Use a VITS, SpeechT5 or Bark model such as facebook/mms-tts-eng.",
            )
        wrong = sorted(set(self.given.settings.model_dump(exclude_none=True)) - ONLY[self.type])
        if wrong:
            raise CannotGenerate(
                f"A {self.type} model has no setting '{wrong[0]}'.", f"It has {', '.join(sorted(ONLY[self.type]))}."
            )
        if self.given.offload != "none":
            raise CannotGenerate("text-to-speech has no offload.", "Leave it out; these models are small.")
        # Small models that lose more than they gain by half precision.
        self.dtype = dtype_of(self.given, self.device, "float16" if self.type == "bark" else "float32")
        classes = {"vits": "VitsModel", "speecht5": "SpeechT5ForTextToSpeech", "bark": "BarkModel"}
        model_class = getattr(transformers, classes[self.type])
        model = loaded(self.weights, lambda path: model_class.from_pretrained(path, dtype=self.dtype))
        self._model: Any = model.to(self.device).eval()
        reader = transformers.AutoProcessor if self.type == "bark" else transformers.AutoTokenizer
        self._reader: Any = loaded(self.weights, reader.from_pretrained)
        getattr(self, f"_open_{self.type}")()

    def _open_vits(self) -> None:
        config, sampling = self._model.config, self.given.settings
        self.rate = int(config.sampling_rate)
        if sampling.speaker is not None and sampling.speaker >= config.num_speakers:
            raise CannotGenerate(
                f"{self.weights.name} has {config.num_speakers} speakers, and speaker {sampling.speaker} is asked for.",
                "Speakers are counted from 0; leave speaker out where there is one voice.",
            )
        for name in ("speaking_rate", "noise_scale", "noise_scale_duration"):
            if getattr(sampling, name) is not None:
                setattr(self._model, name, getattr(sampling, name))

    def _open_speecht5(self) -> None:
        sampling, size = self.given.settings, int(self._model.config.speaker_embedding_dim)
        if sampling.voice is None:
            raise CannotGenerate(
                "SpeechT5 needs the vector of a speaker.",
                f"Give settings: {{voice: FILE}} with {size} numbers (.npy, or one number per line).",
            )
        vector = _vector(self.given.located(sampling.voice), size)
        self._model_voice: Any = library("torch").from_numpy(vector).to(self.device, self.dtype)[None]
        weights = weights_of(self.given.located(sampling.vocoder or "microsoft/speecht5_hifigan"))
        vocoder_class = library("transformers").SpeechT5HifiGan
        vocoder = loaded(weights, lambda path: vocoder_class.from_pretrained(path, dtype=self.dtype))
        self._model_vocoder: Any = vocoder.to(self.device).eval()
        self.rate = int(vocoder.config.sampling_rate)

    def _open_bark(self) -> None:
        self.rate = int(self._model.generation_config.sample_rate)

    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        return [self._speak(prompt.text, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def _speak(self, text: str, seed: int) -> GeneratedMedium:
        torch = library("torch")
        devices = [self.device] if self.device.startswith("cuda") else []
        with torch.random.fork_rng(devices=devices), listening("transformers"):
            torch.manual_seed(seed % 2**63)
            sound = getattr(self, f"_speak_{self.type}")(text)
        if sound is None:
            return Unusable(
                "audio",
                f"The model knows none of the letters of '{text[:60]}'.",
                "Write the prompt in the language the model speaks.",
            )
        return clip_of(sound, self.rate)

    def _speak_vits(self, text: str) -> Any:
        tokens = self._reader(text, return_tensors="pt").to(self.device)
        if not tokens["input_ids"].numel():
            return None
        speaker = self.given.settings.speaker
        options = {} if speaker is None else {"speaker_id": speaker}
        return self._model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"], **options).waveform[
            0
        ]

    def _speak_speecht5(self, text: str) -> Any:
        tokens = self._reader(text, return_tensors="pt").to(self.device)
        return self._model.generate_speech(tokens["input_ids"], self._model_voice, vocoder=self._model_vocoder)

    def _speak_bark(self, text: str) -> Any:
        sampling = self.given.settings
        tokens = self._reader(text, voice_preset=sampling.voice, return_tensors="pt").to(self.device)
        options: dict[str, object] = {"semantic_do_sample": True, "coarse_do_sample": True}
        if sampling.temperature is not None:
            options |= {"semantic_temperature": sampling.temperature, "coarse_temperature": sampling.temperature}
        return self._model.generate(**tokens, **options)[0]

    def _sampling(self) -> Mapping[str, object]:
        return {"type": self.type, **self.given.settings.model_dump(exclude_none=True)}


def _vector(file: str, size: int) -> Any:
    path = Path(file).expanduser()
    try:
        numbers = (
            np.load(path)
            if path.suffix == ".npy"
            else np.loadtxt(path, delimiter="," if path.suffix == ".csv" else None)
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"The voice {file} cannot be read: {error}.", "Give a .npy file, or text with one number per line."
        ) from error
    numbers = np.asarray(numbers, dtype=np.float32).reshape(-1)
    if numbers.size != size or not np.isfinite(numbers).all():
        raise InputError(
            f"The voice {file} has {numbers.size} numbers, and the model needs {size}.",
            "Give the speaker's vector of the model's own size.",
        )
    return numbers


register(
    GeneratorKind(
        name="text-to-speech",
        about="speech from text: VITS, SpeechT5 and Bark of Transformers",
        settings=SpeechSettings,
        build=TextToSpeech,
        licence=model_licence,
    )
)
