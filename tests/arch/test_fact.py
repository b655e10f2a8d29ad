"""Facts give bare values to code and sources to people, and refuse numbers without one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pykittens.arch.fact import Facts, fact


@dataclass(frozen=True, kw_only=True)
class Engine(Facts):
    name: str
    clk: int


@dataclass(frozen=True, kw_only=True)
class Car(Facts):
    name: str
    seats: int
    engine: Engine
    spares: tuple[Engine, ...]


def engine(name: str, clk: int) -> Engine:
    return Engine(name=name, clk=fact(clk, "measured", "stop watch"))


CAR = Car(
    name="car", seats=fact(4, "manual", "page 1"), engine=engine("v8", 8), spares=(engine("a", 1), engine("b", 2))
)


def test_fields_are_bare_values() -> None:
    assert CAR.seats + 1 == 5
    assert type(CAR.seats) is int
    assert CAR.engine.clk == 8


def test_source_is_found_by_path() -> None:
    assert (CAR.fact("seats").value, CAR.fact("seats").source, CAR.fact("seats").note) == (4, "manual", "page 1")
    assert CAR.fact("engine.clk").source == "measured"


@pytest.mark.parametrize("path", ["doors", "engine.doors", "seats.clk", "name", "wheels.clk"])
def test_unknown_path_is_a_key_error(path: str) -> None:
    with pytest.raises(KeyError):
        CAR.fact(path)


def test_all_facts_are_listed_in_order() -> None:
    assert [(path, each.value) for path, each in CAR.facts()] == [
        ("seats", 4),
        ("engine.clk", 8),
        ("spares.a.clk", 1),
        ("spares.b.clk", 2),
    ]


def test_number_without_source_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Engine.clk = 5 has no source"):
        Engine(name="bare", clk=5)


def test_tuple_of_bare_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match="has no source"):
        Car(name="car", seats=fact(4, "manual"), engine=engine("v8", 8), spares=(1, 2))  # type: ignore[arg-type]


def test_unknown_source_word_is_refused() -> None:
    with pytest.raises(ValueError, match="'hearsay' is not one of measured, manual, llvm, published, guess"):
        fact(1, "hearsay")  # type: ignore[arg-type]


def test_facts_do_not_change() -> None:
    with pytest.raises(AttributeError):
        CAR.seats = 5  # type: ignore[misc]
