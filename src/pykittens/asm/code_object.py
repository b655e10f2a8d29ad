"""Code objects: what HIP loads, read back from the ELF, whoever made it.

`read` takes gfx942 and gfx950 files of code object version 4 to 6 (and later, as long as nothing in them is unknown),
or an offload bundle that has one. Every address counts from the load address.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pykittens import arch as chips
from pykittens.asm.descriptor import DESCRIPTOR_BYTES, KernelDescriptor
from pykittens.asm.elf_image import ElfImage, RawSymbol, Section, Segment, bytes_in_segments
from pykittens.asm.metadata import KernelMetadata, Metadata, parse_metadata
from pykittens.asm.offload_bundle import is_bundle, unbundle
from pykittens.asm.relocation import RELOCATION_KINDS, Relocation
from pykittens.errors import CodeObjectError, InputError

_METADATA_NOTE = (b"AMDGPU", 32)
_DESCRIPTOR_SUFFIX = ".kd"
_SYMBOL_KINDS: dict[str | int, str] = {"STT_FUNC": "function", "STT_OBJECT": "object", "STT_NOTYPE": "label"}

# Larger than any offload bundle seen; more is not worth reading to memory.
_LARGEST_FILE = 1 << 30

# EI_ABIVERSION is the code object version less two; flags changed their meaning with version 4.
_FIRST_ABI_VERSION = 2

# States of XNACK (bits 9:8 of e_flags) and SRAMECC (bits 11:10).
_FEATURE_STATES = ("unsupported", "any", "off", "on")

# Kernel code starts on this boundary, since COMPUTE_PGM_LO holds the address less its low 8 bits (manual).
ENTRY_ALIGNMENT = 256
# With kernarg preloading the first 256 bytes load the arguments the slow way, for firmware that cannot preload (llvm).
_PRELOAD_PROLOGUE = 256


@dataclass(frozen=True)
class Symbol:
    """A name in the file. kind: "function", "object" or "label"; `size` is 0 where the file does not say."""

    name: str
    address: int
    size: int
    kind: str


@dataclass(frozen=True)
class TextSection:
    """Machine code: `data` lies at `address`."""

    name: str
    address: int
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Kernel:
    """A kernel: where its code and descriptor lie, what it takes and uses.

    name: as HIP looks it up. entry: address of the first instruction. code_size: bytes from `entry` to the end of the
    function as the symbol table tells it, otherwise to the next function or the section's end (padding included).
    metadata: None where the file has no note for this kernel.
    """

    name: str
    descriptor_address: int
    descriptor: KernelDescriptor
    entry: int
    code_size: int
    metadata: KernelMetadata | None

    @property
    def preload_entry(self) -> int:
        """Where a chip starts that has preloaded the kernel arguments into SGPRs; `entry` where there are none."""
        return self.entry + (_PRELOAD_PROLOGUE if self.descriptor.kernarg_preload_length else 0)

    @property
    def lds_bytes(self) -> int:
        """Fixed LDS of a workgroup. Some producers (Triton) leave it out of the descriptor, some out of the note."""
        return self.descriptor.group_segment_fixed_size or (self.metadata.lds_bytes if self.metadata else 0)

    @property
    def scratch_bytes(self) -> int:
        """Fixed scratch of a work-item."""
        return self.descriptor.private_segment_fixed_size or (self.metadata.scratch_bytes if self.metadata else 0)

    @property
    def kernarg_size(self) -> int:
        """Bytes of the kernarg segment: the note's, as the descriptor's is 0 in most hand-written files."""
        return self.metadata.kernarg_size if self.metadata else self.descriptor.kernarg_size


@dataclass(frozen=True)
class CodeObject:
    """A code object for `arch` ("gfx942" or "gfx950").

    xnack, sramecc: "unsupported", "any", "off" or "on". abi_version: EI_ABIVERSION; the code object version is two
    more. kernels: by name. segments: what a loader copies to memory, by address. text: the sections with code.
    symbols: functions, data and labels by address. relocations: what a loader patches.
    data: the ELF file itself. where: its file name, for messages.
    """

    arch: str
    xnack: str
    sramecc: str
    abi_version: int
    kernels: Mapping[str, Kernel]
    segments: tuple[Segment, ...]
    text: tuple[TextSection, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]
    metadata: Metadata | None
    data: bytes = field(repr=False)
    where: str | None = None

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel called `name`, or the only one there is. Raises InputError that lists the names."""
        names = ", ".join(self.kernels) or "none"
        if name is None and len(self.kernels) != 1:
            what = f"the code object has {len(self.kernels)} kernels: {names}"
            raise InputError("which-kernel", what, where=self.where, fix="name the one you mean" * bool(self.kernels))
        if name is not None and name not in self.kernels:
            what = f"the code object has no kernel {name!r}; it has {names}"
            raise InputError("unknown-kernel", what, where=self.where)
        return self.kernels[name] if name is not None else next(iter(self.kernels.values()))

    def bytes_at(self, address: int, size: int) -> bytes:
        """What the loaded image holds there, before relocation. Raises CodeObjectError outside one segment."""
        return bytes_in_segments(self.segments, address, size, "the address range", self.where)

    def code(self, kernel: Kernel) -> bytes:
        """The machine code of `kernel`."""
        return self.bytes_at(kernel.entry, kernel.code_size)


