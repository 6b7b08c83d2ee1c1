"""The command line: each command parses, calls one public function, and renders."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command. A mistake of the user's is two lines and exit code 2, never a traceback."""
    from heartfelt.cli.app import app
    from heartfelt.errors import HeartfeltError

    try:
        result = app(args=arguments, prog_name="heartfelt", standalone_mode=False)
        code = result if isinstance(result, int) else 0
    except HeartfeltError as error:
        code = _say(error.problem, error.fix, error.exit_code)
    except KeyboardInterrupt:
        code = _say("Stopped.", "What was complete is kept; run the command again to go on.", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:
        code = _say(
            f"{error.filename or 'The system'}: {error.strerror or error}.",
            "Check the path, its permissions and the space left.",
            2,
        )
    except Exception as error:  # noqa: BLE001 - the outermost edge: whatever happens, a person gets two lines
        code = _edge(error)
    if arguments is None:
        sys.exit(code)
    return code


def _edge(error: Exception) -> int:
    """Usage mistakes carry their own words; anything else is a fault of heartfelt's."""
    words = getattr(error, "format_message", None)
    if words is not None:
        return _say(
            words() or "The command is incomplete.",
            "See 'heartfelt --help' or 'heartfelt COMMAND --help'.",
            2,
        )
    if type(error).__name__ == "Exit":
        return int(getattr(error, "exit_code", 0))
    if type(error).__name__ == "Abort":
        return _say("Stopped.", "Nothing was changed.", 130)
    if os.environ.get("HEARTFELT_TRACEBACK"):
        raise error
    return _say(
        f"heartfelt failed: {type(error).__name__}: {error}",
        "This is a fault in heartfelt. Set HEARTFELT_TRACEBACK=1 and run again to see where; please report it.",
        1,
    )


def _say(problem: str, fix: str, code: int) -> int:
    for line in (problem, fix):
        print(" ".join(line.split()), file=sys.stderr)
    return code
