"""The kernels: programs that a reader can follow like the figures of the paper, one file each."""

from __future__ import annotations

from .gemm import gemm

KERNELS = {kernel.name: kernel for kernel in (gemm,)}
"""Every kernel by name, for the command line."""

__all__ = ["KERNELS", "gemm"]
