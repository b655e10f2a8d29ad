"""The decoder on whatever bytes there are: known encodings, random words, truncated code."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import pytest
from tests.isa.llvm_oracle import assemble_lines

from pykittens.errors import InputError
from pykittens.isa import Const, Instruction, Label, Reg, decode, decode_one, text
from pykittens.isa.define import ARCHS, BY_OPCODE
from pykittens.isa.formats import DPP_WORD, FORMATS, SDWA_WORD, VOP3_BASE, Format

_CENSUS_WIDTH = 105
"""The examples of opcodes.csv are cut at about this length."""
_REFUSALS = (
    "violates constant bus restrictions",
    "invalid op_sel operand",
    "expected a 20-bit unsigned offset",
    "only 4-bit values are legal",
    "vgpr must be even aligned",
    "source 2 operand must not partially overlap with dst",
    "failed parsing operand",
    "not a valid operand",
)
"""What the assembler says of encodings that the decoder (and LLVM's) reads though the ISA manual does not allow them:
two scalar operands, op_sel of dot products, negative offsets of scalar buffer accesses, reserved index modes, odd
registers in global wave syncs, matrices that overlap their accumulator, sext of constants and of fp8."""


def _code(rnd: Random, arch: str, count: int) -> list[bytes]:
    """``count`` encodings of known opcodes with all other bits random, short ones followed by a random dword."""
    known: dict[str, list[int]] = {}
    for format, opcode, chip in BY_OPCODE:
        if chip == arch:
            known.setdefault(format, []).append(opcode)
    known["FLAT"] = sorted({*known["FLAT"], *known["GLOBAL"], *known["SCRATCH"]})
    known["VOP3"] += [base + opcode for format, base in VOP3_BASE.items() for opcode in known[format]]
    known["VOP3P"] += [opcode for opcode in known["MFMA"] if opcode < 128]
    return [_random_word(rnd, fmt, rnd.choice(known[fmt.name])) for fmt in rnd.choices(list(FORMATS.values()), k=count)]


def _random_word(rnd: Random, fmt: Format, opcode: int) -> bytes:
    bits = rnd.getrandbits(64)
    fields = {"op": opcode}
    if fmt.name in VOP3_BASE:
        fields["src0"] = rnd.choice((SDWA_WORD, DPP_WORD, rnd.getrandbits(9)))
    for name, value in fields.items():
        low, width = fmt.fields[name]
        bits = bits & ~(((1 << width) - 1) << low) | value << low
    if rnd.random() < 0.5:
        # Most fields that an instruction has no use for must be 0.
        for low, width in fmt.fields.values():
            if (low, width) != fmt.fields["op"] and rnd.random() < 0.4:
                bits &= ~(((1 << width) - 1) << low)
    prefix = fmt.prefix << (32 - fmt.prefix_bits)
    bits = bits & ~(((1 << fmt.prefix_bits) - 1) << (32 - fmt.prefix_bits)) | prefix
    return bits.to_bytes(8, "little")


def _same(a: Instruction, b: Instruction) -> bool:
    return (a.name, a.operands, a.modifiers, a.encoding) == (b.name, b.operands, b.modifiers, b.encoding)


def _text_loses(instruction: Instruction) -> bool:
    """Whether LLVM's text cannot say these bits.

    16-bit operands: the high half of a literal, and floats of integers, which look like literals; f64: a literal that
    is an inline constant; messages and swizzle patterns: bits that change nothing; no operands: the longer encoding.
    M0 as a scalar destination or data, and two bits of f64 atomics in accumulation registers, are printed and refused.
    """
    definition = instruction.definition
    if definition.has("message") or (definition.access is not None and definition.access.op == "swizzle"):
        return True
    if not instruction.operands and instruction.encoding == "e64":
        return True
    operands = definition.explicit_dsts + definition.explicit_srcs
    for value, operand in zip(instruction.operands, operands, strict=True):
        if isinstance(value, Const):
            if operand.bits == 16 and (value.form == "float" or value.bits >> 16):
                return True
            if operand.bits == 64 and operand.type.is_float and value.form == "literal":
                return True
        if not isinstance(value, Reg):
            continue
        to_scalar = definition.format == "SMEM" or any(o.scalar for o in definition.explicit_dsts)
        if to_scalar and value.file == "s" and value.index in (124, 126, 127):
            return True
        atomic = definition.access is not None and definition.access.kind == "atomic"
        if atomic and value.file == "a" and definition.format in ("FLAT", "GLOBAL"):
            return True
    return False


@pytest.mark.parametrize("arch", ARCHS)
def test_what_decodes_assembles_again(arch: str) -> None:
    given = []
    for word in _code(Random(1), arch, 40_000):
        instruction = decode_one(word + b"\0" * 12, 0, arch, 0)
        if not instruction.definition.has("illegal"):
            given.append((instruction, word[: instruction.size]))
    assert len(given) > 10_000
    wrong = []
    lines = [text(instruction) for instruction, _ in given]
    for (instruction, word), line, code in zip(given, lines, assemble_lines(lines, arch), strict=True):
        if isinstance(code, str):
            expected = _text_loses(instruction) or any(refusal in code for refusal in _REFUSALS)
        else:
            # Other bytes are right if the difference is in bits that mean nothing.
            expected = code == word or _text_loses(instruction) or _same(decode_one(code, 0, arch, 0), instruction)
        if not expected:
            wrong.append(f"{word.hex()} {line}: {code if isinstance(code, str) else code.hex()}")
    assert not wrong, f"{len(wrong)} of {len(lines)}: " + "\n".join(wrong[:40])


@pytest.mark.parametrize("arch", ARCHS)
def test_random_bytes_decode_to_their_end(arch: str) -> None:
    rnd = Random(2)
    for size in (0, 1, 3, 4, 5, 11, 4096, 4099, 20_000):
        code = rnd.randbytes(size)
        instructions = decode(code, arch, 0x1000)
        assert sum(instruction.size for instruction in instructions) == size
        assert all(text(instruction) for instruction in instructions)
        at = 0x1000
        for instruction in instructions:
            assert instruction.pc == at
            at += instruction.size


@pytest.mark.parametrize("arch", ARCHS)
def test_code_may_end_anywhere(arch: str) -> None:
    # A literal, an 8-byte encoding and a 16-byte one: cut, what is left stands for itself.
    for whole in ("ff008ebe00000080", "0400fdd103094100", "0060acd3d0910300008cadd388110284"):
        code = bytes.fromhex(whole)
        for end in range(1, len(code)):
            found = decode(code[:end], arch)
            assert sum(instruction.size for instruction in found) == end
            assert found[-1].pc + found[-1].size == end
            if end < 8:
                assert found[0].definition.has("illegal")


def test_scales_belong_to_the_matrix_instruction_after_them() -> None:
    pair = bytes.fromhex("0000acd3d0910300008cadd388110284")
    assert [i.size for i in decode(pair, "gfx950")] == [16]
    assert [i.name for i in decode(pair[:8] + b"\0\0\x80\xbf", "gfx950")] == ["v_mfma_ld_scale_b32", "s_nop"]
    assert [i.size for i in decode(pair, "gfx950")] == [16]
    assert all(i.definition.has("illegal") for i in decode(pair, "gfx942")[:1])


def test_illegal_words_say_what_they_are() -> None:
    word, odd = decode(bytes.fromhex("ffffffff0102"), "gfx950")
    assert word.definition.has("illegal") and text(word) == ".long 0xffffffff"
    assert odd.size == 2 and text(odd) == ".byte 0x01, 0x02"


def test_an_unknown_chip_is_an_error() -> None:
    with pytest.raises(InputError, match="gfx90a"):
        decode(b"", "gfx90a")


def test_branches_name_their_distance() -> None:
    (branch,) = decode(bytes.fromhex("fbff82bf"), "gfx950", base=0x100)
    assert branch.operands == (Label("65531", -20),)
    assert text(branch) == "s_branch 65531"
    assert text(branch, {0x100 + 4 - 20: "loop"}) == "s_branch loop"


def test_examples_from_real_kernels() -> None:
    """opcodes.csv: an example of each opcode and form that AITER's and Triton's kernels use."""
    with (Path(__file__).parent / "opcodes.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) == 323
    for row in rows:
        encoding, _, line = row[7].partition(" ")
        for arch in row[5].split():
            code = bytes.fromhex(encoding)
            found = decode(code, arch)
            assert len(found) == 1, row
            target = found[0].operands[0] if found[0].operands else None
            names = {}
            if isinstance(target, Label) and target.offset is not None and not line.split()[-1].isdigit():
                names = {len(code) + target.offset: line.split()[-1]}
            mine = text(found[0], names)
            assert mine == line.strip() or (len(row[7]) >= _CENSUS_WIDTH and mine.startswith(line.strip())), (mine, row)
