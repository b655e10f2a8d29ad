"""AITER's matrix products: bf16, fp4 with block scales, int8, and fp8 with block scales."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import ml_dtypes
import numpy as np
from bench.foreign import wheel
from bench.foreign.case import Array, Case, Expected, pointers

BF16 = np.dtype(ml_dtypes.bfloat16)
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
_BLOCK = 32
"""Elements of K that share an e8m0 scale."""


def rounded(value: Array, dtype: np.dtype = BF16) -> Array:
    """float64 to a narrower type and back, by way of float32 as accumulators have it."""
    return value.astype(np.float32).astype(dtype).astype(np.float64)


def shuffled(rows: Array, tile: int = 16) -> Array:
    """A weight matrix as the kernels want it: tiles of ``tile`` rows by 32 elements, in pieces of 16 bytes."""
    n, k = rows.shape
    piece = 16 // rows.itemsize
    tiles = rows.reshape(n // tile, tile, k // 32, 32 // piece, piece)
    return np.ascontiguousarray(tiles.transpose(0, 2, 3, 1, 4)).reshape(n, k)


def _case(
    name: str, shape: str, grid: tuple[int, int, int], buffers: dict[str, Array],
    kernarg: dict[int, str | int | float | bytes | None], expected: Callable[[], list[Expected]], size: int = 0,
) -> Case:  # fmt: skip
    return Case(
        "AITER", name, shape, name.partition("/")[0], partial(wheel.member, name), grid, (256, 1, 1), buffers, expected,
        kernarg=kernarg, size=size,
    )  # fmt: skip


# -- bf16 -----------------------------------------------------------------------------------------------------------
def bf16gemm(arch: str, tile: int, m: int, n: int, k: int, splits: int = 1) -> Case:
    """D = A Bᵀ of small integers, whose sums are exact in f32 in every order: no error is allowed."""
    rng = np.random.default_rng(tile + m + k)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(BF16) for rows in (m, n))
    d = np.full((m, n), np.nan if splits == 1 else 0, np.float32)
    sizes: dict[int, str | int | float | bytes | None] = {
        0x00: "D", 0x10: None, 0x20: "A", 0x30: "B", 0x40: 1.0, 0x50: 0.0, 0x80: 4 * n, 0xA0: 2 * k, 0xC0: 2 * k,
        0xE0: m, 0xF0: n, 0x100: k, 0x110: splits,
    }  # fmt: skip
    return _case(
        f"{arch}/bf16gemm/bf16gemm_outf32_tn_{tile}x64_pf3.co", f"{m}x{n}x{k}" + (f" split {splits}" * (splits > 1)),
        (n // 64, -(-m // tile), splits), {"A": a, "B": b, "D": d}, sizes,
        lambda: [Expected("D", a.astype(np.float64) @ b.astype(np.float64).T)],
    )  # fmt: skip


# -- fp4 ------------------------------------------------------------------------------------------------------------
def f4gemm(tile: str, m: int, n: int, k: int, log2_splits: int = 0, shuffle: bool = True) -> Case:
    """bf16 D of fp4 operands with a power-of-two scale for each 32 elements of K; sums are exact."""
    rng = np.random.default_rng(m + n + k)
    codes = {name: rng.integers(0, 16, (rows, k), dtype=np.uint8) for name, rows in (("A", m), ("B", n))}
    scales = {name: rng.integers(126, 129, (rows, k // _BLOCK), dtype=np.uint8) for name, rows in (("A", m), ("B", n))}
    packed = {name: code[:, ::2] | code[:, 1::2] << 4 for name, code in codes.items()}
    height, width = map(int, tile.split("x"))
    k_of_split = -(-k // (1 << log2_splits) // 256) * 256
    stride = -(-(k // _BLOCK) // 8) * 8

    def expected() -> list[Expected]:
        whole = [_FP4[codes[x]] * np.repeat(2.0 ** (scales[x].astype(int) - 127), _BLOCK, 1) for x in "AB"]
        product = whole[0] @ whole[1].T
        if not log2_splits:
            return [Expected("D", rounded(product))]
        parts = [a @ b.T for a, b in zip(*(np.split(x, k // k_of_split, 1) for x in whole), strict=True)]
        # Every split is rounded to bf16, and so is each sum.
        return [Expected("D", product, atol=(np.abs(product) + sum(map(np.abs, parts))) / 256)]

    buffers = {
        "A": packed["A"], "B": shuffled(packed["B"]) if shuffle else packed["B"],
        "SA": _shuffled_scales(scales["A"]), "SB": _shuffled_scales(scales["B"]),
        "D": np.full((m, n), 0 if log2_splits else np.nan, BF16),
    }  # fmt: skip
    kernarg: dict[int, str | int | float | bytes | None] = {
        0x00: "D", 0x10: None, 0x20: "A", 0x30: "B", 0x40: 1.0, 0x50: 0.0, 0x80: n, 0xA0: k, 0xC0: k, 0xE0: m, 0xF0: n,
        0x100: k, 0x110: "SA", 0x120: "SB", 0x130: stride, 0x150: stride, 0x170: log2_splits,
    }  # fmt: skip
    if not shuffle:
        del kernarg[0x170]
    grid = (-(-n // width), -(-m // height), -(-k // k_of_split) if log2_splits else 1)
    kind = "BpreShuffle" if shuffle else "noBpreShuffle"
    return _case(
        f"gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_{kind}_{tile}.co",
        f"{m}x{n}x{k}" + (f" split {1 << log2_splits}" * (log2_splits > 0)), grid, buffers, kernarg, expected,
    )  # fmt: skip


def _shuffled_scales(scales: Array) -> Array:
    """Scales padded to 256 rows and 8 columns, in the order in which the matrix instructions take them."""
    rows, columns = -(-scales.shape[0] // 256) * 256, -(-scales.shape[1] // 8) * 8
    padded = np.zeros((rows, columns), np.uint8)
    padded[: scales.shape[0], : scales.shape[1]] = scales
    return np.ascontiguousarray(padded.reshape(rows // 32, 2, 16, columns // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1))


# -- int8 -----------------------------------------------------------------------------------------------------------
def i8gemm(name: str, tile: tuple[int, int], m: int, n: int, k: int, splits: int = 1) -> Case:
    """bf16 D = A Bᵀ, scaled by row and column, plus a bias. splits: of K; ``splitK`` kernels take its logarithm."""
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-50, 51, (rows, k), dtype=np.int8) for rows in (m, n))
    row, column, bias = (rng.random(size).astype(np.float32) / 64 for size in ((m, 1), (1, n), (1, n)))

    def expected() -> list[Expected]:
        product = a.astype(np.float64) @ b.astype(np.float64).T
        return [Expected("D", product * row * column + bias, atol=1e-4, rtol=0.004 * (1 + splits))]

    kernarg: dict[int, str | int | float | bytes | None] = {
        **pointers("D A B SA SB bias"),
        0x60: m, 0x70: n, 0x80: k, 0x90: k, 0xA0: k, 0xB0: 2 * n,
        0xC0: splits.bit_length() - 1 if "splitK" in name else splits,
    }  # fmt: skip
    buffers = {
        "D": np.zeros((m, n), BF16), "A": a, "B": shuffled(b.view(np.uint8), 32),
        "SA": row, "SB": column, "bias": bias,
    }  # fmt: skip
    return _case(
        f"gfx942/{name}.co", f"{m}x{n}x{k}" + (f" split {splits}" * (splits > 1)),
        (n // tile[1] * splits, -(-m // tile[0]), 1), buffers, kernarg, expected,
    )  # fmt: skip


# -- fp8 with a scale for each 128 elements of K ---------------------------------------------------------------------
def _scaled_fp8(m: int, n: int, k: int, dtype: type, by_k: bool) -> tuple[dict[str, Array], Callable[[], Array]]:
    rng = np.random.default_rng(m + n + k)
    x, w = (rng.uniform(-4, 4, (rows, k)).astype(np.float32).astype(dtype) for rows in (m, n))
    xs, ws = (rng.uniform(0.1, 0.4, (k // 128, count)).astype(np.float32) for count in (m, n // 128))
    # One kernel wants the weights' scales by rows of K, the other by rows of N.
    buffers = {"X": x, "W": shuffled(w.view(np.uint8)), "XS": xs, "WS": ws if by_k else np.ascontiguousarray(ws.T)}

    def product() -> Array:
        whole_x = x.astype(np.float64) * np.repeat(xs.T, 128, 1)
        whole_w = w.astype(np.float64) * np.repeat(np.repeat(ws.T, 128, 1), 128, 0)
        return whole_x @ whole_w.T

    return buffers, product


def flatmm(m: int, n: int, k: int) -> Case:
    """f16 D of fp8 (FNUZ) operands."""
    buffers, product = _scaled_fp8(m, n, k, ml_dtypes.float8_e4m3fnuz, by_k=True)
    kernarg: dict[int, str | int | float | bytes | None] = {
        0: "X", 8: "W", 16: None, 24: "XS", 32: "WS", 40: None, 48: "D", 88: k, 92: n, 96: m,
    }  # fmt: skip
    return _case(
        "gfx942/flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32.co", f"{m}x{n}x{k}", (n // 256, -(-m // 128), 1),
        buffers | {"D": np.zeros((m, n), np.float16)}, kernarg,
        lambda: [Expected("D", product(), atol=0.05, rtol=0.005)],
    )  # fmt: skip


def f8_block_scale(height: int, m: int, n: int, k: int) -> Case:
    """bf16 D of fp8 (OCP) operands."""
    buffers, product = _scaled_fp8(m, n, k, ml_dtypes.float8_e4m3fn, by_k=False)
    kernarg: dict[int, str | int | float | bytes | None] = {
        0x00: "D", 0x10: "X", 0x20: "W", 0x30: None, 0x40: "XS", 0x50: "WS", 0x90: k, 0xA0: n, 0xB0: m, 0xC0: 1,
        0xD0: k, 0xE0: k, 0xF0: 2 * n,
    }  # fmt: skip
    return _case(
        f"gfx950/f8_block_scale_mi350_x{height}.co", f"{m}x{n}x{k}", (-(-n // 256), -(-m // height), 1),
        buffers | {"D": np.zeros((m, n), BF16)}, kernarg, lambda: [Expected("D", product(), atol=0.1, rtol=0.01)],
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """Every kernel of these families, on sizes that fill tiles and on sizes that do not."""
    for arch in ("gfx942", "gfx950"):
        for tile in (32, 48, 64, 96):
            yield bf16gemm(arch, tile, tile + 5, 128, 192)
            yield bf16gemm(arch, tile, tile, 64, 320, splits=2)
    split = {"256x256", "128x512"}
    for name in wheel.members(".co"):
        if "/f4gemm/" in name:
            kind, tile = name.removesuffix(".co").split("_")[-2:]
            height, width = map(int, tile.split("x"))
            plain = kind == "noBpreShuffle"  # it stores whole tiles only
            yield f4gemm(tile, height if plain else height - 3, width, 512, shuffle=not plain)
            if tile in split and kind == "BpreShuffle":
                yield f4gemm(tile, height, width, 1024, log2_splits=1)
    for tile in ((128, 128), (192, 128)):
        yield i8gemm(f"i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_{tile[0]}x{tile[1]}", tile, tile[0] - 7, 256, 384)
    # With several splits this one is right only where they all run at once: each clears a part of D for the others.
    for kind in ("noSplitK", "splitK"):
        yield i8gemm(f"gemm_a8w8_m128_{kind}", (128, 128), 128 + 9, 256, 512)
    yield flatmm(128, 256, 256)
    yield flatmm(77, 512, 384)
    for height in (32, 64, 96, 128):
        yield f8_block_scale(height, height - 2, 256, 512)
