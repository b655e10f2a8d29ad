"""Our GEMM in checked mode: clean as it is, and reported with any of its waits loosened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import pykittens as pk
from pykittens.asm.code_object import read
from pykittens.check.code import Places, follow
from pykittens.check.mutants import Mutant, mutants
from pykittens.checking import RACES, call_arguments, check_call, check_launch, races
from pykittens.executable import Executable
from pykittens.kernels.problems import PROBLEMS

ARCHS = ("gfx942", "gfx950")


@cache
def gemm(arch: str) -> Executable:
    return pk.compile(pk.kernels.gemm, arch)


def tensors(**sizes: int) -> list[np.ndarray]:
    problem = PROBLEMS["gemm"]
    return list(problem.tensors(sizes, problem.defaults(), np.random.default_rng(0)).values())


@pytest.mark.parametrize("arch", ARCHS)
def test_where_half_of_the_waves_fall_behind_is_a_note(arch: str) -> None:
    (note,) = check_call(gemm(arch), *tensors(m=256, n=256, k=192)).findings
    assert (note.code, note.severity) == ("barriers-differ", "note")
    assert note.where is not None and note.where.startswith("gemm")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("m, n, k", [(256, 256, 192), (70, 300, 72), (1, 1, 8)])
def test_the_kernel_is_clean(arch: str, m: int, n: int, k: int) -> None:
    report = check_call(gemm(arch), *tensors(m=m, n=n, k=k))
    assert report.clean and report.instructions > 1000, report.text()


def changed(arch: str, wanted: str) -> list[tuple[Mutant, Executable]]:
    """Copies of the kernel with one wait of the loop changed each."""
    exe = gemm(arch)
    code_object = read(exe.code_object)
    code = follow(code_object, code_object.kernel(None), Places(code_object))
    found = [m for m in mutants(code, code_object) if m.kind == "loosen-wait" and wanted in m.counts]
    return [(m, Executable(replace(exe.built, code_object=m.applied(code_object).data))) for m in found]


def test_reading_a_tile_whose_copy_may_be_in_flight() -> None:
    """The waits for copies in the loop, each looser by one: the tile that it was for may not have arrived."""
    loop = [(m, exe) for m, exe in changed("gfx950", "vmcnt") if m.counts["vmcnt"] == 7]
    assert len(loop) >= 2
    reports = [check_call(exe, *tensors(m=256, n=256, k=512)) for _, exe in loop]
    reports = [report for report in reports if not report.clean]  # one wait is for an odd number of K-tiles
    assert len(reports) >= 2 and all(report.by_code("lds-race") for report in reports)
    finding = reports[0].by_code("lds-race")[0]
    assert finding.producer is not None
    assert finding.instruction.startswith("ds_read_b128") and finding.producer.instruction.startswith("buffer_load")
    assert finding.where is not None and finding.where.startswith("gemm.py:")
    assert finding.producer.where is not None and "not waited for" in finding.why


def test_races_are_told_by_tile_once_for_each_pair_of_instructions() -> None:
    (_, exe), *_ = [(m, exe) for m, exe in changed("gfx950", "vmcnt") if m.counts["vmcnt"] == 7]
    found = check_call(exe, *tensors(m=256, n=256, k=512)).by_code("lds-race")
    pairs = [(f.pc, f.producer.pc if f.producer else None, f.level) for f in found]
    assert len(set(pairs)) == len(pairs)
    for finding in found:
        assert finding.place is not None and finding.producer is not None
        assert finding.tile in ("As", "Bs") and finding.times > 1
        assert finding.place.tile == f"{finding.tile} read" and finding.producer.tile == f"{finding.tile} write"
        assert finding.place.phase is not None and finding.producer.phase is not None
        assert f"phase {finding.place.phase}, {finding.place.tile})" in str(finding)
        assert finding.to_json()["access"] == finding.place.tile


def test_a_grid_that_is_too_large_writes_tiles_twice_and_one_that_is_too_small_leaves_some() -> None:
    """One dimension of a launch of the GEMM, changed behind its back."""
    exe = gemm("gfx950")
    values = tensors(m=512, n=512, k=64)
    right = call_arguments(exe, *values)
    assert right is not None
    assert check_launch(exe.sim_kernel, **right).clean
    less = check_launch(exe.sim_kernel, **{**right, "grid": (right["grid"][0] - 1, *right["grid"][1:])})
    assert {f.code for f in less.findings if f.severity != "note"} == {"unwritten-output"}
    assert " of 524288 bytes of C were not written" in less.by_code("unwritten-output")[0].why
    twice = check_launch(exe.sim_kernel, **{**right, "grid": (*right["grid"][:2], 2)})
    (finding,) = twice.by_code("rewritten-output")
    assert "524288 of 524288 bytes of C were written by more than one workgroup" in finding.why
    assert all(f.level == "note" for f in twice.by_code("workgroup-race"))  # both write the same


@pytest.mark.parametrize(("m", "n", "k"), [(7, 7, 8), (1, 300, 64), (300, 1, 64), (256, 256, 72), (129, 65, 520)])
def test_odd_shapes_are_clean_and_written_whole(m: int, n: int, k: int) -> None:
    """cases.md 34 and 37: nothing beside C is written, and all of C is."""
    guarded = np.full((m * n + 512,), 7, pk.bf16.numpy)
    a, b, _ = tensors(m=m, n=n, k=k)
    report = check_call(gemm("gfx950"), a, b, guarded[256 : 256 + m * n].reshape(m, n))
    assert report.clean, report.text()
    assert (guarded[:256] == 7).all() and (guarded[256 + m * n :] == 7).all()


def test_races_are_told_for_a_launch() -> None:
    (_, exe), *_ = [(m, exe) for m, exe in changed("gfx950", "vmcnt") if m.counts["vmcnt"] == 7]
    values = tensors(m=256, n=256, k=512)
    found = races(exe.sim_kernel, **exe.launch_arguments(*values))
    assert found and {f.code for f in found} <= RACES
    assert races(gemm("gfx950").sim_kernel, **gemm("gfx950").launch_arguments(*values)) == ()


def test_nothing_to_run_is_nothing_to_find() -> None:
    assert check_call(gemm("gfx950"), *tensors(m=0, n=64, k=64)).findings == ()
