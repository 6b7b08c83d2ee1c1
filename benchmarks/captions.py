"""Caption metrics next to pycocoevalcap and lexicalrichness: ``python -m benchmarks captions``.

10,000 captions of 12 words on average with 1 and 5 references that share most of their words. The peers are optional (``pip install
pycocoevalcap lexicalrichness``); they get the same words, and both sides are timed in CPU seconds of this process after a first
call. Every value must agree in all printed digits.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from heartfelt.stats.texts.diversity import diversity
from heartfelt.stats.texts.text import bleu_counts, bleu_value, cider, corpus, mtld
from heartfelt.streams import stream

ITEMS, WORDS = 10_000, 3000


def captions(references: int) -> tuple[list[str], list[list[str]]]:
    """Captions, and references in which a third of the words is another."""
    draw = stream(14, "benchmarks", "captions", references)
    named = ["".join(chr(97 + k // 26**p % 26) for p in range(3)) for k in range(WORDS)]
    texts, heard = [], []
    for _ in range(ITEMS):
        own = (WORDS * draw.random(int(draw.integers(8, 17))) ** 3).astype(int)
        texts.append(" ".join(named[k] for k in own))
        several = []
        for _ in range(references):
            other = (WORDS * draw.random(own.size) ** 3).astype(int)
            changed = draw.random(own.size) < 1 / 3
            several.append(" ".join(named[a if c else b] for a, b, c in zip(other, own, changed, strict=True)))
        heard.append(several)
    return texts, heard


def timed(call: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """What a call gives, and the median of its CPU seconds."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        result = call()
        seconds.append(time.process_time() - start)
    return result, statistics.median(seconds)


def compared(name: str, ours: Callable[[], float], theirs: Callable[[], float] | None) -> None:
    ours()
    value, seconds = timed(ours)
    if theirs is None:
        print(f"{name:34s} {value:.6f}  {seconds:7.3f} s  the peer is not installed", flush=True)
        return
    peer, peer_seconds = timed(theirs, 1)
    same = "equal" if f"{value:.6f}" == f"{peer:.6f}" else "DIFFERENT"
    ratio = peer_seconds / seconds
    print(
        f"{name:34s} {value:.6f} {peer:.6f} {same}  {seconds:7.3f} s  {peer_seconds:7.3f} s  {ratio:5.1f}x", flush=True
    )


def _coco(name: str) -> Callable[[], Any] | None:
    try:
        if name == "BLEU":
            from pycocoevalcap.bleu.bleu import Bleu

            return lambda: Bleu(4)
        from pycocoevalcap.cider.cider import Cider

        return lambda: Cider()
    except ImportError:
        return None


def _lexical_richness() -> Any:
    try:
        from lexicalrichness import LexicalRichness
    except ImportError:
        return None
    return LexicalRichness


def main() -> None:
    print(f"{os.cpu_count()} cores")
    for references in (1, 5):
        texts, heard = captions(references)
        given = dict(enumerate(heard)), {place: [text] for place, text in enumerate(texts)}
        bleu_peer, cider_peer = _coco("BLEU"), _coco("CIDEr")
        compared(
            f"BLEU-4, {references} references",
            lambda: float(bleu_value(bleu_counts(corpus(texts, heard)).sum(axis=0)[None])[0]),  # noqa: B023 - called in this turn of the loop
            bleu_peer and (lambda: float(bleu_peer().compute_score(*given, verbose=0)[0][3])),  # noqa: B023 - called in this turn of the loop
        )
        compared(
            f"CIDEr-D, {references} references",
            lambda: float(cider(texts, heard).mean()),  # noqa: B023 - called in this turn of the loop
            cider_peer and (lambda: float(cider_peer().compute_score(*given)[0])),  # noqa: B023 - called in this turn of the loop
        )
    texts, _ = captions(1)
    rich = _lexical_richness()
    compared(
        "MTLD, mean of 10,000 captions",
        lambda: float(mtld(texts).mean()),
        rich and (lambda: statistics.fmean(rich(text).mtld() for text in texts)),
    )
    whole = " ".join(texts)
    compared(
        "MTLD, captions read as one text", lambda: float(mtld([whole])[0]), rich and (lambda: float(rich(whole).mtld()))
    )
    _, seconds = timed(lambda: diversity(texts * 8))
    print(f"all measures with intervals, {sum(len(text.split()) for text in texts) * 8:,} words: {seconds:.2f} s")


if __name__ == "__main__":
    main()
