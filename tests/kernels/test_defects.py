"""What HipKittens gets wrong, and what others' bug reports say of numbers and edges: ours must not.

B3, B4 and B5 are in tests/tile/ops/test_shared_moves.py, B7 in test_global_to_shared.py, B9 and B16 in
test_gemm_limits.py, B20 in test_family.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.tile.ops.test_shared_moves import PAIRS, read, window_size, write

import pykittens as pk
from pykittens.asm import tile_rules
from pykittens.checking import check_call
from pykittens.kernels.problems import PROBLEMS
from pykittens.tile import register_shape, shared_shape

from .family import built, right, tensors_of
from .matrices import poisoned
from .test_gemm_limits import hipkittens

ARCHS = ("gfx942", "gfx950")
EVERY_PRODUCT = [
    ("gemm", "gfx950"), ("gemm", "gfx942"), ("gemm_grouped", "gfx950"), ("gemm_interleaved", "gfx950"),
    ("gemm_specialized", "gfx950"), ("gemm_split", "gfx950"), ("gemm_split", "gfx942"), ("gemm_staged", "gfx942"),
]  # fmt: skip


# -- HipKittens ----------------------------------------------------------------------------------------------------


def test_the_checkers_report_reading_b_while_its_copy_may_be_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its 8-wave loop reads Bs[1][0] one phase before the wait for it. Our build refuses that. Built all the same, the
    checks of the bytes report it and so does a checked run; with the read where it belongs neither does.
    """
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((256, 512), np.float32).astype(pk.bf16.numpy) for _ in range(2))
    monkeypatch.setattr(tile_rules.TileRules, "check", lambda *_: None)
    for early in (False, True):
        exe = pk.compile(hipkittens(early=early))
        # The loop alone is of interest here: nothing stores C.
        for report in (pk.check(exe), check_call(exe, a, b, np.zeros((256, 256), np.float32))):
            races = report.by_code("lds-race")
            assert bool(races) == early, report.text()
            for race in races:
                assert race.instruction.startswith("ds_read") and race.producer is not None
                assert race.producer.instruction.startswith("buffer_load")


def test_b6_pairs_are_tried_whichever_shape_is_larger() -> None:
    """B6: its tests move register tiles from larger shared shapes only, so B3 to B5 are not seen."""
    smaller = []
    for r, layout, s in (parameter.values for parameter in PAIRS):
        register, shared = register_shape.get(r), shared_shape.get(s)
        if shared.rows < register.rows or shared.cols < register.cols:
            smaller.append(((r, layout), s))
    assert 30 < len(smaller) < len(PAIRS)
    for register_and_layout, s in smaller[::4]:  # each of them is tried in tests/tile, in windows of one tile
        size = window_size(register_and_layout[0], s, (2, 2))
        read("gfx950", "bf16", register_and_layout, s, size)
        write("gfx950", "bf16", register_and_layout, s, size)


@pytest.mark.parametrize("sign", [1, -1])
def test_b8_errors_count_whatever_the_sign_of_the_reference(sign: int) -> None:
    """B8: its self-check compares a difference without its sign to 0.01 of a reference with it."""
    problem, options = PROBLEMS["gemm"], {"dtype": "bf16", "out": "f32", "layout": "ABt"}
    a, b = np.full((16, 32), sign, pk.bf16.numpy), np.ones((16, 32), pk.bf16.numpy)
    for change in (0.0, 0.4, -0.4):
        c = np.full((16, 16), 32 * sign + change, np.float32)
        found = problem.compare({"A": a, "B": b, "C": c}, {"k": 32}, options)
        assert found.passed == (change == 0)
        assert found.wrong_elements == (256 if change else 0)


@pk.kernel(waves=(1, 1))
def accumulate(A: pk.gl("bf16"), B: pk.gl("bf16"), C: pk.gl("f32"), D: pk.gl("f32"), *, shape="16x16", file="agpr"):
    """D = A Bᵀ + A Bᵀ + C with a C of any numbers in the accumulator before; two K-tiles of A and B each."""
    wide = shape == "32x32"
    side = 32 if wide else 16
    operand = "32x16" if wide else None
    a, b = (pk.rt("bf16", side, 64, shape=operand) for _ in range(2))
    old, c = pk.rt("f32", side, side, shape=shape), pk.rt("f32", side, side, shape=shape, file=file)
    pk.load(old, C.tile(0, 0))
    pk.load(a, A.tile(0, 0), edges="zero"), pk.load(b, B.tile(0, 0), edges="zero")
    pk.tile.ops.maps.copy(c, old)
    for _ in range(2):
        pk.mma_ABt(c, a, b)
    pk.store(D.tile(0, 0), c)
    pk.store(C.tile(0, 0), old)


