"""The tile program: what tracing a kernel function records, op by op, with loops and conditions of the GPU.

A kernel is ordinary Python that runs once. A Python ``for`` unrolls; `loop` and `when` record a loop and a condition.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from .expression import Expr, Int, as_integer, below, leaf, leaves, maximum

if TYPE_CHECKING:
    from .op import Op


@dataclass
class OpCall:
    """One tile op with its arguments, the Python line and the schedule's phase it belongs to."""

    op: Op
    args: tuple[Any, ...]
    options: dict[str, Any]
    where: str | None
    phase: str | None = None

    @property
    def written(self) -> list[Any]:
        """The tiles that the op writes."""
        return self.op.touches(*self.args, **self.options).writes


@dataclass
class Loop:
    """``for counter in range(count)`` on the GPU; the count may be a run-time value, none at all if it is negative."""

    counter: Expr
    count: Int
    where: str | None
    body: list[Node] = field(default_factory=list)


@dataclass
class When:
    """The body runs if the condition holds for the wave (the condition is uniform)."""

    condition: Expr
    where: str | None
    body: list[Node] = field(default_factory=list)


@dataclass
class Block:
    """Run-time values that are computed for the body alone are forgotten after it."""

    where: str | None
    body: list[Node] = field(default_factory=list)


Node = OpCall | Loop | When | Block


@dataclass(frozen=True)
class Requirement:
    """Two sizes that a launch must make equal, and the words for an error."""

    a: Int
    b: Int
    words: str


class Trace:
    """A kernel being recorded: its tiles, grid and nodes."""

    def __init__(self, arch: str, waves: tuple[int, int]) -> None:
        self.arch, self.waves = arch, waves
        self.nodes: list[Node] = []
        self.stack: list[list[Node]] = [self.nodes]
        self.depth = 0
        self.counters: list[Expr] = []
        """Of the loops around what is traced now."""
        self.conditions = 0
        """How many `when`s are around what is traced now."""
        self.left: str | None = None
        """Where the first loop stands that a ``break`` or ``return`` has left."""
        self.phase: str | None = None
        self.shared: list[Any] = []
        self.registers: list[Any] = []
        self.grid: tuple[Int, Int, Int] = (1, 1, 1)
        self.batches: Int = 1
        self.loops = 0
        self.loaded = 0
        self.arguments: list[Any] = []
        self.numbers: tuple[str, ...] = ()
        """32-bit numbers that follow the arguments; the host computes them for each launch."""
        self.placement: Any = None
        """The grid order's `schedule.grid.Placement`, from which the host has these numbers."""
        self.requirements: list[Requirement] = []
        self.code: CodeType | None = None
        self.frame: FrameType | None = None
        """The kernel function's frame, kept while tracing: its variables name the tiles."""

    @property
    def wave_count(self) -> int:
        return self.waves[0] * self.waves[1]

    def require_arch(self, arch: str, what: str) -> None:
        """`BuildError` on other chips than ``arch``: ``what`` the kernel was asked for is not for them."""
        if self.arch != arch:
            raise wrong_arch(what, arch, self.arch, user_line())

    def record(self, op: Op, args: tuple[Any, ...], options: dict[str, Any]) -> OpCall:
        call = OpCall(op, args, options, user_line(), self.phase)
        self.stack[-1].append(call)
        if self.frame is None:
            self.frame = _frame_of(self.code)
        return call

    def take_back(self, calls: list[OpCall]) -> None:
        """Remove ops that were recorded last, so that a schedule can place them."""
        body = self.stack[-1]
        if [id(c) for c in body[len(body) - len(calls) :]] != [id(c) for c in calls]:
            raise BuildError(
                "phase-ops", "a phase takes the ops that are written in its call, in order", where=user_line(),
                fix="call the ops as arguments of the phase",
            )  # fmt: skip
        del body[len(body) - len(calls) :]

    def place(self, call: OpCall) -> None:
        """Record an op that was taken back."""
        call.phase = self.phase
        self.stack[-1].append(call)


def _frame_of(code: CodeType | None) -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


_CURRENT: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current() -> Trace:
    """The kernel being traced; ops outside a kernel are a `BuildError`."""
    trace = _CURRENT.get()
    if trace is None:
        raise BuildError(
            "outside-kernel", "tiles and ops exist only while a kernel is traced", where=user_line(),
            fix="call them inside a function decorated with pk.kernel",
        )  # fmt: skip
    return trace


