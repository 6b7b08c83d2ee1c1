from .page import bench_page
from .write import run_bench, write_bench

__all__ = ["bench_page", "run_bench", "write_bench"]
