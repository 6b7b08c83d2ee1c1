"""``python -m heartfelt``."""

from heartfelt.cli import main

main()
