"""One launch of each of AITER's families; `make foreign` runs all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from bench.foreign import aiter_backward, aiter_forward, aiter_gemm, aiter_moe, aiter_paged, aiter_rows, wheel
from bench.foreign.case import Case, run

pytestmark = pytest.mark.foreign

_MOE = "gfx950/fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x192.co"
_CASES: list[Callable[[], Case]] = [
    partial(aiter_gemm.bf16gemm, "gfx950", 48, 53, 128, 192),
    partial(aiter_gemm.f4gemm, "96x256", 93, 256, 512),
    partial(aiter_gemm.flatmm, 77, 512, 384),
    partial(aiter_gemm.f8_block_scale, 64, 62, 256, 512),
    partial(
        aiter_forward.attention_forward, "gfx950/fmha_v3_fwd/fwd_hd192_hd128_bf16_causal.co", 2, 1, [(130, 161)], 192
    ),
    partial(aiter_backward.attention_backward, "gfx950/fmha_v3_bwd/bwd_hd128_bf16_a16_psskddv.co", 2, 1, [(50, 70)]),
    partial(
        aiter_backward.attention_backward, "gfx950/fmha_v3_bwd/bwd_hd192_hd128_bf16_a32_pssk.co", 1, 1, [(256, 256)]
    ),
    partial(aiter_rows.layer_norm, 2),
    partial(aiter_paged.paged_attention, "gfx942/pa/pa_bf16_noquant_gqa8_1tg_4w.co", [37, 130, 5]),
    partial(aiter_moe.moe, _MOE, 32, 192),
]


@pytest.mark.parametrize("make", _CASES, ids=range(len(_CASES)))
def test_the_result_is_right(make: Callable[[], Case]) -> None:
    try:
        wheel.wheel()
    except wheel.OutOfReach as reason:
        pytest.skip(str(reason))
    result = run(make())
    assert result.passed, f"{result.case.name}: {result.problem}"
