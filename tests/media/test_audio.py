from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import check_all

from heartfelt.errors import InputError
from heartfelt.media import containers
from heartfelt.media.audio import (
    Audio,
    content_hash,
    crop,
    is_silent,
    loudness,
    normalise_loudness,
    read_audio,
    to_mono,
    trim_silence,
    true_peak,
    write_audio,
)
from heartfelt.media.sound import Samples, resample

SOURCE = "EBU Tech 3341 (2016), test cases 1 to 4: within 0.1 LU; ITU-R BS.1770-4 for the single channel."


def tone(hertz: float, seconds: float, db: float, rate: int = 48_000) -> Samples:
    time_axis = np.arange(round(seconds * rate)) / rate
    return (10 ** (db / 20) * np.sin(2 * np.pi * hertz * time_axis)).astype(np.float32)


def stereo(*parts: Samples) -> Samples:
    each = np.concatenate(parts)
    return np.stack([each, each], axis=1)


def noise(seconds: float = 2.0, rate: int = 22_050, channels: int = 2, confidence: float = 0.1) -> Samples:
    rng = np.random.default_rng(5)
    return (confidence * rng.standard_normal((round(seconds * rate), channels))).clip(-1, 1).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([(-23.0, 20.0)], -23.0),
        ([(-33.0, 20.0)], -33.0),
        ([(-36.0, 10.0), (-23.0, 60.0), (-36.0, 10.0)], -23.0),
        ([(-72.0, 10.0), (-36.0, 10.0), (-23.0, 60.0), (-36.0, 10.0), (-72.0, 10.0)], -23.0),
    ],
)
def test_loudness_matches_the_standard_signals(levels: list[tuple[float, float]], expected: float) -> None:
    clip = stereo(*(tone(1000.0, seconds, db, 16_000) for db, seconds in levels))
    assert loudness(clip, 16_000).value == pytest.approx(expected, abs=0.1)


def metered(clip: Samples) -> float:
    """BS.1770-4 written out from its own coefficients for 48 kHz (tables 1 and 2) and its two gates."""
    from scipy.signal import lfilter

    shelf = ([1.53512485958697, -2.69169618940638, 1.19839281085285], [1.0, -1.69065929318241, 0.73248077421585])
    high_pass = ([1.0, -2.0, 1.0], [1.0, -1.99004745483398, 0.99007225036621])
    heard = lfilter(*high_pass, lfilter(*shelf, clip.astype(np.float64), axis=0), axis=0)
    blocks = np.lib.stride_tricks.sliding_window_view(heard**2, 19_200, axis=0)[::4_800].mean(axis=-1).sum(axis=-1)
    loud = -0.691 + 10 * np.log10(blocks)
    loud_enough = blocks[loud > -70.0]
    gate = -0.691 + 10 * np.log10(loud_enough.mean()) - 10.0
    return float(-0.691 + 10 * np.log10(blocks[(loud > -70.0) & (loud > gate)].mean()))


@pytest.mark.parametrize("seconds", [0.4, 0.47, 1.06, 3.0])
def test_loudness_is_the_standard_written_out(seconds: float) -> None:
    clip = noise(seconds, 48_000)
    clip *= np.linspace(0.05, 1.0, clip.shape[0], dtype=np.float32)[:, None]
    assert loudness(clip, 48_000).value == pytest.approx(metered(clip), abs=2e-3)


