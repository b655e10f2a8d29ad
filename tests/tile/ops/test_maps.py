"""Arithmetic on register tiles: every op with tiles, vectors and numbers, beside its own reference meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.tile import f32, gl, i32, kernel, load, load_scalar, rt, rv, scalar, store
from pykittens.tile.ops import maps
from pykittens.tile.program_inputs import WAVE
from pykittens.tile.reference import Reference

BINARY = {"add": maps.add, "sub": maps.sub, "mul": maps.mul, "max": maps.max, "min": maps.min}
UNARY = {"exp2": maps.exp2, "log2": maps.log2, "rcp": maps.rcp, "relu": maps.relu}


@kernel(waves=(1, 2))
def mapped(
    A: gl("f32"),
    rows: gl("f32", rank=1),
    cols: gl("f32", rank=1),
    factor: scalar("f32"),
    C: gl("f32"),
    *,
    op="add",
    operand="tile",
    layout="row",
    shape="16x16",
):
    """Each wave a tile of 32 x 32 next to the other's."""
    x, y = rt(f32, 32, 32, layout, shape=shape), rt(f32, 32, 32, layout, shape=shape)
    load(x, A.tile(0, pk.wave.col)), load(y, A.tile(0, 1 - pk.wave.col))
    if op in UNARY:
        UNARY[op](x, y)
    elif op == "fma":
        maps.fma(x, x, factor, y)
    else:
        other: Any = {"tile": y, "number": 0.3, "inline": 2.0, "scalar": factor}.get(operand)
        if operand in ("rows", "cols"):
            other = rv(x, operand)
            load(other, rows.part(0) if operand == "rows" else cols.part(pk.wave.col))
        if operand.startswith("swapped"):
            BINARY[op](x, 0.3, y)
        else:
            BINARY[op](x, x, other)
    store(C.tile(0, pk.wave.col), x)


def run(arch: str, **options: Any) -> None:
    """The virtual GPU beside the reference, which runs the same traced ops."""
    exe = pk.compile(mapped, arch, **options)
    rng = np.random.default_rng(0)
    a = rng.uniform(0.25, 4, (32, 64)).astype(np.float32)
    if options["op"] == "relu":
        a[:, ::2] *= -1
        a[:3, 7] = np.nan, np.inf, -np.inf
    rows, cols = rng.standard_normal(32).astype(np.float32), rng.standard_normal(64).astype(np.float32)
    c = np.full((32, 64), np.nan, np.float32)
    exe(a, rows, cols, -1.25, c)
    tensors = {"A": a.astype(np.float64), "rows": rows, "cols": cols, "C": np.zeros((32, 64))}
    arguments = {argument.name: argument for argument in exe.built.arguments}
    inputs: dict[Any, Any] = {WAVE: 0, arguments["factor"].scalar.value: -1.25}
    for name, tensor in tensors.items():
        sizes = {"rows": 32, "cols": tensor.shape[-1], "stride": 4 * tensor.shape[-1]}
        inputs |= {value: sizes[part] for part, value, _, _ in arguments[name].fields()}
    Reference(2, inputs, tensors).run(exe.built.trace.nodes)
    np.testing.assert_allclose(c, tensors["C"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("operand", ["tile", "number", "inline", "scalar", "rows", "cols", "swapped"])
@pytest.mark.parametrize("op", BINARY)
def test_binary_maps(op: str, operand: str) -> None:
    run("gfx950", op=op, operand=operand)


@pytest.mark.parametrize("op", [*UNARY, "fma"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_unary_maps_and_fma(arch: str, op: str) -> None:
    run(arch, op=op)


@pytest.mark.parametrize("operand", ["rows", "cols"])
@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("shape", ["16x16", "32x32"])
def test_vectors_along_and_across_the_lanes(shape: str, layout: str, operand: str) -> None:
    run("gfx942", op="mul", operand=operand, layout=layout, shape=shape)


def test_misfits_are_refused() -> None:
    @kernel(waves=(1, 1))
    def wrong(C: gl("f32"), *, case="shape"):
        x = rt(f32, 32, 32)
        if case == "shape":
            maps.add(x, x, rt(f32, 16, 32))
        elif case == "vector":
            maps.add(x, x, rv(rt(f32, 16, 32), "rows"))
        elif case == "agpr":
            maps.add(x, x, rt(f32, 32, 32, file="agpr"))
        elif case == "numbers":
            maps.fma(x, x, 1.0, 2.0)
        else:
            maps.add(x, x)

    cases = {
        "shape": "add: rt1 does not fit", "vector": "add: rv2 does not fit", "agpr": "add computes in f32 in VGPRs",
        "numbers": "fma takes one number besides tiles", "count": "add takes 2 operands, got 1",
    }  # fmt: skip
    for case, words in cases.items():
        with pytest.raises(pk.errors.BuildError, match=words):
            pk.compile(wrong, case=case)


@kernel(waves=(1, 1))
def looked_up(starts: gl(i32, rank=1), scale: gl("f32", rank=1), A: gl("f32"), C: gl("f32")):
    """C's tile at starts[1] is A's tile at starts[2], times scale[3]."""
    x = rt(f32, 16, 16)
    load(x, A.tile(load_scalar(starts, 2), 0))
    maps.mul(x, x, load_scalar(scale, 3))
    store(C.tile(load_scalar(starts, 1), 0), x)


def test_scalars_are_loaded_as_indices_and_numbers() -> None:
    a, c = np.arange(48 * 16, dtype=np.float32).reshape(48, 16), np.zeros((48, 16), np.float32)
    pk.compile(looked_up, "gfx942")(np.array([9, 2, 1], np.int32), np.array([0, 0, 0, 0.5], np.float32), a, c)
    np.testing.assert_array_equal(c[32:], a[16:32] / 2)
    assert not c[:32].any()
