"""What is asked, about which stimuli, of whom: a folder with a ``study.yaml``."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
