"""What is not music is flagged and gets no confident number; music is not flagged; opposite channels are not silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
import soundfile

import heartfelt
from heartfelt.media.sound import CANCELS, SoundFile, decode, loudest_if_cancelling
from heartfelt.predictors import Ask, Case, Media, predictor_from, run
from heartfelt.predictors.trained.embeddings import MusicLevelled, MusicnnEmbedding
from heartfelt.predictors.trained.valence_arousal import shipped
from heartfelt.serialization import from_json
from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS, render_voice
from heartfelt.streams import stream
from heartfelt.study.scales.scale import Points
from heartfelt.training.heads.evaluating import ProtocolScore
from tests.predictors.file_answers import by_stem

RATE = 22_050
TIME = np.arange(10 * RATE) / RATE
Sound = npt.NDArray[np.float64]
NINE = Points(type="points", points=9)


def tone(hertz: float) -> Sound:
    return np.asarray(0.3 * np.sin(2 * np.pi * hertz * TIME))


def noise(colour: float) -> Sound:
    """Noise whose power falls with frequency to this power: 0 white, 1 pink, 2 brown."""
    spectrum = np.fft.rfft(stream(4, "noise", str(colour)).normal(0, 1, TIME.size))
    shaped = np.fft.irfft(spectrum / np.maximum(np.arange(spectrum.size), 1) ** (colour / 2), TIME.size)
    return np.asarray(0.1 * shaped / shaped.std())


def voice(at: int) -> Sound:
    """Speech by heartfelt's own synthesiser, of other seeds and feelings than the limits were looked at with."""
    systems = list(VOICE_SYSTEMS)
    sound = render_voice(
        2 + at, 8 - at, system=systems[at % len(systems)], seconds=10, rate=RATE, seed=100 + at, name=f"new{at}"
    )
    return np.asarray(sound, np.float64)


