"""Starting a study from a published design: a folder that is valid and ready to run, with example stimuli."""

from heartfelt.make.starter.sketch import StarterOptions
from heartfelt.make.starter.start import Started, start_study

__all__ = ["Started", "StarterOptions", "start_study"]
