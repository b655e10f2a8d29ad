"""Source lines: our own, those of clang in every DWARF version (against pyelftools), and damaged tables."""

from __future__ import annotations

import io
import random
import struct
from bisect import bisect_right

import pytest
from elftools.elf.elffile import ELFFile
from tests.asm.clang_made import SOURCE, compile_c

from pykittens.arch import Arch
from pykittens.asm.code_object import CodeObject, read
from pykittens.asm.source_lines import SourceLine, SourceLines
from pykittens.asm.toolchain import assemble
from pykittens.errors import CodeObjectError

TEXT = """
.text
.file 1 "kernels/gemm.py"
.file 2 "/opt/models" "attention.py"
f:
s_nop 0
.loc 1 12 3
s_nop 1
s_nop 2
.loc 2 700 1
v_add_f32_e64 v0, v1, v2
.loc 1 0
s_nop 3
.loc 1 5 0
s_endpgm
"""


def test_what_loc_directives_say_comes_back() -> None:
    code_object = read(assemble(TEXT, "gfx950"))
    lines = SourceLines(code_object)
    start = code_object.text[0].address
    gemm, attention = SourceLine("kernels/gemm.py", 12, 3), SourceLine("/opt/models/attention.py", 700, 1)
    expected = [None, gemm, gemm, attention, attention, None, SourceLine("kernels/gemm.py", 5), None]
    assert [lines.at(start + 4 * i) for i in range(len(expected))] == expected
    assert lines.at(start - 4) is None
    assert lines.at(start + 13) == attention  # inside an instruction
    assert str(gemm) == "kernels/gemm.py:12"


def test_code_without_line_information_has_no_lines() -> None:
    code_object = read(assemble("s_endpgm\n", "gfx950"))
    assert SourceLines(code_object).at(code_object.text[0].address) is None


def pyelftools_rows(code_object: CodeObject) -> list[tuple[int, tuple[str, int, int] | None]]:
    """(address, (file name, line, column)) as pyelftools reads the tables; None after the end of a sequence."""
    rows = []
    dwarf = ELFFile(io.BytesIO(code_object.data)).get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        files = program["file_entry"]
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            file = files[state.file if program["version"] >= 5 else state.file - 1].name.decode()
            known = not state.end_sequence and state.line > 0
            rows.append((state.address, (file, state.line, state.column) if known else None))
    return rows


