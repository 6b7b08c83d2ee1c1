"""Text that may be shown to everyone: without passwords, keys, tokens and the folders of somebody's machine."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_API_KEY = re.compile(r"(?i)\b(api[_-]?key|access[_-]?token|authorization)(\W{1,4})(?!bearer|basic)[\w.~+/=-]{6,}")
_TOKEN = re.compile(r"\b(?:sk|pk|hf|ghp|xoxb)[-_][\w-]{16,}")
_NAMED = re.compile(r"(?i)(?<=[?&\[,])(key|token|secret|password|signature|sig)=[^\s&,\]]+")
_FOLDERS = re.compile(r"(?<![/\w.…])/(?!/)(?:[^/\s,;\]]+/)+")


def without_secrets(text: str) -> str:
    """The text with passwords, keys and tokens replaced by stars."""
    text = _PASSWORD.sub("***@", text)
    text = _BEARER.sub(r"\1 ***", text)
    text = _API_KEY.sub(r"\1\2***", text)
    return _TOKEN.sub("***", text)


def shown_spec(text: str) -> str:
    """How a model was asked for, without secrets and without the folders of the machine it was asked on."""
    return _FOLDERS.sub("…/", _NAMED.sub(r"\1=***", without_secrets(text)))
