"use strict";
// The grid: every tile of the output in the colour of the XCD that computes it, as the workgroups are dispatched.
(() => {
  const box = document.getElementById("grid-canvas");
  const data = JSON.parse(document.getElementById("grid-data").textContent);
  const slider = document.getElementById("grid-time"), words = document.getElementById("grid-words");
  const tip = document.getElementById("tip");
  const rows = Math.max(...data.row) + 1, cols = Math.max(...data.col) + 1, count = data.row.length;
  const side = () => Math.min(box.clientWidth / cols, 620 / Math.max(rows, 1), 44);

  function draw() {
    const started = Number(slider.value), cell = side(), scale = window.devicePixelRatio || 1;
    box.style.height = `${Math.ceil(cell * rows)}px`;
    box.width = Math.round(box.clientWidth * scale);
    box.height = Math.ceil(cell * rows * scale);
    const pen = box.getContext("2d");
    pen.scale(scale, scale);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = `${Math.min(13, cell * 0.42)}px system-ui, "DejaVu Sans", sans-serif`;
    const seam = cell > 4 ? 1 : 0;
    for (let w = 0; w < count; w++) {
      const x = data.col[w] * cell, y = data.row[w] * cell, xcd = w % data.xcds;
      pen.globalAlpha = w < started ? (w >= started - data.atOnce ? 1 : 0.45) : 0.1;
      pen.fillStyle = data.colours[xcd];
      pen.fillRect(x, y, cell - seam, cell - seam);
      if (cell >= 20) {
        pen.fillStyle = "#101820";
        pen.globalAlpha = w < started ? 1 : 0.45;
        pen.fillText(xcd, x + cell / 2, y + cell / 2);
      }
    }
    pen.globalAlpha = 1;
    words.textContent = `${started.toLocaleString("en")} of ${count.toLocaleString("en")} workgroups started`;
  }

  box.addEventListener("pointermove", (event) => {
    const place = box.getBoundingClientRect(), cell = side();
    const col = Math.floor((event.clientX - place.left) / cell), row = Math.floor((event.clientY - place.top) / cell);
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
  draw();
})();
