from .read import Exchange, RunView, ViewerSample, read_run_folder
from .write import ViewOptions, write_view

__all__ = ["Exchange", "RunView", "ViewOptions", "ViewerSample", "read_run_folder", "write_view"]
