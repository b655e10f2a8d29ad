"""Binds loads, stores, atomics, permutes and clocks to the native routines: every definition that has ``access``."""

from __future__ import annotations

from collections.abc import Callable

from pykittens.isa.constants import constant_bits
from pykittens.isa.define import Access, Operand
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.registers import Const, Reg
from pykittens.isa.swizzle_pattern import swizzle_lanes
from pykittens.sim import control_handlers
from pykittens.sim.bind import NONE, BadOperand, BindContext, Bound, bound
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import Code

_INTEGER_OPERATIONS = (
    "swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec", "rsub", "mskor",
    "wrap", "condxchg",
)  # fmt: skip
_FLOAT_OPERATIONS = ("add", "min", "max", "cmpswap")
_PACKED_OPERATIONS = ("f16", "bf16")
"""In the order of native/atomic.h: integers, floats, packed additions by type."""

_IDXEN, _OFFEN = 1, 2
_WHOLE, _HALVES, _UPPER_HALF = 0, 1, 2
"""Flags of native/lanes.h."""

_CLOCKS_PER_TICK = {"cycles": 1, "realtime": 21}
"""The real-time counter runs at 100 MHz, a core at 2,100."""


def bind(instruction: Instruction, context: BindContext) -> Bound:
    """The operation of an instruction whose definition has ``access``. Raises `BadOperand` as the other binders do."""
    access = instruction.definition.access
    if access is None:
        raise AssertionError(f"{instruction.name} accesses no memory")
    if access.kind == "control":
        if instruction.definition.has("unsupported_in_sim"):
            return control_handlers.fault(Code.NOT_SIMULATED)
        return Bound(symbol("control_nothing"))
    return _SPACES[access.space](instruction, access, context)


def _roles(instruction: Instruction, access: Access) -> dict[str, Operands]:
    return dict(zip(access.roles, instruction.srcs, strict=True))


def _number(instruction: Instruction, key: str) -> int:
    value = instruction.modifiers.get(key, 0)
    return value if isinstance(value, int) else 0


def _row(operand: Operands, context: BindContext, what: str) -> int:
    """The first row of a vector operand; NONE for one that is absent."""
    if operand is None:
        return NONE
    if not isinstance(operand, Reg) or operand.file not in ("v", "a"):
        raise BadOperand(f"{what} is {operand}, not v or a registers")
    return context.row(operand)


def _needed_row(operand: Operands, context: BindContext, what: str) -> int:
    if operand is None:
        raise BadOperand(f"{what} is missing")
    return _row(operand, context, what)


def _scalar(operand: Operands, context: BindContext, what: str) -> int:
    """The number of a scalar register; NONE for one that is absent."""
    if operand is None:
        return NONE
    if not isinstance(operand, Reg) or operand.file != "s":
        raise BadOperand(f"{what} is {operand}, not s registers")
    return context.scalar(operand)


def _small(access: Access) -> str:
    """The part of a routine's name that says how an element of less than 32 bits becomes a register."""
    return f"{'i' if access.signed else 'u'}{access.bits}{'_' + access.half if access.half else ''}"


def _wide(access: Access) -> str:
    return _small(access) if access.bits < 32 else str(access.bits * access.count)


def _stored(access: Access) -> str:
    return f"{access.bits * access.count}{'_hi' if access.half else ''}"


def _operation(access: Access) -> int:
    """The number of an atomic operation in native/atomic.h."""
    if access.type is None or access.op is None:
        raise AssertionError("an atomic has a type and an operation")
    if not access.type.is_float:
        return _INTEGER_OPERATIONS.index(access.op)
    if access.count == 2:
        return len(_INTEGER_OPERATIONS) + len(_FLOAT_OPERATIONS) + _PACKED_OPERATIONS.index(access.type.name)
    return len(_INTEGER_OPERATIONS) + _FLOAT_OPERATIONS.index(access.op)


