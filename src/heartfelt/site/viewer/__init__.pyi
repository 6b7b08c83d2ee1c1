from .read import Exchange, Sample, View, read_run_folder
from .write import write_view

__all__ = ["Exchange", "Sample", "View", "read_run_folder", "write_view"]
