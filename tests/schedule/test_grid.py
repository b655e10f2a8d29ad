"""Grid orders: every tile once whatever the grid, Algorithm 1 as it is written, and the code that computes it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pykittens as pk
from pykittens.errors import BuildError
from pykittens.schedule.grid import Chiplet, Modelled, RowMajor, Work
from pykittens.schedule.grid_code import chiplet_numbers, divisor, place, quotient

ORDERS = (RowMajor(), Chiplet(), Chiplet(3, 5), Chiplet(2, 1), Chiplet(1, 1), Chiplet(4, 7, 6), Chiplet(100, 1000))
GRIDS = ((1, 1), (1, 40), (40, 1), (5, 7), (13, 12), (19, 14))


def algorithm_1(workgroup: int, rows: int, cols: int, window: int, chunk: int, xcds: int) -> tuple[int, int]:
    """The paper's Algorithm 1, with what does not fill a round of chunks split evenly."""
    count = rows * cols
    round_ = xcds * chunk
    whole = count // round_ * round_
    xcd, turn = workgroup % xcds, workgroup // xcds
    if workgroup < whole:
        index = turn // chunk * round_ + xcd * chunk + turn % chunk
    else:
        shares = [(count - whole + xcds - 1 - each) // xcds for each in range(xcds)]
        index = whole + sum(shares[:xcd]) + turn - whole // xcds
    first = index // (window * cols) * window
    height = min(rows - first, window)
    inside = index % (window * cols)
    return first + inside % height, inside // height


@pytest.mark.parametrize("number", [1, 2, 3, 7, 8, 25, 57, 641, 65537, 2**24 - 1, 2**30 + 1])
def test_division_by_multiplication_is_exact(number: int) -> None:
    near = [k * number + d for k in (1, 2, 3, 1000, (2**31 - 2) // number) for d in (-1, 0, 1)]
    for n in (0, 1, *near, 2**31 - 1):
        if 0 <= n < 2**31:
            assert quotient(n, *divisor(number)) == n // number


sizes = st.integers(1, 90)


@given(rows=sizes, cols=sizes, window=st.integers(1, 100), chunk=st.integers(1, 3000), xcds=st.integers(1, 13))
@settings(max_examples=150, deadline=None)
def test_every_tile_once_and_as_algorithm_1_has_it(rows: int, cols: int, window: int, chunk: int, xcds: int) -> None:
    tiles = Chiplet(window, chunk, xcds).tiles(rows, cols)
    assert len({(int(row), int(col)) for row, col in tiles}) == rows * cols
    assert tiles.min() >= 0
    assert (tiles.max(axis=0) < (rows, cols)).all()
    for workgroup in {0, rows * cols // 3, rows * cols // 2, rows * cols - 1}:
        assert tuple(tiles[workgroup]) == algorithm_1(workgroup, rows, cols, window, chunk, xcds)


@given(
    rows=st.integers(1, 40000), cols=st.integers(1, 40000), workgroup=st.integers(0, 2**30), chunk=st.integers(1, 9999)
)
@settings(max_examples=100, deadline=None)
def test_grids_of_a_billion_tiles(rows: int, cols: int, workgroup: int, chunk: int) -> None:
    workgroup = min(workgroup, rows * cols - 1)
    found = place(chiplet_numbers(8, chunk, 8, rows, cols), 8, workgroup)
    assert found == algorithm_1(workgroup, rows, cols, min(8, rows), chunk, 8)


@pk.kernel(waves=(1, 1))
def mark(C: pk.gl("f32", rank="rank"), *, order, rank=2):
    """Writes 0 into this workgroup's tile."""
    (C,) = pk.grid.batch(C)
    row, col = order(pk.cdiv(C.rows, 16), pk.cdiv(C.cols, 16), Work(16, 16, C.cols, 16))
    c = pk.rt("f32", 16, 16)
    pk.zero(c)
    pk.store(C.tile(row, col), c)


def _marked(exe: pk.Executable, C: np.ndarray, workgroups: int | None = None) -> np.ndarray:
    """Which 16 x 16 tiles of C the first workgroups wrote."""
    C.fill(np.nan)
    launch = exe.launch_arguments(C)
    assert launch is not None
    if workgroups is not None:
        launch["grid"] = (workgroups, 1, 1)
    exe.sim_kernel.launch(**launch)
    return ~np.isnan(C[..., ::16, ::16])


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_the_code_covers_every_grid_and_batch(order: Any) -> None:
    exe, batched = pk.compile(mark, order=order), pk.compile(mark, order=order, rank=3)
    for rows, cols in GRIDS:
        assert _marked(exe, np.empty((rows * 16 - 3, cols * 16), np.float32)).all()
        assert _marked(batched, np.empty((3, rows * 16, cols * 16 - 5), np.float32)).all()


@pytest.mark.parametrize("order", ORDERS[1:], ids=str)
def test_the_code_follows_the_order(order: Chiplet) -> None:
    exe = pk.compile(mark, order=order)
    for rows, cols in GRIDS:
        tiles = order.tiles(rows, cols)
        for workgroups in {1, rows * cols // 2 or 1, rows * cols}:
            marked = _marked(exe, np.empty((rows * 16, cols * 16), np.float32), workgroups)
            assert {tuple(tile) for tile in np.argwhere(marked)} == {tuple(map(int, t)) for t in tiles[:workgroups]}


def test_one_code_object_takes_every_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled without an order, a kernel takes what the host chooses for a launch."""
    exe = pk.compile(mark, order=Modelled())
    for order in ORDERS:
        if getattr(order, "xcds", None) is None:  # the kernel is built for the chip's XCDs
            monkeypatch.setattr("pykittens.executable.best_order", lambda *_, order=order, **__: order)
            C = np.empty((13 * 16, 12 * 16), np.float32)
            assert exe.order_for(C) == order
            assert _marked(exe, C).all()
            if isinstance(order, Chiplet):
                expected = {tuple(map(int, tile)) for tile in order.tiles(13, 12)[:77]}
                assert {tuple(tile) for tile in np.argwhere(_marked(exe, C, 77))} == expected


def test_a_tile_takes_thirty_scalar_instructions_and_no_division() -> None:
    def instructions(order: Any) -> list[str]:
        return re.findall(r"^ +([sv]_\w+)", pk.compile(pk.kernels.gemm, order=order).assembly, re.M)

    plain, ours = instructions(RowMajor()), instructions(Chiplet())
    assert 0 < len(ours) - len(plain) <= 33 + 2  # and two loads of its numbers
    assert not [name for name in ours if "rcp" in name]


# -- misuse --------------------------------------------------------------------------------------------------------
def test_a_chosen_order_needs_to_know_the_work() -> None:
    @pk.kernel(waves=(1, 1))
    def aimless(C: pk.gl("f32")):
        """Does not say what its workgroups do."""
        row, col = pk.grid.modelled(pk.cdiv(C.rows, 16), pk.cdiv(C.cols, 16))
        c = pk.rt("f32", 16, 16)
        pk.zero(c)
        pk.store(C.tile(row, col), c)

    with pytest.raises(BuildError, match=r"grid\.Work"):
        pk.compile(aimless)


def test_a_kernel_has_one_order_outside_of_loops() -> None:
    @pk.kernel(waves=(1, 1))
    def twice(C: pk.gl("f32")):
        """Calls two orders."""
        pk.grid.chiplet(C.rows, C.cols)
        pk.grid.chiplet(C.rows, C.cols)

    @pk.kernel(waves=(1, 1))
    def inside(C: pk.gl("f32")):
        """Calls an order under a condition."""
        with pk.when(C.rows > 5):
            pk.grid.chiplet(C.rows, C.cols)

    with pytest.raises(BuildError, match="has a grid order already"):
        pk.compile(twice)
    with pytest.raises(BuildError, match="inside a loop or condition"):
        pk.compile(inside)