def foreign_sounds() -> dict[str, Sound]:
    """Tones, noise, clicks and voices: nothing the head was trained on."""
    return {
        "tone_220": tone(220),
        "tone_3000": tone(3_000),
        "two_tones": tone(330) + tone(495),
        "white": noise(0),
        "pink": noise(1),
        "brown": noise(2),
        "clicks": np.where(np.arange(TIME.size) % (RATE // 3) < 30, 0.8, 0.0),
        "beeps": tone(700) * ((TIME % 0.7) < 0.2),
        **{f"voice_{at}": voice(at) for at in range(5)},
    }


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    for name, sound in foreign_sounds().items():
        soundfile.write(folder / f"{name}.wav", sound, RATE)
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_speech_tones_and_noise_are_flagged(foreign: Path) -> None:
    for row in heartfelt.predict(foreign).iter_rows(named=True):
        assert row["flag"] == "unlike training", (row["file"], row["flag"])
        assert "unlike the music it was trained on" in row["warning"]
        assert (row["low"], row["high"]) == (1.0, 9.0)


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_the_flag_is_a_column_of_predictions(foreign: Path) -> None:
    asks = (Ask(question="valence", scale=NINE, text=""), Ask(question="arousal", scale=NINE, text=""))
    chosen = [Case(stimulus=name, asks=asks, media=Media(foreign / f"{name}.wav")) for name in ("voice_0", "pink")]
    with predictor_from("valence-arousal") as predictor:
        table = run(predictor, chosen).table
    assert set(table["flag"]) == {"unlike training"}
    assert table["note"].str.contains("unlike the music it was trained on").all()
    assert set(table["low"]) == {1.0}
    assert set(table["high"]) == {9.0}


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_music_is_not_flagged(shared_data: Path) -> None:
    """One clip of every system, some of them without labels and so unseen."""
    folders = sorted((shared_data / "aimoclips" / "music_clips").iterdir())
    files = [sorted(folder.iterdir())[at] for at, folder in enumerate(folders)]
    result = heartfelt.predict(files)
    assert result["flag"].to_list() == [None] * 2 * len(files)
    assert (result["high"] - result["low"]).is_between(0.5, 6).all()


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_a_very_short_clip_is_flagged(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "short.wav", noise(1)[: RATE // 2], RATE)
    soundfile.write(tmp_path / "silent.wav", np.zeros(10 * RATE), RATE)
    result = by_stem(heartfelt.predict(tmp_path))
    for name, flag in (("short", "too short"), ("silent", "silent")):
        row = result[name]["valence"]
        assert (row["flag"], row["low"], row["high"]) == (flag, 1.0, 9.0)


def melody() -> Sound:
    notes = [262, 330, 392, 523, 440, 349, 294, 392]
    parts = [0.3 * np.sin(2 * np.pi * hertz * TIME[:RATE]) * np.exp(-3 * TIME[:RATE]) for hertz in notes]
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_opposite_channels_are_not_silence(tmp_path: Path) -> None:
    sound = melody()
    soundfile.write(tmp_path / "mono.wav", sound, RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "opposite.wav", np.stack([sound, -sound], axis=1), RATE, subtype="FLOAT")
    result = by_stem(heartfelt.predict(tmp_path))
    for question, row in result["mono"].items():
        opposite = result["opposite"][question]
        assert opposite["flag"] != "silent"
        assert CANCELS in opposite["warning"]
        assert CANCELS not in (row["warning"] or "")
        assert opposite["value"] == pytest.approx(row["value"], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT"])
def test_the_loudest_channel_stands_in_only_where_channels_cancel(tmp_path: Path, subtype: str) -> None:
    sound, other = melody(), noise(0)[: 8 * RATE]
    pairs = {
        "equal": (sound, sound, None),
        "stereo": (sound, 0.5 * sound + 0.1 * other, None),
        "strangers": (sound, other * sound.std() / other.std(), None),
        "one_side": (sound, 0 * sound, None),
        "opposite": (0.8 * sound, -sound, 1),
        "nearly": (sound, -0.9 * sound + 0.02 * other, 0),
        "silent": (0 * sound, 0 * sound, None),
    }
    for name, (left, right, channel) in pairs.items():
        frames = np.stack([left, right], axis=1)
        assert loudest_if_cancelling([frames.astype(np.float32)]) == channel, name
        path = tmp_path / f"{name}_{subtype}.wav"
        soundfile.write(path, frames, RATE, subtype=subtype)
        whole, _ = soundfile.read(path, dtype="float32", always_2d=True)
        wanted = whole.mean(axis=1) if channel is None else whole[:, channel]
        assert np.allclose(decode(path, RATE), wanted, atol=1e-6), name
        clip = SoundFile.of(path)
        assert clip.channel == channel
        assert np.allclose(np.concatenate(list(clip.samples())), wanted, atol=1e-6), name


def test_intervals_of_left_out_systems_hold_what_they_promise() -> None:
    """The shipped evaluation leaves every system out of everything: heads, limits and widths."""
    scores = [from_json(ProtocolScore, row) for row in shipped().facts.evaluation]
    left_out = [score for score in scores if score.protocol == "leave-one-system-out"]
    assert left_out
    for score in left_out:
        assert (score.coverage or 0.0) >= 0.89, score.question
        assert (score.unlike_training or 0.0) < 0.15
        assert (score.half_width or 9.0) < 2.0


def test_the_shipped_head_itself_is_unchanged() -> None:
    assert shipped().hash[:16] == "3cbab55b911c4d81"
    assert shipped().domain is not None
    assert pl.Series([output.slope for output in shipped().outputs]).is_between(0.0, 1.5).all()


def test_earlier_models_still_have_their_embedding() -> None:
    """Folders trained before look through ``music``, whose identity and columns are what they were."""
    weights = "musicnn==0.1.0 f38a4890c648c1dd r1"
    assert MusicnnEmbedding().identity == f"music 4; musicnn-msd {weights}; musicnn-mtt {weights}"
    assert MusicnnEmbedding().size == 2_966
    assert MusicLevelled().identity == f"{MusicnnEmbedding().identity}; levelled 1"
    assert MusicLevelled().size == 3_115
    assert [block.name for block in MusicLevelled.blocks[: len(MusicnnEmbedding.blocks)]] == [
        block.name for block in MusicnnEmbedding.blocks
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_valence_does_not_depend_on_the_level(shared_data: Path, tmp_path: Path) -> None:
    """The same clip at a quarter of its level: as pleasant as before, and no more arousing."""
    clip = sorted((shared_data / "aimoclips" / "music_clips" / "Udio").iterdir())[3]
    samples = decode(clip, 44_100)
    soundfile.write(tmp_path / "loud.wav", 0.8 * samples, 44_100, subtype="FLOAT")
    soundfile.write(tmp_path / "quiet.wav", 0.2 * samples, 44_100, subtype="FLOAT")
    result = by_stem(heartfelt.predict(tmp_path))
    loud, quiet = ({name: row["value"] for name, row in result[stem].items()} for stem in ("loud", "quiet"))
    assert quiet["valence"] == pytest.approx(loud["valence"], abs=0.01)
    assert quiet["arousal"] < loud["arousal"] + 0.05
    assert all(1.0 < result[stem]["valence"]["spread"] < 3.0 for stem in result)
