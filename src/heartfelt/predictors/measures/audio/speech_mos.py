"""``speech-mos``: how good speech sounds, by the networks of DNSMOS, DistillMOS, PLCMOS and AECMOS.

They answer from 1 to 5, as listeners in quality tests do. On a scale with other ends the number is moved linearly onto it
(1 to the lowest point, 5 to the highest) and the note says so. They judge quality and nothing else: asked how a voice feels,
they answer how good it sounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import ClassVar

from heartfelt.errors import InputError
from heartfelt.media.sound import decode_with_doubts
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Media, Predictor
from heartfelt.predictors.measures.metrics import MeasuredFile, MetricPredictor, MetricScore
from heartfelt.predictors.networks.mel import RATE
from heartfelt.predictors.networks.speech import TALKS, aecmos, distillmos, dnsmos, pdnsmos, plcmos

LOWEST, HIGHEST = 1.0, 5.0
JUDGES = {score: judge for judge in (distillmos, dnsmos, plcmos, pdnsmos) for score in judge.scales}
_OPTIONS = {
    "microphone": "of aecmos: a folder with the microphone's signals before the echo was cancelled, named as the files",
    "far_end": "of aecmos: a folder with what the loudspeaker played, named as the files; by default their references",
    "talk": f"of aecmos: who speaks, {', '.join(TALKS)}; by default it is not said",
}


@PREDICTORS.register("speech-mos")
class SpeechMos(MetricPredictor):
    """A mean opinion score for speech; its network is loaded, and pulled if necessary, when it is first asked."""

    name = "speech-mos"
    extra = "predict"
    about = "how good speech sounds, by DistillMOS, DNSMOS, PLCMOS or AECMOS"
    argument = (
        f"which score: {', '.join(JUDGES)}, aecmos-echo, aecmos-other; pdnsmos or aecmos for all of one; by default distillmos,"
        " about files with DNSMOS's"
    )
    limits = "It judges the quality of speech, not what is said or felt; on music its numbers mean nothing."
    media_kinds = ("audio",)
    revision = 2
    options: ClassVar[Mapping[str, str]] = _OPTIONS
    scores: ClassVar[Mapping[str, MetricScore]] = {
        name: MetricScore(judge.scales[name], LOWEST, HIGHEST) for name, judge in JUDGES.items()
    }
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "": (*distillmos.scales, *dnsmos.scales),
        "dnsmos": tuple(dnsmos.scales),
        "pdnsmos": tuple(pdnsmos.scales),
    }

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        if options:
            raise InputError(f"The option '{next(iter(options))}' belongs to aecmos.", "Ask for speech-mos:aecmos.")
        names = self.groups.get(argument, (argument,))
        super().__init__(argument, options, *dict.fromkeys(JUDGES[name].model for name in names if name in JUDGES))

    @classmethod
    def kind_for(cls, argument: str) -> type[Predictor]:
        return EchoMos if argument.startswith("aecmos") else cls

    def key(self, case: Case, score: str) -> str:
        return f"{case.media_file.hash} {JUDGES[score].model}"

    def measure(self, case: Case, score: str) -> MeasuredFile:
        judge = JUDGES[score]
        samples, doubts = decode_with_doubts(case.media_file.content, RATE, RATE)
        quality = judge(samples, model=self.network(judge.model))
        return MeasuredFile(quality.scores, doubts + quality.warnings)


class EchoMos(MetricPredictor):
    """AECMOS: the echo left in speech, and what cancelling it did to the speech."""

    name = "speech-mos"
    about = "speech after echo cancellation, by AECMOS"
    media_kinds = ("audio",)
    options: ClassVar[Mapping[str, str]] = _OPTIONS
    limits = SpeechMos.limits
    scores: ClassVar[Mapping[str, MetricScore]] = {
        "aecmos-echo": MetricScore("AECMOS: echo", LOWEST, HIGHEST),
        "aecmos-other": MetricScore("AECMOS: degradations other than echo", LOWEST, HIGHEST),
    }
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {"aecmos": tuple(scores)}

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options, "aecmos")
        self.talk = options.get("talk", "")
        if self.talk and self.talk not in TALKS:
            raise InputError(f"'{self.talk}' does not say who speaks.", f"Choose from: {', '.join(TALKS)}.")
        if "microphone" not in options:
            raise InputError(
                "AECMOS compares the result with the microphone's signal.",
                "Name the folder that has it, as in speech-mos[microphone=FOLDER,far_end=FOLDER]:aecmos.",
            )
        self.folders = {role: Path(options[role]) for role in ("microphone", "far_end") if role in options}
        self.needs_reference = "far_end" not in options
        for role, folder in self.folders.items():
            if not folder.is_dir():
                raise InputError(f"There is no folder {folder} ({role}).", "Check the path.")

    def _settings(self) -> str:
        return f"{super()._settings()} {self.talk or 'any talk'}"

    def request_digest(self, case: Case, ask: Ask) -> str:
        del ask
        try:
            return " ".join(media.hash for media in self._references(case))
        except (InputError, OSError):
            return ""

    def key(self, case: Case, score: str) -> str:
        del score
        return " ".join(media.hash for media in (case.media_file, *self._references(case)))

    def measure(self, case: Case, score: str) -> MeasuredFile:
        del score
        files = (case.media_file, *self._references(case))
        (processed, *other_signals), doubts = zip(
            *(decode_with_doubts(file.content, RATE, RATE) for file in files), strict=True
        )
        quality = aecmos(processed, *other_signals, talk=self.talk, model=self.network())
        return MeasuredFile(quality.scores, (*dict.fromkeys(sum(doubts, ())), *quality.warnings))

    def _references(self, case: Case) -> tuple[Media, Media]:
        path = case.media_file.path
        if "far_end" in self.folders:
            far_end = _named_as(path, self.folders["far_end"])
        elif case.reference is not None:
            far_end = case.reference
        else:
            raise InputError(
                f"It is not known what the loudspeaker played for {path.name}.",
                "Give the option far_end, or the far-end signal as the reference.",
            )
        return far_end, _named_as(path, self.folders["microphone"])


def _named_as(path: Path, folder: Path) -> Media:
    same = folder / path.name
    files = [same] if same.is_file() else sorted(folder.glob(f"{escape(path.stem)}.*"))
    if len(files) != 1:
        raise InputError(
            f"{folder} has {'no file' if not files else f'{len(files)} files'} named as {path.name}.",
            "Name the files of one recording alike.",
        )
    return Media(files[0])