# -- LDS ---------------------------------------------------------------------------------------------------------
def _lds(instruction: Instruction, access: Access, context: BindContext) -> Bound:
    roles = _roles(instruction, access)
    rows = {role: _needed_row(operand, context, role) for role, operand in roles.items()}
    result = _row(instruction.dsts[0], context, "vdst") if instruction.dsts else NONE
    address, offset = rows.get("addr", NONE), _number(instruction, "offset")
    unit = access.stride * access.bits // 8
    offsets = [_number(instruction, key) * unit for key in ("offset0", "offset1")]
    if access.kind == "permute":
        if access.op == "swizzle":
            return bound(symbol("lds_swizzle"), instruction, result, address, *_packed_lanes(offset))
        name = "lds_permute" if access.op == "push" else "lds_bpermute"
        return bound(symbol(name), instruction, result, address, rows["data0"], offset)
    if access.kind == "load":
        if access.transpose:
            return bound(symbol(f"lds_read_tr_{access.transpose}"), instruction, result, address, offset)
        if access.stride:
            return bound(symbol(f"lds_read2_{access.bits}"), instruction, result, address, *offsets)
        name = "lds_read_addtid" if access.m0 else f"lds_read_{_wide(access)}"
        return bound(symbol(name), instruction, result, address, offset)
    if access.kind == "store":
        if access.stride:
            return bound(
                symbol(f"lds_write2_{access.bits}"), instruction, address, rows["data0"], offsets[0], rows["data1"],
                offsets[1],
            )  # fmt: skip
        name = "lds_write_addtid" if access.m0 else f"lds_write_{_stored(access)}"
        return bound(symbol(name), instruction, address, rows["data0"], offset)
    return _lds_atomic(instruction, access, result, rows, offset, offsets)


def _lds_atomic(
    instruction: Instruction, access: Access, result: int, rows: dict[str, int], offset: int, offsets: list[int]
) -> Bound:
    if access.m0:
        operation = _INTEGER_OPERATIONS.index("add" if access.op == "append" else "sub")
        return bound(symbol("lds_append"), instruction, 0, 0, 0, 0, 0, offset, 0, result, operation)
    first, second = rows["data0"], rows.get("data1", rows["data0"])
    bits = access.bits * access.count
    if access.stride:
        return bound(
            symbol(f"lds_exchange2_{access.bits}"), instruction, first, rows["addr"], 0, 0, 0, offsets[0], offsets[1],
            result, 0, second,
        )  # fmt: skip
    if access.op == "cmpswap":  # DS compares with its first data operand and stores its second
        first, second = second, first
    return bound(
        symbol(f"lds_atomic_{bits}"), instruction, first, rows["addr"], 0, 0, 0, offset, 0, result, _operation(access),
        second,
    )  # fmt: skip


def _packed_lanes(pattern: int) -> list[int]:
    """The lane of its half that each lane reads, 5 bits each, six to a number."""
    lanes = [lane & 31 for lane in swizzle_lanes(pattern)]
    return [sum(lane << 5 * i for i, lane in enumerate(lanes[at : at + 6])) for at in range(0, len(lanes), 6)]


# -- vector memory -----------------------------------------------------------------------------------------------
def _vector(instruction: Instruction, access: Access, place: tuple[int, ...], data: int, space: str) -> Bound:
    """Loads, stores and atomics alike; ``place`` are the fields VADDR to FLAGS of native/lanes.h."""
    if access.kind == "load":
        to_lds = bool(access.to_lds) and (not instruction.definition.explicit_dsts or _number(instruction, "lds"))
        name = f"{space}_{'lds' if to_lds else 'load'}_{_wide(access)}"
        return bound(symbol(name), instruction, data, *place)
    if access.kind == "store":
        return bound(symbol(f"{space}_store_{_stored(access)}"), instruction, data, *place)
    bits = access.bits * access.count
    result = NONE
    if access.returns == "in_place":
        result = data if _number(instruction, "sc0") or _number(instruction, "glc") else NONE
    return bound(
        symbol(f"{space}_atomic_{bits}"), instruction, data, *place, result, _operation(access), data + bits // 32
        if access.op == "cmpswap" else data,
    )  # fmt: skip


