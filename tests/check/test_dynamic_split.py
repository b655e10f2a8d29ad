"""Our GEMM that several workgroups add up: clean as it is, and told of when one does not store or does not wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import pykittens as pk
from pykittens.asm.code_object import read
from pykittens.check.findings import Report
from pykittens.checking import check_call
from pykittens.executable import Executable
from pykittens.isa import Instruction, decode
from pykittens.kernels.problems import PROBLEMS

ARCHS = ("gfx942", "gfx950")
_NOP = (0xBF800000).to_bytes(4, "little")


@cache
def split(arch: str) -> Executable:
    return pk.compile(pk.kernels.gemm_split, arch)


def without(arch: str, wanted: Callable[[Instruction], bool], most: int) -> Executable:
    """The kernel without the last such instructions before it counts its workgroup as arrived."""
    exe = split(arch)
    code_object = read(exe.code_object)
    kernel = code_object.kernel(exe.name)
    code = list(decode(bytes(code_object.code(kernel)), arch, kernel.entry))
    (counts,) = (n for n, i in enumerate(code) if i.definition.access and i.definition.access.kind == "atomic")
    (section,) = code_object.text
    data, start = bytearray(code_object.data), code_object.data.index(section.data) - section.address
    for victim in [i for i in code[:counts] if wanted(i)][-most:]:
        data[start + victim.pc : start + victim.pc + victim.size] = _NOP * (victim.size // 4)
    return Executable(replace(exe.built, code_object=bytes(data)))


def checked(exe: Executable) -> Report:
    problem = PROBLEMS["gemm_split"]
    sizes = {"m": 16, "n": 64, "k": 4096}
    values = problem.tensors(sizes, problem.defaults(), np.random.default_rng(0))
    launch = exe.launch_arguments(*values.values())
    assert launch is not None and launch["grid"][2] > 1, "several workgroups share a tile"
    return check_call(exe, *values.values())


@pytest.mark.parametrize("arch", ARCHS)
def test_partial_sums_are_in_order_behind_the_counter(arch: str) -> None:
    report = checked(split(arch))
    assert report.clean and not report.by_code("not-checked"), report.text()


@pytest.mark.parametrize("arch", ARCHS)
def test_a_workgroup_that_counts_before_its_store_has_arrived(arch: str) -> None:
    report = checked(without(arch, lambda i: i.definition.has("waitcnt"), most=1))
    found = report.by_code("workgroup-race")
    assert found and all(f.tile is not None and f.tile.endswith("(partials)") for f in found)
    assert all(f.producer is not None and f.producer.instruction.startswith("buffer_store") for f in found)


@pytest.mark.parametrize("arch", ARCHS)
def test_partial_sums_that_nobody_stored(arch: str) -> None:
    """The workspace begins undefined; the last workgroup adds up what is there, and stores it."""

    def stores(instruction: Instruction) -> bool:
        access = instruction.definition.access
        return access is not None and access.kind == "store" and access.space == "buffer"

    found = checked(without(arch, stores, most=8)).by_code("undefined-store")
    assert found and all("memory that nobody wrote" in f.why for f in found)
    assert all(f.producer is not None and f.producer.instruction.startswith("buffer_load") for f in found)
