"""Following code: branches, calls, jumps by computed addresses, and what ends a path too early."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.asm.clang_made import compile_c
from tests.sim.assembled import code_object, pointers

from pykittens.asm.code_object import read
from pykittens.check.code import Places, follow
from pykittens.check.static import check
from pykittens.errors import InputError

from .assembled import codes, report

WRONG = "  v_mov_b32 v100, v101\n"
"""What tells that it was looked at: a register that nothing writes."""
GETPC = """
  s_getpc_b64 s[10:11]
.Lhere:
  s_add_u32 s10, s10, .Lfar-.Lhere
  s_addc_u32 s11, s11, 0
"""


def test_padding_and_data_are_not_code() -> None:
    assert codes("  s_branch .Lover\n  .long 0xffffffff\n.Lover:\n") == []


def test_words_that_are_no_instruction() -> None:
    (found,) = report("  s_cbranch_scc0 .Lover\n  .long 0xffffffff\n.Lover:\n").by_code("illegal-instruction")
    assert "ffffffff" in found.why and found.severity == "error"


def test_matrix_instructions_of_the_other_chip_are_illegal() -> None:
    word = "  .long 0xd3d40000, 0x02020100\n"
    assert "illegal-instruction" in codes(word, "gfx942")


@pytest.mark.parametrize(("offset", "said"), [("0x7000", "outside of the code"), ("-0x7000", "outside of the code")])
def test_a_branch_out_of_the_code(offset: str, said: str) -> None:
    (found,) = report(f"  s_branch {offset}\n").by_code("branch-target")
    assert said in found.why


def test_a_branch_into_an_instruction() -> None:
    found = report("  s_mov_b32 s8, 0\n  s_cbranch_scc0 1\n  s_mov_b32 s9, 0xbf800001\n").by_code("branch-target")
    assert len(found) == 1 and "4 of its 8 bytes in" in found[0].why


def test_running_past_the_end() -> None:
    whole = read(code_object("  s_mov_b32 s8, 0\n  s_mov_b32 s9, 0\n", "gfx950", pointers(1), ()))
    (section,) = whole.text
    cut = replace(whole, text=(replace(section, data=section.data[:8]),))
    (found,) = check(cut).findings
    assert found.code == "runs-past-end" and found.instruction == "s_mov_b32 s9, 0"


def test_a_long_branch_is_followed() -> None:
    body = GETPC + "  s_setpc_b64 s[10:11]\n" + "  .long 0xffffffff\n.Lfar:\n" + WRONG
    assert codes(body) == ["undefined-register"]


def test_calls_are_followed_and_return() -> None:
    body = GETPC + "  s_swappc_b64 s[30:31], s[10:11]\n" + WRONG + "  s_endpgm\n.Lfar:\n  s_mov_b32 s9, 0\n"
    found = report(body + "  s_setpc_b64 s[30:31]\n")
    assert [f.code for f in found.findings] == ["undefined-register"] and found.complete
    assert codes("  s_call_b64 s[30:31], .Lf\n" + WRONG + "  s_endpgm\n.Lf:\n  s_setpc_b64 s[30:31]\n") == [
        "undefined-register"
    ]


def test_what_cannot_be_followed_is_said() -> None:
    found = report("  s_load_dwordx2 s[10:11], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_setpc_b64 s[10:11]\n")
    assert [f.code for f in found.findings] == ["not-followed"]
    assert found.clean and not found.complete and found.status == 2
    assert "clean as far as it could be checked" in found.text()


def test_compiled_kernels_with_calls() -> None:
    compiled = read(compile_c())
    code = follow(compiled, compiled.kernel("calls"), Places(compiled))
    assert any(i.definition.has("call") for i in code.instructions)
    assert not [f for f in code.findings if f.severity != "note"]


def test_the_graph_starts_at_the_entry_and_goes_both_ways() -> None:
    compiled = read(compile_c())
    kernel = compiled.kernel("scratchy")
    code = follow(compiled, kernel, Places(compiled))
    assert code.graph[0].successors == (1,) and code.graph[0].start == code.graph[0].stop == 0
    assert code.instructions[0].pc == kernel.entry
    for n, block in enumerate(code.graph):
        for successor in block.successors:
            assert n in code.graph[successor].predecessors


@pytest.mark.parametrize("source", [None, 5, len])
def test_what_has_no_code(source: object) -> None:
    with pytest.raises(InputError, match=r"is no code object.*\[no-code-object\]"):
        check(source)  # type: ignore[arg-type]
