"""Other tools' files as they are: experiment builders, survey tools, annotation tools and listening tests.

A tool's reader recognises its files, says which rows are no answers, and turns the rest into the layout of ``long``,
``wide`` or ``webmushra``, whose options it has too.
"""

from heartfelt.formats.tools import annotation, experiments, listening, surveys

__all__ = ["annotation", "experiments", "listening", "surveys"]
