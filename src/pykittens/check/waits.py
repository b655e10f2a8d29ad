"""Waits: whether every loaded register has arrived, on every path, before it is read or written again.

vmcnt and the LDS part of lgkmcnt count down in order, scalar loads come back in any order, FLAT in both (facts and
their bookkeeping: asm/pending.py). A counter that is full holds up the next access, so that an access with as many
later ones of its kind as the counter can tell is complete. Loads of one kind come back in order, so that a later one
may overwrite an earlier one's register. Vector stores read their data before the next instruction of the wave but for
the cases in the hazard table (store-valu), so that overwriting it needs no wait. Of scalar stores no source says when
they read it; LLVM waits for nothing, so that overwriting is a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from pykittens.asm.control_flow import forward
from pykittens.asm.pending import CAPS, Pending, accesses
from pykittens.check.code import KernelCode
from pykittens.check.findings import Finding
from pykittens.isa.effects import mask_of
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg


class WaitModel:
    """Per instruction of a kernel: registers read and written as bits, and what it does to the counters."""

    def __init__(self, code: KernelCode) -> None:
        self.code, self.read, self.written = code, code.reads, code.writes
        self.sent = [_scalars_sent(instruction) for instruction in code.instructions]
        self.counters = [accesses(instruction) for instruction in code.instructions]
        self.waits = [instruction.definition.has("waitcnt") for instruction in code.instructions]
        self.skipped = code.skipped
        self._events = [
            [n for n in range(block.start, block.stop) if self.counters[n] or self.waits[n]]
            for block in code.paths.apart
        ]

    def entries(self) -> list[Pending | None]:
        """What is under way at the start of each block."""
        return forward(self.code.paths.apart, Pending(), self._through, Pending.join)

    def _through(self, block: int, entry: Pending) -> Pending:
        pending = entry.copy()
        for n in self._events[block]:
            self.step(pending, n)
        return pending

    def step(self, pending: Pending, n: int) -> None:
        """Instruction ``n`` is executed."""
        if self.waits[n]:
            pending.waited(self.code.instructions[n].modifiers)
        counters = self.counters[n]
        if counters:
            written = self.written[n]
            self.issue(pending, n, bool(written | self.sent[n]))
            if written and n not in self.skipped:
                self._supersede(pending, n, written)

    def issue(self, pending: Pending, n: int, tracked: bool, item: int | None = None) -> None:
        """The access of instruction ``n`` starts, under this number or its own.

        One that vskip may skip is no proof that others are older.
        """
        counters, key = self.counters[n], n if item is None else item
        if n in self.skipped:
            alone = Pending()
            alone.issue(key, counters, tracked)
            for name, items in alone.counts.items():
                pending.counts[name].update(items)
            return
        pending.issue(key, counters, tracked)
        for name in counters:
            items, cap = pending.counts[name], CAPS[name]
            # A full counter proves that these are complete.
            for older in [i for i, count in items.items() if count >= cap]:
                del items[older]

    def _supersede(self, pending: Pending, n: int, written: int) -> None:
        """Earlier loads into the same registers arrive before this one, so that who waits for it waits for them."""
        for name, items in pending.counts.items():
            if self.counters[n].get(name):
                for item in [i for i in items if i != n and self.written[i] and not self.written[i] & ~written]:
                    if self.ordered(item, n):
                        del items[item]

    def ordered(self, first: int, second: int) -> bool:
        """Whether the results of two accesses arrive in the order in which they were issued."""
        return self.counters[first] == self.counters[second] and all(self.counters[first].values())

    def busy(self, pending: Pending) -> int:
        """The registers that what is under way writes, or may still send."""
        bits = 0
        for items in pending.counts.values():
            for item in items:
                bits |= self.written[item] | self.sent[item]
        return bits

    def conflicts(self, pending: Pending, n: int) -> Iterator[tuple[int, str]]:
        """Accesses under way whose registers instruction ``n`` reads or writes, with the code of the finding."""
        read, written = self.read[n], self.written[n]
        for item in pending.items():
            loaded = self.written[item]
            if loaded & read:
                yield item, "wait-raw"
            elif loaded & written and not self.ordered(item, n):
                yield item, "wait-waw"
            elif self.sent[item] & written:
                yield item, "wait-war"


def _scalars_sent(instruction: Instruction) -> int:
    """The scalar registers that a scalar store or atomic sends, as bits."""
    access, data = instruction.definition.access, instruction.srcs[0] if instruction.srcs else None
    if access is None or access.space != "scalar" or access.kind not in ("store", "atomic"):
        return 0
    return mask_of([data]) if isinstance(data, Reg) else 0


def check_waits(model: WaitModel) -> list[Finding]:
    """Registers that are read or written too early, each access once at each place that it is not waited for."""
    found: dict[tuple[int, int, str], Finding] = {}
    for block, entry in zip(model.code.paths.apart, model.entries(), strict=True):
        if entry is None:
            continue
        pending = entry.copy()
        busy = model.busy(pending)
        for n in range(block.start, block.stop):
            if (model.read[n] | model.written[n]) & busy:
                for item, kind in list(model.conflicts(pending, n)):
                    found.setdefault((n, item, kind), _finding(model, pending, n, item, kind))
                    for items in pending.counts.values():
                        items.pop(item, None)
                busy = model.busy(pending)
            if model.waits[n] or model.counters[n]:
                model.step(pending, n)
                busy = model.busy(pending) if model.waits[n] else busy | model.written[n] | model.sent[n]
    return list(found.values())


def _finding(model: WaitModel, pending: Pending, n: int, item: int, kind: str) -> Finding:
    needed = pending.needed([item])
    wait = " ".join(f"{name}({value})" for name, value in needed.items())
    under_way = ", ".join(f"{_most(pending, name)} under {name}" for name in needed)
    touched = model.read[n] if kind == "wait-raw" else model.written[n]
    registers = model.code.names((model.sent if kind == "wait-war" else model.written)[item] & touched)
    does = "is read" if kind == "wait-raw" else "is written"
    other = "scalar store that sends it" if kind == "wait-war" else "access that loads it"
    proof = "that it is sent" if kind == "wait-war" else "its arrival"
    why = (
        f"{registers} {does} while the {other} may be under way: {wait} proves {proof}, "
        f"and up to {under_way} may be outstanding here"
    )
    return Finding(
        kind, why, f"put s_waitcnt {wait} in front of it", model.code.place(n), model.code.place(item),
        tile=registers, kernel=model.code.kernel.name,
    )  # fmt: skip


def _most(pending: Pending, name: str) -> int:
    """How many accesses may be outstanding, as far as loads tell."""
    return max((count for count in pending.counts[name].values()), default=-1) + 1 or len(pending.counts[name])
