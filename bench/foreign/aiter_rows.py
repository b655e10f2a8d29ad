"""AITER's kernels that work on rows: what it calls layer norm, and the choice of experts by softmax."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_forward import real
from bench.foreign.aiter_gemm import BF16
from bench.foreign.case import Array, Case, Expected, pointers

_COLUMNS = 8192
Kernarg = dict[int, str | int | float | bytes | None]


def _truncated(value: Array) -> Array:
    """float32 to bf16 by dropping bits."""
    bits = value.astype(np.float32).view(np.uint32) & 0xFFFF0000
    return bits.view(np.float32).astype(np.float64)


def layer_norm(rows: int, quantized: bool = False) -> Case:
    """out = s / sqrt(mean(s²) + eps) * weight + bias with s = in + residual, truncated to bf16: no mean is subtracted.

    The kernel that quantizes writes int8 and a scale for each row.
    """
    rng = np.random.default_rng(rows)
    x = (real(rng, (rows, _COLUMNS)).astype(np.float32) + np.float32(0.25)).astype(BF16)
    residual, weight, bias = real(rng, x.shape), real(rng, (_COLUMNS,)), real(rng, (_COLUMNS,))
    smooth = rng.uniform(0.5, 1.5, _COLUMNS).astype(np.float32)
    # The kernel leaves these columns out of the largest magnitude of a row, so they must not have it.
    smooth[np.arange(_COLUMNS) % 2048 < 256] /= 8
    eps = float(np.float32(1e-5))
    name = "layer_norm_qnt.co" if quantized else "layer_norm.co"
    buffers = {
        "out": np.zeros(x.shape, np.int8 if quantized else BF16), "in": x, "weight": weight, "bias": bias,
        "residual_out": np.zeros(x.shape, BF16), "residual_in": residual,
    }  # fmt: skip
    kernarg: Kernarg = {
        **pointers("out in weight bias"), 0x40: eps, 0x50: rows, 0x60: _COLUMNS, 0x70: "residual_out",
        0x80: "residual_in",
    }  # fmt: skip
    if quantized:
        buffers |= {"yscale": np.zeros(rows, np.float32), "xscale": smooth}
        kernarg |= {0x90: "yscale", 0xA0: "xscale"}

    def expected() -> list[Expected]:
        total = x.astype(np.float64) + residual.astype(np.float64)
        normed = total / np.sqrt((total**2).mean(1, keepdims=True) + eps)
        out = normed * weight.astype(np.float64) + bias.astype(np.float64)
        stored = Expected("residual_out", _truncated(total))
        if not quantized:
            return [Expected("out", _truncated(out), np.abs(out) / 120), stored]
        out = out * smooth
        scale = np.abs(out).max(1) / 127
        return [stored, Expected("yscale", scale, 0, 0.01), Expected("out", np.round(out / scale[:, None]), 1.01)]

    return Case(
        "AITER", f"gfx942/{name}", f"{rows}x{_COLUMNS}", "gfx942", partial(wheel.member, f"gfx942/{name}"),
        (rows // 2, 1, 1), (256, 1, 1), buffers, expected, kernarg=kernarg,
    )  # fmt: skip


def topk_softmax(name: str, tokens: int, renormalize: bool) -> Case:
    """The experts with the largest of softmax(row), and these values; their sum made 1 if asked for."""
    rows, experts, chosen = map(int, name.removesuffix(".co").rpartition("_")[2].split("x"))
    rng = np.random.default_rng(tokens + experts + chosen)
    # Distinct in every row, so that no order of equal ones has to be known.
    gating = np.argsort(rng.random((tokens, experts)), 1).astype(np.float32) / 32
    whole = np.exp(gating.astype(np.float64))
    whole /= whole.sum(1, keepdims=True)
    index = np.argsort(-gating, 1)[:, :chosen]
    weights = np.take_along_axis(whole, index, 1)
    if renormalize:
        weights /= weights.sum(1, keepdims=True)
    kernarg: Kernarg = {
        **pointers("index weights gating"), 0x30: tokens, 0x40: experts, 0x50: chosen, 0x60: int(renormalize),
        0x70: 4 * chosen,
    }  # fmt: skip
    buffers = {
        "index": np.zeros((tokens, chosen), np.int32), "weights": np.zeros((tokens, chosen), np.float32),
        "gating": gating,
    }  # fmt: skip
    return Case(
        "AITER", name, f"{tokens}x{experts}", "gfx942", partial(wheel.member, name), (-(-tokens // rows), 1, 1),
        (256, 1, 1), buffers, lambda: [Expected("index", index), Expected("weights", weights, 1e-6, 1e-5)],
        kernarg=kernarg,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """Each kernel; numbers of tokens that do not fill workgroups."""
    yield layer_norm(2)
    yield layer_norm(6)
    yield layer_norm(2, quantized=True)
    yield layer_norm(4, quantized=True)
    for name in wheel.members():
        if "/topksoftmax/" in name:
            yield topk_softmax(name, 64, renormalize=False)
            yield topk_softmax(name, 37, renormalize=True)
