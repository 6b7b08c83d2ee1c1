"""The SHA-256 of every file of a release, in the form that ``sha256sum -c`` reads."""

from __future__ import annotations

from pathlib import Path

from heartfelt.errors import DamagedError
from heartfelt.files import sha256_of, write_text
from heartfelt.progress import Progress

CHECKSUMS = "CHECKSUMS.sha256"


def published_files(folder: Path) -> list[Path]:
    """Every file of a release but its list of checksums, in a fixed order."""
    return sorted(
        (path for path in folder.rglob("*") if path.is_file() and path != folder / CHECKSUMS),
        key=lambda path: path.relative_to(folder).as_posix(),
    )


def write_checksums(folder: Path, progress: Progress | None = None) -> Path:
    """Write the hash of every other file of ``folder``; call it last."""
    paths, lines = published_files(folder), []
    for done, path in enumerate(paths, 1):
        lines.append(_line(sha256_of(path), path.relative_to(folder).as_posix()))
        if progress is not None:
            progress("computing checksums", done, len(paths))
    write_text(folder / CHECKSUMS, "".join(lines))
    return folder / CHECKSUMS


def check_checksums(folder: Path) -> None:
    """Raise if a file is missing, changed, or not listed."""
    listed = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines(keepends=True)
    have = {path.relative_to(folder).as_posix(): path for path in published_files(folder)}
    due = {_line(sha256_of(path), name): name for name, path in have.items()}
    changed = sorted(set(due.values()) - {due[line] for line in listed if line in due})
    absent = [line for line in listed if line not in due]
    if changed or absent:
        difference = changed[0] if changed else absent[0].strip()
        raise DamagedError(
            f"{folder} is not as it was published: {difference} ({len(changed) + len(absent)} lines of {CHECKSUMS}).",
            "Download it again, or publish it again.",
        )


def _line(digest: str, name: str) -> str:
    """A line of sha256sum; names with a backslash or a line break are escaped as it does."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{chr(92) if escaped != name else ''}{digest}  {escaped}\n"
