"""LDS bytes: whether each access that a wave or another one depends on has been waited for, where addresses are told.

DS accesses of one wave are in order, and so are its copies (loads to LDS), but the two are not: the one needs the
other's counter. Between waves there must be a barrier, and the earlier access must have been waited for before it
(facts: asm/pending.py). All waves are taken to come along the path that is looked at. An LDS atomic that returns what
was there may be the poll of a flag: it is taken as a barrier, and that this is not proved is noted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

from pykittens.asm.control_flow import forward
from pykittens.asm.pending import CAPS, Pending
from pykittens.check.code import KernelCode
from pykittens.check.findings import Finding
from pykittens.check.lds_places import Place
from pykittens.check.waits import WaitModel
from pykittens.isa.effects import loads_to_lds


@dataclass
class _State:
    """Where a path has come to. Sets of accesses are bits by instruction; each is about the access's last execution.

    under_way: what this wave may have under way; crossing: what it may have had so when it passed the last barrier;
    since: its accesses after that barrier. done, apart: what may have been waited for, and what may have been so before
    a barrier. most: the most that may have been issued after an access that is not yet done on all ways. stale:
    accesses whose unknown number is not the newest of its kind.
    """

    under_way: Pending = field(default_factory=Pending)
    crossing: int = 0
    since: int = 0
    done: int = 0
    apart: int = 0
    stale: int = 0
    most: dict[int, int] = field(default_factory=dict)

    def copy(self) -> _State:
        return replace(self, under_way=self.under_way.copy(), most=dict(self.most))

    def join(self, other: _State) -> _State:
        most = dict(self.most)
        for item, count in other.most.items():
            most[item] = max(count, most.get(item, count))
        return _State(
            self.under_way.join(other.under_way), self.crossing | other.crossing, self.since | other.since,
            self.done | other.done, self.apart | other.apart, self.stale | other.stale, most,
        )  # fmt: skip


_Pair = tuple[str, int, int]
"""The code of the finding, the access that comes too early, and the one that it should wait for."""


@dataclass(frozen=True)
class _Early:
    """always: on all ways from the one access to the other. waits: what is missing. same_turn: without a barrier.

    places: of the access that comes too early, and of the other.
    """

    always: bool
    waits: dict[str, int]
    same_turn: bool
    places: tuple[Place, Place]


def check_lds_waits(model: WaitModel) -> list[Finding]:
    """LDS accesses that come too early after another one to the same bytes, once for each pair of blocks."""
    code = model.code
    order = _Order(model)
    findings = order.findings()
    total = {n for _, n in code.lds_places}
    if any(loads_to_lds(code.instructions[n]) for n in total):
        unknown = {n for (_, n), place in code.lds_places.items() if place is None}
        findings += [_not_told(code, len(unknown), len(total))] * bool(unknown)
        findings += [_by_flags(code, len(order.polls))] * bool(order.polls)
    return findings


def _by_flags(code: KernelCode, count: int) -> Finding:
    why = f"{count} LDS atomics may tell waves what others have done: the order between waves is not proved"
    return Finding("lds-not-proved", why, "run it in checked mode", kernel=code.kernel.name, times=count)


def _not_told(code: KernelCode, count: int, total: int) -> Finding:
    why = f"the code alone does not tell where {count} of its {total} LDS instructions go: their order is not proved"
    return Finding("lds-not-proved", why, "run it in checked mode", kernel=code.kernel.name, times=count)


class _Order:
    """One kernel's accesses at known places, over all paths. Each is told apart by its block, and has a number here."""

    def __init__(self, model: WaitModel) -> None:
        self.model, self.code = model, model.code
        instructions = self.code.instructions
        self.polls = {n for _, n in self.code.lds_places if instructions[n].dsts and self._kind(n) == "atomic"}
        told = [(key, place) for key, place in self.code.lds_places.items() if place is not None]
        self._number = {key: k for k, (key, _) in enumerate(told)}
        self._place = [place for _, place in told]
        self._n = [n for (_, n), _ in told]
        self._own, self._cross = self._conflicts()
        # Most accesses meet no other one that they would have to wait for.
        meet = [k for k in range(len(told)) if self._own[k] or self._cross[k]]
        self._number = {key: k for key, k in self._number.items() if self._own[k] or self._cross[k]}
        self._owned: dict[object, int] = {}
        for k in meet:
            symbol = self._place[k].symbol
            if symbol is not None:
                self._owned[symbol[0]] = self._owned.get(symbol[0], 0) | 1 << k
        self._barriers = {n for n, i in enumerate(instructions) if i.definition.has("barrier")} | self.polls
        self._events = [
            [
                n
                for n in range(block.start, block.stop)
                if model.counters[n] or model.waits[n] or n in self._barriers or n in self._owned
            ]
            for block in self.code.paths.apart
        ]

    def _conflicts(self) -> tuple[list[int], list[int]]:
        """For each access those, as bits, that its own wave, and that another one, must have been done with before."""
        alike: dict[tuple[Place, str], int] = {}
        same: dict[int, int] = {}
        for k, n in enumerate(self._n):
            key = self._place[k], self._kind(n)
            alike[key] = alike.get(key, 0) | 1 << k
            same[n] = same.get(n, 0) | 1 << k
        own, cross = dict.fromkeys(alike, 0), dict.fromkeys(alike, 0)
        for a, b in combinations_with_replacement(alike, 2):
            kinds = {a[1], b[1]}
            # Atomics do not race, and two stores may store the same.
            if kinds in ({"read"}, {"write"}, {"atomic"}):
                continue
            in_own, in_cross = a[0].meets(b[0])
            for one, other in ((a, b), (b, a)):
                if in_own and "copy" in kinds and len(kinds) > 1:
                    own[one] |= alike[other]
                if in_cross:
                    cross[one] |= alike[other]
        keys = [(self._place[k], self._kind(n)) for k, n in enumerate(self._n)]
        # One instruction does the same in all waves, and they need not come to its next turn together.
        return [own[key] for key in keys], [cross[key] & ~same[n] for key, n in zip(keys, self._n, strict=True)]

    def _kind(self, n: int) -> str:
        access = self.code.instructions[n].definition.access
        assert access is not None
        if loads_to_lds(self.code.instructions[n]):
            return "copy"
        return {"load": "read", "store": "write", "atomic": "atomic"}[access.kind]

    def findings(self) -> list[Finding]:
        """One finding for each pair of blocks: the first pair of accesses, and how many there are."""
        if not self._number:
            return []
        found: dict[_Pair, _Early] = {}
        entries = forward(self.code.paths.apart, _State(), self._through, _State.join)
        for b, entry in enumerate(entries):
            if entry is not None:
                self._walk(b, entry.copy(), found)
        block_of = {n: b for b, block in enumerate(self.code.graph) for n in range(block.start, block.stop)}
        groups: dict[tuple[object, ...], list[_Pair]] = {}
        for pair in sorted(found, key=lambda pair: pair[1:]):
            code, n, i = pair
            groups.setdefault((code, found[pair].always, block_of[i], block_of[n]), []).append(pair)
        return [self._finding(pairs[0], found[pairs[0]], len(pairs)) for pairs in groups.values()]

    def _through(self, block: int, entry: _State) -> _State:
        state = entry.copy()
        self._walk(block, state, None)
        return state

    def _walk(self, block: int, state: _State, found: dict[_Pair, _Early] | None) -> None:
        if self._owned:
            state.stale |= self._owned.get(self.code.paths.node(block), 0)
        for n in self._events[block]:
            k = self._number.get((block, n))
            if k is not None:
                if found is not None:
                    self._judge(k, state, found)
                state.since |= 1 << k
                state.stale &= ~(1 << k)
            if self.model.waits[n]:
                self._wait(n, state)
            if self.model.counters[n]:
                self._issue(n, k, state)
            if n in self._barriers:
                state.crossing, state.since, state.apart = _bits(state.under_way), 0, state.apart | state.done
            state.stale |= self._owned.get(n, 0)

    def _wait(self, n: int, state: _State) -> None:
        waits = self.code.instructions[n].modifiers
        state.under_way.waited(waits)
        for i, count in list(state.most.items()):
            (name,) = self.model.counters[self._n[i]]
            value = waits.get(name)
            if isinstance(value, int) and value < CAPS[name] and count >= value:
                state.done |= 1 << i
                if not state.under_way.under_way(i):
                    del state.most[i]

    def _issue(self, n: int, k: int | None, state: _State) -> None:
        self.model.issue(state.under_way, n, k is not None, k)
        for i, count in list(state.most.items()):
            (name,) = self.model.counters[self._n[i]]
            if name in self.model.counters[n]:
                state.most[i] = min(count + 1, CAPS[name])
                state.done |= (count + 1 >= CAPS[name]) << i
        if k is not None:
            state.most[k] = 0
            state.done &= ~(1 << k)
            state.apart &= ~(1 << k)

    def _judge(self, k: int, state: _State, found: dict[_Pair, _Early]) -> None:
        """What access ``k`` comes too early after."""
        n = self._n[k]
        own = _bits(state.under_way) & self._own[k] & ~state.stale
        cross = (state.crossing | state.since) & self._cross[k]
        for code, others, fine in (("lds-order", own, state.done), ("lds-race", cross, state.apart)):
            for i in _numbers(others):
                always, pair = not fine >> i & 1, (code, n, self._n[i])
                if pair not in found or always > found[pair].always:
                    counters = self.model.counters[self._n[i]]
                    waits = state.under_way.needed([i]) if code == "lds-order" else dict.fromkeys(counters, 0)
                    found[pair] = _Early(always, waits, bool(state.since >> i & 1), (self._place[k], self._place[i]))

    def _finding(self, pair: _Pair, early: _Early, times: int) -> Finding:
        code, n, i = pair
        wait = "s_waitcnt " + " ".join(f"{name}({value})" for name, value in early.waits.items())
        if code == "lds-order":
            why = f"while the {self._kind(i)} of the same wave may be under way, for which 0 waits are {wait} or less"
            fix = f"put {wait} in front of it"
        elif early.same_turn:
            why, fix = "and 0 barriers are between the two", f"put {wait} and s_barrier between them"
        else:
            why = f"and 0 waits are {wait} before the barrier between the two"
            fix = f"put {wait} in front of the barrier"
        where = "" if early.always else ", on some of the ways from there to here"
        what = self._overlap(n, i, early.places, same=code == "lds-order")
        return Finding(
            code, f"{what} {why}{where}", fix, self.code.place(n), self.code.place(i),
            kernel=self.code.kernel.name, times=times, level=None if early.always else "note",
        )  # fmt: skip

    def _overlap(self, n: int, i: int, places: tuple[Place, Place], same: bool) -> str:
        a, b = places
        pairs = [(w, v) for w in range(len(a.waves)) for v in range(len(b.waves)) if (w == v) == same]
        w, v = next((w, v) for w, v in pairs if a.waves[w] & b.waves[v])
        both = a.waves[w] & b.waves[v]
        first = ((both & -both).bit_length() - 1) * a.granule
        does = "reads" if self._kind(n) == "read" else "writes"
        start = (
            f"byte {first} of LDS" if a.symbol is None else f"a byte of LDS, {first} beyond a number not known here,"
        )
        if same:
            return f"it {does} {start}"
        return f"wave {w} {does} {start} that the {self._kind(i)} of wave {v} accesses,"


def _bits(pending: Pending) -> int:
    bits = 0
    for item in pending.items():
        bits |= 1 << item
    return bits


def _numbers(bits: int) -> list[int]:
    found = []
    while bits:
        found.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return found
