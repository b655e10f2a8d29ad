"""Calling compiled kernels: what the arguments may be, what is refused, and what a refusal leaves untouched."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pykittens as pk
from pykittens.asm import code_object
from pykittens.errors import BuildError, CodeObjectError, InputError
from pykittens.schedule.grid import Chiplet, RowMajor
from pykittens.schedule.grid_code import NAMES

BF16 = np.dtype(ml_dtypes.bfloat16)


@functools.cache
def exe(arch: str = "gfx950") -> pk.Executable:
    return pk.compile(pk.kernels.gemm, arch, out="f32")


def tensors(m: int = 4, n: int = 5, k: int = 6) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32).astype(BF16) for shape in ((m, k), (n, k)))
    return {"A": a, "B": b, "C": np.full((m, n), np.nan, np.float32)}


def test_attributes_say_what_the_code_object_says() -> None:
    built = exe()
    kernel = code_object.read(built.code_object).kernel("gemm")
    assert (built.name, built.arch) == ("gemm", "gfx950")
    assert built.metadata == kernel.metadata
    assert built.lds_bytes == kernel.lds_bytes
    assert built.registers.text()
    assert ".amdgcn_target" in built.assembly
    assert built.written == {"C"}


def test_same_options_same_bytes() -> None:
    again = pk.compile(pk.kernels.gemm, "gfx950", out="f32")
    assert again.assembly == exe().assembly
    assert again.code_object == exe().code_object


def test_a_call_returns_what_was_run() -> None:
    t = tensors()
    run = exe()(*t.values())
    assert run.instructions > 0
    assert run.workgroups == 1
    np.testing.assert_allclose(t["C"], t["A"].astype(np.float64) @ t["B"].astype(np.float64).T, rtol=1e-5)


def test_the_bytes_that_were_read_back_run(tmp_path: Any) -> None:
    (tmp_path / "gemm.co").write_bytes(exe().code_object)
    again = pk.Executable(replace(exe().built, code_object=(tmp_path / "gemm.co").read_bytes()))
    first, second = tensors(), tensors()
    exe()(*first.values())
    again(*second.values())
    np.testing.assert_array_equal(first["C"], second["C"])


def test_one_tensor_may_be_read_twice() -> None:
    t = tensors(4, 4)
    exe()(t["A"], t["A"], t["C"])
    np.testing.assert_array_equal(t["C"], t["C"].T)


def test_launch_options_reach_the_virtual_gpu() -> None:
    run = exe()(*tensors(600, 300, 64).values(), threads=1)
    assert run.threads == 1
    with pytest.raises(pk.Error, match="instructions"):
        exe()(*tensors().values(), max_instructions=10)


def view(array: Any, **changes: Any) -> Any:
    """The array with another shape or strides, over memory that is large enough."""
    memory = np.zeros(4096, array.dtype)
    return np.lib.stride_tricks.as_strided(memory, **{"shape": array.shape, "strides": array.strides, **changes})


def read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: Any) -> Any:
    """The same elements from an odd address on."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[:] = array
    return moved


# What is done to one of A (4 x 6), B (5 x 6), C (4 x 5), the code of the error, and both numbers in it.
BAD = [
    ("A", lambda a: a.astype(np.float32), "dtype", "A is float32, the kernel takes bfloat16"),
    ("A", lambda a: a.astype(np.float16), "dtype", "A is float16, the kernel takes bfloat16"),
    ("C", lambda c: c.astype(np.float64), "dtype", "C is float64, the kernel takes float32"),
    ("A", lambda a: a.astype(np.float32).astype(">f4"), "dtype", "the kernel takes bfloat16"),
    ("A", lambda a: a.reshape(4, 6, 1), "rank", "A has 3 dimensions, the kernel takes 2"),
    ("B", lambda b: b[0], "rank", "B has 1 dimensions, the kernel takes 2"),
    ("A", lambda a: view(a, strides=(40, 4)), "contiguity", "a row of A are 4 bytes apart, the kernel takes 2"),
    ("B", lambda b: np.asfortranarray(b), "contiguity", "elements of a row of B are 10 bytes apart"),
    ("B", lambda b: b[:, ::-1], "contiguity", "elements of a row of B are -2 bytes apart"),
    ("B", lambda b: b[::-1], "row-stride", "the rows of B are -12 bytes apart and 12 long"),
    ("A", lambda a: np.broadcast_to(a[:1], (4, 6)), "row-stride", "the rows of A are 0 bytes apart and 12 long"),
    ("A", lambda a: view(a, strides=(13, 2)), "row-stride", "the rows of A are 13 bytes apart, elements have 2"),
    ("A", lambda a: a[:, :5].copy(), "shape-mismatch", "A and B must have the same K, got 5 and 6"),
    ("B", lambda b: b[:4].copy(), "shape-mismatch", "C and B must have the same N, got 5 and 4"),
    ("C", lambda c: c[:3].copy(), "shape-mismatch", "C and A must have the same M (rows), got 3 and 4"),
    ("C", read_only, "read-only", "C is written by the kernel and is read-only"),
    ("A", misaligned, "alignment", "A is not aligned to its 2-byte elements"),
    ("A", lambda a: a.tolist(), "tensor-kind", "A is a list"),
    ("A", lambda a: None, "tensor-kind", "A is a NoneType"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "code", "words"), BAD)
def test_bad_tensors_are_refused_and_nothing_is_written(name: str, damage: Any, code: str, words: str) -> None:
    t = tensors()
    t[name] = damage(t[name])
    before = np.array(t["C"]).tobytes()
    with pytest.raises(InputError) as caught:
        exe()(*t.values())
    assert caught.value.code == code
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert np.array(t["C"]).tobytes() == before


