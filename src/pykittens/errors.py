"""The errors users meet: one line that says what is wrong, where, with both numbers, and what to do.

Everything pykittens raises on purpose derives from `Error`. A traceback that ends in anything else is a defect of
pykittens itself. `code` is short, stable and made for machines (tests, `--json`); the text is for people.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base of every deliberate error.

    code: stable kebab-case name of the rule that was broken, such as ``"k-mismatch"``.
    where: the user's source line as ``"file.py:12"``, or another place such as ``"gemm.co"``; None when unknown.
    what: what is wrong, with both numbers.
    fix: what to do about it; empty when there is nothing to add.

    ``str(error)`` is always a single line: ``[where: ]what[; fix] [code]``.
    """

    code: str
    where: str | None
    what: str
    fix: str

    def __init__(self, code: str, what: str, *, where: str | None = None, fix: str = "") -> None:
        self.code = code
        self.where = where
        self.what = what
        self.fix = fix
        super().__init__(code, what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.fix}" if self.fix else ""
        return " ".join(f"{place}{self.what}{advice} [{self.code}]".split())

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process borders (pytest-xdist, worker pools): rebuild without calling a subclass's __init__.
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(kind: type[Error], args: tuple[Any, ...], state: dict[str, Any]) -> Error:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(Error):
    """The caller gave something unusable: a dtype, a shape, a name, a file. The command line exits with status 2."""


class BuildError(Error):
    """A kernel cannot become a code object: tracing, lowering, register allocation or assembling failed."""


class CodeObjectError(Error):
    """A code object is malformed, truncated, or made for another chip."""


class Unsupported(Error):
    """Something the hardware or the field knows that pykittens does not implement."""


class Fault(Error):
    """The simulated GPU stopped: a wild address, a misaligned access, an unknown instruction, a deadlock.

    pc: byte address of the instruction in the loaded code object.
    instruction: its text in LLVM syntax.
    wave: index of the wave in its workgroup.
    lane: lane number 0..63 of the first lane at fault; None when the whole wave is.
    address: the memory address in question, in bytes; None when the fault is not about memory.
    """

    def __init__(
        self,
        code: str,
        what: str,
        *,
        where: str | None = None,
        fix: str = "",
        pc: int | None = None,
        instruction: str = "",
        wave: int | None = None,
        lane: int | None = None,
        address: int | None = None,
    ) -> None:
        super().__init__(code, what, where=where, fix=fix)
        self.pc = pc
        self.instruction = instruction
        self.wave = wave
        self.lane = lane
        self.address = address

    def __str__(self) -> str:
        parts = [f"pc {self.pc:#x}" if self.pc is not None else "", f"`{self.instruction}`" if self.instruction else ""]
        parts += [f"{name} {n}" for name, n in (("wave", self.wave), ("lane", self.lane)) if n is not None]
        parts += [f"address {self.address:#x}"] if self.address is not None else []
        context = ", ".join(part for part in parts if part)
        return f"{super().__str__()} ({context})" if context else super().__str__()
