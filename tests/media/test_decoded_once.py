"""Media that several models look at are decoded once, to the same bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image
from tests.cases import check_all
from tests.predictors.studies import snapshot

import heartfelt
from heartfelt.errors import InputError
from heartfelt.media.decoded import DecodedStore, keep_decoded
from heartfelt.media.images.image import decode_image
from heartfelt.media.sound import SoundFile, decode, read_samples

FORMS = [
    ("wav", "PCM_16"),
    ("wav", "PCM_24"),
    ("wav", "FLOAT"),
    ("flac", "PCM_16"),
    ("ogg", "VORBIS"),
    ("mp3", "MPEG_LAYER_III"),
]


def clip(path: Path, subtype: str, channels: int, seconds: float = 1.7) -> Path:
    draw = np.random.default_rng(3)
    samples = 0.1 * draw.standard_normal((int(22_050 * seconds), channels))
    soundfile.write(path, samples, 22_050, subtype=subtype)
    return path


def readings(path: Path) -> list[Any]:
    """Everything that is ever read of a sound file."""
    sound = SoundFile.of(path)
    whole, rate = read_samples(path)
    return [
        (sound.frames, sound.rate, sound.channel, rate),
        whole,
        read_samples(path.read_bytes())[0],
        decode(path, 16_000),
        decode(path.read_bytes(), 22_050),
        np.concatenate(list(sound.samples())),
        np.concatenate(list(sound.resampled(48_000))),
        *sound.excerpts([0, 4_000, 9_000], 5_000, 16_000),
    ]


@check_all("channels", [1, 2])
@check_all(("suffix", "subtype"), FORMS)
def test_what_is_kept_has_the_same_bits(suffix: str, subtype: str, channels: int, tmp_path: Path) -> None:
    path = clip(tmp_path / f"a.{suffix}", subtype, channels)
    plain = readings(path)
    with keep_decoded(tmp_path):
        first, second = readings(path), readings(path)
    for kept in (first, second):
        assert kept[0] == plain[0]
        for given, expected in zip(kept[1:], plain[1:], strict=True):
            assert given.dtype == expected.dtype
            np.testing.assert_array_equal(given, expected)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many frames libsndfile decoded, by how many frames the file has: its own reads, counted."""
    counts: Counter[int] = Counter()

    class Counting(soundfile.SoundFile):  # type: ignore[misc]  # the library has no types
        def read(self, *given: Any, **named: Any) -> Any:
            out = super().read(*given, **named)
            counts[self.frames] += len(out)
            return out

    monkeypatch.setattr(soundfile, "SoundFile", Counting)
    return counts


def loud(content: bytes) -> float:
    return 1 + 8 * min(1.0, float(np.abs(decode(content, 16_000)).mean()))


def long_and_loud(path: Path) -> float:
    return 1 + 8 * min(1.0, float(np.abs(np.concatenate(list(SoundFile.of(path).samples()))).mean()))


@pytest.mark.slow
def test_a_bench_of_several_models_decodes_every_file_once(tmp_path: Path, opened: Counter[int]) -> None:
    data = snapshot(tmp_path / "s", 6)
    for place, path in enumerate(sorted((tmp_path / "s" / "media").iterdir())):
        clip(path, "PCM_16", 2, 0.5 + place / 100)
    sizes = {soundfile.info(path).frames for path in (tmp_path / "s" / "media").iterdir()}
    opened.clear()
    models: dict[str, Any] = {"a": loud, "b": long_and_loud, "c": "measure:loudness", "d": loud}
    bench = heartfelt.bench(data, models, questions=["valence"], folder=tmp_path / "out")
    assert bench.predictions["ok"].all()
    assert len(sizes) == 6
    assert opened == {size: size for size in sizes}, "one read of every frame of every file"
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith("tmp")]
    alone = heartfelt.bench(data, {"a": loud}, questions=["valence"])
    assert alone.predictions["value"].equals(bench.predictions.filter(model="a")["value"])


def test_images_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    image = Image.fromarray(draw.integers(0, 255, (40, 60, 4), dtype=np.uint8), "RGBA")
    image.save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    plain = np.asarray(decode_image(content))
    opens = []
    real: Callable[..., Any] = Image.open

    def counted(*given: Any) -> Any:
        opens.append(1)
        return real(*given)

    monkeypatch.setattr(Image, "open", counted)
    with keep_decoded(tmp_path):
        for source in (content, tmp_path / "a.png", content):
            np.testing.assert_array_equal(np.asarray(decode_image(source)), plain)
    assert len(opens) == 1


def test_what_does_not_fit_is_decoded_again(tmp_path: Path, opened: Counter[int]) -> None:
    paths = [clip(tmp_path / f"{place}.wav", "PCM_16", 1, 0.5 + place / 10) for place in range(3)]
    store = DecodedStore(tmp_path, most=30_000)  # the first takes 22,050 bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heartfelt.media.decoded._store", store)
        expected = [decode(path, 16_000) for path in paths]
        opened.clear()
        for path, samples in zip(paths, expected, strict=True):
            np.testing.assert_array_equal(decode(path, 16_000), samples)
    store.close()
    assert opened == {13_230: 13_230, 15_434: 15_434}


def test_a_file_that_is_cut_off_is_told_as_before(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.wav", "PCM_16", 1)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(InputError) as plain:
        decode(path, 16_000)
    with keep_decoded(tmp_path), pytest.raises(InputError) as kept:
        decode(path, 16_000)
    assert str(kept.value) == str(plain.value)


def test_a_file_that_changes_is_decoded_again(tmp_path: Path) -> None:
    with keep_decoded(tmp_path):
        before = decode(clip(tmp_path / "a.wav", "PCM_16", 1, 0.5), 16_000)
        after = decode(clip(tmp_path / "a.wav", "PCM_16", 1, 0.7), 16_000)
    assert len(after) > len(before)
