"""Launches at the edges: arrays over each other, empty, read-only, strided, or beyond 4 GB, and NaN data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.check.launched import codes, launched, only

from pykittens.errors import InputError

COPY = """
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_lshl_b32 s12, s2, 8
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v1, s12, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v5, v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_add_f32 v5, 1.0, v5
  global_store_dword v1, v5, s[10:11]
"""
"""Workgroups of one wave: second argument = first argument + 1."""


def copied(source: Any, target: Any, grid: int = 4, **options: Any) -> list[str]:
    return codes(COPY, block=64, grid=grid, args=[source, target], **options)


def test_the_same_array_twice() -> None:
    data = np.zeros(256, np.float32)
    assert copied(data, data, outputs={"data": data}) == []
    assert (data == 1).all()


def test_views_that_overlap() -> None:
    """Workgroups read what others write, though it is at another address for them."""
    data = np.zeros(512, np.float32)
    assert copied(data[:256], data[256:]) == []
    assert copied(data[:256], data[16:272]) == ["workgroup-race"]
    assert copied(data[16:272], data[:256]) == ["workgroup-race"]
    assert copied(data[:64], data[16:80], grid=1) == []  # one instruction reads, the next one writes


def test_empty_arrays() -> None:
    empty = np.zeros(0, np.float32)
    assert launched("  s_nop 0\n", args=[empty], outputs={"empty": empty}, undefined=[empty]).clean
    assert "wild-address" in only(launched(COPY, block=64, args=[empty, empty]), "fault").why


def test_arrays_that_are_only_read() -> None:
    source, target = np.full(256, np.nan, np.float32), np.zeros(256, np.float32)
    source.setflags(write=False)
    assert copied(source, target, outputs={"target": target}) == []  # NaN is as good as any number
    assert np.isnan(target).all()
    assert "read-only" in only(launched(COPY, block=64, args=[target, source]), "fault").why


def test_results_that_are_no_memory_of_the_launch() -> None:
    source, target = np.zeros(256, np.float32), np.zeros(256, np.float32)
    for other in (np.zeros(256, np.float32), 5):
        with pytest.raises(InputError, match="could write"):
            copied(source, target, outputs={"other": other})


def test_every_other_element_and_backwards() -> None:
    source, target = np.zeros(256, np.float32), np.zeros(256, np.float32)
    assert copied(source, target, outputs={"even": target[::2], "back": target[::-1]}) == []
    assert copied(source, target, grid=2, outputs={"even": target[::2]}) == ["unwritten-output"]
    assert copied(source, target, grid=2, outputs={"some": target[:128:2], "back": target[127::-1]}) == []


def test_memory_beyond_4_gb() -> None:
    """What is remembered about memory takes room only for what is touched."""
    body = """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s9, s9, 1
  {}global_load_dword v5, v1, s[8:9]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v5, s[8:9]
"""
    memory = np.zeros((1 << 32) + 4096, np.uint8)
    far = memory[1 << 32 :]
    assert codes(body.format(""), block=64, args=[memory], outputs={"far": far[:256]}) == []
    assert codes(body.format(""), block=64, args=[memory], undefined=[far]) == ["undefined-store"]
    define = "v_mov_b32 v5, 0\n  global_store_dword v1, v5, s[8:9]\n  "
    assert codes(body.format(define), block=64, args=[memory], undefined=[far]) == []
    assert codes(body.format(""), block=64, args=[memory], outputs={"far": far}) == ["unwritten-output"]
