"""A machine program being written: instructions, labels and remarks in order, with the Python line of each.

    p = Program("gfx950")
    p.v_add_f32(v[0], v[1], 1.0)
    p.label("loop")
    p.s_cbranch_scc1("loop")

Every mnemonic is a method, with LLVM's name and operand order; modifiers are keywords (``offset=16, offen=True``).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from pykittens.errors import BuildError
from pykittens.isa import DEFINITIONS, text
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Label, Reg

from .control_flow import Block, blocks
from .operands import prepare
from .phases import PhaseMarks

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class LabelMark:
    """A place that branches can name."""

    name: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment line of the assembly."""

    text: str


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Here this wave's copies into these LDS tiles, and its loads into these registers, have landed.

    `waits.insert` turns it into an ``s_waitcnt`` or nothing.
    """

    tiles: tuple[str, ...]
    remark: str = ""
    where: str | None = None
    phase: str | None = None
    registers: tuple[Reg, ...] = ()
    reads: bool = False
    """Whether this wave's reads of the tiles, too, have returned."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """Here this wave knows, by a flag, that other waves' accesses of these LDS tiles so far have completed."""

    tiles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BarriersApart:
    """From here on some waves run ``count`` barriers behind others: so many more must separate LDS accesses."""

    count: int


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction of a program, the phase of the schedule it belongs to, and the LDS tiles it touches by name.

    ``unchecked``: the author answers for the order of its LDS accesses (see tile_rules.py).
    """

    instruction: Instruction
    phase: str | None = None
    lds_reads: tuple[str, ...] = ()
    lds_writes: tuple[str, ...] = ()
    remark: str = ""
    unchecked: bool = False


Item = Line | LabelMark | Remark | WaitFor | Acquired | BarriersApart


def user_line() -> str | None:
    """``file.py:12`` of the innermost caller outside the package, or of a kernel of the package's own."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if _is_users(path):
            return f"{path}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def user_line_of(error: BaseException, *, kernels: bool = True) -> str | None:
    """The same of the line that raised an error; ``kernels``: whether the package's own kernels count."""
    step, found = error.__traceback__, None
    while step is not None:
        path = step.tb_frame.f_code.co_filename
        if _is_users(path) and (kernels or not _is_inside(path)):
            found = f"{path}:{step.tb_lineno}"
        step = step.tb_next
    return found


@cache
def _is_users(path: str) -> bool:
    return not _is_inside(path) or os.sep + "kernels" + os.sep in path


def _is_inside(path: str) -> bool:
    return os.path.abspath(path).startswith(_PACKAGE + os.sep) or path == contextlib.__file__