@pytest.mark.parametrize("file", ["vgpr", "agpr"])
@pytest.mark.parametrize(("arch", "shape"), [("gfx942", "16x16"), ("gfx950", "16x16"), ("gfx950", "32x32")])
def test_b11_products_are_added_to_what_the_accumulator_holds(arch: str, shape: str, file: str) -> None:
    """B11: one of its pinned MFMAs takes 0 for its C, and one writes through a C that it promises to leave."""
    side = int(shape.partition("x")[0])
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (side, 64)).astype(np.float32) for _ in range(2))
    c = rng.integers(-99, 100, (side, side)).astype(np.float32)
    before, d = c.copy(), np.full_like(c, np.nan)
    pk.compile(accumulate, arch, shape=shape, file=file)(a.astype(pk.bf16.numpy), b.astype(pk.bf16.numpy), c, d)
    np.testing.assert_array_equal(d, before + 2 * (a @ b.T))
    np.testing.assert_array_equal(c, before)


# -- numbers (facts: cases D) ----------------------------------------------------------------------------------------


@pk.kernel(waves=(1, 1))
def rounded(A: pk.gl("f32"), C: pk.gl("bf16")):
    """C = A, in tiles of 16 x 16."""
    row, col = pk.grid.row_major(pk.cdiv(A.rows, 16), pk.cdiv(A.cols, 16))
    x = pk.rt("f32", 16, 16)
    pk.load(x, A.tile(row, col))
    pk.store(C.tile(row, col), x)


