"""Every instruction that touches memory is followed by checked runs: undefined data that goes through it is told, and
of defined data nothing is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from tests.check.launched import ARCHS, launched
from tests.sim.assembled import kernel, pointers

from pykittens.asm.observed import Event, Kind
from pykittens.isa import DEFINITIONS, Instruction, decode, text
from pykittens.isa.define import Access, Definition
from pykittens.isa.instruction import Operands
from pykittens.isa.registers import Const, Reg, s, v
from pykittens.sim import Kernel

_UNKNOWN, _KNOWN, _RESULT, _RESULT_SCALAR, _UNKNOWN_SCALAR = 40, 50, 10, 24, 60
_UNKNOWN_LDS = 4096
_UINT_32_32_32_32 = 14 | 4 << 4
_DESCRIPTOR = 14 << 15 | 4 << 12 | 7 << 9 | 6 << 6 | 5 << 3 | 4
SETUP = f"""
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 3, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_mov_b32 s10, 16384
  s_mov_b32 s11, {_DESCRIPTOR}
  s_mov_b32 m0, 0
  v_mov_b32 v3, s5
  v_add_u32 v2, s4, v1
  v_add_u32 v4, {_UNKNOWN_LDS}, v1
"""
"""s[4:5]: the memory in question; s[6:7]: results; s[8:11]: its descriptor; v[2:3]: places in it; v1, v4: in LDS."""
ALL_DEFINED = (
    "".join(f"  v_mov_b32 v{n}, 0\n" for n in range(10, 64))
    + "".join(f"  s_mov_b32 s{n}, 0\n" for n in range(60, 68))
    + "".join(f"  ds_write_b64 v1, v[50:51] offset:{512 * n}\n" for n in range(16))
    + "  scratch_store_dwordx4 v1, v[50:53], off\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
)
DEFINE = "".join(f"  v_mov_b32 v{n}, 0\n" for n in (*range(10, 18), *range(50, 58)))
DEFINE_LDS = "  ds_write_b64 v1, v[50:51]\n  ds_write_b64 v1, v[50:51] offset:512\n"
DEFINE_LDS += "  ds_write_b64 v4, v[40:41]\n  ds_write_b64 v4, v[40:41] offset:512\n  s_waitcnt lgkmcnt(0)\n"
SHOW = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  global_store_dword v1, v10, s[6:7]\n"
SHOW_LDS = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  ds_read_b32 v10, v1\n" + SHOW


def show_result(access: Access) -> str:
    """Of a register that a d16 load has half written, that half."""
    if access.kind != "load" or not access.half:
        return SHOW
    part = "v_and_b32 v10, 0xffff, v10" if access.half == "lo" else "v_lshrrev_b32 v10, 16, v10"
    return f"  s_waitcnt vmcnt(0) lgkmcnt(0)\n  {part}\n" + SHOW


def followed(definition: Definition) -> bool:
    """Whether data goes through the instruction: not so of cache upkeep, clocks and global wave sync."""
    return definition.access is not None and definition.access.kind not in ("control", "clock")


_SWAPS = [d.name for d in DEFINITIONS.values() if d.access and d.access.op == "swap" and d.access.space != "lds"]


def operands(definition: Definition, access: Access, data: int) -> tuple[Operands, ...]:
    scalar = access.space == "scalar"
    in_memory = access.space in ("flat", "global")
    reads_lds = access.space == "lds" and (access.kind == "load" or (access.kind == "atomic" and data == _KNOWN))
    known: dict[str, Operands] = {
        "saddr": None, "vaddr": v[1], "srsrc": s[8:11], "soffset": None if scalar else Const(0),
        "addr": v[2:3] if in_memory else v[4] if reads_lds else v[1],
    }  # fmt: skip
    results = ("s", _RESULT_SCALAR) if scalar else ("v", _RESULT)
    found: list[Operands] = [Reg(*results, spec.dwords) for spec in definition.explicit_dsts]
    for role, spec in zip(access.roles, definition.explicit_srcs, strict=True):
        if role == "sbase":
            found.append(s[8:11] if spec.bits == 128 else s[4:5])
        elif access.op == "swizzle":
            found.append(v[_UNKNOWN])
        elif role in known:
            found.append(known[role])
        else:
            found.append(Reg("s", _UNKNOWN_SCALAR, spec.dwords) if scalar else Reg("v", data, spec.dwords))
    return tuple(found)


def modifiers(definition: Definition, access: Access) -> dict[str, object]:
    found: dict[str, object] = {"offen": True} if access.space == "buffer" else {}
    if definition.format == "MTBUF":
        found["format"] = _UINT_32_32_32_32
    if access.op == "swap" and access.space != "lds":
        found["offset"] = 512 * (1 + _SWAPS.index(definition.name))  # it defines what is there
    if access.returns in ("sc0", "in_place"):
        found["glc" if access.space == "scalar" else "sc0"] = True
    return found


def updates(definition: Definition) -> bool:
    """Whether it is an atomic that gives back what is in memory; its data then is defined."""
    access = definition.access
    return access is not None and access.kind == "atomic" and (access.space != "lds" or access.returns == "always")


@dataclass(frozen=True)
class Probe:
    """An instruction with what goes before it and what shows its result."""

    before: str
    instruction: str
    after: str


def probe(definition: Definition) -> Probe:
    access = definition.access
    assert access is not None
    in_lds, to_lds = access.space == "lds", access.kind == "load" and not definition.explicit_dsts
    data = _KNOWN if updates(definition) else _UNKNOWN
    instruction = text(Instruction(definition, operands(definition, access, data), modifiers(definition, access)))
    before = DEFINE + (DEFINE_LDS if in_lds or to_lds else "")
    after = ""
    if in_lds:
        shows = show_result(access) if definition.explicit_dsts else SHOW_LDS
        after = "  s_waitcnt lgkmcnt(0)\n  s_mov_b32 m0, 0\n" + shows
        before += f"  s_mov_b32 m0, {_UNKNOWN_LDS if access.m0 and definition.explicit_dsts else 0}\n"
    elif to_lds:
        after = SHOW_LDS
    elif access.space == "scratch" and access.kind == "store":
        after = "  s_waitcnt vmcnt(0)\n  scratch_load_dword v10, v1, off\n" + SHOW
    elif access.space == "scalar" and access.kind == "load":
        after = f"  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v10, s{_RESULT_SCALAR}\n" + SHOW
    elif access.op == "swap" and access.returns == "in_place" and access.space != "scalar":
        after = f"  s_waitcnt vmcnt(0)\n  v_mov_b32 v10, v{_KNOWN}\n" + SHOW
    elif access.kind == "load" or (access.op == "swap" and access.space != "scalar"):
        after = show_result(access)
    return Probe(before, f"  {instruction}\n", after or "  s_waitcnt vmcnt(0) lgkmcnt(0)\n")


def probes(arch: str) -> dict[str, Probe]:
    return {d.name: probe(d) for d in DEFINITIONS.values() if followed(d) and arch in d.archs}


@cache
def loaded(arch: str, setup: str) -> tuple[Kernel, dict[str, tuple[int, int]]]:
    """A kernel with every probe, and the number of each one's instruction and of the last one that shows it."""
    body, places = SETUP + setup, {}
    for name, each in probes(arch).items():
        first = len((body + each.before).splitlines()) - 1  # it begins with an empty line
        body += each.before + each.instruction + each.after
        last = len(body.splitlines()) - 2
        places[name] = first, last if "global_store_dword" in each.after else first
    options = {"lds_bytes": 8192, "vgprs": 64, "scratch_bytes": 1024}
    return kernel(body + "  s_endpgm\n", pointers(2), arch, **options), places


