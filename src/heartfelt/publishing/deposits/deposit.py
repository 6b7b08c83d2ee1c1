"""What is sent and what came of it; targets such as ``hub:OWNER/NAME`` and ``zenodo:sandbox``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from heartfelt.progress import Progress, no_progress
from heartfelt.publishing.deposits.files import ReleaseFile, release_files
from heartfelt.publishing.options import DepositOptions
from heartfelt.registry import Registry
from heartfelt.wording import data_size, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Deposit:
    """What was sent, or would be."""

    target: str
    files: tuple[ReleaseFile, ...]
    """Everything that belongs to the release, under the names it has there."""
    sent: tuple[str, ...]
    present: tuple[str, ...] = ()
    """Names that were there already with the same content."""
    removed: tuple[str, ...] = ()
    """Files of an earlier release that were taken away."""
    address: str | None = None
    public: bool = False
    dry_run: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def sentences(self) -> list[str]:
        """The deposit to read; a dry run with a line for every file."""
        sizes = {file.name: file.bytes for file in self.files}
        total = data_size(sum(sizes[name] for name in self.sent))
        count = plural(len(self.sent), "file")
        if self.dry_run:
            lines = [f"{file.name}  {data_size(file.bytes)}" for file in self.files]
            return [*lines, f"{count}, {total} would be sent to {self.target}. Nothing was sent.", *self.notes]
        lines = [f"{count}, {total} sent to {self.target}."]
        if self.present:
            lines.append(f"{plural(len(self.present), 'file was', 'files were')} there already.")
        if self.removed:
            lines.append(f"{plural(len(self.removed), 'file')} of an earlier release removed.")
        return [*lines, *([self.address] if self.address else []), *self.notes]


class Depositor(Protocol):
    """A place to send a release to."""

    name: str
    about: str

    def check(self, where: str, options: DepositOptions) -> None:
        """Raise for a place or token that cannot be right, before anything is read or sent."""
        ...

    def send(
        self, folder: Path, files: tuple[ReleaseFile, ...], where: str, options: DepositOptions, progress: Progress
    ) -> Deposit:
        """Send the files that are not there yet; ``where`` is what the target says after its name."""
        ...


_HOME = "heartfelt.publishing.deposits"
DEPOSITS: Registry[Depositor] = Registry("deposit", homes={"hub": f"{_HOME}.hub", "zenodo": f"{_HOME}.zenodo"})


def check_target(target: str, options: DepositOptions | None = None) -> tuple[Depositor, str]:
    """The service that a target names, and the place there; an error for one that cannot be right."""
    name, _, where = target.partition(":")
    depositor = DEPOSITS[name.strip()]
    depositor.check(where.strip(), options or DepositOptions())
    return depositor, where.strip()


def send(
    folder: Path | str, target: str, options: DepositOptions | None = None, progress: Progress | None = None
) -> Deposit:
    """Send the release in ``folder`` to ``target``; what is there already with the same content is not sent again."""
    folder, options = Path(folder), options or DepositOptions()
    depositor, where = check_target(target, options)
    return depositor.send(folder, release_files(folder, options.private), where, options, progress or no_progress)
