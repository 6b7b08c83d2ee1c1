"""A team's side of a challenge, where the server's answer is cut off or not one at all."""

from __future__ import annotations

import socket
import threading

import pytest

from heartfelt.errors import InputError
from heartfelt.web.challenge.client import own_submissions

HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b'content-length: 99\r\n\r\n{"submissions": [',
        HEAD + b'transfer-encoding: chunked\r\n\r\n11\r\n{"submissions": [',
        HEAD + b'\r\n{"submissions": [',
        b"SSH-2.0-OpenSSH\r\n",
    ],
    ids=["stated length", "chunks", "no length", "no HTTP"],
)
def test_an_answer_that_is_cut_off_is_not_a_server_that_cannot_be_reached(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            connection, _ = door.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with pytest.raises(InputError, match=r"cut.*challenge"):
            own_submissions(f"http://127.0.0.1:{door.getsockname()[1]}", "token")
        thread.join()
