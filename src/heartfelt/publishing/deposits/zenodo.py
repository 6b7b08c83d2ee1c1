"""``zenodo`` and ``zenodo:sandbox``: the release as a record on Zenodo, through its REST interface.

Zenodo has no folders, so each folder of the release is sent as a zip file, whose bytes depend on the content alone; files at the
top are sent as they are. Files that are there with the same checksum are not sent again; the number of the deposition is remembered
in the private folder, so that the same command continues an interrupted one. The record stays a draft unless it is to be made
public. ZENODO_TOKEN is the token, ZENODO_ENDPOINT another server that speaks the same contract.
"""

from __future__ import annotations

import hashlib
import html
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from heartfelt.errors import InputError
from heartfelt.extras import require_package
from heartfelt.files import TemporaryFolder
from heartfelt.progress import Progress
from heartfelt.publishing.anonymity.key import private_folder
from heartfelt.publishing.deposits.citation import cited_details
from heartfelt.publishing.deposits.deposit import DEPOSITS, Deposit
from heartfelt.publishing.deposits.files import ReleaseFile
from heartfelt.publishing.deposits.problems import DepositError, refused, token, unreachable, without_secrets
from heartfelt.publishing.options import DepositOptions
from heartfelt.publishing.statements.details import Details
from heartfelt.serialization import read_json, write_json
from heartfelt.wording import data_size

SERVICE, VARIABLE = "Zenodo", "ZENODO_TOKEN"
SITES = {"": "https://zenodo.org", "sandbox": "https://sandbox.zenodo.org"}
MOST_BYTES = 50 * 10**9
"""What a record may hold without asking for more."""
STATE = "zenodo.json"
_CHUNK = 1 << 20
_LICENCES = {"CC0-1.0": "cc-zero"}


@dataclass(frozen=True, slots=True)
class Begun:
    """The deposition that a release was last sent to."""

    endpoint: str
    deposition: int


class Zenodo:
    """A record on Zenodo."""

    name = "zenodo"
    about = "a record on Zenodo, as a draft: zenodo, or zenodo:sandbox to try it"

    def check(self, where: str, options: DepositOptions) -> None:
        """There must be such a site, a token, and a title and authors if details are given."""
        require_package("httpx")
        if where not in SITES:
            raise InputError(f"There is no Zenodo called '{where}'.", "Write zenodo, or zenodo:sandbox.")
        if options.details is not None:
            metadata(options.details, make_public=options.make_public)
        if not options.dry_run:
            _token(where)

    def send(
        self, folder: Path, files: tuple[ReleaseFile, ...], where: str, options: DepositOptions, progress: Progress
    ) -> Deposit:
        """Begin a deposition or continue one, send what is missing, and describe it."""
        target = f"zenodo:{where}" if where else "zenodo"
        parcels = _parcels(files)
        total = sum(file.bytes for parts in parcels.values() for file in parts)
        if total > MOST_BYTES:
            raise InputError(
                f"The release has {data_size(total)}; a record on Zenodo may hold {data_size(MOST_BYTES)}.",
                "Choose fewer layouts, publish links to the media, or ask Zenodo for more space.",
            )
        described = metadata(options.details or cited_details(folder), make_public=options.make_public)
        if options.dry_run:
            planned = tuple(
                ReleaseFile(name, parts[0].path, sum(part.bytes for part in parts), "")
                for name, parts in parcels.items()
            )
            return Deposit(target=target, files=planned, sent=tuple(parcels), dry_run=True)
        endpoint = (os.environ.get("ZENODO_ENDPOINT") or SITES[where]).rstrip("/")
        secret = _token(where)
        state = private_folder(folder, options.private) / STATE
        with Client(endpoint, secret) as client:
            progress("looking at what is there", 0, len(parcels))
            deposition = _deposition(client, state)
            write_json(state, Begun(endpoint, deposition.number))
            sent, present, sizes = [], [], []
            for done, (name, parts) in enumerate(parcels.items()):
                progress("sending files", done, len(parcels))
                parcel = _packed(name, parts)
                sizes.append(ReleaseFile(name, parcel.path, parcel.path.stat().st_size, ""))
                if deposition.checksums.get(name) == parcel.md5:
                    present.append(name)
                    continue
                client.upload(deposition.bucket, parcel)
                sent.append(name)
            removed = tuple(sorted(set(deposition.checksums) - set(parcels)))
            for name in removed:
                client.call("DELETE", f"{deposition.bucket}/{quote(name)}", f"removing {name}")
            record_url = f"{endpoint}/api/deposit/depositions/{deposition.number}"
            client.call("PUT", record_url, "describing the record", {"metadata": described})
            if options.make_public:
                client.call("POST", f"{record_url}/actions/publish", "making the record public")
        notes = () if options.make_public else ("It is a draft until you publish it on Zenodo.",)
        if "license" not in described:
            notes = ("No licence is stated: choose one on Zenodo, which fills in its own.", *notes)
        address = f"{endpoint}/deposit/{deposition.number}"
        return Deposit(
            target=target,
            files=tuple(sizes),
            sent=tuple(sent),
            present=tuple(present),
            removed=removed,
            address=address,
            public=options.make_public,
            notes=notes,
        )


