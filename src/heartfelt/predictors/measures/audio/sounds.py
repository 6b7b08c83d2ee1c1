"""What is heard in a sound: ``speech-activity``, ``notes``, ``pitch`` and ``music-tags``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.media.sound import decode_with_doubts
from heartfelt.media.sounds.pitch import SHORTEST_SECONDS as PITCH_SECONDS
from heartfelt.media.sounds.pitch import pitch_track
from heartfelt.predictors.answers.scales import Label, answer_labels, tags_ask
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction
from heartfelt.predictors.interface.spec import number_option
from heartfelt.predictors.measures.metrics import MeasuredFile, MeasuringPredictor, MetricPredictor, MetricScore
from heartfelt.predictors.networks import musicnn, notes
from heartfelt.predictors.networks.mel import RATE, need_length
from heartfelt.predictors.networks.speech_activity import SHORTEST_SECONDS, speech_activity

_SPEECH_RATE = 8_000
"""Samples per second in which speech is heard as well as in more."""


class SoundMetric(MetricPredictor):
    """Scores of a sound by one network, or by none."""

    media_kinds = ("audio",)
    extra = "predict"
    uses: ClassVar[tuple[str, ...]] = ()
    """Its network."""

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options, *self.uses)


@PREDICTORS.register("speech-activity")
class SpeechActivity(SoundMetric):
    """How much of a sound is speech."""

    name = "speech-activity"
    about = "how much of a sound is speech, by Silero VAD"
    argument = "which score: share (default) or seconds"
    limits = "It hears speech in some singing too, and does not hear who speaks."
    uses = ("silero-vad",)
    scores: ClassVar[Mapping[str, MetricScore]] = {
        "share": MetricScore("the share of the sound that is speech", 0, 1),
        "seconds": MetricScore("seconds of speech"),
    }

    def measure(self, case: Case, score: str) -> MeasuredFile:
        del score
        samples, doubts = decode_with_doubts(case.media_file.content, RATE, _SPEECH_RATE)
        need_length(samples, RATE, SHORTEST_SECONDS, "speech that counts")
        speech = speech_activity(samples, model=self.network())
        return MeasuredFile({"share": speech.share, "seconds": speech.spoken}, doubts)


@PREDICTORS.register("notes")
class Notes(SoundMetric):
    """Density, pitch and key of the notes that are played or sung."""

    name = "notes"
    about = "notes of music (density, polyphony, pitch, range, mode, strength of key), by Basic Pitch"
    argument = f"which score: {', '.join(notes.MEASURES)}; by default the first"
    limits = "Drums and noise count as notes too; of dense music it hears only the clearest."
    uses = ("basic-pitch",)
    scores: ClassVar[Mapping[str, MetricScore]] = {name: MetricScore(about) for name, about in notes.MEASURES.items()}

    def measure(self, case: Case, score: str) -> MeasuredFile:
        from heartfelt.predictors.networks.sound_features import key_fits

        del score
        samples, doubts = decode_with_doubts(case.media_file.content, notes.RATE, RATE)
        measures = notes.keys(samples, model=self.network()).measures(key_fits)
        silent = () if measures["polyphony"] is not None else ("no note sounds",)
        return MeasuredFile(measures, doubts + silent)


@PREDICTORS.register("pitch")
class Pitch(SoundMetric):
    """How high one voice or instrument is, and how much its pitch moves."""

    name = "pitch"
    about = "pitch of a voice or a melody (median, range, voiced share), by YIN"
    argument = "which score: median (default), range or voiced"
    extra = ""
    limits = "It follows one voice at a time, from 60 to 800 Hz."
    scores: ClassVar[Mapping[str, MetricScore]] = {
        "median": MetricScore("median pitch in hertz"),
        "range": MetricScore("range of pitch in semitones (5th to 95th percentile)"),
        "voiced": MetricScore("share of the time with a pitch", 0, 1),
    }

    def measure(self, case: Case, score: str) -> MeasuredFile:
        del score
        samples, doubts = decode_with_doubts(case.media_file.content, RATE)
        need_length(samples, RATE, PITCH_SECONDS, "a pitch")
        track = pitch_track(samples, RATE)
        voiced = track[np.isfinite(track)]
        share = len(voiced) / len(track)
        if not len(voiced):
            return MeasuredFile({"median": None, "range": None, "voiced": share}, (*doubts, "nothing has a pitch"))
        low, high = np.percentile(voiced, [5, 95])
        semitones = 12 * float(np.log2(high / low))
        return MeasuredFile({"median": float(np.median(voiced)), "range": semitones, "voiced": share}, doubts)


@PREDICTORS.register("music-tags")
class MusicTags(MeasuringPredictor[tuple[Sequence[Label], str | None]]):
    """Tags of music with their probabilities."""

    name = "music-tags"
    extra = "predict"
    about = "tags of music (genre, voice, instrument, mood), by MusicNN"
    argument = f"the network: {', '.join(musicnn.TAGS)}; by default the first"
    limits = "It knows 50 tags, no lyrics and few moods, and answers for speech and noise as if they were music."
    media_kinds = ("audio",)
    options: ClassVar[Mapping[str, str]] = {
        "top": "how many tags are given at most; by default 5",
        "least": "the probability a tag must have, 0 to 1; by default 0.1",
    }

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        network = argument or next(iter(musicnn.TAGS))
        if network not in musicnn.TAGS:
            raise InputError(
                f"No tagger of music is called '{argument}'.", suggestion(argument, musicnn.TAGS, "Known taggers")
            )
        self.top = int(number_option(options, "top", 5, 1, 50))
        self.least = number_option(options, "least", 0.1, 0, 1)
        super().__init__(argument, options, network)

    def _settings(self) -> str:
        return f"top={self.top} least={self.least:g}"

    def file_asks(self) -> Sequence[Ask]:
        return [tags_ask("tags", "What do you hear in this music?", "audio")]

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        labels, note = self._seen.get(case.media_file.hash, lambda: self._heard(case.media_file.content))
        return [answer_labels(labels, ask, least=self.least, most=self.top, note=note) for ask in case.asks]

    def _heard(self, content: bytes) -> tuple[Sequence[Label], str | None]:
        samples, doubts = decode_with_doubts(content, RATE, RATE)
        features = musicnn.embed(samples, model=self.network())
        labels = [Label(tag, share) for tag, share in features.mean_tags().items()]
        return labels, "; ".join(doubts + features.warnings) or None
