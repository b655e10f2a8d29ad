"""What every definition of a memory instruction must agree on with itself, whatever its format."""

from __future__ import annotations

from collections.abc import Iterable

from pykittens.isa.define import DEFINITIONS, Access, Definition

LOADS_BY_NAME = {
    "ubyte": (8, 1, False), "sbyte": (8, 1, True), "ushort": (16, 1, False), "sshort": (16, 1, True),
    "short": (16, 1, False), "byte": (8, 1, False), "dword": (32, 1, False), "dwordx2": (32, 2, False),
    "dwordx3": (32, 3, False), "dwordx4": (32, 4, False), "dwordx8": (32, 8, False), "dwordx16": (32, 16, False),
}  # fmt: skip
"""Bits, count and sign of a width as the mnemonics write it."""


def of_format(*formats: str) -> dict[str, Definition]:
    return {name: d for name, d in DEFINITIONS.items() if d.format in formats}


def access_of(definition: Definition) -> Access:
    assert definition.access is not None, definition.name
    return definition.access


def data_dwords(definition: Definition, roles: Iterable[str] = ("data", "data0", "vdata", "sdata")) -> int:
    """Registers of the data that a store or an atomic sends, both operands of two-data forms together."""
    named = zip(access_of(definition).roles, definition.explicit_srcs, strict=True)
    return sum(operand.dwords for role, operand in named if role in (*roles, "data1"))


def check_consistent(definitions: dict[str, Definition]) -> None:
    """Roles, sizes and destinations of loads, stores and atomics fit each other."""
    for name, d in definitions.items():
        access = d.access
        if access is None:
            continue
        assert len(access.roles) == len(d.explicit_srcs), name
        results = sum(o.dwords for o in d.explicit_dsts)
        registers = (access.bytes + 3) // 4
        if access.kind == "load":
            assert results == (0 if access.to_lds and "_lds_" in name else registers), name
        elif access.kind == "store":
            assert (results, data_dwords(d)) == (0, registers), name
        elif access.kind == "atomic":
            assert access.type is not None and access.type.bits == access.bits, name
            assert results == (registers if access.returns in ("always", "sc0") else 0), name
        if access.half is not None:
            assert access.bits <= 16 and ("d16_hi" in name) == (access.half == "hi"), name
        if access.signed:
            assert access.bits < 32, name


def check_widths(definitions: dict[str, Definition], prefix: str) -> int:
    """Plain loads and stores named after ``prefix`` are as wide as their names say. Returns how many there were."""
    seen = 0
    for name, d in definitions.items():
        for kind in ("load", "store"):
            stem = f"{prefix}_{kind}_"
            if not name.startswith(stem):
                continue
            width = name.removeprefix(stem).removeprefix("lds_").removesuffix("_hi").removesuffix("_d16")
            if width in LOADS_BY_NAME:
                access = access_of(d)
                assert (access.kind, (access.bits, access.count, access.signed)) == (kind, LOADS_BY_NAME[width]), name
                seen += 1
    return seen


def check_integer_atomics(definitions: dict[str, Definition], prefix: str, returns: str) -> None:
    """All thirteen operations in both widths, signed only where the name says so, cmpswap with two data."""
    operations = ["swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec"]
    for operation in operations:
        for suffix, bits in (("", 32), ("_x2", 64)):
            d = definitions[f"{prefix}_{operation}{suffix}"]
            access = access_of(d)
            assert (access.kind, access.op, access.bits, access.count) == ("atomic", operation, bits, 1)
            assert access.type is not None and access.type.signed == (operation in ("smin", "smax"))
            assert data_dwords(d) == bits // 32 * (2 if operation == "cmpswap" else 1)
            assert access.returns == returns
