"""The page: whole, self-contained, the same every time, and safe against what names and sources hold."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.report.profiled import gemm_prediction, plain_prediction

from pykittens.model.prediction import Prediction, summary_rows
from pykittens.report.html_page import profile_page
from pykittens.report.html_registers import RegisterFile, TileRegisters
from pykittens.report.html_timeline import timeline_data

_VOID = frozenset(("meta", "link", "input", "rect"))
_SOURCE = "\n".join(f"line {i} </script><b>&" for i in range(1, 401))


class Page(HTMLParser):
    """Tags in order, ids, and the text of each script; refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "script":
            self._script = dict(attrs).get("id") or "code"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag
        self._script = None

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data

    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]


def page_of(prediction: Prediction, **sources: str) -> str:
    return profile_page(prediction, RegisterFile(128, 64), {f"{name}.py": text for name, text in sources.items()})


@pytest.mark.parametrize("made", [gemm_prediction, plain_prediction])
def test_whole_and_self_contained(made: Any) -> None:
    text = page_of(made(), gemm=_SOURCE)
    page = Page(text)
    assert len(page.ids()) == len(set(page.ids()))
    markup = re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)
    assert "{{" not in markup and "}}" not in markup
    for tag, attrs in page.tags:
        assert tag not in ("img", "iframe", "object", "embed")
        assert "src" not in attrs
        href = attrs.get("href")
        if href is not None:
            assert href == "data:," or (href.startswith("#") and href[1:] in page.ids())
    for forbidden in ("http://", "https://", "@import", "url(", "fetch(", "XMLHttpRequest", "eval("):
        assert forbidden not in text
    wanted = re.findall(r'getElementById\("([\w-]+)"\)', page.scripts["code"])
    optional = {"source-pane"} if made is plain_prediction else set()
    assert wanted and set(wanted) - optional <= set(page.ids())


def test_same_prediction_same_bytes() -> None:
    assert page_of(gemm_prediction(), gemm=_SOURCE) == page_of(gemm_prediction(), gemm=_SOURCE)


def test_every_figure_of_the_summary_is_called_modelled() -> None:
    p = gemm_prediction()
    text = page_of(p)
    summary = text[text.index('<section id="summary">') : text.index('<section id="timeline">')]
    rows = summary_rows(p)
    assert summary.count('class="modelled"') == len(rows) == summary.count('class="value"')
    captions = re.findall(r"<caption>(.*?)</caption>", text)
    assert all("(modelled)" in caption for caption in captions if caption != "Guesses")
    assert all(guess.name in text for guess in p.guesses)


def test_hostile_names_and_sources_are_only_text() -> None:
    p = gemm_prediction()
    times = p.instructions
    evil = "</script><script>alert(1)</script>"
    hostile = replace(
        p, kernel=evil,
        instructions=replace(times, phase=tuple(evil if name else None for name in times.phase),
                             line=tuple(f"{evil}{{{{data}}}}:1" if place else None for place in times.line)),
    )  # fmt: skip
    calm = Page(page_of(p))
    page = Page(profile_page(hostile, RegisterFile(128, 64), {f"{evil}{{{{data}}}}": evil}))
    count = [tag for tag, _ in calm.tags].count("script")
    assert [tag for tag, _ in page.tags].count("script") == count
    assert [attrs.get("data-of") for _, attrs in page.tags].count(f"{evil}{{{{data}}}}:1") > 100


def test_a_lines_instructions_are_its_own() -> None:
    p = gemm_prediction()
    page = Page(page_of(p, gemm=_SOURCE))
    of = {attrs["id"]: attrs.get("data-of") for _, attrs in page.tags if (attrs.get("id") or "").startswith("i")}
    ran = [op for op, count in enumerate(p.instructions.executed) if count]
    assert {f"i{op}" for op in ran} <= of.keys()
    assert all(of[f"i{op}"] == p.instructions.line[op] for op in ran)
    lines = {attrs.get("data-line") for tag, attrs in page.tags if tag == "div" and "role" in attrs}
    assert {p.instructions.line[op] for op in ran if p.instructions.line[op]} <= lines
    assert all("tabindex" in attrs for _, attrs in page.tags if attrs.get("role") == "button")


def test_a_line_has_the_clk_of_its_instructions_and_tiles_stand_in_their_registers() -> None:
    p = gemm_prediction()
    text = page_of(p, gemm=_SOURCE)
    times = p.instructions
    busiest = max(filter(None, times.line), key=times.line.count)
    clk = sum(
        (float(times.issue_clk[op]) + float(times.stall_clk[op].sum())) / int(times.executed[op])
        for op, line in enumerate(times.line)
        if line == busiest and times.executed[op]
    )
    row = next(part for part in text.split("<div ") if part.startswith(f'data-line="{busiest}"'))
    assert f"<span>{clk:,.0f}</span>" in row
    tiles = (TileRegisters("c[0, 1]", (("v", 10, 40),), "f32 64x32"),)
    labels = [attrs.get("data-tile") for _, attrs in Page(profile_page(p, RegisterFile(128, 64, tiles))).tags]
    assert labels.count("c[0, 1]") == 2  # v10 to v49: where it begins, and where the second row of the map does


def test_code_without_lines_has_its_hottest_instructions() -> None:
    assert "By instruction (modelled)" in page_of(plain_prediction())
    assert "By instruction (modelled)" not in page_of(gemm_prediction())


def test_code_without_lines_has_one_pane_and_says_so() -> None:
    text = page_of(plain_prediction())
    assert "no line table" in text and 'id="source-pane"' not in text
    assert "8 instructions that were not executed" in text


def test_lds_conflicts_are_drawn() -> None:
    text = page_of(plain_prediction())
    lds = text[text.index('<section id="lds">') : text.index('<section id="grid">')]
    assert "lost to bank conflicts" in lds and "32 banks, at most 32 dwords of one" in lds
    assert "No bank conflicts" in page_of(gemm_prediction())


def test_timeline_data_is_the_window() -> None:
    data = timeline_data(gemm_prediction())
    assert len(data["waves"]) == 8 and set(data["cores"]) == {"0", "1", "2", "3"}
    for wave in data["waves"]:
        assert sum(length for _, length, _, _ in wave["slices"]) == data["clk"]
        assert [name for _, _, name in wave["phases"]].count("00") >= 2
    for cuts in data["cores"].values():
        assert all(start >= 0 and start + length <= data["clk"] for start, length, _ in cuts)
    assert {row[2] for wave in data["waves"] for row in wave["slices"]} == set(data["used"])


def test_a_crowded_timeline_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykittens.report.html_timeline.MAX_SLICES", 800)
    data = timeline_data(gemm_prediction())
    assert max(len(wave["slices"]) for wave in data["waves"]) <= 101 and "its first" in data["words"]
