"""What is known of AITER's kernels by other means, the static check finds; every kind of finding has a reason."""

from __future__ import annotations

import pytest
from bench.foreign import static_checks, static_table, wheel

from pykittens.check.findings import Report
from pykittens.check.static import check

pytestmark = pytest.mark.foreign


def _report(name: str) -> Report:
    try:
        return check(wheel.member(name))
    except wheel.OutOfReach as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("gfx942/layer_norm.co", "error"), ("gfx942/layer_norm_qnt.co", "error"),
        ("gfx950/fmha_v3_fwd/fwd_hd192_hd128_bf16.co", "error"),
        ("gfx950/fmha_v3_fwd/fwd_hd192_hd128_bf16_causal.co", "error"),
        ("gfx950/fmha_v3_fwd/fwd_hd128_bf16_causal.co", "note"),
        ("gfx950/fmha_v3_bwd/bwd_hd128_bf16_causal_a32_psskddv.co", "note"),
    ],
)  # fmt: skip
def test_kernels_whose_lds_is_ordered_by_time_alone(name: str, severity: str) -> None:
    """Those whose results are wrong in some orders of their waves."""
    found = _report(name).by_code("lds-race")
    assert severity in {f.severity for f in found}


@pytest.mark.parametrize(
    "name",
    [
        "gfx950/fmha_v3_fwd/fwd_hd128_bf16.co", "gfx942/bf16gemm/bf16gemm_outf32_tn_96x64_pf3.co",
        "gfx950/fmha_v3_bwd/bwd_hd64_bf16_a32_rtne_pssk.co", "gfx950/fmha_v3_bwd/bwd_hd128_bf16_a16_psskddv.co",
    ],
)  # fmt: skip
def test_kernels_whose_lds_is_in_order(name: str) -> None:
    """Those that are right in every order that was tried."""
    assert [f for f in _report(name).findings if f.code.startswith("lds-") and f.severity == "error"] == []


def test_matrix_results_that_are_subtracted_too_early() -> None:
    found = _report("gfx942/fmha_v3_bwd/bwd_hd192_fp16_a32_psskddv.co").by_code("wait-states")
    assert any("v_subrev_f32_dpp" in f.instruction and "6 stand there" in f.why for f in found)


def test_a_sweep_of_a_few_files() -> None:
    try:
        names = [n for n in wheel.members() if "layer_norm" in n or "topksoftmax" in n]
    except wheel.OutOfReach as reason:
        pytest.skip(str(reason))
    found = {**static_checks.sweep(names), "compiled": {}}
    assert (found["files"], found["failed"], static_table.unexplained(found)) == (len(names), [], [])
    assert static_table.passed(found)
    page = static_table.document(found)
    assert f"{len(names)} files checked statically" in page and "| LDS rewritten while it is read |" in page
    strange = {
        "gfx942/layer_norm.co": {"kinds": {"wait-raw: a -> b": 1}, "first": {"wait-raw: a -> b": "0x0: because"}}
    }
    assert not static_table.passed({**found, "found": strange})
    assert "no reason is given for layer_norm wait-raw: a -> b" in static_table.summary({**found, "found": strange})
