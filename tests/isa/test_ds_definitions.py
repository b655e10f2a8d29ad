"""LDS definitions: widths, two-address forms, atomics, transposing loads and permutes."""

from __future__ import annotations

import re

from tests.isa.access_facts import access_of, check_consistent, data_dwords, of_format

from pykittens.isa import ds
from pykittens.isa.define import ARCHS, Counter

DS = of_format("DS")


def test_definitions_are_consistent() -> None:
    assert ds.__doc__ and len(DS) == 132
    check_consistent(DS)
    assert all(d.counter is Counter.LGKM for d in DS.values())


def test_plain_reads_and_writes() -> None:
    seen = 0
    for name, d in DS.items():
        if match := re.fullmatch(r"ds_(read|write)(2|2st64)?_[biu](\d+)(_d16(_hi)?)?", name):
            verb, two, bits = match.group(1, 2, 3)
            access = access_of(d)
            assert access.kind == {"read": "load", "write": "store"}[verb]
            assert (access.bits, access.count) == (int(bits), 2 if two else 1)
            assert access.stride == {None: 0, "2": 1, "2st64": 64}[two]
            assert access.signed == ("_i" in name)
            seen += 1
    assert seen == 4 + 4 + 6 + 8 + 6 + 2


def test_atomics_come_with_and_without_return() -> None:
    """Both forms work alike; swaps, wraps and conditional exchanges only return."""
    pairs = 0
    for name, d in DS.items():
        if "_rtn_" not in name:
            continue
        access = access_of(d)
        assert access.kind == "atomic" and access.returns == "always"
        other = DS.get(name.replace("_rtn_", "_"))
        if other is None:
            assert re.search("wrxchg|wrap|condxchg", name), name
            continue
        pairs += 1
        quiet = access_of(other)
        assert (quiet.op, quiet.type, quiet.count, quiet.roles) == (access.op, access.type, access.count, access.roles)
        assert quiet.returns is None and data_dwords(other) == data_dwords(d)
    assert pairs == 2 * 17 + 4


def test_atomic_types() -> None:
    operations = {name: access_of(d) for name, d in DS.items() if access_of_kind(name) == "atomic"}
    shown = {name: (a.op, str(a.type), a.count) for name, a in operations.items()}
    assert shown["ds_add_u32"] == ("add", "u32", 1)
    assert shown["ds_min_i64"] == ("smin", "i64", 1)
    assert shown["ds_max_rtn_u32"] == ("umax", "u32", 1)
    assert shown["ds_max_f64"] == ("max", "f64", 1)
    assert shown["ds_cmpst_rtn_f32"] == ("cmpswap", "f32", 1)
    assert shown["ds_cmpst_b64"] == ("cmpswap", "u64", 1)
    assert shown["ds_pk_add_bf16"] == ("add", "bf16", 2)
    assert shown["ds_condxchg32_rtn_b64"] == ("condxchg", "u32", 2)
    assert shown["ds_wrxchg2st64_rtn_b64"] == ("swap", "u64", 2)
    with_two = {name for name, a in operations.items() if a.roles == ("addr", "data0", "data1")}
    assert {re.sub("_rtn|_[bf](32|64)", "", name) for name in with_two} == {
        "ds_mskor", "ds_cmpst", "ds_wrap", "ds_wrxchg2", "ds_wrxchg2st64",
    }  # fmt: skip


def access_of_kind(name: str) -> str | None:
    access = DS[name].access
    return access.kind if access is not None else None


def test_m0_addresses() -> None:
    by_m0 = {name for name, d in DS.items() if d.access is not None and d.access.m0}
    assert {name for name in by_m0 if "gws" not in name} == {
        "ds_read_addtid_b32", "ds_write_addtid_b32", "ds_append", "ds_consume",
    }  # fmt: skip
    assert all("m0" in [o.implicit for o in DS[name].srcs] for name in by_m0)


def test_transposing_loads_exist_on_gfx950_alone() -> None:
    transposing = {name: access_of(d) for name, d in DS.items() if d.access is not None and d.access.transpose}
    assert {n: (a.bits, a.transpose) for n, a in transposing.items()} == {
        "ds_read_b64_tr_b4": (64, 4), "ds_read_b96_tr_b6": (96, 6),
        "ds_read_b64_tr_b8": (64, 8), "ds_read_b64_tr_b16": (64, 16),
    }  # fmt: skip
    assert {name for name, d in DS.items() if d.archs != ARCHS} == set(transposing)
    assert all(DS[name].archs == ("gfx950",) for name in transposing)


def test_permutes_touch_no_memory() -> None:
    permutes = {name: access_of(d).op for name, d in DS.items() if d.has("lane_permute")}
    assert permutes == {"ds_permute_b32": "push", "ds_bpermute_b32": "pull", "ds_swizzle_b32": "swizzle"}
    assert {name for name in DS if access_of_kind(name) == "permute"} == set(permutes)