def wrong_arch(what: str, needed: str, arch: str, where: str | None) -> BuildError:
    """The refusal of ``what``, which is for ``needed``, on ``arch``."""
    return BuildError(
        "kernel-arch", f"{what} is for {needed}, not for {arch}", where=where, fix=f"build it for {needed}"
    )


@contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """Record into ``trace``."""
    token = _CURRENT.set(trace)
    try:
        yield trace
    finally:
        _CURRENT.reset(token)


def uniform(value: Int, what: str) -> Int:
    """``value`` as a place, size or condition of a wave; ``what`` names it in errors.

    Raises BuildError for what is no integer, differs by lane, or counts a loop that has ended.
    """
    if not isinstance(value, Expr):
        return as_integer(value)
    if not value.uniform:
        raise BuildError(
            "lane-value", f"{what} is {value}, which differs by lane; it has to be one value per wave",
            where=user_line(), fix="use pk.select for lane-wise choices",
        )  # fmt: skip
    if value.scope:
        ended = [x for x in leaves(value) if x.op == "loop" and not any(x is known for known in current().counters)]
        if ended:
            raise BuildError(
                "loop-counter", f"{what} is {value}, whose loop has ended", where=user_line(),
                fix="use a counter inside its loop only",
            )  # fmt: skip
    return value


def loop(start: Int, stop: Int | None = None, *, unroll: int = 1) -> Iterator[Int]:
    """``for i in pk.loop(n)`` or ``pk.loop(start, stop)``: a loop of the GPU.

    The body is traced ``unroll`` times with ``i, i+1, …`` (so ``i % unroll`` is known at build time), then once more
    for each step that may remain. Counters count up by one; a stop at or below the start runs nothing.
    """
    if stop is None:
        start, stop = 0, start
    start, stop = uniform(start, "the start of a loop"), uniform(stop, "the stop of a loop")
    trace, where = current(), user_line()
    if unroll < 1:
        raise BuildError("unroll", f"unroll is {unroll}, at least 1 is needed", where=where)
    steps = maximum(stop - start, 0) // unroll if unroll > 1 else stop - start
    with _looping(trace, steps, where) as index:
        for step in range(unroll):
            yield start + index * unroll + step
    with ExitStack() as stack:
        for step in range(unroll - 1):
            # The affine form keeps the residue by ``unroll`` known: start + unroll * steps + step. A step that remains
            # comes after those before it have run, so its condition stands inside theirs.
            last = start + steps * unroll + step
            stack.enter_context(when(below(last, stop)))
            yield last


@contextmanager
def _looping(trace: Trace, count: Int, where: str | None) -> Iterator[Expr]:
    trace.loops += 1
    trace.depth += 1
    node = Loop(leaf("loop", trace.loops, scope=trace.depth), count, where)
    trace.stack[-1].append(node)
    trace.stack.append(node.body)
    trace.counters.append(node.counter)
    try:
        yield node.counter
    except GeneratorExit:
        trace.left = trace.left or where
        raise
    finally:
        trace.counters.pop()
        trace.stack.pop()
        trace.depth -= 1


@contextmanager
def when(condition: Int) -> Iterator[None]:
    """``with pk.when(t < n):`` the ops inside run on the waves for which the condition holds."""
    trace = current()
    condition = uniform(condition, "a condition of pk.when")
    if isinstance(condition, int):
        target: list[Node] = trace.stack[-1] if condition else []
    else:
        node = When(condition, user_line())
        trace.stack[-1].append(node)
        target = node.body
        trace.conditions += 1
    trace.stack.append(target)
    try:
        yield
    finally:
        trace.stack.pop()
        trace.conditions -= isinstance(condition, Expr)


@contextmanager
def block() -> Iterator[None]:
    """Addresses and other run-time values that the ops inside need give their registers back at the end."""
    trace = current()
    node = Block(user_line())
    trace.stack[-1].append(node)
    trace.stack.append(node.body)
    try:
        yield
    finally:
        trace.stack.pop()


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Ops inside belong to this phase of the schedule; the name reaches the assembly, findings and timeline."""
    trace = current()
    before, trace.phase = trace.phase, name
    try:
        yield
    finally:
        trace.phase = before


def require_equal(a: Int, b: Int, words: str) -> None:
    """Launches for which ``a`` and ``b`` differ are refused with ``words`` and both numbers."""
    if a is not b:  # expressions of the same value are one object
        current().requirements.append(Requirement(a, b, words))
