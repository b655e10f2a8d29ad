"""Facts: plain values that remember where they come from.

A chip description is a dataclass of `Facts` whose fields are written with `fact(value, source, note)`. Code reads the
field and gets the bare number (``gfx950.lds_bytes == 163840``); people ask ``gfx950.fact("lds_bytes")`` or
``describe(gfx950)`` and get the number with its source. A field without a source is refused when the chip is defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast, get_args

Source = Literal["measured", "manual", "llvm", "published", "guess"]
"""How a number is known.

measured: on silicon, by a published measurement whose author the note names.
manual: AMD's ISA manual, white paper or matrix calculator, or simple arithmetic on them.
llvm: what LLVM's AMDGPU target states or does.
published: a figure from a paper, blog, driver or library without a method that can be repeated.
guess: inferred here, by analogy or symmetry.
"""

SOURCES: tuple[str, ...] = get_args(Source)

T = TypeVar("T")


@dataclass(frozen=True)
class Fact:
    """One value, its source word and, in `note`, who says so and under which condition."""

    value: Any
    source: Source
    note: str

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"source {self.source!r} is not one of {', '.join(SOURCES)}")


def fact(value: T, source: Source, note: str = "") -> T:
    """A field value for `Facts`. Typed as the value itself, since that is what the finished field holds."""
    return cast(T, Fact(value, source, note))


class Facts:
    """Base of frozen dataclasses whose every field is a `fact(...)`, another `Facts`, or a tuple of `Facts`.

    Fields of type `str` that merely name the thing may be plain; every other plain value raises TypeError, so no
    number without a source gets in.
    """

    _known: dict[str, Fact]

    def __post_init__(self) -> None:
        known: dict[str, Fact] = {}
        for field in fields(cast(Any, self)):
            given = getattr(self, field.name)
            if isinstance(given, Fact):
                known[field.name] = given
                object.__setattr__(self, field.name, given.value)
            elif not (isinstance(given, (str, Facts)) or _is_group(given)):
                raise TypeError(f"{type(self).__name__}.{field.name} = {given!r} has no source: write fact(...)")
        object.__setattr__(self, "_known", known)

    def fact(self, name: str) -> Fact:
        """The field `name` with its source; a dotted path reaches into groups: ``"memory.l2_bytes"``.

        Raises KeyError for a name that is no sourced field.
        """
        head, _, rest = name.partition(".")
        if not rest:
            return self._known[head]
        group = getattr(self, head, None)
        if not isinstance(group, Facts):
            raise KeyError(name)
        return group.fact(rest)

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Every fact below this one in the order of definition, as (dotted path, fact).

        Members of a tuple are reached by their `name`: ``"devices.MI355X.cus_per_xcd"``.
        """
        for field in fields(cast(Any, self)):
            value = getattr(self, field.name)
            if field.name in self._known:
                yield field.name, self._known[field.name]
            elif isinstance(value, Facts):
                yield from ((f"{field.name}.{path}", each) for path, each in value.facts())
            elif _is_group(value):
                for member in value:
                    yield from ((f"{field.name}.{member.name}.{path}", each) for path, each in member.facts())


def _is_group(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(member, Facts) for member in value)
