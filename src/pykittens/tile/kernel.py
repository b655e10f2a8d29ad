"""The kernel decorator and the compiler's way through: trace, allocate, lower, finish, assemble.

@pk.kernel(waves=(2, 4))
def gemm(A: pk.gl("dtype"), B: pk.gl("dtype"), C: pk.gl("out"), *, dtype="bf16", out="bf16"): ...

built = build(gemm, arch="gfx950", out="f32")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pykittens import arch as chips
from pykittens.asm.finish import finish
from pykittens.asm.kernel_text import render_kernel
from pykittens.asm.program import Line, user_line_of
from pykittens.asm.toolchain import assemble
from pykittens.errors import BuildError, Error, InputError
from pykittens.isa.registers import Reg, s, v

from .allocate import RegisterMap, allocate, listing
from .arguments import Argument, TensorArgument, bind_signature, kernarg_layout, load_arguments
from .lowering import Lowering
from .program_inputs import LANE, WAVE, WORKGROUP
from .register_pool import RegisterPool
from .tiles import Registers, TileArray, st
from .trace import Trace, tracing, wrong_arch
from .unwritten import refuse_unwritten

LDS_ALIGNMENT = 1024
FIRST_FREE_SGPR = 5
"""s[0:1] is the kernarg pointer, s2, s3, s4 the workgroup ids."""
LAST_SGPR = 101


@dataclass(frozen=True)
class Kernel:
    """A decorated kernel function; ``waves`` is its workgroup's wave grid (rows, columns), or a function of the
    architecture and the options. ``archs`` are the architectures that it is for.
    """

    function: Callable[..., None]
    waves: tuple[int, int] | Callable[[str, dict[str, Any]], tuple[int, int]]
    archs: tuple[str, ...] = tuple(chips.ARCHS)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def description(self) -> str:
        """The first line of the kernel's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def options(self) -> dict[str, Any]:
        """The build-time choices (keyword parameters) and their defaults."""
        found: dict[str, Any] = {}
        annotations = inspect.get_annotations(self.function, eval_str=True)
        for p in inspect.signature(self.function).parameters.values():
            if p.kind is p.KEYWORD_ONLY:
                found[p.name] = p.default
            elif p.kind is p.VAR_KEYWORD:
                # ``**epilogue: Epilogue``: the fields of a dataclass are options of the kernel.
                found |= {field.name: field.default for field in fields(annotations[p.name])}
        return found


@dataclass(frozen=True)
class Build:
    """A kernel for one architecture: its assembly text, its code object (ELF bytes) and what the host must know to
    launch it.
    """

    name: str
    arch: str
    assembly: str
    code_object: bytes
    registers: RegisterMap
    arguments: list[Argument]
    trace: Trace
    options: dict[str, Any]
    lds_bytes: int
    lds_names: tuple[str | None, ...]
    """For each instruction the shared tile that it touches, as ``"Bs read"`` or ``"Bs write"``; None for most."""


def kernel(
    *, waves: tuple[int, int] | Callable[[str, dict[str, Any]], tuple[int, int]], archs: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Kernel]:
    """Decorate a kernel function. ``waves``: rows and columns of the workgroup's waves, 1 to 16 in all; ``archs``: the
    architectures that it is for, by default all.
    """

    def decorate(function: Callable[..., None]) -> Kernel:
        if not inspect.isfunction(function):
            raise BuildError("not-a-function", f"a kernel is a function, not {function!r}", fix="decorate a def")
        return Kernel(function, waves, tuple(chips.get(arch).name for arch in archs or chips.ARCHS))

    return decorate


