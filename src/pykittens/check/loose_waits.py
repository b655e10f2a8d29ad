"""Waits that could be looser: proved by following what each wait waited for to where something depends on it.

An access that a wait has completed is followed on, beside what is really under way, as if the wait had not been. Where
something depends on it before another wait covers it, its place at the wait is needed; the largest count that keeps
all that is needed is the loosest one. What other waves may see counts as needed at each barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pykittens.asm.control_flow import forward
from pykittens.asm.pending import CAPS, Pending
from pykittens.check.findings import Finding
from pykittens.check.waits import WaitModel
from pykittens.isa.define import Unit
from pykittens.isa.effects import loads_to_lds
from pykittens.isa.instruction import Instruction

_Wait = tuple[int, str]
"""The number of an ``s_waitcnt`` and one of its counters."""
_Followed = dict[tuple[_Wait, int], tuple[int, int, int]]
"""Accesses by the wait that completed them: counter value at the wait, what it would be by now, and the registers that
it loads, but those that a later load writes too, which arrives after it."""

_LDS, _TO_LDS, _STORE, _LOAD, _SCALAR = (1 << n for n in range(5))
_ALL = (1 << 5) - 1
_SYNCHRONISES = ("barrier", "message", "sleep", "halt", "trap", "indirect", "call", "vskip")


@dataclass
class _State:
    pending: Pending = field(default_factory=Pending)
    followed: _Followed = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(self.pending.copy(), dict(self.followed))

    def join(self, other: _State) -> _State:
        followed = dict(self.followed)
        for key, theirs in other.followed.items():
            mine = followed.get(key)
            followed[key] = theirs if mine is None else _either(mine, theirs)
        return _State(self.pending.join(other.pending), followed)


def _either(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    return min(a[0], b[0]), min(a[1], b[1]), a[2] | b[2]


def loose_waits(model: WaitModel) -> list[Finding]:
    """A note for each counter of each ``s_waitcnt`` that could be looser, with the loosest value."""
    return [_finding(model, n, name, value) for (n, name), value in sorted(loosest_counts(model).items())]


def loosest_counts(model: WaitModel) -> dict[_Wait, int]:
    """The loosest value of each counter that could be looser; the counter's maximum if it need not wait.

    By the number of the ``s_waitcnt`` among the kernel's instructions, and the counter. Each holds as long as all other
    waits stay what they are.
    """
    return _Loosest(model).values()


def _finding(model: WaitModel, n: int, name: str, loosest: int) -> Finding:
    given = model.code.instructions[n].modifiers[name]
    if loosest >= CAPS[name]:
        why = f"{name}({given}) is not needed: nothing depends on what it waits for before another wait does it"
        fix = f"leave {name} out"
    else:
        why = f"{name}({given}) could be {name}({loosest}): nothing depends on the accesses in between"
        fix = f"use {name}({loosest})"
    return Finding("wait-loose", why, fix, model.code.place(n), kernel=model.code.kernel.name)


class _Loosest:
    """One kernel's waits and the counts that are needed of them."""

    def __init__(self, model: WaitModel) -> None:
        self.model = model
        instructions = model.code.instructions
        self.kinds = [_kind(i) if model.counters[n] else 0 for n, i in enumerate(instructions)]
        self.depends = [_depends(i, kind) for i, kind in zip(instructions, self.kinds, strict=True)]
        self.needed: dict[_Wait, int] = {}

    def values(self) -> dict[_Wait, int]:
        entries = forward(self.model.code.paths.apart, _State(), self._through, _State.join)
        found: dict[_Wait, int] = {}
        for block, entry in zip(self.model.code.paths.apart, entries, strict=True):
            for n in range(block.start, block.stop) if entry is not None else ():
                modifiers = self.model.code.instructions[n].modifiers if self.model.waits[n] else {}
                for name, cap in CAPS.items():
                    given, loosest = modifiers.get(name), self.needed.get((n, name), cap)
                    if isinstance(given, int) and given < cap and loosest > given:
                        found[n, name] = loosest
        return found

    def _through(self, block: int, entry: _State) -> _State:
        state = entry.copy()
        model, followed = self.model, state.followed
        busy = _registers(followed)
        for n in range(model.code.paths.apart[block].start, model.code.paths.apart[block].stop):
            if followed and ((model.read[n] | model.written[n]) & busy or self.depends[n]):
                self._use(n, followed)
                busy = _registers(followed)
            if model.waits[n]:
                self._wait(n, state)
                busy = _registers(followed)
            elif model.counters[n]:
                self._issue(n, state)
        return state

    def _use(self, n: int, followed: _Followed) -> None:
        """Instruction ``n`` may need what is followed, or load the same registers later."""
        read, written = self.model.read[n], self.model.written[n]
        for key, (at_wait, now, registers) in list(followed.items()):
            overwritten = written & registers
            if read & registers or self.kinds[key[1]] & self.depends[n]:
                needed = True
            else:
                needed = bool(overwritten) and not self.model.ordered(key[1], n)
            if needed:
                self._need(key[0], at_wait)
                del followed[key]
            elif overwritten:
                followed[key] = at_wait, now, registers & ~written

    def _need(self, wait: _Wait, count: int) -> None:
        self.needed[wait] = min(max(count, 0), self.needed.get(wait, CAPS[wait[1]]))

    def _wait(self, n: int, state: _State) -> None:
        modifiers, followed, pending = self.model.code.instructions[n].modifiers, state.followed, state.pending
        for name in CAPS:
            value = modifiers.get(name)
            if not isinstance(value, int) or value >= CAPS[name]:
                continue
            # Another wait covers what is followed; this one itself, in an earlier turn of its loop, is what is judged.
            for key, (_, now, _) in list(followed.items()):
                if key[0][1] == name and key[0][0] != n and max(now, 0) >= value:
                    del followed[key]
            for item, count in pending.counts[name].items():
                if max(count, 0) < value:
                    continue
                if len(self.model.counters[item]) > 1:
                    self._need((n, name), count)
                    continue
                fresh = count, count, self.model.written[item]
                followed[(n, name), item] = _either(followed.get(((n, name), item), fresh), fresh)
        pending.waited(modifiers)

    def _issue(self, n: int, state: _State) -> None:
        counters = self.model.counters[n]
        self.model.issue(state.pending, n, True)
        if n in self.model.skipped:
            return
        for key, (at_wait, now, registers) in list(state.followed.items()):
            name = key[0][1]
            if counters.get(name) and now >= 0:
                if now + 1 >= CAPS[name]:
                    del state.followed[key]
                else:
                    state.followed[key] = at_wait, now + 1, registers


def _registers(followed: _Followed) -> int:
    bits = 0
    for _, _, registers in followed.values():
        bits |= registers
    return bits


def _kind(instruction: Instruction) -> int:
    """What an access is, as far as others can depend on it beside its registers."""
    d = instruction.definition
    assert d.access is not None
    if d.unit is Unit.LDS:
        return _LDS
    if d.unit is Unit.SMEM:
        return _SCALAR if d.access.kind == "load" else _SCALAR | _STORE
    if loads_to_lds(instruction):
        return _TO_LDS
    return _LOAD if d.access.kind == "load" else _STORE


def _depends(instruction: Instruction, kind: int) -> int:
    """The kinds of accesses that must be complete, for all we know, before this instruction is executed."""
    d = instruction.definition
    if any(d.has(flag) for flag in _SYNCHRONISES) or (d.access is not None and d.access.kind == "control"):
        return _ALL
    if kind & _LDS:
        return _TO_LDS
    if kind & _TO_LDS:
        return _LDS
    if kind & _SCALAR:
        return _STORE
    return _STORE | _SCALAR if kind & _STORE else 0