@pytest.mark.parametrize("flag", ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gline-tables-only"])
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_clangs_tables_read_as_pyelftools_reads_them(flag: str, level: str, arch: Arch) -> None:
    code_object = read(compile_c(SOURCE, arch.name, flag, level))
    lines = SourceLines(code_object)
    rows = sorted(pyelftools_rows(code_object), key=lambda row: row[0])
    addresses = [address for address, _ in rows]
    (text,) = code_object.text
    seen = set()
    for address in range(text.address, text.address + len(text.data), 4):
        index = bisect_right(addresses, address) - 1
        expected = rows[index][1] if index >= 0 else None
        found = lines.at(address)
        assert (found and (found.file.rpartition("/")[2], found.line, found.column)) == expected, hex(address)
        seen.add(found)
    assert len(seen) > 10


def test_kernels_start_at_their_source_lines() -> None:
    code_object = read(compile_c(SOURCE, "gfx950", "-g", "-O0"))
    lines = SourceLines(code_object)
    source = SOURCE.splitlines()
    for name in ("scratchy", "calls"):
        line = lines.at(code_object.kernel(name).entry)
        assert line is not None
        assert f"void {name}(" in source[line.line - 1]


def test_code_that_the_linker_left_out_is_not_at_address_zero() -> None:
    """A sequence at address 0, outside all code, must not answer for the addresses that follow it."""
    code_object = read(assemble(TEXT, "gfx950"))
    start = code_object.text[0].address
    set_address = b"\x00\x09\x02"
    assert code_object.data.count(set_address + struct.pack("<Q", start + 4)) == 1
    data = code_object.data.replace(set_address + struct.pack("<Q", start + 4), set_address + bytes(8))
    lines = SourceLines(read(data))
    assert all(lines.at(address) is None for address in range(0, start + 64, 4))


def line_table(content: bytes) -> CodeObject:
    """A code object whose .debug_line has this content."""
    octets = ",".join(map(str, content))
    return read(assemble(f's_endpgm\n.section .debug_line,"",@progbits\n.byte {octets}\n', "gfx950"))


def unit(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


# Version 5; sizes; header length; minimum length; 1 operation; is_stmt; line base -5; line range 14; opcode base 1.
HEAD = struct.pack("<HBBIBBBbBB", 5, 8, 0, 1000, 4, 1, 1, -5, 14, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x01\x02", "ends early"),
        (struct.pack("<I", 100) + b"\x05\x00", "unit that goes past its end"),
        (b"\xff\xff\xff\xff" + struct.pack("<Q", 1 << 60), "unit that goes past its end"),
        (unit(struct.pack("<H", 1)), "DWARF version 1"),
        (unit(struct.pack("<H", 6)), "DWARF version 6"),
        (unit(struct.pack("<HBBIBB", 5, 8, 0, 0, 4, 2)), "VLIW"),
        (unit(struct.pack("<HBBIBBBbBB", 5, 8, 0, 0, 4, 1, 1, -5, 0, 1)), "line_range or opcode_base of 0"),
        (unit(struct.pack("<HBBIBBBbBB", 5, 8, 0, 0, 4, 1, 1, -5, 14, 0)), "line_range or opcode_base of 0"),
        (unit(HEAD + b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "entries without columns"),
        (unit(HEAD + b"\x00" + b"\xff" * 11), "more than 64 bits"),
        (unit(HEAD + b"\x01\x01\x08\xff\xff\xff\x7f" + b"abc"), "endless string"),
        (unit(HEAD + b"\x01\x01\x08\xff\xff\xff\x7f" + b"\0" * 9), "endless string"),
        (unit(HEAD + b"\x01\x01\x19\x01\x01"), "unknown form 0x19"),
        (unit(HEAD + b"\x01\x01\x1f\x01" + struct.pack("<I", 9)), "endless string"),
        (unit(HEAD + b"\x00\x00\x00\x00"), "another length than it states"),
    ],
)
def test_a_damaged_table_is_an_error(content: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError, match=message):
        SourceLines(line_table(content))


def test_an_extended_opcode_of_a_wrong_length_is_an_error() -> None:
    header = struct.pack("<BBBbBB", 4, 1, 1, -5, 14, 13) + bytes.fromhex("000101010100000001000001") + bytes(4)
    program = b"\x00\x03\x02" + bytes(8)  # DW_LNE_set_address of 2 bytes
    content = unit(struct.pack("<HBBI", 5, 8, 0, len(header)) + header + program)
    with pytest.raises(CodeObjectError, match="extended opcode of 3 bytes"):
        SourceLines(line_table(content))


def test_random_damage_never_escapes() -> None:
    whole = read(compile_c(SOURCE, "gfx950", "-g"))
    table = next(data for name, data in _debug_sections(whole) if name == ".debug_line")
    start = whole.data.index(table)
    rng = random.Random(11)
    outcomes = set()
    for _ in range(600):
        data = bytearray(whole.data)
        for _ in range(rng.choice((1, 2, 8))):
            data[start + rng.randrange(len(table))] = rng.randrange(256)
        try:
            SourceLines(read(bytes(data)))
            outcomes.add("read")
        except CodeObjectError as error:
            outcomes.add(error.code)
    assert outcomes == {"read", "bad-line-table"}


def _debug_sections(code_object: CodeObject) -> list[tuple[str, bytes]]:
    elf = ELFFile(io.BytesIO(code_object.data))
    return [(section.name, section.data()) for section in elf.iter_sections() if section.name.startswith(".debug")]
