"use strict";
// The page of `swathe watch`: S.live(main) polls the server and draws the state of the run. It
// updates the page in place, so the scroll position, open parts and selected text are kept.
{
  const S = (window.swathe ??= {});
  const { h, svg, format } = S;

  // The name and badge colour of each state.
  const STATES = {
    running: ["Running", "--c1"],
    stalled: ["Stalled", "--c2"],
    dead: ["Dead", "--bad"],
    merging: ["Merging", "--c5"],
    finished: ["Finished", "--c3"],
    interrupted: ["Interrupted", "--c2"],
    not_running: ["Not running", "--faint"],
    unreadable: ["Unreadable", "--bad"],
  };
  const GOING_ON = new Set(["running", "stalled", "merging"]);
  const PHASES = { idle: "idle", memory: "waits for memory", load: "loads", turn: "waits for its turn", solve: "solves", deliver: "delivers" };

  /** How often the server is polled. */
  const POLL_MS = 1000;
  /** A request that takes longer counts as failed. */
  const ANSWER_MS_MAX = 15000;
  /** A chart is not redrawn for this long after the user pointed at it or pressed a key in it. */
  const READING_MS = 5000;

  const STYLE = `
    #top .brand { overflow-wrap: anywhere; padding-right: 5rem; }
    .state { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: baseline; margin: 0 0 .4rem; }
    .state p { margin: 0; flex: 1 1 18rem; }
    .badge { display: inline-flex; align-items: center; gap: .5rem; border: 1.5px solid var(--badge); border-radius: 2rem; padding: .2rem .85rem .2rem .7rem; font-weight: 650; white-space: nowrap; }
    .badge i { width: .7rem; height: .7rem; border-radius: 50%; background: var(--badge); flex: none; }
    .badge.dead i, .badge.unreadable i { border-radius: 0; transform: rotate(45deg) scale(.85); }
    .badge.stalled i, .badge.interrupted i { border-radius: .12rem; }
    .badge.not_running i { background: none; border: 2px solid var(--badge); }
    @media (prefers-reduced-motion: no-preference) {
      .badge.running i, .badge.merging i { animation: breathe 2s ease-in-out infinite; }
      @keyframes breathe { 50% { opacity: .3; } }
    }
    .lost { border-left: 3px solid var(--bad); padding: .2rem 0 .2rem .9rem; margin: 0 0 1rem; max-width: none; }
    .next { margin: .6rem 0 0; }
    .next a.open { display: inline-block; border: 1px solid var(--accent); border-radius: .4rem; padding: .35rem .8rem; text-decoration: none; font-weight: 600; }
    .next a.open:hover { background: var(--accent); color: var(--on-accent); }
    .live .tiles { margin-bottom: 3rem; }
    .progress { margin: 1.4rem 0 1.6rem; }
    .progress .bar { display: flex; height: 1.4rem; border-radius: .4rem; overflow: hidden; background: var(--idle); }
    .progress .bar i { display: block; flex: none; min-width: 0; }
    .progress .bar .flight { background: repeating-linear-gradient(135deg, var(--c1) 0 5px, color-mix(in srgb, var(--c1) 55%, var(--idle)) 5px 10px); }
    .progress .bar .before { background: repeating-linear-gradient(45deg, var(--c3) 0 2px, color-mix(in srgb, var(--c3) 60%, var(--idle)) 2px 6px); }
    .progress .legend { margin: .5rem 0 0; }
    .progress .legend i { display: inline-block; width: 1.1rem; height: .75rem; border-radius: 2px; margin-right: .4rem; vertical-align: -1px; }
    .progress .legend b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
    .stand { color: var(--faint); font-size: .85rem; margin: .3rem 0 0; max-width: none; font-variant-numeric: tabular-nums; }
    .now th, .now td { white-space: nowrap; }
    .now td:nth-child(3) { white-space: normal; }
    @media (max-width: 40rem) { .table.now th, .table.now td { padding-right: .6rem; min-width: 0; } }
    .now i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .5rem; vertical-align: -1px; border: 1px solid transparent; }
    .now i.idle { border-color: var(--faint); }
    .recent { display: block; width: 100%; overflow: visible; }
    .recent text { font: 12px var(--sans); fill: var(--faint); font-variant-numeric: tabular-nums; }
    .recent .track { fill: var(--soft); }
    .recent .grid { stroke: var(--line); }
    .recent .going { fill: none; stroke: var(--ink); stroke-dasharray: 3 2; }
    .setbacks { margin: .6rem 0; padding: 0; list-style: none; font-size: .9rem; max-height: 22rem; overflow-y: auto; }
    .setbacks li { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .8rem; padding: .3rem 0; border-bottom: 1px solid var(--line); }
    .setbacks time { color: var(--faint); font-variant-numeric: tabular-nums; }
    @media (max-width: 40rem) { .setbacks li { grid-template-columns: minmax(0, 1fr); gap: 0; } }
  `;

  S.live = (main) => {
    document.head.append(h("style", {}, STYLE));
    const page = build(main);
    let view = null;
    let heardAt = null;

    const show = (next) => {
      const before = view?.state;
      view = next;
      heardAt = Date.now();
      page.update(view);
      if (before !== view.state) S.announce(`${STATES[view.state]?.[0] ?? view.state}. ${view.words}`);
    };
    // Elapsed times grow between two polls too.
    setInterval(() => view && page.tick(view, heardAt), 1000);
    poll(show, page.lost);
  };

  /** Polls the server forever, also after failed requests. */
  const poll = async (show, lost) => {
    let etag = "";
    for (;;) {
      const [status, view, tag] = await ask(etag);
      lost(status === 200 || status === 304);
      if (view) {
        etag = tag;
        show(view);
      }
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  };

  /** The response's status, with the view and its tag if the view changed since `etag`. */
  const ask = async (etag) => {
    try {
      const headers = { "If-None-Match": etag };
      const answer = await fetch("/data.json", { cache: "no-store", headers, signal: AbortSignal.timeout(ANSWER_MS_MAX) });
      return [answer.status, answer.ok ? await answer.json() : null, answer.headers.get("ETag")];
    } catch {
      return [0, null, null];
    }
  };

  /** Builds all elements once. `update(view)` writes changed values into them. */
  const build = (main) => {
    const top = document.getElementById("top");
    const heading = top.querySelector("h1");
    const lead = top.querySelector(".lead");
    const where = h("span", {});
    top.querySelector(".brand").append(" ", where);
    lead.hidden = true;

    const dot = h("i", { "aria-hidden": "true" });
    const badgeText = h("span", {}, "…");
    const badge = h("span", { class: "badge", "data-figure": "state" }, dot, badgeText);
    const words = h("p", {});
    const next = h("div", { class: "next", hidden: true });
    const stand = h("p", { class: "stand" });
    const lostLine = h("p", { class: "lost", role: "alert", hidden: true });
    const bar = progress();
    const tiles = tileList();
    const throughput = slot();
    const memory = slot();
    const workers = workerTable();
    const launches = recentLaunches();
    const setbackList = h("ol", { class: "setbacks", reversed: true });
    const setbackIntro = h("p", { class: "intro" });
    const facts = h("dl", { class: "facts" });

    const sections = {
      speed: S.section("speed", "Throughput and memory", null, h("div", { class: "pair" }, throughput.element, memory.element)),
      workers: S.section("workers", "Workers now", null, workers.element),
      launches: S.section("launches", "Recent launches", null, launches.element),
      setbacks: h("section", { id: "setbacks", "aria-labelledby": "setbacks-title" }, h("h2", { id: "setbacks-title" }, "Setbacks"), setbackIntro, setbackList),
      run: S.section("run", "The run", null, facts),
    };
    const body = h("div", { class: "live", hidden: true },
      h("div", { class: "state" }, badge, words), next, stand, bar.element, tiles.element, Object.values(sections));
    main.replaceChildren(lostLine, body);
    let last = {};

    const update = (view) => {
      body.hidden = false;
      const [name, color] = STATES[view.state] ?? [view.state, "--faint"];
      badge.className = `badge ${view.state}`;
      badge.setAttribute("data-value", view.state);
      badge.style.setProperty("--badge", `var(${color})`);
      setText(badgeText, name);
      setText(words, view.words);
      setText(heading, headline(view));
      setText(where, ["", view.workload, view.folder].filter((part, n) => n === 0 || part).join(" · "));
      const share = view.n_problems > 0 ? view.n_done / view.n_problems : view.state === "finished" ? 1 : 0;
      document.title = `${Math.floor(share * 100)} % ${name.toLowerCase()}: ${view.workload || "a run"}`;
      follow(next, view, last);
      const isKnown = view.state !== "unreadable" && view.state !== "not_running";
      bar.element.hidden = tiles.element.hidden = !isKnown;
      bar.update(view);
      tiles.update(view);

      const hasSamples = view.samples.at_ms.length > 1;
      sections.speed.hidden = !hasSamples;
      if (hasSamples) {
        throughput.place(view.samples.at_ms.length + view.elapsed_ms, () => throughputChart(view));
        memory.place(view.samples.at_ms.length + view.elapsed_ms, () => memoryChart(view));
      }
      setText(sections.workers.querySelector("h2"), view.state === "dead" ? "Workers at last" : "Workers now");
      setText(sections.launches.querySelector("h2"), view.state === "dead" ? "Last launches" : "Recent launches");
      sections.workers.hidden = view.workers.length === 0;
      workers.update(view);
      sections.launches.hidden = view.launches.start_ms.length === 0;
      launches.update(view);
      sections.setbacks.hidden = view.n_setbacks === 0;
      if (last.n_setbacks !== view.n_setbacks) {
        const n = view.setbacks.length;
        setText(setbackIntro, `${S.counted(view.n_setbacks, "setback")}, all mended${view.n_setbacks > n ? `; the last ${format.count(n)} of them` : ""}.`);
        setbackList.setAttribute("start", view.n_setbacks);
        setbackList.replaceChildren(...[...view.setbacks].reverse().map((one) =>
          h("li", {}, h("time", {}, `after ${format.ms(one.at_ms)}`), h("span", {}, setbackWords(one)))));
      }
      tellFacts(facts, view, last);
      last = view;
    };

    /** Updates the texts that depend on the current time. */
    const tick = (view, heardAt) => {
      const parts = [];
      const since = view.since_unix_ms;
      if (since !== null && view.state !== "running") parts.push(`since ${clock(since)}, ${ago(Date.now() - since)}`);
      else if (since !== null) parts.push(`started at ${clock(since)}`);
      parts.push(`figures of ${clock(heardAt)}`);
      setText(stand, `${parts.join("; ")}.`.replace(/^./, (c) => c.toUpperCase()));
    };

    /** Shows whether the server answers, or the figures are out of date. */
    const lost = (isAnswered) => {
      lostLine.hidden = isAnswered;
      const text = "The server does not answer: swathe watch was ended, or the way to it is broken. The figures shown are the last ones received; the page keeps trying.";
      setText(lostLine, isAnswered ? "" : text);
      document.body.classList.toggle("is-lost", !isAnswered);
    };

    return { update: (view) => { update(view); tick(view, Date.now()); }, tick, lost };
  };

  const headline = (view) => {
    const all = S.counted(view.n_problems, "problem");
    if (view.state === "unreadable") return "The run cannot be read";
    if (view.state === "not_running") return `A run of ${all}`;
    if (view.state !== "finished") return `${format.count(view.n_done)} of ${all} done`;
    const nUnsolved = unsolved(view.counts);
    return nUnsolved === 0 ? `All ${all} done` : `All ${all} done, ${format.count(nUnsolved)} without an answer`;
  };

  const unsolved = (counts) => counts.n_failed + counts.n_too_large + counts.n_timed_out + counts.n_panicked;

  /** Offers the next steps: open the report, resume the run. */
  const follow = (next, view, last) => {
    if (last.state === view.state && last.has_report === view.has_report && last.resume_command === view.resume_command) return;
    const parts = [];
    if (view.resume_command) parts.push(commandBox(view.resume_command));
    if (view.has_report) parts.push(h("p", {}, h("a", { href: "/report", class: "open" }, "Open the report")));
    next.replaceChildren(...parts);
    next.hidden = parts.length === 0;
  };

  const commandBox = (command) => {
    const button = navigator.clipboard
      ? h("button", { type: "button", onclick: async () => {
        await navigator.clipboard.writeText(command);
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 1500);
      } }, "Copy")
      : null;
    return h("div", { class: "copy" }, h("pre", {}, h("code", {}, command)), button);
  };

  /** Done, failed, in flight and waiting as one bar. */
  const progress = () => {
    const PARTS = [
      ["solved", "solved", "--c3"],
      ["unsolved", "without an answer", "--bad"],
      ["flight", "in flight", null],
      ["waiting", "waiting", "--idle"],
    ];
    // Subsets of the problems that are done.
    const NOTES = [["committed", "of those done are committed"], ["before", "done before the run was resumed"]];
    const bars = new Map();
    const entries = new Map();
    for (const [key, name, color] of PARTS) {
      const style = color ? { background: `var(${color})` } : {};
      if (key !== "waiting") bars.set(key, h("i", { class: key, style: { ...style, width: "0%" } }));
      const value = h("b", { "data-figure": key });
      const sample = h("span", { class: "bar", style: { display: "inline", background: "none" } }, h("i", { class: key, style: { ...style, display: "inline-block" } }));
      entries.set(key, { value, item: h("li", {}, sample, value, ` ${name}`) });
    }
    for (const [key, name] of NOTES) {
      const value = h("b", { "data-figure": key });
      entries.set(key, { value, item: h("li", {}, value, ` ${name}`) });
    }
    const bar = h("div", { class: "bar", role: "progressbar", "aria-label": "Problems done", "aria-valuemin": 0 }, [...bars.values()]);
    const element = h("div", { class: "progress" }, bar, h("ul", { class: "legend" }, [...entries.values()].map(({ item }) => item)));
    const update = (view) => {
      const nDone = view.n_done;
      const nUnsolved = unsolved(view.counts);
      const isOver = !GOING_ON.has(view.state);
      const nFlight = isOver ? 0 : Math.min(view.queue.n_in_flight, view.n_problems - nDone);
      const values = {
        solved: view.counts.n_solved,
        unsolved: nUnsolved,
        flight: nFlight,
        waiting: Math.max(0, view.n_problems - nDone - nFlight),
        committed: view.n_committed ?? 0,
        before: view.n_before,
      };
      for (const [key, value] of Object.entries(values)) {
        bars.get(key)?.style.setProperty("width", `${(value / Math.max(1, view.n_problems)) * 100}%`);
        const { value: shown, item } = entries.get(key);
        item.hidden = value === 0 && key !== "solved";
        shown.setAttribute("data-value", value);
        setText(shown, format.count(value));
      }
      bar.setAttribute("aria-valuemax", view.n_problems);
      bar.setAttribute("aria-valuenow", nDone);
      bar.setAttribute("aria-valuetext", `${format.count(nDone)} of ${format.count(view.n_problems)}`);
    };
    return { element, update };
  };

  const tileList = () => {
    const tiles = new Map();
    const tile = (key) => {
      const value = h("span", { class: "value", "data-figure": key });
      const what = h("span", { class: "what" });
      const more = h("span", { class: "more" });
      const item = h("li", {}, value, what, more);
      tiles.set(key, (raw, text, name, note = "", isBad = false, isShown = true) => {
        value.setAttribute("data-value", raw ?? "");
        setText(value, text);
        setText(what, name);
        setText(more, note);
        item.hidden = !isShown;
        item.classList.toggle("bad", isBad);
      });
      return item;
    };
    const element = h("ul", { class: "tiles" }, ["n_done", "rate_per_s", "left_ms", "elapsed_ms", "n_unsolved", "n_setbacks", "memory_bytes"].map(tile));
    const update = (view) => {
      const isOver = !GOING_ON.has(view.state);
      const share = view.n_problems > 0 ? view.n_done / view.n_problems : 1;
      const { counts } = view;
      const kinds = [[counts.n_failed, "failed"], [counts.n_too_large, "too large"], [counts.n_timed_out, "timed out"], [counts.n_panicked, "panicked"]]
        .filter(([n]) => n > 0).map(([n, name]) => `${format.count(n)} ${name}`);
      tiles.get("n_done")(view.n_done, format.percent(Math.floor(share * 1000) / 1000), "done", `${format.count(view.n_done)} of ${format.count(view.n_problems)}`);
      tiles.get("rate_per_s")(view.rate_per_s, format.rate(view.rate_per_s ?? NaN), isOver ? "over the whole run" : "lately", "", false, !isOver || view.rate_per_s !== null);
      tiles.get("left_ms")(view.left_ms, roughly(view.left_ms), "left", view.left_ms === null ? "" : `until ${clock(Date.now() + view.left_ms).slice(0, 5)}`, false, !isOver);
      tiles.get("elapsed_ms")(view.elapsed_ms, elapsed(view.elapsed_ms), isOver ? "in all" : "so far");
      tiles.get("n_unsolved")(unsolved(counts), format.count(unsolved(counts)), "without an answer", kinds.join(", "), unsolved(counts) > 0);
      tiles.get("n_setbacks")(view.n_setbacks, format.count(view.n_setbacks), view.n_setbacks === 1 ? "setback" : "setbacks", view.n_setbacks ? "all mended" : "");
      const { memory } = view;
      const resident = isOver ? memory.resident_peak_bytes : memory.resident_bytes;
      const reserved = isOver ? memory.peak_bytes : memory.used_bytes;
      const ofBudget = `of ${format.bytes(memory.budget_bytes)}`;
      // Runs of earlier versions tell only what they reserved.
      if (resident > 0) tiles.get("memory_bytes")(resident, format.bytes(resident), isOver ? "memory at most" : "memory in use", `reserved ${format.bytes(reserved)} ${ofBudget}`);
      else tiles.get("memory_bytes")(reserved, format.bytes(reserved), isOver ? "reserved at most" : "reserved", ofBudget, false, memory.budget_bytes > 0);
    };
    return { element, update };
  };

  /** A container for a chart that is redrawn; an open table in it stays open. */
  const slot = () => {
    const element = h("div", {});
    let touchedAt = -Infinity;
    let drawn = null;
    for (const kind of ["pointermove", "pointerdown", "keydown"]) element.addEventListener(kind, () => (touchedAt = performance.now()));
    const place = (signature, make) => {
      if (signature === drawn) return;
      const old = element.firstElementChild;
      const active = element.contains(document.activeElement) ? document.activeElement : null;
      if (old && (performance.now() - touchedAt < READING_MS || active?.closest(".table"))) return;
      drawn = signature;
      const made = make();
      const details = made.querySelector("details");
      if (details && old?.querySelector("details")?.open) {
        // The toggle event would fill the table only after it is shown.
        details.open = true;
        details.fill();
      }
      element.replaceChildren(made);
      if (active) made.querySelector(active.matches("summary") ? "summary" : "svg")?.focus({ preventScroll: true });
    };
    return { element, place };
  };

  /** The time axis of a chart in a unit that suits the run's length, with the conversion to it. */
  const timeAxis = (end_ms) => {
    const [unit, ms] = end_ms < 300e3 ? ["s", 1e3] : end_ms < 18e6 ? ["min", 60e3] : ["h", 3600e3];
    return { at: (t) => t / ms, x: { label: `${unit} since the start`, format: number, min: 0, max: Math.max(end_ms, 1) / ms } };
  };

  /** Outcomes per second, averaged over intervals long enough to be steady. */
  const throughputChart = (view) => {
    const { at_ms: at, n_done: done } = view.samples;
    const end = at[at.length - 1];
    const step = Math.max((end - at[0]) / 60, 200);
    const axis = timeAxis(end);
    const points = [];
    let from = 0;
    for (let n = 1; n < at.length; n += 1) {
      if (at[n] - at[from] < step && n < at.length - 1) continue;
      if (at[n] > at[from]) points.push([axis.at(at[n]), ((done[n] - done[from]) / (at[n] - at[from])) * 1000]);
      from = n;
    }
    return S.chart.line({
      title: "Outcomes a second",
      series: [{ name: "outcomes a second", points, color: "--c1", area: true }],
      x: axis.x,
      y: { label: "a second", format: number },
    });
  };

  const memoryChart = (view) => {
    const { at_ms: at, used_bytes: used } = view.samples;
    const axis = timeAxis(at[at.length - 1]);
    const budget = view.memory.budget_bytes;
    const peak = used.reduce((a, b) => Math.max(a, b), 0);
    const [unit, size] = peak >= 2 ** 30 ? ["GiB", 2 ** 30] : peak >= 2 ** 20 ? ["MiB", 2 ** 20] : ["KiB", 2 ** 10];
    // A budget far above the peak would flatten the line.
    const isNear = budget > 0 && budget < 4 * peak;
    return S.chart.line({
      title: "Memory reserved",
      series: [{ name: `reserved in ${unit}`, points: at.map((t, n) => [axis.at(t), used[n] / size]), color: "--memory", area: true, steps: true }],
      marks: isNear ? [{ y: budget / size, name: `budget ${format.bytes(budget)}` }] : [],
      x: axis.x,
      y: { label: isNear ? unit : `${unit}, of a budget of ${format.bytes(budget)}`, format: number },
    });
  };

  /** The id of a worker's problem, or its number while the id is not known. */
  const named = (view, now) => view.problem_ids?.[view.workers.indexOf(now)] || `problem ${format.count(now.problem[0])}`;

  const workerTable = () => {
    const body = h("tbody");
    const rows = new Map();
    const table = h("table", {}, h("thead", {}, h("tr", {}, ["worker", "device", "does", "problem", "for"].map((name) =>
      h("th", { scope: "col", class: name === "for" ? "numeric" : null }, name)))), body);
    const row = (worker) => {
      const cells = { device: h("td"), phase: h("span"), color: h("i", { "aria-hidden": "true" }), problem: h("td"), time: h("td", { class: "numeric" }) };
      const element = h("tr", {}, h("th", { scope: "row" }, worker), cells.device, h("td", {}, cells.color, cells.phase), cells.problem, cells.time);
      return { element, cells };
    };
    const update = (view) => {
      const seen = new Set();
      for (const now of view.workers) {
        seen.add(now.worker);
        if (!rows.has(now.worker)) {
          rows.set(now.worker, row(now.worker));
          body.append(rows.get(now.worker).element);
        }
        const { cells } = rows.get(now.worker);
        setText(cells.device, now.device);
        setText(cells.phase, PHASES[now.phase] ?? now.phase);
        cells.color.className = now.phase;
        cells.color.style.setProperty("background", `var(--${now.phase})`);
        setText(cells.problem, now.problem ? named(view, now) : "");
        setText(cells.time, now.problem ? format.ms(now.problem[1]) : "");
      }
      for (const [worker, { element }] of rows) {
        if (seen.has(worker)) continue;
        element.remove();
        rows.delete(worker);
      }
    };
    return { element: h("div", { class: "table now" }, h("div", { class: "table-scroll" }, table)), update };
  };

  /** The last launches of every worker over time. */
  const recentLaunches = () => {
    const N_SHOWN_MAX = 250;
    const ROW = 24;
    const drawing = svg("svg", { class: "recent", role: "img", "aria-label": "Recent launches of every worker" });
    const parts = [["memory_ms", "memory", "waiting for memory"], ["load_ms", "load", "loading"], ["turn_ms", "turn", "waiting for a turn"], ["solve_ms", "solve", "solving"]];
    const legend = S.chart.legend(parts.map(([, color, name]) => ({ name, color: `--${color}` })));
    const note = h("p", { class: "note" });
    const element = h("div", {}, legend, drawing, note);
    let shown = null;
    let widthDrawn = 0;
    let shownLaunches = [];
    // The tip is built for the hovered launch only: building all tips is slow.
    drawing.addEventListener("pointerover", ({ target }) => {
      const one = shownLaunches[target.getAttribute("data-at") ?? -1];
      if (!one) return;
      const phases = parts.map(([key, , name]) => `${name} ${format.ms(one[key])}`);
      target.setAttribute("data-tip", `${S.counted(one.n_lanes, "problem")} of ${one.shape} on ${one.device}\n${phases.join(", ")}`);
    });
    const update = (view) => {
      shown = view;
      const all = S.rows(view.launches);
      if (all.length === 0) return;
      const end = Math.max(view.elapsed_ms, ...all.slice(-20).map((one) => one.end_ms));
      const first = all[Math.max(0, all.length - N_SHOWN_MAX)].start_ms;
      const span = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600].map((s) => s * 1000).find((ms) => ms >= end - first) ?? end - first;
      const from = end - span;
      const launches = all.filter((one) => one.end_ms > from);
      const workers = [...new Set([...view.workers, ...launches].map((one) => one.worker))].sort((a, b) => a - b);
      widthDrawn = element.clientWidth;
      const width = Math.max(280, widthDrawn || 720);
      const left = 26 + 7 * String(workers[workers.length - 1] ?? 0).length;
      const x = (ms) => left + ((Math.max(ms, from) - from) / span) * (width - left);
      const y = new Map(workers.map((worker, n) => [worker, n * ROW]));
      const height = workers.length * ROW + 22;
      const children = [];
      for (const worker of workers) {
        children.push(svg("rect", { class: "track", x: left, y: y.get(worker) + 2, width: width - left, height: ROW - 4, rx: 2 }));
        children.push(svg("text", { x: left - 6, y: y.get(worker) + ROW / 2, dy: "0.32em", "text-anchor": "end" }, worker));
      }
      const nTicks = width > 600 ? 5 : 2;
      for (let n = 0; n <= nTicks; n += 1) {
        const at = from + (span * n) / nTicks;
        const anchor = n === 0 ? "start" : n === nTicks ? "end" : "middle";
        const text = n === nTicks ? (view.state === "dead" ? "the end" : "now") : `−${format.ms(span - (span * n) / nTicks)}`;
        children.push(svg("line", { class: "grid", x1: x(at), x2: x(at), y1: 0, y2: workers.length * ROW }));
        children.push(svg("text", { x: x(at), y: height - 6, "text-anchor": anchor }, text));
      }
      const thinnest_ms = (span / (width - left)) * 0.3;
      launches.forEach((one, at) => {
        let start = one.start_ms;
        for (const [key, color] of parts) {
          const end_ms = start + one[key];
          // Thinner phases are invisible and skipped, except solving, so that every launch shows.
          if (end_ms > from && (one[key] > thinnest_ms || key === "solve_ms")) {
            children.push(svg("rect", { x: x(start).toFixed(1), y: y.get(one.worker) + 4, width: Math.max(0.7, x(end_ms) - x(start) - 0.4).toFixed(1), height: ROW - 8, fill: `var(--${color})`, "data-at": at }));
          }
          start = end_ms;
        }
      });
      shownLaunches = launches;
      // A problem in progress is not a launch yet: it is drawn as a frame.
      for (const now of view.workers) {
        if (!now.problem || now.problem[1] < span / 200) continue;
        const start = view.elapsed_ms - now.problem[1];
        children.push(svg("rect", { class: "going", x: x(start), y: y.get(now.worker) + 4, width: Math.max(1, x(view.elapsed_ms) - x(start)), height: ROW - 8, "data-tip": `${named(view, now)}, for ${format.ms(now.problem[1])}` }));
      }
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
      drawing.setAttribute("height", height);
      drawing.replaceChildren(...children);
      setText(note, `A row for each worker; ${S.counted(launches.length, "launch", "launches")} of ${format.count(view.n_launches)}. A frame is a problem in hand.`);
    };
    new ResizeObserver(() => shown && element.clientWidth !== widthDrawn && update(shown)).observe(element);
    return { element, update };
  };

  const setbackWords = (setback) => {
    const { long, remedy } = S.setbackWords(setback);
    return `${setback.device}, ${S.counted(setback.n_problems, "problem")}: ${long}; ${remedy}.`;
  };

  const tellFacts = (facts, view, last) => {
    const known = [
      ["folder", view.folder],
      ["workload", view.workload],
      ["shard", view.shard ? `${view.shard[0]} of ${view.shard[1]}` : ""],
      ["command", view.command],
      ["version", view.version],
      ["launches", view.n_launches ? format.count(view.n_launches) : ""],
      ["solved again with another answer", view.n_mismatches ? format.count(view.n_mismatches) : ""],
    ];
    const signature = JSON.stringify(known);
    if (facts.signature === signature) return;
    facts.signature = signature;
    // Only changed values are replaced, so that selected text stays selected.
    const shown = new Map([...facts.querySelectorAll("dd")].map((dd) => [dd.dataset.fact, dd]));
    const wanted = known.filter(([, value]) => value);
    if (shown.size !== wanted.length) {
      facts.replaceChildren(...wanted.flatMap(([name, value]) =>
        [h("dt", {}, name), h("dd", { "data-fact": name }, name === "command" ? h("code", {}, value) : value)]));
    } else for (const [name, value] of wanted) {
      const dd = shown.get(name);
      if (dd.textContent !== value) dd.replaceChildren(name === "command" ? h("code", {}, value) : value);
    }
  };

  const number = (x) => format.number(x);
  const setText = (node, text) => {
    if (node.textContent !== String(text)) node.textContent = text;
  };
  const clock = (unixMs) => new Date(unixMs).toLocaleTimeString("en-GB");
  const ago = (ms) => (ms < 1500 ? "just now" : `${format.ms(Math.round(ms / 1000) * 1000)} ago`);
  // Short enough for a tile.
  const elapsed = (ms) => {
    if (ms < 119950) return format.ms(ms);
    const s = Math.round(ms / 1000);
    const [unit, large, small] = s < 7200 ? ["min", s / 60, s % 60] : ["h", s / 3600, (s / 60) % 60];
    return `${Math.floor(large)}:${String(Math.floor(small)).padStart(2, "0")} ${unit}`;
  };
  // Rounded, because an estimate of hours is not accurate to the second.
  const roughly = (ms) => {
    if (typeof ms !== "number") return "–";
    const s = ms / 1000;
    if (s < 10) return `${Math.max(1, Math.ceil(s))} s`;
    if (s < 120) return `${Math.ceil(s / 5) * 5} s`;
    if (s < 7200) return `${Math.round(s / 60)} min`;
    const min = Math.round(s / 600) * 10;
    return `${Math.floor(min / 60)} h ${min % 60} min`;
  };
}
