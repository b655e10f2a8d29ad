"""Assembling: bytes that depend on the text alone, errors that name the line, and nothing left behind."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pykittens.asm import toolchain
from pykittens.asm.toolchain import assemble, find_toolchain
from pykittens.errors import BuildError, InputError

TEXT = """
.text
.file 1 "kernels/gemm.py"
.globl f
f:
.loc 1 12
s_nop 0
s_endpgm
"""


def test_makes_a_shared_elf_with_a_line_table() -> None:
    made = assemble(TEXT, "gfx950")
    assert made[:4] == b"\x7fELF"
    assert made[16] == 3  # ET_DYN
    assert made[48] == 0x4F  # EF_AMDGPU_MACH_AMDGCN_GFX950
    assert bytes.fromhex("000080bf000081bf") in made  # s_nop 0, s_endpgm
    assert b".debug_line\0" in made


def test_the_same_text_gives_the_same_bytes_in_every_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name in ("a", "a longer name"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
        made.append(assemble(TEXT, "gfx942"))
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]


def test_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assemble(TEXT, "gfx950")
    with pytest.raises(BuildError):
        assemble("nonsense", "gfx950")
    assert list(tmp_path.iterdir()) == []


def test_threads_do_not_meet() -> None:
    texts = [f"s_nop {i % 8}\ns_endpgm\n" for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda text: assemble(text, "gfx950"), texts))
    for i, code_object in enumerate(made):
        assert bytes([i % 8, 0, 0x80, 0xBF, 0, 0, 0x81, 0xBF]) in code_object


def test_the_two_chips_differ() -> None:
    gfx950_only = "v_permlane32_swap_b32 v0, v1\n"
    assert assemble(gfx950_only, "gfx950")
    with pytest.raises(BuildError, match=r"line 1 of the assembly, `v_permlane32_swap_b32 v0, v1`: .*not supported"):
        assemble(gfx950_only, "gfx942")


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (["v_add_f32 v0, v1, s999"], None),
        ([".loc 1 41", "v_add_f32 v0, v1, s999"], "attn.py:41"),
        ([".loc 1 41", ".loc 2 7", "s_nop 0", "v_add_f32 v0, v1, s999"], "other.py:7"),
        ([".loc 1 41", "v_add_f32 v0, v1, s999 ; gemm.py:3"], "gemm.py:3"),
        (["// deep/gemm.py:5", "s_nop 0", "v_add_f32 v0, v1, s999", ".loc 1 41"], "deep/gemm.py:5"),
    ],
)
def test_an_error_names_the_line_of_text_and_of_python(lines: list[str], where: str | None) -> None:
    text = "\n".join(['.file 1 "attn.py"', '.file 2 "somewhere" "other.py"', *lines])
    with pytest.raises(BuildError) as caught:
        assemble(text, "gfx950")
    number = 3 + next(i for i, line in enumerate(lines) if "s999" in line)
    assert caught.value.where == where
    assert f"line {number} of the assembly, `v_add_f32 v0, v1, s999" in caught.value.what
    assert "register index is out of range" in caught.value.what


def test_further_errors_are_counted() -> None:
    with pytest.raises(BuildError, match=r"`bogus`: .* \(and 2 more\)"):
        assemble("s_nop 0\nbogus\nbogus2\ns_nop 0\nbogus3\n", "gfx950")


def test_an_undefined_symbol_is_an_error() -> None:
    with pytest.raises(BuildError, match="undefined symbol: elsewhere"):
        assemble("s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, elsewhere@rel32@lo+4\n", "gfx950")


def test_an_unknown_arch_is_an_error() -> None:
    with pytest.raises(InputError, match="gfx90a"):
        assemble(TEXT, "gfx90a")


def _script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
def test_the_environment_chooses_another_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = assemble(TEXT, "gfx950")
    zig = find_toolchain({}).clang[0]
    (tmp_path / "llvm" / "bin").mkdir(parents=True)
    clang = _script(tmp_path / "llvm" / "bin" / "clang", f'echo ran >> "{tmp_path}/log"; exec "{zig}" clang "$@"')
    _script(tmp_path / "llvm" / "bin" / "ld.lld", f'echo ran >> "{tmp_path}/log"; exec "{zig}" ld.lld "$@"')

    monkeypatch.setenv("PYKITTENS_CLANG", clang)
    assert assemble(TEXT, "gfx950") == expected

    monkeypatch.setenv("PYKITTENS_CLANG", "rocm")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert assemble(TEXT, "gfx950") == expected

    generic = _script(tmp_path / "lld", f'test "$1 $2" = "-flavor gnu" && shift 2 && exec "{zig}" ld.lld "$@"')
    monkeypatch.setenv("PYKITTENS_LLD", generic)
    assert assemble(TEXT, "gfx950") == expected
    assert (tmp_path / "log").read_text().count("ran") == 5


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    absent = str(tmp_path / "clang")
    with pytest.raises(BuildError, match="PYKITTENS_CLANG"):
        find_toolchain({"PYKITTENS_CLANG": absent})
    with pytest.raises(BuildError, match="PYKITTENS_LLD"):
        find_toolchain({"PYKITTENS_LLD": absent})


def test_a_program_that_cannot_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "clang"
    broken.write_bytes(b"\x7fELF nothing more")
    broken.chmod(0o755)
    monkeypatch.setenv("PYKITTENS_CLANG", str(broken))
    monkeypatch.setenv("PYKITTENS_LLD", find_toolchain({}).lld[0])
    with pytest.raises(BuildError, match="does not start"):
        assemble(TEXT, "gfx950")


def test_without_ziglang_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match="install the ziglang package, or set PYKITTENS_CLANG"):
        find_toolchain({})


def test_version_is_clangs() -> None:
    assert "clang version" in find_toolchain({}).version()
