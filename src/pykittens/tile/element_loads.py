"""Loads of single elements from a window of global memory, joined into registers: any alignment, 0 beyond the columns.

Elements come in registers of their own and are shifted together. Loads into half a register would do with less, but
with SRAM ECC, which these chips always have, they do not keep the other half (llvm).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pykittens.isa.registers import Reg

from .expression import Int, leaf
from .global_tensor import gl
from .global_window import columns_left, guard, past_columns

if TYPE_CHECKING:
    from .lowering import Lowering

ELEMENT_LOADS = {4: "buffer_load_dword", 2: "buffer_load_ushort", 1: "buffer_load_ubyte"}
_WORDS_AT_ONCE = 4
"""Registers that are filled at once: their elements are all on the way before the first is waited for."""


def load_row(emit: Lowering, tensor: gl, base: Reg, down: Int, column: Int, words: Reg) -> None:
    """Fill ``words`` with the elements of a lane from ``column`` on, of a row that is ``down`` bytes into the window.

    base: the window's descriptor.
    """
    size = tensor.dtype.bytes
    first = leaf("column", tensor.name, uniform=False)
    with emit.computed(column) as start, columns_left(emit, tensor, start) as left:
        emit.inputs[first] = start
        with emit.computed(down + first * size) as along, emit.temporary("v") as past, emit.temporary("v") as offset:

            def load(index: int, reg: Reg) -> None:
                past_columns(emit, past, left, index)
                guard(emit, offset, past, along)
                emit.ins(ELEMENT_LOADS[size], reg, offset, base, 0, offen=True, offset=index * size)

            join(emit, words, size, load)
        del emit.inputs[first]


def join(emit: Lowering, words: Reg, size: int, load: Callable[[int, Reg], None]) -> None:
    """Fill ``words`` with elements of ``size`` bytes: ``load(index, register)`` starts one, the rest of it 0."""
    per_word = 4 // size
    for begin in range(0, words.count, _WORDS_AT_ONCE):
        with ExitStack() as stack:
            loaded = []
            for number in range(begin, min(begin + _WORDS_AT_ONCE, words.count)):
                word = words[number]
                load(number * per_word, word)
                for part in range(1, per_word):
                    element = stack.enter_context(emit.temporary("v"))
                    load(number * per_word + part, element)
                    loaded.append((word, element, part))
            for word, element, part in reversed(loaded):  # one wait, for the last, is enough
                emit.ins("v_lshl_or_b32", word, element, 8 * size * part, word)
