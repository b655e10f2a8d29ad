"use strict";
// The two panes of code: choosing a source line marks its instructions, choosing an instruction marks its line.
(() => {
  const source = document.getElementById("source-pane"), assembly = document.getElementById("assembly-pane");
  const summary = document.getElementById("code-chosen");
  const byLine = new Map();
  for (const row of assembly.querySelectorAll(".listing > [id]")) {
    row.tabIndex = -1;
    row.setAttribute("role", "button");
  }
  for (const row of assembly.querySelectorAll("[data-of]")) {
    if (!byLine.has(row.dataset.of)) byLine.set(row.dataset.of, []);
    byLine.get(row.dataset.of).push(row);
  }

  function clear() {
    for (const row of document.querySelectorAll(".listing .on")) {
      row.classList.remove("on");
      if (row.hasAttribute("aria-pressed")) row.setAttribute("aria-pressed", "false");
    }
  }

  // Scrolls the pane alone, not the page.
  function reveal(pane, row) {
    const away = row.getBoundingClientRect().top - pane.getBoundingClientRect().top;
    pane.scrollTop += away - pane.clientHeight / 3;
  }

  function showLine(line, jump) {
    clear();
    const found = byLine.get(line) || [];
    for (const row of found) row.classList.add("on");
    const mine = source && source.querySelector(`[data-line="${CSS.escape(line)}"]`);
    if (mine) {
      mine.classList.add("on");
      mine.setAttribute("aria-pressed", "true");
      if (jump) reveal(source, mine);
    }
    if (found.length) reveal(assembly, found[0]);
    summary.textContent = `${line}: ${found.length} instructions`;
  }

  window.showInstruction = (op, jump) => {
    const row = document.getElementById(`i${op}`);
    if (!row) return;
    clear();
    row.classList.add("on");
    const line = row.dataset.of, mine = line && source && source.querySelector(`[data-line="${CSS.escape(line)}"]`);
    if (mine) {
      mine.classList.add("on");
      mine.setAttribute("aria-pressed", "true");
      reveal(source, mine);
    }
    summary.textContent = line ? `${row.querySelector("code").textContent} comes from ${line}` : "";
    if (jump) {
      document.getElementById("code").scrollIntoView({ block: "start" });
      reveal(assembly, row);
      row.focus({ preventScroll: true });
    }
  };

  function choose(row) {
    if (row.dataset.line) showLine(row.dataset.line, false);
    else if (row.id) window.showInstruction(Number(row.id.slice(1)), false);
  }
  for (const pane of [source, assembly]) {
    if (!pane) continue;
    pane.addEventListener("click", (event) => {
      const row = event.target.closest("[role=button]");
      if (row) choose(row);
    });
    // One stop for the Tab key: inside a pane the arrow keys move.
    pane.addEventListener("keydown", (event) => {
      const row = event.target.closest("[role=button]");
      if (row && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        choose(row);
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const all = [...pane.querySelectorAll("[role=button]")], top = pane.getBoundingClientRect().top + 30;
        const next = row
          ? all[all.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)]
          : all.find((each) => each.getBoundingClientRect().top >= top);
        if (next) next.focus();
      }
    });
  }
  for (const button of document.querySelectorAll("button[data-line]")) {
    button.addEventListener("click", () => {
      showLine(button.dataset.line, true);
      document.getElementById("code").scrollIntoView({ block: "start" });
    });
  }
  const heat = (row) => Number(row.style.getPropertyValue("--heat"));
  const hottest = (rows) => [...rows].reduce((best, row) => (best && heat(best) >= heat(row) ? best : row), null);
  const start = assembly.querySelector(".mark.loop") || hottest(assembly.querySelectorAll("[role=button]"));
  if (start) reveal(assembly, start);
  const warm = source && hottest(source.querySelector(".source").querySelectorAll(".hot"));
  if (warm) reveal(source, warm);
})();