def read(source: bytes | str | os.PathLike[str], arch: str | None = None) -> CodeObject:
    """Read a code object from its bytes or from a file.

    arch: the chip that it must be for; needed only for an offload bundle that has both.
    Raises InputError for a file that cannot be opened or an unknown `arch`, and CodeObjectError for one that is
    malformed, truncated, compressed, or made for another chip.
    """
    archs = (chips.get(arch).name,) if arch is not None else tuple(chips.ARCHS)
    data, where = _bytes_of(source)
    if is_bundle(data):
        data = unbundle(data, archs, where)
    return _Reader(data, where).code_object(archs)


def _bytes_of(source: bytes | str | os.PathLike[str]) -> tuple[bytes, str | None]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None
    if not isinstance(source, (str, os.PathLike)):
        raise InputError("no-code-object", f"{source!r} is no code object", fix="give a file or its bytes")
    path = Path(source)
    try:
        # Of a pipe or a device only reading tells the size.
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1) if size <= _LARGEST_FILE else b""
        if max(size, len(data)) > _LARGEST_FILE:
            what = f"the file has {max(size, len(data))} bytes, and no code object is larger than {_LARGEST_FILE}"
            raise CodeObjectError("too-large", what, where=str(path))
        return data, str(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError("unreadable-file", f"cannot read the code object: {reason}", where=str(path)) from None


class _Reader:
    """Takes one ELF file apart."""

    def __init__(self, data: bytes, where: str | None) -> None:
        self.image = ElfImage(data, where)
        self.where = where

    def code_object(self, archs: tuple[str, ...]) -> CodeObject:
        image = self.image
        if image.abi_version < _FIRST_ABI_VERSION:
            what = f"the code object has ABI version {image.abi_version}, and {_FIRST_ABI_VERSION} is the first known"
            raise CodeObjectError("old-code-object", what, where=self.where, fix="rebuild it as version 4 or later")
        chip = chips.of_elf_mach(image.flags & 0xFF, self.where).name
        if chip not in archs:
            raise CodeObjectError("wrong-arch", f"the code object is for {chip}, not {archs[0]}", where=self.where)
        if not image.sections:
            raise image.malformed("the file has no section headers, so that no kernel can be found")
        metadata = self._metadata()
        symbols = self._symbols()
        return CodeObject(
            arch=chip,
            xnack=_FEATURE_STATES[image.flags >> 8 & 3],
            sramecc=_FEATURE_STATES[image.flags >> 10 & 3],
            abi_version=image.abi_version,
            kernels=self._kernels(symbols, metadata),
            segments=image.segments,
            text=tuple(self._text()),
            symbols=symbols,
            relocations=tuple(self._relocations()),
            metadata=metadata,
            data=image.data,
            where=self.where,
        )

    def _metadata(self) -> Metadata | None:
        notes = [content for owner, kind, content in self.image.notes() if (owner, kind) == _METADATA_NOTE]
        if len(notes) > 1:
            raise self.image.malformed(f"the file has {len(notes)} AMDGPU metadata notes instead of one")
        return parse_metadata(notes[0], self.where) if notes else None

    def _symbols(self) -> tuple[Symbol, ...]:
        """Named addresses in loaded sections, from the full table and the dynamic one, each once."""
        found = {}
        for table in self.image.sections:
            if table.kind not in ("SHT_SYMTAB", "SHT_DYNSYM"):
                continue
            for raw in self.image.symbols(table):
                if raw.name and raw.kind in _SYMBOL_KINDS and self._loaded(raw):
                    found[raw.address, raw.name] = Symbol(raw.name, raw.address, raw.size, _SYMBOL_KINDS[raw.kind])
        return tuple(found[key] for key in sorted(found))

    def _loaded(self, symbol: RawSymbol) -> bool:
        if not isinstance(symbol.section, int):
            return False
        if symbol.section >= len(self.image.sections):
            count = len(self.image.sections)
            raise self.image.malformed(f"symbol {symbol.name} is in section {symbol.section} of {count}")
        return self.image.sections[symbol.section].alloc

    def _text_sections(self) -> list[Section]:
        return [section for section in self.image.sections if section.alloc and section.executable and section.size]

    def _text(self) -> Iterator[TextSection]:
        for section in self._text_sections():
            # All code is in the file: a larger section is damage, and not memory to set aside.
            self.image.bytes_in_file(0, section.size, f"section {section.name}")
            data = self.image.bytes_at(section.address, section.size, f"section {section.name}")
            yield TextSection(section.name, section.address, data)

    def _kernels(self, symbols: tuple[Symbol, ...], metadata: Metadata | None) -> dict[str, Kernel]:
        described = {kernel.symbol: kernel for kernel in (metadata.kernels if metadata else ())}
        kernels: dict[str, Kernel] = {}
        for symbol in symbols:
            if symbol.kind == "function" or not symbol.name.endswith(_DESCRIPTOR_SUFFIX):
                continue
            note = described.pop(symbol.name, None)
            name = note.name if note else symbol.name.removesuffix(_DESCRIPTOR_SUFFIX)
            if name in kernels:
                raise self.image.malformed(f"two kernels are called {name}")
            kernels[name] = self._kernel(name, symbol, symbols, note)
        if described:
            raise self.image.malformed(f"the metadata names {next(iter(described))}, which no symbol defines")
        return kernels

    def _kernel(self, name: str, symbol: Symbol, symbols: tuple[Symbol, ...], note: KernelMetadata | None) -> Kernel:
        raw = self.image.bytes_at(symbol.address, DESCRIPTOR_BYTES, f"the descriptor of kernel {name}")
        descriptor = KernelDescriptor.from_bytes(
            raw, f"{self.where}, kernel {name}" if self.where else f"kernel {name}"
        )
        entry = symbol.address + descriptor.kernel_code_entry_byte_offset
        if entry % ENTRY_ALIGNMENT:
            raise self.image.malformed(f"kernel {name} starts at {entry:#x}, no multiple of {ENTRY_ALIGNMENT}")
        section = next((s for s in self._text_sections() if s.address <= entry < s.address + s.size), None)
        if section is None:
            raise self.image.malformed(f"kernel {name} starts at {entry:#x}, outside every section with code")
        return Kernel(name, symbol.address, descriptor, entry, _code_size(entry, section, symbols), note)

    def _relocations(self) -> list[Relocation]:
        relocations = []
        for table in self.image.sections:
            if table.alloc and table.kind in ("SHT_REL", "SHT_RELR"):
                raise self.image.malformed(f"section {table.name} has relocations without addends, which AMDGPU lacks")
            if not table.alloc or table.kind != "SHT_RELA":
                continue
            if table.link >= len(self.image.sections):
                raise self.image.malformed(f"section {table.name} refers to section {table.link}, which is none")
            symbols = self.image.symbols(self.image.sections[table.link]) if table.link else []
            for record in self.image.relocation_records(table):
                relocations.append(
                    self._relocation(record.r_offset, record.r_info, record.r_addend, symbols, table.name)
                )
        return relocations

    def _relocation(self, address: int, info: int, addend: int, symbols: list[RawSymbol], table: str) -> Relocation:
        number, index = info & 0xFFFFFFFF, info >> 32
        if number not in RELOCATION_KINDS:
            raise self.image.malformed(f"{table} has a relocation of kind {number} at {address:#x}, which is not known")
        kind = RELOCATION_KINDS[number]
        if index == 0 and kind != "R_AMDGPU_RELATIVE64":
            raise self.image.malformed(f"{table} has {kind} at {address:#x} without a symbol")
        if index and index >= len(symbols):
            raise self.image.malformed(f"{table} refers to symbol {index} of {len(symbols)} at {address:#x}")
        symbol = symbols[index] if index else None
        relocation = Relocation(
            address=address,
            kind=kind,
            addend=addend,
            symbol=symbol.name if symbol else None,
            symbol_address=symbol.address if symbol and symbol.section != "SHN_UNDEF" else None,
            weak=symbol is not None and symbol.binding == "STB_WEAK",
        )
        self.image.bytes_at(address, relocation.size, f"the place of a relocation in {table}")
        return relocation


def _code_size(entry: int, section: Section, symbols: tuple[Symbol, ...]) -> int:
    end = section.address + section.size
    functions = [symbol for symbol in symbols if symbol.kind == "function"]
    for symbol in functions:
        if symbol.address == entry and 0 < symbol.size <= end - entry:
            return symbol.size
    return min((symbol.address for symbol in functions if entry < symbol.address < end), default=end) - entry
