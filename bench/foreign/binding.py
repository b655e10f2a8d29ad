"""Whether the virtual GPU has code for every instruction of every file, without running them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pykittens.asm import code_object
from pykittens.errors import Unsupported
from pykittens.isa.decode import decode
from pykittens.isa.instruction import Instruction
from pykittens.sim import alu_handlers
from pykittens.sim.bind import BadOperand, BindContext, Unreachable
from pykittens.sim.dispatch import mode_register
from pykittens.sim.forms import Form, form_of
from pykittens.sim.mode import Mode
from pykittens.sim.program import binder_of


@dataclass
class Bindings:
    """files: of which ``distinct`` differ in code. encodings: distinct instructions. forms: of arithmetic, compiled.

    problems: what cannot be executed, and how often it occurs among the distinct ones.
    """

    files: int = 0
    distinct: int = 0
    encodings: int = 0
    forms: int = 0
    problems: Counter[str] = field(default_factory=Counter)


def bind_all(sources: Iterable[bytes]) -> Bindings:
    """Bind every instruction of these code objects, whether reachable or not."""
    found = Bindings()
    seen: set[bytes] = set()
    known: set[tuple[str, bytes]] = set()
    forms: dict[str, Form] = {}
    for source in sources:
        code = code_object.read(source)
        found.files += 1
        kernel = next(iter(code.kernels.values()))
        mode = Mode.from_bits(mode_register(kernel), 0)
        context = BindContext(code.arch, kernel.descriptor.accum_offset, mode, lambda pc: 0)
        for text in code.text:
            digest = hashlib.sha256(code.arch.encode() + text.data).digest()
            if digest in seen:
                continue
            seen.add(digest)
            for instruction in decode(text.data, code.arch, 0):
                key = code.arch, text.data[instruction.pc : instruction.pc + instruction.size]
                if key not in known:
                    known.add(key)
                    _bind(instruction, context, forms, found.problems)
    alu_handlers.compile_forms(forms.values())
    found.distinct, found.encodings, found.forms = len(seen), len(known), len(forms)
    return found


def _bind(instruction: Instruction, context: BindContext, forms: dict[str, Form], problems: Counter[str]) -> None:
    own = binder_of(instruction)
    try:
        if own is None:
            problems[f"{instruction.name}: no instruction"] += 1
        elif own is alu_handlers.bind:
            form = form_of(instruction, context.arch, context.mode)
            forms[form.key] = form
        else:
            own(instruction, context)
    except (BadOperand, Unsupported) as problem:
        problems[f"{instruction.name}: {problem}"] += 1
    except Unreachable:
        pass  # a branch out of the code, behind the last instruction that runs
