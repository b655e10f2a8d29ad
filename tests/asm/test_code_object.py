"""Reading code objects: what clang's hold, and files damaged in every way."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from tests.asm.clang_made import SOURCE, compile_c

from pykittens.arch import Arch
from pykittens.asm.code_object import CodeObject, read
from pykittens.asm.relocation import RELOCATION_KINDS, Relocation
from pykittens.asm.source_lines import SourceLines
from pykittens.asm.toolchain import assemble
from pykittens.errors import CodeObjectError, InputError

# Where fields of the ELF64 header lie, and how long they are.
E_PHOFF, E_SHOFF, E_FLAGS, E_PHNUM, E_SHNUM, E_SHSTRNDX = 32, 40, 48, 56, 60, 62


@pytest.fixture(scope="module")
def compiled() -> CodeObject:
    return read(compile_c())


def patched(data: bytes, offset: int, content: bytes) -> bytes:
    return data[:offset] + content + data[offset + len(content) :]


def kernel_text(name: str, symbol_directives: str = "") -> str:
    """A kernel of two instructions without metadata."""
    return f"""
    .text
    .p2align 8
    {symbol_directives}
    {name}:
    s_nop 0
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel {name}
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 4
    .amdhsa_accum_offset 4
    .amdhsa_group_segment_fixed_size 512
    .amdhsa_private_segment_fixed_size 32
    .amdhsa_kernarg_size 24
    .end_amdhsa_kernel
    """


def test_chip_and_features(arch: Arch) -> None:
    code_object = read(compile_c(SOURCE, arch.name), arch.name)
    assert code_object.arch == arch.name
    assert (code_object.xnack, code_object.sramecc) == ("any", "any")
    assert code_object.metadata is not None
    assert code_object.metadata.target == f"amdgcn-amd-amdhsa--{arch.name}"


@pytest.mark.parametrize(("xnack", "sramecc"), [("on", "off"), ("off", "on")])
def test_features_that_are_set(xnack: str, sramecc: str) -> None:
    sign = {"on": "+", "off": "-"}
    code_object = read(compile_c(SOURCE, f"gfx942:sramecc{sign[sramecc]}:xnack{sign[xnack]}"))
    assert (code_object.arch, code_object.xnack, code_object.sramecc) == ("gfx942", xnack, sramecc)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_code_object_versions(version: int) -> None:
    code_object = read(compile_c(SOURCE, "gfx950", f"-mcode-object-version={version}"))
    assert code_object.abi_version == version - 2
    assert list(code_object.kernels) == ["scratchy", "calls"]


def test_kernels(compiled: CodeObject) -> None:
    scratchy, calls = compiled.kernel("scratchy"), compiled.kernel("calls")
    assert (scratchy.lds_bytes, scratchy.scratch_bytes, scratchy.kernarg_size) == (0, 260, 272)
    assert (calls.lds_bytes, calls.scratch_bytes, calls.kernarg_size) == (400, 0, 16)
    assert calls.preload_entry == calls.entry
    assert scratchy.metadata is not None
    assert scratchy.metadata.max_workgroup_size == 256
    assert [argument.kind for argument in scratchy.metadata.args if not argument.hidden] == [
        "global_buffer",
        "by_value",
    ]
    assert "hidden_group_size_z" in [argument.kind for argument in scratchy.metadata.args]
    for kernel in compiled.kernels.values():
        assert kernel.entry % 256 == 0
        assert compiled.code(kernel)[-4:] == bytes.fromhex("000081bf")  # s_endpgm
        assert compiled.bytes_at(kernel.descriptor_address, 64) == kernel.descriptor.to_bytes()


def test_choosing_a_kernel(compiled: CodeObject) -> None:
    with pytest.raises(InputError, match="2 kernels: scratchy, calls; name the one"):
        compiled.kernel()
    with pytest.raises(InputError, match="no kernel 'x'; it has scratchy, calls"):
        compiled.kernel("x")
    assert read(assemble(kernel_text("only"), "gfx950")).kernel().name == "only"
    with pytest.raises(InputError, match="0 kernels: none"):
        read(assemble("s_endpgm", "gfx950")).kernel()


def test_symbols_name_device_functions_and_data(compiled: CodeObject) -> None:
    kinds = {symbol.name: symbol.kind for symbol in compiled.symbols}
    assert kinds["triple"] == kinds["calls"] == "function"
    assert kinds["table"] == kinds["calls.kd"] == "object"
    table = next(symbol for symbol in compiled.symbols if symbol.name == "table")
    assert compiled.bytes_at(table.address, table.size) == struct.pack("<4i", 1, 2, 3, 4)


def test_segments_are_what_a_loader_needs(compiled: CodeObject) -> None:
    (text,) = compiled.text
    holder = next(segment for segment in compiled.segments if segment.executable)
    assert holder.address <= text.address and text.address + len(text.data) <= holder.end
    assert not holder.writable
    assert all(len(segment.data) <= segment.memory_size for segment in compiled.segments)
    assert any(segment.writable and len(segment.data) < segment.memory_size for segment in compiled.segments)
    with pytest.raises(CodeObjectError, match="lies in no loaded segment"):
        compiled.bytes_at(holder.end, 4)


def test_zeros_follow_what_the_file_holds() -> None:
    code_object = read(
        assemble("s_endpgm\n.bss\n.globl zeros\n.type zeros,@object\nzeros: .skip 1000\n.size zeros,1000\n", "gfx950")
    )
    zeros = next(symbol for symbol in code_object.symbols if symbol.name == "zeros")
    assert code_object.bytes_at(zeros.address, 1000) == bytes(1000)


def test_a_relative_relocation_points_into_the_loaded_image(compiled: CodeObject) -> None:
    (relocation,) = compiled.relocations
    addresses = {symbol.name: symbol.address for symbol in compiled.symbols}
    assert relocation.address == addresses["into_table"]
    assert relocation.patch(0x7F00_0000_0000) == struct.pack("<Q", 0x7F00_0000_0000 + addresses["table"] + 8)


def test_relocations_against_symbols() -> None:
    text = """
    .globl there
    .type there,@object
    .weak nowhere
    .data
    there: .quad there + 5
    .quad nowhere + 3
    """
    code_object = read(assemble(text, "gfx950"))
    there = next(symbol.address for symbol in code_object.symbols if symbol.name == "there")
    found = {relocation.symbol: relocation for relocation in code_object.relocations}
    assert {relocation.kind for relocation in found.values()} == {"R_AMDGPU_ABS64"}
    assert found["there"].patch(0x10000) == struct.pack("<Q", 0x10000 + there + 5)
    assert found["nowhere"].patch(0x10000) == struct.pack("<Q", 3)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("R_AMDGPU_ABS32_LO", 0x89ABDEF0),
        ("R_AMDGPU_ABS32_HI", 0x67),
        ("R_AMDGPU_ABS64", 0x67_89ABDEF0),
        ("R_AMDGPU_ABS32", 0x89ABDEF0),
        ("R_AMDGPU_REL32", 0xFFFFFEF0),
        ("R_AMDGPU_REL64", 0xFFFFFFFF_FFFFFEF0),
        ("R_AMDGPU_REL32_LO", 0xFFFFFEF0),
        ("R_AMDGPU_REL32_HI", 0xFFFFFFFF),
        ("R_AMDGPU_RELATIVE64", 0x67_89ABCDF0),
    ],
)
def test_what_each_kind_of_relocation_writes(kind: str, expected: int) -> None:
    base = 0x67_89ABCE00
    relocation = Relocation(address=0x1200, kind=kind, addend=-16, symbol="s", symbol_address=0x1100)
    assert relocation.patch(base) == expected.to_bytes(relocation.size, "little")
    assert kind in RELOCATION_KINDS.values()


def test_an_undefined_symbol_is_an_error_when_it_is_needed() -> None:
    relocation = Relocation(address=0x1200, kind="R_AMDGPU_ABS64", addend=0, symbol="malloc")
    with pytest.raises(CodeObjectError, match=r"malloc is defined nowhere.*0x1200"):
        relocation.patch(0)


def test_a_kernel_without_metadata_is_found_by_its_descriptor() -> None:
    code_object = read(assemble(kernel_text("bare"), "gfx942"))
    kernel = code_object.kernel("bare")
    assert code_object.metadata is None and kernel.metadata is None
    assert (kernel.lds_bytes, kernel.scratch_bytes, kernel.kernarg_size) == (512, 32, 24)
    assert code_object.code(kernel) == bytes.fromhex("000080bf000081bf")  # to the end of .text: no size is known


def test_code_without_a_size_ends_at_the_next_function() -> None:
    text = kernel_text("first", ".type first,@function") + ".text\n.type second,@function\nsecond: s_nop 7\n"
    code_object = read(assemble(text, "gfx950"))
    assert code_object.code(code_object.kernel()) == bytes.fromhex("000080bf000081bf")


def test_sizes_that_the_descriptor_leaves_out_come_from_the_note(compiled: CodeObject) -> None:
    address = compiled.kernel("calls").descriptor_address
    data = patched(compiled.data, address, bytes(12))  # the first segment: file offset and address are the same
    kernel = read(data).kernel("calls")
    assert kernel.descriptor.group_segment_fixed_size == kernel.descriptor.kernarg_size == 0
    assert (kernel.lds_bytes, kernel.kernarg_size) == (400, 16)


def test_preloaded_arguments_have_an_entry_of_their_own() -> None:
    text = kernel_text("k").replace(
        ".end_amdhsa",
        ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_user_sgpr_kernarg_preload_length 2\n.end_amdhsa",
    )
    kernel = read(assemble(text, "gfx950")).kernel()
    assert kernel.preload_entry == kernel.entry + 256


def test_reading_from_files(tmp_path: Path, compiled: CodeObject) -> None:
    path = tmp_path / "k.co"
    path.write_bytes(compiled.data)
    assert read(path).kernels == read(str(path)).kernels == read(bytearray(compiled.data)).kernels == compiled.kernels
    assert read(path).where == str(path)
    path.write_bytes(compiled.data[:100])
    with pytest.raises(CodeObjectError, match=r"k\.co: "):
        read(path)
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "absent.co")
    with pytest.raises(InputError, match="Is a directory"):
        read(tmp_path)
    with pytest.raises(InputError, match="null"):
        read("a\0b")
    with pytest.raises(InputError, match="unknown arch 'gfx90a'"):
        read(path, "gfx90a")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 40)  # sparse
    with pytest.raises(CodeObjectError, match="1099511627776 bytes"):
        read(tmp_path / "huge")


@pytest.mark.parametrize(
    ("offset", "content", "message"),
    [
        (0, b"MZ", "no ELF file: it starts with 4d 5a 4c 46"),
        (4, b"\1", "no little-endian ELF file of 64 bits"),
        (5, b"\2", "no little-endian ELF file of 64 bits"),
        (7, b"\0", r"OS ABI 0, not 64"),
        (8, b"\1", "ABI version 1, and 2 is the first known"),
        (16, b"\1", "ET_REL, not a shared object; link it"),
        (18, b"\x3e", "EM_X86_64, not for EM_AMDGPU.*hip_fatbin"),
        (E_FLAGS, b"\x3f", "machine 0x3f"),
        (E_PHOFF, b"\xff" * 8, "program headers at bytes .* past the end"),
        (E_PHOFF + 22, b"\x20", "program headers are 32 bytes each, not 56"),
        (E_PHNUM, b"\xff\xff", "program headers at bytes .* past the end"),
        (E_SHOFF, b"\xff" * 8, "section headers at bytes .* past the end"),
        (E_SHNUM, b"\xff\xff", "section headers at bytes .* past the end"),
        (E_SHNUM, b"\0\0", "no section headers"),
        (E_SHSTRNDX, b"\xff\xff", "section names are in section 65535"),
    ],
)
def test_a_damaged_header_is_an_error_that_says_what(
    compiled: CodeObject, offset: int, content: bytes, message: str
) -> None:
    with pytest.raises(CodeObjectError, match=message):
        read(patched(compiled.data, offset, content))


def test_the_wrong_chip_is_an_error(compiled: CodeObject) -> None:
    with pytest.raises(CodeObjectError, match="for gfx950, not gfx942"):
        read(compiled.data, "gfx942")


def test_a_kernel_that_only_the_note_knows_is_an_error(compiled: CodeObject) -> None:
    assert compiled.data.count(b"calls.kd\0") == 2  # in .dynstr and .strtab; the note's has no zero
    with pytest.raises(CodeObjectError, match=r"names calls\.kd, which no symbol defines"):
        read(compiled.data.replace(b"calls.kd\0", b"calls_kd\0"))


@pytest.mark.parametrize(
    ("step", "message"), [(4, "no multiple of 256"), (1 << 20, "outside every section"), (-1 << 40, "outside every")]
)
def test_an_entry_outside_the_code_is_an_error(compiled: CodeObject, step: int, message: str) -> None:
    kernel = compiled.kernel("calls")
    offset = struct.pack("<q", kernel.descriptor.kernel_code_entry_byte_offset + step)
    with pytest.raises(CodeObjectError, match=f"kernel calls starts at .*{message}"):
        read(patched(compiled.data, kernel.descriptor_address + 16, offset))


def survives(data: bytes) -> str:
    """ "read", or the code of the error that refuses `data`. Anything but a CodeObjectError fails the test."""
    try:
        code_object = read(data)
        SourceLines(code_object)
        for kernel in code_object.kernels.values():
            code_object.code(kernel)
    except CodeObjectError as error:
        assert "\n" not in str(error)
        return error.code
    return "read"


@pytest.fixture(scope="module")
def victim() -> bytes:
    return compile_c(SOURCE, "gfx942", "-g")


def test_every_truncation_is_refused_or_harmless(victim: bytes) -> None:
    outcomes = Counter(survives(victim[:size]) for size in range(0, len(victim), 7))
    assert set(outcomes) <= {"not-elf", "truncated"}


def test_flipped_bits_never_escape(victim: bytes) -> None:
    rng = random.Random(20240607)
    outcomes: Counter[str] = Counter()
    for _ in range(1500):
        data = bytearray(victim)
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            bit = rng.randrange(len(data) * 8)
            data[bit // 8] ^= 1 << bit % 8
        outcomes[survives(bytes(data))] += 1
    assert len(outcomes) > 5  # the flips reached the header, the tables, the note, the descriptors


def test_extreme_numbers_in_headers_never_escape(victim: bytes) -> None:
    """Each aligned word of the ELF header, the program headers and the section headers, set to the worst numbers."""
    section_headers = struct.unpack_from("<Q", victim, E_SHOFF)[0]
    words = [*range(16, 64 + 9 * 56, 8), *range(section_headers, len(victim) - 8, 8)]
    extremes = [0, 1, (1 << 31) - 1, 1 << 32, 1 << 63, (1 << 64) - 1, len(victim), (1 << 31) - len(victim)]
    rng = random.Random(7)
    tracemalloc.start()
    try:
        for word in rng.sample(words, 120):
            for extreme in rng.sample(extremes, 3):
                survives(patched(victim, word, struct.pack("<Q", extreme)))
        assert tracemalloc.get_traced_memory()[1] < 100 * len(victim)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("source", [None, 5, ["k.co"]])
def test_what_is_no_code_object_at_all(source: object) -> None:
    with pytest.raises(InputError, match=r"is no code object; give a file or its bytes \[no-code-object\]"):
        read(source)  # type: ignore[arg-type]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_device_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykittens.asm.code_object._LARGEST_FILE", 5000)
    with pytest.raises(CodeObjectError, match=r"^/dev/zero: the file has 5001 bytes, and no code object .*too-large"):
        read("/dev/zero")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykittens.asm.code_object._LARGEST_FILE", 5000)
    path = tmp_path / "k.co"
    path.write_bytes(bytes(6000))
    with pytest.raises(CodeObjectError, match=r"the file has 6000 bytes, .*larger than 5000 \[too-large\]"):
        read(path)
