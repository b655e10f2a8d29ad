"""What LLVM prints after an instruction's operands, in its order."""

from __future__ import annotations

from collections.abc import Iterator

from .instruction import Instruction
from .text_names import DEFAULT_BUFFER_FORMAT, buffer_format_text, swizzle_text
from .vector_modifiers import op_sel_entries

_OMUL: dict[object, str] = {2.0: "mul:2", 4.0: "mul:4", 0.5: "div:2"}
_CACHE = ("glc", "sc0", "nt", "sc1")


def _tuple(instruction: Instruction, name: str, default: tuple[int, ...] = ()) -> tuple[object, ...]:
    value = instruction.modifiers.get(name, default)
    if not isinstance(value, tuple):
        raise AssertionError(f"{name} of {instruction.name} is {value!r}, not a tuple")
    return value


def _list(name: str, values: tuple[object, ...]) -> str:
    return f"{name}:[{','.join(map(str, values))}]"


def modifiers_text(instruction: Instruction) -> str:
    """All of them, each after a space."""
    definition = instruction.definition
    if definition.mfma is not None:
        words = _matrix(instruction)
    elif definition.access is not None:
        words = _memory(instruction)
    elif definition.format == "VOP3P":
        words = _packed(instruction)
    elif definition.format.startswith("VOP"):
        words = _vector(instruction)
    else:
        return ""
    return "".join(" " + word for word in words)


def _vector(instruction: Instruction) -> Iterator[str]:
    m = instruction.modifiers
    if "bitop3" in m:
        table = m["bitop3"]
        yield f"bitop3:{table:#x}" if isinstance(table, int) and table > 10 else f"bitop3:{table}"
    if "op_sel" in m:
        values = _tuple(instruction, "op_sel")
        yield _list("op_sel", tuple(values[i] for i in op_sel_entries(instruction.definition)))
    if "clamp" in m:
        yield "clamp"
    if "omul" in m:
        yield _OMUL[m["omul"]]
    if instruction.encoding == "e64":
        for name in ("bound_ctrl", "fi"):
            if name in m:
                yield f"{name}:1"
    elif instruction.encoding == "sdwa":
        yield from _sdwa(instruction)
    elif instruction.encoding == "dpp":
        yield from _dpp(instruction)


def _sdwa(instruction: Instruction) -> Iterator[str]:
    m, definition = instruction.modifiers, instruction.definition
    if definition.format != "VOPC" and not definition.has("no_dst_sel"):
        yield f"dst_sel:{m.get('dst_sel', 'DWORD')}"
        yield f"dst_unused:{m.get('dst_unused', 'UNUSED_PAD')}"
    for i in range(sum(not operand.mask for operand in definition.explicit_srcs)):
        yield f"src{i}_sel:{m.get(f'src{i}_sel', 'DWORD')}"


def _dpp(instruction: Instruction) -> Iterator[str]:
    m = instruction.modifiers
    name, *numbers = _tuple(instruction, "dpp_ctrl")
    if name == "quad_perm":
        yield _list("quad_perm", tuple(numbers))
    else:
        yield f"{name}:{numbers[0]}" if numbers else str(name)
    yield f"row_mask:{m.get('row_mask', 15):#x}"
    yield f"bank_mask:{m.get('bank_mask', 15):#x}"
    if m.get("bound_ctrl"):
        yield "bound_ctrl:1"


def _packed(instruction: Instruction) -> Iterator[str]:
    m, definition = instruction.modifiers, instruction.definition
    ones = (1,) * len(definition.explicit_srcs)
    zeros = (0,) * len(ones)
    if "op_sel" in m:
        yield _list("op_sel", _tuple(instruction, "op_sel"))
    # The mix instructions read whole registers by default.
    high = _tuple(instruction, "op_sel_hi", ones)
    if high != (zeros if definition.has("mix") else ones):
        yield _list("op_sel_hi", high)
    for name in () if definition.has("mix") else ("neg_lo", "neg_hi"):
        if name in m:
            yield _list(name, _tuple(instruction, name))
    if "clamp" in m:
        yield "clamp"


def _matrix(instruction: Instruction) -> Iterator[str]:
    m = instruction.modifiers
    shape = instruction.definition.mfma
    if shape is not None and shape.scaled:
        for name in ("op_sel", "op_sel_hi"):
            if name in m or name == "op_sel_hi":
                yield _list(name, (*_tuple(instruction, name, (0, 0)), 0))
    for name in ("cbsz", "abid", "blgp"):
        if m.get(name):
            yield f"{name}:{m[name]}"
    if "neg" in m:
        yield _list("neg", _tuple(instruction, "neg"))


def _memory(instruction: Instruction) -> Iterator[str]:
    m, definition = instruction.modifiers, instruction.definition
    access = definition.access
    format = m.get("format", DEFAULT_BUFFER_FORMAT)
    if definition.format == "MTBUF" and isinstance(format, int) and format != DEFAULT_BUFFER_FORMAT:
        yield buffer_format_text(format)
    for name in ("idxen", "offen"):
        if m.get(name):
            yield name
    offset = m.get("offset", 0)
    if definition.format != "SMEM" and isinstance(offset, int) and offset:
        is_swizzle = access is not None and access.op == "swizzle"
        yield f"offset:{swizzle_text(offset) if is_swizzle else offset}"
    for name in ("offset0", "offset1"):
        if m.get(name):
            yield f"{name}:{m[name]}"
    for name in _CACHE:
        if m.get(name):
            yield name
    for name in ("lds", "gds"):
        if m.get(name):
            yield name
