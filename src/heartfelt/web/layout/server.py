"""A server for looking at pages: each page by its number, the pages' own files, and stimuli that say nothing."""

from __future__ import annotations

import io
import struct
import threading
import wave
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from heartfelt.web.rater.pages import Pages, assets

if TYPE_CHECKING:
    from heartfelt.formats.study_folder.manifest import OpenStudy
    from heartfelt.web.layout.pages import DrawnPage

_NOTHING = b"{}"


@contextmanager
def page_server(opened: OpenStudy, pages: Sequence[DrawnPage]) -> Iterator[str]:
    """Serve pages at ``/rate?page=0`` and so on while the block runs; yields the address."""
    rendered = Pages(opened.study, opened.folder)
    files, _ = assets()
    picture = opened.study.media == "image"

    def content(address: str) -> tuple[int, bytes, str]:
        path, query = urlsplit(address).path, parse_qs(urlsplit(address).query)
        name = path.rpartition("/")[2]
        if path == "/rate" and "page" in query:
            page = pages[int(query["page"][0])]
            return 200, rendered.html(page.language, dict(page.step)).encode(), "text/html; charset=utf-8"
        if path.startswith("/static/") and name in files:
            return 200, files[name].content, files[name].content_type
        if path.startswith("/rate/picture/") or (path.startswith("/media/") and picture):
            return 200, _picture(), "image/png"
        if path.startswith("/media/"):
            return 200, _silence(), "audio/wav"
        return 404, _NOTHING, "application/json"

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body, kind = content(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            cacheable = self.path.startswith("/static/")
            self.send_header("Cache-Control", "max-age=3600, immutable" if cacheable else "no-store")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def log_message(self, format: str, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@cache
def _silence() -> bytes:
    """A second of silence."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * 8000))
    return out.getvalue()


@cache
def _picture() -> bytes:
    """A grey picture of 4 by 3 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\x80" * 4) * 3
    head = struct.pack(">IIBBBBB", 4, 3, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
