"""The C++ corpus, a part of it at one level of optimization; `make foreign` runs all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.foreign import clang_cases
from bench.foreign.case import Expected, run

_SOURCES = {source.stem: source for source in clang_cases.SOURCES.glob("*.cpp")}
_PART = [
    ("integers", "u64_division", "gfx942", "-O0"), ("floats", "f64_division", "gfx950", "-O2"),
    ("flow", "recursion", "gfx950", "-O0"), ("flow", "function_pointers", "gfx942", "-O2"),
    ("flow", "tables", "gfx942", "-O2"), ("memory", "stack_frames", "gfx950", "-O0"),
    ("groups", "histogram", "gfx942", "-O2"), ("gpu", "hidden_arguments", "gfx950", "-O2"),
    ("gpu", "wave_f64", "gfx950", "-O2"), ("cross_lane", "some_lanes", "gfx942", "-O2"),
    ("atomics", "memory_atomics", "gfx950", "-O2"), ("apertures", "generic_pointers", "gfx942", "-O0"),
    ("apertures", "dynamic_stack", "gfx950", "-O2"), ("packed", "bytes", "gfx942", "-O2"),
    ("buffers", "tails", "gfx950", "-O2"), ("modes", "denormals", "gfx942", "-O2"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name", "arch", "level"), _PART)
def test_functions_give_what_the_host_gives(file: str, name: str, arch: str, level: str) -> None:
    result = run(clang_cases.case(_SOURCES[file], name, arch, level))
    assert result.passed and result.error == 0, result.problem
    assert result.instructions > 0


def test_the_corpus_covers_what_it_should() -> None:
    names = [name for source in _SOURCES.values() for name in clang_cases.names(source)]
    assert len(names) == len(set(names)) >= 30


def test_a_wrong_result_is_seen() -> None:
    case = clang_cases.case(_SOURCES["flow"], "crc32", "gfx950", "-O2")
    good = case.expected()[0]
    value = good.value.copy()
    value[3, 0] += 1
    result = run(replace(case, expected=lambda: [Expected(good.buffer, value, view=good.view)]))
    assert not result.passed and result.error == 1
    assert "1 of" in result.problem


def test_bytes_written_beside_a_buffer_are_seen() -> None:
    case = clang_cases.case(_SOURCES["flow"], "crc32", "gfx950", "-O2")
    short = case.buffers["out"][:-1].copy()
    result = run(replace(case, buffers=case.buffers | {"out": short}, expected=list))
    assert result.problem == "bytes beside out were overwritten"
    assert np.count_nonzero(short) == 0, "the case's own arrays stay as they are"
