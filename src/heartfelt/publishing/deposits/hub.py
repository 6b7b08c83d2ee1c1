"""``hub:OWNER/NAME``: the release as a dataset on the Hugging Face hub, through its own client.

Files that are there with the same content are not sent again, so an interrupted push is continued by the same command. The card
(README.md) goes last, together with the removal of files that an earlier release left in the folders of this one. HF_TOKEN is the
token, HF_ENDPOINT another server that speaks the same contract.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.extras import require_extra
from heartfelt.failures import is_bug
from heartfelt.progress import Progress
from heartfelt.publishing.deposits.deposit import DEPOSITS, Deposit
from heartfelt.publishing.deposits.files import ReleaseFile, git_blob_id
from heartfelt.publishing.deposits.problems import DepositError, refused, token, unreachable, without_secrets
from heartfelt.publishing.options import DepositOptions

SERVICE, VARIABLE = "The Hugging Face hub", "HF_TOKEN"
CARD = "README.md"
COMMIT_FILES, COMMIT_BYTES = 100, 2 * 2**30
"""At most so much in one commit."""


class Hub:
    """A dataset on the Hugging Face hub."""

    name = "hub"
    about = "a dataset on the Hugging Face hub: hub:OWNER/NAME"

    def check(self, where: str, options: DepositOptions) -> None:
        """The name must be one of a dataset, and there must be a token."""
        require_extra("hub")
        _repository(where)
        if not options.dry_run:
            _token()

    def send(
        self, folder: Path, files: tuple[ReleaseFile, ...], where: str, options: DepositOptions, progress: Progress
    ) -> Deposit:
        """Make the dataset where it is missing, and commit what differs."""
        del folder
        repository = _repository(where)
        target = f"hub:{repository}"
        if options.dry_run:
            return Deposit(target=target, files=files, sent=tuple(file.name for file in files), dry_run=True)
        dataset = _Dataset(repository, _token())
        progress("looking at what is there", 0, len(files))
        remote = dataset.files(f"looking for {repository}")
        if remote is None:
            with dataset.explained(f"making the dataset {repository}"):
                dataset.api.create_repo(repository, repo_type="dataset", private=not options.make_public, exist_ok=True)
        missing = [file for file in files if not _same(file, (remote or {}).get(file.name))]
        removed = _stale(files, remote or {})
        dataset.commit(missing, removed, len(files) - len(missing), len(files), progress)
        after = dataset.files("checking what arrived") or {}
        wrong = [file.name for file in files if not _same(file, after.get(file.name))]
        if wrong:
            raise DepositError(
                f"{wrong[0]} has another checksum on {repository} than here ({len(wrong)} files).",
                "Run the same command again: files that differ are sent again.",
            )
        public = dataset.is_public(make_public=options.make_public)
        sent = tuple(file.name for file in missing)
        return Deposit(
            target=target,
            files=files,
            sent=sent,
            present=tuple(file.name for file in files if file.name not in sent),
            removed=removed,
            address=f"{dataset.api.endpoint}/datasets/{repository}",
            public=public,
            notes=() if public else ("The dataset is private until you make it public.",),
        )


class _Dataset:
    """One dataset on the hub, through the hub's own client; its errors say what was being done, and never the token."""

    def __init__(self, repository: str, secret: str) -> None:
        from huggingface_hub import HfApi

        self.repository, self._secret = repository, secret
        self.api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=secret, library_name="heartfelt")

    @contextmanager
    def explained(self, action: str) -> Iterator[None]:
        """Turn whatever the client raises into a problem and a fix."""
        try:
            yield
        except HeartfeltError:
            raise
        except Exception as error:
            if is_bug(error):
                raise
            # The client raises errors of many kinds, some wrapped in others.
            raise _problem(action, self._secret, error) from None

    def files(self, action: str) -> dict[str, Any] | None:
        """The files of the dataset by name; None where there is no such dataset."""
        with self.explained(action):
            return _remote_files(self.api, self.repository)

    def commit(
        self, missing: Sequence[ReleaseFile], removed: Sequence[str], done: int, total: int, progress: Progress
    ) -> None:
        """Send what is missing in commits of a limited size, the last of which removes what is stale."""
        commits = _commits(missing)
        for number, batch in enumerate(commits, 1):
            progress("sending files", done, total)
            stale = removed if number == len(commits) else ()
            with self.explained(f"sending {batch[0].name} and {len(batch) - 1} more"), _without_bars():
                _commit(self.api, self.repository, batch, stale, f"{number} of {len(commits)}")
            done += len(batch)
        if removed and not commits:
            with self.explained("removing files of an earlier release"):
                _commit(self.api, self.repository, (), removed, "removed files")

    def is_public(self, *, make_public: bool) -> bool:
        """Whether everybody can see the dataset, after it was made public where that is asked for."""
        with self.explained("asking who can see the dataset"):
            public = not self.api.dataset_info(self.repository).private
        if make_public and not public:
            with self.explained("making the dataset public"):
                self.api.update_repo_settings(self.repository, repo_type="dataset", private=False)
        return public or make_public


