"""``utmos``, ``audiobox-aesthetics``, ``scoreq`` and ``nisqa``: how good sound is, by models trained on listeners' ratings.

Sound is one channel at 16,000 samples per second (NISQA: at the file's own rate). Audiobox Aesthetics hears windows of ten seconds,
the last one filled with silence that is masked; the others hear a clip as a whole, and a clip longer than thirty seconds in windows
of that length. The score of a clip is the mean over its windows, weighted by how much sound is in them.

UTMOS is wav2vec 2.0 with a recurrent layer; frames are averaged, with the published domain and listener. Audiobox Aesthetics is
WavLM: for each of four scores a weighted sum of its layers is averaged over time and read off by a small network. SCOREQ is run as
the ONNX file of its authors. NISQA is the network of the TorchMetrics library.

Source: Saeki et al. 2022, "UTMOS: UTokyo-SaruLab system for VoiceMOS Challenge 2022"; Tjandra et al. 2025, "Meta Audiobox
Aesthetics"; Ragano et al. 2024, "SCOREQ"; Mittag et al. 2021, "NISQA".
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, MissingPartError
from heartfelt.extras import install_command
from heartfelt.media.sound import decode_with_doubts, file_doubts, loudest_if_cancelling, read_samples, to_one_channel
from heartfelt.predictors.interface.predictor import PREDICTORS
from heartfelt.predictors.measures.hub_model import HubModel, HubScores, checkpoint_identity
from heartfelt.predictors.measures.metrics import MeasuredFile
from heartfelt.predictors.networks.mel import RATE, need_length, silence_doubts
from heartfelt.predictors.weights import load_model
from heartfelt.predictors.weights.checkpoint import (
    Checkpoint,
    NamedTensors,
    filled,
    linear_stack,
    open_checkpoint,
    speech_of_fairseq,
)

Samples = npt.NDArray[np.float32]
_HOP = 320
"""Samples per frame of wav2vec 2.0 and WavLM, which hear 400 at a time."""
_FIELD = 400
_WHOLE_SECONDS = 30


class _SoundScores(HubScores):
    """A model that hears windows of sound."""

    media_kinds = ("audio",)
    seconds: ClassVar[int] = _WHOLE_SECONDS
    shortest: ClassVar[float] = 0.1
    """Seconds below which there is nothing to judge."""

    @abstractmethod
    def hear(self, samples: Samples, rate: int) -> Mapping[str, float]:
        """The scores of one window."""

    def samples_of(self, content: bytes) -> tuple[Samples, int, tuple[str, ...]]:
        """The sound as the model needs it, its rate, and what is doubtful about the file."""
        samples, doubts = decode_with_doubts(content, RATE, RATE)
        return samples, RATE, doubts

    def measure(self, content: bytes, prompt: str) -> MeasuredFile:
        del prompt
        samples, rate, doubts = self.samples_of(content)
        need_length(samples, rate, self.shortest, self.name)
        parts = [(len(window), self.hear(window, rate)) for window in self._windows(samples, rate)]
        total = sum(size for size, _ in parts)
        mean = {name: sum(size * values[name] for size, values in parts) / total for name in self.scores}
        notes = (f"the mean of {len(parts)} windows",) if len(parts) > 1 else ()
        return MeasuredFile(mean, (*doubts, *silence_doubts(samples), *notes))

    def _windows(self, samples: Samples, rate: int) -> Iterator[Samples]:
        """One after the other; a rest that is too short to judge is left out."""
        size = self.seconds * rate
        for start in range(0, len(samples), size):
            window = samples[start : start + size]
            if start == 0 or len(window) >= self.shortest * rate:
                yield window


@PREDICTORS.register("utmos")
class Utmos(_SoundScores):
    """UTMOS's strong learner without the phoneme encoder."""

    name = "utmos"
    about = "how natural speech sounds, by UTMOS (strong learner)"
    argument = "the checkpoint's file, or a folder or name on the hub that holds it"
    weights = (
        "FILE is utmos22_strong_step7459_v1.pt of github.com/tarepan/SpeechMOS (Releases), or a checkpoint of UTMOS22 saved as "
        "its state_dict."
    )
    scores: ClassVar[Mapping[str, str]] = {"utmos": "how natural the speech sounds, 1 to 5"}
    ends = (1.0, 5.0)
    _LISTENER = 288
    """The listener whose ratings the authors' demonstration predicts."""

    def _load(self, library: Any, where: str) -> None:
        import torch

        files = ("model.safetensors", "utmos22_strong_step7459_v1.pt", "model.ckpt")
        checkpoint = open_checkpoint(where, files)
        state = _one_layout(checkpoint, self._LISTENER)
        self._encoder = speech_of_fairseq(library, state.with_prefix("wav2vec2.")).to(self.device)
        self._condition = torch.cat([state["domain"], state["listener"]]).to(self.device)
        recurrent = state.with_prefix("blstm.")
        width = recurrent["weight_ih_l0"].shape
        lstm = torch.nn.LSTM(width[1], width[0] // 4, batch_first=True, bidirectional=True)
        self._recurrent = filled(lstm, recurrent).to(self.device)
        self._head = linear_stack(state.with_prefix("head."), torch.nn.ReLU).to(self.device)
        self._identity = checkpoint_identity(where, checkpoint)

    def hear(self, samples: Samples, rate: int) -> Mapping[str, float]:
        import torch

        del rate
        with torch.inference_mode():
            wave = torch.from_numpy(samples.copy()).to(self.device)[None]
            states = self._encoder(wave).last_hidden_state
            condition = self._condition.expand(1, states.shape[1], -1)
            frames = self._head(self._recurrent(torch.cat([states, condition], dim=2))[0])
            return {self.name: float(frames.mean()) * 2 + 3}


def _one_layout(checkpoint: Checkpoint, listener: int) -> NamedTensors:
    """The weights under the same names, whether they come from UTMOS22's own code or from SpeechMOS."""
    state = checkpoint.state
    from_own_code = "output_layers.0.judge_embedding.weight" in state
    names = {
        "wav2vec2.": "feature_extractors.0.ssl_model." if from_own_code else "wav2vec2.",
        "blstm.": "output_layers.0.decoder_rnn." if from_own_code else "blstm.",
        "head.": "output_layers.1.net." if from_own_code else "projection.",
    }
    out = {new + name: value for new, old in names.items() for name, value in checkpoint.state.with_prefix(old).items()}
    if from_own_code:
        domain = state["feature_extractors.1.embedding.weight"][0]
        judge = state["output_layers.0.judge_embedding.weight"][listener]
    elif "domain_emb" in state and "judge_emb" in state and len(out) > 3:
        domain, judge = state["domain_emb"][0], state["judge_emb"][0]
    else:
        raise InputError(f"{checkpoint.path} is no checkpoint of UTMOS.", Utmos.weights)
    return NamedTensors({**out, "domain": domain, "listener": judge}, state.file)


@PREDICTORS.register("audiobox-aesthetics")
class AudioboxAesthetics(_SoundScores):
    """Audiobox Aesthetics: four scores of speech, music and other sound."""

    name = "audiobox-aesthetics"
    about = "content enjoyment and usefulness, production complexity and quality of any sound, by Meta's Audiobox Aesthetics"
    default = "facebook/audiobox-aesthetics"
    argument = f"a folder or a name on the hub ({default})"
    scores: ClassVar[Mapping[str, str]] = {
        "content-enjoyment": "how enjoyable the content is, 1 to 10",
        "content-usefulness": "how useful the content is for making something of it, 1 to 10",
        "production-complexity": "how complex the audio scene is, 1 to 10",
        "production-quality": "how good the technical quality is, 1 to 10",
    }
    ends = (1.0, 10.0)
    options: ClassVar[Mapping[str, str]] = {
        **HubModel.options,
        "score": f"which score answers a question that names none of them: {', '.join(scores)}",
    }
    seconds = 10
    _AXES: ClassVar[Mapping[str, str]] = dict(zip(scores, ("CE", "CU", "PC", "PQ"), strict=True))

    def _load(self, library: Any, where: str) -> None:
        checkpoint = open_checkpoint(where, ("model.safetensors",), ("config.json",))
        facts = checkpoint.config
        if "target_transform" not in facts:
            raise InputError(f"{where} has no config.json with 'target_transform'.", f"Give a copy of {self.default}.")
        self._encoder = speech_of_fairseq(library, checkpoint.state.with_prefix("wavlm_model.")).to(self.device)
        self._unit_length = bool(facts.get("normalize_embed", True))
        self._axes = {axis: self._axis(checkpoint, axis, facts) for axis in self._AXES.values()}
        self._identity = checkpoint_identity(where, checkpoint)

    def _axis(self, checkpoint: Checkpoint, axis: str, facts: Mapping[str, Any]) -> tuple[Any, Any, float, float]:
        """The weights of the layers, the network, and how its output becomes the score."""
        import torch

        count = int(facts.get("proj_num_layer", 1))
        state = checkpoint.state.with_prefix(f"proj_layer.{axis}.")
        layers: list[Any] = []
        for number in range(count):
            size = state[f"{len(layers)}.weight"].shape
            layers.append(torch.nn.Linear(size[-1], size[0]))
            if number < count - 1:
                layers += [torch.nn.LayerNorm(size[0])] if facts.get("proj_ln") else []
                layers.append(torch.nn.GELU())
                layers += [torch.nn.Dropout(facts["proj_dropout"])] if facts.get("proj_dropout") else []
        head = filled(torch.nn.Sequential(*layers), state).to(self.device)
        depth = self._encoder.config.num_hidden_layers + 1
        mixing = torch.eye(depth)[-1]
        if facts.get("use_weighted_layer_sum", True):
            mixing = torch.softmax(checkpoint.state[f"layer_weights.{axis}"], dim=0)
        if len(mixing) != depth:
            raise InputError(
                f"The weights are for {len(mixing)} layers, and the model has {depth}.", "Fetch them again."
            )
        transform = facts["target_transform"][axis]
        return mixing.to(self.device), head, float(transform["mean"]), float(transform["std"])

    def hear(self, samples: Samples, rate: int) -> Mapping[str, float]:
        import torch

        size = self.seconds * rate
        wave = torch.zeros(1, size, device=self.device)
        wave[0, : len(samples)] = torch.from_numpy(samples.copy())
        # A frame counts as sound if any sample of its hop does; the library counts the frames that fit into the samples marked.
        frames = min(-(-len(samples) // _HOP), (size - _FIELD) // _HOP + 1)
        mask = torch.zeros(1, size, dtype=torch.long, device=self.device)
        mask[0, : _FIELD + _HOP * (frames - 1)] = 1
        with torch.inference_mode(), warnings.catch_warnings():
            # The library gives PyTorch masks of two types.
            warnings.filterwarnings("ignore", "Support for mismatched key_padding_mask")
            layers = self._encoder(wave, attention_mask=mask, output_hidden_states=True).hidden_states
            heard = torch.stack([layer[0, :frames] for layer in layers])
            values = {}
            for name, axis in self._AXES.items():
                mixing, head, mean, spread = self._axes[axis]
                vector = torch.einsum("ltc,l->c", heard, mixing) / frames
                if self._unit_length:
                    vector = torch.nn.functional.normalize(vector, dim=0)
                values[name] = float(head(vector)) * spread + mean
        return values


@PREDICTORS.register("scoreq")
class Scoreq(_SoundScores):
    """SCOREQ without a reference, from the authors' ONNX file."""

    name = "scoreq"
    extra = "predict"
    about = "how good speech sounds, by SCOREQ (without a reference)"
    argument = "the authors' ONNX file"
    weights = (
        "FILE is adapt_nr_telephone.onnx (recorded speech) or adapt_nr_synthetic.onnx (generated speech) of "
        "zenodo.org/records/15739280."
    )
    scores: ClassVar[Mapping[str, str]] = {"scoreq": "how good the speech sounds, 1 to 5"}
    ends = (1.0, 5.0)
    needs_torch = False
    options: ClassVar[Mapping[str, str]] = {}

    def _load(self, library: Any, where: str) -> None:
        del library
        if Path(where).suffix.lower() != ".onnx":
            raise InputError(f"{where} is not an ONNX file.", f"Write scoreq:FILE. {self.weights}")
        self._model = load_model(where)
        self._identity = self._model.identity

    def hear(self, samples: Samples, rate: int) -> Mapping[str, float]:
        del rate
        wave = np.pad(samples, (0, -len(samples) % _HOP))[None].astype(np.float32)
        outputs = self._model.run({self._model.input_names()[0]: wave})
        (value,) = np.ravel(next(iter(outputs.values())))
        return {self.name: float(value)}


@PREDICTORS.register("nisqa")
class Nisqa(_SoundScores):
    """NISQA 2.0 by TorchMetrics, with weights that the user fetched."""

    name = "nisqa"
    extra = "nisqa"
    about = "quality, noisiness, discontinuity, coloration and loudness of speech, by NISQA 2.0"
    argument = "the authors' file nisqa.tar, or its folder"
    weights = (
        "FILE is weights/nisqa.tar of github.com/gabrielmittag/NISQA. Its licence (CC BY-NC-SA 4.0) forbids commercial use, so "
        "heartfelt does not fetch it."
    )
    scores: ClassVar[Mapping[str, str]] = {
        "mos": "how good the speech sounds, 1 to 5",
        "noisiness": "how free of noise it is, 1 to 5",
        "discontinuity": "how free of interruptions it is, 1 to 5",
        "coloration": "how natural its timbre is, 1 to 5",
        "loudness": "how good its loudness is, 1 to 5",
    }
    ends = (1.0, 5.0)
    options: ClassVar[Mapping[str, str]] = {
        "score": f"which score answers a question that names none of them: {', '.join(scores)}"
    }

    def _load(self, library: Any, where: str) -> None:
        del library
        try:
            from torchmetrics.functional.audio import nisqa
        except ImportError as error:
            raise MissingPartError(
                f"NISQA needs {error.name or 'TorchMetrics'}, which is not installed.",
                f"Install it with: {install_command('nisqa')}",
            ) from error
        checkpoint = open_checkpoint(where, ("nisqa.tar",))
        settings = dict(checkpoint.facts.get("args") or {})
        if not settings:
            raise InputError(f"{where} is no checkpoint of NISQA: it has no 'args'.", self.weights)
        self._library, self._settings = nisqa, settings
        try:
            network = nisqa._NISQADIM(settings)
        except KeyError as error:
            raise InputError(f"{where} lacks NISQA's setting {error}.", self.weights) from error
        self._network = filled(network, checkpoint.state)
        self._identity = checkpoint_identity(where, checkpoint)

    def samples_of(self, content: bytes) -> tuple[Samples, int, tuple[str, ...]]:
        samples, rate = read_samples(content)
        cancels = loudest_if_cancelling([samples]) is not None
        return to_one_channel(samples), rate, file_doubts(rate, RATE, cancels=cancels)

    def hear(self, samples: Samples, rate: int) -> Mapping[str, float]:
        import torch

        mel = self._library._get_librosa_melspec(samples[None], rate, self._settings)
        try:
            segments, count = self._library._segment_specs(torch.from_numpy(mel), self._settings)
        except RuntimeError as error:
            raise InputError(f"NISQA refuses the clip: {error}", "Give a longer clip.") from error
        with torch.inference_mode():
            values = self._network(segments, count.expand(1))[0].tolist()
        return dict(zip(self.scores, values, strict=True))
