"""What bytes that are no instruction come closest to: for the fault that executing them is."""

from __future__ import annotations

from pykittens.isa.define import ARCHS, BY_OPCODE, Definition
from pykittens.isa.formats import BY_PREFIX, SEGMENTS, VOP3_BASE

_SHARED = {"VOP3": (("VOP3", 0), *VOP3_BASE.items()), "VOP3P": (("VOP3P", 0), ("MFMA", 0))}
"""Definition formats, and what is added to their opcodes, that an encoding holds beside its own."""


def nearest_form(word: int, arch: str) -> str:
    """Words about the first dword of something that did not decode."""
    fmt = BY_PREFIX[word >> 23 & 511]
    if fmt is None:
        return "no encoding begins with these bits"
    low, width = fmt.fields["op"]
    opcode = word >> low & (1 << width) - 1
    name = fmt.name
    if name == "FLAT":
        segment = word >> fmt.fields["seg"][0] & 3
        if segment >= len(SEGMENTS):
            return "a FLAT encoding with a segment that does not exist"
        name = SEGMENTS[segment]
    known = _opcodes(name, arch)
    if opcode in known:
        return f"it has the opcode of {known[opcode].name}, with operands or modifiers that it cannot have"
    for other in ARCHS:
        elsewhere = _opcodes(name, other)
        if opcode in elsewhere:
            return f"{elsewhere[opcode].name} exists on {other} only"
    nearest = min(known, key=lambda n: (abs(n - opcode), n))
    return f"{name} has no opcode {opcode}; the nearest is {nearest}, {known[nearest].name}"


def _opcodes(name: str, arch: str) -> dict[int, Definition]:
    """Definitions of a chip by the opcode field of this encoding."""
    found: dict[int, Definition] = {}
    bases = dict(_SHARED.get(name, ((name, 0),)))
    for (format, opcode, chip), definition in BY_OPCODE.items():
        if chip == arch and format in bases:
            found.setdefault(opcode + bases[format], definition)
    return found
