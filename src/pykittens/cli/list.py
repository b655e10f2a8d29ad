"""``pk list``: the kernels, what each computes, and the sizes and options it takes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pykittens.cli import kernel_commands as kc


def list_kernels(
    arch: Annotated[str, typer.Option("--arch", help="Only kernels for this chip: gfx942 or gfx950.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array instead of a table.")] = False,
) -> None:
    """List the kernels with their options."""
    from pykittens import arch as chips
    from pykittens.cli import output
    from pykittens.kernels.problems import PROBLEMS

    archs = [chips.get(arch).name] if arch else list(chips.ARCHS)
    problems = [problem for problem in PROBLEMS.values() if not set(archs).isdisjoint(problem.kernel.archs)]
    rows: list[dict[str, Any]] = []
    for problem in problems:
        defaults = problem.defaults()
        rows.append({
            "kernel": problem.name,
            "description": problem.kernel.description,
            "archs": [name for name in archs if name in problem.kernel.archs],
            "sizes": [{"name": s.name, "default": s.default, "description": s.words} for s in problem.sizes],
            "options": [
                {"flag": o.flag, "values": list(o.values), "default": defaults[o.name], "description": o.words}
                for o in problem.options
            ] + [
                {"flag": o.flag, "values": list(kc.ORDERS), "default": o.default, "description": o.words}
                for o in kc.order_options(problem)
            ],
        })  # fmt: skip
    if as_json:
        output.print_json(rows)
        return
    for row in rows:
        sizes = [(kc.size_flag(s["name"]), s["description"], "any, 0 too", s["default"]) for s in row["sizes"]]
        options = [(o["flag"], o["description"], ", ".join(o["values"]), o["default"]) for o in row["options"]]
        output.print_table(
            f"{row['kernel']}: {row['description']} ({', '.join(row['archs'])})",
            ("option", "is", "values", "default"), [*sizes, *options],
        )  # fmt: skip
