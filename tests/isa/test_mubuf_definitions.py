"""Buffer memory definitions: operands, widths, formats, load-to-LDS and atomics."""

from __future__ import annotations

from tests.isa.access_facts import access_of, check_consistent, check_integer_atomics, check_widths, of_format

from pykittens.isa import mubuf
from pykittens.isa.define import ARCHS, Counter

MUBUF, MTBUF = of_format("MUBUF"), of_format("MTBUF")


def test_definitions_are_consistent() -> None:
    assert mubuf.__doc__ and (len(MUBUF), len(MTBUF)) == (74, 16)
    check_consistent(MUBUF)
    check_consistent(MTBUF)
    assert all(d.counter is Counter.VM for d in (MUBUF | MTBUF).values())


def test_widths_follow_the_names() -> None:
    assert check_widths(MUBUF, "buffer") == 8 + 6 + 8


def test_operands_stand_in_the_order_of_the_text() -> None:
    for name, d in (MUBUF | MTBUF).items():
        access = access_of(d)
        if access.kind != "control":
            assert access.roles[-3:] == ("vaddr", "srsrc", "soffset"), name
            assert [o.dwords for o in d.explicit_srcs[-3:]] == [1, 4, 1]
            assert [o.scalar for o in d.explicit_srcs[-3:]] == [False, True, True]
            assert (access.roles[0] == "vdata") == (access.kind != "load"), name


def test_formatted_data_is_packed_in_d16() -> None:
    formatted = {name: access_of(d) for name, d in (MUBUF | MTBUF).items() if access_of(d).formatted}
    assert len(formatted) == 18 + 16
    assert all(d.access in formatted.values() for d in MTBUF.values())
    for name, access in formatted.items():
        components = name.rsplit("_", 1)[1]
        assert (access.bits, access.count) == (16 if "d16" in name else 32, len(components)), name


def test_which_loads_go_to_lds_on_which_chip() -> None:
    to_lds = {name: access_of(d).to_lds for name, d in MUBUF.items() if access_of(d).to_lds}
    assert to_lds == {
        "buffer_load_ubyte": ARCHS, "buffer_load_sbyte": ARCHS, "buffer_load_ushort": ARCHS,
        "buffer_load_sshort": ARCHS, "buffer_load_dword": ARCHS, "buffer_load_format_x": ARCHS,
        "buffer_load_dwordx3": ("gfx950",), "buffer_load_dwordx4": ("gfx950",),
    }  # fmt: skip


def test_atomics() -> None:
    check_integer_atomics(MUBUF, "buffer_atomic", "in_place")
    floats = {
        name: (a.op, str(a.type), a.count)
        for name, d in MUBUF.items()
        if (a := access_of(d)).kind == "atomic" and a.type is not None and a.type.is_float
    }
    assert floats == {
        "buffer_atomic_add_f32": ("add", "f32", 1), "buffer_atomic_add_f64": ("add", "f64", 1),
        "buffer_atomic_min_f64": ("min", "f64", 1), "buffer_atomic_max_f64": ("max", "f64", 1),
        "buffer_atomic_pk_add_f16": ("add", "f16", 2), "buffer_atomic_pk_add_bf16": ("add", "bf16", 2),
    }  # fmt: skip
    assert {name for name, d in MUBUF.items() if d.archs != ARCHS} == {"buffer_atomic_pk_add_bf16"}


def test_cache_upkeep_has_no_operands() -> None:
    for name, op in (("buffer_wbl2", "wb"), ("buffer_inv", "inv")):
        assert (access_of(MUBUF[name]).op, MUBUF[name].srcs, MUBUF[name].dsts) == (op, (), ())
