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
    """always: on all ways from the one access to the other. waits: what is missing. same_turn: without a barrier."""

    always: bool
    waits: dict[str, int]
    same_turn: bool


def check_lds_waits(model: WaitModel) -> list[Finding]:
    """LDS accesses that come too early after another one to the same bytes, each pair once."""
    code = model.code
    told = {n: place for n, place in code.lds_places.items() if place is not None}
    findings = _Order(model, told).findings() if told else []
    copies = any(loads_to_lds(code.instructions[n]) for n in code.lds_places)
    if copies and len(told) < len(code.lds_places):
        findings.append(_not_told(code, len(code.lds_places) - len(told), len(code.lds_places)))
    polls = _polls(code)
    if copies and polls:
        findings.append(_by_flags(code, len(polls)))
    return findings


def _polls(code: KernelCode) -> set[int]:
    """LDS atomics with a result."""
    found = set()
    for n in code.lds_places:
        access = code.instructions[n].definition.access
        if access is not None and access.kind == "atomic" and code.instructions[n].dsts:
            found.add(n)
    return found


def _by_flags(code: KernelCode, count: int) -> Finding:
    why = f"{count} LDS atomics may tell waves what others have done: the order between waves is not proved"
    return Finding("lds-not-proved", why, "run it in checked mode", kernel=code.kernel.name, times=count)


def _not_told(code: KernelCode, count: int, total: int) -> Finding:
    why = f"the code alone does not tell where {count} of its {total} LDS instructions go: their order is not proved"
    return Finding("lds-not-proved", why, "run it in checked mode", kernel=code.kernel.name, times=count)


class _Order:
    """One kernel's accesses at known places, over all paths."""

    def __init__(self, model: WaitModel, places: dict[int, Place]) -> None:
        self.model, self.code, self.places = model, model.code, places
        instructions = self.code.instructions
        self._own, self._cross = self._conflicts()
        # Most accesses meet no other one that they would have to wait for.
        self.places = {n: place for n, place in places.items() if self._own[n] or self._cross[n]}
        self._owned: dict[object, int] = {}
        for n, place in self.places.items():
            if place.symbol is not None:
                self._owned[place.symbol[0]] = self._owned.get(place.symbol[0], 0) | 1 << n
        self._barriers = {n for n, i in enumerate(instructions) if i.definition.has("barrier")} | _polls(self.code)
        self._events = [
            [
                n
                for n in range(block.start, block.stop)
                if model.counters[n] or model.waits[n] or n in self._barriers or n in self._owned
            ]
            for block in self.code.paths.apart
        ]

    def _conflicts(self) -> tuple[dict[int, int], dict[int, int]]:
        """For each access those, as bits, that its own wave, and that another one, must have been done with before."""
        alike: dict[tuple[Place, str], int] = {}
        for n, place in self.places.items():
            key = place, self._kind(n)
            alike[key] = alike.get(key, 0) | 1 << n
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
        kind_of = {n: (place, self._kind(n)) for n, place in self.places.items()}
        # One instruction does the same in all waves, and they need not come to its next turn together.
        return {n: own[key] for n, key in kind_of.items()}, {n: cross[key] & ~(1 << n) for n, key in kind_of.items()}

    def _kind(self, n: int) -> str:
        access = self.code.instructions[n].definition.access
        assert access is not None
        if loads_to_lds(self.code.instructions[n]):
            return "copy"
        return {"load": "read", "store": "write", "atomic": "atomic"}[access.kind]

    def findings(self) -> list[Finding]:
        """One finding for each pair of blocks: the first pair of accesses, and how many there are."""
        if not self.places:
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
            bit = 1 << n
            if n in self.places:
                if found is not None:
                    self._judge(n, state, found)
                state.since |= bit
                state.stale &= ~bit
            if self.model.waits[n]:
                self._wait(n, state)
            if self.model.counters[n]:
                self._issue(n, state)
            if n in self._barriers:
                state.crossing, state.since, state.apart = _bits(state.under_way), 0, state.apart | state.done
            state.stale |= self._owned.get(n, 0)

    def _wait(self, n: int, state: _State) -> None:
        waits = self.code.instructions[n].modifiers
        state.under_way.waited(waits)
        for i, count in list(state.most.items()):
            (name,) = self.model.counters[i]
            value = waits.get(name)
            if isinstance(value, int) and value < CAPS[name] and count >= value:
                state.done |= 1 << i
                if not state.under_way.under_way(i):
                    del state.most[i]

    def _issue(self, n: int, state: _State) -> None:
        self.model.issue(state.under_way, n, n in self.places)
        for i, count in list(state.most.items()):
            (name,) = self.model.counters[i]
            if name in self.model.counters[n]:
                state.most[i] = min(count + 1, CAPS[name])
                state.done |= (count + 1 >= CAPS[name]) << i
        if n in self.places:
            state.most[n] = 0
            state.done &= ~(1 << n)
            state.apart &= ~(1 << n)

    def _judge(self, n: int, state: _State, found: dict[_Pair, _Early]) -> None:
        """What instruction ``n`` comes too early after."""
        own = _bits(state.under_way) & self._own[n] & ~state.stale
        cross = (state.crossing | state.since) & self._cross[n]
        for code, others, fine in (("lds-order", own, state.done), ("lds-race", cross, state.apart)):
            for i in _numbers(others):
                always = not fine >> i & 1
                if (code, n, i) not in found or always > found[code, n, i].always:
                    waits = (
                        state.under_way.needed([i]) if code == "lds-order" else dict.fromkeys(self.model.counters[i], 0)
                    )
                    found[code, n, i] = _Early(always, waits, bool(state.since >> i & 1))

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
        return Finding(
            code, f"{self._overlap(n, i, same=code == 'lds-order')} {why}{where}", fix, self.code.place(n),
            self.code.place(i), kernel=self.code.kernel.name, times=times, level=None if early.always else "note",
        )  # fmt: skip

    def _overlap(self, n: int, i: int, same: bool) -> str:
        a, b = self.places[n], self.places[i]
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