def build(kernel: Kernel, arch: str = "gfx950", **options: Any) -> Build:
    """Build a kernel for an architecture (``gfx942`` or ``gfx950``); ``options`` are its keyword parameters.

    Raises `InputError` for unknown architectures and options, `BuildError` with the Python line for kernels that
    cannot be built.
    """
    chips.get(arch)
    if not isinstance(kernel, Kernel):
        raise InputError("not-a-kernel", f"{kernel!r} is not a kernel", fix="decorate the function with pk.kernel")
    if arch not in kernel.archs:
        code = kernel.function.__code__
        raise wrong_arch("this kernel", " and ".join(kernel.archs), arch, f"{code.co_filename}:{code.co_firstlineno}")
    known = kernel.options()
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InputError(
            "unknown-option",
            f"{kernel.name} has no option {unknown[0]!r}",
            fix=f"use one of {', '.join(known) or 'none'}",
        )
    chosen = {**known, **options}
    missing = [name for name, value in chosen.items() if value is inspect.Parameter.empty]
    if missing:
        raise InputError("missing-option", f"{kernel.name} needs its option {missing[0]!r}", fix="give it to compile")
    try:
        trace, registers, lds_bytes = _placed(kernel, arch, chosen)
        text, lds_names = _assembly(kernel, trace, registers, lds_bytes)
    except BuildError as error:
        # What no line inside is to blame for is about the kernel as a whole.
        code = kernel.function.__code__
        error.where = error.where or f"{code.co_filename}:{code.co_firstlineno}"
        raise
    return Build(
        name=kernel.name, arch=arch, assembly=text, code_object=assemble(text, arch), registers=registers,
        arguments=trace.arguments, trace=trace, options=chosen, lds_bytes=lds_bytes,
        lds_names=lds_names,
    )  # fmt: skip


def _placed(kernel: Kernel, arch: str, chosen: dict[str, Any]) -> tuple[Trace, RegisterMap, int]:
    """The kernel traced, its tiles in registers and in so many bytes of LDS."""
    waves = kernel.waves(arch, chosen) if callable(kernel.waves) else kernel.waves
    _check_waves(kernel.name, waves)
    trace = Trace(arch, waves)
    trace.arguments = bind_signature(kernel.function, chosen, arch)
    _trace(kernel, trace, chosen)
    refuse_unwritten(trace.nodes)
    lds_bytes = _place_shared(trace, chips.get(arch).max_lds_per_workgroup)
    return trace, allocate(trace, reserved=2), lds_bytes


def _check_waves(name: str, waves: Any) -> None:
    pair = isinstance(waves, tuple) and len(waves) == 2 and all(isinstance(n, int) and n > 0 for n in waves)
    if not pair or waves[0] * waves[1] > 16:
        raise BuildError(
            "waves", f"{name} has waves={waves!r}, a workgroup has 1 to 16 of them",
            fix="give rows and columns, such as waves=(2, 2)",
        )  # fmt: skip


def _trace(kernel: Kernel, trace: Trace, options: dict[str, Any]) -> None:
    """Run the kernel function once, and name its tiles after the variables that hold them."""
    trace.code = kernel.function.__code__
    with tracing(trace):
        try:
            kernel.function(
                *(a.tensor if isinstance(a, TensorArgument) else a.scalar for a in trace.arguments), **options
            )
        except Error as error:
            # A choice that one of our own kernels refuses is the caller's, and no line of the kernel is to blame.
            error.where = error.where or user_line_of(error, kernels=not isinstance(error, InputError))
            raise
    if trace.left is not None:
        raise BuildError(
            "loop-left", "a break, return or next() leaves this loop while it is traced, the GPU would run all of it",
            where=trace.left, fix="change its bounds, or use pk.when inside",
        )  # fmt: skip
    if trace.frame is not None:
        for name, value in trace.frame.f_locals.items():
            _name(name, value)
        trace.frame = None


def _name(name: str, value: object) -> None:
    if isinstance(value, (st, Registers)):
        value.name = name
    elif isinstance(value, TileArray):
        for index, tile in value.items():
            tile.name = f"{name}[{', '.join(map(str, index))}]"


