"""emolia-bench's own file set: labels, slices, agreement and a report, in its names and columns, its faults mended."""

from heartfelt.labels.emolia_outputs.subset import EmoliaOptions
from heartfelt.labels.emolia_outputs.write import write_emolia

__all__ = ["EmoliaOptions", "write_emolia"]
