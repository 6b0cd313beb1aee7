"use strict";
// The timeline of launches, one row for each worker, with zoom and pan.
//
//   S.timeline({ launches, workers, setbacks, wall_ms, class_names }) -> Element
//     launches     columns, as `launches.rs` makes them
//     workers      [{ worker, device }, …], one row each
//     setbacks     drawn as marks above the rows
//
// Phases differ in height as well as in colour. Phases narrower than two pixels are summed by
// pixel: the height of a pixel column is the share of its time in which the worker was busy. A row
// is therefore eight paths, however many launches it has, and the launch under the pointer is
// looked up in the data instead of the drawing.
{
  const S = (window.swathe ??= {});
  const { h, svg, format } = S;
  const PHASES = [
    { key: "solve_ms", name: "solving", color: "--solve", tall: 1 },
    { key: "load_ms", name: "loading", color: "--load", tall: 0.7 },
    { key: "turn_ms", name: "waiting for a turn", color: "--turn", tall: 0.42 },
    { key: "memory_ms", name: "waiting for memory", color: "--memory", tall: 0.22 },
  ];
  // The order in which a launch passes through the phases, as indices into PHASES.
  const COURSE = [3, 1, 2, 0];
  S.phaseColors = PHASES;

  S.timeline = ({ launches, workers, setbacks = [], wall_ms, class_names = {} }) => {
    const all = launchRows(launches, class_names);
    const tracks = tracksOf(all, workers);
    const end_ms = Math.max(wall_ms, ...tracks.map((track) => track.last_ms), 1e-6);
    const view = { from: 0, to: end_ms };
    const chosen = { track: 0, at: -1 };
    let width = 720;

    const rowHeight = tracks.length > 40 ? 9 : tracks.length > 16 ? 14 : 24;
    const top = setbacks.length ? 20 : 6;
    const bottom = top + tracks.length * rowHeight;
    const height = bottom + 40;
    const left = Math.min(130, 16 + 6.8 * Math.max(...tracks.map((track) => track.name.length), setbacks.length ? 8 : 0));
    const right = () => width - 10;
    const toX = (ms) => left + ((ms - view.from) / (view.to - view.from)) * (right() - left);
    const toMs = (x) => view.from + ((x - left) / (right() - left)) * (view.to - view.from);

    const drawing = svg("svg", { tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-labelledby": "timeline-name timeline-hint", height });
    const range = h("span", { class: "range" });
    const readout = h("p", { class: "readout", "aria-live": "polite" });
    const button = (text, label, act) => h("button", { type: "button", "aria-label": label, "data-tip": label, onclick: act }, text);
    const bar = h("div", { class: "timeline-bar" },
      button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
      button("‹", "Earlier", () => move(-0.25)), button("›", "Later", () => move(0.25)),
      button("Whole run", "Show the whole run", reset), range);
    const legend = S.chart.legend(PHASES);
    const element = h("figure", { class: "chart timeline" }, legend, bar, drawing, readout);

    function limit() {
      // The closest zoom shows 0.1 µs.
      const span = Math.max(1e-4, Math.min(view.to - view.from, end_ms));
      view.from = Math.max(0, Math.min(view.from, end_ms - span));
      view.to = view.from + span;
    }
    function zoom(factor, around = (view.from + view.to) / 2) {
      const span = Math.max(1e-4, (view.to - view.from) * factor);
      const share = (around - view.from) / (view.to - view.from);
      view.from = around - share * span;
      view.to = view.from + span;
      limit();
      draw();
    }
    function move(share) {
      const by = share * (view.to - view.from);
      const span = view.to - view.from;
      view.from = Math.max(0, Math.min(view.from + by, end_ms - span));
      view.to = view.from + span;
      draw();
    }
    function reset() {
      view.from = 0;
      view.to = end_ms;
      draw();
    }

    // At most one redraw per screen frame.
    let waiting = false;
    function draw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        drawNow();
      });
    }
    function drawNow() {
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
      drawing.setAttribute("width", "100%");
      const children = [
        svg("title", { id: "timeline-name" }, `Launches of ${S.counted(tracks.length, "worker")} over ${format.ms(end_ms)}`),
        svg("desc", { id: "timeline-hint" }, "Plus and minus zoom, left and right move, 0 shows the whole run; up and down choose a worker, N and P its next and previous launch."),
      ];
      const labelEvery = Math.ceil(13 / rowHeight);
      tracks.forEach((track, at) => {
        const y = top + at * rowHeight;
        if (at % labelEvery === 0) children.push(svg("text", { class: "name", x: left - 8, y: y + rowHeight / 2, dy: "0.32em", "text-anchor": "end" }, track.name));
        children.push(svg("rect", { class: "track", x: left, y: y + 1, width: right() - left, height: rowHeight - 2 }));
        const { narrow, wide } = paths(track, y + 1, rowHeight - 2);
        const add = (d, phase) => d && children.push(svg("path", { d, fill: `var(${PHASES[phase].color})` }));
        for (let phase = PHASES.length - 1; phase >= 0; phase -= 1) add(narrow[phase], phase);
        wide.forEach(add);
      });
      const span = view.to - view.from;
      for (const ms of S.chart.ticks(view.from, view.to, Math.max(2, Math.floor((right() - left) / 100)))) {
        const x = toX(ms);
        children.push(svg("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
        children.push(svg("text", { class: "tick", x, y: bottom + 17, "text-anchor": x > right() - 24 ? "end" : "middle" }, tickText(ms, span)));
      }
      if (setbacks.length) {
        children.push(svg("text", { class: "name", x: left - 8, y: 9, dy: "0.32em", "text-anchor": "end" }, "setbacks"));
        const d = setbacks.filter((one) => one.at_ms >= view.from && one.at_ms <= view.to).map((one) => `M${toX(one.at_ms).toFixed(1)} 15l-4 -8h8z`).join("");
        if (d) children.push(svg("path", { d, fill: "var(--bad)", class: "setbacks" }));
      }
      // The position of the visible part within the whole run.
      children.push(svg("rect", { class: "track", x: left, y: height - 10, width: right() - left, height: 5, rx: 2.5 }));
      const [a, b] = [view.from, view.to].map((ms) => left + (ms / end_ms) * (right() - left));
      children.push(svg("rect", { x: a, y: height - 10, width: Math.max(3, b - a), height: 5, rx: 2.5, fill: "var(--accent)", class: "thumb" }));
      const launch = tracks[chosen.track]?.rows[chosen.at];
      if (launch) {
        const [x0, x1] = [Math.max(left, toX(launch.start_ms)), Math.min(right(), toX(launch.end_ms))];
        if (x1 >= left && x0 <= right()) children.push(svg("rect", { class: "slice chosen", fill: "none", x: x0, width: Math.max(2, x1 - x0), y: top + chosen.track * rowHeight, height: rowHeight }));
      }
      drawing.replaceChildren(...children);
      range.textContent = view.from <= 0 && view.to >= end_ms ? `whole run, ${format.ms(end_ms)}` : `${tickText(view.from, span)} to ${tickText(view.to, span)} of ${format.ms(end_ms)}`;
      drawing.dataset.from = view.from;
      drawing.dataset.to = view.to;
    }

    /** The drawing of one row, by phase. */
    function paths(track, y, tall) {
      const [narrow, wide] = [PHASES.map(() => ""), PHASES.map(() => "")];
      const nPixels = Math.max(1, Math.ceil(right() - left));
      const pixel_ms = (view.to - view.from) / nPixels;
      const bins = PHASES.map(() => new Float64Array(nPixels));
      const base = y + tall;
      for (let at = firstEnding(track, view.from); at < track.rows.length; at += 1) {
        const launch = track.rows[at];
        if (launch.start_ms > view.to) break;
        let from = launch.start_ms;
        for (const phase of COURSE) {
          const to = from + launch[PHASES[phase].key];
          const [low, high] = [Math.max(from, view.from), Math.min(to, view.to)];
          if (high > low && to - from >= 2 * pixel_ms) {
            const [x0, x1] = [toX(low), toX(high)];
            // A thin gap between neighbours, if there is room.
            const gap = phase === 0 && x1 - x0 > 4 ? 0.7 : 0;
            wide[phase] += `M${x0.toFixed(1)} ${base}V${(base - tall * PHASES[phase].tall).toFixed(1)}H${(x1 - gap).toFixed(1)}V${base}Z`;
          } else if (high > low) {
            const first = Math.floor((low - view.from) / pixel_ms);
            const last = Math.min(nPixels - 1, Math.floor((high - view.from) / pixel_ms));
            for (let px = first; px <= last; px += 1) {
              const [a, b] = [view.from + px * pixel_ms, view.from + (px + 1) * pixel_ms];
              bins[phase][px] += Math.max(0, Math.min(high, b) - Math.max(low, a));
            }
          }
          from = to;
        }
      }
      // Outlines of the stacked phases, the tallest drawn first. Adjacent pixels of equal height
      // share one line.
      const heights = new Float64Array(nPixels);
      PHASES.forEach((_, phase) => {
        let d = "";
        let last = 0;
        for (let px = 0; px < nPixels; px += 1) {
          heights[px] += (bins[phase][px] / pixel_ms) * tall;
          const height = Math.min(tall, Math.ceil(heights[px] * 2) / 2);
          if (height === last) continue;
          d += last === 0 ? `M${left + px} ${base}V${base - height}` : `H${left + px}V${base - height}`;
          if (height === 0) d += "Z";
          last = height;
        }
        narrow[phase] = last === 0 ? d : `${d}H${left + nPixels}V${base}Z`;
      });
      return { narrow, wide };
    }

    const tellAt = (x, y, clientX, clientY) => {
      const ms = toMs(x);
      const pixel_ms = (view.to - view.from) / (right() - left);
      if (setbacks.length && y < top) {
        const near = setbacks.filter((one) => Math.abs(toX(one.at_ms) - x) < 5);
        if (near.length) return S.tip.show(`${S.counted(near.length, "setback")} at ${format.ms(near[0].at_ms)}`, clientX, clientY);
      }
      const track = tracks[Math.floor((y - top) / rowHeight)];
      if (!track || x < left || y >= bottom) return S.tip.hide();
      const near = [];
      for (let at = firstEnding(track, ms - pixel_ms); at < track.rows.length && track.rows[at].start_ms <= ms + pixel_ms; at += 1) near.push(track.rows[at]);
      if (near.length === 0) return S.tip.show(`${track.name}: idle at ${format.ms(ms)}`, clientX, clientY);
      if (near.length === 1) return S.tip.show(told(near[0], track), clientX, clientY);
      const n = near.reduce((sum, launch) => sum + launch.n_lanes, 0);
      S.tip.show(`${track.name}: ${S.counted(near.length, "launch", "launches")} with ${S.counted(n, "problem")} around ${format.ms(ms)}; zoom in to see each`, clientX, clientY);
    };

    const place = (event) => {
      const box = drawing.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
    };

    // Dragging pans, two fingers zoom.
    const pointers = new Map();
    let dragged = null;
    drawing.addEventListener("pointerdown", (event) => {
      const [x, y] = place(event);
      pointers.set(event.pointerId, x);
      dragged = { x, y, from: view.from, to: view.to, moved: false };
      if (event.pointerType !== "touch") drawing.setPointerCapture(event.pointerId);
      if (pointers.size === 2) dragged.gap = gapOf(pointers);
    });
    drawing.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!pointers.has(event.pointerId)) return tellAt(x, y, event.clientX, event.clientY);
      pointers.set(event.pointerId, x);
      if (!dragged) return;
      const span = dragged.to - dragged.from;
      if (pointers.size === 2 && dragged.gap) {
        const middle = [...pointers.values()].reduce((a, b) => a + b) / 2;
        const around = dragged.from + ((middle - left) / (right() - left)) * span;
        const factor = dragged.gap / Math.max(1, gapOf(pointers));
        Object.assign(view, { from: around - (around - dragged.from) * factor, to: around + (dragged.to - around) * factor });
        limit();
      } else {
        if (Math.abs(x - dragged.x) > 3) dragged.moved = true;
        if (!dragged.moved) return;
        drawing.classList.add("dragged");
        const by = ((dragged.x - x) / (right() - left)) * span;
        view.from = Math.max(0, Math.min(dragged.from + by, end_ms - span));
        view.to = view.from + span;
      }
      S.tip.hide();
      draw();
    });
    const lift = (event) => {
      pointers.delete(event.pointerId);
      drawing.classList.remove("dragged");
      if (dragged && !dragged.moved && event.type === "pointerup") pick(dragged.x, dragged.y);
      dragged = null;
    };
    drawing.addEventListener("pointerup", lift);
    drawing.addEventListener("pointercancel", lift);
    drawing.addEventListener("pointerleave", () => S.tip.hide());
    drawing.setAttribute("data-tips", "");
    drawing.addEventListener("dblclick", (event) => zoom(0.25, toMs(place(event)[0])));
    // The wheel scrolls the page; it zooms only with Ctrl, or after a click into the drawing.
    drawing.addEventListener("wheel", (event) => {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move((event.deltaX || event.deltaY) / 600);
      else if (event.ctrlKey || event.metaKey || document.activeElement === drawing) zoom(1.0015 ** event.deltaY, toMs(place(event)[0]));
      else return;
      event.preventDefault();
    }, { passive: false });

    function pick(x, y) {
      const track = Math.floor((y - top) / rowHeight);
      if (!tracks[track]) return;
      const pixel_ms = (view.to - view.from) / (right() - left);
      const at = firstEnding(tracks[track], toMs(x) - pixel_ms);
      const launch = tracks[track].rows[at];
      if (launch && launch.start_ms <= toMs(x) + pixel_ms) choose(track, at);
    }
    function choose(track, at) {
      chosen.track = Math.max(0, Math.min(track, tracks.length - 1));
      const { rows } = tracks[chosen.track];
      chosen.at = Math.max(0, Math.min(at, rows.length - 1));
      const launch = rows[chosen.at];
      readout.textContent = launch ? told(launch, tracks[chosen.track]) : `${tracks[chosen.track].name} had no launches.`;
      if (launch && (launch.end_ms < view.from || launch.start_ms > view.to)) {
        const span = view.to - view.from;
        view.from = launch.start_ms - span / 2;
        view.to = view.from + span;
        limit();
      }
      draw();
    }
    drawing.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { track, at } = chosen;
      const launch = tracks[track]?.rows[at];
      const isSeen = launch && launch.end_ms >= view.from && launch.start_ms <= view.to;
      const around = isSeen ? Math.max(view.from, Math.min(view.to, (launch.start_ms + launch.end_ms) / 2)) : undefined;
      // The launch of another worker that runs at the same time.
      const beside = (to) => (tracks[to] ? firstEnding(tracks[to], launch ? launch.start_ms : view.from) : at);
      const below = at < 0 ? track : Math.min(track + 1, tracks.length - 1);
      const acts = {
        "+": () => zoom(0.5, around), "=": () => zoom(0.5, around), "-": () => zoom(2, around), _: () => zoom(2, around),
        ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), 0: reset, Home: reset,
        ArrowDown: () => choose(below, beside(below)),
        ArrowUp: () => choose(track - 1, beside(Math.max(0, track - 1))),
        n: () => choose(track, at + 1), N: () => choose(track, at + 1), p: () => choose(track, at - 1), P: () => choose(track, at - 1),
      };
      if (!acts[event.key]) return;
      acts[event.key]();
      event.preventDefault();
    });

    new ResizeObserver(() => {
      const found = Math.floor(drawing.getBoundingClientRect().width);
      if (found > 0 && found !== width) {
        width = Math.max(280, found);
        draw();
      }
    }).observe(drawing);
    drawNow();
    element.timeline = { view, rows: all, zoom, move, reset };
    return element;
  };

  const gapOf = (pointers) => {
    const [a, b] = [...pointers.values()];
    return Math.abs(a - b);
  };

  /** Launches as objects, ordered by start time. */
  const launchRows = (columns, class_names) => {
    const rows = S.rows(Object.fromEntries(Object.entries(columns).filter(([name]) => name !== "devices" && name !== "shapes")));
    for (const row of rows) {
      row.device = columns.devices[row.device];
      row.shape = columns.shapes[row.shape];
      row.class_name = class_names[row.class] ?? "";
      row.end_ms = row.start_ms + row.memory_ms + row.load_ms + row.turn_ms + row.solve_ms;
    }
    return rows.sort((a, b) => a.start_ms - b.start_ms);
  };

  const tracksOf = (rows, workers) => {
    const key = (device, worker) => `${device} ${worker}`;
    const tracks = new Map();
    const add = ({ device, worker }) => {
      if (!tracks.has(key(device, worker))) tracks.set(key(device, worker), { device, worker, name: key(device, worker), rows: [], last_ms: 0 });
      return tracks.get(key(device, worker));
    };
    workers.forEach(add);
    for (const row of rows) {
      const track = add(row);
      track.rows.push(row);
      track.last_ms = Math.max(track.last_ms, row.end_ms);
    }
    return [...tracks.values()].sort((a, b) => (a.device < b.device ? -1 : a.device > b.device ? 1 : a.worker - b.worker));
  };

  /** The index of a row's first launch that ends at this time or later. */
  const firstEnding = (track, ms) => {
    let [low, high] = [0, track.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track.rows[middle].end_ms < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  // Enough digits to distinguish neighbouring ticks, in one unit for all of them.
  const tickText = (ms, span) => {
    const [size, unit] = span < 0.5 ? [1e-3, "µs"] : span < 500 ? [1, "ms"] : span < 200000 ? [1e3, "s"] : [6e4, "min"];
    const nDecimals = Math.max(0, Math.min(3, Math.ceil(-Math.log10(span / size / 10))));
    return `${(ms / size).toLocaleString("en-US", { maximumFractionDigits: nDecimals })} ${unit}`;
  };

  const waste = (launch) => (launch.volume_launched > 0 ? 1 - Math.min(launch.volume_real, launch.volume_launched) / launch.volume_launched : 0);
  const told = (launch, track) => {
    const phases = COURSE.map((phase) => PHASES[phase]).filter(({ key }) => launch[key] > 0).map(({ key, name }) => `${name} ${format.ms(launch[key])}`);
    const padding = waste(launch) > 0 ? `, ${format.percent(waste(launch))} padding` : "";
    return `${track.name}, from ${format.ms(launch.start_ms)}: ${S.counted(launch.n_lanes, "problem")} of up to ${launch.shape}${launch.class_name ? ` (${launch.class_name})` : ""}${padding}, ${format.bytes(launch.bytes)}: ${phases.join(", ")}`;
  };

  /** The columns of a table of launches. */
  S.timeline.columns = [
    { name: "start", key: "start_ms", format: format.ms, numeric: true },
    { name: "device", key: "device" },
    { name: "worker", key: "worker", format: format.count, numeric: true },
    { name: "shape", key: "shape", help: "The shape that all its problems fit in" },
    { name: "problems", key: "n_lanes", format: format.count, numeric: true },
    { name: "reserved", key: "bytes", format: format.bytes, numeric: true },
    { name: "padding", value: waste, format: format.percent, numeric: true },
    { name: "for memory", key: "memory_ms", format: format.ms, numeric: true, help: "Waiting for memory" },
    { name: "loading", key: "load_ms", format: format.ms, numeric: true },
    { name: "for a turn", key: "turn_ms", format: format.ms, numeric: true, help: "Waiting for a turn to solve" },
    { name: "solving", key: "solve_ms", format: format.ms, numeric: true },
  ];
}
