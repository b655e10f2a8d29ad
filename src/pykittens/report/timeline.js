"use strict";
// The timeline: waves of one compute unit over one iteration, drawn on a canvas; zoom by keys, buttons or wheel.
(() => {
  const box = document.getElementById("timeline-canvas");
  if (!box) return;
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const instruction = (op) => document.getElementById(`i${op}`); // its row in the code
  const text = (op) => instruction(op).querySelector("code").textContent;
  const tip = document.getElementById("tip");
  const LEFT = 84, AXIS = 24, CORE = 12, PHASE = 13, BAND = 22, GAP = 7, GROUP = 12;
  // Colours of the page, light or dark as the reader has it.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const waveColours = ["#0f4c81", "#74aede", "#3a7fbe", "#aacdec"];
  let from = 0, to = data.clk, rows = [];

  function layout() {
    rows = [];
    let y = AXIS + 6;
    for (const simd of Object.keys(data.cores)) {
      rows.push({ kind: "core", simd: +simd, y, height: CORE, cuts: data.cores[simd] });
      y += CORE + 4;
      for (const wave of data.waves.filter((w) => w.simd === +simd)) {
        const tall = wave.phases.length ? PHASE : 0;
        rows.push({ kind: "wave", wave, y, height: tall + BAND, tall, cuts: wave.slices });
        y += tall + BAND + GAP;
      }
      y += GROUP;
    }
    return y;
  }
  const total = layout();

  const width = () => box.clientWidth - LEFT - 8;
  const x = (clk) => LEFT + ((clk - from) / (to - from)) * width();

  function step() {
    const wanted = ((to - from) / width()) * 90;
    const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted) || 10 * power;
  }

  function drawAxis(pen) {
    pen.fillStyle = colour("soft");
    pen.strokeStyle = colour("tick");
    pen.textAlign = "center";
    const every = step();
    for (let clk = Math.ceil(from / every) * every; clk <= to; clk += every) {
      pen.beginPath();
      pen.moveTo(x(clk), AXIS);
      pen.lineTo(x(clk), total);
      pen.stroke();
      if (x(clk) < box.clientWidth - 24) pen.fillText(clk.toLocaleString("en"), x(clk), 11);
    }
    pen.textAlign = "right";
    pen.fillText("clk", LEFT - 10, 11);
  }

  // First index whose slice ends after `from`; slices are in order of time.
  function begin(cuts) {
    let low = 0, high = cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cuts[middle][0] + cuts[middle][1] <= from) low = middle + 1; else high = middle;
    }
    return low;
  }

  function drawRow(pen, row) {
    pen.textAlign = "right";
    pen.fillStyle = colour(row.kind === "core" ? "soft" : "ink");
    const name = row.kind === "core" ? `SIMD ${row.simd} MFMA` : `wave ${row.wave.wave}`;
    pen.fillText(name, LEFT - 10, row.y + row.height / 2 + (row.tall || 0) / 2 + 4);
    if (row.kind === "core") {
      pen.fillStyle = colour("idle");
      pen.fillRect(LEFT, row.y, width(), CORE);
    }
    const top = row.y + (row.tall || 0), tall = row.height - (row.tall || 0);
    for (let i = begin(row.cuts); i < row.cuts.length && row.cuts[i][0] < to; i++) {
      const [start, length, which] = row.cuts[i];
      const a = Math.max(LEFT, x(start)), b = Math.min(LEFT + width(), x(start + length));
      if (row.kind === "core") {
        pen.fillStyle = waveColours[data.waves.filter((w) => w.simd === row.simd).findIndex((w) => w.wave === which) % 4];
        pen.fillRect(a, top, Math.max(b - a, 0.5), tall);
        continue;
      }
      pen.fillStyle = data.states[which][1];
      const inset = which >= 7 ? 5 : 0; // waiting is lower than work
      const seam = b - a > 5 ? 0.7 : 0;
      pen.fillRect(a, top + inset, Math.max(b - a - seam, 0.4), tall - 2 * inset);
      if (b - a > 60 && which < 7) {
        pen.save();
        pen.beginPath();
        pen.rect(a, top, b - a, tall);
        pen.clip();
        pen.fillStyle = "#fff";
        pen.textAlign = "left";
        pen.fillText(text(row.cuts[i][3]), a + 4, top + 15);
        pen.restore();
      }
    }
    if (row.tall) drawPhases(pen, row);
  }

  function drawPhases(pen, row) {
    const colours = ["phase", "other-phase", "ink"].map(colour);
    row.wave.phases.forEach(([start, end, name], i) => {
      if (end <= from || start >= to) return;
      const a = Math.max(LEFT, x(start)), b = Math.min(LEFT + width(), x(end));
      pen.fillStyle = colours[i % 2];
      pen.fillRect(a, row.y, b - a, row.tall - 1);
      if (b - a < pen.measureText(name).width + 6) return;
      pen.fillStyle = colours[2];
      pen.textAlign = "left";
      pen.save();
      pen.beginPath();
      pen.rect(a, row.y, b - a, row.tall);
      pen.clip();
      pen.fillText(name, a + 4, row.y + 10);
      pen.restore();
    });
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    box.style.height = `${total}px`;
    box.width = Math.round(box.clientWidth * scale);
    box.height = Math.round(total * scale);
    const pen = box.getContext("2d");
    pen.scale(scale, scale);
    pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
    drawAxis(pen);
    for (const row of rows) drawRow(pen, row);
  }

  function show(a, b) {
    const span = Math.min(data.clk, Math.max(40, b - a));
    from = Math.min(Math.max(0, a), data.clk - span);
    to = from + span;
    draw();
  }
  function zoom(factor, around = (from + to) / 2) {
    const span = (to - from) * factor;
    show(around - ((around - from) / (to - from)) * span, around + ((to - around) / (to - from)) * span);
  }
  const move = (part) => show(from + part * (to - from), to + part * (to - from));

  function at(event) {
    const place = box.getBoundingClientRect();
    const clk = from + ((event.clientX - place.left - LEFT) / width()) * (to - from);
    const y = event.clientY - place.top;
    const row = rows.find((r) => y >= r.y && y < r.y + r.height);
    const cut = row && clk >= from && row.cuts.find(([start, length]) => clk >= start && clk < start + length);
    return { clk, row, cut };
  }

  function tell(event) {
    const { row, cut } = at(event);
    tip.hidden = !cut;
    if (!cut) return;
    const [start, length, which, op] = cut;
    tip.textContent = "";
    const say = (tag, words) => tip.appendChild(Object.assign(document.createElement(tag), { textContent: words }));
    if (row.kind === "core") {
      say("div", `MFMA of wave ${which}: ${length} clk from ${start} (modelled)`);
    } else {
      say("strong", data.states[which][0]);
      say("div", `${length} clk from ${start} (modelled), wave ${row.wave.wave}`);
      say("code", text(op));
      if (instruction(op).dataset.of) say("div", instruction(op).dataset.of);
    }
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8)}px`;
  }

  let dragged = null;
  box.addEventListener("pointerdown", (event) => { dragged = { x: event.clientX, from, to, moved: false }; });
  window.addEventListener("pointerup", () => { dragged = null; });
  box.addEventListener("pointermove", (event) => {
    if (dragged && Math.abs(event.clientX - dragged.x) > 3) {
      dragged.moved = true;
      const shift = ((dragged.x - event.clientX) / width()) * (dragged.to - dragged.from);
      show(dragged.from + shift, dragged.to + shift);
      tip.hidden = true;
    } else if (!dragged) tell(event);
  });
  box.addEventListener("pointerleave", () => { tip.hidden = true; });
  let clicked = null;
  box.addEventListener("pointerup", (event) => { clicked = dragged && dragged.moved ? null : at(event); });
  box.addEventListener("click", () => {
    if (clicked && clicked.cut && clicked.row.kind === "wave") window.showInstruction(clicked.cut[3], true);
  });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, at(event).clk);
  }, { passive: false });
  const keys = {
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), "0": () => show(0, data.clk),
    ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), Home: () => show(0, to - from),
    End: () => show(data.clk - (to - from), data.clk),
  };
  box.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
  });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => keys[button.dataset.zoom]());
  }
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
