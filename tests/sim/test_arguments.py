"""Kernel arguments and launch parameters, those that fit and those that do not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.sim.assembled import STORE, argument, kernel, pointers

from pykittens.errors import InputError
from pykittens.sim import Order


@pytest.mark.parametrize(
    ("value", "size", "kind", "bits"),
    [
        (-2, 4, "by_value", 0xFFFFFFFE), (1.5, 4, "by_value", 0x3FC00000), (1.5, 2, "by_value", 0x3E00),
        (np.float32(-1), 4, "by_value", 0xBF800000), (np.uint16(65535), 2, "by_value", 0xFFFF),
        (ml_dtypes.bfloat16(1.5), 2, "by_value", 0x3FC0), (True, 1, "by_value", 1),
        (b"abcd", 4, "by_value", 0x64636261), (None, 8, "global_buffer", 0),
        (0x123456789, 8, "global_buffer", 0x23456789), (40, 4, "dynamic_shared_pointer", 0),
    ],
)  # fmt: skip
def test_argument_values(value: object, size: int, kind: str, bits: int) -> None:
    args = (*pointers(1), argument(8, kind, size))
    out = np.zeros(64, np.uint32)
    kernel("  s_load_dword s10, s[0:1], 0x8\n  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v31, s10\n" + STORE, args).launch(
        1, 64, [out, value]
    )
    assert out[0] == bits


@pytest.mark.parametrize(
    ("value", "size", "kind"),
    [
        (1 << 32, 4, "by_value"), (np.float64(1), 4, "by_value"), (b"abc", 4, "by_value"), ("text", 4, "by_value"),
        (1.5, 8, "global_buffer"), (-1, 8, "global_buffer"), ([1], 8, "global_buffer"), (1.5, 1, "by_value"),
        (np.zeros(2, object), 8, "global_buffer"), (np.zeros(2, ">u4"), 8, "global_buffer"), (None, 4, "by_value"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(value: object, size: int, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        kernel("s_endpgm", (argument(0, kind, size, "x"),)).launch(1, 64, [value])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("launch", "code"),
    [
        ({"args": []}, "argument-count"), ({"args": [None, None]}, "argument-count"), ({"grid": 0}, "grid-size"),
        ({"grid": (1, 2, 3, 4)}, "grid-size"), ({"grid": -1}, "grid-size"), ({"grid": 1.5}, "grid-size"),
        ({"grid": 1 << 31, "block": 64}, "grid-size"), ({"block": 2048}, "block-size"),
        ({"block": (64, 0, 1)}, "block-size"),
        ({"lds": 1 << 20}, "lds-size"), ({"lds": -1}, "lds-size"), ({"args": [None], "kernarg": b""}, "both-arguments"),
        ({"kernarg": b"123"}, "kernarg-size"), ({"kernarg": 5}, "kernarg-type"), ({"threads": 0}, "threads"),
        ({"timeout": 0}, "timeout"), ({"max_instructions": 0}, "max-instructions"),
    ],
)  # fmt: skip
def test_launches_that_cannot_be(launch: dict, code: str) -> None:
    given = {"grid": 1, "block": 64} | ({} if "kernarg" in launch else {"args": [None]}) | launch
    with pytest.raises(InputError) as caught:
        kernel("s_endpgm").launch(**given)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("order", [{"turn": 0}, {"landing": "never"}, {"seed": -1}])
def test_orders_that_do_not_exist(order: dict) -> None:
    with pytest.raises(InputError, match="order"):
        Order(**order)
