"""The command line: each command parses, calls one public function, and renders."""

from __future__ import annotations

import codecs
import errno
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import print_exception

PLAIN_LETTERS = str.maketrans(
    {"…": "...", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=", "•": "*", "→": "->", "é": "e"}
    | dict.fromkeys("–—−·━╸╺", "-")
    | dict.fromkeys("“”", '"')
    | dict.fromkeys("‘’", "'")
    | dict.fromkeys("█▉▊▋▓", "#")
    | dict.fromkeys("▌▍▒", "+")
    | dict.fromkeys("▎▏░", ".")
)
"""What a terminal that knows few letters shows in place of others."""
INTERRUPTED = 130
"""The exit code of a command that was stopped with Ctrl-C, as shells count: 128 and the number of the signal."""
SHOW_CURSOR = "\x1b[?25h"
"""What a terminal is told to show its cursor, which a progress bar hides and might not have shown again."""
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_SPACE_WORDS = (
    "No space left",
    "disk is full",
    "Disk quota",
    "File too large",
    *(f"os error {n}" for n in _NO_SPACE),
)
_log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Run a command. A mistake of the user's is two lines and exit code 2, never a traceback; a bug ends it with 1."""
    codecs.register_error("heartfelt-plain", _plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="heartfelt-plain")
    try:
        with _environment():
            code = _run(arguments)
    except KeyboardInterrupt:  # while the commands are loaded; one that runs ends with an Interrupted
        code = _stopped()
    if arguments is not None:
        return code
    if code == INTERRUPTED:
        # A second Ctrl-C does not wait for the threads that are still at work.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if sys.stderr.isatty():
            sys.stderr.write(SHOW_CURSOR)
    sys.exit(code)


@contextmanager
def _environment() -> Iterator[None]:
    """Undo what ``--verbose`` sets when the command is over: a program may run several in one process."""
    from heartfelt.logs import LOG_VARIABLE, TRACEBACK_VARIABLE, remove_handlers

    before = {name: os.environ.get(name) for name in (LOG_VARIABLE, TRACEBACK_VARIABLE)}
    try:
        yield
    finally:
        remove_handlers()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _run(arguments: list[str] | None) -> int:
    """Run a command; the bugs of its parts are printed when the others are complete, and make its exit code 1."""
    from heartfelt.failures import collect_bugs

    with collect_bugs() as bugs:
        code = _run_command(arguments)
    for bug in bugs:
        _print_traceback(bug.error)
        _say(f"heartfelt failed in {bug.summary}", "", 1, _notes(bug.error))
    if bugs:
        complete = "" if code else "Everything else is complete. "
        _say(f"{complete}{_report_words()}", "", 1)
    return code or (1 if bugs else 0)


def _run_command(arguments: list[str] | None) -> int:
    from typer import Abort, Exit

    from heartfelt.cli.app import command_tree
    from heartfelt.errors import HeartfeltError
    from heartfelt.extras import names_the_extra
    from heartfelt.logs import configure_logging

    streams = sys.stdout, sys.stderr
    try:
        try:
            configure_logging()
            words = sys.argv[1:] if arguments is None else arguments
            tree = command_tree(next((word for word in words if not word.startswith("-")), None))
            result = names_the_extra(tree)(args=arguments, prog_name="heartfelt", standalone_mode=False)
        finally:
            # A progress bar puts its own in their place, and leaves them there if Ctrl-C comes as it ends.
            sys.stdout, sys.stderr = streams
        # Polars may raise Ctrl-C a second time, while the first is reported; Typer makes a silent exit of that.
        return _stopped() if result == INTERRUPTED else result if isinstance(result, int) else 0
    except HeartfeltError as error:
        _log_cause(error)
        return _say(error.problem, error.fix, error.exit_code, error.details)
    except Exit as error:
        return error.exit_code
    except Abort:
        return _say("Stopped. Nothing was changed.", "", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:  # noqa: BLE001 - the outermost edge: whatever happens, a person gets two lines
        return _explain(error)


def _explain(error: Exception) -> int:
    """Two lines about a mistake in the command, a full disk, the system, or a fault of heartfelt's."""
    usage = getattr(error, "format_message", None)
    if usage is not None:
        hint = "See 'heartfelt --help' or 'heartfelt COMMAND --help'."
        # A group without a command has printed its help, and has nothing to add.
        return _say(usage(), hint, 2) if usage() else 2
    if _is_full(error):
        locations = f"where the output goes, and in the temporary folder {tempfile.gettempdir()}"
        fix = f"Free some space {locations}, and run the command again."
        return _say("The disk is full; the output was not written.", fix, 2)
    if isinstance(error, OSError):
        _log_cause(error)
        problem = f"{error.filename or 'The system'}: {error.strerror or error}."
        return _say(problem, "Check the path, its permissions and the space left.", 2)
    _print_traceback(error)
    return _say(f"heartfelt failed: {type(error).__name__}: {error}", _report_words(), 1, _notes(error))


def _notes(error: Exception) -> tuple[str, ...]:
    """What was added to an error on its way: which part of the work it ended."""
    return tuple(getattr(error, "__notes__", ()))


def _log_cause(error: Exception) -> None:
    """Log where an expected error comes from, if it was made from another one."""
    if error.__cause__ is not None:
        _log.debug("the command ended with %s", type(error).__name__, exc_info=error)


def _print_traceback(error: Exception) -> None:
    from heartfelt.logs import shows_tracebacks

    if shows_tracebacks():
        print_exception(error, file=sys.stderr)


def _report_words() -> str:
    from heartfelt.logs import shows_tracebacks

    if shows_tracebacks():
        return "This is a bug in heartfelt; please report it with the traceback."
    return "This is a bug in heartfelt: run the command again with --verbose to see where, and please report it."


def _is_full(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that a disk is full; libraries wrap it in errors of their own."""
    while error is not None:
        words = str(error)
        if getattr(error, "errno", None) in _NO_SPACE or any(text in words for text in _NO_SPACE_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    transliterated = error.object[error.start : error.end].translate(PLAIN_LETTERS)
    return "".join(letter if letter.isascii() else "?" for letter in transliterated), error.end


def _stopped() -> int:
    from heartfelt.errors import Interrupted

    stopped = Interrupted()
    return _say(stopped.problem, stopped.fix, stopped.exit_code)


def _say(problem: str, fix: str, code: int, details: tuple[str, ...] = ()) -> int:
    print(" ".join(problem.split()), file=sys.stderr)
    for line in details:
        print(line, file=sys.stderr)
    if fix:
        print(" ".join(fix.split()), file=sys.stderr)
    return code
