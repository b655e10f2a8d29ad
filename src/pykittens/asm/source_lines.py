"""Source lines: from the address of an instruction to the file and line it came from, by the DWARF line table.

pyelftools reaches a line program only through a compile unit, which assembled text need not have, and it believes
every count that a damaged table states. So the table is decoded here (DWARF 2 to 5, sections 6.2.4 and 6.2.5), and
pyelftools is what the tests compare it with.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from dataclasses import dataclass, field

from pykittens.asm.code_object import CodeObject
from pykittens.asm.elf_image import ElfImage
from pykittens.errors import CodeObjectError


@dataclass(frozen=True)
class SourceLine:
    """A place in a source file; `line` counts from 1, `column` is 0 where it is not told."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class SourceLines:
    """The line table of a code object, of whatever compiler; empty where it was built without line information.

    Raises CodeObjectError for a damaged table.
    """

    def __init__(self, code_object: CodeObject) -> None:
        image = ElfImage(code_object.data, code_object.where)
        sections = {section.name: image.section_bytes(section) for section in image.sections if _is_used(section.name)}
        sequences = _Decoder(sections, code_object.where).sequences()
        # The linker gives code that it left out the address 0: only what lies in code counts.
        code = [(text.address, text.address + len(text.data)) for text in code_object.text]
        kept = [s for s in sequences if any(low <= s[0][0] < high for low, high in code)]
        rows = [row for sequence in sorted(kept, key=lambda sequence: sequence[0][0]) for row in sequence]
        self._addresses = [address for address, _ in rows]
        self._lines = [line for _, line in rows]

    def at(self, address: int) -> SourceLine | None:
        """The source line of the instruction at `address` (relative to the load address); None where none is told."""
        index = bisect_right(self._addresses, address) - 1
        return self._lines[index] if index >= 0 else None


# A row: from this address on, this line; None ends what is known.
_Row = tuple[int, "SourceLine | None"]


def _is_used(section: str) -> bool:
    return section in (".debug_line", ".debug_line_str", ".debug_str")


@dataclass
class _Cursor:
    """Reads forward through `data` from `position`, never past `end`."""

    data: bytes
    where: str | None
    position: int
    end: int

    def malformed(self, what: str) -> CodeObjectError:
        message = f"the line table {what} at byte {self.position:#x} of .debug_line"
        return CodeObjectError("bad-line-table", message, where=self.where)

    def take(self, size: int) -> bytes:
        if self.position + size > self.end:
            raise self.malformed("ends early")
        self.position += size
        return self.data[self.position - size : self.position]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def uleb(self) -> int:
        return self._leb()[0]

    def sleb(self) -> int:
        value, bits = self._leb()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb(self) -> tuple[int, int]:
        value, bits = 0, 0
        while bits < 70:  # enough for 64 bits
            byte = self.number(1)
            value |= (byte & 0x7F) << bits
            bits += 7
            if not byte & 0x80:
                return value, bits
        raise self.malformed("has a number of more than 64 bits")

    def string(self) -> str:
        end = self.data.find(b"\0", self.position, self.end)
        if end < 0:
            raise self.malformed("has an endless string")
        return self.take(end + 1 - self.position)[:-1].decode("utf-8", "replace")


@dataclass(frozen=True)
class _Program:
    """The header of one line program."""

    minimum_instruction_length: int
    line_base: int
    line_range: int
    opcode_base: int
    operand_counts: bytes
    files: list[str] = field(default_factory=list)


