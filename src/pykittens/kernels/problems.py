"""One problem per kernel: how `pk run`, tests and benchmarks try it. A new kernel is one entry here."""

from __future__ import annotations

from pykittens.errors import InputError

from .gemm import gemm
from .gemm_grouped import gemm_grouped
from .gemm_interleaved import gemm_interleaved
from .gemm_specialized import gemm_specialized
from .gemm_split import gemm_split
from .gemm_staged import gemm_staged
from .grouped_problem import GROUPS, GroupedProblem
from .problem import Option, Problem, Size
from .product_problem import (
    EPILOGUE,
    FLOATS_8,
    FLOATS_16,
    K_SIZE,
    LAYOUT,
    M_SIZE,
    N_SIZE,
    OUT,
    ProductProblem,
    dtype_option,
)

_ALL = (
    ProductProblem(
        gemm,
        (
            dtype_option(*FLOATS_16, *FLOATS_8), OUT, LAYOUT,
            Option(
                "tile", ("auto", "256x256", "192x256", "128x256", "128x128"),
                "rows x columns of a workgroup (gfx942: 256x256, 128x256)", "--tile",
            ),
            Option("mfma", ("16x16", "32x32"), "rows x columns of the MFMA (32x32: 16-bit types, gfx950)", "--mfma"),
            *EPILOGUE,
        ),
    ),
    GroupedProblem(
        gemm_grouped,
        (dtype_option(*FLOATS_16, *FLOATS_8), OUT, LAYOUT, *EPILOGUE),
        (M_SIZE, N_SIZE, K_SIZE, GROUPS),
    ),
    ProductProblem(
        gemm_interleaved,
        (
            dtype_option("e4m3fn", "e5m2", *FLOATS_16), OUT,
            Option("tile", ("auto", "256x256", "128x128"), "rows x columns of a workgroup", "--tile"), *EPILOGUE,
        ),
    ),
    ProductProblem(
        gemm_specialized,
        (
            dtype_option(*FLOATS_16), OUT,
            Option("tile", ("128x256", "192x256"), "rows x columns of a workgroup (8 or 12 consumers)", "--tile"),
            Option("sync", ("barriers", "flags"), "what holds producers and consumers apart", "--sync"),
            *EPILOGUE,
        ),
    ),
    ProductProblem(
        gemm_split,
        (
            dtype_option(*FLOATS_16, *FLOATS_8), OUT, LAYOUT,
            Option(
                "tile", ("auto", "64x32", "32x32", "16x32", "32x64", "16x64"),
                "rows x columns of a workgroup (64 columns: layout AB)", "--tile",
            ),
            Option("splits", ("auto", *(str(1 << n) for n in range(5))), "workgroups along K", "--splits"), *EPILOGUE,
        ),
        (Size("m", 16, "rows of A and C"), N_SIZE, Size("k", 4096, "the length that is summed over")),
    ),
    ProductProblem(
        gemm_staged,
        (
            dtype_option(*FLOATS_16, "e4m3fnuz", "e5m2fnuz"), OUT, LAYOUT,
            Option("tile", ("auto", "256x256", "128x256"), "rows x columns of a workgroup", "--tile"), *EPILOGUE,
        ),
    ),
)  # fmt: skip
PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _ALL}
"""Every kernel's problem by the kernel's name."""


def get(name: str) -> Problem:
    """The problem of a kernel; `InputError` lists the kernels there are."""
    if name not in PROBLEMS:
        raise InputError("unknown-kernel", f"there is no kernel {name!r}", fix=f"use one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name]
