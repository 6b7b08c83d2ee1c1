"""Chromium for the benchmarks that look at pages."""

from __future__ import annotations

import shutil


def chromium() -> str | None:
    """Where Chromium is; None, after saying so, where it or Playwright is missing."""
    try:
        import playwright.sync_api  # noqa: F401  # only whether it is there
    except ImportError:
        print("left out: Playwright is not installed")
        return None
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        print("left out: there is no Chromium")
    return path
