"use strict";
// The matrix of tasks and programs: a cell for each pair, drawn on a canvas, because there may be
// hundreds of thousands.
//
//   S.matrix(data, onCell(task, program)) -> Element
//   data: { tasks, programs, n_tasks, n_programs, cells (base64, a byte each), codes }
//
// The element has `matrix`: { what(task, program), order("tasks"|"programs", way), tasks, programs }.
// Keys: arrows move the mark, Home and End to the row's ends, Enter looks at the task.
{
  const S = (window.swathe ??= {});
  const { h } = S;
  const CELL_PX_MAX = 26;
  const CELL_PX_MIN = 2;
  // From this size on rows and columns have their names beside them.
  const NAMED_PX_MIN = 14;
  const NAMES_PX = 150;
  const DOT_PX = 5;
  const TAP_PX = 22;
  const CANVAS_PX_MAX = 4e6;

  S.matrix = (data, onCell) => {
    const { codes } = data;
    const bytes = Uint8Array.from(atob(data.cells), (character) => character.charCodeAt(0));
    const [nRows, nColumns] = [data.tasks.length, data.programs.length];
    const byte = (task, program) => bytes[task * nColumns + program];
    const solves = (code) => code >= codes.solves_untested && code <= codes.solves;
    const what = (code) => {
      if (code === codes.not_run) return "did not run";
      if (code === codes.no_output) return "no output: every call ended in an error";
      if (code === codes.solves) return "solves it, the tests too";
      if (code === codes.solves_tests_wrong) return "right on all demonstrations, wrong on a test";
      if (code === codes.solves_untested) return "right on all demonstrations; the tests’ answers are not known";
      return `mean score ${(code / codes.score_max).toFixed(2)}`;
    };
    const scoreOf = (code) => (solves(code) ? 1 : code <= codes.score_max ? code / codes.score_max : 0);

    const sums = (n, of) => Array.from({ length: n }, (_, at) => {
      let [nSolved, score] = [0, 0];
      for (const code of of(at)) {
        if (solves(code)) nSolved += 1;
        score = Math.max(score, scoreOf(code));
      }
      return { nSolved, score };
    });
    const ofTask = sums(nRows, (task) => bytes.subarray(task * nColumns, (task + 1) * nColumns));
    const ofProgram = sums(nColumns, function* codesOf(program) {
      for (let task = 0; task < nRows; task += 1) yield byte(task, program);
    });
    const ways = { run: "as in the run", solved: "most solved first", score: "best score first", name: "by name" };
    const arranged = (way, names, of) => {
      const order = names.map((_, at) => at);
      const text = (a, b) => names[a].localeCompare(names[b], "en", { numeric: true });
      if (way === "solved") order.sort((a, b) => of[b].nSolved - of[a].nSolved || of[b].score - of[a].score || a - b);
      if (way === "score") order.sort((a, b) => of[b].score - of[a].score || of[b].nSolved - of[a].nSolved || a - b);
      if (way === "name") order.sort(text);
      return order;
    };
    let rows = arranged("run", data.tasks, ofTask);
    let columns = arranged("run", data.programs, ofProgram);

    const canvas = h("canvas", { "aria-hidden": "true" });
    const cursor = h("div", { class: "matrix-cursor", hidden: true });
    const readout = h("p", { class: "readout", "aria-live": "polite" });
    const stage = h("div", {
      class: "matrix-stage", tabindex: "0", role: "group", "data-tips": "",
      "aria-label": `${S.counted(nRows, "task")} by ${S.counted(nColumns, "program")}. Arrow keys move, Enter looks at the task.`,
    }, canvas, cursor);
    const rowNames = h("div", { class: "matrix-rows", "aria-hidden": "true" });
    const columnNames = h("div", { class: "matrix-columns", "aria-hidden": "true" });
    const named = h("div", { class: "matrix-named" }, columnNames, rowNames, stage);
    const scroll = h("div", { class: "matrix-scroll" }, named);
    let cellPx = CELL_PX_MIN;
    let at = null;

    const draw = () => {
      const room = element.clientWidth - 2 || 720;
      const fitting = (px) => Math.min(CELL_PX_MAX, Math.floor(px / Math.max(1, nColumns)));
      const hasNames = fitting(room - NAMES_PX) >= NAMED_PX_MIN;
      // Touch needs larger cells; then the matrix scrolls. Canvases have a largest size.
      const tapPx = matchMedia("(pointer: coarse)").matches ? Math.min(TAP_PX, Math.floor(Math.sqrt(CANVAS_PX_MAX / Math.max(1, nRows * nColumns)))) : 0;
      cellPx = hasNames ? fitting(room - NAMES_PX) : Math.max(CELL_PX_MIN, tapPx, fitting(room));
      named.classList.toggle("has-names", hasNames);
      named.style.setProperty("--cell", `${cellPx}px`);
      const names = (order, of) => (hasNames ? order.map((which) => h("span", {}, of[which])) : []);
      rowNames.replaceChildren(...names(rows, data.tasks));
      columnNames.replaceChildren(...names(columns, data.programs));
      const ratio = Math.max(1, Math.round(window.devicePixelRatio || 1));
      const [width, height] = [nColumns * cellPx, nRows * cellPx];
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = stage.style.width = `${width}px`;
      canvas.style.height = stage.style.height = `${height}px`;
      if (nRows === 0 || nColumns === 0) return;
      const palette = paletteOf(codes);
      const small = new ImageData(nColumns, nRows);
      const pixels = new Uint32Array(small.data.buffer);
      rows.forEach((task, row) => columns.forEach((program, column) => {
        pixels[row * nColumns + column] = palette[byte(task, program)];
      }));
      const drawn = h("canvas", { width: nColumns, height: nRows });
      drawn.getContext("2d").putImageData(small, 0, 0);
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(drawn, 0, 0, canvas.width, canvas.height);
      if (cellPx >= 8) signs(context, ratio);
      else if (cellPx < DOT_PX) dots(context, ratio);
      point(at && { ...at }, true);
    };

    // Where cells are large enough, the most important states also have a sign.
    const signs = (context, ratio) => {
      const style = getComputedStyle(document.documentElement);
      const size = cellPx * ratio;
      context.lineWidth = ratio;
      context.strokeStyle = style.getPropertyValue("--paper");
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.font = `${Math.round(size * 0.62)}px ${style.getPropertyValue("--sans")}`;
      rows.forEach((task, row) => columns.forEach((program, column) => {
        const code = byte(task, program);
        const [x, y] = [column * size, row * size];
        context.strokeRect(x + ratio / 2, y + ratio / 2, size - ratio, size - ratio);
        const sign = SIGNS(codes)[code];
        if (!sign || cellPx < 12) return;
        context.fillStyle = style.getPropertyValue(solves(code) ? "--on-fill" : "--faint");
        context.fillText(sign, x + size / 2, y + size / 2 + ratio);
      }));
    };

    // Where cells are tiny, solutions are drawn larger than their cells, because they are few and
    // matter most.
    const dots = (context, ratio) => {
      const style = getComputedStyle(document.documentElement);
      const fills = new Map(looks(codes).map(({ code, color }) => [code, style.getPropertyValue(color)]));
      const [size, dot] = [cellPx * ratio, DOT_PX * ratio];
      rows.forEach((task, row) => columns.forEach((program, column) => {
        const code = byte(task, program);
        if (!solves(code)) return;
        context.fillStyle = fills.get(code);
        context.fillRect(column * size + (size - dot) / 2, row * size + (size - dot) / 2, dot, dot);
      }));
    };

    const tell = ({ row, column }) =>
      `${data.tasks[rows[row]]} × ${data.programs[columns[column]]}: ${what(byte(rows[row], columns[column]))}`;
    const point = (to, quiet) => {
      at = to;
      cursor.hidden = !to;
      if (!to) {
        readout.textContent = "";
        return;
      }
      cursor.style.width = cursor.style.height = `${cellPx}px`;
      cursor.style.transform = `translate(${to.column * cellPx}px, ${to.row * cellPx}px)`;
      if (!quiet) readout.textContent = tell(to);
    };
    const under = (event) => {
      const box = canvas.getBoundingClientRect();
      const [column, row] = [Math.floor((event.clientX - box.left) / cellPx), Math.floor((event.clientY - box.top) / cellPx)];
      return row >= 0 && column >= 0 && row < nRows && column < nColumns ? { row, column } : null;
    };
    const look = ({ row, column }) => onCell(data.tasks[rows[row]], data.programs[columns[column]]);
    stage.addEventListener("pointermove", (event) => {
      const to = under(event);
      if (!to) return;
      point(to);
      S.tip.show(tell(to), event.clientX, event.clientY);
    });
    stage.addEventListener("pointerleave", () => { S.tip.hide(); point(null); });
    stage.addEventListener("click", (event) => { const to = under(event); if (to) look(to); });
    stage.addEventListener("focus", () => { if (!at && nRows && nColumns && stage.matches(":focus-visible")) point({ row: 0, column: 0 }); });
    stage.addEventListener("keydown", (event) => {
      if (nRows === 0 || nColumns === 0) return;
      const { row, column } = at ?? { row: 0, column: 0 };
      const to = {
        ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
        Home: [row, 0], End: [row, nColumns - 1], PageUp: [row - 20, column], PageDown: [row + 20, column],
      }[event.key];
      if (event.key === "Enter") look({ row, column });
      else if (to) {
        point({ row: Math.max(0, Math.min(nRows - 1, to[0])), column: Math.max(0, Math.min(nColumns - 1, to[1])) });
        cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else return;
      event.preventDefault();
    });

    const order = (which, way) => {
      if (which === "tasks") rows = arranged(way, data.tasks, ofTask);
      else columns = arranged(way, data.programs, ofProgram);
      at = null;
      draw();
      point(null);
    };
    const select = (which, label) => h("label", {}, `${label} `,
      h("select", { "data-order": which, onchange: (event) => order(which, event.target.value) },
        Object.entries(ways).map(([way, text]) => h("option", { value: way }, text))));

    const details = h("details", { class: "numbers" }, h("summary", {}, "Numbers as a table"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector(".table")) return;
      const cells = [];
      bytes.forEach((code, k) => { if (code !== codes.not_run) cells.push({ task: Math.floor(k / nColumns), program: k % nColumns, code }); });
      details.append(S.table({
        caption: "What every program made of every task",
        columns: [
          { name: "task", value: (row) => data.tasks[row.task] },
          { name: "program", value: (row) => data.programs[row.program] },
          { name: "mean score", value: (row) => scoreOf(row.code), format: (score) => score.toFixed(2), numeric: true, help: "over the demonstrations" },
          { name: "", value: (row) => (row.code <= codes.score_max ? "" : what(row.code)) },
        ],
        rows: cells,
        onRow: (row) => onCell(data.tasks[row.task], data.programs[row.program]),
      }));
    });

    const cut = nRows < data.n_tasks || nColumns < data.n_programs;
    const element = h("div", { class: "matrix" },
      h("div", { class: "matrix-bar no-print" }, select("tasks", "Tasks (rows)"), select("programs", "Programs (columns)")),
      legend(codes),
      scroll, readout,
      cut ? S.note(`${S.format.count(nRows)} of ${S.counted(data.n_tasks, "task")} and ${S.format.count(nColumns)} of `
        + `${S.counted(data.n_programs, "program")}: the tasks that most programs solve, the programs that solve most. `
        + "All of them are in results.parquet.") : null,
      details);
    new ResizeObserver(draw).observe(element);
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    element.matrix = {
      what: (task, program) => what(byte(data.tasks.indexOf(task), data.programs.indexOf(program))),
      order,
      get tasks() { return rows.map((task) => data.tasks[task]); },
      get programs() { return columns.map((program) => data.programs[program]); },
    };
    return element;
  };

  const SIGNS = (codes) => ({ [codes.solves]: "✓", [codes.solves_untested]: "?", [codes.solves_tests_wrong]: "!", [codes.no_output]: "×" });

  /** The colour of each state; scores have a light-to-dark scale of their own. */
  const looks = (codes) => [
    { code: codes.solves, color: "--c2", name: "solves it, tests too" },
    { code: codes.solves_untested, color: "--c6", name: "all demonstrations right, tests not known" },
    { code: codes.solves_tests_wrong, color: "--c5", name: "all demonstrations right, a test wrong" },
    { code: codes.no_output, color: "--line", name: "errors only" },
    { code: codes.not_run, color: "--paper", name: "did not run" },
  ];
  const RAMP = ["--soft", "--c1"];

  const legend = (codes) => h("ul", { class: "legend" },
    looks(codes).map(({ code, color, name }) => h("li", {},
      h("span", { class: "matrix-swatch", style: { background: `var(${color})` }, "aria-hidden": "true" }, SIGNS(codes)[code] ?? "\u00a0"), name)),
    h("li", {}, h("span", { class: "matrix-ramp", "aria-hidden": "true", style: { background: `linear-gradient(to right, var(${RAMP[0]}), var(${RAMP[1]}))` } }), "mean score of demonstrations, 0 to 1"));

  /** The pixels of all bytes, in the theme's colours. */
  const paletteOf = (codes) => {
    const context = h("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const style = getComputedStyle(document.documentElement);
    const rgb = (name) => {
      context.fillStyle = style.getPropertyValue(name).trim();
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data];
    };
    const pixel = ([r, g, b]) => new Uint32Array(new Uint8Array([r, g, b, 255]).buffer)[0];
    const palette = new Uint32Array(256);
    const [from, to] = RAMP.map(rgb);
    for (let code = 0; code <= codes.score_max; code += 1) {
      const share = code / codes.score_max;
      palette[code] = pixel(from.map((start, k) => Math.round(start + (to[k] - start) * share)));
    }
    for (const { code, color } of looks(codes)) palette[code] = pixel(rgb(color));
    return palette;
  };
}