def _token(where: str) -> str:
    return token(VARIABLE, SERVICE, f"{SITES[where]}/account/settings/applications")


def metadata(details: Details, *, make_public: bool = False) -> Mapping[str, object]:
    """What Zenodo asks about a record; an error where title or authors are not stated, or the licence of a public one."""
    if make_public and not details.licence:
        raise InputError(
            "No licence is stated, so Zenodo would publish the record under one of its own choice.",
            "State the licence in publication.yaml (see --details), or leave out --make-public.",
        )
    if not details.title or not details.authors:
        raise InputError(
            "Zenodo needs a title and at least one author.", "State both in publication.yaml (see --details)."
        )
    creators = [
        {
            key: value
            for key, value in (("name", author.name), ("affiliation", author.affiliation), ("orcid", author.orcid))
            if value
        }
        for author in details.authors
    ]
    paragraphs = [details.purpose or details.title, details.limits or ""]
    out: dict[str, object] = {
        "upload_type": "dataset",
        "title": details.title,
        "creators": creators,
        "description": "".join(f"<p>{html.escape(text)}</p>" for text in paragraphs if text),
        "access_right": "open",
        "prereserve_doi": True,
    }
    if details.licence:
        out["license"] = _LICENCES.get(details.licence, details.licence.lower())
    optional = {"version": details.version, "publication_date": details.released}
    out |= {name: value for name, value in optional.items() if value}
    if details.keywords:
        out["keywords"] = list(details.keywords)
    if details.url:
        related = {"identifier": details.url, "relation": "isDocumentedBy", "resource_type": "other"}
        out["related_identifiers"] = [related]
    return out


@dataclass(frozen=True, slots=True)
class Parcel:
    """A file as it is sent."""

    name: str
    path: Path
    md5: str
    keep_alive: object = None


def _parcels(files: Sequence[ReleaseFile]) -> dict[str, list[ReleaseFile]]:
    """What each file on Zenodo is made of: a file at the top, or everything below a folder."""
    out: dict[str, list[ReleaseFile]] = {}
    for file in files:
        top, slash, _ = file.name.partition("/")
        out.setdefault(f"{top}.zip" if slash else top, []).append(file)
    return out


