"""Offload bundles: the code object of one chip out of several, and bundles that cannot be unpacked."""

from __future__ import annotations

import struct

import pytest
from tests.asm.clang_made import SOURCE, compile_c

from pykittens.asm.code_object import read
from pykittens.errors import CodeObjectError

HOST = "host-x86_64-unknown-linux-gnu-"


@pytest.fixture(scope="module")
def compiled() -> bytes:
    return compile_c()


def patched(data: bytes, offset: int, content: bytes) -> bytes:
    return data[:offset] + content + data[offset + len(content) :]


def bundle(entries: dict[str, bytes]) -> bytes:
    """An offload bundle as clang-offload-bundler lays it out."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    start = len(head) + sum(24 + len(name) for name in entries)
    body = b""
    for name, data in entries.items():
        head += struct.pack("<QQQ", start + len(body), len(data), len(name)) + name.encode()
        body += data
    return head + body


def test_a_bundle_is_unpacked(compiled: bytes) -> None:
    both = {HOST: b"", "hipv4-amdgcn-amd-amdhsa--gfx950": compiled}
    both["hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"] = compile_c(SOURCE, "gfx942")
    both["hipv4-amdgcn-amd-amdhsa--gfx90a"] = b"?"
    assert read(bundle(both), "gfx942").arch == "gfx942"
    assert read(bundle(both), "gfx950").data == compiled
    with pytest.raises(CodeObjectError, match=r"2 entries for gfx942 or gfx950: .*gfx90a; say which arch"):
        read(bundle(both))
    with pytest.raises(CodeObjectError, match="nothing for gfx942; it holds host-x86_64"):
        read(bundle({HOST: b"", "hip-amdgcn-amd-amdhsa--gfx950": compiled}), "gfx942")
    assert read(bundle({HOST: b"", "hip-amdgcn-amd-amdhsa--gfx950": compiled})).arch == "gfx950"


def test_a_damaged_bundle_is_an_error(compiled: bytes) -> None:
    whole = bundle({"hip-amdgcn-amd-amdhsa--gfx950": compiled})
    for size in (24, 31, 40, 60, 70, 2000):
        with pytest.raises(CodeObjectError):
            read(whole[:size])
    with pytest.raises(CodeObjectError, match="goes past the end"):
        read(patched(whole, 24, b"\xff" * 8))  # 2**64 - 1 entries
    with pytest.raises(CodeObjectError, match="name goes past the end"):
        read(patched(whole, 48, b"\xff" * 8))


@pytest.mark.parametrize(("method", "name"), [(0, "zlib"), (1, "zstd"), (9, "unknown")])
def test_a_compressed_bundle_is_a_clear_error(method: int, name: str) -> None:
    with pytest.raises(CodeObjectError, match=f"compressed .*{name}.*clang-offload-bundler"):
        read(b"CCOB" + struct.pack("<HH", 3, method) + bytes(64))