def _place_shared(trace: Trace, limit: int) -> int:
    """Give every shared tile its LDS offset; the workgroup's LDS size in bytes."""
    offset = 0
    for tile in trace.shared:
        tile.offset = offset
        offset += -(-tile.bytes // LDS_ALIGNMENT) * LDS_ALIGNMENT
    if offset > limit:
        listing = ", ".join(f"{t.name} {t.bytes}" for t in trace.shared)
        raise BuildError(
            "lds-budget",
            f"the shared tiles take {offset} bytes of LDS, {trace.arch} has {limit} for a workgroup ({listing})",
            fix="use smaller or fewer tiles",
        )  # fmt: skip
    return offset


def _assembly(
    kernel: Kernel, trace: Trace, registers: RegisterMap, lds_bytes: int
) -> tuple[str, tuple[str | None, ...]]:
    """The assembly text, and `Build.lds_names`."""
    per_simd = -(-trace.wave_count // 4)
    budget = 512 // per_simd
    scalars = RegisterPool("s", list(range(FIRST_FREE_SGPR, LAST_SGPR + 1)), "SGPRs")
    used = {r for life in registers.lives for reg in life.tile.regs or () if reg.file == "v" for r in _span(reg)}
    vectors = RegisterPool("v", [r for r in range(1, 256) if r not in used], "VGPRs")
    emit = Lowering(trace.arch, trace.wave_count, scalars, vectors)
    for axis, workgroup in enumerate(WORKGROUP):
        emit.inputs[workgroup] = s[2 + axis]
    code = kernel.function.__code__
    # What belongs to no op stands at the kernel's own line, so that the bytes do not depend on who builds it.
    with emit.program.at(f"{code.co_filename}:{code.co_firstlineno}"):
        load_arguments(emit, [a for a in trace.arguments if not a.late], scalars.take)
        _wave_and_lane(emit, trace.wave_count)
        emit.run(trace.nodes)
        emit.ins("s_endpgm")
    program = finish(emit.program)
    vgprs = max(registers.vgprs, vectors.high, 1)
    total = -(-vgprs // 4) * 4 + registers.agprs
    if total > budget:
        alive = listing(life.tile for life in registers.at_peak())
        raise BuildError(
            "register-budget", f"{kernel.name} takes {total} registers ({vgprs} VGPRs, {registers.agprs} AGPRs), "
            f"{trace.wave_count} waves leave {budget} each (alive at the peak: {alive})",
            fix="use smaller tiles or fewer waves",
        )  # fmt: skip
    lines, files = program.assembly()
    name = kernel.name
    layout, kernarg_size = kernarg_layout(trace.arguments, trace.numbers)
    text = render_kernel(
        name, trace.arch, lines, args=layout, kernarg_size=kernarg_size, vgprs=vgprs, agprs=registers.agprs,
        sgprs=max(scalars.high, FIRST_FREE_SGPR), lds_bytes=lds_bytes, max_workgroup_size=64 * trace.wave_count,
        files=files, header="\n".join([kernel.description, "Register map:", *registers.text()]),
    )  # fmt: skip
    return text, tuple(map(_lds_name, program.lines()))


def _lds_name(line: Line) -> str | None:
    """The shared tile that an instruction reads or writes, all copies of it under one name."""
    for tiles, verb in ((line.lds_reads, "read"), (line.lds_writes, "write")):
        if tiles:
            return f"{tiles[0].partition('[')[0]} {verb}"
    return None


def _wave_and_lane(emit: Lowering, waves: int) -> None:
    """v0 holds the packed work-item id; a workgroup is one row of work-items, so its low 10 bits are wave * 64 +
    lane.
    """
    lane, item = emit.vectors.take(), v[0]
    emit.ins("v_and_b32", lane, 63, item)
    emit.inputs[LANE] = lane
    wave = emit.scalars.take()
    if waves == 1:
        emit.ins("s_mov_b32", wave, 0)
    else:
        with emit.temporary("v") as number:
            emit.ins("v_bfe_u32", number, item, 6, 4)
            emit.ins("v_readfirstlane_b32", wave, number)
    emit.inputs[WAVE] = wave


def _span(reg: Reg) -> range:
    return range(reg.index, reg.index + reg.count)
