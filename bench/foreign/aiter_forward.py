"""AITER's attention, forward: heads of 128, and of 192 with values of 128; causal; batches, and groups of sequences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_gemm import BF16
from bench.foreign.attention import Forward, forward
from bench.foreign.case import Array, Case, Expected, pointers

_DV = 128
_LSE_ATOL = 2e-5
_MEAN_ERROR = {"rtne": 2.5e-3, "rtna": 2.5e-3, "rtz": 6.5e-3}
"""What rounding P and O to bf16 may leave, of the mean magnitude; truncation leaves more than twice as much."""


def real(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype = BF16) -> Array:
    """Numbers up to 2 in magnitude that the dtype holds."""
    return ((rng.integers(0, 2001, shape) - 1000) / 512).astype(dtype)


def attention_forward(
    name: str, heads: int, kv_heads: int, lengths: list[tuple[int, int]], d: int = 128, rounding: str = "rtne"
) -> Case:
    """One launch. lengths: queries and keys of each sequence; all the same unless the kernel is one for groups."""
    causal, group = "_causal" in name, name.endswith("_group.co")
    rng = np.random.default_rng(heads * 1000 + sum(map(sum, lengths)) + d)
    starts = [np.concatenate(([0], np.cumsum(each))).astype(np.int32) for each in zip(*lengths, strict=True)]
    total_q, total_k = int(starts[0][-1]), int(starts[1][-1])
    sq, sk = (max(each) for each in zip(*lengths, strict=True))
    q = real(rng, (total_q, heads, d))
    k, v = real(rng, (total_k, kv_heads, d)), real(rng, (total_k, kv_heads, _DV))
    scale = float(np.float32(d**-0.5))
    batch = len(lengths)
    lse_head = 4 * (total_q if group else sq)
    rows = 128 if d == 192 else 256
    # Older than the others, and no longer called: another order of the grid, and no walking back over the keys.
    legacy = name.startswith("gfx942") and not any(f"_{r}" in name for r in _MEAN_ERROR)
    option = 4 if legacy else 3 if causal and heads % 8 else 5
    tiles = -(-sq // rows)
    tiles = -(-tiles // 2) if causal else tiles
    row_q, row_k, row_v, row_o = 2 * heads * d, 2 * kv_heads * d, 2 * kv_heads * _DV, 2 * heads * _DV

    def of_batch(row: int, length: int) -> int:
        return 0 if group else row * length

    kernarg: dict[int, str | int | float | bytes | None] = {
        **pointers("O Q K V LSE"), 0x50: scale, 0x60: sq, 0x70: row_q, 0x80: rows * row_q, 0x90: 2 * d,
        0xA0: of_batch(row_q, sq), 0xB0: heads // kv_heads, 0xC0: row_k, 0xD0: 2 * d, 0xE0: of_batch(row_k, sk),
        0xF0: option, 0x100: 1, 0x110: sk, 0x120: d,
        0x130: _DV, 0x140: heads, 0x150: row_v, 0x160: 2 * _DV, 0x170: of_batch(row_v, sk), 0x180: row_o,
        0x190: 2 * _DV, 0x1A0: of_batch(row_o, sq), 0x1D0: lse_head,
    }  # fmt: skip
    buffers = {
        "Q": q, "K": k, "V": v, "O": np.full((total_q, heads, _DV), np.nan, BF16),
        "LSE": np.full((heads, total_q) if group else (batch, heads, sq), np.nan, np.float32),
    }  # fmt: skip
    if group:
        kernarg |= {0x1B0: "starts_q", 0x1C0: "starts_k", 0x1E0: "starts_q", 0x1F0: "starts_k"}
        buffers |= {"starts_q": starts[0], "starts_k": starts[1]}
    grid = (tiles, heads, batch) if legacy or not group else (heads, batch, tiles)

    def expected() -> list[Expected]:
        done = list(_sequences(q, k, v, starts, scale, "bottom-right" if causal else "none"))
        lse = [each.lse for each in done]
        return [
            Expected("O", np.concatenate([each.o for each in done]), 0.01, 0.01, _MEAN_ERROR[rounding]),
            Expected("LSE", np.concatenate(lse, 1) if group else np.stack(lse), _LSE_ATOL),
        ]

    shape = f"heads {heads}/{kv_heads}, " + " + ".join(f"{a}x{b}" for a, b in lengths)
    return Case(
        "AITER", name, shape, name.partition("/")[0], partial(wheel.member, name), grid,
        (256 if d == 192 else 512, 1, 1), buffers, expected, kernarg=kernarg,
    )  # fmt: skip


def _sequences(q: Array, k: Array, v: Array, starts: list[Array], scale: float, kind: str) -> Iterator[Forward]:
    for (q0, q1), (k0, k1) in zip(pairwise(starts[0]), pairwise(starts[1]), strict=True):
        yield forward(q[q0:q1], k[k0:k1], v[k0:k1], scale, kind)


def cases() -> Iterator[Case]:
    """Every kernel of the family: odd and even lengths, grouped heads, several sequences."""
    for name in wheel.members():
        if "/fmha_v3_fwd/" not in name:
            continue
        d = 192 if "_hd192_" in name else 128
        given = [r for r in _MEAN_ERROR if f"_{r}" in name]
        # Files without a suffix truncate on gfx942 and round to nearest even on gfx950.
        rounding = given[0] if given else "rtz" if name.startswith("gfx942") else "rtne"
        if name.endswith("_group.co"):
            yield attention_forward(name, 2, 1, [(70, 70), (33, 97), (130, 161)], d, rounding)
            yield attention_forward(name, 1, 1, [(256, 256), (1, 513)], d, rounding)
        elif "_causal" in name:
            yield attention_forward(name, 2, 1, [(130, 161)], d, rounding)
            yield attention_forward(name, 1, 1, [(300, 300)], d, rounding)
            yield attention_forward(name, 6, 2, [(256, 256)] * 2, d, rounding)
        else:
            yield attention_forward(name, 2, 1, [(65, 130)] * 2, d, rounding)
            yield attention_forward(name, 1, 1, [(17, 1)], d, rounding)
            yield attention_forward(name, 6, 2, [(256, 256)] * 2, d, rounding)
