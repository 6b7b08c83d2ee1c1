"""DNSMOS comes as ONNX already: the two networks are kept as they are."""

from __future__ import annotations

from collections.abc import Mapping


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The network of the three scores and the one trained on P.808 ratings."""
    named = {name.rpartition("/")[2]: content for name, content in members.items()}
    return {"model.onnx": named["sig_bak_ovr.onnx"], "p808.onnx": named["model_v8.onnx"]}
