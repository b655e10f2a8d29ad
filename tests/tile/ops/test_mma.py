"""The MFMA ops in every operand layout and base shape, with operands in VGPRs and AGPRs, pinned and shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.isa.registers import a as agpr
from pykittens.isa.registers import v as vgpr
from pykittens.tile import (
    barrier,
    f32,
    gl,
    kernel,
    load,
    mma_AB,
    mma_ABt,
    mma_AtB,
    mma_AtBt,
    rt,
    st,
    store,
    wait_for,
    zero,
)

OPS = {"AB": mma_AB, "ABt": mma_ABt, "AtB": mma_AtB, "AtBt": mma_AtBt}


@kernel(waves=(1, 1))
def product(
    A: gl("dtype"),
    B: gl("dtype_b"),
    C: gl("f32"),
    *,
    op="ABt",
    dtype="bf16",
    dtype_b="bf16",
    m=32,
    n=32,
    k=64,
    base=(16, 32),
    accumulator="row",
    file="vgpr",
    options=None,
):
    """One wave: LDS to registers, one op, registers to memory. base: rows and columns of A's base tile before t."""
    transposed = op.startswith("At"), op.endswith("Bt")
    As, Bs = st(dtype, *((k, m) if transposed[0] else (m, k))), st(dtype_b, *((n, k) if transposed[1] else (k, n)))
    load(As, A.tile(0, 0)), load(Bs, B.tile(0, 0))
    wait_for(As, Bs)
    barrier()
    side, depth = base
    row, col = f"{side}x{depth}", f"{depth}x{side}"
    given = options or {}
    a_layout, b_layout = ("col" if transposed[0] else "row"), ("row" if transposed[1] else "col")
    shapes = {"row": row, "col": col}
    a = rt(dtype, As.rows, As.cols, a_layout, shape=shapes[a_layout], file=file, **given.get("a", {}))
    b = rt(dtype_b, Bs.rows, Bs.cols, b_layout, shape=shapes[b_layout], file=file, **given.get("b", {}))
    c = rt(f32, m, n, accumulator, shape=f"{side}x{side}", **given.get("c", {}))
    zero(c)
    load(a, As), load(b, Bs)
    OPS[op](c, a, b)
    store(C.tile(0, 0), c)


def check(arch: str, **options: Any) -> pk.Executable:
    """The product of small integers, which every format holds and f32 adds exactly."""
    exe = pk.compile(product, arch, **options)
    chosen = exe.built.options
    rng = np.random.default_rng(1)
    m, n, k = chosen["m"], chosen["n"], chosen["k"]
    a, b = rng.integers(-4, 5, (m, k)).astype(np.float32), rng.integers(-4, 5, (k, n)).astype(np.float32)
    first = a.T if chosen["op"].startswith("At") else a
    second = b.T if chosen["op"].endswith("Bt") else b
    types = [pk.tile.dtypes.get(chosen[name]).numpy for name in ("dtype", "dtype_b")]
    c = np.full((m, n), np.nan, np.float32)
    exe(first.astype(types[0], order="C"), second.astype(types[1], order="C"), c)
    np.testing.assert_array_equal(c, a @ b)
    return exe


