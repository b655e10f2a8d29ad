"""Lowering: writes the machine instructions of a tile program, with registers for run-time values found on the way.

Run-time expressions are computed once, in the outermost loop that knows their inputs, and kept there: what an op asks
for inside a loop but does not change in it is computed before that loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pykittens.asm.program import Acquired, BarriersApart, Item, Line, Program, WaitFor
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from .expression import Expr, Int, leaf
from .expression_code import Parts, is_long, lane_code, uniform_code, uniform_compare
from .register_pool import RegisterPool
from .trace import Block, Loop, Node, OpCall, When


@dataclass(eq=False)
class _Scope:
    """The function, a loop body or a condition's body: its items, what it keeps in registers, and its loop depth.

    ``used``: all registers that its items have had from the pools. What is put before the scope must not be in them.
    ``holds``: values may be kept in it, since whatever runs later in it has run through what was emitted before.
    """

    depth: int
    items: list[Item]
    holds: bool = True
    used: set[tuple[str, int]] = field(default_factory=set)
    kept: dict[object, Reg | int] = field(default_factory=dict)
    owned: list[Reg] = field(default_factory=list)


class Lowering:
    """Emits one kernel. Ops use `ins`, `uniform`, `lane`, `temporary` and `keep`."""

    def __init__(self, arch: str, waves: int, scalars: RegisterPool, vectors: RegisterPool) -> None:
        self.arch, self.waves = arch, waves
        self.program = Program(arch)
        self.scalars, self.vectors = scalars, vectors
        self._scopes = [_Scope(0, self.program.items)]
        self._later: list[_Scope] = []
        self.inputs: dict[Expr, Reg] = {}
        self._promised: dict[Expr, Callable[[], None]] = {}

    # -- instructions ----------------------------------------------------------------------------------------
    def ins(self, name: str, *operands: object, **modifiers: Any) -> None:
        """Append one instruction to the current scope."""
        self.program.emit(name, *operands, **modifiers)

    @contextmanager
    def collected(self) -> Iterator[list[Item]]:
        """What is emitted inside goes into the list that is given, for the caller to place; kept values do not."""
        before, self.program.items = self.program.items, []
        try:
            yield self.program.items
        finally:
            self.program.items = before

    def wait_for(self, tiles: tuple[str, ...], registers: tuple[Reg, ...], reads: bool = False) -> None:
        """From here on this wave's copies into these shared tiles and its loads into these registers have landed;
        with ``reads``, its reads of the tiles have returned.
        """
        where, phase = self.program.where, self.program.phase
        self.program.items.append(WaitFor(tiles, where=where, phase=phase, registers=registers, reads=reads))

    def acquired(self, tiles: tuple[str, ...]) -> None:
        """From here on a flag has told that what other waves had done to these shared tiles is complete."""
        self.program.items.append(Acquired(tiles))

    def barriers_apart(self, count: int) -> None:
        """From here on some waves run ``count`` barriers behind the others."""
        self.program.items.append(BarriersApart(count))

    def comment(self, words: str) -> None:
        self.program.comment(words)

    # -- registers -------------------------------------------------------------------------------------------
    @contextmanager
    def temporary(self, file: str, count: int = 1, align: int | None = None) -> Iterator[Reg]:
        """``count`` registers of file ``s`` or ``v`` for the duration of the block."""
        reg = self._take(self._scopes[-1], file, count, align)
        try:
            yield reg
        finally:
            self._pool(file).give(reg)

    def hold(self, file: str, count: int) -> Reg:
        """Registers until the current loop, condition or the kernel ends."""
        scope = self._scopes[-1]
        reg = self._take(scope, file, count, None)
        scope.owned.append(reg)
        return reg

    def release(self, reg: Reg) -> None:
        """Give back registers that `hold` gave to the function's scope."""
        self._scopes[0].owned.remove(reg)
        self._pool(reg.file).give(reg)

    def _pool(self, file: str) -> RegisterPool:
        return self.scalars if file == "s" else self.vectors

    def _take(self, scope: _Scope, file: str, count: int, align: int | None) -> Reg:
        """Registers for the code of a scope; code of the scopes inside it, which comes later, has not used them yet."""
        inner = self._scopes[self._scopes.index(scope) + 1 :] + self._later
        avoid = {index for each in inner for kind, index in each.used if kind == file}
        reg = self._pool(file).take(count, align, avoid)
        scope.used.update((file, index) for index in range(reg.index, reg.index + reg.count))
        return reg

    def keep(self, key: object, depth: int, file: str, count: int, build: Callable[[Reg], None], align: int = 1) -> Reg:
        """Registers that hold what ``build`` computes, computed once in the innermost scope of this loop depth and
        kept in it.
        """
        found = self._find(key)
        if found is not None:
            return found  # type: ignore[return-value]
        scope = next(s for s in reversed(self._scopes) if s.depth == depth and s.holds)
        reg = self._take(scope, file, count, align)
        with self._into(scope):
            build(reg)
        scope.kept[key] = reg
        scope.owned.append(reg)
        return reg

    def is_kept(self, key: object) -> bool:
        """Whether a value is in a register already."""
        return self._find(key) is not None

    def _find(self, key: object) -> Reg | int | None:
        for scope in self._scopes:
            if key in scope.kept:
                return scope.kept[key]
        return None

    @contextmanager
    def _into(self, scope: _Scope) -> Iterator[None]:
        """Emit into an enclosing scope: what is written there now stands before the inner scope."""
        before, self.program.items = self.program.items, scope.items
        outer, later = self._scopes, self._later
        place = outer.index(scope) + 1
        # What is kept here must stay out of the way of the scopes left for a moment, whose code comes after.
        self._scopes, self._later = outer[:place], outer[place:] + later
        try:
            yield
        finally:
            self.program.items, self._scopes, self._later = before, outer, later

    # -- run-time values -------------------------------------------------------------------------------------
    def uniform(self, value: Int) -> Reg | int:
        """A wave-uniform value: a number, or the SGPR that holds it."""
        if isinstance(value, int):
            return value
        if not value.uniform:
            raise AssertionError(f"{value} differs by lane")
        if value in self._promised:
            code = self._promised[value]
            self._promised = {name: each for name, each in self._promised.items() if each is not code}
            with self._into(self._scopes[0]):
                code()
        if value in self.inputs:
            return self.inputs[value]
        return self.keep(("s", value), value.scope, "s", 1, lambda reg: uniform_code(self, value, reg))

    def promise(self, values: tuple[Expr, ...], code: Callable[[], None]) -> None:
        """Wave-uniform values that ``code`` puts into `inputs`: it is called when the first of them is asked for, and
        emits ahead of all loops and conditions.
        """
        self._promised |= dict.fromkeys(values, code)

    def is_promised(self, value: Expr) -> bool:
        return value in self._promised

    def uniform_register(self, value: Int) -> Reg:
        """A wave-uniform value in an SGPR, constants too."""
        found = self.uniform(value)
        if isinstance(found, Reg):
            return found
        return self.keep(("s", found), 0, "s", 1, lambda reg: self.ins("s_mov_b32", reg, found))

    def lane(self, value: Int) -> Reg:
        """A value per lane in a VGPR; uniform ones are copied there."""
        if isinstance(value, Expr) and value in self.inputs and self.inputs[value].file == "v":
            return self.inputs[value]
        depth = value.scope if isinstance(value, Expr) else 0
        return self.keep(("v", value), depth, "v", 1, lambda reg: lane_code(self, value, reg))

    def lane_beside(self, first: Int, apart: Int) -> Reg:
        """``first`` + ``apart``, which is uniform, by one addition: `lane` would compute all of it again."""
        near = self.lane(first)
        if isinstance(apart, int) and not apart:
            return near
        further, value = self.uniform(apart), first + apart
        depth = value.scope if isinstance(value, Expr) else 0
        return self.keep(("v", value), depth, "v", 1, lambda reg: self.ins("v_add_u32", reg, further, near))

    @contextmanager
    def computed(self, value: Int) -> Iterator[Reg]:
        """A value per lane in a VGPR of the moment, for addresses that are used once; its parts are kept as usual."""
        with self.temporary("v") as reg:
            lane_code(self, value, reg)
            yield reg

    @contextmanager
    def vector_copies(self, sources: list[Reg]) -> Iterator[list[Reg]]:
        """The registers as VGPRs: AGPRs are copied, since the VALU does not read them."""
        with ExitStack() as stack:
            out = []
            for reg in sources:
                if reg.file == "a":
                    copy = stack.enter_context(self.temporary("v"))
                    self.ins("v_accvgpr_read_b32", copy, reg)
                    reg = copy
                out.append(reg)
            yield out

    # -- control ---------------------------------------------------------------------------------------------
    def run(self, nodes: list[Node]) -> None:
        """Lower the nodes in order."""
        for node in nodes:
            with self.program.at(node.where):
                try:
                    self._node(node)
                except BuildError as error:
                    error.where = error.where or node.where
                    raise

    def _node(self, node: Node) -> None:
        if isinstance(node, OpCall):
            self.program.phase = node.phase
            node.op.lower(self, *node.args, **node.options)
        elif isinstance(node, Loop):
            self._loop(node)
        elif isinstance(node, Block):
            with self._scope(self._scopes[-1].depth):
                self.run(node.body)
        else:
            self._when(node)

    @contextmanager
    def _scope(self, depth: int, holds: bool = True) -> Iterator[_Scope]:
        scope = _Scope(depth, [], holds)
        before, self.program.items = self.program.items, scope.items
        self._scopes.append(scope)
        try:
            yield scope
        finally:
            self._scopes.pop()
            self.program.items = before
            before.extend(scope.items)
            self._scopes[-1].used |= scope.used
            for reg in scope.owned:
                self._pool(reg.file).give(reg)

    def _loop(self, node: Loop) -> None:
        with self._looping(node.counter, node.count) as entered:
            if entered:
                self.run(node.body)

    def repeat(self, times: int, body: Callable[[Int], None]) -> None:
        """What ``body`` emits runs ``times`` times on the GPU; it is given the number of the turn."""
        if times < 2:
            for turn in range(times):
                body(turn)
            return
        depth = self._scopes[-1].depth + 1
        counter = leaf("turn", depth, scope=depth, bound=times - 1)
        with self._looping(counter, times):
            body(counter)

    @contextmanager
    def _looping(self, counted: Expr, times: Int) -> Iterator[bool]:
        """A loop around what is emitted inside; nothing is, and False given, if it is known never to run."""
        count = self.uniform(times)
        if isinstance(count, int) and count <= 0:
            yield False
            return
        head, end = self.program.new_label("loop"), self.program.new_label("end")
        with self.temporary("s") as counter:
            self.inputs[counted] = counter
            # The guard belongs to the inner scope, so that whatever the body wants computed outside stands before it.
            with self._scope(self._scopes[-1].depth + 1):
                self.ins("s_mov_b32", counter, 0)
                if isinstance(count, Reg):
                    self.ins("s_cmp_gt_i32", count, 0)
                    self.ins("s_cbranch_scc0", end)
                self.program.label(head)
                yield True
                last = self._last_mfma()  # the matrix core has work while the counter is advanced
                self.ins("s_add_u32", counter, counter, 1)
                self.ins("s_cmp_lt_i32", counter, count)
                self.program.items += last
                self.ins("s_cbranch_scc1", head)
                self.program.label(end)
            del self.inputs[counted]

    def _last_mfma(self) -> list[Item]:
        """Takes back the MFMA that was emitted last, if nothing follows it."""
        last = self.program.items[-1:]
        if last and isinstance(last[0], Line) and last[0].instruction.definition.mfma:
            self.program.items.pop()
            return last
        return []

    def _when(self, node: When) -> None:
        end = self.program.new_label("skip")
        for part in node.condition.args:
            if isinstance(part, Expr) and is_long(part):
                self.uniform(part)  # out here, so that other conditions have it too
        with self._scope(self._scopes[-1].depth):
            self.branch_unless(node.condition, end)
            self.run(node.body)
            self.program.label(end)

    def branch_unless(self, condition: Expr, label: str) -> None:
        """Jump to ``label`` where a uniform condition is 0."""
        with Parts(self, condition) as parts:
            uniform_compare(self, parts, condition)
        self.ins("s_cbranch_scc0", label)

    @contextmanager
    def inner(self) -> Iterator[None]:
        """What is emitted inside may be skipped at run time: nothing is kept there for later."""
        with self._scope(self._scopes[-1].depth, holds=False):
            yield

    @contextmanager
    def either(self, condition: Int) -> Iterator[Callable[[], None]]:
        """``with emit.either(c) as otherwise: …; otherwise(); …``: two machine-code paths, one taken at run time."""
        if isinstance(condition, int):
            raise BuildError("known-condition", f"the condition is always {bool(condition)}")
        other, end = self.program.new_label("else"), self.program.new_label("end")
        with self._scope(self._scopes[-1].depth, holds=False):
            self.branch_unless(condition, other)

            def otherwise() -> None:
                self.ins("s_branch", end)
                self.program.label(other)

            yield otherwise
            self.program.label(end)
