"""FLAT, GLOBAL and SCRATCH definitions: addresses, widths, load-to-LDS and atomics."""

from __future__ import annotations

import pytest
from tests.isa.access_facts import access_of, check_consistent, check_integer_atomics, check_widths, of_format

from pykittens.isa import flat
from pykittens.isa.define import ARCHS, Counter

FORMATS = {name: of_format(name) for name in ("FLAT", "GLOBAL", "SCRATCH")}


@pytest.mark.parametrize(
    ("format", "count", "counter"),
    [("FLAT", 54, Counter.BOTH), ("GLOBAL", 61, Counter.VM), ("SCRATCH", 27, Counter.VM)],
)
def test_definitions_are_consistent(format: str, count: int, counter: Counter) -> None:
    definitions = FORMATS[format]
    assert flat.__doc__ and len(definitions) == count
    check_consistent(definitions)
    assert all(d.counter is counter and access_of(d).space == format.lower() for d in definitions.values())


@pytest.mark.parametrize(("format", "to_lds"), [("FLAT", 0), ("GLOBAL", 7), ("SCRATCH", 5)])
def test_widths_follow_the_names(format: str, to_lds: int) -> None:
    assert check_widths(FORMATS[format], format.lower()) == 8 + 6 + 8 + to_lds


@pytest.mark.parametrize(("format", "addr", "saddr"), [("FLAT", 2, 0), ("GLOBAL", 2, 2), ("SCRATCH", 1, 1)])
def test_addresses(format: str, addr: int, saddr: int) -> None:
    for name, d in FORMATS[format].items():
        roles = dict(zip(access_of(d).roles, d.explicit_srcs, strict=True))
        assert roles["addr"].dwords == addr and not roles["addr"].scalar, name
        assert ("saddr" in roles) == bool(saddr), name
        if saddr:
            assert (roles["saddr"].dwords, roles["saddr"].scalar, access_of(d).roles[-1]) == (saddr, True, "saddr"), (
                name
            )


def test_load_to_lds_reads_m0_and_has_no_destination() -> None:
    found = {name: d for f in FORMATS.values() for name, d in f.items() if access_of(d).to_lds}
    assert len(found) == 7 + 5
    for name, d in found.items():
        assert "_load_lds_" in name and not d.dsts
        assert "m0" in [o.implicit for o in d.srcs]
        assert access_of(d).to_lds == d.archs == (("gfx950",) if name.endswith(("x3", "x4")) else ARCHS), name


@pytest.mark.parametrize("format", ["FLAT", "GLOBAL"])
def test_atomics_return_by_sc0(format: str) -> None:
    definitions, prefix = FORMATS[format], f"{format.lower()}_atomic"
    check_integer_atomics(definitions, prefix, "sc0")
    floats = {
        name.removeprefix(prefix + "_"): (a.op, str(a.type), a.count, a.returns)
        for name, d in definitions.items()
        if (a := access_of(d)).kind == "atomic" and a.type is not None and a.type.is_float
    }
    assert floats == {
        "add_f32": ("add", "f32", 1, "sc0"), "add_f64": ("add", "f64", 1, "sc0"), "min_f64": ("min", "f64", 1, "sc0"),
        "max_f64": ("max", "f64", 1, "sc0"), "pk_add_f16": ("add", "f16", 2, "sc0"),
        "pk_add_bf16": ("add", "bf16", 2, "sc0"),
    }  # fmt: skip


def test_scratch_has_no_atomics() -> None:
    assert {access_of(d).kind for d in FORMATS["SCRATCH"].values()} == {"load", "store"}
