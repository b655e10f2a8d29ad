"""An ELF file of the AMDGPU machine, record by record, with every offset and size checked before it is used.

pyelftools knows the records (`ELFStructs`); this module never lets it read where the file does not reach, so that a
damaged file is an error that names the place, and neither a loop without end nor a huge allocation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from elftools.construct import ConstructError
from elftools.elf.structs import ELFStructs

from pykittens.errors import CodeObjectError

_MAGIC = b"\x7fELF"
_EM_AMDGPU = "EM_AMDGPU"
_ELFOSABI_AMDGPU_HSA = 64

# Code reaches data by 32-bit distances from the program counter, so no image can be larger.
_LARGEST_IMAGE = 1 << 31

_STRUCTS = ELFStructs(little_endian=True, elfclass=64)
_STRUCTS.create_basic_structs()
_STRUCTS.create_advanced_structs()


@dataclass(frozen=True)
class Section:
    """A section header. `kind` is pyelftools' name of its type, or the number where it has none."""

    name: str
    kind: str | int
    alloc: bool
    executable: bool
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Segment:
    """A part of memory that the loader fills: `data` at `address`, then zeros up to `memory_size` bytes.

    `address` counts from the load address, as do all addresses of a code object.
    """

    address: int
    memory_size: int
    data: bytes = field(repr=False)
    writable: bool
    executable: bool

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.memory_size


@dataclass(frozen=True)
class RawSymbol:
    """A symbol table entry. `section` is "SHN_UNDEF", "SHN_ABS" or another special name, or a section's number."""

    name: str
    address: int
    size: int
    kind: str | int
    binding: str | int
    section: str | int


