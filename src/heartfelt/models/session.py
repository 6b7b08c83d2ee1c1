"""A model in memory, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from heartfelt.errors import DamagedError, InputError


class Model:
    """Graphs ready to run. Everything is read when it is made; several threads may use it at once."""

    def __init__(self, name: str, identity: str, contents: Mapping[str, bytes], threads: int = 1) -> None:
        self.name = name
        self.identity = identity
        """Everything that decides its numbers; for cache keys."""
        self.threads = threads
        self._sessions = {
            file: _session(name, content, threads)
            for file, content in contents.items()
            if file.endswith(".onnx")
        }
        self._others = {file: content for file, content in contents.items() if not file.endswith(".onnx")}

    def content(self, file: str) -> bytes:
        """A file that is not a graph, such as a vocabulary."""
        return self._others[file]

    def input_shape(self, name: str, *, file: str = "model.onnx") -> list[int | str | None]:
        """The shape a graph expects of an input; None or a name where any size will do."""
        for value in self._sessions[file].get_inputs():
            if value.name == name:
                shape: list[int | str | None] = value.shape
                return shape
        raise InputError(
            f"{self.name} has no input '{name}'.",
            "Use a model made for this: 'heartfelt models list' shows them.",
        )

    def run(
        self,
        feeds: Mapping[str, npt.NDArray[Any]],
        outputs: list[str] | None = None,
        *,
        file: str = "model.onnx",
    ) -> dict[str, npt.NDArray[Any]]:
        """What a graph gives for ``feeds``, by name."""
        session = self._sessions[file]
        names = outputs or [value.name for value in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def _session(name: str, content: bytes, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises errors of many kinds without a common family
        reason = str(error).strip().splitlines()[0][:200]
        raise DamagedError(
            f"The graph of '{name}' does not load: {reason}.", "Pull the model again, or check the file."
        ) from error