def as_bf16(arch: str, bits: np.ndarray, cols: int) -> np.ndarray:
    """The bits of f32 numbers, stored as bf16 in rows of so many, as bits."""
    a = np.zeros(-(-len(bits) // cols) * cols, np.uint32)
    a[: len(bits)] = bits
    c = np.zeros((len(a) // cols, cols), pk.bf16.numpy)
    pk.compile(rounded, arch)(a.view(np.float32).reshape(-1, cols), c)
    return c.reshape(-1).view(np.uint16)[: len(bits)]


@pytest.mark.parametrize("cols", [16, 15])
@pytest.mark.parametrize("arch", ARCHS)
def test_b12_bf16_is_rounded_to_nearest_even_on_every_path(arch: str, cols: int) -> None:
    """B12, and cases 26 and 31: its scalar conversion truncates and its packed one does not. Here tiles that lie inside
    are stored in pieces and those at an edge by element; denormals are kept.
    """
    table = {
        0x3F808000: 0x3F80, 0x3F818000: 0x3F82, 0xBF818000: 0xBF82, 0x7F7FFFFF: 0x7F80, 0x00018000: 0x0002,
        0x00008000: 0x0000, 0x00008001: 0x0001, 0x80018000: 0x8002, 0x7F800000: 0x7F80, 0xFF800000: 0xFF80,
    }  # fmt: skip
    found = as_bf16(arch, np.array(list(table), np.uint32), cols)
    np.testing.assert_array_equal(found, np.array(list(table.values()), np.uint16))
    nans = as_bf16(arch, np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFFFFFF], np.uint32), cols)
    assert np.isnan(nans.view(pk.bf16.numpy).astype(np.float32)).all()
    values = np.random.default_rng(0).standard_normal(1 << 16).astype(np.float32)
    rounded_values = as_bf16(arch, values.view(np.uint32), cols).view(pk.bf16.numpy)
    np.testing.assert_array_equal(rounded_values.view(np.uint16), values.astype(ml_dtypes.bfloat16).view(np.uint16))
    error = (np.abs(rounded_values.astype(np.float64)) - np.abs(values)) / np.abs(values)
    assert abs(error.mean()) < 2e-5  # truncation is one-sided: -0.0014


@pytest.mark.parametrize("arch", ARCHS)
def test_denormals_reach_the_result(arch: str) -> None:
    """Case 31, through an MFMA: bf16 denormals times 1, and f32 sums below the smallest normal number."""
    exe = built(("gemm_split", arch, (("out", "bf16"),)))
    bits = np.array([0x0001, 0x007F, 0x8001, 0x0080], np.uint16)
    c = np.zeros((4, 1), pk.bf16.numpy)
    exe(bits.view(pk.bf16.numpy)[:, None], np.ones((1, 1), pk.bf16.numpy), c)
    np.testing.assert_array_equal(c[:, 0].view(np.uint16), bits)


def bytes_as_numbers(arch: str, dtype: Any) -> np.ndarray:
    """What each of the 256 bytes counts as in a product with 1."""
    exe = built(("gemm_split", arch, (("dtype", dtype.name), ("out", "f32"))))
    a, one = np.arange(256, dtype=np.uint8).view(dtype.numpy)[:, None], np.ones((1, 1), dtype.numpy)
    c = np.zeros((256, 1), np.float32)
    exe(a, one, c)
    return c[:, 0]


def test_each_chip_reads_its_own_8_bit_floats() -> None:
    """Case 27: the same byte is twice as much in OCP's encoding on gfx950 as in FNUZ on gfx942, or special in one."""
    ocp, fnuz = bytes_as_numbers("gfx950", pk.e4m3fn), bytes_as_numbers("gfx942", pk.e4m3fnuz)
    for byte, one, other in (
        (0x38, 1.0, 0.5), (0x80, 0.0, np.nan), (0x7F, np.nan, 240.0), (0x7E, 448.0, 224.0), (0xFF, np.nan, -240.0),
        (0x01, 2.0**-9, 2.0**-10),
    ):  # fmt: skip
        np.testing.assert_array_equal([ocp[byte], fnuz[byte]], [one, other])
    rest = [byte for byte in range(256) if byte not in (0x7F, 0x80, 0xFF)]
    np.testing.assert_array_equal(ocp[rest], 2 * fnuz[rest])


# -- shapes and bounds (facts: cases E) ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "arch"), EVERY_PRODUCT)
@pytest.mark.parametrize("out", ["f16", "bf16"])
def test_odd_rows_of_16_bits_end_where_they_end(kernel: str, arch: str, out: str) -> None:
    """Case 35: ranges are checked by dword, so half of one must be masked, at the end of memory and inside."""
    choice = (kernel, arch, (("out", out),))
    exe = built(choice)
    tensors = tensors_of(choice, 5, 7, 9)
    for right_of, below in ((0, 0), (1, 2)):
        inside = poisoned(np.full((5, 7), np.nan), tensors["C"].dtype, left=1, right=right_of, above=1, below=below)
        tensors["C"] = inside.matrix
        launch = exe.launch_arguments(*tensors.values())
        assert launch is not None
        checked = exe.sim_kernel.launch_checked(**launch)
        assert checked.fault is None
        assert {event.kind.name for event in checked.events} <= {"BARRIERS_DIFFER"}
        assert inside.untouched()
        assert right(choice, tensors, 9)


@pytest.mark.parametrize(("kernel", "arch"), EVERY_PRODUCT)
def test_small_and_empty_products(kernel: str, arch: str) -> None:
    """Case 37: 7 x 7 x 7, one row, one column; no depth gives beta C; no rows or columns launch nothing."""
    choice = (kernel, arch, (("scaling", "alpha_beta"), ("out", "f32")))
    for shape in ((7, 7, 7), (1, 40, 70), (40, 1, 70), (1, 1, 1), (33, 20, 0)):
        tensors = tensors_of(choice, *shape)
        old = tensors["C"].copy()
        built(choice)(*tensors.values())
        assert right(choice, tensors, shape[2])
        if shape[2] == 0:
            np.testing.assert_array_equal(tensors["C"], tensors["beta"] * old)
    for shape in ((0, 5, 5), (5, 0, 5)):
        assert built(choice)(*tensors_of(choice, *shape).values()) is None


@pytest.mark.parametrize(("kernel", "arch"), EVERY_PRODUCT)
def test_a_beta_of_0_reads_no_c(kernel: str, arch: str) -> None:
    """As BLAS has it: C may hold anything then, NaN too. An alpha of NaN is what it is."""
    choice = (kernel, arch, (("scaling", "alpha_beta"), ("out", "f32")))
    tensors = tensors_of(choice, 20, 30, 40)
    for alpha, beta in ((2.0, 0.0), (1.0, -0.0)):
        tensors |= {"alpha": alpha, "beta": beta}
        tensors["C"][:] = np.nan
        built(choice)(*tensors.values())
        assert np.isfinite(tensors["C"]).all()
    tensors |= {"alpha": np.nan, "beta": 1.0}
    built(choice)(*tensors.values())
    assert np.isnan(tensors["C"]).all()
