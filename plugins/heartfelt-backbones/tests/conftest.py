"""The plug-in from the repository, where it is not installed."""

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("heartfelt_backbones") is None:
    sys.path.append(str(Path(__file__).resolve().parents[1] / "src"))
