"""The device a model runs on, checked before anything is loaded."""

from __future__ import annotations

from heartfelt.errors import InputError

_GPUS = {"cuda": "NVIDIA GPU", "mps": "Apple GPU", "xpu": "Intel GPU"}


def checked_device(name: str) -> str:
    """The device as PyTorch calls it; ``auto`` is a GPU where there is one. An error where this machine has no such device."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind in _GPUS and (not number or number.isdecimal()):
        _check_gpu(name, kind, int(number or 0))
    try:
        return str(torch.zeros(0, device=name).device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(
            f"No device here is called '{name}': {str(error).strip().splitlines()[0]}.", "Use device=auto, cpu or cuda."
        ) from error


def _check_gpu(name: str, kind: str, number: int) -> None:
    import torch

    backend = getattr(torch, kind, None)
    count = backend.device_count() if backend is not None and backend.is_available() else 0
    if number < count:
        return
    if count:
        names = f"{kind}:0" if count == 1 else f"{kind}:0 to {kind}:{count - 1}"
        raise InputError(f"There is no GPU '{name}' here; PyTorch sees {names}.", f"Use device={kind}:0.")
    reason = f"PyTorch sees no {_GPUS[kind]} on this machine"
    if kind == "cuda" and not torch.backends.cuda.is_built():
        reason += f" (PyTorch {torch.__version__} was built without CUDA)"
    raise InputError(
        f"'{name}' needs a GPU, and there is none: {reason}.",
        "Use device=cpu, or device=auto, which takes a GPU where there is one.",
    )