@pytest.mark.peer
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_loudness_is_that_of_pyloudnorm(channels: int) -> None:
    """SOURCE: pyloudnorm's meter with the filters of De Man, on whole steps of 100 ms."""
    pyloudnorm = pytest.importorskip("pyloudnorm")
    rng = np.random.default_rng(channels)
    clip = (rng.normal(0.0, 0.1, (150_000, channels)) * np.linspace(0, 1, 150_000)[:, None]).astype(np.float32)
    whole = clip[: 150_000 // 4_800 * 4_800].astype(np.float64)
    expected = pyloudnorm.Meter(48_000, filter_class="DeMan").integrated_loudness(whole)
    assert loudness(clip, 48_000).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
def test_loudness_does_not_depend_on_the_rate(rate: int) -> None:
    assert loudness(tone(997.0, 5.0, 0.0, rate), rate).value == pytest.approx(-3.01, abs=0.05)
    assert loudness(tone(100.0, 5.0, -20.0, rate), rate).value == pytest.approx(-24.835, abs=0.05)


@pytest.mark.parametrize(
    ("clip", "why"),
    [
        (tone(440.0, 0.39, -20.0), "less than one block"),
        (np.zeros(48_000, np.float32), "silent"),
        (tone(440.0, 2.0, -90.0), "-70 LUFS"),
        (np.zeros((48_000, 6), np.float32), "6 channels"),
        (np.zeros(0, np.float32), "less than one block"),
    ],
)
def test_a_clip_without_a_loudness_says_why(clip: Samples, why: str) -> None:
    answer = loudness(clip, 48_000)
    assert answer.value is None
    assert why in str(answer.why_missing)
    levelled = normalise_loudness(clip, 48_000)
    assert levelled.gain_db == 0.0
    assert why in str(levelled.held_back)
    assert np.array_equal(levelled.samples, clip)


def test_loudness_of_exactly_one_block() -> None:
    assert loudness(tone(1000.0, 0.4, -20.0, 44_100), 44_100).value == pytest.approx(-23.0, abs=0.2)


def test_normalising_reaches_the_target_and_keeps_the_peak() -> None:
    clip = noise(3.0, confidence=0.02)
    levelled = normalise_loudness(clip, 22_050, -23.0)
    assert levelled.held_back is None
    assert loudness(levelled.samples, 22_050).value == pytest.approx(-23.0, abs=0.01)
    spiky = clip.copy()
    spiky[1000] = 0.9
    held = normalise_loudness(spiky, 22_050, -10.0)
    assert "below -10 LUFS" in str(held.held_back)
    assert 20 * np.log10(true_peak(held.samples, 22_050)) == pytest.approx(-1.0, abs=0.01)


def test_true_peak_sees_between_the_samples() -> None:
    # A quarter-rate sine sampled 45 degrees off its crests shows 0.707 of them.
    rate = 48_000
    clip = np.sin(2 * np.pi * rate / 4 * np.arange(rate) / rate + np.pi / 4).astype(np.float32)
    assert np.abs(clip).max() == pytest.approx(0.7071, abs=1e-3)
    assert true_peak(clip[2000:-2000], rate) > 0.99


def test_mono_is_the_mean_of_the_channels_bit_for_bit() -> None:
    for channels in (1, 2, 3, 5):
        clip = noise(channels=channels)
        assert np.array_equal(to_mono(clip), clip.mean(axis=1))
    same = stereo(tone(440.0, 1.0, -6.0))
    assert np.array_equal(to_mono(same), same[:, 0])


def test_mono_does_not_change_its_input() -> None:
    clip = noise()
    before = clip.copy()
    to_mono(clip)
    assert np.array_equal(clip, before)


def test_resampling_keeps_what_fits_and_drops_what_does_not() -> None:
    low = resample(tone(1000.0, 1.0, -6.0, 44_100), 44_100, 16_000)
    assert low.shape == (16_000,)
    middle = low[2_000:-2_000]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(10 ** (-6 / 20) / np.sqrt(2), rel=1e-3)
    gone = resample(tone(12_000.0, 1.0, -6.0, 44_100), 44_100, 16_000)[2_000:-2_000]
    assert np.sqrt(np.mean(gone**2)) < 1e-4
    assert resample(noise(), 22_050, 22_050).shape == noise().shape


def crop_start(
    frames: int, rate: int, seconds: float, *, seed: int, name: str, between: tuple[float, float] = (0.15, 0.85)
) -> int:
    """Where a crop begins: every sample is its own place."""
    places = np.arange(frames, dtype=np.float32)
    return int(crop(places, rate, seconds, seed=seed, name=name, between=between)[0])


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    frames=st.integers(100, 100_000),
    share=st.floats(0.01, 1.0),
    seed=st.integers(0, 2**32),
    marks=st.tuples(st.floats(0.0, 0.49), st.floats(0.51, 1.0)),
)
def test_a_crop_lies_between_the_marks(frames: int, share: float, seed: int, marks: tuple[float, float]) -> None:
    rate = 1_000
    seconds = max(1, int(frames * share)) / rate
    start = crop_start(frames, rate, seconds, seed=seed, name="x", between=marks)
    length = round(seconds * rate)
    assert 0 <= start <= frames - length
    if length <= np.floor(marks[1] * frames) - np.ceil(marks[0] * frames):
        assert marks[0] * frames <= start
        assert start + length <= marks[1] * frames


