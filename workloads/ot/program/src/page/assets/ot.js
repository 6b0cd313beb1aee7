"use strict";
// The page of the workload `ot`: registers S.pages.ot(data) -> Element, where data comes from
// `page::data`. It shows a table of the pairs, details of one pair (maps on canvases, arrows as
// SVG, two charts), and charts along series. The address holds the selected pair: #pair=ID.
{
  const S = (window.swathe ??= {});
  const { h, svg } = S;
  const PAGE_SIZE = 10;
  const N_LINES = 6;
  const N_POINTS_MAX = 2000;

  S.pages.ot = (data) => {
    addStyle();
    const rows = rowsOf(data);
    return h("div", { class: "ot" }, motionSection(data), pairsSection(data, rows), seriesSection(data, rows));
  };

  /** One object for each pair: its figures, its carried columns, and its view if it has one. */
  const rowsOf = (data) => {
    const { figures, messages, carried } = data.columns;
    const rows = S.rows(figures);
    for (const row of rows) {
      for (const name of Object.keys(figures)) if (row[name] === "inf") row[name] = Infinity;
      row.message = messages[row.row];
      row.view = data.views[row.row];
      row.carried = carried.map((column) => column.values[row.at]);
    }
    return rows;
  };

  // ---- What came out: how far mass moved, how much grew, how sure that is.

  const motionSection = (data) => {
    const { motion } = data;
    if (!motion || motion.n_moved === 0) return null;
    const isUm = motion.displacement_um !== null;
    const [way, err, unit] = isUm ? [motion.displacement_um, motion.err_um, "µm"] : [motion.displacement_px, motion.err_px, "px"];
    const length = (x) => brief(x, 3);
    const percent = (x) => `${brief(100 * x, 2)} %`;
    const signed = (x) => (x > 0 ? "+" : "") + percent(x).replace(/^-/, "−");
    const tile = (what, value, more, isBad) =>
      h("li", { class: isBad ? "bad" : null }, h("span", { class: "what" }, what), h("span", { class: "value long" }, value), h("span", { class: "more" }, more));
    const isNormalized = data.settings.normalize !== false;
    // A normalised frame has the mass 1.
    const sum = (x) => (isNormalized ? percent(x) : brief(x, 3)).replace(/^-/, "−");
    const isRaw = data.settings.raw_velocity === true;
    const moved = S.figure("motion.displacement", way.p50, length);
    const tiles = [
      tile(`Displacement, ${unit}`, [moved, motion.has_error_bar ? [" ± ", S.figure("motion.err", err.p50, (x) => brief(x, 2))] : null],
        `median of ${S.counted(motion.n_moved, "pair")}; most from ${length(way.p10)} to ${length(way.p90)}${isRaw ? "; entropy pulls it inward (--raw-velocity)" : ""}`),
      motion.mass_change === null ? null : tile("Growth of the whole", S.figure("motion.mass_change", motion.mass_change.p50, signed),
        `median change of total mass; most from ${signed(motion.mass_change.p10)} to ${signed(motion.mass_change.p90)}`),
      tile("Created / destroyed", [S.figure("motion.created", motion.created.p50, sum), " / ", S.figure("motion.destroyed", motion.destroyed.p50, sum)],
        isNormalized ? "medians of mass_created and mass_destroyed, of the mass of a frame; frames are normalised, so growth of the whole is not in it" : "medians of mass_created and mass_destroyed, in the masses of the input"),
      motion.has_error_bar
        ? tile("Known to a tenth", [S.figure("motion.n_sure", motion.n_sure), ` of ${S.format.count(motion.n_moved)}`], "pairs whose error bar is below a tenth of their displacement", 2 * motion.n_sure < motion.n_moved)
        : tile("Known to a tenth", "–", "there is no error bar with --raw-velocity"),
      tile("Converged", [S.figure("motion.n_converged", motion.n_converged), ` of ${S.format.count(motion.n_moved)}`], "pairs with mass in both frames", motion.n_converged < motion.n_moved),
      motion.n_doubted === 0 ? null : tile("Motion in doubt", [S.figure("motion.n_doubted", motion.n_doubted), ` of ${S.format.count(motion.n_moved)}`],
        "pairs where mass changes in one place: the error bar does not cover that (motion_doubt)", true),
    ];
    return h("section", { id: "motion" }, h("h2", {}, "What moved"), h("ul", { class: "tiles ot-tiles", "aria-label": "What moved" }, tiles.filter(Boolean)));
  };

  // ---- The table of pairs, and the selected pair.

  const pairsSection = (data, rows) => {
    const place = h("div", { class: "ot-place" });
    const has = (name) => rows.length > 0 && rows[0][name] !== undefined;
    const mass = "in problem units: shares of a frame's mass where frames are normalised";
    const number = (name, key, help) => ({ name, key, help, numeric: true, format: S.format.aligned });
    const lengths = (unit, word) => !has(`displacement_mean_${unit}`) ? [] : [
      number(`mean, ${word}`, `displacement_mean_${unit}`, `Mean length of the displacement over the source's pixels, ${word}`),
      ...(has(`displacement_err_${unit}`) ? [number(`± ${word}`, `displacement_err_${unit}`, `Error bar of the displacement: what blur and prices of mass may still change, ${word}`)] : []),
      number(`p95, ${word}`, `displacement_p95_${unit}`, `95th percentile of the displacement's length, ${word}`),
      number(`max, ${word}`, `displacement_max_${unit}`, `Largest displacement, ${word}`),
    ];
    const doubts = !has("motion_doubt") ? [] : [
      { name: "doubt", value: (row) => row.motion_doubt ?? "", cell: doubtCell, help: "Why the motion may be wrong: mass changes in one place, which the error bar does not cover" },
    ];
    const table = S.table({
      caption: "Pairs. Choose one by a click or Enter to look at it below.",
      pageSize: PAGE_SIZE,
      rows,
      columns: [
        { name: "pair", key: "pair_id", cell: (row) => nameCell(data, row), help: "Its name in the input" },
        { name: "status", value: statusText, cell: statusCell, help: "How the solve ended; why, if it failed" },
        ...doubts,
        ...lengths("px", "px"),
        ...lengths("um", "µm"),
        number("transported", "mass_transported", `Mass of the plan, ${mass}`),
        number("created", "mass_created", `Target minus what arrives, ${mass}`),
        number("destroyed", "mass_destroyed", `Source minus what leaves, ${mass}`),
        number("residual", "residual", "L1 residual of both marginals divided by the smaller mass"),
        number("cost", "cost", "Transport cost ⟨P, C⟩ in scaled px²"),
        { name: "iterations", key: "iterations", numeric: true, format: S.format.count, help: "Sweeps at full resolution" },
        { name: "time", key: "milliseconds", numeric: true, format: S.format.ms, help: "Of loading and solving this pair; from timing.parquet" },
      ],
      onRow: (row) => show(row, true),
    });

    const show = (row, byReader) => {
      place.replaceChildren(pairView(data, row, {
        position: () => [table.table.shown.indexOf(row), table.table.shown.length],
        step: (by) => {
          const { shown } = table.table;
          const at = shown.indexOf(row);
          const to = shown[Math.max(0, Math.min(shown.length - 1, at + by))];
          if (to && to !== row) choose(to, true);
        },
      }));
      if (!byReader) return;
      history.replaceState(null, "", `#pair=${encodeURIComponent(row.pair_id)}`);
      S.announce(`Pair ${row.pair_id}, ${statusText(row)}`);
    };
    /** Shows the table page of a row and selects the row; `keepFocus`: focus stays in the view. */
    const choose = (row, keepFocus) => {
      const focused = keepFocus && place.contains(document.activeElement) ? document.activeElement.dataset.key ?? "view" : null;
      const at = table.table.shown.indexOf(row);
      if (at >= 0) table.table.page(Math.floor(at / PAGE_SIZE));
      table.table.choose(row);
      if (focused) (place.querySelector(`[data-key="${focused}"]:not(:disabled)`) ?? place.firstChild).focus({ preventScroll: true });
    };
    const fromAddress = () => {
      const wanted = /^#pair=(.*)$/s.exec(location.hash);
      if (!wanted) return null;
      let id = wanted[1];
      try { id = decodeURIComponent(id); } catch { /* An address typed by hand is taken as it is. */ }
      return rows.find((row) => row.pair_id === id) ?? null;
    };
    const follow = () => {
      const row = fromAddress();
      if (row) choose(row, false);
      return row;
    };
    addEventListener("hashchange", follow);
    // After the section has been added to the page.
    queueMicrotask(() => {
      if (follow()) place.scrollIntoView({ block: "nearest" });
      else {
        const first = rows.find((row) => row.view) ?? rows[0];
        if (first) show(first, false);
      }
    });
    return h("section", { id: "pairs" }, h("h2", {}, "Pairs"), intro(data, rows), table, place);
  };

  const intro = (data, rows) => {
    const shown = rows.length < data.n_pairs
      ? `The table has ${S.format.count(rows.length)} of ${S.format.count(data.n_pairs)} rows (failed pairs, extremes, and evenly spaced ones); all of them are in ${data.table}. `
      : "";
    const views = data.n_views === data.n_pairs
      ? `All ${S.counted(data.n_pairs, "pair")} have pictures here.`
      : `${S.format.count(data.n_views)} of ${S.counted(data.n_pairs, "pair")} have pictures here, evenly spaced over the input; of the others, swathe ot show draws one.`;
    const trouble = data.views_trouble ? ` The folder of pictures cannot be read: ${data.views_trouble}.` : "";
    const damaged = data.n_views_damaged ? ` ${S.counted(data.n_views_damaged, "picture")} cannot be read.` : "";
    return h("p", { class: "intro", "data-views": data.n_views, "data-pairs": data.n_pairs }, shown, views, damaged, trouble);
  };

  const statusText = (row) => (row.message === undefined ? String(row.status).replace("_", " ") : `failed: ${row.message}`);
  const statusCell = (row) => h("span", { class: `ot-status${row.status === "converged" ? "" : " bad"}` }, statusText(row));
  const doubtCell = (row) => h("span", { class: "ot-status bad" }, row.motion_doubt ?? "");
  /** Fewer digits, for axes and scales. */
  const brief = (x, nDigits = 3) => S.format.digits(x, nDigits);

  const nameCell = (data, row) => {
    const picture = row.view
      ? mapCanvas(row.view, overlayColors(row.view), { class: "thumbnail", "aria-hidden": "true" })
      : h("span", { class: "thumbnail none", "data-tip": row.message === undefined ? `No picture here. Draw one:\n${showCommand(data, row)}` : "A pair without a solution has no picture" }, "–");
    return h("span", { class: "ot-name" }, picture, h("span", {}, row.pair_id));
  };

  /** The shell command that draws the picture of a pair. */
  const showCommand = (data, row) => {
    const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
    const names = `${quoted(data.run)} ${quoted(row.pair_id)}`;
    const dashes = /^-/.test(row.pair_id) || /^-/.test(data.run);
    return dashes ? `swathe ot show -o pair.png -- ${names}` : `swathe ot show ${names} -o pair.png`;
  };

  // ---- One pair.

  const pairView = (data, row, { position, step }) => {
    const [at, n] = position();
    const button = (key, text, by, disabled) =>
      h("button", { type: "button", "data-key": key, onclick: () => step(by), disabled }, text);
    const element = h("article", {
      class: "ot-pair", id: "pair", tabindex: "-1", "data-key": "view", "aria-label": `Pair ${row.pair_id}`, "data-row": row.row,
      onkeydown: (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, svg, .table")) return;
        event.preventDefault();
        step(by);
      },
    },
    h("header", {},
      h("h3", {}, row.pair_id),
      h("span", { class: "note" }, at >= 0 ? `${S.format.count(at + 1)} of ${S.format.count(n)}` : "not among the filtered rows"),
      h("span", { class: "no-print" }, button("before", "← Before", -1, at === 0), " ", button("next", "Next →", 1, at === n - 1))),
    pairFacts(data, row));
    if (row.view) element.append(...pictures(data, row));
    else if (row.message === undefined) {
      element.append(S.note("This pair has no pictures on this page. To draw one:"), h("pre", {}, showCommand(data, row)));
    }
    return element;
  };

  const pairFacts = (data, row) => {
    if (row.message !== undefined) return h("p", { class: "warning" }, `It failed: ${row.message}`);
    const f = (name, format = S.format.number) => S.figure(`pair.${name}`, row[name], format);
    const tolerance = numberOf(data.settings.tolerance);
    const both = (name) => [f(`${name}_px`), " px", row[`${name}_um`] === undefined || row[`${name}_um`] === null ? null : [" = ", f(`${name}_um`), " µm"]];
    const facts = [
      ["status", statusCell(row)],
      ["iterations", [f("iterations", S.format.count), " sweeps at full resolution"]],
      ["residual", [f("residual"), Number.isFinite(tolerance) ? `, tolerance ${S.format.number(tolerance)}` : null]],
      ["cost", [f("cost"), " scaled px² = ", f("cost_px2"), " px²"]],
      ["mass transported", f("mass_transported")],
      ["mass created", f("mass_created")],
      ["mass destroyed", f("mass_destroyed")],
      ["frames' mass", [f("mass_src"), " → ", f("mass_tgt"), " input units", Number.isFinite(row.mass_change) ? ` (${(100 * row.mass_change).toFixed(1)} %)`.replace("-", "−") : null]],
      ["displacement, mean", [both("displacement_mean"), row.displacement_err_px === undefined || row.displacement_err_px === null ? null : [" ± ", f("displacement_err_px"), " px"]]],
      ...(row.motion_doubt ? [["motion in doubt", doubtCell(row)]] : []),
      ["displacement, p95", both("displacement_p95")],
      ["displacement, max", both("displacement_max")],
      ["time", f("milliseconds", S.format.ms)],
      ...data.columns.carried.map((column, at) => [column.name, row.carried[at] ?? "–"]),
    ];
    return h("dl", { class: "facts ot-facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  };

  const numberOf = (setting) => (setting === null || setting === undefined ? NaN : Number(setting));

  const pictures = (data, row) => {
    const view = row.view;
    const [hCells, wCells] = view.cells;
    const charts = h("div", { class: "pair" }, histogram(view), convergence(data, row));
    if (hCells * wCells === 0) return [S.note("Both frames are empty: there is nothing to see."), charts];
    const [y0, x0, hPx, wPx] = view.shown;
    const where = `The pictures show ${hPx} × ${wPx} px from row ${y0}, column ${x0} of frames of ${view.frame[0]} × ${view.frame[1]} px: all that has mass in either.`
      + (view.cell_px > 1 ? ` A cell is the mean of ${view.cell_px} × ${view.cell_px} px.` : "");
    const massUnit = "mass per px";
    const maps = [
      panel("Source and target", "Where both have mass it is grey.",
        mapCanvas(view, overlayColors(view), { role: "img", "aria-label": "Source and target laid over each other" }),
        h("div", { class: "ot-below" }, overlayKey(), scaleBar(view))),
      quiver(view),
      panel("Length of the displacement", "Mean over the source's pixels of each cell.",
        mapCanvas(view, scalarColors(view.speed), { role: "img", "aria-label": "Map of the displacement's length" }),
        colorBar(sequential, 0, lengthOf(view, view.speed.full), lengthUnit(view))),
      panel("Created", "Target minus what arrives; negative where more arrives than is there.",
        mapCanvas(view, signedColors(view.created, diverging), { role: "img", "aria-label": "Map of created mass" }),
        signedBar(view.created, diverging, massUnit)),
      panel("Destroyed", "Source minus what leaves.",
        mapCanvas(view, signedColors(view.destroyed, vanishing), { role: "img", "aria-label": "Map of destroyed mass" }),
        signedBar(view.destroyed, vanishing, massUnit)),
      ...[["Source", view.source], ["Target", view.target]].map(([name, map]) => panel(name, "Mass of the frame as it came.",
        mapCanvas(view, scalarColors(map), { role: "img", "aria-label": `Mass of the ${name.toLowerCase()}` }),
        colorBar(sequential, 0, map.full, "input mass per px", map.max > 1.02 * map.full ? `at most ${brief(map.max)}` : null))),
    ];
    return [h("div", { class: "ot-maps" }, maps), S.note(where), charts];
  };

  const panel = (title, words, picture, below) =>
    h("figure", { class: "ot-map" }, h("figcaption", {}, h("strong", {}, title), h("span", {}, words)), picture, below);

  const lengthUnit = (view) => (view.um_per_px ? "µm" : "px");
  const lengthOf = (view, px) => px * (view.um_per_px ?? 1);

  // ---- Maps: bytes on canvases, redrawn when the colour scheme changes.

  const canvases = new Set();
  const redrawAll = () => {
    for (const canvas of canvases) canvas.isConnected ? canvas.draw() : canvases.delete(canvas);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  matchMedia("print").addEventListener("change", redrawAll);
  new MutationObserver(redrawAll).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });

  const bytesOf = (map) => Uint8Array.from(atob(map.bytes), (c) => c.charCodeAt(0));

  /** A canvas with a pixel for each cell. `colors()` returns, for the current colour scheme, a
      function from a cell's place to its colour [r, g, b], or to null where there is no value. */
  const mapCanvas = (view, colors, attributes) => {
    const [height, width] = view.cells;
    const canvas = h("canvas", { width: Math.max(1, width), height: Math.max(1, height), ...attributes });
    canvas.classList.add("ot-cells");
    canvas.draw = () => {
      const context = canvas.getContext("2d");
      const image = context.createImageData(canvas.width, canvas.height);
      const color = colors();
      for (let at = 0; at < height * width; at += 1) {
        const rgb = color(at);
        if (rgb) image.data.set([...rgb, 255], 4 * at);
      }
      context.putImageData(image, 0, 0);
    };
    canvas.draw();
    canvases.add(canvas);
    return canvas;
  };

  /** A colour of the page's style in the current colour scheme. */
  const pageColor = (name) => {
    const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const digits = /^#([0-9a-f]{6})$/i.exec(text)?.[1] ?? "808080";
    return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16));
  };
  const mixed = (a, b, share) => a.map((part, at) => Math.round(part + (b[at] - part) * share));
  const isDark = () => pageColor("--paper").reduce((a, b) => a + b) < 384;

  /** Converts OKLCH, in which equal steps look equal, to sRGB bytes. */
  const oklch = (lightness, chroma, hue) => {
    const angle = (hue * Math.PI) / 180;
    const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)];
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    return linear.map((x) => {
      const c = Math.max(0, Math.min(1, x));
      return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
    });
  };

  // Both colour maps change evenly in lightness, away from the background, and use only blue
  // against yellow or red, which all kinds of colour vision distinguish. Red is what appeared and
  // blue what vanished, as on the pictures of `swathe ot show`.
  const sequential = (share) => {
    const s = Math.max(0, Math.min(1, share));
    return isDark() ? oklch(0.3 + 0.6 * s, 0.07 + 0.08 * s, 270 - 175 * s) : oklch(0.93 - 0.6 * s, 0.08 + 0.04 * s, 95 + 175 * s);
  };
  const diverging = (share) => {
    const s = Math.max(-1, Math.min(1, share));
    const [hue, chroma] = s < 0 ? [255, 0.14] : [22, 0.18];
    return isDark() ? oklch(0.34 + 0.46 * Math.abs(s), chroma * Math.abs(s), hue) : oklch(0.955 - 0.5 * Math.abs(s), chroma * Math.abs(s), hue);
  };
  /** The colours of mass that vanished: positive values are blue. */
  const vanishing = (share) => diverging(-share);
  const table256 = (color) => Array.from({ length: 256 }, (_, byte) => (byte === 0 ? null : color(byte)));
  const scalarColors = (map) => {
    const bytes = bytesOf(map);
    return () => {
      const colors = table256((byte) => sequential((byte - 1) / 254));
      return (at) => colors[bytes[at]];
    };
  };
  const signedColors = (map, color) => {
    const bytes = bytesOf(map);
    return () => {
      const colors = table256((byte) => color((byte - 128) / 127));
      return (at) => colors[bytes[at]];
    };
  };
  /** Grey as far as both frames have mass; beyond that, the colour of the frame with more mass. */
  const overlayColors = (view) => {
    const [source, target] = [bytesOf(view.source), bytesOf(view.target)];
    const shade = (byte) => (byte === 0 ? 0 : 0.15 + (0.85 * (byte - 1)) / 254);
    return () => {
      const [paper, blue, orange, both] = ["--paper", "--c1", "--c2", "--faint"].map(pageColor);
      return (at) => {
        const [s, t] = [shade(source[at]), shade(target[at])];
        const most = Math.max(s, t);
        if (most === 0) return null;
        return mixed(paper, mixed(s > t ? blue : orange, both, Math.min(s, t) / most), most);
      };
    };
  };

  const overlayKey = () => h("ul", { class: "legend" },
    [["source", "--c1"], ["target", "--c2"], ["both", "--faint"]].map(([name, color]) =>
      h("li", {}, h("span", { class: "ot-swatch", style: { background: `var(${color})` } }), name)));

  /** Round lengths: 1, 2 or 5 times a power of ten. */
  const roundDown = (x) => {
    if (!(x > 0)) return 0;
    const power = 10 ** Math.floor(Math.log10(x));
    return [5, 2, 1].find((k) => k * power <= x * (1 + 1e-9)) * power;
  };
  const scaleBar = (view) => {
    const width = lengthOf(view, view.cells[1] * view.cell_px);
    const length = roundDown(0.3 * width);
    return h("div", { class: "ot-scale" },
      h("span", { class: "ot-ruler", style: { width: `${(100 * length) / width}%` } }),
      h("span", {}, `${S.format.number(length)} ${lengthUnit(view)}`));
  };

  /** The colour scale of a map from one value to another, with labels at its ends. */
  const colorBar = (color, from, to, unit, words) => {
    const canvas = h("canvas", { width: 128, height: 1, class: "ot-bar", "aria-hidden": "true" });
    canvas.draw = () => {
      const context = canvas.getContext("2d");
      const image = context.createImageData(128, 1);
      for (let at = 0; at < 128; at += 1) image.data.set([...color(from < 0 ? (2 * at) / 127 - 1 : at / 127), 255], 4 * at);
      context.putImageData(image, 0, 0);
    };
    canvas.draw();
    canvases.add(canvas);
    const end = (x) => brief(x).replace(/^-/, "−");
    return h("div", { class: "ot-below ot-colors" }, canvas,
      h("div", { class: "ot-ends" }, h("span", {}, end(from)), h("span", {}, words ? `${unit} (${words})` : unit), h("span", {}, end(to))));
  };
  const signedBar = (map, color, unit) =>
    colorBar(color, -map.full, map.full, unit, map.max > 1.02 * map.full ? `at most ±${brief(map.max)}` : null);

  /** Arrows over the source. All have the same scale, which a reference arrow shows. */
  const quiver = (view) => {
    const { arrows } = view;
    const [height, width] = view.cells.map((n) => n * view.cell_px);
    const picture = mapCanvas(view, faintSource(view), { "aria-hidden": "true" });
    const lengths = arrows.vx.map((vx, at) => Math.hypot(vx, arrows.vy[at])).sort((a, b) => a - b);
    const long = lengths.length ? lengths[Math.round(0.95 * (lengths.length - 1))] : 0;
    const title = "Displacement";
    // A speed far below a thousandth of the frame is rounding, not motion.
    if (!(long > 1e-4 * Math.max(height, width)))
      return panel(title, arrows.x.length ? "Nothing moves." : "There is no mass to move.", picture, null);
    const stretch = Math.max(arrows.step_px, view.cell_px) / long;
    let d = "";
    arrows.x.forEach((x, at) => (d += arrowPath(x, arrows.y[at], arrows.vx[at] * stretch, arrows.vy[at] * stretch)));
    const drawing = svg("svg", { class: "ot-arrows", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${arrows.x.length} arrows that show where mass went` },
      svg("path", { d }));
    const unit = roundDown((0.3 * width) / stretch * (view.um_per_px ?? 1)) || lengthOf(view, long);
    const drawn = (unit / (view.um_per_px ?? 1)) * stretch;
    const reference = svg("svg", { class: "ot-reference", viewBox: `0 0 ${width} ${width / 16}`, "aria-hidden": "true" },
      svg("path", { d: arrowPath(drawn / 2 + 1, width / 32, drawn, 0) }));
    return panel(title, "Mean over squares of pixels of the source, drawn around their middle.",
      h("div", { class: "ot-layers" }, picture, drawing),
      h("div", { class: "ot-below" }, reference, h("span", { class: "ot-words" }, `${S.format.number(unit)} ${lengthUnit(view)} per step, drawn ×${brief(stretch, 2)}`)));
  };
  const arrowPath = (x, y, dx, dy) => {
    const [x0, y0, x1, y1] = [x - dx / 2, y - dy / 2, x + dx / 2, y + dy / 2];
    const head = (turn) => {
      const [c, s] = [Math.cos(turn), Math.sin(turn)];
      return `${(x1 - 0.36 * (dx * c - dy * s)).toFixed(2)} ${(y1 - 0.36 * (dx * s + dy * c)).toFixed(2)}`;
    };
    return `M${x0.toFixed(2)} ${y0.toFixed(2)}L${x1.toFixed(2)} ${y1.toFixed(2)}M${head(0.5)}L${x1.toFixed(2)} ${y1.toFixed(2)}L${head(-0.5)}`;
  };
  const faintSource = (view) => {
    const source = bytesOf(view.source);
    return () => {
      const [paper, blue] = ["--paper", "--c1"].map(pageColor);
      return (at) => (source[at] === 0 ? null : mixed(paper, blue, 0.06 + (0.22 * source[at]) / 255));
    };
  };

  // ---- Charts of one pair.

  const histogram = (view) => {
    const { counts, to_px: to } = view.histogram;
    const total = counts.reduce((a, b) => a + b, 0);
    if (total === 0) return S.note("There is no mass to move, so there are no displacements to count.");
    const edge = (at) => lengthOf(view, (to * at) / counts.length);
    return S.chart.histogram({
      title: "Displacements of the source's pixels",
      desc: `${S.counted(total, "pixel")}${view.pool > 1 ? ` of ${view.pool} × ${view.pool} px` : ""}, each counting alike.`,
      bins: counts.map((n, at) => ({ from: edge(at), to: edge(at + 1), n })),
      x: { label: `length, ${lengthUnit(view)}`, format: (x) => brief(x) },
      y: { label: "pixels" },
    });
  };

  const convergence = (data, row) => {
    const curve = row.view.residuals;
    const points = curve.sweep.map((sweep, at) => [sweep, curve.residual[at]]).filter(([, residual]) => Number.isFinite(residual) && residual > 0);
    const title = "Convergence";
    if (points.length === 0) {
      const why = curve.n_before > 0
        ? `All ${S.counted(curve.n_before, "sweep")} ran on a graphics processor, which keeps no history.`
        : "Nothing was iterated for this pair, so there is no curve.";
      return h("figure", { class: "chart" }, h("figcaption", {}, h("strong", {}, title), h("span", {}, why)));
    }
    const tolerance = numberOf(data.settings.tolerance);
    const coarse = points.filter(([sweep]) => sweep <= curve.n_coarse);
    const fine = points.filter(([sweep]) => sweep > curve.n_coarse);
    const elsewhere = curve.n_before > 0 ? ` The first ${S.counted(curve.n_before, "sweep")} ran on a graphics processor, which keeps no history.` : "";
    const thinned = points.length < curve.n_sweeps - curve.n_before ? " Not every sweep is drawn." : "";
    return S.chart.line({
      title,
      desc: `The residual after each sweep.${coarse.length ? " Sweeps on coarser grids and at larger ε come first." : ""}${elsewhere}${thinned}`,
      series: [
        { name: "coarser grids, larger ε", points: coarse, color: "--c2", dash: "6 3" },
        { name: "full resolution, final ε", points: fine, color: "--c1", dash: null },
      ].filter((one) => one.points.length > 0),
      marks: Number.isFinite(tolerance) ? [{ y: tolerance, name: `tolerance ${S.format.number(tolerance)}` }] : [],
      x: { label: "sweep", whole: true, format: S.format.count },
      y: { label: "residual", log: true, format: (x) => brief(x, 2) },
    });
  };

  // ---- Along series.

  const seriesSection = (data, rows) => {
    const solved = rows.filter((row) => row.message === undefined);
    if (solved.length < 2) return null;
    const { carried } = data.columns;
    const has = (name) => rows[0][name] !== undefined;
    const length = has("displacement_mean_um") ? ["um", "µm"] : ["px", "px"];
    const figures = [
      ["cost_px2", "Transport cost", "px²"],
      [`displacement_mean_${length[0]}`, "Mean displacement", length[1]],
      ["mass_created", "Mass created", "problem units"],
      ["mass_destroyed", "Mass destroyed", "problem units"],
    ].filter(([name]) => has(name));
    const state = { by: carried.findIndex((column) => column.name === data.series.by), time: carried.findIndex((column) => column.name === data.series.time), from: 0 };
    const charts = h("div", { class: "ot-courses" });
    const told = h("span", { class: "note", role: "status" });
    const choice = (label, none, columns, key) => {
      const select = h("select", { "aria-label": label, onchange: () => { state[key] = Number(select.value); state.from = 0; draw(); } },
        h("option", { value: -1 }, none), columns.map(({ name, at }) => h("option", { value: at }, name)));
      select.value = String(state[key]);
      return h("label", {}, `${label} `, select);
    };
    const all = carried.map((column, at) => ({ ...column, at }));
    const turn = (text, label, by) => h("button", { type: "button", "aria-label": label, onclick: () => { state.from += by; draw(); } }, text);
    const [back, on] = [turn("‹", "Series before", -N_LINES), turn("›", "Next series", N_LINES)];
    const bar = h("div", { class: "timeline-bar" },
      choice("One line for each", "(all pairs together)", all, "by"),
      choice("along", "(order of the input)", all.filter((column) => column.is_number), "time"),
      back, on, told);
    const draw = () => {
      const groups = grouped(solved, state);
      state.from = Math.max(0, Math.min(state.from, Math.floor((groups.length - 1) / N_LINES) * N_LINES));
      const shown = groups.slice(state.from, state.from + N_LINES);
      const many = groups.length > N_LINES;
      back.hidden = on.hidden = !many;
      back.disabled = state.from === 0;
      on.disabled = state.from + N_LINES >= groups.length;
      const thinned = shown.some((group) => group.rows.length > N_POINTS_MAX) ? ` At most ${S.format.count(N_POINTS_MAX)} points of each are drawn, evenly spaced.` : "";
      told.textContent = (many ? `${S.format.count(state.from + 1)}–${S.format.count(state.from + shown.length)} of ${S.counted(groups.length, "series", "series")}.` : isPlain(state) ? "" : S.counted(groups.length, "line") + ".") + thinned;
      const label = state.time >= 0 ? carried[state.time].name : "place in the input";
      // Without a series or time column, neighbours in the input are not joined by a line.
      const isCourse = !isPlain(state);
      const axes = (unit) => ({ x: { label, whole: state.time < 0 }, y: { label: unit } });
      charts.replaceChildren(...figures.map(([name, title, unit]) => (isCourse
        ? S.chart.line({ title, height: 200, series: shown.map((group) => ({ name: group.name, points: pointsOf(group.rows, name, state) })), ...axes(unit) })
        : S.chart.scatter({ title, height: 200, points: solved.map((row) => ({ x: row.row, y: row[name], name: row.pair_id })).filter(({ y }) => Number.isFinite(y)), ...axes(unit) }))));
    };
    draw();
    const partial = rows.length < data.n_pairs ? " Only the rows of the table above take part." : "";
    return h("section", { id: "series" }, h("h2", {}, "Along the series"),
      h("p", { class: "intro" }, `How figures change from pair to pair. Pairs without a solution are left out.${partial}`), bar, charts);
  };

  const isPlain = ({ by, time }) => by < 0 && time < 0;

  const grouped = (rows, { by }) => {
    const groups = new Map();
    for (const row of rows) {
      const name = by < 0 ? "all pairs" : String(row.carried[by] ?? "–");
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(row);
    }
    return [...groups].map(([name, members]) => ({ name, rows: members }));
  };
  const pointsOf = (rows, name, { time }) => {
    const every = Math.ceil(rows.length / N_POINTS_MAX);
    const kept = rows.filter((_, at) => at % every === 0);
    const points = kept.map((row) => [time < 0 ? row.row : Number(row.carried[time] ?? NaN), row[name]]);
    return points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y)).sort((a, b) => a[0] - b[0]);
  };

  // ---- Styles that only this page needs.

  const addStyle = () => document.head.append(h("style", {}, `
    .ot #pairs .table td, .ot #pairs .table tbody th { vertical-align: middle; }
    .ot .table td .ot-status.bad { min-width: 9rem; }
    .ot-name { display: inline-flex; gap: .6rem; align-items: center; }
    .ot .thumbnail { width: 4rem; height: 2.2rem; object-fit: contain; background: var(--soft); border-radius: 3px; flex: none; }
    .ot .thumbnail.none { display: inline-grid; place-items: center; color: var(--faint); }
    .ot-cells, .ot-bar { image-rendering: pixelated; display: block; }
    .ot-pair { border: 1px solid var(--line); border-radius: .6rem; padding: 1rem 1.2rem 0; margin: 1.2rem 0; }
    .ot-pair > header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; margin-bottom: .5rem; }
    .ot-pair > header h3 { margin: 0; font-size: 1.1rem; overflow-wrap: anywhere; min-width: 0; }
    .ot-pair > header .note { margin-right: auto; }
    .ot-facts { grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)) !important; gap: .15rem 1.6rem !important; font-size: .9rem; }
    .ot-facts > div { display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid var(--line); padding: .12rem 0; }
    .ot-facts dd { text-align: right; }
    .ot-maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1.2rem 1.6rem; margin: 1.2rem 0 .4rem; }
    .ot-map { margin: 0; min-width: 0; display: flex; flex-direction: column; }
    .ot-map figcaption span { display: block; font-size: .82rem; }
    .ot-map > .ot-cells, .ot-layers { width: 100%; margin-top: auto; border: 1px solid var(--line); border-radius: 3px; background: var(--paper); }
    .ot-layers { position: relative; }
    .ot-layers .ot-cells { width: 100%; }
    .ot-arrows { position: absolute; inset: 0; width: 100%; height: 100%; }
    .ot-arrows path, .ot-reference path { fill: none; stroke: var(--ink); stroke-width: 1.3; vector-effect: non-scaling-stroke; stroke-linecap: round; stroke-linejoin: round; }
    .ot-reference { display: block; width: 100%; }
    .ot-below { min-height: 3.4rem; margin-top: .35rem; font-size: .82rem; color: var(--faint); font-variant-numeric: tabular-nums; }
    .ot-below .legend { margin: 0; }
    .ot-swatch { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .35rem; vertical-align: -1px; }
    .ot-scale { display: flex; align-items: center; gap: .5rem; }
    .ot-ruler { height: 3px; background: var(--ink); flex: none; }
    .ot-bar { width: 100%; height: .7rem; border: 1px solid var(--line); border-radius: 2px; }
    .ot-ends { display: flex; justify-content: space-between; gap: .5rem; }
    .ot-status { display: inline-block; min-width: 6.5rem; max-width: 20rem; }
    .ot-courses { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 0 2rem; }
    .ot #motion { margin-top: 1.6rem; }
    .ot-tiles { grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); }
    .ot .timeline-bar label { font-size: .88rem; color: var(--faint); }
    .ot .timeline-bar select { max-width: 12rem; color: var(--ink); }
  `));
}