def _buffer(instruction: Instruction, access: Access, context: BindContext) -> Bound:
    roles = _roles(instruction, access)
    loaded = instruction.dsts[0] if instruction.dsts else None
    data = _row(loaded if access.kind == "load" else roles["vdata"], context, "vdata")
    flags = (_IDXEN if _number(instruction, "idxen") else 0) | (_OFFEN if _number(instruction, "offen") else 0)
    soffset, constant = roles["soffset"], 0
    if isinstance(soffset, Const):
        constant = constant_bits(soffset, _operand(instruction, access, "soffset"))
        soffset = None
    place = (
        _row(roles["vaddr"], context, "vaddr"), _scalar(roles["srsrc"], context, "srsrc"),
        _scalar(soffset, context, "soffset"), constant, _number(instruction, "offset"), flags,
    )  # fmt: skip
    if access.formatted:
        return _formatted(instruction, access, data, place)
    return _vector(instruction, access, place, data, "buffer")


def _formatted(instruction: Instruction, access: Access, data: int, place: tuple[int, ...]) -> Bound:
    """Elements that are converted; the fields behind ``place`` are those of native/buffer_format.c."""
    if _number(instruction, "lds"):
        raise BadOperand("formatted loads to LDS are not implemented")
    packing = _WHOLE if access.bits == 32 else _UPPER_HALF if access.half == "hi" else _HALVES
    own = _number(instruction, "format") if instruction.definition.format == "MTBUF" else NONE
    handler = symbol(f"buffer_{access.kind}_format")
    return bound(handler, instruction, data, *place, access.count, packing, own)


def _operand(instruction: Instruction, access: Access, role: str) -> Operand:
    return instruction.definition.explicit_srcs[access.roles.index(role)]


def _addressed(instruction: Instruction, access: Access, context: BindContext) -> Bound:
    """FLAT, GLOBAL and SCRATCH."""
    roles = _roles(instruction, access)
    result = _row(instruction.dsts[0], context, "vdst") if instruction.dsts else NONE
    data = _row(roles["data"], context, "data") if "data" in roles else result
    vaddr, base = _row(roles["addr"], context, "addr"), _scalar(roles.get("saddr"), context, "saddr")
    if access.space != "scratch" and vaddr == base == NONE:
        raise BadOperand("there is no address")
    place = (vaddr, base, NONE, 0, _number(instruction, "offset"), 0)
    op = _vector(instruction, access, place, data, access.space)
    if access.kind == "atomic":
        op = op._replace(fields=(*op.fields[:7], result, *op.fields[8:]))
    return op


# -- scalar memory -----------------------------------------------------------------------------------------------
def _scalar_memory(instruction: Instruction, access: Access, context: BindContext) -> Bound:
    destination = instruction.dsts[0] if instruction.dsts else None
    if access.kind == "clock":
        number = _scalar(destination, context, "sdst")
        return bound(symbol("scalar_time"), instruction, number, _CLOCKS_PER_TICK[str(access.op)])
    roles = _roles(instruction, access)
    data = _scalar(destination if access.kind == "load" else roles["sdata"], context, "sdata")
    place = (
        data, _scalar(roles["sbase"], context, "sbase"), _scalar(roles["soffset"], context, "soffset"),
        _number(instruction, "offset"), access.count, access.soffset_scale,
    )  # fmt: skip
    buffer = "buffer_" if _operand(instruction, access, "sbase").bits == 128 else ""
    if access.kind != "atomic":
        return bound(symbol(f"scalar_{buffer}{access.kind}"), instruction, *place)
    name = f"scalar_{buffer}atomic_{access.bits}"
    return bound(symbol(name), instruction, *place, _operation(access), _number(instruction, "glc"))


_SPACES: dict[str, Callable[[Instruction, Access, BindContext], Bound]] = {
    "lds": _lds, "buffer": _buffer, "global": _addressed, "flat": _addressed, "scratch": _addressed,
    "scalar": _scalar_memory,
}  # fmt: skip
