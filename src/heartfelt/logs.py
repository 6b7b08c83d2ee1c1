"""Where the log goes: to standard error, or to the file that HEARTFELT_LOG names.

Every module logs to ``logging.getLogger(__name__)``. A program that imports heartfelt sets up logging as for any library; the
command line and the processes of a server call ``configure_logging``.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from heartfelt.errors import InputError

LOG_VARIABLE = "HEARTFELT_LOG"
TRACEBACK_VARIABLE = "HEARTFELT_TRACEBACK"
LEVELS = ("debug", "info", "warning", "error")
_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_logger = logging.getLogger("heartfelt")


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the moment: a progress bar puts its own in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self.stream = sys.stderr
        super().emit(record)


def configure_logging() -> None:
    """Log as HEARTFELT_LOG says: ``level``, ``level:file``, or several with commas; warnings alone where it is not set."""
    remove_handlers()
    for part in os.environ.get(LOG_VARIABLE, "").split(","):
        level, _, file = (text.strip() for text in part.partition(":"))
        if not level and not file:
            continue
        if level.casefold() not in LEVELS:
            raise InputError(
                f"{LOG_VARIABLE} names no level: '{level}'.",
                f"Use {', '.join(LEVELS)}; to write to a file, for example debug:heartfelt.log.",
            )
        handler = _file_handler(file) if file else _StandardError()
        handler.set_name(LOG_VARIABLE)
        handler.setLevel(level.upper())
        handler.setFormatter(logging.Formatter(_LINE))
        _logger.addHandler(handler)
        _logger.setLevel(min(_logger.level or logging.CRITICAL, handler.level))


def be_verbose() -> None:
    """Log everything to standard error and print tracebacks, here and in the processes that this one starts."""
    files = [part for part in os.environ.get(LOG_VARIABLE, "").split(",") if ":" in part]
    os.environ[LOG_VARIABLE] = ",".join([*files, "debug"])
    os.environ[TRACEBACK_VARIABLE] = "1"
    configure_logging()


def shows_tracebacks() -> bool:
    """Whether an unexpected error is printed with its traceback."""
    return bool(os.environ.get(TRACEBACK_VARIABLE))


def remove_handlers() -> None:
    """Undo ``configure_logging``."""
    for handler in [other for other in _logger.handlers if other.get_name() == LOG_VARIABLE]:
        _logger.removeHandler(handler)
        handler.close()
        _logger.setLevel(logging.NOTSET)


def _file_handler(file: str) -> logging.Handler:
    try:
        return logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The log cannot be written to {file}: {error.strerror}.", f"Name another file in {LOG_VARIABLE}."
        ) from error
