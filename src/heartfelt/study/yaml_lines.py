"""YAML that remembers where everything stood, and that no file can blow up.

Only plain data is built (no tags, no objects); what anchors expand to is bounded. A key given twice is a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from heartfelt.errors import StudyError
from heartfelt.study.model import Place

MAX_BYTES = 8 * 1024 * 1024
MAX_NODES = 500_000
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data, and the line (from 1) on which each place of it begins."""

    data: Any
    lines: dict[Place, int]

    def line(self, path: Place) -> int | None:
        """The line of ``place``, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


_RESOLVERS = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Plain(yaml.SafeLoader):
    """Plain scalars only: ``yes``, ``no``, ``on`` and ``off`` stay text, as raters' answers should."""


_Plain.yaml_implicit_resolvers = _RESOLVERS

if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _Fast(Composer, CParser, SafeConstructor, Resolver):
        """The same from libyaml's parser, seven times faster.

        The nodes are composed in Python: libyaml's own composer ends the process where a file nests too deep.
        """

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            SafeConstructor.__init__(self)
            Resolver.__init__(self)

    _Fast.yaml_implicit_resolvers = _RESOLVERS

_TRUTH = {"true": True, "True": True, "false": False, "False": False}


def read_yaml(text: str, where: str) -> Document:
    """Parse ``text``; ``where`` names the file in errors."""
    if len(text.encode()) > MAX_BYTES:
        raise StudyError(f"{where} is larger than {MAX_BYTES // 2**20} MiB.", "Move long lists into a CSV manifest.")
    if yaml.__with_libyaml__:
        try:
            return _document(_Fast(text), where)
        except (yaml.YAMLError, ValueError, RecursionError):
            pass  # read once more for the words of the error, which name the place better
    try:
        return _document(_Plain(text), where)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise StudyError(
            f"{where}{line}: this is not valid YAML: {error.problem or error.context}.",
            "Check indentation, quotes and colons on that line and the one above it.",
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise StudyError(
            f"{where}: this is not valid YAML: {str(error).splitlines()[0]}.", "Save it as UTF-8 text."
        ) from error


def _document(loader: Any, where: str) -> Document:
    builder = _Builder(loader, where)
    node = loader.get_single_node()
    data = builder.build(node, (), 0) if node is not None else None
    return Document(data, builder.lines)


class _Builder:
    def __init__(self, loader: Any, where: str) -> None:
        self.loader = loader
        self.where = where
        self.lines: dict[Place, int] = {}
        self.nodes = 0

    def build(self, node: yaml.Node, path: Place, depth: int) -> Any:
        self.nodes += 1
        line = node.start_mark.line + 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise StudyError(
                f"{self.where}, line {line}: the file expands to more than {MAX_NODES} values or {MAX_DEPTH} levels.",
                "Write out what the anchors (&, *) stand for, or move long lists into a CSV manifest.",
            )
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*path, index), depth + 1) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            return _TRUTH.get(node.value, node.value) if not node.style else node.value
        if not node.tag.startswith("tag:yaml.org,2002:"):
            raise StudyError(
                f"{self.where}, line {line}: the tag '{node.tag}' is not allowed.", "Use plain values only."
            )
        return self.loader.construct_object(node)

    def _mapping(self, node: yaml.MappingNode, path: Place, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise StudyError(f"{self.where}, line {line}: a key must be a plain word.", "Quote it, or simplify it.")
            key = self.build(key_node, (*path, "\0key"), depth + 1)
            if key in out:
                raise StudyError(f"{self.where}, line {line}: the key '{key}' is given twice.", "Keep one of the two.")
            self.lines[(*path, key)] = line
            out[key] = self.build(value_node, (*path, key), depth + 1)
        return out
