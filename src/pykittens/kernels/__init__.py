"""The kernels: programs that a reader can follow like the figures of the paper, one file each."""

from __future__ import annotations

from .epilogue import Epilogue
from .gemm import gemm
from .gemm_interleaved import gemm_interleaved
from .gemm_specialized import gemm_specialized
from .gemm_split import gemm_split
from .gemm_staged import gemm_staged

KERNELS = {kernel.name: kernel for kernel in (gemm, gemm_interleaved, gemm_specialized, gemm_split, gemm_staged)}
"""Every kernel by name, for the command line."""

__all__ = ["KERNELS", "Epilogue", "gemm", "gemm_interleaved", "gemm_specialized", "gemm_split", "gemm_staged"]
