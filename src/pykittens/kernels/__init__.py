"""The kernels: programs that a reader can follow like the figures of the paper, one file each."""

from __future__ import annotations

from .epilogue import Epilogue
from .gemm import gemm
from .gemm_grouped import gemm_grouped
from .gemm_interleaved import gemm_interleaved
from .gemm_specialized import gemm_specialized
from .gemm_split import gemm_split
from .gemm_staged import gemm_staged

_ALL = (gemm, gemm_grouped, gemm_interleaved, gemm_specialized, gemm_split, gemm_staged)
KERNELS = {kernel.name: kernel for kernel in _ALL}
"""Every kernel by name, for the command line."""

__all__ = [
    "KERNELS", "Epilogue", "gemm", "gemm_grouped", "gemm_interleaved", "gemm_specialized", "gemm_split", "gemm_staged",
]  # fmt: skip
