"""AITER's attention, backward: four kernarg layouts, and the permutation of dQ that one of them needs afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_forward import real
from bench.foreign.aiter_gemm import BF16
from bench.foreign.attention import Backward, backward, forward
from bench.foreign.case import Array, Case, Expected, pointers

_F16 = np.dtype(np.float16)
_LOG2E = float(np.float32(1.4426950408889634))
_POINTERS = "dQ dK dV Q K V dO LSE Delta"
_MASKS = {"": "none", "_causal": "top-left", "_causal_br": "bottom-right"}
_TOLERANCE = (0.03, 0.02)
_MEAN_ERROR = {"bf16": 2.7e-3, "bf16_rtz": 4.2e-3, "fp16": 4.5e-4, "fp16_rtz": 9e-4}
"""Of the mean magnitude: what rounding P, dS and a result leaves; truncation leaves 3.1e-3 or more, 7.1e-4 in f16."""
_ATOMICS = {"bf16": 4e-3, "bf16_rtz": 7e-3, "fp16": 4.5e-4, "fp16_rtz": 9e-4}
"""The same for a dQ that 16-bit atomics sum up."""
_WINDOW = (21, 9)
"""Keys to the left and to the right that kernels with a sliding window see."""
_BLOCK_D = 128
"""Columns of gfx950's blocked dQ for heads of up to 128."""
Kernarg = dict[int, str | int | float | bytes | None]


@dataclass(frozen=True)
class _Problem:
    """Inputs, strides in bytes, and the file's properties. dK and dV have the heads of Q."""

    name: str
    d: int
    dv: int
    heads: int
    kv_heads: int
    lengths: list[tuple[int, int]]
    dtype: np.dtype
    mask: str | tuple[int, int]
    group: bool
    q: Array
    k: Array
    v: Array
    do: Array
    starts: list[Array]
    scale: float

    @property
    def sq(self) -> int:
        return max(a for a, _ in self.lengths)

    @property
    def sk(self) -> int:
        return max(b for _, b in self.lengths)

    def strides(self, heads: int, d: int, length: int) -> tuple[int, int, int]:
        """Head, batch and row of [batch, length, heads, d] with two bytes an element."""
        return 2 * d, 0 if self.group else 2 * heads * d * length, 2 * heads * d

    def gradients(self) -> tuple[list[Backward], list[Array]]:
        """Of each sequence, with its lse."""
        done, lse = [], []
        for (q0, q1), (k0, k1) in zip(pairwise(self.starts[0]), pairwise(self.starts[1]), strict=True):
            part = self.q[q0:q1], self.k[k0:k1], self.v[k0:k1]
            result = forward(*part, self.scale, self.mask)
            done.append(backward(*part, self.do[q0:q1], self.scale, result, result.o.astype(self.dtype)))
            lse.append(result.lse)
        return done, lse


def _problem(name: str, heads: int, kv_heads: int, lengths: list[tuple[int, int]], d: int = 0) -> _Problem:
    stem = name.rpartition("/")[2].removesuffix(".co")
    dv = 128 if "hd192_hd128" in stem else 0
    found = re.search(r"hd(\d+)", stem)
    assert found
    d = d or int(found[1])
    dv = dv or d
    dtype = _F16 if "_fp16" in stem else BF16
    rng = np.random.default_rng(len(stem) + heads + sum(map(sum, lengths)))
    starts = [np.concatenate(([0], np.cumsum(each))).astype(np.int32) for each in zip(*lengths, strict=True)]
    total_q, total_k = int(starts[0][-1]), int(starts[1][-1])
    tensors = [
        real(rng, shape, dtype)
        for shape in ((total_q, heads, d), (total_k, kv_heads, d), (total_k, kv_heads, dv), (total_q, heads, dv))
    ]
    mask: str | tuple[int, int] = _MASKS[
        "_causal_br" if "_causal_br" in stem else "_causal" if "_causal" in stem else ""
    ]
    mask = _WINDOW if "_swa_" in stem else mask
    return _Problem(
        name, d, dv, heads, kv_heads, lengths, dtype, mask, stem.endswith("_group"), *tensors, starts,
        float(np.float32(d**-0.5)),
    )  # fmt: skip