class _Decoder:
    def __init__(self, sections: dict[str, bytes], where: str | None) -> None:
        self.where = where
        self.table = sections.get(".debug_line", b"")
        # DW_FORM_line_strp and DW_FORM_strp point into these.
        self.strings = {0x1F: sections.get(".debug_line_str", b""), 0x0E: sections.get(".debug_str", b"")}

    def sequences(self) -> list[list[_Row]]:
        """The rows of all programs; each sequence has at least one row and ends with a None."""
        found: list[list[_Row]] = []
        start = 0
        while start < len(self.table):
            cursor = _Cursor(self.table, self.where, start, len(self.table))
            size, wide = cursor.number(4), False
            if size == 0xFFFFFFFF:
                size, wide = cursor.number(8), True
            start = cursor.position + size
            if start > len(self.table):
                raise cursor.malformed("has a unit that goes past its end")
            cursor.end = start
            found += self._rows(cursor, self._program(cursor, wide))
        return found

    def _program(self, cursor: _Cursor, wide: bool) -> _Program:
        version = cursor.number(2)
        if not 2 <= version <= 5:
            raise cursor.malformed(f"has DWARF version {version}, and 2 to 5 are known")
        if version == 5:
            cursor.take(2)  # sizes of addresses and segment selectors
        length = cursor.number(8 if wide else 4)
        end = cursor.position + length
        minimum = cursor.number(1)
        if version >= 4 and cursor.number(1) != 1:
            raise cursor.malformed("is for a VLIW machine")
        cursor.take(1)  # default_is_stmt: every row counts here
        line_base = int.from_bytes(cursor.take(1), "little", signed=True)
        line_range, opcode_base = cursor.number(1), cursor.number(1)
        if not line_range or not opcode_base:
            raise cursor.malformed("has a line_range or opcode_base of 0")
        counts = cursor.take(opcode_base - 1)
        files = self._files_5(cursor, wide) if version == 5 else self._files_2(cursor)
        if not cursor.position <= end <= cursor.end:
            raise cursor.malformed("has a header of another length than it states")
        cursor.position = end
        return _Program(minimum, line_base, line_range, opcode_base, counts, files)

    def _files_2(self, cursor: _Cursor) -> list[str]:
        """Paths by file number, versions 2 to 4; number 0 is none, and directory 0 is not told."""
        directories = [""]
        while directory := cursor.string():
            directories.append(directory)
        files = [""]
        while name := cursor.string():
            index = cursor.uleb()
            cursor.uleb(), cursor.uleb()  # time and size
            files.append(_path(directories, index, name))
        return files

    def _files_5(self, cursor: _Cursor, wide: bool) -> list[str]:
        """Paths by file number, version 5: two tables whose columns are described in front."""
        directories = [str(entry.get(1, "")) for entry in self._entries(cursor, wide)]
        entries = self._entries(cursor, wide)
        return [_path(directories, int(entry.get(2, 0)), str(entry.get(1, ""))) for entry in entries]

    def _entries(self, cursor: _Cursor, wide: bool) -> list[dict[int, int | str]]:
        """Rows of content type (1 path, 2 directory index) -> value."""
        columns = [(cursor.uleb(), cursor.uleb()) for _ in range(cursor.number(1))]
        count = cursor.uleb()
        if not columns and count:
            raise cursor.malformed(f"has {count} entries without columns")
        return [{content: self._value(cursor, form, wide) for content, form in columns} for _ in range(count)]

    def _value(self, cursor: _Cursor, form: int, wide: bool) -> int | str:
        if form in self.strings:
            strings = self.strings[form]
            return _Cursor(strings, self.where, cursor.number(8 if wide else 4), len(strings)).string()
        if form == 0x08:  # DW_FORM_string
            return cursor.string()
        if form == 0x0F:  # DW_FORM_udata
            return cursor.uleb()
        if form == 0x09:  # DW_FORM_block
            return int.from_bytes(cursor.take(cursor.uleb()), "little")
        sizes = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}  # DW_FORM_data1, 2, 4, 8, 16
        if form not in sizes:
            raise cursor.malformed(f"has the unknown form {form:#x}")
        return cursor.number(sizes[form])

    def _rows(self, cursor: _Cursor, program: _Program) -> list[list[_Row]]:
        """Run the line number program up to the cursor's end."""
        found: list[list[_Row]] = []
        rows: list[_Row] = []
        address, file, line, column = 0, 1, 1, 0
        while cursor.position < cursor.end:
            opcode = cursor.number(1)
            if opcode >= program.opcode_base:
                step, advance = divmod(opcode - program.opcode_base, program.line_range)
                address += step * program.minimum_instruction_length
                line += program.line_base + advance
                rows.append((address, _line(program, file, line, column)))
            elif opcode == 0:
                size = cursor.uleb()
                after = cursor.position + size
                extended = cursor.number(1)
                if extended == 1:  # DW_LNE_end_sequence
                    found.append([*rows, (address, None)])
                    rows = []
                    address, file, line, column = 0, 1, 1, 0
                elif extended == 2:  # DW_LNE_set_address
                    address = cursor.number(8)
                if not cursor.position <= after <= cursor.end:
                    raise cursor.malformed(f"has an extended opcode of {size} bytes")
                cursor.position = after
            elif opcode == 1:  # DW_LNS_copy
                rows.append((address, _line(program, file, line, column)))
            elif opcode == 2:  # DW_LNS_advance_pc
                address += cursor.uleb() * program.minimum_instruction_length
            elif opcode == 3:  # DW_LNS_advance_line
                line += cursor.sleb()
            elif opcode == 4:  # DW_LNS_set_file
                file = cursor.uleb()
            elif opcode == 5:  # DW_LNS_set_column
                column = cursor.uleb()
            elif opcode == 8:  # DW_LNS_const_add_pc
                address += (255 - program.opcode_base) // program.line_range * program.minimum_instruction_length
            elif opcode == 9:  # DW_LNS_fixed_advance_pc
                address += cursor.number(2)
            else:  # flags that matter to debuggers only, and what later versions may add
                for _ in range(program.operand_counts[opcode - 1]):
                    cursor.uleb()
        return found


def _line(program: _Program, file: int, line: int, column: int) -> SourceLine | None:
    """None for line 0, which compilers give to code that belongs to no line."""
    if line <= 0 or file >= len(program.files) or not program.files[file]:
        return None
    return SourceLine(program.files[file], line, column)


def _path(directories: list[str], index: int, name: str) -> str:
    """The file's path. Directories other than the first may be relative to the first, the compilation's own."""
    directory = directories[index] if index < len(directories) else ""
    base = directories[0] if directories else ""
    return posixpath.normpath(posixpath.join(base, directory, name)) if name else ""
