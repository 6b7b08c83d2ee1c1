"""Sound and pictures as models want them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
import soxr
from PIL import Image
from tests.cases import check_all

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.media.sound import decode
from heartfelt.streams import stream


def noise(frames: int, channels: int, name: str = "noise") -> npt.NDArray[np.float64]:
    return np.clip(stream(3, name).normal(0, 0.2, (frames, channels)), -1, 1)


def written(path: Path, channels: int = 2, rate: int = 44_100, subtype: str = "PCM_16", frames: int = 9_000) -> Path:
    soundfile.write(path, noise(frames, channels), rate, subtype=subtype)
    return path


@check_all(
    ("name", "channels", "rate", "subtype"),
    [
        ("a.wav", 1, 44_100, "PCM_16"),
        ("a.wav", 2, 44_100, "PCM_16"),
        ("a.wav", 7, 48_000, "PCM_16"),
        ("a.wav", 2, 192_000, "PCM_16"),
        ("a.wav", 2, 16_000, "PCM_16"),
        ("a.wav", 2, 44_100, "PCM_U8"),
        ("a.wav", 2, 48_000, "PCM_24"),
        ("a.wav", 2, 48_000, "FLOAT"),
        ("a.wav", 2, 48_000, "DOUBLE"),
        ("a.flac", 2, 44_100, "PCM_16"),
        ("a.flac", 2, 44_100, "PCM_24"),
        ("a.ogg", 2, 44_100, "VORBIS"),
        ("a.mp3", 2, 44_100, "MPEG_LAYER_III"),
    ],
)
def test_the_bits_are_those_of_soxr_on_the_channel_mean(
    tmp_path: Path, name: str, channels: int, rate: int, subtype: str
) -> None:
    path = written(tmp_path / name, channels, rate, subtype)
    samples, _ = soundfile.read(path, dtype="float32", always_2d=True)
    expected = samples.mean(axis=1, dtype=np.float32)
    if rate != 16_000:
        expected = soxr.resample(expected, rate, 16_000, quality="HQ")
    result = decode(path, 16_000)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(decode(path.read_bytes(), 16_000), result)
    assert abs(result.size - 9_000 * 16_000 / rate) < 3_000


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.filterwarnings("ignore:.*slated for removal:DeprecationWarning")
def test_the_bits_are_those_of_librosa(tmp_path: Path) -> None:
    librosa = pytest.importorskip("librosa", exc_type=ImportError)
    path = written(tmp_path / "a.wav", frames=44_100)
    theirs, _ = librosa.load(path, sr=16_000)
    np.testing.assert_array_equal(decode(path, 16_000), theirs)


def spoil(tmp_path: Path, what: str) -> Path:
    path = tmp_path / "clip.wav"
    whole = written(tmp_path / "whole.wav").read_bytes()
    content = {
        "text": b"this is not a sound\n",
        "cut off": whole[: len(whole) // 2],
        "empty": b"",
        "header only": whole[:44],
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
        "noise": bytes(range(256)) * 8,
    }
    path.write_bytes(content[what])
    return path


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("text", "it holds text, beginning 'this is not a sound'"),
        ("cut off", "is cut off"),
        ("empty", "is empty"),
        ("header only", "is cut off"),
        ("pointer", "it holds text"),
        ("noise", "in no known audio format"),
    ],
)
def test_what_is_no_whole_clip_is_refused_with_its_reason(tmp_path: Path, what: str, problem: str) -> None:
    path = spoil(tmp_path, what)
    with pytest.raises(InputError, match=problem) as by_path:
        decode(path, 16_000)
    assert str(path) in by_path.value.problem
    with pytest.raises(InputError, match=problem) as by_bytes:
        decode(path.read_bytes(), 16_000)
    assert by_bytes.value.fix


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no audio file at .*none\.wav"):
        decode(tmp_path / "none.wav", 16_000)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, bad: float) -> None:
    samples = noise(2_000, 2).astype(np.float32)
    samples[1_500, 1] = bad
    soundfile.write(tmp_path / "a.wav", samples, 44_100, subtype="FLOAT")
    with pytest.raises(InputError, match="not finite"):
        decode(tmp_path / "a.wav", 16_000)


def test_numbers_too_large_to_add_are_refused(tmp_path: Path) -> None:
    samples = np.full((2_000, 2), 3e38, np.float32)
    soundfile.write(tmp_path / "a.wav", samples, 44_100, subtype="FLOAT")
    with pytest.raises(InputError, match="not finite"):
        decode(tmp_path / "a.wav", 16_000)


def test_opposite_channels_do_not_cancel(tmp_path: Path) -> None:
    """Their mean is silent, so the first of two equally loud channels is taken."""
    each = noise(2_000, 1)
    soundfile.write(tmp_path / "a.wav", np.concatenate([each, -each], axis=1), 44_100, subtype="FLOAT")
    assert np.allclose(decode(tmp_path / "a.wav", 44_100), each[:, 0], atol=1e-6)


def test_pictures_are_upright_rgb_on_white(tmp_path: Path) -> None:
    turned = Image.new("RGB", (4, 2), "red")
    turned.putpixel((0, 0), (0, 0, 255))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.png", exif=exif)
    upright = decode_image(tmp_path / "turned.png")
    assert upright.size == (2, 4)
    assert upright.getpixel((1, 0)) == (0, 0, 255)

    clear = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    clear.putpixel((1, 0), (10, 20, 30, 255))
    held = io.BytesIO()
    clear.save(held, format="PNG")
    flat = decode_image(held.getvalue())
    assert flat.mode == "RGB"
    assert [flat.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (10, 20, 30)]

    for mode in ("L", "P", "CMYK", "1"):
        Image.new(mode, (3, 3)).save(tmp_path / "mode.tiff")
        assert decode_image(tmp_path / "mode.tiff").mode == "RGB"


def test_what_is_no_picture_is_refused_with_its_reason(tmp_path: Path) -> None:
    held = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(held, format="PNG")
    with pytest.raises(InputError, match="truncated"):
        decode_image(held.getvalue()[: len(held.getvalue()) // 2])
    with pytest.raises(InputError, match="in no known image format"):
        decode_image(b"a text")
    with pytest.raises(InputError, match="There is no image at"):
        decode_image(tmp_path / "none.png")
    Image.new("I;16", (3, 3)).save(tmp_path / "deep.png")
    with pytest.raises(InputError, match="not colours"):
        decode_image(tmp_path / "deep.png")


def test_a_picture_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held = io.BytesIO()
    Image.new("RGB", (40, 40)).save(held, format="PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000)
    with pytest.raises(InputError, match="more than 1,000 pixels"):
        decode_image(held.getvalue())
