"""Clang's offload bundles ("fat binaries"): finding the code object of one chip among those of several.

Source: Clang, "Clang Offload Bundler", binary file layout.
"""

from __future__ import annotations

from pykittens.errors import CodeObjectError

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"

_COMPRESSION = {0: "zlib", 1: "zstd"}


def is_bundle(data: bytes) -> bool:
    """Whether `data` starts like an offload bundle, compressed or not."""
    return data.startswith((BUNDLE_MAGIC, COMPRESSED_MAGIC))


def unbundle(data: bytes, archs: tuple[str, ...], where: str | None = None) -> bytes:
    """The one code object in `data` for a chip in `archs` ("gfx942", …).

    Raises CodeObjectError for a compressed or damaged bundle, and when none or several entries fit.
    """
    if data.startswith(COMPRESSED_MAGIC):
        method = _COMPRESSION.get(int.from_bytes(data[6:8], "little"), "an unknown method")
        fix = "unpack it first with clang-offload-bundler --unbundle"
        raise CodeObjectError("compressed", f"the offload bundle is compressed ({method})", where=where, fix=fix)
    entries = _entries(data, where)
    chosen = [(name, start, size) for name, start, size in entries if _arch(name) in archs]
    listed = ", ".join(name for name, _, _ in entries) or "nothing"
    wanted = " or ".join(archs)
    if not chosen:
        what = f"the offload bundle has nothing for {wanted}; it holds {listed}"
        raise CodeObjectError("wrong-arch", what, where=where)
    if len(chosen) > 1:
        what = f"the offload bundle has {len(chosen)} entries for {wanted}: {listed}"
        raise CodeObjectError("ambiguous-bundle", what, where=where, fix="say which arch to read")
    name, start, size = chosen[0]
    if start + size > len(data):
        what = f"bundle entry {name} at bytes {start:#x}..{start + size:#x} goes past the end, {len(data):#x}"
        raise CodeObjectError("truncated", what, where=where)
    return data[start : start + size]


def _entries(data: bytes, where: str | None) -> list[tuple[str, int, int]]:
    """(entry id, offset, size) of every entry."""

    def number(position: int) -> int:
        if position + 8 > len(data):
            raise CodeObjectError("truncated", f"the offload bundle ends at byte {len(data):#x}", where=where)
        return int.from_bytes(data[position : position + 8], "little")

    position = len(BUNDLE_MAGIC) + 8
    entries = []
    for _ in range(number(len(BUNDLE_MAGIC))):
        start, size, length = (number(position + i) for i in (0, 8, 16))
        name = data[position + 24 : position + 24 + length]
        position += 24 + length
        if position > len(data):
            raise CodeObjectError("truncated", f"a bundle entry's name goes past the end, {len(data):#x}", where=where)
        entries.append((name.decode("utf-8", "backslashreplace"), start, size))
    return entries


def _arch(entry: str) -> str:
    """The processor in an entry id such as ``hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-``."""
    return entry.partition(":")[0].rpartition("-")[2]