def _packed(name: str, parts: Sequence[ReleaseFile]) -> Parcel:
    if len(parts) == 1 and parts[0].name == name:
        return Parcel(name, parts[0].path, _md5(parts[0].path))
    scratch = TemporaryFolder()
    path = scratch.path / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for part in sorted(parts, key=lambda part: part.name):
            info = zipfile.ZipInfo(part.name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            info.file_size = part.bytes
            with part.path.open("rb") as source, archive.open(info, "w", force_zip64=part.bytes > 2**31) as out:
                while piece := source.read(_CHUNK):
                    out.write(piece)
    return Parcel(name, path, _md5(path), scratch)


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


@dataclass(frozen=True, slots=True)
class Deposition:
    """A deposition as the server describes it."""

    number: int
    bucket: str
    checksums: Mapping[str, str]


def _deposition(client: Client, state: Path) -> Deposition:
    """The deposition that was begun for this release at this server, or a new one."""
    address = f"{client.endpoint}/api/deposit/depositions"
    if state.is_file():
        begun = read_json(state, Begun)
        if begun.endpoint == client.endpoint:
            answer = client.call("GET", f"{address}/{begun.deposition}", "looking for the draft", missing=(404, 410))
            if answer is not None:
                if answer.get("submitted"):
                    raise DepositError(
                        f"The record {begun.deposition} is public already and cannot be changed.",
                        f"Make a new version of it on Zenodo, or remove {state} to begin another record.",
                    )
                return client.described(answer)
    answer = client.call("POST", address, "beginning a record", {})
    return client.described(answer or {})


class Client:
    """Requests to one Zenodo, with the token; nothing is sent to any other host."""

    def __init__(self, endpoint: str, secret: str) -> None:
        import httpx

        self.endpoint, self._secret = endpoint, secret
        timeout = httpx.Timeout(60, write=300, read=300)
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {secret}"}, timeout=timeout, follow_redirects=False
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(
        self, method: str, url: str, action: str, body: object = None, missing: Sequence[int] = ()
    ) -> dict[str, Any] | None:
        """Ask for something and return the answer's object; None where the status is one of ``missing``."""
        response = self._request(method, url, action, json=body)
        if response.status_code in missing:
            return None
        return self._answer(response, action)

    def upload(self, bucket: str, parcel: Parcel) -> None:
        """Send one file; the checksum in the answer must be the one it has here."""
        action, size = f"sending {parcel.name}", parcel.path.stat().st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        url = f"{bucket}/{quote(parcel.name)}"
        answer = self._answer(self._request("PUT", url, action, content=_pieces(parcel.path), headers=headers), action)
        arrived = str(answer.get("checksum", "")).removeprefix("md5:")
        if arrived != parcel.md5:
            raise DepositError(
                f"{parcel.name} has another checksum on Zenodo than here: it was damaged on the way.",
                "Run the same command again: files that differ are sent again.",
            )

    def described(self, answer: Mapping[str, Any]) -> Deposition:
        """A deposition from an answer, with its files; an error for one that cannot be used."""
        try:
            number, bucket = int(answer["id"]), str(answer["links"]["bucket"])
            files = answer.get("files") or []
            checksums = {str(file["filename"]): str(file["checksum"]).removeprefix("md5:") for file in files}
        except (KeyError, TypeError, ValueError) as error:
            raise self._unusable("beginning a record") from error
        endpoint, upload = urlsplit(self.endpoint), urlsplit(bucket)
        if (endpoint.scheme, endpoint.netloc) != (upload.scheme, upload.netloc):
            raise DepositError(
                f"Zenodo asks to send files to another host, {without_secrets(upload.netloc, self._secret)}.",
                "The token is not sent there. Check ZENODO_ENDPOINT.",
            )
        return Deposition(number, bucket.rstrip("/"), checksums)

    def _request(self, method: str, url: str, action: str, **content: Any) -> Any:
        import httpx

        try:
            return self._http.request(method, url, **content)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise unreachable(SERVICE, action, error, self._secret) from None

    def _answer(self, response: Any, action: str) -> dict[str, Any]:
        try:
            answer = response.json() if response.content else {}
        except ValueError:
            answer = None
        if not 200 <= response.status_code < 300:
            message = answer.get("message", "") if isinstance(answer, dict) else ""
            text = without_secrets(str(message), self._secret)
            wait = response.headers.get("Retry-After")
            raise refused(SERVICE, action, response.status_code, text, variable=VARIABLE, retry_after=wait)
        if not isinstance(answer, dict):
            raise self._unusable(action)
        return answer

    def _unusable(self, action: str) -> DepositError:
        return DepositError(
            f"{SERVICE} gave an answer that cannot be used while {action}.",
            f"Check that {self.endpoint} is a Zenodo, and try later.",
        )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


DEPOSITS.add(Zenodo.name, Zenodo())
