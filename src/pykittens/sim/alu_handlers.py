"""Native handlers of ALU instructions: one for each form, compiled in batches and kept in the disk cache."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pykittens.isa
from pykittens.errors import Unsupported
from pykittens.isa.constants import aperture_bits, operand_bits
from pykittens.isa.define import Operand
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg, Special
from pykittens.sim import alu_code
from pykittens.sim import cache as disk
from pykittens.sim.bind import BadOperand, BindContext, Bound, bound, split
from pykittens.sim.engine import engine, host
from pykittens.sim.forms import IMMEDIATES, Form, form_of

_BATCH = 32
"""Forms in one object: enough to share LLVM's fixed cost per module, few enough to load little that is not needed."""

_addresses: dict[str, int] = {}
_refused: dict[str, Unsupported] = {}
"""Why forms have no code."""
_lock = threading.RLock()


def bind(instruction: Instruction, context: BindContext) -> Bound:
    """The operation of an instruction with a meaning; compiles its form if need be.

    Raises `BadOperand` for registers outside the files and `Unsupported` for what the simulator cannot do.
    """
    form = form_of(instruction, context.arch, context.mode)
    handler = _addresses.get(form.key)
    if handler is None:
        compile_forms([form])
        if form.key in _refused:
            raise _refused[form.key]
        handler = _addresses[form.key]
    d = instruction.definition
    fields: list[int] = []
    for slot, operand in enumerate(d.explicit_dsts + d.explicit_srcs):
        fields += _numbers(instruction, slot, operand, context)
    for name in IMMEDIATES:
        if name in instruction.modifiers:
            number = instruction.modifiers[name]
            assert isinstance(number, int)
            fields.append(number - (number >> 15 << 16) if name == "simm16" else number)
    return bound(handler, instruction, *fields)


def _numbers(instruction: Instruction, slot: int, operand: Operand, context: BindContext) -> tuple[int, int]:
    given = instruction.operands[slot]
    if isinstance(given, Reg):
        if given.count < operand.dwords:
            raise BadOperand(f"{given} is {given.count} registers, the instruction needs {operand.dwords}")
        return (context.scalar(given) if given.file == "s" else context.row(given)), 0
    if isinstance(given, Const):
        return split(operand_bits(instruction, slot))
    if isinstance(given, Special) and 235 <= given.code <= 238:
        return split(aperture_bits(given.code, operand.bits))
    return 0, 0


def compile_forms(forms: Iterable[Form]) -> None:
    """Make the handlers of all these forms ready, from the cache or by compiling those that are missing, together.

    What the simulator cannot do is left out; binding an instruction of such a form raises `Unsupported`.
    """
    with _lock:
        wanted = {form.key: form for form in forms if form.key not in _addresses and form.key not in _refused}
        missing = _load(list(wanted.values()))
        batches = [missing[start : start + _BATCH] for start in range(0, len(missing), _BATCH)]
        if len(batches) == 1:
            _add(*_compiled(batches[0]))
        elif batches:
            # LLVM works outside the interpreter's lock.
            with ThreadPoolExecutor() as pool:
                for done, blob in pool.map(_compiled, batches):
                    _add(done, blob)


def _load(forms: list[Form]) -> list[Form]:
    """Link what the cache has; the forms that it lacks are returned."""
    missing: list[Form] = []
    for form in forms:
        name = disk.load("alu-form", _key(form))
        if name is not None and name not in _linked:
            blob = disk.load("alu-object", name)
            if blob is not None:
                _link(name, blob)
        if name in _linked:
            _addresses[form.key] = engine().address(symbol(form))
        else:
            missing.append(form)
    return missing


def _compiled(forms: list[Form]) -> tuple[list[Form], bytes]:
    """One object of all forms that the simulator can do, and which these are."""
    target = host()
    codes = []
    done = []
    for form in forms:
        try:
            codes.append(alu_code.form_code(form, symbol(form), target))
            done.append(form)
        except Unsupported as error:
            _refused[form.key] = error
    return done, target.compile(alu_code.module(codes, target))


def _add(forms: list[Form], blob: bytes) -> None:
    """Keep and link an object."""
    name = hashlib.sha256(blob).digest()
    disk.store("alu-object", name, blob)
    for form in forms:
        disk.store("alu-form", _key(form), name)
    _link(name, blob)
    for form in forms:
        _addresses[form.key] = engine().address(symbol(form))


_linked: set[bytes] = set()
"""The objects in this process, by the hash of their content."""


def _link(name: bytes, blob: bytes) -> None:
    engine().add_object(blob)
    _linked.add(name)


def symbol(form: Form) -> str:
    """The name of a form's function, distinct for all that its code depends on."""
    return "alu_" + hashlib.blake2b(_key(form), digest_size=12).hexdigest()


def _key(form: Form) -> bytes:
    return form.key.encode() + b"\0" + _environment()


@cache
def _environment() -> bytes:
    """Everything besides the form that decides its code: the definitions, the generator, LLVM and the CPU."""
    parts = [host().identity.encode()]
    isa = Path(pykittens.isa.__file__).parent
    here = Path(__file__).parent
    for path in (*sorted(isa.glob("*.py")), here / "alu_code.py", here / "forms.py", here / "mode.py"):
        parts.append(hashlib.blake2b(path.read_bytes()).digest())
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).digest()
