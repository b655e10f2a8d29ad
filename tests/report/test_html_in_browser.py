"""The page in a real browser: its scripts run without an error, and choosing marks what belongs together."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.profiled import gemm_prediction, plain_prediction

from pykittens.report.html_page import profile_page
from pykittens.report.html_registers import RegisterFile

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine"),
]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=4000",
    "--window-size=1400,900", "--dump-dom",
]  # fmt: skip
PROBE = """<script>
window.report = [];
window.addEventListener("error", (event) => window.report.push(`error ${event.message}`));
window.addEventListener("load", () => {
  const say = (words) => window.report.push(words);
  const canvas = document.getElementById("timeline-canvas");
  const send = (kind, dx, dy) => {
    const place = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(kind, { clientX: place.left + dx, clientY: place.top + dy, bubbles: true }));
  };
  say(`wider ${document.documentElement.scrollWidth > window.innerWidth}`);
  say(`painted ${new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size > 20}`);
  send("pointermove", 120, 58);
  say(`tip ${document.getElementById("tip").textContent}`);
  const line = document.querySelector("button[data-line]");
  if (line) {
    line.click();
    say(`line ${document.getElementById("code-chosen").textContent}`);
    const marked = [...document.querySelectorAll(".assembly .on")];
    const source = document.getElementById("source-pane"), press = (where, key) =>
      where.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    source.focus();
    press(source, "ArrowDown");
    const first = document.activeElement;
    press(first, "ArrowDown");
    say(`moved ${first.matches(".source .hot") && document.activeElement !== first}`);
    press(document.activeElement, "Enter");
    say(`pressed ${document.activeElement.getAttribute("aria-pressed")}`);
    say(`marked ${marked.length > 0 && marked.every((row) => row.dataset.of === line.dataset.line)}`);
  }
  for (const key of ["+", "ArrowRight", "-", "End", "Home", "0"]) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
  send("pointerdown", 120, 58); send("pointerup", 120, 58);
  canvas.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  say(`focus ${document.activeElement.id}`);
  const slider = document.getElementById("grid-time");
  slider.value = 1;
  slider.dispatchEvent(new Event("input"));
  say(`grid ${document.getElementById("grid-words").textContent}`);
  document.body.textContent = window.report.map((words) => `[${words}]`).join("");
});
</script>"""


def probed(page: str, tmp_path: Path) -> str:
    path = tmp_path / "page.html"
    path.write_text(page.replace("<body>", f"<body>{PROBE}"), encoding="utf-8")
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_page_of_a_kernel_with_lines(tmp_path: Path) -> None:
    found = probed(profile_page(gemm_prediction(), RegisterFile(128, 64)), tmp_path)
    assert "[error" not in found and "[wider false]" in found and "[painted true]" in found
    assert (
        "clk from" in found
        and "[line gemm.py:" in found
        and "[moved true][pressed true]" in found
        and "[marked true]" in found
    )
    assert "[focus i" in found and "[grid 1 of 6 workgroups started]" in found


def test_page_of_plain_code(tmp_path: Path) -> None:
    found = probed(profile_page(plain_prediction(), RegisterFile(32, 32)), tmp_path)
    assert "[error" not in found and "[wider false]" in found and "[painted true]" in found
    assert "[focus i" in found and "[grid 1 of 3 workgroups started]" in found
