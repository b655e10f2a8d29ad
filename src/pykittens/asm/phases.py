"""Phases of a schedule as symbols of the code object: whoever reads the bytes can tell which phase an address is in.

Where the phase changes, the text has a local symbol ``phase$NAME$N`` (N counts up; NAME is empty after the last
phase). Such symbols survive linking, cost 24 bytes and their name each, and change no instruction.
"""

from __future__ import annotations

from bisect import bisect_right

from pykittens.errors import BuildError

from .code_object import CodeObject

_PREFIX = "phase$"


class PhaseMarks:
    """Writes the symbols: call `before` with the phase of each instruction in turn."""

    def __init__(self) -> None:
        self._phase: str | None = None
        self._count = 0

    def before(self, phase: str | None) -> list[str]:
        """The assembly lines that belong before an instruction of this phase; none if the phase goes on."""
        if phase == self._phase:
            return []
        if phase is not None and (not phase.isprintable() or set(phase) & set('$"\\')):
            raise BuildError("phase-name", f'the phase name {phase!r} holds $, ", \\ or unprintable characters')
        self._phase = phase
        self._count += 1
        return [f'"{_PREFIX}{phase or ""}${self._count}":']


class Phases:
    """The phases that a code object's symbols tell of."""

    def __init__(self, code_object: CodeObject) -> None:
        marks = [(s.address, int(number), name) for s in code_object.symbols for name, number in _parts(s.name)]
        marks.sort()
        self._addresses = [address for address, _, _ in marks]
        self._names = [name for _, _, name in marks]

    def at(self, address: int) -> str | None:
        """The phase of the instruction at ``address`` (relative to the load address); None outside all phases."""
        i = bisect_right(self._addresses, address) - 1
        return (self._names[i] or None) if i >= 0 else None


def _parts(symbol: str) -> list[tuple[str, str]]:
    if not symbol.startswith(_PREFIX):
        return []
    name, _, number = symbol.removeprefix(_PREFIX).rpartition("$")
    return [(name, number)] if number.isdecimal() else []
