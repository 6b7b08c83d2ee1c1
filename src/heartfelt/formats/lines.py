"""Text files read line by line: prompt lists and JSON Lines, in the encodings people really save them in."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from heartfelt.errors import InputError


def text_of(path: Path) -> str:
    """The text of a file with LF line ends: UTF-8, UTF-16 with its mark, else Windows-1252."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}.", "Check the path.") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in content and not wide:
        raise InputError(
            f"{path} is not a text file (it holds zero bytes).", "Save it as UTF-8 text, and try again."
        )
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            text = content.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise InputError(f"{path} is not readable as text.", "Save it as UTF-8 text, and try again.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, each with its number from 1."""
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.strip():
            yield number, line


def _no_such_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def parse_json(text: str) -> Any:
    """Strict JSON: NaN and infinities are an error."""
    return json.loads(text, parse_constant=_no_such_number)


def read_json(path: Path) -> Any:
    """The content of a JSON file, or an error with the line."""
    try:
        return parse_json(text_of(path))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: this is not valid JSON ({error.msg}).",
            "Correct that line, or get a complete copy of the file.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: this is not valid JSON ({error}).", "Write null where there is no number."
        ) from error


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with its line; a line cut off or no object is an error."""
    lines = list(numbered_lines(path))
    if not lines:
        raise InputError(f"{path} is empty.", "Point to a file with one JSON object a line.")
    last = lines[-1][0]
    for number, line in lines:
        try:
            record = parse_json(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            cut = number == last
            raise InputError(
                f"{path}, line {number}: this is not valid JSON ({why})."
                + (" It is the last line: the file seems to be cut off." if cut else ""),
                "Get a complete copy of the file." if cut else "Write one complete JSON object on each line.",
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                f"{path}, line {number}: this is {type(record).__name__}, not an object.",
                'Write one JSON object a line, such as {"image": "0001.png"}.',
            )
        yield number, record