@pytest.mark.parametrize("accumulator", ["row", "col"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("arch", "dtype", "base"),
    [
        ("gfx950", "bf16", (16, 32)),
        ("gfx950", "f16", (32, 16)),
        ("gfx942", "bf16", (16, 16)),
        ("gfx942", "f16", (32, 8)),
    ],
)
def test_16_bit_shapes_in_every_layout(arch: str, dtype: str, base: tuple[int, int], op: str, accumulator: str) -> None:
    check(arch, op=op, dtype=dtype, dtype_b=dtype, base=base, accumulator=accumulator)


@pytest.mark.parametrize("accumulator", ["row", "col"])
@pytest.mark.parametrize("types", [("e4m3fn", "e4m3fn"), ("e5m2", "e4m3fn"), ("e4m3fn", "e5m2")])
@pytest.mark.parametrize("base", [(16, 128), (32, 64), (16, 32)])
def test_8_bit_shapes_of_gfx950(base: tuple[int, int], types: tuple[str, str], accumulator: str) -> None:
    """Formats that differ stay with their operand, also where operands are exchanged."""
    check("gfx950", dtype=types[0], dtype_b=types[1], k=128, base=base, accumulator=accumulator)


@pytest.mark.parametrize("accumulator", ["row", "col"])
@pytest.mark.parametrize("base", [(16, 32), (32, 16)])
def test_8_bit_shapes_of_gfx942(base: tuple[int, int], accumulator: str) -> None:
    check("gfx942", dtype="e4m3fnuz", dtype_b="e5m2fnuz", k=128, base=base, accumulator=accumulator)


def test_8_bit_columns_are_transposed_by_the_lds() -> None:
    exe = check("gfx950", op="AB", dtype="e4m3fn", dtype_b="e4m3fn", n=128, k=128, base=(16, 128))
    assert "ds_read_b64_tr_b8" in exe.assembly


def test_operands_in_agprs() -> None:
    """LDS is read into AGPRs, and MFMAs take them, which hipcc will not do."""
    exe = check("gfx950", file="agpr")
    assert "ds_read_b128 a[" in exe.assembly
    assert not [line for line in exe.assembly.splitlines() if "v_accvgpr_read" in line]


def test_pins_of_several_ranges_and_both_files() -> None:
    pins = {"a": {"regs": (agpr[8:15], vgpr[100:107])}, "b": {"regs": agpr[20:35]}, "c": {"regs": vgpr[40:55]}}
    exe = check("gfx950", options=pins)
    assert {life.tile.name: life.tile.regs for life in exe.registers.lives}["a"] == pins["a"]["regs"]
    assert any("a   " in line and "a[8:15] v[100:107]" in line for line in exe.assembly.splitlines())


def test_a_pin_that_splits_a_base_tile_is_refused() -> None:
    with pytest.raises(pk.errors.BuildError, match=r"a is pinned to v\[100:105\], where 4 registers at 4 do not fit"):
        check("gfx950", options={"a": {"regs": (vgpr[100:105], vgpr[110:119])}})


def test_shapes_that_no_mfma_has_are_refused() -> None:
    with pytest.raises(pk.errors.BuildError, match="gfx942 has no 16x16x128 MFMA for bf16"):
        check("gfx942", base=(16, 128), k=128)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("base", "mfma"), [((16, 32), "16x16x16"), ((32, 16), "32x32x8")])
def test_16_bit_operands_for_two_mfmas_of_gfx942(base: tuple[int, int], mfma: str, op: str) -> None:
    exe = check("gfx942", op=op, base=base)
    assert exe.assembly.count(f"v_mfma_f32_{mfma}_bf16") == 32 * 32 * 64 // (32 * 32 * 8 if base[0] == 32 else 16**3)


@pytest.mark.parametrize(("base", "count"), [((16, 64), 2 * 2 * 4), ((16, 128), 2 * 2 * 4), ((32, 64), 8)])
def test_8_bit_operands_for_several_mfmas_of_gfx942(base: tuple[int, int], count: int) -> None:
    exe = check("gfx942", dtype="e4m3fnuz", dtype_b="e5m2fnuz", k=128, base=base)
    assert exe.assembly.count("v_mfma") == count


@kernel(waves=(1, 1))
def shared_registers(A: gl("f32"), C: gl("f32"), *, late=False):
    """Two tiles, one after the other, in the same registers by declaration."""
    first = rt(f32, 16, 16)
    second = rt(f32, 16, 16, over=first)
    load(first, A.tile(0, 0))
    if late:
        load(second, A.tile(0, 1))
        store(C.tile(0, 0), first)
    else:
        store(C.tile(0, 0), first)
        load(second, A.tile(0, 1))
    store(C.tile(0, 1), second)


def test_registers_are_shared_by_declaration() -> None:
    exe = pk.compile(shared_registers, "gfx950")
    places = {life.tile.name: life.tile.regs for life in exe.registers.lives}
    assert places["first"] == places["second"]
    a, c = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((16, 32), np.float32)
    exe(a, c)
    np.testing.assert_array_equal(c, a)


def test_sharing_while_both_are_alive_is_refused() -> None:
    with pytest.raises(pk.errors.BuildError, match="second lies over first, which is alive at the same time"):
        pk.compile(shared_registers, "gfx950", late=True)