def slots16(p: _Problem) -> Kernarg:
    """The layout of gfx950's own kernels: sixteen bytes for each value, any lengths."""
    q, k = p.strides(p.heads, p.d, p.sq), p.strides(p.kv_heads, p.d, p.sk)
    v, do = p.strides(p.kv_heads, p.dv, p.sk), p.strides(p.heads, p.dv, p.sq)
    dk, dv = p.strides(p.heads, p.d, p.sk), p.strides(p.heads, p.dv, p.sk)
    lse_stride = 4 * (int(p.starts[0][-1]) if p.group else p.sq)
    values: Kernarg = {
        **pointers(_POINTERS), 0x90: p.scale, 0xA0: _LOG2E, 0xB0: p.sq, 0xD0: q[0], 0xE0: q[1], 0xF0: q[2],
        0x100: p.heads // p.kv_heads, 0x110: k[0], 0x120: k[1], 0x130: k[2], 0x140: dk[2], 0x150: p.sk, 0x160: p.d,
        0x170: p.dv, 0x180: p.heads, 0x190: v[0], 0x1A0: v[1], 0x1B0: v[2], 0x1C0: do[0], 0x1D0: do[1], 0x1E0: do[2],
        0x1F0: dk[0], 0x200: dk[1], 0x210: dv[0], 0x220: dv[1], 0x230: dv[2], 0x240: lse_stride,
        0x290: -(-p.sq // 16) * 16 if "_a16" in p.name else p.sq,
    }  # fmt: skip
    if p.group:
        values |= {0x250: "starts_q", 0x260: "starts_k", 0x270: "starts_q", 0x280: "starts_k"}
    return values


def slots8(p: _Problem) -> Kernarg:
    """The general layout with eight bytes for each value: any lengths, f32 atomics."""
    numbers: list[int | float] = [
        p.scale, _LOG2E, p.heads // p.kv_heads, p.sq, p.sk, p.d, p.heads,
        *p.strides(p.heads, p.d, p.sq), *p.strides(p.kv_heads, p.d, p.sk), *p.strides(p.kv_heads, p.dv, p.sk),
        *p.strides(p.heads, p.dv, p.sq), *p.strides(p.heads, p.d, p.sk), *p.strides(p.heads, p.dv, p.sk),
    ]  # fmt: skip
    if isinstance(p.mask, tuple):
        numbers += [p.mask[1] + 1, p.mask[0] + 1]
    return {**pointers(_POINTERS, 8), **{0x48 + 8 * i: number for i, number in enumerate(numbers)}}


def slots8_group(p: _Problem) -> Kernarg:
    """The same for groups of sequences."""
    pairs = [
        p.strides(p.heads, p.d, 0), p.strides(p.kv_heads, p.d, 0), p.strides(p.kv_heads, p.dv, 0),
        p.strides(p.heads, p.dv, 0), p.strides(p.heads, p.d, 0), p.strides(p.heads, p.dv, 0),
    ]  # fmt: skip
    numbers: list[int | float] = [
        p.scale, _LOG2E, p.heads // p.kv_heads, 4 * int(p.starts[0][-1]), int(p.starts[1][-1]),
        *(stride for head, _, row in pairs for stride in (head, row)), p.d,
    ]  # fmt: skip
    names = f"{_POINTERS} starts_q starts_k starts_q starts_k"
    return {**pointers(names, 8), **{0x68 + 8 * i: number for i, number in enumerate(numbers)}}


def slots16_square(p: _Problem) -> Kernarg:
    """The oldest layout: as many keys as queries, a multiple of 64, and the strides of Q and K for all."""
    q, k = p.strides(p.heads, p.d, p.sq), p.strides(p.kv_heads, p.d, p.sk)
    return {
        **pointers(_POINTERS), 0x90: p.scale, 0xA0: _LOG2E, 0xB0: p.sq, 0xC0: 192 * k[2], 0xD0: q[0], 0xE0: q[1],
        0xF0: q[2], 0x100: p.heads // p.kv_heads, 0x110: k[0], 0x120: k[1], 0x130: k[2], 0x140: 2 * p.heads * p.d,
        0x150: p.d,
    }  # fmt: skip


def in_blocks(d: int, rows: int) -> Array:
    """Where gfx950's a16 kernels keep element (row, column) of dQ: offsets into a head of ``rows`` rows."""
    c, bit = np.arange(d), [np.arange(d) >> i & 1 for i in range(8)]
    if d == 192:
        within = bit[0] + 384 * bit[1] + 32 * bit[2] + 192 * bit[3] + 768 * bit[4] + 1536 * bit[5]
        within = within + 64 * bit[6] + 128 * bit[7]
    else:
        within = bit[0] + 128 * bit[1] + 32 * bit[2] + 64 * bit[3] + 256 * (c // 16)
    r = np.arange(rows)[:, None]
    return np.asarray(r // 16 * 16 * d + r % 16 * 2 + within)


def keys_a_workgroup(name: str) -> int:
    """How many keys each workgroup of a kernel takes, as AITER's table of its kernels says."""
    if "hd192_hd128" in name:
        return 192
    if "hd192" in name:
        return 64
    return 256 if name.startswith("gfx950") and "hd128" in name and "_swa_" not in name else 192


def attention_backward(name: str, heads: int, kv_heads: int, lengths: list[tuple[int, int]], d: int = 0) -> Case:
    """One launch of a main kernel, with LSE and Delta given."""
    p = _problem(name, heads, kv_heads, lengths, d)
    stem = name.rpartition("/")[2]
    native = name.startswith("gfx950") and ("hd128" in stem)
    if native and "_swa_" not in stem:
        kernarg = slots16(p)
    elif p.group:
        kernarg = slots8_group(p)
    else:
        kernarg = slots8(p) if "_pssk" in stem else slots16_square(p)
    tiles = -(-p.sk // keys_a_workgroup(name))
    if isinstance(p.mask, str) and p.mask != "none":
        tiles = -(-tiles // 2)
    blocks = native and "_a16" in stem
    done, lse = p.gradients()
    batch = len(lengths)
    rows = -(-p.sq // 16) * 16
    total_q, total_k = int(p.starts[0][-1]), int(p.starts[1][-1])
    buffers: dict[str, Array] = {
        "Q": p.q, "K": p.k, "V": p.v, "dO": p.do,
        "LSE": (np.concatenate(lse, 1) if p.group else np.stack(lse)).astype(np.float32),
        "Delta": (
            np.concatenate([b.delta for b in done], 1) if p.group else np.stack([b.delta for b in done])
        ).astype(np.float32),
        "dK": np.zeros((total_k, heads, p.d), p.dtype), "dV": np.zeros((total_k, heads, p.dv), p.dtype),
    }  # fmt: skip
    if p.group:
        buffers |= {"starts_q": p.starts[0], "starts_k": p.starts[1]}
    if blocks:
        buffers["dQ"] = np.zeros((batch, heads, rows * max(p.d, _BLOCK_D)), p.dtype)
    elif "_a16" in stem:
        buffers["dQ"] = np.zeros((total_q, heads, p.d), p.dtype)
    else:
        buffers["dQ"] = np.zeros((heads, total_q, p.d) if p.group else (batch, heads, p.sq, p.d), np.float32)
    if p.dtype == _F16:
        kind = "fp16" if native and "_swa_" not in stem else "fp16_rtz"
    else:
        kind = "bf16_rtz" if "rtz" in stem else "bf16"

    def dq(got: Array) -> Array:
        """As [queries of all sequences, heads, d]."""
        if blocks:
            at = in_blocks(max(p.d, _BLOCK_D), rows)[:, : p.d]
            parts = zip(got, p.lengths, strict=True)
            return np.concatenate([each[:, at[:queries]].transpose(1, 0, 2) for each, (queries, _) in parts])
        if "_a16" in stem:
            return got
        return got.transpose(1, 0, 2) if p.group else got.transpose(0, 2, 1, 3).reshape(-1, heads, p.d)

    def expected() -> list[Expected]:
        own = _ATOMICS if "_a16" in stem else _MEAN_ERROR
        return [
            Expected("dQ", np.concatenate([b.dq for b in done]), *_TOLERANCE, own[kind], dq),
            Expected("dK", np.concatenate([b.dk for b in done]), *_TOLERANCE, _MEAN_ERROR[kind]),
            Expected("dV", np.concatenate([b.dv for b in done]), *_TOLERANCE, _MEAN_ERROR[kind]),
        ]

    shape = f"heads {heads}/{kv_heads}, d {p.d}, " + " + ".join(f"{a}x{b}" for a, b in lengths)
    return Case(
        "AITER", name, shape, name.partition("/")[0], partial(wheel.member, name), (tiles, heads, batch), (256, 1, 1),
        buffers, expected, kernarg=kernarg,
    )  # fmt: skip


def dq_shuffle(name: str, batch: int, heads: int, rows: int) -> Case:
    """The permutation from blocks of 16 rows to rows, of 16-bit words; bit-exact."""
    d = 192 if "hd192" in name else 128
    padded = -(-rows // 16) * 16
    source = np.random.default_rng(rows).integers(0, 1 << 16, (batch, heads, padded * d), dtype=np.uint16)
    row = 2 * heads * d
    kernarg: Kernarg = {
        0x00: "blocks", 0x10: "dQ", 0x20: 64 * row, 0x30: 2 * padded * d, 0x40: 2 * heads * padded * d, 0x50: 2 * d,
        0x60: 2 * d, 0x70: rows * row, 0x80: row, 0x90: rows, 0xA0: d, 0xD0: padded,
    }  # fmt: skip
    value = source[..., in_blocks(d, padded)[:rows]].transpose(0, 2, 1, 3)
    return Case(
        "AITER", name, f"{batch}x{heads}x{rows}x{d}", name.partition("/")[0], partial(wheel.member, name),
        (-(-rows // 64), heads, batch), (256, 1, 1),
        {"blocks": source, "dQ": np.zeros((batch, rows, heads, d), np.uint16)}, lambda: [Expected("dQ", value)],
        kernarg=kernarg,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """Every kernel but the grouped permutation: odd lengths where they are allowed, and multiples of the tiles."""
    for name in wheel.members():
        stem = name.rpartition("/")[2]
        if "/fmha_v3_bwd/" not in name:
            continue
        if "dq_shuffle" in stem:
            if "_group" not in stem:
                yield dq_shuffle(name, 2, 2, 50)
                yield dq_shuffle(name, 1, 1, 81)
        elif stem.endswith("_group.co"):
            yield attention_backward(name, 2, 1, [(50, 50), (33, 70)])
            yield attention_backward(name, 1, 1, [(256, 256), (1, 193)])
        elif "_pssk" in stem:
            yield attention_backward(name, 2, 1, [(50, 70)])
            yield attention_backward(name, 1, 1, [(256, 256)])
            yield attention_backward(name, 6, 2, [(129, 192)] * 2)
            if "_psskddv" in stem and "hd128" in stem and "rtn" not in stem:
                yield attention_backward(name, 1, 1, [(33, 41)] * 2, d=96)
        else:
            yield attention_backward(name, 2, 1, [(64, 64)])
            yield attention_backward(name, 3, 1, [(256, 256)] * 2)