def test_rows_too_far_apart() -> None:
    limit = (1 << 31) // 256 - 1
    t = tensors(2, 2, 2)
    far = np.zeros((2, limit // 2 + 2), BF16)[:, :2]
    with pytest.raises(InputError, match=f"rows of A are {far.strides[0]} bytes apart, the limit is {limit}"):
        exe()(far, t["B"], t["C"])


def test_sizes_that_no_32_bit_number_holds() -> None:
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, BF16), shape=(1 << 31, 1), strides=(2, 2))
    t = tensors()
    with pytest.raises(InputError, match=r"A is 2147483648x1, sizes reach 2147483647"):
        exe()(huge, t["B"], t["C"])


def test_an_output_that_is_an_input_too() -> None:
    square = pk.compile(pk.kernels.gemm, "gfx950", out="bf16")
    a = np.ones((8, 8), BF16)
    for c in (a, a[:, :8], a[::-1][::-1]):
        with pytest.raises(InputError, match="C is written and shares memory with A"):
            square(a, np.ones((8, 8), BF16), c)
    assert (a == 1).all()
    # Columns of one array beside each other share no element.
    both = np.ones((8, 16), BF16)
    square(both[:, :8], np.ones((8, 8), BF16), both[:, 8:])
    assert (both[:, 8:] == 8).all()


@pytest.mark.parametrize("count", [0, 2, 4])
def test_wrong_number_of_tensors(count: int) -> None:
    given = (*tensors().values(), np.zeros((1, 1), np.float32))[:count]
    with pytest.raises(InputError, match=rf"gemm takes 3 arguments \(A, B, C\), got {count}"):
        exe()(*given)


def test_devices_that_are_not_there() -> None:
    with pytest.raises(InputError, match="device 'cuda' is not available"):
        exe()(*tensors().values(), device="cuda")


@pytest.mark.parametrize(
    ("arch", "options", "words"),
    [
        ("gfx90a", {}, "unknown arch 'gfx90a'; choose one of gfx942, gfx950"),
        ("gfx950", {"dtype": "f64"}, "dtype 'f64' is not known; use one of bf16, f16, f32"),
        ("gfx950", {"tiles": 3}, "gemm has no option 'tiles'; use one of dtype, out, layout"),
        ("gfx950", {"tile": 3}, "^tile is 3; use auto or one of "),
    ],
)
def test_builds_that_cannot_be(arch: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        pk.compile(pk.kernels.gemm, arch, **options)


def test_inputs_that_the_matrix_cores_do_not_take() -> None:
    with pytest.raises(BuildError) as caught:
        pk.compile(pk.kernels.gemm, "gfx950", dtype="i32")
    assert caught.value.where is not None
    assert "gemm.py:" in caught.value.where


def test_what_is_no_kernel() -> None:
    with pytest.raises(InputError, match=r"is not a kernel; decorate the function with pk\.kernel"):
        pk.compile(print)  # type: ignore[arg-type]


def test_a_code_object_for_another_chip() -> None:
    other = pk.Executable(replace(exe().built, code_object=exe("gfx942").code_object))
    t = tensors()
    with pytest.raises(CodeObjectError, match="the code object is for gfx942, not gfx950"):
        other(*t.values())
    assert np.isnan(t["C"]).all()


# -- grid orders ---------------------------------------------------------------------------------------------------
def test_order_for_takes_arrays_and_shapes_and_is_what_a_launch_has() -> None:
    built = pk.compile(pk.kernels.gemm, "gfx950", tile="192x256")
    shapes = (9216, 9216), (9216, 9216), (9216, 9216)
    order = built.order_for(*shapes)
    assert isinstance(order, Chiplet)
    assert order == pk.best_order(9216, 9216, 9216, (192, 256), "gfx950")
    assert built.order_for(*(np.broadcast_to(np.uint8(0), shape) for shape in shapes)) == order
    t = tensors(4, 4)
    assert exe().order_for(*t.values()) == RowMajor()
    launch = exe().launch_arguments(*t.values())
    assert launch is not None
    assert launch["grid"] == (1, 1, 1)
    assert launch["args"][-len(NAMES) :] == [0] * len(NAMES)


def test_an_order_that_was_given_stays() -> None:
    for order in (Chiplet(8, 64), RowMajor(), "chiplet:3,5", "row-major"):
        built = pk.compile(pk.kernels.gemm, "gfx950", order=order)
        assert str(built.order_for((9216, 64), (9216, 64), (9216, 9216))) == str(order)
    assert pk.compile(pk.kernels.gemm, "gfx950", order="best").code_object == pk.compile(pk.kernels.gemm).code_object


@pytest.mark.parametrize("dtype", ["f32", "f16", "e4m3fn"])
def test_elements_of_every_size_have_an_order(dtype: str) -> None:
    built = pk.compile(pk.kernels.gemm, "gfx950", dtype=dtype, tile="128x128")
    assert built.order_for((9000, 640), (9000, 640), (9000, 9000)) is not None


def test_no_order_where_there_is_nothing_to_do_and_refusals_as_for_a_launch() -> None:
    assert exe().order_for((0, 64), (8, 64), (0, 8)) is None
    with pytest.raises(InputError, match="same K"):
        exe().order_for((8, 64), (8, 32), (8, 8))
    with pytest.raises(InputError, match="takes 3 arguments"):
        exe().order_for((8, 64))
    with pytest.raises(InputError, match="A has 3 dimensions, the kernel takes 2"):
        exe().order_for((1, 8, 64), (8, 64), (8, 8))
    with pytest.raises(InputError, match="A is a str"):
        exe().order_for("A", (8, 64), (8, 8))
    with pytest.raises(InputError, match="order is 5"):
        pk.compile(pk.kernels.gemm, "gfx950", order=5)
