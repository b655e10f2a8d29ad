"""The rules of the house: who may import whom, how long a file may be, and where a mnemonic may be tested.

Every rule is a function from source text to a list of complaints, so that it is tested on bad samples first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pykittens

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pykittens"
MAX_LINES = 400

_LAYERS = ("arch", "isa", "asm", "tile", "schedule", "kernels", "torch", "cli")
_OBSERVERS = ("sim", "check", "model")
_ON_BYTES = frozenset({"arch", "isa", "asm"})

# Room -> rooms it may import, besides itself and `errors`. Data goes one way, and so do imports.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    **{room: frozenset(_LAYERS[:place]) for place, room in enumerate(_LAYERS)},
    **dict.fromkeys(_OBSERVERS, _ON_BYTES),  # whatever runs, checks or times reads the final bytes
    "report": _ON_BYTES | frozenset(_OBSERVERS),
    "hip": _ON_BYTES,
}
# A compiled kernel that can be called: where building meets running.
MAY_IMPORT["executable"] = frozenset({*_LAYERS[: _LAYERS.index("kernels")], *_OBSERVERS, "checking", "grid_choice"})
MAY_IMPORT["__main__"] = frozenset({"cli"})
# A prediction runs workgroups on the virtual GPU and hands what they did to the model.
MAY_IMPORT["modelled_launch"] = frozenset({*_ON_BYTES, *_OBSERVERS, "tile", "executable"})
# A grid order is chosen by the model's caches.
MAY_IMPORT["grid_choice"] = frozenset({*_ON_BYTES, "tile", "schedule", "model"})
# Checks that run code: where the checks of bytes meet the virtual GPU.
MAY_IMPORT["checking"] = _ON_BYTES | frozenset({"check", "sim", "executable"})
MAY_IMPORT["torch"] |= frozenset({*_OBSERVERS, "report", "hip", "executable", "modelled_launch", "grid_choice"})
MAY_IMPORT["cli"] |= frozenset(
    {*_OBSERVERS, "report", "hip", "executable", "checking", "modelled_launch", "grid_choice"}
)

# Whole mnemonics and beginnings of them; memory ones by their verb, since scratch_bytes and buffer_size are names too.
_MNEMONIC = re.compile(
    r"^((v|s|ds)_[a-z0-9_]*|(buffer|global|flat|scratch)_((load|store|atomic|inv|wbl2)[a-z0-9_]*)?)$"
)
_ENCODING_SUFFIX = re.compile(r"^_(e32|e64|dpp|sdwa)$")
_STRING_TESTS = frozenset({"startswith", "endswith", "removeprefix", "removesuffix", "match", "fullmatch", "search"})

_LEFT_OVER = ("todo", "fixme", "xxx")
_MACHINE_FOLDERS = ("work", "tmp", "root", "home")
_FORBIDDEN = re.compile(
    "|".join(
        [*(rf"\b{word.upper()}\b" for word in _LEFT_OVER), *(rf"(?<![\w./])/{name}/" for name in _MACHINE_FOLDERS)]
    )
)
_VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})


def imported_modules(source: str, module: str, public: dict[str, str]) -> list[tuple[int, str]]:
    """(line, module) for all that `module` imports from pykittens, in any scope.

    A name taken from the package itself (``pk.name``) counts as an import of the module that `public` gives for it.
    """
    tree = ast.parse(source)
    found: list[tuple[int, str]] = []
    aliases: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name == "pykittens":
                    aliases.add(name.asname or "pykittens")
                elif name.name.startswith("pykittens."):
                    found.append((node.lineno, name.name))
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            if base == "pykittens":
                found += [(node.lineno, public.get(name.name, f"pykittens.{name.name}")) for name in node.names]
            elif base.startswith("pykittens."):
                found.append((node.lineno, base))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            found.append((node.lineno, public.get(node.attr, f"pykittens.{node.attr}")))
    return found


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """The module that a from-import names; `module` is the importing one, with ``.__init__`` for a package."""
    if not node.level:
        return node.module or ""
    return ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])


def import_complaints(source: str, module: str, public: dict[str, str]) -> list[str]:
    """Imports that go against the direction of the rooms."""
    room = module.split(".")[1]
    if room not in MAY_IMPORT:
        return [f"{module}: room {room!r} has no place in MAY_IMPORT"]
    allowed = MAY_IMPORT[room] | {room, "errors", "__version__"}
    return [
        f"{module}:{line}: {room} may not import {name}"
        for line, name in imported_modules(source, module, public)
        if name.split(".")[1] not in allowed
    ]


def mnemonic_complaints(source: str) -> list[str]:
    """Places that decide by an instruction's name: comparisons, prefix tests, patterns and tables keyed on names."""
    return [f"line {node.lineno}: {node.value!r} is tested" for node in _tested_strings(ast.parse(source))]


