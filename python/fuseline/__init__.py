"""Linear algebra, fused and compiled."""

from fuseline._native import HAS_LLVM, run_script, version

__version__ = version()

__all__ = ["HAS_LLVM", "run_script", "version"]
