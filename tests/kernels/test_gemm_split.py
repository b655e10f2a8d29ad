"""Products of few rows: K over workgroups and waves, the same bits in any order, and no LDS bank met twice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.asm.code_object import read
from pykittens.check.banks import BankTable
from pykittens.check.code import Places, follow
from pykittens.check.mutants import mutants
from pykittens.checking import check_launch
from pykittens.sim import Device, Order

from .family import Choice, built, options_of, right, run, tensors_of
from .test_epilogue import EPILOGUES

ARCHS = ("gfx942", "gfx950")


def split(arch: str, splits: str, **options: str) -> Choice:
    return "gemm_split", arch, (("splits", splits), *options.items())


def launched(choice: Choice, m: int, n: int, k: int, **launch: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """C, checked against float64, and the launch's grid and arguments."""
    tensors = tensors_of(choice, m, n, k)
    arguments = built(choice).launch_arguments(*tensors.values())
    assert arguments is not None
    built(choice).sim_kernel.launch(**arguments, **launch)
    assert right(choice, tensors, k)
    return tensors["C"], arguments


def workspaces(arguments: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    partials, arrived = (a for a in arguments["args"] if isinstance(a, np.ndarray) and a.dtype != np.uint8)
    return partials, arrived


@pytest.mark.parametrize("m", [1, 2, 15, 16, 17, 33, 63, 64])
@pytest.mark.parametrize("arch", ARCHS)
def test_few_rows_and_odd_sizes(arch: str, m: int) -> None:
    """Fewer K-tiles than workgroups along K, and more; odd N and K; rows of any alignment."""
    for n, k in ((33, 1), (7, 65), (96, 512), (1, 1537), (61, 4099)):
        run(split(arch, "8", tile="16x32" if m <= 16 else "auto"), m, n, k)
        run(split(arch, "8", tile="16x64" if m <= 16 else "auto", layout="AB"), m, n, k)


@pytest.mark.parametrize("arch", ARCHS)
def test_workgroups_fill_the_chip(arch: str) -> None:
    """As many as there are CUs, but none with less than two K-tiles a wave."""
    cus = pk.arch.get(arch).device().cus
    exe = built(split(arch, "auto"))
    for m, n, k, expected in (
        (16, 4096, 4096, cus // 128), (16, 256, 4096, 4), (64, 96, 1 << 16, 64), (1, 1, 1 << 19, cus),
        (16, 32 * cus, 8192, 1), (8, 256, 512, 1), (8, 32, 0, 1),
    ):  # fmt: skip
        launch = exe.launch_arguments(*(np.zeros(shape, pk.bf16.numpy) for shape in ((m, k), (n, k), (m, n))))
        assert launch is not None
        assert launch["grid"][2] == expected, (m, n, k)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("splits", ["1", "4", "16"])
def test_no_order_changes_a_bit(arch: str, splits: str) -> None:
    choice = split(arch, splits, out="f32", tile="16x32")
    usual, arguments = launched(choice, 13, 70, 3001)
    partials, arrived = workspaces(arguments)
    assert not arrived.any()
    assert partials.shape[0] == (0 if splits == "1" else int(splits) * 3 * 2 * 16)
    for order in (Order(turn=1, landing="late"), Order(turn=3, seed=2), Order(1 << 20, "late"), Order(seed=7)):
        again, arguments = launched(choice, 13, 70, 3001, order=order)
        np.testing.assert_array_equal(again, usual)
        assert not workspaces(arguments)[1].any()
    for threads in (1, 4):
        again, _ = launched(choice, 13, 70, 3001, threads=threads)
        np.testing.assert_array_equal(again, usual)


def test_rows_of_any_alignment_are_the_same_bits() -> None:
    choice = split("gfx950", "4", out="f32")
    tensors = tensors_of(choice, 20, 50, 2500)
    usual = np.full_like(tensors["C"], np.nan)
    built(choice)(tensors["A"], tensors["B"], usual)
    a, b = (np.zeros((len(x), x.shape[1] + 1), x.dtype) for x in (tensors["A"], tensors["B"]))
    a[:, 1:], b[:, 1:] = tensors["A"], tensors["B"]
    c = np.full_like(usual, np.nan)
    built(choice)(a[:, 1:], b[:, 1:], c)
    np.testing.assert_array_equal(c, usual)


@pytest.mark.parametrize("epilogue", EPILOGUES, ids=lambda each: "-".join(each.values()))
@pytest.mark.parametrize("arch", ARCHS)
def test_epilogues_come_after_the_whole_sum(arch: str, epilogue: dict[str, str]) -> None:
    for layout in ("ABt", "AB"):
        choice = split(arch, "4", out="f32", layout=layout, **epilogue)
        for shape in ((16, 64, 2048), (37, 45, 1111)):
            run(choice, *shape)


@pytest.mark.parametrize("dtype", ["e4m3fn", "e5m2", "f16"])
def test_types(dtype: str) -> None:
    for layout in ("ABt", "AB"):
        for m, k in ((5, 4096), (40, 777)):
            run(split("gfx950", "4", dtype=dtype, layout=layout), m, 48, k)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("m, n, k", [(13, 45, 1600), (64, 32, 4096), (1, 1, 1), (20, 70, 100)])
def test_the_checkers_find_nothing(arch: str, m: int, n: int, k: int) -> None:
    for splits, layout in (("3", "ABt"), ("auto", "ABt"), ("3", "AB")):
        choice = split(arch, splits, layout=layout)
        exe = built(choice)
        tensors = tensors_of(choice, m, n, k)
        report = pk.check(exe, *tensors.values())
        assert not [finding for finding in report.findings if finding.severity != "note"], report.text()
        assert right(choice, tensors, k)


def test_workgroups_are_ordered_by_their_arrival_alone() -> None:
    """Without the wait before the counter changes, or with one for fewer stores, what others read is in no order."""
    exe = pk.compile(pk.kernels.gemm_split, "gfx950", splits=3, tile="16x32")
    code_object = read(exe.code_object)
    code = follow(code_object, code_object.kernel(None), Places(code_object))
    accesses = [instruction.definition.access for instruction in code.instructions]
    (atomic,) = (i for i, access in enumerate(accesses) if access is not None and access.kind == "atomic")
    near = {code.instructions[i].pc for i in range(atomic - 4, atomic + 3)}
    changed = [m for m in mutants(code, code_object) if m.pc in near and "wait" in m.kind]
    assert len(changed) >= 2
    tensors = tensors_of(("gemm_split", "gfx950", ()), 13, 45, 1600)
    for mutant in changed:
        module = Device("gfx950").load(mutant.applied(code_object).data)
        launch = exe.launch_arguments(*tensors.values())
        assert launch is not None
        report = check_launch(module.kernel(), **launch)
        assert not report.clean, mutant


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("tile", ["16x32", "32x32", "64x32", "16x64", "32x64"])
@pytest.mark.parametrize("bits", [16, 8])
def test_no_lds_access_meets_a_bank_twice(arch: str, tile: str, bits: int) -> None:
    layout, names = ("AB", ("Bs read", "Bs write")) if tile.endswith("64") else ("ABt", ())
    dtype = "bf16" if bits == 16 else {"gfx942": "e4m3fnuz", "gfx950": "e4m3fn"}[arch]
    choice = split(arch, "2", tile=tile, layout=layout, dtype=dtype)
    report = pk.check(built(choice), *tensors_of(choice, 64, 64, 2048).values())
    assert isinstance(report.lds, BankTable)
    assert {report.lds[name].degree for name in ("sums read", "sums write", *names)} == {1}


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(pk.Error, match="layout is 'AtB'; use one of ABt, AB"):
        pk.compile(pk.kernels.gemm_split, layout="AtB")
    with pytest.raises(pk.Error, match="tile is '64x32'; use auto or one of 32x64, 16x64"):
        pk.compile(pk.kernels.gemm_split, layout="AB", tile="64x32")
    with pytest.raises(pk.Error, match=r"^dtype is 'f32'; use a type of 8 or 16 bits"):
        pk.compile(pk.kernels.gemm_split, dtype="f32")
    for splits in (0, -1, "many", 1.5, True, 1025):
        with pytest.raises(pk.Error, match=r"^splits is .*; use auto, or 1 to 1024 workgroups along K"):
            pk.compile(pk.kernels.gemm_split, splits=splits)


def test_two_calls_do_not_meet() -> None:
    choice = split("gfx950", "4")
    for m, k in itertools.product((3, 40), (100, 3000)):
        assert run(choice, m, 33, k).shape == (m, 33)
    assert options_of(choice)["splits"] == "4"
