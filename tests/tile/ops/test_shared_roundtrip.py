"""Register tiles written to LDS by one wave and read by another, in machine code on the virtual GPU."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pykittens.executable import compile
from pykittens.tile import barrier, gl, kernel, load, mma_ABt, rt, st, store, wait_for, wave, zero


@kernel(waves=(1, 2))
def through_lds(A: gl("bf16"), B: gl("bf16"), C: gl("f32"), *, shape="16x16_swizzled"):
    """C[32, 32] = A[32, 64] B[32, 64]ᵀ, where A goes from LDS through registers to another tile of LDS first."""
    As, Bs, Cs = st("bf16", 32, 64), st("bf16", 32, 64), st("bf16", 32, 64, shape)
    load(As, A.tile(0, 0), edges="inside")
    load(Bs, B.tile(0, 0), edges="inside")
    wait_for(As, Bs)
    barrier()
    half = rt("bf16", 16, 64)
    load(half, As.subtile(16, 64, wave.col, 0))
    store(Cs.subtile(16, 64, wave.col, 0), half)
    wait_for(Cs)
    barrier()
    a, b, c = rt("bf16", 32, 64), rt("bf16", 32, 64), rt("f32", 32, 32)
    load(a, Cs)
    load(b, Bs)
    zero(c)
    mma_ABt(c, a, b)
    store(C.tile(0, 0), c)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("shape", ["16x16_swizzled", "16x32", "8x32"])
def test_what_one_wave_writes_all_read(arch: str, shape: str) -> None:
    rng = np.random.default_rng(5)
    A, B = (rng.integers(-8, 9, (32, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    C = np.zeros((32, 32), np.float32)
    exe = compile(through_lds, arch, shape=shape)
    exe(A, B, C)
    assert np.array_equal(C, A.astype(np.float64) @ B.astype(np.float64).T)
    wide = shape != "16x16_swizzled"
    assert ("ds_write_b128" if wide else "ds_write_b64") in exe.assembly


@kernel(waves=(1, 1))
def two_heights(A: gl("f32"), C: gl("f32")):
    """C[32, 16] = A, after a tile of half its rows was loaded from the same place."""
    half, whole, held = st("f32", 16, 32, "16x16"), st("f32", 32, 32, "16x16"), rt("f32", 32, 16)
    load(half, A.tile(0, 0)), load(whole, A.tile(0, 0)), wait_for(half, whole), barrier()
    load(held, whole.subtile(32, 16, 0, 0))
    store(C.tile(0, 0), held)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_windows_that_begin_together_keep_their_own_ends(arch: str) -> None:
    A = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    C = np.zeros((32, 16), np.float32)
    compile(two_heights, arch)(A, C)
    assert np.array_equal(C, A[:, :16])
