"use strict";
// Grids of coloured cells, as tasks and the outputs of grid programs have them.
//
//   S.grid.read(text)       rows of "3:0c50b": the width, then runs of a colour and a letter for
//                           their length, if it is more than one cell (b is 2, z is 26)
//   S.grid.draw(rows, { label, wrong, numbers, faint })  an SVG; `wrong` is rows of true where a
//                           cell should be different, `faint` draws the others weakly
//   S.grid.wrong(rows, expected)  such rows, or null if the shapes differ
{
  const S = (window.swathe ??= {});
  const { svg } = S;

  // The usual colours of these tasks, whatever the theme of the page.
  const COLORS = ["#000000", "#0074d9", "#ff4136", "#2ecc40", "#ffdc00", "#aaaaaa", "#f012be", "#ff851b", "#7fdbff", "#870c25"];
  const NAMES = ["black", "blue", "red", "green", "yellow", "grey", "magenta", "orange", "light blue", "maroon"];
  const NO_COLOR = "#ffffff";
  /** Black or white, whichever is read more easily on a colour. */
  const INKS = ["#ffffff", "#ffffff", "#000000", "#000000", "#000000", "#000000", "#ffffff", "#000000", "#000000", "#ffffff"];

  const read = (text) => {
    const colon = text.indexOf(":");
    const width = Number(text.slice(0, colon));
    const cells = [];
    for (const character of text.slice(colon + 1)) {
      const code = character.charCodeAt(0);
      if (code < 58) cells.push(code - 48);
      else for (let n = code - 97; n > 0; n -= 1) cells.push(cells[cells.length - 1]);
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += width) rows.push(cells.slice(at, at + width));
    return rows;
  };

  const widthOf = (rows) => rows.reduce((n, row) => Math.max(n, row.length), 0);
  const wrong = (rows, expected) => {
    const isSame = rows.length === expected.length && rows.every((row, i) => row.length === expected[i].length);
    return isSame ? rows.map((row, i) => row.map((cell, j) => cell !== expected[i][j])) : null;
  };

  const name = (cell) => NAMES[cell] ?? "no colour";

  // One path for all cells of a colour: a grid of 900 cells is ten elements, not 900.
  const draw = (rows, { label, wrong: isWrong, numbers, faint } = {}) => {
    const [height, width] = [rows.length, widthOf(rows)];
    const paths = new Map();
    const kept = new Map();
    const texts = [];
    let marks = "";
    let crosses = "";
    rows.forEach((row, i) => row.forEach((cell, j) => {
      const bad = Boolean(isWrong?.[i]?.[j]);
      const into = faint && !bad ? kept : paths;
      into.set(cell, `${into.get(cell) ?? ""}M${j} ${i}h1v1h-1z`);
      if (bad) {
        marks += `M${j + 0.1} ${i + 0.1}h.8v.8h-.8z`;
        if (!numbers) crosses += `M${j + 0.34} ${i + 0.34}l.32 .32m0 -.32l-.32 .32`;
      }
      if (numbers) texts.push(svg("text", { x: j + 0.5, y: i + 0.5, dy: ".35em", fill: INKS[cell] ?? "#000000" }, String(cell)));
    }));
    const filled = (from, attributes) => [...from].map(([cell, d]) =>
      svg("path", { d, fill: COLORS[cell] ?? NO_COLOR, "data-cell": cell, class: "cells", ...attributes }));
    const drawing = svg("svg", {
      class: "arc-grid", role: "img", "aria-label": `${label ?? "a grid"}: ${height} × ${width}`,
      viewBox: `-0.06 -0.06 ${Math.max(width, 1) + 0.12} ${Math.max(height, 1) + 0.12}`, "data-tips": "",
    },
      filled(kept, { class: "cells faint" }), filled(paths),
      marks ? [svg("path", { d: marks, class: "mark-under" }), svg("path", { d: marks, class: "mark-over", "data-wrong": rows.flat().length && isWrong.flat().filter(Boolean).length })] : null,
      crosses ? [svg("path", { d: crosses, class: "mark-under" }), svg("path", { d: crosses, class: "mark-over" })] : null,
      texts);
    drawing.style.setProperty("--columns", String(Math.max(width, 1)));
    drawing.addEventListener("pointermove", (event) => {
      const box = drawing.getBoundingClientRect();
      const [i, j] = [Math.floor(((event.clientY - box.top) / box.height) * height), Math.floor(((event.clientX - box.left) / box.width) * width)];
      const cell = rows[i]?.[j];
      if (cell === undefined) return S.tip.hide();
      S.tip.show(`row ${i}, column ${j}: ${cell}, ${name(cell)}${isWrong?.[i]?.[j] ? ", wrong" : ""}`, event.clientX, event.clientY);
    });
    drawing.addEventListener("pointerleave", S.tip.hide);
    return drawing;
  };

  S.grid = { read, wrong, draw, COLORS };
}
