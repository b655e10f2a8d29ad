"""The register map: uses from the instructions, names from the tiles."""

from __future__ import annotations

from tests.report.profiled import gemm, gemm_prediction
from tests.sim.assembled import code_object as assembled

from pykittens.asm import code_object
from pykittens.isa import decode
from pykittens.isa.instruction import Instruction
from pykittens.report.html_registers import RegisterFile, TileRegisters, register_section, register_uses

BODY = """
  v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
  ds_read_b64 v[8:9], v10
  global_store_dword v12, v13, s[2:3]
  v_mov_b32 v14, v15
  v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0
  s_endpgm
"""


def instructions() -> list[Instruction | None]:
    (text,) = code_object.read(assembled(BODY, "gfx950", (), (("vgprs", 24), ("agprs", 4)))).text
    return list(decode(text.data, "gfx950"))


def test_uses() -> None:
    uses = register_uses(instructions(), 24)
    rows = {
        "MFMA results": [20, 21, 22, 23, 24, 25, 26, 27], "MFMA inputs": [4, 5, 6, 7], "addresses": [10, 12],
        "data of memory instructions": [8, 9, 13], "other": [14, 15],
    }  # fmt: skip
    for use, expected in rows.items():
        assert [row for row, name in enumerate(uses) if name == use] == expected
    assert len(uses) == 512 and uses.count("not used") == 512 - sum(map(len, rows.values()))


def test_accumulators_of_the_gemm_are_its_agprs() -> None:
    info = gemm().sim_kernel.info
    offset = info.descriptor.accum_offset
    uses = register_uses(gemm_prediction().instructions.program, offset)
    held = [reg for life in gemm().registers.lives for reg in life.tile.regs or () if reg.file == "a"]
    assert held
    for reg in held:
        assert set(uses[offset + reg.index : offset + reg.index + reg.count]) == {"MFMA results"}


def test_section_names_tiles_and_draws_every_allocated_register() -> None:
    tiles = (TileRegisters("a & b", (("v", 2, 4), ("v", 9, 1)), "bf16 <8x8>"),)
    html = register_section(gemm_prediction(), RegisterFile(72, 64, tiles))
    assert 'title="v2: a &amp; b' in html and "a &amp; b" in html and "bf16 &lt;8x8&gt;" in html
    assert "v[2:5] v9" in html
    assert html.count('class="cell') >= 72 and "AGPRs" in html
