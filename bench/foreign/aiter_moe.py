"""AITER's mixtures of experts: tokens sorted by expert, two products with an activation between, quantized or not."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial

import ml_dtypes
import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_gemm import BF16, shuffled
from bench.foreign.case import Array, Case, Expected, pointers

Kernarg = dict[int, str | int | float | bytes | None]
_TOKENS, _EXPERTS, _CHOSEN, _DIM = 21, 3, 2, 512


def _act(x: Array, kind: str) -> Array:
    if kind == "silu":
        return np.asarray(x / (1 + np.exp(-x)))
    cubic = 0.7978845608028654 * (x + 0.044715 * x**3)
    return np.asarray(0.5 * x * (1 + np.tanh(cubic)))


def _sorted(chosen: Array, weights: Array, block: int) -> tuple[Array, Array, Array, Array]:
    """Token numbers (the slot in bits 31:24) and weights by expert, each expert's filled up to whole blocks; the expert
    of each block; how many places there are."""
    ids: list[int] = []
    own: list[float] = []
    experts: list[int] = []
    for expert in range(_EXPERTS):
        found = np.argwhere(chosen == expert)
        for token, slot in found:
            ids.append(int(token) | int(slot) << 24)
            own.append(float(weights[token, slot]))
        blocks = -(-len(found) // block)
        empty = blocks * block - len(found)
        ids += [_TOKENS | _CHOSEN << 24] * empty
        own += [0.0] * empty
        experts += [expert] * blocks
    return (
        np.array(ids, np.uint32), np.array(own, np.float32), np.array(experts, np.int32), np.array([len(ids)], np.int32)
    )  # fmt: skip


def _narrow(rng: np.random.Generator, shape: tuple[int, ...], kind: str, arch: str) -> Array:
    if kind == "Int8":
        return rng.integers(-100, 101, shape).astype(np.int8)
    fp8 = ml_dtypes.float8_e4m3fnuz if arch == "gfx942" else ml_dtypes.float8_e4m3fn
    return rng.normal(0, 40, shape).clip(-200, 200).astype(np.float32).astype(fp8)


def _in_blocks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """How many scales there are where 128 columns, and of weights 128 rows, share one."""
    return (*shape[:-2], shape[-2] // 128 if len(shape) == 3 else shape[-2], shape[-1] // 128)


def _spread(scales: Array, shape: tuple[int, ...]) -> Array:
    """Scales as many as the elements that they belong to."""
    for axis, size in enumerate(shape):
        scales = np.repeat(scales, size // scales.shape[axis], axis)
    return scales


def moe(name: str, block: int, width: int) -> Case:
    """One launch: ``block`` tokens by ``width`` columns of the hidden layer in each workgroup."""
    arch, stem = name.partition("/")[0], name.rpartition("/")[2]
    out_dtype = BF16 if "_bf16_" in stem else np.dtype(np.float16)
    first_only = "_stage1_" in stem
    # These take a token once for each expert that it goes to, since each expert smooths it in its own way.
    several = any(word in stem for word in ("_multix_", "_smf_", "Int8_g1u0"))
    blocks = "_blockscaleFp8_" in stem
    kind = "Fp8" if blocks else next((k for k in ("Fp8", "Int8") if f"pertoken{k}" in stem), "")
    if kind == "Int8" and "_tkw1_" in stem:
        kind = "Fp8"  # whatever they are called, they multiply fp8
    gated, activation = "_g1u1" in stem, "gelu" if "gelu" in stem else "silu"
    rng = np.random.default_rng(width)
    hidden = width
    chosen = np.stack([rng.permutation(_EXPERTS)[:_CHOSEN] for _ in range(_TOKENS)])
    weights = rng.uniform(0.2, 0.8, chosen.shape)
    ids, own, experts, count = _sorted(chosen, weights, block)
    rows1 = hidden * (2 if gated else 1)
    weighted_first = "_doweight_" in stem or "_tkw1_" in stem
    copies = _CHOSEN if several else 1
    shapes = ((copies * _TOKENS, _DIM), (_EXPERTS, rows1, _DIM), (_EXPERTS, _DIM, hidden))
    if kind:
        x, w1, w2 = (_narrow(rng, shape, kind, arch) for shape in shapes)
        scales = [
            rng.uniform(0.5, 1.5, (*shape[:-1], 1) if not blocks else _in_blocks(shape)).astype(np.float32)
            * np.float32(f)
            for shape, f in zip(shapes, (0.01, 4e-4, 4e-4), strict=True)
        ]
    else:
        x, w1, w2 = (
            (rng.normal(0, f, shape)).astype(np.float32).astype(BF16)  # whatever the result is
            for shape, f in zip(shapes, (1, 0.04, 0.04), strict=True)
        )
        scales = [np.ones((*shape[:-1], 1), np.float32) for shape in shapes]
    itemsize = x.itemsize

    def expected() -> list[Expected]:
        whole = [t.astype(np.float64) * _spread(s, t.shape) for t, s in zip((x, w1, w2), scales, strict=True)]
        total = np.zeros(buffers["out"].shape)
        for token in range(_TOKENS):
            for slot in range(_CHOSEN):
                expert = chosen[token, slot]
                h = whole[1][expert] @ whole[0][token + (slot * _TOKENS if several else 0)]
                h = h * weights[token, slot] if weighted_first else h
                h = _act(h[:hidden], activation) * (h[hidden:] if gated else 1)
                if first_only:
                    total[token, slot] = h
                    continue
                total[token] += (1 if weighted_first else weights[token, slot]) * (whole[2][expert] @ h)
        largest = float(np.abs(total).max())
        return [
            Expected(
                "out",
                total,
                (0.05 if kind else 0.02) * largest,
                0.02,
                mean_rtol=0.045 if kind and not first_only else 0.004,
            )
        ]

    def weights_of(w: Array) -> Array:
        bits = w.view(np.uint8 if itemsize == 1 else np.uint16)
        return np.stack([shuffled(each) for each in bits])

    buffers = {
        "out": np.zeros((_TOKENS, _DIM), out_dtype), "X": x, "W1": weights_of(w1), "W2": weights_of(w2), "count": count,
        "XS": np.ascontiguousarray(scales[0].T), "W1S": scales[1], "W2S": scales[2],
        "ids": ids, "weights": own, "experts": experts,
        "smooth": np.ones((_EXPERTS, hidden), np.float32),
    }  # fmt: skip
    stride1, stride2 = _DIM * itemsize, hidden * itemsize
    kernarg: Kernarg = {
        **pointers("out X W1 count W2 XS W1S W2S smooth ids weights experts"),
        0xC0: _DIM, 0xD0: hidden, 0xE0: _TOKENS, 0xF0: _EXPERTS, 0x100: _DIM * itemsize, 0x110: stride1,
        0x120: stride2, 0x130: 2 * _DIM, 0x140: stride1 * rows1, 0x150: stride2 * _DIM, 0x160: scales[1][0].nbytes,
        0x170: scales[2][0].nbytes, 0x180: 4 * hidden, 0x190: _CHOSEN, 0x1A0: 0, 0x1B0: -(-hidden // width),
    }  # fmt: skip
    if first_only:
        buffers["out"] = np.zeros((_TOKENS, _CHOSEN, hidden), out_dtype)
        kernarg = {
            **pointers("out X W1 count XS W1S smooth ids experts"), 0x90: _DIM, 0xA0: hidden, 0xB0: _TOKENS,
            0xC0: _EXPERTS, 0xD0: _DIM * itemsize, 0xE0: stride1, 0xF0: 2 * _CHOSEN * hidden, 0x100: stride1 * rows1,
            0x110: 4 * rows1, 0x120: 4 * hidden, 0x130: _CHOSEN, 0x140: 0, 0x150: 0, 0x160: "weights",
        }  # fmt: skip
    elif not kind:
        kernarg |= dict.fromkeys((0x50, 0x60, 0x70, 0x80))
    return Case(
        "AITER", name, f"{_TOKENS} tokens, {_EXPERTS} experts, {_DIM}x{hidden}", arch, partial(wheel.member, name),
        (-(-hidden // width), len(experts), 1), (256, 1, 1), buffers, expected, kernarg=kernarg,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """One size of every kind of kernel that is not persistent, but fp4, and first products with scales for blocks."""
    seen: set[str] = set()
    there = frozenset(wheel.members())
    for table in wheel.members(".csv"):
        folder, _, file = table.rpartition("/")
        staged = "fmoe_2stages" in folder
        if "fmoe" not in folder or "MXfp4" in file or (staged and "blockscale" in file):
            continue
        for row in csv.DictReader(io.StringIO(wheel.member(table).decode())):
            name = f"{folder}/{row['co_name' if staged else 'knl_file']}"
            height, width = (int(row[key]) for key in (("tile_m", "tile_n") if staged else ("subGU_m", "subGU_n")))
            kind = f"{table} {min(height, 48)}" if staged else name.rpartition("_")[0]
            # Those 128 wide never store what they multiply second; smf and atm_opt ones keep their results elsewhere.
            chosen = staged or (row["ps"] == "0" and row["smf"] != "1" and row["atm"] != "1" and width > 128)
            # These round results to bf16 and add them as f16.
            chosen = chosen and "_fp16_pertokenInt8_g1u1_tkw1_" not in name
            if chosen and kind not in seen and name in there:
                seen.add(kind)
                yield moe(name, height, width)
