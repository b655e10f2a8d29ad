"""Kernels in Triton, and a command that compiles them offline: ``python triton_kernels.py FOLDER ARCH``.

Runs in a process of its own, with Triton on its path; `triton_cases` launches what it leaves in the folder: a code
object for each kernel, and ``kernels.json`` with their bytes of LDS and numbers of warps.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(b + columns[None, :] * K + (k + depth)[:, None], mask=columns[None, :] < N, other=0.0)
        total = tl.dot(x, y, total, out_dtype=ACC)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def matmul_row_major_b(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inside = k + depth < K
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=inside[None, :], other=0)
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :], mask=inside[:, None], other=0)
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def matmul_scaled(a, b, c, sa, sb, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    bytes_ = tl.arange(0, BK // 2)
    groups = tl.arange(0, BK // 32)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * (K // 2) + (k // 2 + bytes_)[None, :])
        y = tl.load(b + columns[None, :] * (K // 2) + (k // 2 + bytes_)[:, None])
        xs = tl.load(sa + rows[:, None] * (K // 32) + (k // 32 + groups)[None, :])
        ys = tl.load(sb + columns[:, None] * (K // 32) + (k // 32 + groups)[None, :])
        total = tl.dot_scaled(x, xs, "e2m1", y, ys, "e2m1", total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def attention(q, k, v, o, lse, S, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(1) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + d[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BM, S) if CAUSAL else S
    for start in range(0, end, BN):
        keys = start + tl.arange(0, BN)
        key = tl.load(k + base + keys[None, :] * D + d[:, None])
        scores = tl.dot(query, key) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        shrink = tl.exp(top - higher)
        weight = weight * shrink + tl.sum(p, 1)
        value = tl.load(v + base + keys[:, None] * D + d[None, :])
        total = total * shrink[:, None] + tl.dot(p.to(value.dtype), value)
        top = higher
    tl.store(o + base + rows[:, None] * D + d[None, :], (total / weight[:, None]).to(query.dtype))
    tl.store(lse + tl.program_id(1) * S + rows, top + tl.log(weight))


@triton.jit
def attention_delta(o, do, delta, S, BM: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(1) * S + tl.program_id(0) * BM + tl.arange(0, BM)
    at = rows[:, None] * D + tl.arange(0, D)[None, :]
    product = tl.load(o + at).to(tl.float32) * tl.load(do + at).to(tl.float32)
    tl.store(delta + rows, tl.sum(product, 1))


@triton.jit
def attention_dkdv(q, k, v, do, lse, delta, dk, dv, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(1) * S * D
    keys = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    key = tl.load(k + base + keys[:, None] * D + d[None, :])
    value = tl.load(v + base + keys[:, None] * D + d[None, :])
    total_k = tl.zeros((BN, D), tl.float32)
    total_v = tl.zeros((BN, D), tl.float32)
    for start in range(0, S, BM):
        rows = start + tl.arange(0, BM)
        query = tl.load(q + base + rows[:, None] * D + d[None, :])
        grad = tl.load(do + base + rows[:, None] * D + d[None, :])
        weight = tl.load(lse + tl.program_id(1) * S + rows)
        p = tl.exp(tl.dot(key, tl.trans(query)) * scale - weight[None, :])
        p = tl.where(rows[None, :] >= keys[:, None], p, 0.0)
        total_v += tl.dot(p.to(grad.dtype), grad)
        own = tl.load(delta + tl.program_id(1) * S + rows)
        ds = p * (tl.dot(value, tl.trans(grad)) - own[None, :])
        total_k += tl.dot(ds.to(query.dtype), query)
    tl.store(dk + base + keys[:, None] * D + d[None, :], total_k * scale)
    tl.store(dv + base + keys[:, None] * D + d[None, :], total_v)


@triton.jit
def attention_dq(q, k, v, do, lse, delta, dq, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(1) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + d[None, :])
    grad = tl.load(do + base + rows[:, None] * D + d[None, :])
    weight = tl.load(lse + tl.program_id(1) * S + rows)
    own = tl.load(delta + tl.program_id(1) * S + rows)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, S, BN):
        keys = start + tl.arange(0, BN)
        key = tl.load(k + base + keys[:, None] * D + d[None, :])
        value = tl.load(v + base + keys[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(query, tl.trans(key)) * scale - weight[:, None])
        p = tl.where(rows[:, None] >= keys[None, :], p, 0.0)
        ds = p * (tl.dot(grad, tl.trans(value)) - own[:, None])
        total += tl.dot(ds.to(key.dtype), key)
    tl.store(dq + base + rows[:, None] * D + d[None, :], total * scale)


@triton.jit
def layer_norm(x, w, b, y, mean, rstd, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < N
    value = tl.load(x + row * N + columns, mask=inside, other=0.0).to(tl.float32)
    middle = tl.sum(value, 0) / N
    centred = tl.where(inside, value - middle, 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, 0) / N + eps)
    scale = tl.load(w + columns, mask=inside)
    shift = tl.load(b + columns, mask=inside)
    tl.store(y + row * N + columns, (centred * inverse * scale + shift).to(tl.float16), mask=inside)
    tl.store(mean + row, middle)
    tl.store(rstd + row, inverse)


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + columns, mask=columns < N, other=float("-inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * N + columns, power / tl.sum(power, 0), mask=columns < N)


@triton.jit
def atomic_sum(x, total, largest, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < N, other=0)
    tl.atomic_add(total, tl.sum(value, 0))
    tl.atomic_max(largest, tl.max(value, 0))


@triton.jit
def scatter_add(index, x, y, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.load(index + at, mask=at < N), tl.load(x + at, mask=at < N), mask=at < N)


@triton.jit
def cumsum(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y + row * N + columns, tl.cumsum(value, 0), mask=columns < N)


@triton.jit
def gather(x, index, y, N, D: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    source = tl.load(index + at, mask=at < N, other=0)
    d = tl.arange(0, D)
    value = tl.load(x + source[:, None] * D + d[None, :])
    tl.store(y + at[:, None] * D + d[None, :], value, mask=at[:, None] < N)


@triton.jit
def gather_in_tile(x, index, y, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@triton.jit
def dropout(x, y, N, seed, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    value = tl.load(x + at, mask=at < N, other=0.0)
    tl.store(y + at, tl.where(keep, value / (1 - p), 0.0), mask=at < N)


@triton.jit
def functions(x, y, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < N
    value = tl.load(x + at, mask=inside, other=1.0)
    tl.store(y + at, tl.sin(value), mask=inside)
    tl.store(y + N + at, tl.cos(value * 100), mask=inside)
    tl.store(y + 2 * N + at, tl.erf(value), mask=inside)
    tl.store(y + 3 * N + at, tl.log2(tl.abs(value)), mask=inside)
    tl.store(y + 4 * N + at, tl.exp2(value), mask=inside)
    tl.store(y + 5 * N + at, tl.sqrt(tl.abs(value)), mask=inside)
    tl.store(y + 6 * N + at, tl.floor(value) + tl.ceil(value * 3), mask=inside)
    tl.store(y + 7 * N + at, tl.fma(value, value, 1.0) / value, mask=inside)


@triton.jit
def integers(x, z, y, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < N
    a = tl.load(x + at, mask=inside, other=1)
    b = tl.load(z + at, mask=inside, other=1)
    tl.store(y + at, a // b, mask=inside)
    tl.store(y + N + at, a % b, mask=inside)
    tl.store(y + 2 * N + at, a * b, mask=inside)
    tl.store(y + 3 * N + at, tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int64), mask=inside)


@triton.jit
def sort(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def histogram(x, y, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), BINS)
    tl.atomic_add(y + tl.arange(0, BINS), counts)


@triton.jit
def argmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + columns, mask=columns < N, other=float("-inf"))
    tl.store(y + row, tl.argmax(value, 0))


@triton.jit
def transpose(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tile = tl.load(x + rows[:, None] * N + columns[None, :], mask=inside)
    tl.store(y + columns[:, None] * M + rows[None, :], tl.trans(tile), mask=tl.trans(inside))


def _tiles(rows: int, columns: int, depth: int, **more: object) -> dict[str, object]:
    return {"BM": rows, "BN": columns, "BK": depth, **more}


_FLASH = {"BM": 64, "BN": 32, "D": 64}
_INPUTS = "*bf16 *bf16 *bf16 *bf16 *fp32 *fp32"


def variants(arch: str) -> dict[str, tuple[object, str, dict[str, object], dict[str, object]]]:
    """Name to kernel, types of its arguments, constants and compiler options."""
    fp8 = "*fp8e4b8" if arch == "gfx942" else "*fp8e4nv"
    f32, i32 = {"ACC": tl.float32}, {"ACC": tl.int32}
    sizes = "i32 i32 i32"
    found = {
        "matmul_bf16_128x128x64": (matmul, f"*bf16 *bf16 *fp32 {sizes}", _tiles(128, 128, 64, **f32), {"num_warps": 8}),
        # Sizes that are multiples of 16, as the JIT finds out by itself.
        "matmul_bf16_128x128x64_by16": (
            matmul, f"*bf16 *bf16 *fp32 {sizes}", _tiles(128, 128, 64, **f32), {"num_warps": 8},
        ),
        "matmul_bf16_256x256x64_by16": (
            matmul, f"*bf16 *bf16 *fp32 {sizes}", _tiles(256, 256, 64, **f32), {"num_warps": 8},
        ),
        "matmul_bf16_64x32x32": (matmul, f"*bf16 *bf16 *fp32 {sizes}", _tiles(64, 32, 32, **f32), {"num_warps": 2}),
        "matmul_f16_64x64x64": (matmul, f"*fp16 *fp16 *fp32 {sizes}", _tiles(64, 64, 64, **f32), {}),
        "matmul_f16_32x128x32": (
            matmul, f"*fp16 *fp16 *fp32 {sizes}", _tiles(32, 128, 32, **f32), {"matrix_instr_nonkdim": 32},
        ),
        "matmul_fp8_64x64x64": (matmul, f"{fp8} {fp8} *fp32 {sizes}", _tiles(64, 64, 64, **f32), {}),
        "matmul_i8_128x64x64": (matmul, f"*i8 *i8 *i32 {sizes}", _tiles(128, 64, 64, **i32), {}),
        "matmul_f32_32x32x32": (matmul, f"*fp32 *fp32 *fp32 {sizes}", _tiles(32, 32, 32, **f32), {}),
        "matmul_row_major_b_bf16": (
            matmul_row_major_b, f"*bf16 *bf16 *bf16 {sizes}", _tiles(64, 128, 32), {"num_stages": 3},
        ),
        "attention_bf16": (attention, "*bf16 *bf16 *bf16 *bf16 *fp32 i32 fp32", {"CAUSAL": False, **_FLASH}, {}),
        "attention_causal_f16": (attention, "*fp16 *fp16 *fp16 *fp16 *fp32 i32 fp32", {"CAUSAL": True, **_FLASH}, {}),
        "attention_delta": (attention_delta, "*bf16 *bf16 *fp32 i32", {"BM": 64, "D": 64}, {}),
        "attention_dkdv": (attention_dkdv, f"{_INPUTS} *fp32 *fp32 i32 fp32", _FLASH, {}),
        "attention_dq": (attention_dq, f"{_INPUTS} *fp32 i32 fp32", _FLASH, {}),
        "layer_norm": (layer_norm, "*fp16 *fp32 *fp32 *fp16 *fp32 *fp32 i32 fp32", {"BLOCK": 1024}, {}),
        "softmax": (softmax, "*fp32 *fp32 i32", {"BLOCK": 1024}, {}),
        "atomic_sum": (atomic_sum, "*i32 *i32 *i32 i32", {"BLOCK": 256}, {}),
        "scatter_add": (scatter_add, "*i32 *fp32 *fp32 i32", {"BLOCK": 256}, {}),
        "cumsum": (cumsum, "*fp32 *fp32 i32", {"BLOCK": 1024}, {}),
        "gather": (gather, "*fp16 *i32 *fp16 i32", {"D": 64, "BLOCK": 32}, {}),
        "gather_in_tile": (gather_in_tile, "*fp32 *i32 *fp32", {"R": 64, "C": 32}, {}),
        "dropout": (dropout, "*fp32 *fp32 i32 i32 fp32", {"BLOCK": 512}, {}),
        "functions": (functions, "*fp32 *fp32 i32", {"BLOCK": 512}, {}),
        "integers": (integers, "*i64 *i64 *i64 i32", {"BLOCK": 512}, {}),
        "sort": (sort, "*i32 *i32", {"N": 256}, {}),
        "histogram": (histogram, "*i32 *i32", {"N": 512, "BINS": 32}, {}),
        "argmax": (argmax, "*fp32 *i32 i32", {"BLOCK": 512}, {}),
        "transpose": (transpose, "*bf16 *bf16 i32 i32", {"BM": 64, "BN": 64}, {}),
    }  # fmt: skip
    if arch == "gfx950":
        types = f"*u8 *u8 *fp32 *u8 *u8 {sizes}"
        found["matmul_scaled_fp4"] = (matmul_scaled, types, _tiles(64, 64, 128), {})
    return found


def main() -> None:
    folder, arch = Path(sys.argv[1]), sys.argv[2]
    about = {}
    for name, (kernel, types, constants, options) in variants(arch).items():
        names = [n for n in kernel.arg_names if n not in constants]
        signature = dict(zip(names, types.split(), strict=True)) | dict.fromkeys(constants, "constexpr")
        aligned = {
            (kernel.arg_names.index(n),): [["tt.divisibility", 16]]
            for n in names
            if signature[n][0] == "*" or name.endswith("_by16")
        }
        source = ASTSource(kernel, signature, constants, aligned)
        made = triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)
        (folder / f"{name}.co").write_bytes(made.asm["hsaco"])
        about[name] = {"lds": made.metadata.shared, "warps": made.metadata.num_warps, "kernel": made.metadata.name}
    (folder / "kernels.json").write_text(json.dumps(about))


if __name__ == "__main__":
    main()
