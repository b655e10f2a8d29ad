"""Errors are one line, name the place, and survive the way between processes."""

from __future__ import annotations

import pickle

import pytest

from pykittens.errors import BuildError, CodeObjectError, Error, Fault, InputError, Unsupported


@pytest.mark.parametrize("kind", [BuildError, CodeObjectError, Fault, InputError, Unsupported])
def test_text_has_place_problem_advice_and_code_on_one_line(kind: type[Error]) -> None:
    error = kind("k-mismatch", "A has K = 64,\nB has K = 65", where="gemm.py:12", fix="pass matrices of one K")
    assert isinstance(error, Error)
    assert str(error) == "gemm.py:12: A has K = 64, B has K = 65; pass matrices of one K [k-mismatch]"


def test_text_without_place_or_advice() -> None:
    assert str(InputError("empty", "the file is empty")) == "the file is empty [empty]"


def test_fault_names_instruction_wave_lane_and_address() -> None:
    fault = Fault(
        "wild-address", "read of unowned memory", pc=0x40, instruction="global_load_dword v1, v[2:3], off",
        wave=3, lane=0, address=0x1000,
    )  # fmt: skip
    assert str(fault) == (
        "read of unowned memory [wild-address] "
        "(pc 0x40, `global_load_dword v1, v[2:3], off`, wave 3, lane 0, address 0x1000)"
    )


def test_fault_says_nothing_of_what_it_does_not_know() -> None:
    assert str(Fault("deadlock", "no wave can go on")) == "no wave can go on [deadlock]"


def test_error_survives_pickling_with_all_fields() -> None:
    fault = Fault("wild-address", "read of unowned memory", where="a.py:1", pc=64, lane=5, address=9, instruction="x")
    copy = pickle.loads(pickle.dumps(fault))
    assert type(copy) is Fault
    assert vars(copy) == vars(fault)
    assert str(copy) == str(fault)
