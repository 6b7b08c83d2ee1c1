"""Training: heads on frozen embeddings, chosen on inner folds only, with an honest evaluation."""

from lazy_loader import attach_stub

from heartfelt.moved import with_former_names

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
__getattr__ = with_former_names(__name__, __getattr__)
