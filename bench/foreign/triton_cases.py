"""Launches of the kernels in `triton_kernels`, and what NumPy says of each."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_gemm import BF16
from bench.foreign.attention import backward, forward
from bench.foreign.case import Array, Case, Expected

REQUIREMENT = "triton==3.9.*"
_F16, _F32 = np.dtype(np.float16), np.dtype(np.float32)
_MEAN_ERROR = {BF16: 2.5e-3, _F16: 3e-4}
"""Of the mean magnitude: what rounding P and O, or P and dS, leaves; truncation leaves nearly twice as much."""
Made = tuple[str, tuple[int, int, int], dict[str, Array], list[object], Callable[[], list[Expected]]]
"""Shape, grid, buffers, arguments and results."""


def compiled(arch: str) -> Path:
    """The folder with the code objects, made if need be. Raises OutOfReach where Triton cannot be had."""
    root = wheel.packages()
    site, source = root / "triton", Path(__file__).with_name("triton_kernels.py")
    if not (site / "triton").exists():
        wheel.pip("install", "--target", str(site), "--only-binary=:all:", REQUIREMENT)
    folder = root / f"triton-{arch}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    if not (folder / "kernels.json").exists():  # written last
        folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"PYTHONPATH": str(site), "TRITON_CACHE_DIR": str(root / "triton-cache")}
        command = [sys.executable, str(source), str(folder), arch]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
        if done.returncode:
            raise wheel.OutOfReach(f"Triton does not compile the kernels: {done.stderr.strip().splitlines()[-1]}")
    return folder


def _values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return rng.uniform(-2, 2, shape).astype(np.float32).astype(dtype)


# -- matrix products --------------------------------------------------------------------------------------------------
def _matmul(
    m: int,
    n: int,
    k: int,
    tile: tuple[int, int],
    dtype: np.dtype,
    out: np.dtype,
    by_k: bool = False,
    error: float = 4e-6,
) -> Made:
    """C = A Bᵀ, or A B where B is stored by rows of K. error: allowed
    for each element of K."""
    rng = np.random.default_rng(m * n * k)
    shape_b = (k, n) if by_k else (n, k)
    if dtype.kind == "i":
        a, b = (rng.integers(-128, 128, s).astype(dtype) for s in ((m, k), shape_b))
    else:
        a, b = _values(rng, (m, k), dtype), _values(rng, shape_b, dtype)
    product = a.astype(np.float64) @ (b if by_k else b.T).astype(np.float64)
    rtol = 2.0**-8 if out == BF16 else 0.0
    atol = 0.0 if dtype.kind == "i" else error * k
    buffers = {"a": a, "b": b, "c": np.zeros((m, n), out)}
    return (
        f"{m}x{n}x{k}", (-(-m // tile[0]), -(-n // tile[1]), 1), buffers, ["a", "b", "c", m, n, k],
        lambda: [Expected("c", product, atol, rtol)],
    )  # fmt: skip


def _matmul_scaled() -> Made:
    m, n, k = 64, 128, 256
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, 16, (rows, k), dtype=np.uint8) for rows in (m, n)]
    scales = [rng.integers(125, 129, (rows, k // 32), dtype=np.uint8) for rows in (m, n)]
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    signed = np.concatenate((table, -table))
    whole = [signed[c] * np.repeat(2.0 ** (s.astype(int) - 127), 32, 1) for c, s in zip(codes, scales, strict=True)]
    packed = [c[:, ::2] | c[:, 1::2] << 4 for c in codes]
    buffers = {"a": packed[0], "b": packed[1], "c": np.zeros((m, n), _F32), "sa": scales[0], "sb": scales[1]}
    return (
        f"{m}x{n}x{k}", (m // 64, n // 64, 1), buffers, ["a", "b", "c", "sa", "sb", m, n, k],
        lambda: [Expected("c", whole[0] @ whole[1].T)],
    )  # fmt: skip


# -- attention --------------------------------------------------------------------------------------------------------
def _attention_inputs(dtype: np.dtype) -> tuple[int, int, float, list[Array]]:
    heads, length, d = 2, 128, 64
    rng = np.random.default_rng(7)
    return heads, length, float(np.float32(d**-0.5)), [_values(rng, (heads, length, d), dtype) for _ in range(4)]


def _by_row(x: Array) -> Array:
    return x.transpose(1, 0, 2)


def _attention(dtype: np.dtype, causal: bool) -> Made:
    heads, length, scale, (q, k, v, _) = _attention_inputs(dtype)

    def expected() -> list[Expected]:
        done = forward(_by_row(q), _by_row(k), _by_row(v), scale, "top-left" if causal else "none")
        return [Expected("o", _by_row(done.o), 0.01, 0.01, _MEAN_ERROR[dtype]), Expected("lse", done.lse, 2e-5)]

    buffers = {"q": q, "k": k, "v": v, "o": np.zeros_like(q), "lse": np.zeros((heads, length), _F32)}
    return (
        f"{heads} heads of {length}x64", (length // 64, heads, 1), buffers,
        ["q", "k", "v", "o", "lse", length, scale], expected,
    )  # fmt: skip


def _attention_backward(part: str) -> Made:
    heads, length, scale, (q, k, v, do) = _attention_inputs(BF16)
    done = forward(_by_row(q), _by_row(k), _by_row(v), scale, "top-left")
    o = done.o.astype(BF16)
    wanted = backward(_by_row(q), _by_row(k), _by_row(v), _by_row(do), scale, done, o)
    buffers = {
        "q": q, "k": k, "v": v, "do": do, "o": np.ascontiguousarray(_by_row(o)), "lse": done.lse.astype(np.float32),
        "delta": np.zeros((heads, length), _F32) if part == "delta" else wanted.delta.astype(np.float32),
    }  # fmt: skip
    if part == "delta":
        args: list[object] = ["o", "do", "delta", length]
        results = [Expected("delta", wanted.delta, 1e-4)]
    else:
        names = ["dk", "dv"] if part == "dkdv" else ["dq"]
        buffers |= {name: np.zeros(q.shape, _F32) for name in names}
        args = ["q", "k", "v", "do", "lse", "delta", *names, length, scale]
        results = [Expected(name, _by_row(getattr(wanted, name)), 0.03, 0.02, _MEAN_ERROR[BF16]) for name in names]
    tile = 32 if part == "dkdv" else 64
    return f"{heads} heads of {length}x64", (length // tile, heads, 1), buffers, args, lambda: results


# -- rows -------------------------------------------------------------------------------------------------------------
def _layer_norm() -> Made:
    rows, n, eps = 5, 777, float(np.float32(1e-5))
    rng = np.random.default_rng(9)
    x, w, b = _values(rng, (rows, n), _F16), _values(rng, (n,), _F32), _values(rng, (n,), _F32)

    def expected() -> list[Expected]:
        value = x.astype(np.float64)
        mean = value.mean(1, keepdims=True)
        rstd = 1 / np.sqrt(value.var(1, keepdims=True) + eps)
        y = (value - mean) * rstd * w + b
        return [Expected("y", y, 1e-3, 1e-3), Expected("mean", mean[:, 0], 1e-6), Expected("rstd", rstd[:, 0], 0, 1e-6)]

    buffers = {
        "x": x, "w": w, "b": b, "y": np.zeros_like(x), "mean": np.zeros(rows, _F32), "rstd": np.zeros(rows, _F32),
    }  # fmt: skip
    return f"{rows}x{n}", (rows, 1, 1), buffers, ["x", "w", "b", "y", "mean", "rstd", n, eps], expected


def _softmax() -> Made:
    x = _values(np.random.default_rng(10), (6, 901), _F32) * 4
    power = np.exp(x.astype(np.float64))
    return (
        "6x901", (6, 1, 1), {"x": x, "y": np.zeros_like(x)}, ["x", "y", 901],
        lambda: [Expected("y", power / power.sum(1, keepdims=True), 1e-9, 2e-6)],
    )  # fmt: skip


def _cumsum() -> Made:
    x = _values(np.random.default_rng(11), (3, 1000), _F32)
    return (
        "3x1000", (3, 1, 1), {"x": x, "y": np.zeros_like(x)}, ["x", "y", 1000],
        lambda: [Expected("y", np.cumsum(x.astype(np.float64), 1), 1e-4)],
    )  # fmt: skip


def _argmax() -> Made:
    x = np.random.default_rng(12).permutation(4 * 500).reshape(4, 500).astype(_F32)
    return (
        "4x500", (4, 1, 1), {"x": x, "y": np.zeros(4, np.int32)}, ["x", "y", 500],
        lambda: [Expected("y", x.argmax(1))],
    )  # fmt: skip


def _sort() -> Made:
    x = np.random.default_rng(13).integers(-(1 << 31), 1 << 31, (2, 256)).astype(np.int32)
    return "2x256", (2, 1, 1), {"x": x, "y": np.zeros_like(x)}, ["x", "y"], lambda: [Expected("y", np.sort(x, 1))]


# -- everything else --------------------------------------------------------------------------------------------------
def _atomic_sum() -> Made:
    x = np.random.default_rng(14).integers(-1000, 1000, 1500).astype(np.int32)
    buffers = {"x": x, "total": np.zeros(1, np.int32), "largest": np.full(1, -(1 << 31), np.int32)}
    return (
        "1500", (6, 1, 1), buffers, ["x", "total", "largest", 1500],
        lambda: [Expected("total", x.sum(keepdims=True)), Expected("largest", x.max(keepdims=True))],
    )  # fmt: skip


def _scatter_add() -> Made:
    rng = np.random.default_rng(15)
    index, x = rng.integers(0, 40, 700).astype(np.int32), rng.integers(-8, 9, 700).astype(np.float32)
    return (
        "700 to 40", (3, 1, 1), {"index": index, "x": x, "y": np.zeros(40, _F32)}, ["index", "x", "y", 700],
        lambda: [Expected("y", np.bincount(index, x, 40))],
    )  # fmt: skip


def _gather() -> Made:
    rng = np.random.default_rng(16)
    x, index = _values(rng, (30, 64), _F16), rng.integers(0, 30, 50).astype(np.int32)
    return (
        "50 of 30x64", (2, 1, 1), {"x": x, "index": index, "y": np.zeros((50, 64), _F16)}, ["x", "index", "y", 50],
        lambda: [Expected("y", x[index])],
    )  # fmt: skip


def _gather_in_tile() -> Made:
    rng = np.random.default_rng(17)
    x, index = _values(rng, (64, 32), _F32), rng.integers(0, 64, (64, 32)).astype(np.int32)
    return (
        "64x32", (1, 1, 1), {"x": x, "index": index, "y": np.zeros_like(x)}, ["x", "index", "y"],
        lambda: [Expected("y", np.take_along_axis(x, index, 0))],
    )  # fmt: skip


def philox(counters: Array, seed: int) -> Array:
    """The first 32 random bits of Philox 4x32-10 for each counter (the other counter words are 0)."""
    mask = np.uint64(0xFFFFFFFF)
    c = [counters.astype(np.uint64), *(np.zeros(counters.shape, np.uint64) for _ in range(3))]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        wide = [np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]]
        c = [
            (wide[1] >> np.uint64(32)) ^ c[1] ^ np.uint64(keys[0]), wide[1] & mask,
            (wide[0] >> np.uint64(32)) ^ c[3] ^ np.uint64(keys[1]), wide[0] & mask,
        ]  # fmt: skip
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(np.uint32)


def _dropout() -> Made:
    n, seed, p = 1100, 12345, float(np.float32(0.3))
    x = _values(np.random.default_rng(18), (n,), _F32)
    bits = philox(np.arange(n), seed).view(np.int32).astype(np.int64)
    uniform = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
    y = np.where(uniform > np.float32(p), x / (1 - p), 0.0)
    return (
        f"{n}", (3, 1, 1), {"x": x, "y": np.zeros_like(x)}, ["x", "y", n, seed, p],
        lambda: [Expected("y", y, 0, 1e-6)],
    )  # fmt: skip


def _functions() -> Made:
    n = 500
    x = np.random.default_rng(19).uniform(0.1, 3, n).astype(np.float32) * np.where(np.arange(n) % 2, 1, -1).astype(_F32)
    v = x.astype(np.float64)
    hundred = (x * np.float32(100)).astype(np.float64)
    erf = np.array([math.erf(each) for each in v])
    y = np.stack([
        np.sin(v), np.cos(hundred), erf, np.log2(np.abs(v)), np.exp2(v), np.sqrt(np.abs(v)),
        np.floor(v) + np.ceil(3 * v), (v * v + 1) / v,
    ])  # fmt: skip
    return (
        f"8x{n}", (1, 1, 1), {"x": x, "y": np.zeros((8, n), _F32)}, ["x", "y", n],
        lambda: [Expected("y", y, 1e-6, 1e-6)],
    )  # fmt: skip


def _integers() -> Made:
    n = 400
    rng = np.random.default_rng(20)
    a = rng.integers(-(1 << 62), 1 << 62, n) >> rng.integers(0, 60, n)
    b = (rng.integers(-(1 << 62), 1 << 62, n) >> rng.integers(0, 60, n)) | 1
    quotient = np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)  # truncated, as in C
    low = [(v.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint64) for v in (a, b)]
    y = np.stack([quotient, a - quotient * b, a * b, (low[0] * low[1] >> np.uint64(32)).astype(np.int64)])
    halves = [(y & 0xFFFFFFFF), y >> 32]
    return (
        f"4x{n}", (1, 1, 1), {"x": a, "z": b, "y": np.zeros((4, n), np.int64)}, ["x", "z", "y", n],
        lambda: [
            Expected("y", halves[0], view=lambda g: g & 0xFFFFFFFF), Expected("y", halves[1], view=lambda g: g >> 32),
        ],
    )  # fmt: skip


def _histogram() -> Made:
    x = np.random.default_rng(21).integers(0, 32, 1024).astype(np.int32)
    return (
        "1024 to 32", (2, 1, 1), {"x": x, "y": np.zeros(32, np.int32)}, ["x", "y"],
        lambda: [Expected("y", np.bincount(x, minlength=32))],
    )  # fmt: skip


def _transpose() -> Made:
    x = _values(np.random.default_rng(22), (100, 70), BF16)
    return (
        "100x70", (2, 2, 1), {"x": x, "y": np.zeros((70, 100), BF16)}, ["x", "y", 100, 70],
        lambda: [Expected("y", x.T)],
    )  # fmt: skip


def _makers(arch: str) -> dict[str, Callable[[], Made]]:
    fp8 = np.dtype(ml_dtypes.float8_e4m3fnuz if arch == "gfx942" else ml_dtypes.float8_e4m3fn)
    i8, i32 = np.dtype(np.int8), np.dtype(np.int32)
    return {
        "matmul_bf16_128x128x64": partial(_matmul, 130, 257, 128, (128, 128), BF16, _F32),
        "matmul_bf16_128x128x64_by16": partial(_matmul, 144, 128, 192, (128, 128), BF16, _F32),
        "matmul_bf16_256x256x64_by16": partial(_matmul, 256, 272, 128, (256, 256), BF16, _F32),
        "matmul_bf16_64x32x32": partial(_matmul, 64, 96, 160, (64, 32), BF16, _F32),
        "matmul_f16_64x64x64": partial(_matmul, 100, 64, 192, (64, 64), _F16, _F32),
        "matmul_f16_32x128x32": partial(_matmul, 33, 128, 96, (32, 128), _F16, _F32),
        "matmul_fp8_64x64x64": partial(_matmul, 64, 70, 256, (64, 64), fp8, _F32),
        "matmul_i8_128x64x64": partial(_matmul, 128, 65, 192, (128, 64), i8, i32),
        "matmul_f32_32x32x32": partial(
            _matmul, 40, 64, 96, (32, 32), _F32, _F32, error=5e-4 if arch == "gfx942" else 4e-6  # xf32 has 10 bits
        ),
        "matmul_row_major_b_bf16": partial(_matmul, 64, 128, 144, (64, 128), BF16, BF16, by_k=True),
        "matmul_scaled_fp4": _matmul_scaled,
        "attention_bf16": partial(_attention, BF16, causal=False),
        "attention_causal_f16": partial(_attention, _F16, causal=True),
        "attention_delta": partial(_attention_backward, "delta"),
        "attention_dkdv": partial(_attention_backward, "dkdv"),
        "attention_dq": partial(_attention_backward, "dq"),
        "layer_norm": _layer_norm, "softmax": _softmax, "atomic_sum": _atomic_sum, "scatter_add": _scatter_add,
        "cumsum": _cumsum, "gather": _gather, "gather_in_tile": _gather_in_tile, "dropout": _dropout,
        "functions": _functions, "integers": _integers, "sort": _sort, "histogram": _histogram, "argmax": _argmax,
        "transpose": _transpose,
    }  # fmt: skip


def cases() -> Iterator[Case]:
    """Every kernel on both chips."""
    for arch in ("gfx942", "gfx950"):
        folder = compiled(arch)
        makers = _makers(arch)
        for name, about in json.loads((folder / "kernels.json").read_text()).items():
            yield _case(arch, name, about, (folder / f"{name}.co").read_bytes(), makers[name]())


def _case(arch: str, name: str, about: dict[str, Any], code: bytes, made: Made) -> Case:
    shape, grid, buffers, args, expected = made
    # Two more pointers, to memory that only profiling and some descriptors need, follow every kernel's own arguments.
    return Case(
        "Triton", name, shape, arch, lambda: code, grid, (64 * about["warps"], 1, 1), buffers, expected,
        args=[*args, None, None], kernel=about["kernel"], lds=about["lds"],
    )  # fmt: skip
