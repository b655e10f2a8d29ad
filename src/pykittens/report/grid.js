"use strict";
// The grid: every tile of the output in the colour of the XCD that computes it, as the workgroups are dispatched.
(() => {
  const box = document.getElementById("grid-canvas");
  const data = JSON.parse(document.getElementById("grid-data").textContent);
  const slider = document.getElementById("grid-time"), words = document.getElementById("grid-words");
  const tip = document.getElementById("tip");
  const rows = Math.max(...data.row) + 1, cols = Math.max(...data.col) + 1, count = data.row.length;
  const AXIS = 34; // room for the numbers of the tile rows and columns
  const side = () => Math.min((box.clientWidth - AXIS) / cols, 620 / rows, 44);
  const ink = () => getComputedStyle(document.documentElement).getPropertyValue("--soft").trim();

  // Numbers at the edges, as many as there is room for.
  function drawAxes(pen, cell) {
    pen.fillStyle = ink();
    pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
    const every = (room) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((n) => n * cell >= room) || 10000;
    for (let row = 0, step = every(18); row < rows; row += step) pen.fillText(row, AXIS - 14, AXIS + (row + 0.5) * cell);
    for (let col = 0, step = every(30); col < cols; col += step) pen.fillText(col, AXIS + (col + 0.5) * cell, AXIS - 9);
    pen.textAlign = "left";
    pen.fillText("tile columns →", AXIS, 7);
    pen.save();
    pen.translate(7, AXIS);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "right";
    pen.fillText("← tile rows", 0, 0);
    pen.restore();
  }

  function draw() {
    const started = Number(slider.value), cell = side(), scale = window.devicePixelRatio || 1;
    box.style.height = `${Math.ceil(cell * rows + AXIS)}px`;
    box.width = Math.round(box.clientWidth * scale);
    box.height = Math.ceil((cell * rows + AXIS) * scale);
    const pen = box.getContext("2d");
    pen.scale(scale, scale);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    drawAxes(pen, cell);
    pen.textAlign = "center";
    pen.font = `${Math.min(13, cell * 0.42)}px system-ui, "DejaVu Sans", sans-serif`;
    const seam = cell > 4 ? 1 : 0;
    for (let w = 0; w < count; w++) {
      const x = AXIS + data.col[w] * cell, y = AXIS + data.row[w] * cell, xcd = w % data.xcds;
      pen.globalAlpha = w < started ? (w >= started - data.atOnce ? 1 : 0.45) : 0.1;
      pen.fillStyle = data.colours[xcd];
      pen.fillRect(x, y, cell - seam, cell - seam);
      if (cell >= 20) {
        pen.fillStyle = w < started ? "#101820" : ink();
        pen.globalAlpha = w < started ? 1 : 0.6;
        pen.fillText(xcd, x + cell / 2, y + cell / 2);
      }
    }
    pen.globalAlpha = 1;
    words.textContent = `${started.toLocaleString("en")} of ${count.toLocaleString("en")} workgroups started`;
  }

  box.addEventListener("pointermove", (event) => {
    const place = box.getBoundingClientRect(), cell = side();
    const col = Math.floor((event.clientX - place.left - AXIS) / cell);
    const row = Math.floor((event.clientY - place.top - AXIS) / cell);
    const w = data.row.findIndex((r, i) => r === row && data.col[i] === col);
    tip.hidden = w < 0;
    if (w < 0) return;
    tip.textContent = `tile (${row}, ${col}): workgroup ${w}, XCD ${w % data.xcds}`;
    tip.style.left = `${event.clientX + 14}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  box.addEventListener("pointerleave", () => { tip.hidden = true; });
  slider.addEventListener("input", draw);
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