def _tested_strings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        suspects: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            suspects = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STRING_TESTS:
            suspects = list(node.args)
        elif isinstance(node, ast.MatchValue):
            suspects = [node.value]
        elif isinstance(node, ast.Dict):
            suspects = list(node.keys)
        for suspect in suspects:
            yield from _mnemonics_in(suspect)


def _mnemonics_in(node: ast.expr | None) -> Iterator[ast.Constant]:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield from _mnemonics_in(element)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.lstrip("^")
        if _MNEMONIC.match(name) or _ENCODING_SUFFIX.match(name):
            yield node


def length_complaints(path: str, source: str) -> list[str]:
    """Files longer than one subject needs."""
    lines = source.count("\n")
    return [f"{path}: {lines} lines, at most {MAX_LINES}"] if lines > MAX_LINES else []


def name_complaints(path: str) -> list[str]:
    """File and folder names that name no subject."""
    vague = _VAGUE_NAMES & {part.removesuffix(".py") for part in Path(path).parts}
    return [f"{path}: {name!r} names no subject" for name in sorted(vague)]


def docstring_complaints(path: str, source: str) -> list[str]:
    """Python files that do not say what they are; an empty one is nothing."""
    tree = ast.parse(source)
    return [f"{path}: no module docstring"] if tree.body and not ast.get_docstring(tree) else []


def word_complaints(path: str, source: str) -> list[str]:
    """Left-over notes, and paths that exist on one machine only."""
    return [
        f"{path}:{number}: {found.group()!r}"
        for number, line in enumerate(source.splitlines(), 1)
        for found in _FORBIDDEN.finditer(line)
    ]


def package_modules() -> Iterator[tuple[str, str]]:
    """(dotted module name, source) of every module in a room of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != PACKAGE / "__init__.py":
            yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts), path.read_text("utf-8")


def own_files(*suffixes: str) -> Iterator[tuple[str, str]]:
    """(path from the root, text) of the project's own files with one of the suffixes."""
    folders = [ROOT / name for name in ("src", "tests", "bench", "examples", "docs", ".ci")]
    paths = [path for folder in folders for path in sorted(folder.rglob("*"))] + sorted(ROOT.glob("*"))
    for path in paths:
        generated = "__pycache__" in path.parts or any(part.endswith(".egg-info") for part in path.parts)
        if path.is_file() and path.suffix in suffixes and not generated:
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


def test_imports_go_one_way() -> None:
    complaints = [each for name, text in package_modules() for each in import_complaints(text, name, pykittens._PUBLIC)]
    assert complaints == []


def test_mnemonics_are_tested_in_isa_only() -> None:
    complaints = [
        f"{name}: {each}"
        for name, text in package_modules()
        if not name.startswith("pykittens.isa.")
        for each in mnemonic_complaints(text)
    ]
    assert complaints == []


def test_files_are_short() -> None:
    files = own_files(".py", ".c", ".h", ".js", ".css")
    assert [each for path, text in files for each in length_complaints(path, text)] == []


def test_files_are_named_for_their_subject() -> None:
    assert [each for path, _ in own_files(".py", ".c", ".h", ".md", ".json") for each in name_complaints(path)] == []


def test_files_say_what_they_are() -> None:
    assert [each for path, text in own_files(".py") for each in docstring_complaints(path, text)] == []


