"use strict";
// Charts as SVG, drawn at the full available width. Each is a <figure> with a heading, a line that
// shows the value at the pointer or the keyboard cursor, and its numbers as a table in a
// <details>. Colours are names of custom properties ("--c1"); no information is in colour alone.
//
// All charts take
//   title      what it shows (also the SVG's <title>)
//   desc       a sentence on what to see in it (also its <desc>)
//   height     of the drawing in CSS pixels
//   table      false to leave the table out; or { columns, rows } as of S.table instead of the
//              chart's own numbers
//   x, y       axes: { label, format, min, max, log, whole }; whole: ticks at whole numbers only
// and
//   S.chart.line({ series: [{ name, points: [[x, y], …], color, area, dash, steps }],
//                  marks: [{ y, name }], x, y })          marks: horizontal lines such as a budget
//   S.chart.bars({ bars: [{ name, value, help, color }], value: { label, format, max } })
//                                                          horizontal, names on the left
//   S.chart.histogram({ bins: [{ from, to, n, name }], x, y })      named bins are equally wide;
//   S.chart.histogram({ values: [number, …], nBins, log, x, y })    bins are computed from values
//   S.chart.stacked({ parts: [{ name, color, hatched, pale }], bars: [{ name, values: [number, …] }],
//                     value: { label, format, max } })    horizontal, one part after another
//   S.chart.heatmap({ xs: [name, …], ys: [name, …], values: [[number|null, …], …] (by y, then x),
//                     x: { label }, y: { label }, value: { label, format, min, max }, onCell(xAt, yAt) })
//   S.chart.scatter({ points: [{ x, y, name, group }], groups: [{ name, color, shape }], x, y,
//                     marks: [{ y, name }], onPoint(point) })  shape: "circle", "square", "triangle"
// They return the <figure>, which has `redraw()`.
{
  const S = (window.swathe ??= {});
  const { h, svg } = S;
  const color = (name) => `var(${name})`;
  const WIDTH = 720;
  const SHAPES = ["circle", "square", "triangle"];
  const DASHES = [null, "6 3", "2 3", "8 3 2 3", "1 4", "10 4"];
  let nCharts = 0;

  /** The frame all charts share. `draw(width)` returns what is inside the SVG and its height. */
  const frame = (options, draw, table) => {
    const id = `chart-${(nCharts += 1)}`;
    const drawing = svg("svg", { role: "img", "aria-labelledby": `${id}-title ${id}-desc` });
    const readout = h("p", { class: "readout", "aria-live": "polite" });
    const shownTable = options.table === false ? null : (options.table ?? table);
    // Built on demand, because most tables are never opened.
    const details = shownTable
      ? S.details("Numbers as a table", () => S.table({ caption: options.title, ...(typeof shownTable === "function" ? shownTable() : shownTable) }))
      : null;
    const figure = h("figure", { class: "chart" },
      options.title ? h("figcaption", {}, h("strong", {}, options.title), options.desc ? h("span", {}, options.desc) : null) : null,
      drawing, readout, details);
    let widthDrawn = 0;
    const redraw = (width = figure.clientWidth || WIDTH) => {
      widthDrawn = width;
      const { height, children, label } = draw(Math.max(width, 240), { readout, drawing });
      drawing.setAttribute("viewBox", `0 0 ${Math.max(width, 240)} ${height}`);
      drawing.setAttribute("width", "100%");
      drawing.setAttribute("height", height);
      drawing.replaceChildren(
        svg("title", { id: `${id}-title` }, options.title ?? ""),
        svg("desc", { id: `${id}-desc` }, [options.desc, label].filter(Boolean).join(" ")),
        ...children);
    };
    redraw(WIDTH);
    new ResizeObserver(() => {
      const width = Math.floor(figure.clientWidth);
      if (width > 0 && width !== widthDrawn) redraw(width);
    }).observe(figure);
    figure.redraw = () => redraw(widthDrawn || WIDTH);
    return figure;
  };

  /** Round values between two ends, about `nWanted` of them. */
  const ticks = (min, max, nWanted, whole) => {
    if (!(max > min)) return [min];
    const rough = (max - min) / Math.max(1, nWanted);
    const power = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough * 0.999);
    if (whole) step = Math.max(1, Math.round(step));
    const found = [];
    for (let k = Math.ceil(min / step - 1e-9); k * step <= max + step * 1e-9; k += 1) found.push(k * step || 0);
    return found;
  };
  const logTicks = (min, max) => {
    const found = [];
    for (let p = Math.floor(Math.log10(min)); p <= Math.ceil(Math.log10(max)); p += 1) {
      const at = 10 ** p;
      if (at >= min * 0.999 && at <= max * 1.001) found.push(at);
    }
    // Within one power of ten: ticks at 1, 2 and 5 times it, or else as on a linear axis.
    const finer = found.length >= 2 ? found : found.concat(...[-1, 0].map((step) => [2, 5].map((k) => k * 10 ** (Math.floor(Math.log10(max)) + step))));
    const inside = finer.filter((at) => at >= min * 0.999 && at <= max * 1.001).sort((a, b) => a - b);
    return inside.length >= 2 ? inside : ticks(min, max, 3);
  };
  S.chart ??= {};
  S.chart.ticks = ticks;

  /** A scale from values to pixels. */
  const scale = (axis, values, from, to, nTicks) => {
    // Byte axes have ticks at round binary units: 16 MiB, not 19.1 MiB.
    if (axis.format === S.format.bytes && !axis.log) return unitScale(axis, values, from, to, nTicks, (max) => 1024 ** Math.floor(Math.log(max) / Math.log(1024)));
    // Beyond two minutes, time axes have ticks at whole minutes, then at whole hours.
    if (axis.format === S.format.ms && !axis.log) return unitScale(axis, values, from, to, nTicks, (max) => (max < 119950 ? 1 : max < 7.2e6 ? 60000 : 3.6e6));
    const finite = values.filter(Number.isFinite);
    let min = axis.min ?? (finite.length ? finite.reduce((a, b) => Math.min(a, b)) : 0);
    let max = axis.max ?? (finite.length ? finite.reduce((a, b) => Math.max(a, b)) : 1);
    const log = Boolean(axis.log) && max > 0;
    if (log) min = Math.max(min, max / 1e9, Number.MIN_VALUE);
    if (!(max > min)) max = log ? min * 10 : min + 1;
    const found = log ? logTicks(min, max) : ticks(min, max, nTicks, axis.whole);
    if (!log && axis.max === undefined) max = Math.max(max, found.length > 1 ? Math.ceil(max / (found[1] - found[0]) - 1e-9) * (found[1] - found[0]) : max);
    const share = log ? (v) => Math.log(Math.max(v, min) / min) / Math.log(max / min) : (v) => (v - min) / (max - min);
    const at = (v) => from + share(v) * (to - from);
    return { at, min, max, ticks: log ? found : ticks(min, max, nTicks, axis.whole), format: axis.format ?? ((value) => S.format.number(value)) };
  };

  /** A scale with ticks at round multiples of a unit, which `unitOf` chooses for the largest value. */
  const unitScale = (axis, values, from, to, nTicks, unitOf) => {
    const largest = values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, value) : most), axis.max ?? 0);
    const unit = unitOf(axis.format === S.format.bytes ? Math.max(1, largest) : largest);
    const over = (value) => (value === undefined ? undefined : value / unit);
    const whole = axis.format === S.format.bytes && unit === 1;
    const scaled = scale({ ...axis, format: null, min: over(axis.min), max: over(axis.max), whole }, values.map((v) => v / unit), from, to, nTicks);
    return { at: (v) => scaled.at(v / unit), min: scaled.min * unit, max: scaled.max * unit, ticks: scaled.ticks.map((v) => v * unit), format: axis.format };
  };

  /** Axes with ticks and labels around a plot. */
  const axes = (xs, ys, box, x, y, xTicks) => {
    const { left, right, top, bottom } = box;
    const parts = [];
    for (const value of ys.ticks) {
      const at = ys.at(value);
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
      parts.push(svg("text", { class: "tick", x: left - 6, y: at, dy: "0.32em", "text-anchor": "end" }, ys.format(value)));
    }
    parts.push(svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
    for (const { at, text } of xTicks ?? xs.ticks.map((value) => ({ at: xs.at(value), text: xs.format(value) }))) {
      parts.push(svg("line", { class: "axis", x1: at, x2: at, y1: bottom, y2: bottom + 4 }));
      parts.push(below(at, bottom + 17, text, right + 12));
    }
    if (x.label) parts.push(svg("text", { class: "label", x: right, y: bottom + 34, "text-anchor": "end" }, x.label));
    if (y.label) parts.push(svg("text", { class: "label", x: Math.max(2, left - 40), y: top - 10, "text-anchor": "start" }, y.label));
    return parts;
  };

  /** Text centred under a position, or shifted so that it stays inside the drawing. */
  const below = (x, y, text, edge) => {
    const half = 3.5 * String(text).length;
    const anchor = x + half > edge ? "end" : x - half < 0 ? "start" : "middle";
    return svg("text", { class: "tick", x: { end: edge, start: 0, middle: x }[anchor], y, "text-anchor": anchor }, text);
  };

  const widest = (texts) => texts.reduce((n, text) => Math.max(n, String(text).length), 0);
  const leftOf = (scaleY) => Math.max(34, 12 + 6.6 * widest(scaleY.ticks.map(scaleY.format)));
  const cut = (text, n) => (text.length > n ? `${text.slice(0, Math.max(1, n - 1))}…` : text);

  const legend = (entries) =>
    h("ul", { class: "legend" }, entries.map((entry) => h("li", {}, swatch(entry), entry.name)));
  const swatch = ({ color: name, dash, hatched, shape, tall = 1 }) => {
    const box = svg("svg", { class: "swatch", viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true" });
    if (shape) box.append(mark(shape, 9, 6, 4.5, { fill: color(name) }));
    else if (dash !== undefined) box.append(svg("line", { x1: 0, x2: 18, y1: 6, y2: 6, stroke: color(name), "stroke-width": 2.5, "stroke-dasharray": dash }));
    else {
      box.append(svg("rect", { y: 12 - 12 * tall, width: 18, height: 12 * tall, rx: Math.min(2, 5 * tall - 1), fill: color(name) }));
      if (hatched) for (let x = -6; x < 18; x += 6) box.append(svg("line", { class: "hatch", x1: x, y1: 12, x2: x + 12, y2: 0 }));
    }
    return box;
  };
  const mark = (shape, x, y, r, attributes) => {
    if (shape === "square") return svg("rect", { x: x - r * 0.9, y: y - r * 0.9, width: r * 1.8, height: r * 1.8, ...attributes });
    if (shape === "triangle") return svg("path", { d: `M${x} ${y - r * 1.15}L${x + r * 1.1} ${y + r * 0.8}L${x - r * 1.1} ${y + r * 0.8}Z`, ...attributes });
    return svg("circle", { cx: x, cy: y, r, ...attributes });
  };
  const withLegend = (figure, entries) => {
    if (entries.length > 1) figure.querySelector("svg").before(legend(entries));
    return figure;
  };

  // Diagonal lines over a fill, to distinguish parts without colour.
  const hatching = (id) =>
    svg("defs", {}, svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: 6 })));

  S.chart.line = (options) => {
    const { x = {}, y = {}, marks = [] } = options;
    const series = options.series.map((one, at) => ({
      color: `--c${(at % 6) + 1}`, dash: DASHES[at % DASHES.length], ...one,
    }));
    const xsAll = [...new Set(series.flatMap((one) => one.points.map(([at]) => at)))].sort((a, b) => a - b);
    let markAt = -1;
    const draw = (width, { readout, drawing }) => {
      const height = options.height ?? 220;
      const values = series.flatMap((one) => one.points.map(([, value]) => value)).concat(marks.map((one) => one.y));
      const scaleY = scale({ min: y.log ? undefined : 0, ...y }, values, height - 42, 26, 4);
      const box = { left: leftOf(scaleY), right: width - 12, top: 26, bottom: height - 42 };
      const scaleX = scale(x, xsAll, box.left, box.right, Math.max(2, Math.floor((box.right - box.left) / 90)));
      const parts = axes(scaleX, scaleY, box, x, y);
      for (const one of series) {
        const points = one.points.filter(([, value]) => Number.isFinite(value));
        if (points.length === 0) continue;
        let d = "";
        points.forEach(([at, value], n) => {
          const [px, py] = [scaleX.at(at).toFixed(1), scaleY.at(value).toFixed(1)];
          d += n === 0 ? `M${px} ${py}` : one.steps ? `V${py}H${px}` : `L${px} ${py}`;
        });
        if (one.area) {
          const [from, to] = [scaleX.at(points[0][0]), scaleX.at(points[points.length - 1][0])];
          parts.push(svg("path", { d: `${d}L${to} ${box.bottom}L${from} ${box.bottom}Z`, fill: color(one.color), opacity: 0.16 }));
        }
        parts.push(svg("path", { d, class: "line", stroke: color(one.color), "stroke-dasharray": one.dash }));
        if (points.length === 1) parts.push(mark("circle", scaleX.at(points[0][0]), scaleY.at(points[0][1]), 3, { fill: color(one.color) }));
      }
      for (const one of marks) {
        const at = scaleY.at(one.y);
        parts.push(svg("line", { class: "mark", x1: box.left, x2: box.right, y1: at, y2: at }));
        parts.push(svg("text", { class: "tick", x: box.right, y: at - 5, "text-anchor": "end" }, one.name));
      }
      const cross = svg("line", { class: "cross", y1: box.top, y2: box.bottom, visibility: "hidden" });
      parts.push(cross);
      const tell = (n) => {
        markAt = Math.max(0, Math.min(n, xsAll.length - 1));
        const at = xsAll[markAt];
        const told = series.map((one) => {
          const point = one.points.find(([px]) => px === at);
          return point && Number.isFinite(point[1]) ? `${one.name} ${scaleY.format(point[1])}` : null;
        });
        readout.textContent = `${scaleX.format(at)}: ${told.filter(Boolean).join(", ")}`;
        cross.setAttribute("x1", scaleX.at(at));
        cross.setAttribute("x2", scaleX.at(at));
        cross.setAttribute("visibility", "visible");
      };
      const nearest = (px) => {
        const wanted = scaleX.min + ((px - box.left) / (box.right - box.left)) * (scaleX.max - scaleX.min);
        let best = 0;
        xsAll.forEach((at, n) => { if (Math.abs(at - wanted) < Math.abs(xsAll[best] - wanted)) best = n; });
        return best;
      };
      drawing.onpointermove = (event) => {
        const bounds = drawing.getBoundingClientRect();
        tell(nearest(((event.clientX - bounds.left) / bounds.width) * width));
      };
      drawing.onpointerleave = () => { cross.setAttribute("visibility", "hidden"); readout.textContent = ""; };
      drawing.setAttribute("tabindex", "0");
      drawing.onkeydown = (event) => {
        const to = { ArrowRight: markAt + 1, ArrowLeft: markAt - 1, Home: 0, End: xsAll.length - 1 }[event.key];
        if (to === undefined) return;
        tell(to);
        event.preventDefault();
      };
      return { height, children: parts };
    };
    const table = () => ({
      columns: [
        { name: x.label ?? "x", key: "x", format: x.format ?? S.format.number, numeric: true },
        ...series.map((one, at) => ({ name: one.name, value: (row) => row.values[at], format: y.format ?? S.format.number, numeric: true })),
      ],
      rows: (() => {
        const maps = series.map((one) => new Map(one.points));
        return xsAll.map((at) => ({ x: at, values: maps.map((map) => map.get(at)) }));
      })(),
      filter: false,
    });
    return withLegend(frame(options, draw, table), series.map(({ name, color: c, dash }) => ({ name, color: c, dash })));
  };

  S.chart.bars = (options) => {
    const { bars, value = {} } = options;
    const format = value.format ?? S.format.number;
    const draw = (width) => {
      const room = Math.min(width * 0.42, 16 + 7 * widest(bars.map((bar) => bar.name)));
      const numbers = 12 + 6.8 * widest(bars.map((bar) => format(bar.value)));
      const left = room;
      const right = Math.max(left + 40, width - numbers);
      // A value that was not measured has a name but no bar.
      const known = bars.map((bar) => (Number.isFinite(bar.value) ? Math.max(0, bar.value) : 0));
      const max = value.max ?? Math.max(1e-300, ...known);
      const step = 26;
      const parts = bars.flatMap((bar, at) => {
        const y = at * step + 4;
        const length = Math.max(1, (known[at] / max) * (right - left));
        const tip = `${bar.name}: ${format(bar.value)}${bar.help ? `\n${bar.help}` : ""}`;
        return [
          svg("text", { class: "name", x: left - 8, y: y + 9, dy: "0.32em", "text-anchor": "end" }, cut(String(bar.name), Math.floor((room - 8) / 6.8))),
          svg("rect", { x: left, y, width: length, height: 18, rx: 2, fill: color(bar.color ?? "--c1"), "data-tip": tip }),
          svg("text", { class: "tick", x: left + length + 6, y: y + 9, dy: "0.32em" }, format(bar.value)),
        ];
      });
      return { height: bars.length * step + 8, children: parts };
    };
    return frame(options, draw, () => ({
      columns: [
        { name: "", key: "name" },
        { name: value.label ?? "value", key: "value", format, numeric: true },
        ...(bars.some((bar) => bar.help) ? [{ name: "", key: "help" }] : []),
      ],
      rows: bars,
    }));
  };

  /** Bins of equal width (or equal ratio) over some values. */
  const binsOf = (values, nBins, log) => {
    const finite = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
    if (finite.length === 0) return [];
    const min = finite.reduce((a, b) => Math.min(a, b));
    const max = finite.reduce((a, b) => Math.max(a, b));
    if (min === max) return [{ from: min, to: max, n: finite.length }];
    // Bin edges are round numbers, which are easier to read.
    const round = ticks(min, max, nBins);
    const step = round.length > 1 ? round[1] - round[0] : max - min;
    const first = Math.floor(min / step);
    const n = log ? nBins : Math.floor(max / step) - first + 1;
    const place = log ? (v) => (Math.log(v / min) / Math.log(max / min)) * nBins : (v) => Math.floor(v / step) - first;
    const edge = log ? (k) => Number((min * (max / min) ** (k / nBins)).toPrecision(3)) : (k) => Number(((first + k) * step).toPrecision(12));
    const bins = Array.from({ length: n }, (_, k) => ({ from: edge(k), to: edge(k + 1), n: 0 }));
    for (const v of finite) bins[Math.max(0, Math.min(n - 1, Math.floor(place(v))))].n += 1;
    return bins;
  };
  S.chart.bins = binsOf;

  S.chart.histogram = (options) => {
    const { x = {}, y = {} } = options;
    const bins = options.bins ?? binsOf(options.values, options.nBins ?? 24, options.log ?? x.log);
    const format = x.format ?? S.format.number;
    const nameOf = (bin) => bin.name ?? (bin.from === bin.to ? format(bin.from) : `${format(bin.from)} to ${format(bin.to)}`);
    const named = bins.some((bin) => bin.name !== undefined);
    const draw = (width) => {
      const height = options.height ?? 200;
      const scaleY = scale({ min: 0, whole: true, format: S.format.count, ...y }, bins.map((bin) => bin.n), height - 42, 26, 4);
      const box = { left: leftOf(scaleY), right: width - 12, top: 26, bottom: height - 42 };
      const step = (box.right - box.left) / Math.max(1, bins.length);
      const wide = 9 + 6.8 * widest(named ? bins.map(nameOf) : bins.map((bin) => format(bin.from)));
      const every = Math.max(1, Math.ceil(wide / step));
      const labels = [];
      bins.forEach((bin, at) => {
        if (at % every !== 0) return;
        labels.push(named ? { at: box.left + (at + 0.5) * step, text: nameOf(bin) } : { at: box.left + at * step, text: format(bin.from) });
      });
      const parts = axes(null, scaleY, box, x, y, labels);
      bins.forEach((bin, at) => {
        const top = scaleY.at(bin.n);
        const tip = `${nameOf(bin)}: ${S.format.count(bin.n)}`;
        const height = Math.max(bin.n > 0 ? 1 : 0, box.bottom - top);
        parts.push(svg("rect", { x: box.left + at * step + 1, width: Math.max(1, step - 2), y: box.bottom - height, height, fill: color(options.color ?? "--c1"), "data-tip": tip }));
      });
      return { height, children: parts };
    };
    return frame(options, draw, () => ({
      columns: [
        { name: x.label ?? "from … to", value: nameOf },
        { name: y.label ?? "number", key: "n", format: S.format.count, numeric: true },
      ],
      rows: bins,
      filter: false,
    }));
  };

  S.chart.stacked = (options) => {
    const { parts, bars, value = {} } = options;
    const format = value.format ?? S.format.number;
    const sum = (bar) => bar.values.reduce((a, b) => a + b, 0);
    const pattern = `hatch-${(nCharts += 1)}`;
    const draw = (width) => {
      const left = Math.min(width * 0.35, 16 + 7 * widest(bars.map((bar) => bar.name)));
      const right = width - 14;
      const max = value.max ?? Math.max(1e-300, ...bars.map(sum));
      const step = 30;
      const bottom = bars.length * step + 6;
      const scaleX = scale({ min: 0, max, format }, [], left, right, Math.max(2, Math.floor((right - left) / 100)));
      const children = [hatching(pattern)];
      for (const tick of scaleX.ticks) {
        const at = scaleX.at(tick);
        children.push(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: bottom }));
        children.push(svg("text", { class: "tick", x: at, y: bottom + 16, "text-anchor": at > right - 20 ? "end" : "middle" }, format(tick)));
      }
      bars.forEach((bar, row) => {
        const y = row * step + 4;
        children.push(svg("text", { class: "name", x: left - 8, y: y + 11, dy: "0.32em", "text-anchor": "end" }, cut(String(bar.name), Math.floor((left - 8) / 6.6))));
        let from = 0;
        parts.forEach((part, at) => {
          const amount = bar.values[at];
          if (!(amount > 0)) return;
          const [x0, x1] = [scaleX.at(from), scaleX.at(from + amount)];
          const share = S.format.percent(amount / sum(bar));
          const tip = `${bar.name}, ${part.name}: ${format(amount)} (${share})`;
          const box = { x: x0, y, width: Math.max(0.5, x1 - x0), height: 22 };
          children.push(svg("rect", { ...box, fill: color(part.color), "data-tip": tip }));
          if (part.hatched) children.push(svg("rect", { ...box, fill: `url(#${pattern})`, "pointer-events": "none" }));
          if (x1 - x0 > 14 + 6.6 * part.name.length)
            children.push(svg("text", { class: part.pale ? "over" : "inside", style: { stroke: part.hatched ? color(part.color) : "none" }, x: (x0 + x1) / 2, y: y + 11, dy: "0.32em", "text-anchor": "middle" }, part.name));
          from += amount;
        });
      });
      if (value.label) children.push(svg("text", { class: "label", x: right, y: bottom + 34, "text-anchor": "end" }, value.label));
      return { height: bottom + (value.label ? 42 : 24), children };
    };
    const table = () => ({
      columns: [
        { name: "", key: "name" },
        ...parts.map((part, at) => ({ name: part.name, value: (bar) => bar.values[at], format, numeric: true })),
        { name: "in all", value: sum, format, numeric: true },
      ],
      rows: bars,
    });
    return withLegend(frame(options, draw, table), parts);
  };

  S.chart.heatmap = (options) => {
    const { xs, ys, values, x = {}, y = {}, value = {}, onCell } = options;
    const format = value.format ?? S.format.number;
    const finite = values.flat().filter((v) => Number.isFinite(v));
    const min = value.min ?? Math.min(0, ...finite);
    const max = value.max ?? Math.max(min + 1e-300, ...finite);
    const tipOf = (xAt, yAt) => `${x.label ? `${x.label} ` : ""}${xs[xAt]}, ${y.label ? `${y.label} ` : ""}${ys[yAt]}: ${format(values[yAt][xAt])}`;
    const draw = (width) => {
      const left = Math.min(width * 0.35, 18 + 7 * widest(ys));
      const right = width - 12;
      const cellWidth = Math.min(90, (right - left) / Math.max(1, xs.length));
      const cellHeight = Math.max(14, Math.min(28, options.height ? options.height / ys.length : 24));
      const top = y.label ? 22 : 4;
      const bottom = top + cellHeight * ys.length;
      const every = Math.max(1, Math.ceil((8 + 6.8 * widest(xs)) / cellWidth));
      const children = [];
      ys.forEach((name, at) => children.push(svg("text", { class: "name", x: left - 8, y: top + (at + 0.5) * cellHeight, dy: "0.32em", "text-anchor": "end" }, cut(String(name), Math.floor((left - 8) / 6.6)))));
      xs.forEach((name, at) => {
        if (at % every === 0) children.push(below(left + (at + 0.5) * cellWidth, bottom + 16, name, width));
      });
      values.forEach((row, yAt) => row.forEach((v, xAt) => {
        if (!Number.isFinite(v)) return;
        const share = Math.max(0, Math.min(1, (v - min) / (max - min || 1)));
        const box = { x: left + xAt * cellWidth + 0.5, y: top + yAt * cellHeight + 0.5, width: cellWidth - 1, height: cellHeight - 1 };
        const cell = svg("rect", { ...box, class: "cell", rx: 1.5, style: { "--share": share.toFixed(3) }, "data-tip": tipOf(xAt, yAt) });
        if (onCell) {
          cell.setAttribute("tabindex", "0");
          cell.setAttribute("role", "button");
          cell.setAttribute("aria-label", tipOf(xAt, yAt));
          cell.addEventListener("click", () => onCell(xAt, yAt));
          cell.addEventListener("keydown", (event) => event.key === "Enter" && onCell(xAt, yAt));
        }
        children.push(cell);
        const text = format(v);
        if (cellWidth > 10 + 6.6 * text.length && cellHeight >= 18)
          children.push(svg("text", { class: share > 0.5 ? "inside" : "over", x: left + (xAt + 0.5) * cellWidth, y: top + (yAt + 0.5) * cellHeight, dy: "0.32em", "text-anchor": "middle", "pointer-events": "none" }, text));
      }));
      if (x.label) children.push(svg("text", { class: "label", x: left + cellWidth * xs.length, y: bottom + 34, "text-anchor": "end" }, x.label));
      if (y.label) children.push(svg("text", { class: "label", x: left - 8, y: 12, "text-anchor": "end" }, y.label));
      return { height: bottom + (x.label ? 42 : 24), children };
    };
    return frame(options, draw, () => ({
      columns: [
        { name: y.label ?? "", value: (row) => ys[row.yAt] },
        { name: x.label ?? "", value: (row) => xs[row.xAt] },
        { name: value.label ?? "value", key: "v", format, numeric: true },
      ],
      rows: values.flatMap((row, yAt) => row.map((v, xAt) => ({ xAt, yAt, v })).filter(({ v }) => Number.isFinite(v))),
    }));
  };

  S.chart.scatter = (options) => {
    const { points, marks = [], x = {}, y = {}, onPoint } = options;
    const names = [...new Set(points.map((point) => point.group ?? ""))];
    const groups = (options.groups ?? names.map((name) => ({ name }))).map((group, at) => ({
      color: `--c${(at % 6) + 1}`, shape: SHAPES[at % SHAPES.length], ...group,
    }));
    const groupOf = new Map(groups.map((group) => [group.name, group]));
    const draw = (width) => {
      const height = options.height ?? 260;
      const scaleY = scale(y, points.map((point) => point.y).concat(marks.map((one) => one.y)), height - 42, 26, 5);
      const box = { left: leftOf(scaleY), right: width - 14, top: 26, bottom: height - 42 };
      const scaleX = scale(x, points.map((point) => point.x), box.left, box.right, Math.max(2, Math.floor((box.right - box.left) / 90)));
      const children = axes(scaleX, scaleY, box, x, y);
      const r = points.length > 2000 ? 2 : points.length > 300 ? 3 : 4;
      for (const point of points) {
        if (!Number.isFinite(point.x) || !Number.isFinite(point.y)) continue;
        const group = groupOf.get(point.group ?? "") ?? groups[0];
        const tip = `${point.name ?? ""}\n${x.label ?? "x"} ${scaleX.format(point.x)}, ${y.label ?? "y"} ${scaleY.format(point.y)}`.trim();
        const dot = mark(group.shape, scaleX.at(point.x), scaleY.at(point.y), r, { class: "dot", fill: color(group.color), "data-tip": tip });
        if (onPoint) {
          dot.classList.add("choosable");
          dot.addEventListener("click", () => onPoint(point));
        }
        children.push(dot);
      }
      for (const one of marks) {
        const at = scaleY.at(one.y);
        children.push(svg("line", { class: "mark", x1: box.left, x2: box.right, y1: at, y2: at }));
        // The text is above its line, unless the axis label is there.
        children.push(svg("text", { class: "tick", x: box.left + 6, y: at < box.top + 14 ? at + 14 : at - 5 }, one.name));
      }
      return { height, children };
    };
    const table = () => ({
      columns: [
        { name: "name", key: "name" },
        ...(groups.length > 1 ? [{ name: "group", key: "group" }] : []),
        { name: x.label ?? "x", key: "x", format: x.format ?? S.format.number, numeric: true },
        { name: y.label ?? "y", key: "y", format: y.format ?? S.format.number, numeric: true },
      ],
      rows: points,
      onRow: onPoint,
    });
    return withLegend(frame(options, draw, table), groups);
  };
  S.chart.legend = legend;
}
