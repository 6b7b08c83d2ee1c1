from .read import Exchange, RunView, ViewerSample, read_run_folder
from .write import write_view

__all__ = ["Exchange", "RunView", "ViewerSample", "read_run_folder", "write_view"]