def test_nothing_is_left_over() -> None:
    files = own_files(".py", ".c", ".h", ".s", ".md", ".toml", ".json", ".csv", ".html", ".js", ".css", ".sh", "")
    assert [each for path, text in files for each in word_complaints(path, text)] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pykittens.arch.facts", "from pykittens.isa import define"),
        ("pykittens.isa.vop2", "import pykittens.asm.program"),
        ("pykittens.asm.text", "def f():\n    from pykittens.tile import rt"),
        ("pykittens.sim.wave", "from pykittens import tile"),
        ("pykittens.sim.wave", "from pykittens.check import waits"),
        ("pykittens.check.waits", "import pykittens as pk\npk.rt"),
        ("pykittens.tile.ops", "from ..kernels import gemm"),
        ("pykittens.tile.__init__", "from ..kernels import gemm"),
        ("pykittens.kernels.gemm", "from pykittens.sim.device import Device"),
        ("pykittens.errors", "from pykittens.arch import get"),
        ("pykittens.attic.old", "import sys"),
    ],
)
def test_import_rule_sees(module: str, source: str) -> None:
    assert len(import_complaints(source, module, {"rt": "pykittens.tile.rt"})) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "pykittens.asm.text",
            "import numpy\nfrom pykittens.isa.define import Row\nfrom pykittens.errors import Error",
        ),
        ("pykittens.tile.ops", "from .layout import row\nfrom ..asm import program"),
        ("pykittens.kernels.gemm", "import pykittens as pk\npk.rt(1)"),
        ("pykittens.model.issue", "from pykittens import arch"),
        ("pykittens.cli.main", "from pykittens.sim import Device\nfrom pykittens.kernels import gemm"),
    ],
)
def test_import_rule_allows(module: str, source: str) -> None:
    assert import_complaints(source, module, {"rt": "pykittens.tile.rt"}) == []


@pytest.mark.parametrize(
    "source",
    [
        "if name == 'v_add_f32': pass",
        "if name in ('s_barrier', other): pass",
        "if 'v_mfma' in text: pass",
        "wide = name.startswith('ds_read')",
        "wide = name.startswith(('global_', prefix))",
        "plain = name.endswith('_e64')",
        "found = re.match('^buffer_load', name)",
        "match name:\n    case 's_endpgm': pass",
        "table = {'ds_read_b128': 4}",
    ],
)
def test_mnemonic_rule_sees(source: str) -> None:
    assert len(mnemonic_complaints(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "emit('v_add_f32', a, b)",
        "word = 's_nop'",
        "if row.is_matrix and unit == 'valu': pass",
        "name.startswith('.amdhsa')",
        "if name == 'version' or key in ('scratch_bytes', 'global_size'): pass",
        "table = {'row': 4, 'col': 8}",
    ],
)
def test_mnemonic_rule_allows(source: str) -> None:
    assert mnemonic_complaints(source) == []


def test_length_rule_sees() -> None:
    assert length_complaints("a.py", "x = 1\n" * MAX_LINES) == []
    assert length_complaints("a.py", "x = 1\n" * (MAX_LINES + 1)) == ["a.py: 401 lines, at most 400"]


@pytest.mark.parametrize("path", ["src/pykittens/sim/utils.py", "tests/common/x.py", "src/pykittens/helpers.py"])
def test_name_rule_sees(path: str) -> None:
    assert len(name_complaints(path)) == 1
    assert name_complaints("src/pykittens/sim/memory.py") == []


def test_docstring_rule_sees() -> None:
    assert docstring_complaints("a.py", "import sys\n") == ["a.py: no module docstring"]
    assert docstring_complaints("a.py", '"""A file."""\n') == []
    assert docstring_complaints("__init__.py", "") == []


@pytest.mark.parametrize("sample", [*(f"# {word.upper()}: later" for word in _LEFT_OVER), "open('/{}/x')", "`/{}/k`"])
def test_word_rule_sees(sample: str) -> None:
    assert len(word_complaints("a.py", f"x = 1\n{sample.format(_MACHINE_FOLDERS[0])}\n")) == 1


@pytest.mark.parametrize("text", ["work/rate", "out/run.json", "see src/tmp/x", "a method", "N/root/2"])
def test_word_rule_allows(text: str) -> None:
    assert word_complaints("a.py", text) == []