@pytest.mark.slow
def test_crops_are_spread_evenly_and_belong_to_their_name() -> None:
    frames, rate = 30_000, 1_000
    starts = np.array([crop_start(frames, rate, 10.0, seed=3, name=f"clip {k}") for k in range(2_000)])
    assert starts.min() >= 4_500
    assert starts.max() <= 15_500
    counts, _ = np.histogram(starts, bins=10, range=(4_500, 15_501))
    assert np.sum((counts - 200) ** 2 / 200) < 27.9  # chi-square, 9 degrees of freedom, p = .001
    clip = np.arange(frames, dtype=np.float32)
    cut = crop(clip, rate, 10.0, seed=3, name="clip 7")
    assert cut.shape == (10_000,)
    assert cut[0] == starts[7]
    assert crop(np.stack([clip, clip], axis=1), rate, 10.0, seed=3, name="clip 7").shape == (10_000, 2)


def test_a_crop_that_cannot_be_made_says_so() -> None:
    with pytest.raises(InputError, match=r"10.*9\.00"):
        crop(np.zeros(9_000, np.float32), 1_000, 10.0, name="a")
    with pytest.raises(InputError, match="two marks"):
        crop(np.zeros(9_000, np.float32), 1_000, 1.0, between=(0.8, 0.2))
    with pytest.raises(InputError, match="positive"):
        crop(np.zeros(9_000, np.float32), 1_000, -1.0)


def test_silence_is_found_and_trimmed() -> None:
    rate = 1_000
    clip = np.concatenate([np.zeros(500), 0.5 * np.ones(1_000), np.zeros(300)]).astype(np.float32)
    assert trim_silence(clip, rate).shape == (1_000,)
    assert not is_silent(clip, rate)
    assert is_silent(np.zeros(500, np.float32), rate)
    assert is_silent(np.zeros(0, np.float32), rate)
    assert is_silent(np.full(500, 0.0005, np.float32), rate)
    assert not is_silent(np.full(500, 0.0005, np.float32), rate, floor_db=-70.0)
    assert trim_silence(np.zeros((500, 2), np.float32), rate).shape == (0, 2)
    one_sided = np.stack([np.zeros(1_800, np.float32), clip], axis=1)
    assert trim_silence(one_sided, rate).shape == (1_000, 2)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".opus"])
def test_what_is_written_is_read_and_is_the_same_bytes_again(suffix: str, tmp_path: Path) -> None:
    clip = stereo(tone(440.0, 1.0, -12.0))
    path = write_audio(tmp_path / f"new/clip{suffix}", clip, 48_000)
    first = content_hash(path)
    write_audio(path, clip, 48_000)
    assert content_hash(path) == first == hashlib.sha256(path.read_bytes()).hexdigest()
    back = read_audio(path)
    assert (back.rate, back.channels, back.kind) == (48_000, 2, "audio")
    assert back.seconds == pytest.approx(1.0, abs=1e-6)
    error = np.sqrt(np.mean((back.samples - clip) ** 2))
    assert error < (2e-5 if suffix in (".wav", ".flac") else 2e-2)
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


@pytest.mark.slow
def test_opus_takes_any_rate(tmp_path: Path) -> None:
    back = read_audio(write_audio(tmp_path / "a.opus", noise(), 22_050))
    assert back.rate == 48_000
    assert back.seconds == pytest.approx(2.0, abs=0.001)


def test_more_bits_are_finer(tmp_path: Path) -> None:
    clip = noise()
    coarse = read_audio(write_audio(tmp_path / "a.wav", clip, 22_050)).samples
    fine = read_audio(write_audio(tmp_path / "b.wav", clip, 22_050, bits=24)).samples
    assert np.abs(fine - clip).max() < np.abs(coarse - clip).max() / 100


def test_writing_refuses_what_would_be_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="clip"):
        write_audio(tmp_path / "a.wav", np.full(100, 1.2, np.float32), 8_000)
    with pytest.raises(InputError, match="finite"):
        write_audio(tmp_path / "a.wav", np.full(100, np.nan, np.float32), 8_000)
    with pytest.raises(InputError, match="no format"):
        write_audio(tmp_path / "a.txt", np.zeros(100, np.float32), 8_000)
    with pytest.raises(InputError, match="not a clip"):
        write_audio(tmp_path / "a.wav", np.zeros((2, 2, 2), np.float32), 8_000)
    with pytest.raises(InputError, match="bit"):
        write_audio(tmp_path / "a.wav", np.zeros(100, np.float32), 8_000, bits=8)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = write_audio(tmp_path / "a.wav", noise(), 22_050)
    before = content_hash(path)
    with pytest.raises(InputError):
        write_audio(path, np.full(100, 2.0, np.float32), 22_050)
    assert content_hash(path) == before