class Program:
    """Items in order for one architecture (``gfx942`` or ``gfx950``)."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.items: list[Item] = []
        self.phase: str | None = None
        self.where: str | None = None
        self._labels = 0
        self._made: dict[Hashable, Instruction] = {}

    # -- writing ---------------------------------------------------------------------------------------------
    def emit(
        self,
        name: str,
        *operands: object,
        lds_reads: tuple[str, ...] = (),
        lds_writes: tuple[str, ...] = (),
        remark: str = "",
        unchecked: bool = False,
        **modifiers: object,
    ) -> Instruction:
        """Append one instruction, checked; its encoding is the shortest that fits.

        Equal instructions of one Python line are one object: unrolled code repeats itself, and whoever goes over a
        program can look at each but once. Raises BuildError for an unknown name, an instruction that the chip lacks,
        and operands that do not fit.
        """
        where = self.where or user_line()
        key = name, tuple(map(_distinct, operands)), tuple(modifiers.items()), where
        instruction = self._made.get(key)
        if instruction is None:
            instruction = self._made[key] = self._instruction(name, operands, modifiers, where)
        self.items.append(Line(instruction, self.phase, lds_reads, lds_writes, remark, unchecked))
        return instruction

    def _instruction(
        self, name: str, operands: tuple[object, ...], modifiers: dict[str, object], where: str | None
    ) -> Instruction:
        definition = DEFINITIONS.get(name)
        if definition is None:
            raise BuildError("unknown-instruction", f"there is no instruction {name}", where=where)
        if self.arch not in definition.archs:
            raise BuildError(
                "arch-instruction", f"{name} does not exist on {self.arch}, only on {', '.join(definition.archs)}",
                where=where,
            )  # fmt: skip
        converted, given, encoding = prepare(definition, operands, modifiers, where)
        return Instruction(definition, converted, given, encoding, where=where)

    def __getattr__(self, name: str) -> Callable[..., Instruction]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *operands, **modifiers: self.emit(name, *operands, **modifiers)

    def wait_for(self, *tiles: str, remark: str = "") -> None:
        """From here on this wave's copies into the LDS tiles of these names have landed."""
        self.items.append(WaitFor(tiles, remark, self.where or user_line(), self.phase))

    def new_label(self, stem: str) -> str:
        """A label name not used before in this program."""
        self._labels += 1
        return f"{stem}_{self._labels}"

    def label(self, name: str) -> None:
        self.items.append(LabelMark(name))

    def comment(self, words: str) -> None:
        self.items.append(Remark(words))

    @contextmanager
    def at(self, where: str | None) -> Iterator[None]:
        """Instructions inside come from this Python line."""
        before, self.where = self.where, where or self.where
        try:
            yield
        finally:
            self.where = before

    # -- reading ---------------------------------------------------------------------------------------------
    def lines(self) -> list[Line]:
        """The instructions alone, in order."""
        return [item for item in self.items if isinstance(item, Line)]

    def control_flow(self) -> list[Block]:
        """The basic blocks over `items`; raises BuildError for labels that are missing or there twice."""
        places: dict[str, int] = {}
        for i, item in enumerate(self.items):
            if isinstance(item, LabelMark) and places.setdefault(item.name, i) != i:
                raise BuildError("label-twice", f"the label {item.name} stands at two places")
        nodes = [item.instruction if isinstance(item, Line) else None for item in self.items]

        def target(i: int) -> int:
            item = self.items[i]
            assert isinstance(item, Line)
            names = [o.name for o in item.instruction.operands if isinstance(o, Label)]
            if not names or names[0] not in places:
                what = f"{item.instruction.name} goes to {', '.join(names) or 'no label'}, which stands nowhere"
                raise BuildError("unknown-label", what, where=item.instruction.where)
            return places[names[0]]

        return blocks(nodes, target)

    def with_items(self, items: list[Item]) -> Program:
        """The same program with other items (a pass's result)."""
        result = Program(self.arch)
        result.items, result._labels = items, self._labels
        return result

    def assembly(self) -> tuple[list[str], list[str]]:
        """Assembly lines, and the files that their ``.loc`` marks number from 1.

        A ``.loc`` stands where the Python line changes, a phase symbol (see phases.py) where the phase does.
        """
        out: list[str] = []
        files: dict[str, int] = {}
        last: str | None = None
        phases = PhaseMarks()
        texts: dict[int, str] = {}
        for item in self.items:
            if isinstance(item, LabelMark):
                out.append(f"{item.name}:")
            elif isinstance(item, Remark):
                out.append(f"  ; {item.text}")
            elif isinstance(item, Line):
                out += phases.before(item.phase)
                instruction = item.instruction
                where = instruction.where
                if where is not None and where != last:
                    path, _, line = where.rpartition(":")
                    out.append(f"  .loc {files.setdefault(path, len(files) + 1)} {line}")
                    last = where
                remark = f"  ; {item.remark}" if item.remark else ""
                shown = texts.get(id(instruction))
                if shown is None:
                    shown = texts[id(instruction)] = f"  {text(instruction)}"
                out.append(shown + remark)
            else:
                raise AssertionError("a wait for tiles is left: waits.insert comes before the text")
        return out, _short_names(list(files))


def _distinct(operand: object) -> object:
    """An operand as part of a key: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    return (type(operand), repr(operand)) if isinstance(operand, (float, bool)) else operand


def _short_names(paths: list[str]) -> list[str]:
    """File names without folders, so that the text does not depend on where they lie; namesakes keep one folder."""
    names = [os.path.basename(path) for path in paths]
    parents = [os.path.basename(os.path.dirname(path)) for path in paths]
    return [name if names.count(name) == 1 else f"{parent}/{name}" for parent, name in zip(parents, names, strict=True)]
