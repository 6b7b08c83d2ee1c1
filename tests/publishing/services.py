"""Loopback servers that speak the contracts of the Hugging Face hub and of Zenodo, and can be told to fail."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class Fault:
    """What to answer once in place of the right thing; without a status the connection is dropped."""

    method: str
    path: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"message": "no", "error": "no"}'
    times: int = 1
    after: int = 0
    """How many such requests are answered rightly first."""


@dataclass
class Service:
    """A server's state: what it holds, what it was asked, and how it will fail."""

    url: str = ""
    token: str = "secret-token-0123"
    requests: list[tuple[str, str]] = field(default_factory=list)
    received: int = 0
    faults: list[Fault] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    exists: bool = False
    private: bool | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    submitted: bool = False
    bucket: str | None = None
    spoil: bool = False
    """Damage what is stored."""

    def is_private(self) -> bool:
        return bool(self.private)

    def is_public(self) -> bool:
        return self.submitted

    def uploads(self) -> list[str]:
        return [path for method, path in self.requests if method == "PUT"]


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Base(BaseHTTPRequestHandler):
    """Reads the request, checks the token, and lets the subclass answer."""

    protocol_version = "HTTP/1.1"
    service: Service

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path = unquote(urlsplit(self.path).path)
        self.service.requests.append((self.command, path))
        self.service.received += len(body)
        for fault in self.service.faults:
            if fault.times and fault.method == self.command and fault.path in path:
                if fault.after:
                    fault.after -= 1
                    continue
                fault.times -= 1
                if fault.status is None:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.answer(fault.status, fault.body, fault.headers)
                return
        if self.headers.get("Authorization") != f"Bearer {self.service.token}" and not path.startswith("/lfs/"):
            self.answer(401, b'{"message": "bad token", "error": "bad token"}')
            return
        self.respond(path, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _handle  # the names that http.server looks for

    def answer(self, status: int, content: object = b"", headers: dict[str, str] | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def respond(self, path: str, body: bytes) -> None:
        raise NotImplementedError


class HubHandler(Base):
    """Datasets: create, list, preupload, LFS batch, commit."""

    def respond(self, path: str, body: bytes) -> None:
        service = self.service
        if path == "/api/repos/create":
            service.exists, service.private = True, json.loads(body).get("private")
            if service.private is None:
                service.private = json.loads(body).get("visibility") == "private"
            self.answer(200, {"url": f"{service.url}/datasets/me/moods", "name": "me/moods"})
        elif path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif path == "/api/datasets/me/moods" and self.command == "GET":
            self.answer(200, {"id": "me/moods", "private": service.private, "tags": [], "siblings": []})
        elif path.endswith("/settings"):
            service.private = False
            self.answer(200, {})
        elif "/tree/" in path:
            if not service.exists:
                self.answer(404, {"error": "no"}, {"X-Error-Code": "RepoNotFound"})
                return
            self.answer(200, [self._entry(name) for name in service.files])
        elif "/preupload/" in path:
            files = json.loads(body)["files"]
            large = (".parquet", ".wav", ".tar")
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(large) else "regular",
                    "shouldIgnore": False,
                }
                for file in files
            ]
            self.answer(200, {"files": modes})
        elif path.endswith("/info/lfs/objects/batch"):
            self.answer(200, {"transfer": "basic", "objects": [self._lfs(one) for one in json.loads(body)["objects"]]})
        elif path.startswith("/lfs/"):
            oid = path.rpartition("/")[2]
            if hashlib.sha256(body).hexdigest() != oid:
                self.answer(400)
                return
            service.large[oid] = body
            self.answer(200)
        elif "/commit/" in path:
            for line in body.splitlines():
                self._apply(json.loads(line))
            self.answer(
                200, {"commitUrl": f"{service.url}/datasets/me/moods/commit/0", "commitOid": "0" * 40, "success": True}
            )
        else:
            self.answer(404, {"error": "no such page"}, {"X-Error-Code": "EntryNotFound"})

    def _entry(self, name: str) -> dict[str, object]:
        content = self.service.files[name]
        entry: dict[str, object] = {"type": "file", "path": name, "size": len(content), "oid": blob_id(content)}
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 in self.service.large:
            entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
        return entry

    def _lfs(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["oid"] in self.service.large:
            return {"oid": asked["oid"], "size": asked["size"]}
        return {**asked, "actions": {"upload": {"href": f"{self.service.url}/lfs/{asked['oid']}"}}}

    def _apply(self, operation: dict[str, Any]) -> None:
        files, value = self.service.files, operation["value"]
        if operation["key"] == "file":
            content = base64.b64decode(value["content"])
            files[value["path"]] = content + b"!" if self.service.spoil else content
        elif operation["key"] == "lfsFile":
            files[value["path"]] = self.service.large[value["oid"]]
        elif operation["key"] == "deletedFile":
            del files[value["path"]]


class ZenodoHandler(Base):
    """Depositions and buckets."""

    def respond(self, path: str, body: bytes) -> None:
        service, here = self.service, "/api/deposit/depositions"
        if path == here and self.command == "POST":
            service.exists = True
            self.answer(201, self._deposition())
        elif path.startswith("/api/files/bucket/") and self.command == "PUT":
            name = path.removeprefix("/api/files/bucket/")
            service.files[name] = body + b"!" if service.spoil else body
            self.answer(200, {"key": name, "checksum": f"md5:{_md5(service.files[name])}", "size": len(body)})
        elif path.startswith("/api/files/bucket/") and self.command == "DELETE":
            del service.files[path.removeprefix("/api/files/bucket/")]
            self.answer(204)
        elif path == f"{here}/7" and self.command == "PUT":
            service.metadata = json.loads(body)["metadata"]
            self.answer(200, self._deposition())
        elif path == f"{here}/7" and service.exists:
            self.answer(200, self._deposition())
        elif path == f"{here}/7/actions/publish":
            service.submitted = True
            self.answer(202, self._deposition())
        else:
            self.answer(404, {"message": "PID does not exist."})

    def _deposition(self) -> dict[str, object]:
        files = [{"filename": n, "checksum": _md5(c), "filesize": len(c)} for n, c in self.service.files.items()]
        bucket = self.service.bucket or f"{self.service.url}/api/files/bucket"
        return {"id": 7, "links": {"bucket": bucket}, "files": files, "submitted": self.service.submitted}


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@contextmanager
def serving(handler: type[Base]) -> Iterator[Service]:
    """The service at a free port of this machine, until the block ends."""
    service = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), {"service": service}))
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
