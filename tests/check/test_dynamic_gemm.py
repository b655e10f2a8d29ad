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
from pykittens.checking import RACES, check_call, races
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
    assert note.where is not None and note.where.startswith("gemm.py:")


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


def test_races_are_told_for_a_launch() -> None:
    (_, exe), *_ = [(m, exe) for m, exe in changed("gfx950", "vmcnt") if m.counts["vmcnt"] == 7]
    values = tensors(m=256, n=256, k=512)
    found = races(exe.sim_kernel, **exe.launch_arguments(*values))
    assert found and {f.code for f in found} <= RACES
    assert races(gemm("gfx950").sim_kernel, **gemm("gfx950").launch_arguments(*values)) == ()


def test_nothing_to_run_is_nothing_to_find() -> None:
    assert check_call(gemm("gfx950"), *tensors(m=0, n=64, k=64)).findings == ()
