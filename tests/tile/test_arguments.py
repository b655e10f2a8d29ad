"""Arguments beyond a kernel's signature: read late, computed by the host, in the order of their declaration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.tile.ops import maps


@pk.kernel(waves=(1, 1))
def scaled(A: pk.gl("f32"), C: pk.gl("f32"), *, late=True, read=("factor", "more")):
    """C[16, 16] = factor A + more, with the rows of tiles that the host counts."""
    pk.tile.current().grid = (pk.at_launch("tiles", pk.cdiv(A.rows, 16)), 1, 1)
    factor, more = (pk.argument(name, pk.scalar(), late=late) for name in ("factor", "more"))
    x, row = pk.rt("f32", 16, 16), pk.tile.program_inputs.WORKGROUP[0]
    pk.load(x, A.tile(row, 0))
    with pk.block():
        if late:
            pk.read_arguments(*read)
        maps.mul(x, x, factor)
        maps.add(x, x, more)
        pk.store(C.tile(row, 0), x)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_late_arguments_are_the_same_numbers(arch: str, late: bool) -> None:
    exe = pk.compile(scaled, arch, late=late)
    assert [argument.name for argument in exe.arguments] == ["A", "C", "factor", "more"]
    a = np.arange(37 * 16, dtype=np.float32).reshape(37, 16)
    c = np.full_like(a, np.nan)
    launch = exe.launch_arguments(a, c, 3.0, -2.0)
    assert launch is not None and launch["grid"] == (3, 1, 1)
    exe(a, c, 3.0, -2.0)
    np.testing.assert_array_equal(c, 3 * a - 2)


def test_late_arguments_take_registers_where_they_are_read() -> None:
    """Between their block and the start the kernel has them in no register: it loads them after its tile."""
    text = pk.compile(scaled, "gfx950").assembly
    assert text.rindex("s_load_dword ") > text.index("buffer_load_dword")
    early = pk.compile(scaled, "gfx950", late=False).assembly
    assert early.rindex("s_load_dword ") < early.index("buffer_load_dword")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"read": ("factor", "bias")}, "bias is no late argument of the kernel"),
        ({"read": ("A",)}, "A is no late argument of the kernel"),
    ],
)
def test_what_is_not_late_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(pk.errors.BuildError, match=words):
        pk.compile(scaled, **options)


def test_the_host_computes_from_sizes_alone() -> None:
    @pk.kernel(waves=(1, 1))
    def unknown(A: pk.gl("f32")):
        pk.at_launch("place", pk.tile.program_inputs.WORKGROUP[0] // 3)

    with pytest.raises(pk.errors.BuildError, match=r"place is .*, which the host does not know"):
        pk.compile(unknown)


def test_numbers_that_are_known_need_no_host() -> None:
    @pk.kernel(waves=(1, 1))
    def known(A: pk.gl("f32")):
        assert pk.at_launch("tiles", 7) == 7

    assert [argument.name for argument in pk.compile(known).built.arguments] == ["A"]
