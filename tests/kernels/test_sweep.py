"""The sweep over all matrix products (bench/gemm_sweep.py): a part of it, and that it sees what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bench import gemm_sweep
from bench.gemm_sweep import ARCHS, Row, builds, compiled, shapes_for, sweep, untried

import pykittens as pk
from pykittens.asm.code_object import read
from pykittens.check.code import Places, follow
from pykittens.check.mutants import mutants
from pykittens.executable import Executable
from pykittens.kernels.problems import PROBLEMS

PRODUCTS = sorted(PROBLEMS)
SHAPES = 30


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_part_of_the_sweep(name: str, arch: str) -> None:
    """The first build and one with every part of an epilogue; `make sweep` has all, each with 200 shapes."""
    chosen = list(builds(PROBLEMS[name], arch))
    for seed in (0, 3):
        row = sweep((name, arch, chosen[seed], SHAPES, seed))
        if row is None:
            assert isinstance(compiled(PROBLEMS[name], arch, chosen[seed]), pk.Error)
            continue
        assert row.shapes == SHAPES and row.instructions > 10000
        assert not row.wrong and not row.findings


@pytest.mark.parametrize("name", PRODUCTS)
def test_builds_have_every_choice(name: str) -> None:
    found = [options for arch in ARCHS for options in builds(PROBLEMS[name], arch)]
    for option in PROBLEMS[name].options:
        assert {options[option.name] for options in found} == set(option.values)
    assert not untried([Row(name, "gfx950", options) for options in found])
    words = untried([Row(name, "gfx950", options) for options in found if options["activation"] != "silu"])
    assert f"{name} --activation silu" in words


def test_shapes_are_of_every_kind() -> None:
    for name in ("gemm", "gemm_split"):
        exe = pk.compile(PROBLEMS[name].kernel, "gfx950")
        shapes = shapes_for(exe, 200, 0)
        assert len(shapes) == 200
        tile = exe.built.trace.placement.work
        rows, cols = (
            -(-max(shape[axis] for shape in shapes) // size) for axis, size in ((0, tile.rows), (1, tile.cols))
        )
        assert rows == cols == gemm_sweep.MANY_TILES
        depths = {k for _, _, k in shapes}
        assert {0, 1, 64, 65, 127, 4096} <= depths


TASK: gemm_sweep.Task = ("gemm_split", "gfx950", PROBLEMS["gemm_split"].defaults(), 8, 0)


def test_wrong_elements_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["gemm_split"]
    right = problem.expected

    def other(tensors: Any, options: Any) -> dict[str, np.ndarray]:
        found = right(tensors, options)["C"]
        return {"C": found + (np.arange(found.shape[1]) == 0)}

    monkeypatch.setattr(problem, "expected", other)
    row = sweep(TASK)
    assert row is not None
    assert len(row.wrong) == row.shapes == 8


def test_races_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel without its first barrier."""
    exe = pk.compile(pk.kernels.gemm_split, "gfx950")
    code_object = read(exe.code_object)
    code = follow(code_object, code_object.kernel(None), Places(code_object))
    mutant = next(m for m in mutants(code, code_object) if m.kind == "remove-barrier")
    changed = Executable(replace(exe.built, code_object=mutant.applied(code_object).data))
    monkeypatch.setattr(gemm_sweep, "compiled", lambda *_: changed)
    row = sweep(TASK)
    assert row is not None
    assert any("lds-race" in finding for finding in row.findings)