class ElfImage:
    """The parsed headers of `data`. Raises CodeObjectError for all but a linked AMDGPU ELF file of 64 bits.

    where: the file's name for messages.
    """

    def __init__(self, data: bytes, where: str | None = None) -> None:
        self.data = data
        self.where = where
        header = self._header()
        self.flags = int(header.e_flags)
        self.abi_version = int(header.e_ident.EI_ABIVERSION)
        self._program_headers = self._table(
            "program headers", _STRUCTS.Elf_Phdr, header.e_phoff, header.e_phnum, header.e_phentsize
        )
        self._section_headers = self._table(
            "section headers", _STRUCTS.Elf_Shdr, header.e_shoff, header.e_shnum, header.e_shentsize
        )
        self._names_index = int(header.e_shstrndx)

    def malformed(self, what: str, code: str = "bad-elf") -> CodeObjectError:
        """The error for a file that is damaged in the way `what` says."""
        return CodeObjectError(code, what, where=self.where)

    def bytes_in_file(self, offset: int, size: int, what: str) -> bytes:
        """`size` bytes at `offset` of the file; CodeObjectError, naming `what`, where the file is shorter."""
        end = offset + size
        if end > len(self.data):
            message = f"{what} at bytes {offset:#x}..{end:#x} go past the end of the file, {len(self.data):#x}"
            raise self.malformed(message, "truncated")
        return self.data[offset:end]

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The loadable segments in the order of their addresses."""
        segments = []
        for header in self._program_headers:
            if header.p_type != "PT_LOAD":
                continue
            place = f"the segment at {header.p_vaddr:#x}"
            if header.p_filesz > header.p_memsz:
                raise self.malformed(f"{place} has {header.p_filesz} bytes for {header.p_memsz} bytes of memory")
            if header.p_vaddr + header.p_memsz > _LARGEST_IMAGE:
                end = header.p_vaddr + header.p_memsz
                raise self.malformed(
                    f"{place} ends at {end:#x}, past the {_LARGEST_IMAGE:#x} bytes that code can reach"
                )
            data = self.bytes_in_file(header.p_offset, header.p_filesz, place)
            flags = int(header.p_flags)
            segments.append(Segment(header.p_vaddr, header.p_memsz, data, bool(flags & 2), bool(flags & 1)))
        segments.sort(key=lambda segment: segment.address)
        for low, high in pairwise(segments):
            if low.end > high.address:
                raise self.malformed(f"the segments at {low.address:#x} and {high.address:#x} overlap")
        return tuple(segments)

    def bytes_at(self, address: int, size: int, what: str) -> bytes:
        """What the segments hold there; CodeObjectError, naming `what`, outside of them."""
        return bytes_in_segments(self.segments, address, size, what, self.where)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All section headers, by number."""
        if not self._section_headers:
            return ()
        if self._names_index >= len(self._section_headers):
            count = len(self._section_headers)
            raise self.malformed(f"the section names are in section {self._names_index} of {count}")
        strings = self._section_headers[self._names_index]
        names = self.bytes_in_file(strings.sh_offset, strings.sh_size, "the section names")
        return tuple(
            Section(
                self._string(names, header.sh_name, "a section's name"),
                header.sh_type,
                bool(header.sh_flags & 2),
                bool(header.sh_flags & 4),
                header.sh_addr,
                header.sh_offset,
                header.sh_size,
                header.sh_link,
            )
            for header in self._section_headers
        )

    def section_bytes(self, section: Section) -> bytes:
        """What the file holds of `section`; nothing for one without bytes, such as .bss."""
        if section.kind in ("SHT_NOBITS", "SHT_NULL"):
            return b""
        return self.bytes_in_file(section.offset, section.size, f"section {section.name}")

    def symbols(self, table: Section) -> list[RawSymbol]:
        """The entries of a symbol table, by number."""
        if table.link >= len(self.sections):
            raise self.malformed(f"section {table.name} takes its names from section {table.link}, which is none")
        names = self.section_bytes(self.sections[table.link])
        return [
            RawSymbol(
                self._string(names, record.st_name, f"a symbol's name in {table.name}"),
                record.st_value,
                record.st_size,
                record.st_info.type,
                record.st_info.bind,
                record.st_shndx,
            )
            for record in self._records(self.section_bytes(table), _STRUCTS.Elf_Sym, f"section {table.name}")
        ]

    def relocation_records(self, table: Section) -> list[Any]:
        """The Elf64_Rela records of a relocation section, as pyelftools decodes them."""
        return self._records(self.section_bytes(table), _STRUCTS.Elf_Rela, f"section {table.name}")

    def notes(self) -> list[tuple[bytes, int, bytes]]:
        """(owner, type, content) of every note: from the note segments, or from the sections if there are none."""
        blocks = [
            self.bytes_in_file(header.p_offset, header.p_filesz, "the notes")
            for header in self._program_headers
            if header.p_type == "PT_NOTE"
        ] or [self.section_bytes(section) for section in self.sections if section.kind == "SHT_NOTE"]
        return [note for block in blocks for note in self._notes_in(block)]

    def _notes_in(self, block: bytes) -> list[tuple[bytes, int, bytes]]:
        notes = []
        position = 0
        while position + 12 <= len(block):
            name_size, size, kind = (
                int.from_bytes(block[position + i : position + i + 4], "little") for i in (0, 4, 8)
            )
            content = position + 12 + -(-name_size // 4) * 4
            if content + size > len(block):
                message = f"a note of {content + size - position} bytes is in {len(block) - position} bytes"
                raise self.malformed(message, "truncated")
            owner = block[position + 12 : position + 12 + name_size].rstrip(b"\0")
            notes.append((owner, kind, block[content : content + size]))
            position = content + -(-size // 4) * 4
        return notes

    def _header(self) -> Any:
        if not self.data.startswith(_MAGIC):
            raise self.malformed(
                f"this is no ELF file: it starts with {self.data[:4].hex(' ') or 'nothing'}", "not-elf"
            )
        size = _STRUCTS.Elf_Ehdr.sizeof()
        raw = self.bytes_in_file(0, size, "the ELF header")
        if raw[4:7] != b"\x02\x01\x01":
            raise self.malformed("this is no little-endian ELF file of 64 bits and version 1", "not-elf")
        header = self._parse(_STRUCTS.Elf_Ehdr, raw)
        if header.e_machine != _EM_AMDGPU:
            fix = "give a code object, or take the device part out of a host program's .hip_fatbin section"
            what = f"the ELF file is for {header.e_machine}, not for {_EM_AMDGPU}"
            raise CodeObjectError("wrong-machine", what, where=self.where, fix=fix)
        if raw[7] != _ELFOSABI_AMDGPU_HSA:
            raise self.malformed(f"the ELF file has OS ABI {raw[7]}, not {_ELFOSABI_AMDGPU_HSA} (AMDGPU HSA)")
        if header.e_type != "ET_DYN":
            fix = "link it with ld.lld -shared"
            what = f"the ELF file is {header.e_type}, not a shared object"
            raise CodeObjectError("not-linked", what, where=self.where, fix=fix)
        return header

    def _table(self, what: str, record: Any, offset: int, count: int, entry_size: int) -> list[Any]:
        if count and entry_size != record.sizeof():
            raise self.malformed(f"the {what} are {entry_size} bytes each, not {record.sizeof()}")
        if not count:
            return []
        return self._records(self.bytes_in_file(offset, count * entry_size, f"the {what}"), record, f"the {what}")

    def _records(self, data: bytes, record: Any, what: str) -> list[Any]:
        size = record.sizeof()
        if len(data) % size:
            raise self.malformed(f"{what} of {len(data)} bytes is no whole number of {size}-byte records")
        return [self._parse(record, data[i : i + size]) for i in range(0, len(data), size)]

    def _string(self, table: bytes, offset: int, what: str) -> str:
        end = table.find(b"\0", offset)
        if offset >= len(table) or end < 0:
            raise self.malformed(f"{what} at {offset:#x} is outside a string table of {len(table):#x} bytes")
        return table[offset:end].decode("utf-8", "backslashreplace")

    def _parse(self, record: Any, data: bytes) -> Any:
        try:
            return record.parse(data)
        except ConstructError as error:
            raise self.malformed(f"an ELF record is invalid: {error}") from None


def bytes_in_segments(
    segments: tuple[Segment, ...], address: int, size: int, what: str, where: str | None = None
) -> bytes:
    """`size` bytes of memory at `address` as the loader leaves them, before relocation.

    Raises CodeObjectError, naming `what`, unless they lie within one segment.
    """
    for segment in segments:
        if segment.address <= address and address + size <= segment.end:
            start = address - segment.address
            return segment.data[start : start + size].ljust(size, b"\0")
    message = f"{what}, {size} bytes at {address:#x}, lies in no loaded segment"
    raise CodeObjectError("bad-address", message, where=where)
