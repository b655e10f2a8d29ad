"""The encodings as data: fields have places of their own, and prefixes tell the formats apart."""

from __future__ import annotations

import pytest

from pykittens.isa.define import BY_OPCODE
from pykittens.isa.formats import (
    BY_PREFIX,
    DPP,
    FORMATS,
    MFMA,
    SDWA,
    SDWAB,
    SEGMENTS,
    VOP3_BASE,
    VOP3B,
    Format,
)

ALL = [*FORMATS.values(), VOP3B, MFMA, SDWA, SDWAB, DPP]


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_fields_lie_apart(fmt: Format) -> None:
    taken = ((1 << fmt.prefix_bits) - 1) << (32 - fmt.prefix_bits)
    for name, (low, width) in fmt.fields.items():
        bits = ((1 << width) - 1) << low
        assert not taken & bits, name
        taken |= bits
    assert taken < 1 << 8 * fmt.size


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)
def test_a_prefix_names_its_format_alone(fmt: Format) -> None:
    low, width = fmt.fields["op"]
    opcodes = {opcode for format, opcode, _ in BY_OPCODE if format == fmt.name}
    for opcode in opcodes:
        assert opcode < 1 << width
        word = fmt.prefix << (32 - fmt.prefix_bits) | opcode << low
        assert BY_PREFIX[word >> 23] is fmt


def test_every_definition_has_an_opcode_field_that_holds_it() -> None:
    widths = {name: fmt.fields["op"][1] for name, fmt in FORMATS.items()}
    # A scaled matrix instruction has a number of its own beyond the field (see mfma.SCALED).
    widths |= dict.fromkeys(SEGMENTS, widths["FLAT"]) | {"MFMA": MFMA.fields["op"][1] + 1}
    for format, opcode, _ in BY_OPCODE:
        assert opcode < 1 << widths[format], (format, opcode)


def test_vop3_opcodes_do_not_meet() -> None:
    for arch in ("gfx942", "gfx950"):
        opcodes = [opcode for format, opcode, chip in BY_OPCODE if format == "VOP3" and chip == arch]
        for format, base in VOP3_BASE.items():
            opcodes += [base + opcode for short, opcode, chip in BY_OPCODE if short == format and chip == arch]
        assert len(opcodes) == len(set(opcodes))
