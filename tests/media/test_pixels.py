"""Pixel measures against hand calculations, scikit-image's numbers and plain NumPy; images of every awkward kind."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.media.images.lab import lab_of
from heartfelt.media.images.pixels import (
    LEAST_SHARE,
    MOST_COLOURS,
    PixelMeasures,
    measure_image,
    measure_images,
    warmth_of,
)
from heartfelt.streams import stream


def picture(name: str, side: int = 96) -> Image.Image:
    rng = stream(5, "pixels", name)
    field = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8))
    return field.resize((side, side), Image.Resampling.BICUBIC)


def values(measures: PixelMeasures) -> tuple[float, float, float, float, float]:
    m = measures
    return m.brightness, m.contrast, m.saturation, m.colourfulness, m.warmth


def in_numpy(image: Image.Image) -> tuple[float, ...]:
    """The definitions, pixel by pixel in floating point."""
    rgb = np.asarray(image, dtype=np.float64)
    lab = lab_of(rgb)
    most, least = rgb.max(axis=-1), rgb.min(axis=-1)
    rg, yb = rgb[..., 0] - rgb[..., 1], (rgb[..., 0] + rgb[..., 1]) / 2 - rgb[..., 2]
    return (
        lab[..., 0].mean(),
        lab[..., 0].std(),
        ((most - least) / np.maximum(most, 1)).mean(),
        np.hypot(rg.std(), yb.std()) + 0.3 * np.hypot(rg.mean(), yb.mean()),
        warmth_of(lab).mean(),
    )


def close(measures: PixelMeasures, expected: tuple[float, ...]) -> None:
    """Within the tolerances the module states."""
    np.testing.assert_array_less(np.abs(np.subtract(values(measures), expected)), [0.01, 0.01, 1e-5, 1e-5, 0.02])


# SOURCE: scikit-image 0.26.0, skimage.color.rgb2lab([[[r, g, b]]]) of bytes.
SKIMAGE_LAB = {
    (255, 0, 0): (53.2406, 80.0923, 67.2028),
    (0, 255, 0): (87.7351, -86.1830, 83.1797),
    (0, 0, 255): (32.2957, 79.1856, -107.8573),
    (255, 255, 255): (100.0000, -0.0025, 0.0047),
    (0, 0, 0): (0.0000, 0.0000, 0.0000),
    (128, 128, 128): (53.5850, -0.0015, 0.0028),
    (200, 150, 90): (65.6183, 11.8694, 38.6652),
    (12, 34, 56): (12.6562, 0.1214, -16.8316),
    (3, 2, 1): (0.5869, 0.1224, 0.4706),
}


@pytest.mark.parametrize("rgb", SKIMAGE_LAB)
def test_cielab_is_that_of_scikit_image(rgb: tuple[int, int, int]) -> None:
    np.testing.assert_allclose(lab_of(rgb), SKIMAGE_LAB[rgb], atol=0.02)


def test_one_colour_by_hand() -> None:
    """Pure red: S = 1; rg = 255, yb = 127.5, so colourfulness is 0.3 * 285.1; C* = 104.55 and h = 40.0 degrees."""
    red = measure_image(Image.new("RGB", (7, 5), (255, 0, 0)))
    assert (red.width, red.height) == (7, 5)
    assert red.brightness == pytest.approx(53.24, abs=0.01)
    assert red.contrast == 0
    assert red.saturation == pytest.approx(1)
    assert red.colourfulness == pytest.approx(0.3 * 285.099, abs=1e-3)
    assert red.warmth == pytest.approx(-0.5 + 0.02 * 104.55**1.07 * np.cos(np.deg2rad(10.0)), abs=1e-3)
    assert [(colour.name, colour.share) for colour in red.palette] == [("red", 1.0)]
    assert red.palette[0].lab == pytest.approx((53.24, 80.09, 67.20), abs=0.02)


@pytest.mark.parametrize(
    ("grey", "name"), [(0, "black"), (255, "white"), (148, "grey"), (54, "dark grey"), (219, "light grey")]
)
def test_greys_are_neutral(grey: int, name: str) -> None:
    measures = measure_image(Image.new("RGB", (3, 3), (grey, grey, grey)))
    assert measures.saturation == measures.colourfulness == measures.contrast == 0
    assert measures.warmth == pytest.approx(-0.5, abs=1e-6)
    assert [colour.name for colour in measures.palette] == [name]
    assert measures.brightness == pytest.approx(float(lab_of((grey,) * 3)[0]), abs=0.01)


def test_black_and_white_halves_have_the_largest_contrast() -> None:
    halves = Image.new("RGB", (10, 10))
    halves.paste("white", (0, 0, 5, 10))
    measures = measure_image(halves)
    assert (measures.brightness, measures.contrast) == pytest.approx((50, 50), abs=1e-3)
    assert [(c.name, c.share) for c in measures.palette] == [("black", 0.5), ("white", 0.5)]


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_every_measure_is_its_definition(name: str) -> None:
    close(measure_image(picture(name)), in_numpy(picture(name)))


def test_strips_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measure_image(picture("a"))
    monkeypatch.setattr("heartfelt.media.images.pixels._STRIP_PIXELS", 96 * 7 + 1)
    assert measure_image(picture("a")) == whole


def test_warm_colours_are_warmer_than_cool() -> None:
    warm, cool = (measure_image(Image.new("RGB", (2, 2), c)).warmth for c in ("orange", "royalblue"))
    assert warm > 0.5 > -0.5 > cool


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ("#ff0000", "red"), ("#00ff00", "green"), ("#0000ff", "blue"), ("#ff8000", "orange"),
        ("#87ceeb", "light blue"), ("#228b22", "green"), ("#8b4513", "brown"), ("#f5deb3", "beige"), ("#800080", "purple"),
    ],
)  # fmt: skip
def test_everyday_colours_have_everyday_names(colour: str, name: str) -> None:
    assert [c.name for c in measure_image(Image.new("RGB", (2, 2), colour)).palette] == [name]


def test_a_palette_has_the_colours_painted() -> None:
    painted = Image.new("RGB", (100, 100), "#0343df")
    painted.paste("#f97306", (0, 0, 100, 30))
    painted.paste("white", (0, 0, 100, 10))
    painted.paste("#00ff00", (0, 50, 100, 53))
    colours = measure_image(painted).palette
    assert [(colour.name, colour.term) for colour in colours] == [
        ("blue", "blue"),
        ("orange", "orange"),
        ("white", "white"),
    ], "a colour with 3% is left out"
    assert [colour.share for colour in colours] == pytest.approx([0.67, 0.2, 0.1], abs=1e-3)
    assert colours[0].lab == pytest.approx(lab_of((3, 67, 223)).tolist(), abs=1.5)


def test_shades_of_one_colour_are_one_colour_named_after_their_mean() -> None:
    """Light and dark green together outweigh the grey that is larger than either."""
    shaded = Image.new("RGB", (10, 10), (128, 128, 128))
    shaded.paste((20, 90, 20), (0, 0, 3, 10))
    shaded.paste((150, 230, 150), (3, 0, 6, 10))
    assert [(c.term, c.share) for c in measure_image(shaded).palette] == [("green", 0.6), ("grey", 0.4)]


def test_a_palette_names_five_colours_at_most() -> None:
    striped = Image.new("RGB", (7, 6))
    for place, colour in enumerate(("black", "white", "red", "blue", "#00aa00", "yellow", "#800080")):
        striped.paste(colour, (place, 0, place + 1, 6))
    assert len(measure_image(striped).palette) == MOST_COLOURS == 5


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_a_palette_is_bounded_and_the_same_every_time(name: str) -> None:
    palette = measure_image(picture(name)).palette
    assert 1 <= len(palette) <= MOST_COLOURS
    assert len({colour.name for colour in palette}) == len(palette)
    assert all(LEAST_SHARE <= colour.share <= 1 for colour in palette)
    assert sum(colour.share for colour in palette) <= 1 + 1e-12
    assert [c.share for c in palette] == sorted((c.share for c in palette), reverse=True)
    assert measure_image(picture(name)).palette == palette
    assert measure_image(picture(name).rotate(90)).palette == pytest.approx(palette)


def test_a_rotated_photograph_is_measured_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture("a").crop((0, 0, 96, 40)).save(tmp_path / "turned.png", exif=exif)
    measures = measure_image(tmp_path / "turned.png")
    assert (measures.width, measures.height) == (40, 96)
    close(measures, in_numpy(picture("a").crop((0, 0, 96, 40))))


def test_transparency_counts_as_white() -> None:
    clear = Image.new("RGBA", (10, 10), (255, 0, 0, 0))
    clear.paste((0, 0, 0, 255), (0, 0, 5, 10))
    held = io.BytesIO()
    clear.save(held, "PNG")
    assert {c.name: c.share for c in measure_image(held.getvalue()).palette} == {"black": 0.5, "white": 0.5}


def test_of_an_animation_the_first_frame_counts() -> None:
    held = io.BytesIO()
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("white", "black", "red")]
    frames[0].save(held, "GIF", save_all=True, append_images=frames[1:])
    assert measure_image(held.getvalue()).brightness == pytest.approx(100, abs=0.01)


@pytest.mark.parametrize("mode", ["CMYK", "L", "P", "1", "LA", "YCbCr"])
def test_other_kinds_of_pixels_are_converted(tmp_path: Path, mode: str) -> None:
    image = picture("b").convert(mode)
    path = tmp_path / ("a.png" if mode == "LA" else "a.tiff")
    image.save(path)
    close(measure_image(path), in_numpy(image.convert("RGB")))


def deep_png(colour_type: int) -> bytes:
    """A PNG of 2 x 2 pixels with 16 bits per channel, every value 0x80FF."""
    rows = (b"\0" + struct.pack(">H", 0x80FF) * 2 * (3 if colour_type == 2 else 1)) * 2

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 16, colour_type, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_sixteen_bits_are_measured_or_refused_with_a_reason() -> None:
    assert measure_image(deep_png(2)).brightness == pytest.approx(float(lab_of((128,) * 3)[0]), abs=0.01)
    with pytest.raises(InputError, match=r"numbers.*I;16"):
        measure_image(deep_png(0))


@pytest.mark.slow
def test_a_side_of_20_000_pixels(tmp_path: Path) -> None:
    """A wide one is measured; a square of that side is refused by its header, before it fills the memory."""
    Image.new("RGB", (20_000, 60), "white").save(tmp_path / "wide.png")
    assert measure_image(tmp_path / "wide.png").brightness == pytest.approx(100)
    Image.new("1", (20_000, 20_000)).save(tmp_path / "square.png")
    with pytest.raises(InputError, match="more than 89,478,485 pixels"):
        measure_image(tmp_path / "square.png")


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's, on TIFF tags it skips
@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "tiff", "webp", "bmp"])
def test_corrupt_files_are_measured_or_refused_but_never_crash(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    picture("a", 24).save(path)
    content = path.read_bytes()
    rng = stream(5, "corrupt", suffix)
    paths = []
    for number in range(25):
        broken = bytearray(content[: int(rng.integers(1, len(content)))] if number % 2 else content)
        for place in rng.integers(0, len(broken), 8):
            broken[place] = int(rng.integers(256))
        paths.append(tmp_path / f"{number}.{suffix}")
        paths[-1].write_bytes(broken)
    for result in measure_images([path, *paths]):
        assert (result.measures is None) != (result.problem is None)
        assert result.problem is None or str(result.path) in result.problem


def test_many_images_keep_their_order_and_their_problems(tmp_path: Path) -> None:
    paths: list[Path | str] = []
    for name in "abcdefgh":
        paths.append(tmp_path / f"{name}.png")
        picture(name, 32).save(paths[-1])
    (tmp_path / "text.png").write_text("no image")
    paths = [*paths[:3], str(tmp_path / "text.png"), *paths[3:], tmp_path / "none.png"]
    steps: list[tuple[str, int, int]] = []
    results = measure_images(paths, lambda *step: steps.append(step), workers=3)
    assert [result.path for result in results] == [Path(path) for path in paths]
    assert steps == [("measuring images", done, 10) for done in range(1, 11)]
    problems = {result.path.name: result.problem for result in results if result.problem}
    assert set(problems) == {"text.png", "none.png"}
    assert "in no known image format" in problems["text.png"]
    assert results[0].measures == measure_image(paths[0])
    assert measure_images([]) == ()
    with pytest.raises(InputError, match=r"workers.*1"):
        measure_images(paths, workers=0)


# SOURCE: scikit-image 0.26.0: rgb2lab and rgb2hsv of io.imread, the definitions of heartfelt.media.images.pixels in NumPy.
SKIMAGE_IMAGES = {
    "avt_ai_images/images/craiyon/p01.jpg": (37.134427, 32.259255, 0.613240, 105.862838, 0.020406),
    "avt_ai_images/images/dall-e/p04.jpg": (41.611170, 19.416180, 0.705229, 97.267706, 0.553557),
    "avt_ai_images/images/glide/p07.jpg": (49.957381, 20.586369, 0.503924, 84.979296, -0.424778),
    "avt_ai_images/images/midjourney/p10.jpg": (41.427245, 24.821754, 0.521920, 67.690376, 0.065177),
    "avt_ai_images/images/stable_diffusion/p03.jpg": (44.844914, 20.847202, 0.365294, 58.247697, -0.453890),
    "oasis/images/Acorns_1.jpg": (46.700766, 25.109017, 0.284498, 43.112838, -0.286880),
    "oasis/images/Destruction_8.jpg": (49.476016, 22.153839, 0.230864, 40.478110, -0.348167),
    "oasis/images/Gun_7.jpg": (53.751506, 25.454899, 0.142772, 14.976322, -0.590812),
    "oasis/images/Rooster_1.jpg": (28.719219, 23.217459, 0.447566, 37.809001, -0.262735),
}


@pytest.mark.data
@pytest.mark.parametrize("name", SKIMAGE_IMAGES)
def test_real_images_have_the_numbers_of_scikit_image(shared_data: Path, name: str) -> None:
    close(measure_image(shared_data / name), SKIMAGE_IMAGES[name])


@pytest.mark.data
def test_all_real_images_are_measured(shared_data: Path) -> None:
    paths = sorted((shared_data / "avt_ai_images" / "images").rglob("*.jpg"))
    results = measure_images([*paths, *sorted((shared_data / "oasis" / "images").rglob("*.jpg"))])
    assert len(results) > 500
    assert not [result.problem for result in results if result.problem]
    assert len({c.name for r in results if r.measures for c in r.measures.palette}) > 25