@pytest.mark.slow
@check_all("suffix", [".wav", ".flac", ".ogg", ".opus"])
@check_all("share", [0.02, 0.5, 0.97])
def test_a_truncated_file_is_refused(suffix: str, share: float, tmp_path: Path) -> None:
    whole = write_audio(tmp_path / f"whole{suffix}", noise(), 22_050).read_bytes()
    cut = tmp_path / f"cut{suffix}"
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InputError, match="cut off") as caught:
        read_audio(cut)
    assert str(cut) in caught.value.problem
    assert "again" in caught.value.fix


def test_an_ogg_cut_between_pages_is_refused(tmp_path: Path) -> None:
    pages = list(containers._ogg_pages(write_audio(tmp_path / "a.ogg", noise(4.0), 22_050).read_bytes()))
    assert len(pages) > 4
    cut = tmp_path / "cut.ogg"
    cut.write_bytes(b"".join(pages[:-1]))
    with pytest.raises(InputError, match="not marked as the end"):
        read_audio(cut)


def test_a_wave_of_unknown_length_is_not_called_cut_off(tmp_path: Path) -> None:
    content = bytearray(write_audio(tmp_path / "a.wav", noise(), 22_050).read_bytes())
    at = content.index(b"data") + 4
    content[at : at + 4] = b"\xff\xff\xff\xff"
    streamed = tmp_path / "streamed.wav"
    streamed.write_bytes(content)
    assert read_audio(streamed).frames == 44_100


def test_ogg_checksums_are_libsndfiles_own(tmp_path: Path) -> None:
    import soundfile

    path = tmp_path / "raw.ogg"
    soundfile.write(path, noise(), 22_050, format="OGG", subtype="VORBIS")
    for page in containers._ogg_pages(path.read_bytes()):
        bare = page[:22] + bytes(4) + page[26:]
        assert containers._ogg_checksum(bare) == int.from_bytes(page[22:26], "little")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty (0 bytes)"),
        (b"index,audio_file\n1,a.wav\n", "it holds text, beginning 'index,audio_file'"),
        (b"\x00\x01\x02\x03" * 200, "no known audio format"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "cut off"),
    ],
)
def test_what_is_no_audio_is_named(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_audio(path)
    assert words in caught.value.problem
    assert "clip.wav" in caught.value.problem
    assert caught.value.fix


def test_a_pointer_is_told_from_text(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(InputError, match="git lfs pull"):
        read_audio(path)


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.wav"):
        with pytest.raises(InputError, match="no audio file at"):
            read_audio(path)
    with pytest.raises(InputError, match="Cannot read"):
        content_hash(tmp_path / "none.wav")


def test_files_that_hold_no_usable_sound(tmp_path: Path) -> None:
    import soundfile

    soundfile.write(tmp_path / "none.wav", np.zeros((0, 1)), 8_000)
    soundfile.write(tmp_path / "nan.wav", np.array([0.0, np.nan], np.float32), 8_000, subtype="FLOAT")
    with pytest.raises(InputError, match="no sound"):
        read_audio(tmp_path / "none.wav")
    with pytest.raises(InputError, match="not finite"):
        read_audio(tmp_path / "nan.wav")


def test_audio_keeps_two_dimensions() -> None:
    assert Audio(np.zeros(10, np.float32), 10).samples.shape == (10, 1)
    with pytest.raises(InputError):
        Audio(np.zeros(10, np.int16), 10)


def test_sixteen_bits_are_those_of_libsndfile(tmp_path: Path) -> None:
    """Ours are faster; the bytes must stay the same, at the ends, next to every step and close to zero."""
    import soundfile

    rng = np.random.default_rng(0)
    steps = np.arange(-32_768, 32_768, dtype=np.float32) / np.float32(32_768)
    near = [steps, np.nextafter(steps, np.float32(-2)), np.nextafter(steps, np.float32(2))]
    clip = np.concatenate([*near, rng.normal(0, 1e-9, 5000), [1.0, -1.0, -0.0]]).clip(-1, 1).astype(np.float32)
    soundfile.write(tmp_path / "theirs.wav", clip, 48_000, subtype="PCM_16")
    ours = write_audio(tmp_path / "ours.wav", clip, 48_000)
    assert ours.read_bytes() == (tmp_path / "theirs.wav").read_bytes()