def seen(arch: str, setup: str, undefined: bool) -> dict[int, tuple[Event, int | None]]:
    """Undefined data that a run told of: number of the instruction that stored it to the event and the number of that
    which it came from."""
    made, _ = loaded(arch, setup)
    memory, results = np.full(4096, 3, np.uint32), np.zeros(4096, np.uint32)
    run = made.launch_checked(1, 64, [memory, results], undefined=[memory] if undefined else [])
    assert run.fault is None, run.fault
    assert not {event.kind for event in run.events} & {Kind.NOT_CHECKED, Kind.UNDEFINED_ADDRESS}
    code_object = made.module.code_object
    info = code_object.kernel()
    code = decode(bytes(code_object.code(info)), arch, info.entry)
    number = {instruction.pc + run.load_address: n for n, instruction in enumerate(code)}
    found = {}
    for event in run.events:
        if event.kind is Kind.UNDEFINED_STORE:
            assert event.access.instruction is not None
            base = event.before.instruction if event.before else None
            found[number[event.access.instruction.pc]] = event, None if base is None else number[base.pc]
    return found


def test_what_no_data_goes_through_is_harmless_or_refused() -> None:
    """Cache upkeep that keeps what is in memory, and clocks; the others leave the report incomplete."""
    rest = [d for d in DEFINITIONS.values() if d.access is not None and not followed(d)]
    harmless = [d for d in rest if d.access is not None and d.access.op in ("inv", "wb", "probe", "cycles", "realtime")]
    refused = [d for d in rest if d not in harmless]
    assert {(d.access.space, d.access.op) for d in refused if d.access} == {("gws", None), ("scalar", "discard")}
    assert launched("  s_dcache_inv\n  buffer_inv sc1\n  s_memtime s[8:9]\n  s_waitcnt lgkmcnt(0)\n").status == 0
    for body in ("  s_dcache_discard s[0:1], 0x0\n", "  s_mov_b32 m0, 0\n  ds_gws_sema_v gds\n"):
        report = launched(body, block=64)
        assert report.by_code("not-checked") and report.status == 2


@pytest.mark.parametrize("arch", ARCHS)
def test_undefined_data_is_followed_through_every_instruction(arch: str) -> None:
    _, places = loaded(arch, "")
    found = seen(arch, "", undefined=True)
    assert [name for name, (_, last) in places.items() if last not in found] == []
    assert len(places) > 400
    for name, (first, last) in places.items():
        definition = DEFINITIONS[name]
        event, base = found[last]
        if first == last or (definition.access is not None and definition.access.kind == "permute"):
            continue
        if definition.explicit_dsts or updates(definition):
            assert base == first, name
        else:
            assert event.unfinished, name  # somebody wrote there, and what was written is undefined all the same


@pytest.mark.parametrize("arch", ARCHS)
def test_defined_data_is_followed_through_every_instruction(arch: str) -> None:
    assert seen(arch, ALL_DEFINED, undefined=False) == {}
