"""Padding in Ogg files: a long comment, for which the pages behind it are numbered and summed again."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from heartfelt.media.metadata.ogg import checksum
from heartfelt.media.metadata.pieces import Noise, Piece, Span, StrippedFile, length_of, read_pieces

_HEAD = 27
_MAX_SEGMENTS = 255
_CONTINUED = 1
_NO_PACKET_ENDS = b"\xff" * 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """One page of a file without metadata."""

    start: int
    head: bytes
    lacing: bytes
    body: int
    """Where its content begins."""
    stop: int

    @property
    def serial(self) -> bytes:
        return self.head[14:18]


def pad_ogg(file: StrippedFile, extra: int, seed: bytes) -> list[Piece]:
    """Lengthen the comments of the first stream; what does not come out even stands behind the last page."""
    clean = read_pieces(file.data, file.parts)
    pages = list(_pages(clean))
    located = _comment_pages(clean, pages)
    if located is None:
        return [*file.parts, Noise(seed, extra)]
    first, last, packet, remainder, rest_lacing = located
    old = pages[last].stop - pages[first].start
    # A segment needs a byte of lacing and 255 of them a page; a little less is asked for, and the rest filled behind.
    longer = max(0, extra - extra // 255 - (extra // (255 * 255) + 2) * _HEAD - 300)
    comments = _with_comment(packet, Noise(seed, longer))
    relaid = _laid_out(pages[first], pages[last], comments, remainder, rest_lacing)
    shift = len(relaid) - (last - first + 1)
    out: list[Piece] = [clean[: pages[first].start], *relaid]
    for page in pages[last + 1 :]:
        if page.serial == pages[first].serial:
            out += _renumbered(file, clean, page, shift)
        else:
            out.append(_stretch(file, clean, page.start, page.stop))
    padding = extra + old - sum(map(length_of, relaid))
    return [*out, Noise(seed + b"end", padding)]


def _pages(clean: bytes) -> Iterator[_Page]:
    at = 0
    while at + _HEAD <= len(clean) and clean[at : at + 4] == b"OggS":
        body = at + _HEAD + clean[at + 26]
        lacing = clean[at + _HEAD : body]
        stop = body + sum(lacing)
        if stop > len(clean):
            return
        yield _Page(start=at, head=clean[at : at + _HEAD], lacing=lacing, body=body, stop=stop)
        at = stop


def _comment_pages(clean: bytes, pages: list[_Page]) -> tuple[int, int, bytes, bytes, bytes] | None:
    """First and last page of the first stream's second packet, the packet, and what follows it on its last page."""
    packet = b""
    ours = [number for number, page in enumerate(pages) if page.serial == pages[0].serial]
    for number in ours[1:]:
        page, at = pages[number], pages[number].body
        for segment, size in enumerate(page.lacing):
            packet += clean[at : at + size]
            at += size
            if size < 255:
                if ours[1] + ours.index(number) - 1 != number:
                    return None  # other streams' pages lie between
                return ours[1], number, packet, clean[at : page.stop], page.lacing[segment + 1 :]
    return None


def _with_comment(packet: bytes, noise: Noise) -> bytes:
    """The comment packet with one comment; it holds none before."""
    comment = b"-=" + noise.read(0, noise.size)
    counted = struct.pack("<III", 0, 1, len(comment)) + comment
    for start, end in ((b"\x03vorbis", b"\x01"), (b"OpusTags", b""), (b"\x81theora", b"")):
        if packet.startswith(start):
            return start + counted + end
    if packet[:1] in {b"\x04", b"\x84"}:  # the comments of FLAC in Ogg, a block of its own
        return packet[:1] + min(len(counted), 0xFFFFFF).to_bytes(3, "big") + counted
    return counted


def _laid_out(first: _Page, last: _Page, packet: bytes, remainder: bytes, rest_lacing: bytes) -> list[bytes]:
    """A packet, and what followed the one in whose place it stands, on as many pages as it needs."""
    lacing = b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) + rest_lacing
    content = packet + remainder
    (number,) = struct.unpack_from("<I", first.head, 18)
    out: list[bytes] = []
    at = 0
    for begin in range(0, len(lacing), _MAX_SEGMENTS):
        segments = lacing[begin : begin + _MAX_SEGMENTS]
        size = sum(segments)
        final = begin + _MAX_SEGMENTS >= len(lacing)
        ends = any(segment < 255 for segment in segments)
        position = last.head[6:14] if final else bytes(8) if ends else _NO_PACKET_ENDS
        continued = _CONTINUED if begin and lacing[begin - 1] == 255 else 0
        flags = (last.head[5] & ~_CONTINUED if final else 0) | continued
        head = b"OggS\0" + bytes([flags]) + position + first.serial + struct.pack("<II", number, 0)
        out.append(_summed(head + bytes([len(segments)]) + segments + content[at : at + size]))
        at += size
        number += 1
    return out


def _renumbered(file: StrippedFile, clean: bytes, page: _Page, shift: int) -> list[Piece]:
    (number,) = struct.unpack_from("<I", page.head, 18)
    head = page.head[:18] + struct.pack("<II", number + shift, 0) + page.head[26:]
    content = clean[page.start + _HEAD : page.stop]
    return [_summed(head + content)[:_HEAD], _stretch(file, clean, page.start + _HEAD, page.stop)]


def _stretch(file: StrippedFile, clean: bytes, start: int, stop: int) -> Piece:
    """A part of the clean file: a reference to the original where it has the same bytes in the same place."""
    content = clean[start:stop]
    return Span(start, stop) if file.data[start:stop] == content else content


def _summed(page: bytes) -> bytes:
    return page[:22] + struct.pack("<I", checksum(page)) + page[26:]
