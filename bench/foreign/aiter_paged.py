"""AITER's decoding attention over pages: grouped heads (pa), and latent attention (mla)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import ml_dtypes
import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_forward import real
from bench.foreign.aiter_gemm import BF16
from bench.foreign.attention import forward
from bench.foreign.case import Case, Expected, pointers

Kernarg = dict[int, str | int | float | bytes | None]
_D, _PAGE = 128, 16
_LOG2E = 1.4426950408889634
_LATENT, _VALUE = 576, 512


# -- pa ---------------------------------------------------------------------------------------------------------------
def paged_attention(name: str, lengths: list[int], queries: int = 1) -> Case:
    """One kv head, keys and values scattered over pages of 16; fp8 and int8 ones have a scale for each token."""
    stem = name.rpartition("/")[2]
    arch = name.partition("/")[0]
    dtype = BF16 if "_bf16_" in stem else np.dtype(np.float16)
    heads = 16 if "gqa16" in stem else 8
    quantized = None if "noquant" in stem else "int8" if "Int8" in stem else "fp8"
    rng = np.random.default_rng(heads + sum(lengths))
    longest = -(-max(lengths) // _PAGE)
    pages = longest * len(lengths) + 3
    table = rng.permutation(pages)[: longest * len(lengths)].astype(np.int32).reshape(len(lengths), longest)
    q = real(rng, (len(lengths) * queries, heads, _D), dtype)
    shape = (pages, _PAGE, _D)
    if quantized is None:
        k, v = real(rng, shape, dtype), real(rng, shape, dtype)
        scales = [np.ones((pages, _PAGE), np.float32)] * 2
    else:
        kind = (
            np.dtype(np.int8) if quantized == "int8"
            else np.dtype(ml_dtypes.float8_e4m3fnuz if arch == "gfx942" else ml_dtypes.float8_e4m3fn)
        )  # fmt: skip
        k, v = ((rng.uniform(-100, 100, shape)).astype(np.float32).astype(kind) for _ in "kv")
        scales = [rng.uniform(0.005, 0.02, (pages, _PAGE)).astype(np.float32) for _ in "kv"]
    piece = 16 // k.itemsize
    whole = [x.astype(np.float64) * s[..., None] for x, s in zip((k, v), scales, strict=True)]

    def expected() -> list[Expected]:
        parts = []
        for i, length in enumerate(lengths):
            kv = [x[table[i]].reshape(-1, 1, _D)[:length] for x in whole]
            own = q[i * queries : (i + 1) * queries]
            kind = "bottom-right" if "msk1" in stem else "none"
            parts.append(forward(own, kv[0], kv[1], _D**-0.5, kind).o)
        return [Expected("O", np.concatenate(parts), *((0.02, 0.02) if quantized is None else (0.04, 0.05)))]

    buffers = {
        "Q": q, "O": np.zeros_like(q), "pages": table, "lengths": np.array(lengths, np.int32),
        "K": np.ascontiguousarray(k.reshape(pages, _PAGE, _D // piece, piece).transpose(0, 2, 1, 3)),
        "V": np.ascontiguousarray(v.reshape(pages, _PAGE // piece, piece, _D).transpose(0, 1, 3, 2)),
    }  # fmt: skip
    page_bytes = _PAGE * _D * k.itemsize
    kernarg: Kernarg = {
        **pointers("O Q K V pages lengths"), 0x80: float(np.float32(_LOG2E * _D**-0.5)), 0x90: longest, 0xA0: 1,
        0xB0: heads * _D * 2, 0xC0: page_bytes, 0xD0: page_bytes, 0xE0: heads, 0xF0: None,
    }  # fmt: skip
    if quantized is not None:
        buffers |= {"KS": scales[0], "VS": scales[1]}
        kernarg |= {0x60: "KS", 0x70: "VS"}
    if "_mtp_" in stem:
        buffers["starts"] = np.arange(0, len(q) + 1, queries).astype(np.int32)
        kernarg[0xF0] = "starts"
    return Case(
        "AITER", name, f"{heads} heads, {queries} of {lengths}", arch, partial(wheel.member, name),
        (1, len(lengths), 1), (256, 1, 1), buffers, expected, kernarg=kernarg,
    )  # fmt: skip


# -- mla --------------------------------------------------------------------------------------------------------------
def latent_attention(name: str, heads: int, lengths: list[int], queries: int = 1, splits: int = 1) -> Case:
    """One latent head of 576, of which 512 are the values, scattered over pages of one token; first stage.

    a8w8 kernels take fp8 with one scale for all queries and one for all keys and values.
    """
    stem = name.rpartition("/")[2]
    arch = name.partition("/")[0]
    prefill, narrow = "_pfl_" in stem, "_a8w8_" in stem
    fp8 = np.dtype(ml_dtypes.float8_e4m3fnuz if arch == "gfx942" else ml_dtypes.float8_e4m3fn)
    scales = [np.array([value], np.float32) for value in ((0.75, 0.5) if narrow else (1.0, 1.0))]
    rng = np.random.default_rng(heads + sum(lengths))
    total = sum(lengths)
    kv = real(rng, (total + 5, _LATENT), fp8 if narrow else BF16)
    index = rng.permutation(total + 5)[:total].astype(np.int32)
    q = real(rng, (len(lengths) * queries, heads, _LATENT), fp8 if narrow else BF16)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    scale = float(np.float32(_LATENT**-0.5))
    rows = len(q)

    def expected() -> list[Expected]:
        parts, lse = [], []
        for i in range(len(lengths)):
            own = kv[index[starts[i] : starts[i + 1]]].astype(np.float64) * scales[1]
            whole = q[i * queries : (i + 1) * queries].astype(np.float64) * scales[0]
            kind = "bottom-right" if queries > 1 else "none"
            done = forward(whole, own[:, None], own[:, None, :_VALUE], scale, kind)
            parts.append(done.o)
            lse.append(done.lse.T)
        o = np.concatenate(parts)
        if not stem.startswith("mla_dec_stage1_bf16_a16w16_subQ16"):
            # With one split the result is final: bf16, and no LSE.
            rough = 0.03 if narrow else 0.01
            return [
                Expected("R", o, rough, rough, view=lambda got: got.view(BF16).reshape(-1)[: o.size].reshape(o.shape))
            ]
        return [Expected("R", o[:, None], 0.01, 0.01), Expected("LSE", np.concatenate(lse)[:, None], 1e-4)]

    buffers = {
        "R": np.zeros((rows, splits, heads, _VALUE), np.float32), "LSE": np.zeros((rows, splits, heads), np.float32),
        "Q": q, "KV": kv, "kv_starts": starts, "pages": index, "last": np.ones(len(lengths), np.int32),
        "q_starts": np.arange(0, rows + 1, queries).astype(np.int32),
        "split_starts": np.arange(0, len(lengths) * splits + 1, splits).astype(np.int32),
        "out": np.zeros((rows, heads, _VALUE), BF16), "QS": scales[0], "KVS": scales[1],
    }  # fmt: skip
    together = 1 if prefill else queries
    kernarg: Kernarg = {
        **pointers("R LSE Q KV kv_starts pages last"), 0x70: scale, 0x80: heads * together, 0x90: splits,
        0xA0: heads * _LATENT * q.itemsize * together, 0xB0: _LATENT * kv.itemsize, 0xC0: 0, 0xD0: "q_starts",
        0xE0: "split_starts", 0xF0: "out", 0x120: splits,
    }  # fmt: skip
    if narrow:
        kernarg |= {0x100: "QS", 0x110: "KVS"}
    tile = 16 if "subQ16" in stem else 128
    return Case(
        "AITER", name, f"{heads} heads, {queries} of {lengths}", name.partition("/")[0], partial(wheel.member, name),
        (-(-heads * queries // tile), len(lengths), splits), (256, 1, 1), buffers, expected, kernarg=kernarg,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """Every pa kernel for pages of 16, and the mla kernels whose grid no scheduler makes."""
    for name in wheel.members():
        if "/pa/" in name and "gqa10" not in name:
            yield paged_attention(name, [37, 130, 5])
        elif "/mla/mla_dec_stage1" in name:
            yield latent_attention(name, 128 if "mqa128" in name else 16, [70, 33])
        elif "/mla/mla_a16w16" in name and not name.endswith("_ps.co"):
            yield latent_attention(name, 16, [70, 33], queries=4 if "_m16x4_" in name else 8)
        elif "/mla/mla_pfl" in name:
            yield latent_attention(name, 128 if "mqa128" in name else 16, [70, 33], queries=5)
        elif "/mla/mla_a8w8_qh16_qseqlen" in name and "_ps" not in name:
            yield latent_attention(name, 16, [70, 33], queries=int(name.partition("qseqlen")[2][0]))
