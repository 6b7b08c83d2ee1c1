"""heartfelt: find out what generated media makes people feel, and how well a machine can tell.

``read`` takes in published data or a table and ``load`` a snapshot folder; ``screen``, ``label``, ``analyze``, ``bench``,
``distances``, ``predict``, ``train``, ``publish`` and ``plot`` work on them (see docs/notebook.md); ``plan`` simulates a study
that has none yet; ``stats`` works on plain arrays.
"""

from lazy_loader import attach_stub

from heartfelt.moved import find_former_names

__version__ = "0.9.0"
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
find_former_names()
