"""CIELAB of sRGB colours (IEC 61966-2-1), for the D65 white point (CIE 15)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats

# ITU-R BT.709 primaries; the white point is the sum of each row, so that greys are exactly neutral.
TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])


def lab_of(rgb: npt.ArrayLike) -> Floats:
    """CIELAB (D65) of sRGB values from 0 to 255; the last axis is the channel."""
    scaled = np.asarray(rgb, dtype=np.float64) / 255
    xyz = linear(scaled) @ (TO_XYZ / TO_XYZ.sum(axis=1, keepdims=True)).T
    x, y, z = np.moveaxis(cube_root(xyz), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def linear(value: Floats) -> Floats:
    """Light of sRGB values from 0 to 1."""
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def cube_root(value: Floats) -> Floats:
    """The cube root that CIELAB uses, a straight line near 0."""
    return np.where(value > (6 / 29) ** 3, np.cbrt(value), value / (3 * (6 / 29) ** 2) + 4 / 29)
