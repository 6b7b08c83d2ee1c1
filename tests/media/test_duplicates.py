"""Near-duplicates: the same groups as comparing every pair; real images saved again."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heartfelt.media.images.duplicates import (
    HASH_BITS,
    Bits,
    duplicate_groups,
    find_near_duplicates,
    image_hash,
    measure_and_compare,
)
from heartfelt.media.images.pixels import measure_images
from heartfelt.streams import stream


def flipped(bits: Bits, places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Bits:
    loose = np.unpackbits(bits)
    loose[places] ^= 1
    return np.packbits(loose)


def every_pair(hashes: list[Bits | None]) -> list[int]:
    """The definition: the first place reached by steps of at most HASH_BITS bits."""
    groups = list(range(len(hashes)))
    for j, second in enumerate(hashes):
        for i, first in enumerate(hashes[:j]):
            if first is None or second is None or np.bitwise_count(first ^ second).sum() > HASH_BITS:
                continue
            low, high = sorted((groups[i], groups[j]))
            groups = [low if group == high else group for group in groups]
    return groups


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_every_pair(seed: int) -> None:
    rng = stream(seed, "duplicates")
    hashes: list[Bits | None] = list(rng.integers(0, 256, (40, 32), dtype=np.uint8))
    for _ in range(80):
        original = hashes[int(rng.integers(40))]
        assert original is not None
        size = int(rng.integers(0, 45))
        hashes.append(flipped(original, rng.choice(256, size, replace=False)))
    hashes[7] = hashes[90] = None
    order = rng.permutation(len(hashes))
    hashes = [hashes[at] for at in order]
    assert duplicate_groups(hashes).tolist() == every_pair(hashes)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "same"), [(HASH_BITS, True), (HASH_BITS + 1, False)])
def test_the_limit_is_exact_wherever_the_bits_are(bits: int, same: bool) -> None:
    rng = stream(1, "limit")
    original = rng.integers(0, 256, 32, dtype=np.uint8)
    # Two differing bits in each of 16 bands and none or one in the last is the worst case for bands of every seventeenth bit.
    worst = np.array([band + 17 * turn for turn in (0, 1) for band in range(17)])[:bits]
    for places in [worst, *(rng.choice(256, bits, replace=False) for _ in range(200))]:
        assert bool(duplicate_groups([original, flipped(original, places)])[1] == 0) is same


@pytest.mark.slow
def test_nothing_and_blank_images() -> None:
    assert duplicate_groups([]).tolist() == []
    assert duplicate_groups([None, None]).tolist() == [0, 1]
    blank = np.zeros(32, np.uint8)
    assert duplicate_groups([None, *[blank] * 50_000])[-1] == 1


@pytest.mark.slow
def test_unrelated_hashes_are_compared_with_few_others() -> None:
    """20,000 hashes are 200 million pairs; in bands it is a matter of a fraction of a second, and nothing is joined."""
    hashes: list[Bits | None] = list(stream(2, "many").integers(0, 256, (20_000, 32), dtype=np.uint8))
    assert duplicate_groups(hashes).tolist() == list(range(20_000))


@pytest.mark.slow
def test_files_are_grouped_and_unreadable_ones_named(tmp_path: Path) -> None:
    for name in "ab":
        pixels = stream(3, name).integers(0, 256, (6, 6, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((120, 90), Image.Resampling.BICUBIC).save(tmp_path / f"{name}.png")
    with Image.open(tmp_path / "a.png") as first:
        first.save(tmp_path / "again.jpg", quality=30)
        first.resize((60, 45)).save(tmp_path / "small.png")
    (tmp_path / "text.png").write_text("no image")
    names = ["b.png", "text.png", "small.png", "a.png", "again.jpg"]
    steps: list[int] = []
    result = find_near_duplicates([tmp_path / name for name in names], lambda *step: steps.append(step[1]))
    assert [[path.name for path in group.paths] for group in result.groups] == [["small.png", "a.png", "again.jpg"]]
    assert 0 <= result.groups[0].most_bits <= HASH_BITS
    assert (result.images, result.extra, steps) == (4, 2, [1, 2, 3, 4, 5])
    assert [path.name for path, _ in result.problems] == ["text.png"]
    assert "in no known image format" in result.problems[0][1]
    paths = [tmp_path / name for name in names]
    assert measure_and_compare(paths) == (measure_images(paths), result)


@pytest.mark.data
def test_real_images_have_no_false_alarms_and_copies_are_recognised(shared_data: Path) -> None:
    oasis = sorted((shared_data / "oasis" / "images").rglob("*.jpg"))
    avt = sorted((shared_data / "avt_ai_images" / "images").rglob("*.jpg"))
    hashes: list[Bits | None] = [image_hash(path) for path in [*oasis, *avt]]
    assert duplicate_groups(hashes).tolist() == list(range(len(hashes)))
    copies: list[Bits | None] = []
    for path in avt[::3]:
        with Image.open(path) as image:
            held = io.BytesIO()
            image.resize((200, 200)).save(held, "JPEG", quality=30)
        copies.append(image_hash(held.getvalue()))
    groups = duplicate_groups([*hashes, *copies])[len(hashes) :]
    assert groups.tolist() == [len(oasis) + at for at in range(0, len(avt), 3)]