def _token() -> str:
    return token(VARIABLE, "the Hugging Face hub", "https://huggingface.co/settings/tokens")


def _repository(where: str) -> str:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(where)
        valid = where.count("/") == 1
    except HFValidationError:
        valid = False
    if not valid:
        raise InputError(
            f"'{where}' is not the name of a dataset on the hub.",
            "Write hub:OWNER/NAME, with letters, digits, '-', '_' and '.'.",
        )
    return where


def _remote_files(api: Any, repository: str) -> dict[str, Any] | None:
    """The files of the dataset by name; None where there is no such dataset."""
    from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        tree = list(api.list_repo_tree(repository, repo_type="dataset", recursive=True))
    except RepositoryNotFoundError as error:
        if error.response.status_code == 401:
            raise
        return None
    except (RevisionNotFoundError, EntryNotFoundError):  # made, and still empty
        return {}
    return {remote_file.path: remote_file for remote_file in tree if hasattr(remote_file, "blob_id")}


def _same(file: ReleaseFile, remote: Any) -> bool:
    if remote is None or remote.size != file.bytes:
        return False
    if remote.lfs is not None:
        return bool(remote.lfs.sha256 == file.sha256)
    return bool(remote.blob_id == git_blob_id(file.path))


def _stale(files: Sequence[ReleaseFile], remote: dict[str, Any]) -> tuple[str, ...]:
    """What an earlier release left in folders that this one has."""
    names = {file.name for file in files}
    folders = {name.split("/")[0] for name in names if "/" in name}
    return tuple(sorted(name for name in remote if name not in names and name.split("/")[0] in folders))


def _commits(files: Sequence[ReleaseFile]) -> list[list[ReleaseFile]]:
    out: list[list[ReleaseFile]] = []
    size = 0
    for file in sorted(files, key=lambda file: (file.name == CARD, file.name)):
        if not out or len(out[-1]) >= COMMIT_FILES or size + file.bytes > COMMIT_BYTES:
            out.append([])
            size = 0
        out[-1].append(file)
        size += file.bytes
    return out


def _commit(api: Any, repository: str, files: Sequence[ReleaseFile], removed: Sequence[str], which: str) -> None:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    operations: list[Any] = [CommitOperationAdd(file.name, file.path) for file in files]
    operations += [CommitOperationDelete(name) for name in removed]
    api.create_commit(repository, operations, commit_message=f"Published with heartfelt ({which})", repo_type="dataset")


@contextmanager
def _without_bars() -> Iterator[None]:
    """Without the client's own bars, one per file."""
    from huggingface_hub import utils

    shown = not utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            utils.enable_progress_bars()


def _problem(action: str, secret: str, error: BaseException) -> DepositError:
    """The error to show; the client's own may hold the token, so it is not chained."""
    response = getattr(error, "response", None)
    if response is not None:
        message = without_secrets(str(getattr(error, "server_message", None) or ""), secret)
        wait = response.headers.get("Retry-After")
        return refused(SERVICE, action, response.status_code, message, variable=VARIABLE, retry_after=wait)
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, OSError) or "TransportError" in names:
        return unreachable(SERVICE, action, error, secret)
    if error.__cause__ is not None:
        return _problem(action, secret, error.__cause__)
    reason = without_secrets(str(error), secret).rstrip(".") or type(error).__name__
    return DepositError(
        f"{SERVICE} gave an answer that cannot be used while {action}: {reason}.",
        "Check HF_ENDPOINT, and that huggingface_hub is up to date.",
    )


DEPOSITS.add(Hub.name, Hub())
