"use strict";
// The sections that every report has: S.sections.<name>(data) -> Element, or null if there is
// nothing to show. `data` comes from PageData::json: `data.report` is the report of report.json
// without its launches.
{
  const S = (window.swathe ??= {});
  const { h, format, figure, section } = S;

  const unsolved = (counts) => counts.n_failed + counts.n_too_large + counts.n_timed_out + counts.n_panicked;
  const sum = (rows, value) => rows.reduce((total, row) => total + value(row), 0);
  const waste = (one) => (one.volume_launched > 0 ? 1 - Math.min(one.volume_real, one.volume_launched) / one.volume_launched : 0);
  const facts = (pairs) =>
    h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  const listed = (parts) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`);

  const perSecond = (x) => format.rate(x).replace("/s", "");

  S.sections.warnings = ({ report, warnings }) => {
    const texts = [...(warnings ?? [])];
    if (report.cancelled) texts.push("The run was stopped before its end. What was finished is kept; the same command with --resume goes on.");
    const { mismatches } = report.verification;
    if (mismatches.length) texts.push(`${S.counted(mismatches.length, "problem")} gave another answer when solved again.`);
    return texts.length ? h("div", {}, texts.map((text) => h("p", { class: "warning" }, text))) : null;
  };

  S.sections.tiles = ({ report, counts, n_before, apart }) => {
    const { memory } = report;
    const tile = (what, value, more, isBad) =>
      h("li", { class: isBad ? "bad" : null }, h("span", { class: "what" }, what),
        h("span", { class: value.textContent.length > 8 ? "value long" : "value" }, value), h("span", { class: "more" }, more));
    const kinds = [["n_failed", "failed"], ["n_too_large", "too large"], ["n_timed_out", "timed out"], ["n_panicked", "panicked"]]
      .filter(([key]) => counts[key] > 0)
      .map(([key, name], at) => [at ? ", " : "", figure(`counts.${key}`, counts[key]), ` ${name}`]);
    const nUnsolved = unsolved(counts);
    const tiles = h("ul", { class: "tiles", "aria-label": "Figures of the run" },
      tile("Solved", figure("counts.n_solved", counts.n_solved - (apart?.n ?? 0)),
        ["of ", figure("counts.n_problems", counts.n_problems), apart ? [", ", figure("apart.n", apart.n), ` ${apart.what}`] : null, n_before ? [", ", figure("n_before", n_before), " done before the run was resumed"] : null]),
      tile("Not solved", figure("n_unsolved", nUnsolved), kinds.length ? kinds : report.cancelled ? "of those tried" : "all have answers", nUnsolved > 0),
      tile("Setbacks", figure("n_setbacks", report.n_setbacks), report.n_setbacks ? "all mended" : "none to mend"),
      tile("Time", figure("wall_ms", report.wall_ms, format.ms), [figure("n_launches", report.n_launches), " launches"]),
      tile("Throughput", figure("solved_per_s", report.solved_per_s, perSecond), "solved a second"),
      // Reports of earlier versions do not know what was resident.
      memory.resident_peak_bytes > 0
        ? tile("Peak memory", figure("memory.resident_peak_bytes", memory.resident_peak_bytes, format.bytes),
          ["reserved ", figure("memory.peak_bytes", memory.peak_bytes, format.bytes), " of ", figure("memory.budget_bytes", memory.budget_bytes, format.bytes)])
        : tile("Reserved", figure("memory.peak_bytes", memory.peak_bytes, format.bytes),
          ["of ", figure("memory.budget_bytes", memory.budget_bytes, format.bytes)]));
    return h("div", { class: "overview" }, tiles);
  };

  S.sections.figures = ({ figures }) => {
    const names = Object.keys(figures).filter((name) => figures[name] > 0);
    if (names.length === 0) return null;
    return section("figures", "Counted on the way", "What the workload itself counts.",
      facts(names.map((name) => [name, figure(`figures.${name}`, figures[name])])));
  };

  S.sections.timeline = ({ report, launches, class_names }) => {
    if (launches.start_ms.length === 0) return null;
    const timeline = S.timeline({ launches, class_names, workers: report.workers, setbacks: report.setbacks, wall_ms: report.wall_ms });
    const shown = report.launches_step > 1
      ? ` Of ${S.counted(report.n_launches, "launch", "launches")} every ${format.count(report.launches_step)}th is drawn, so rows look emptier than they were.`
      : "";
    const rows = timeline.timeline.rows;
    timeline.append(S.details("Launches as a table", () => S.table({
      caption: `${S.counted(rows.length, "launch", "launches")}${shown ? " of those that ran" : ""}`, columns: S.timeline.columns, rows,
    })));
    return section("timeline", "Timeline",
      `What every worker did and when. A launch is a batch of problems that run together.${shown}`,
      timeline,
      h("p", { class: "note no-print" }, "Drag to move; zoom with the buttons, with two fingers, with Ctrl and the wheel, or by keyboard: ",
        h("kbd", {}, "+"), " ", h("kbd", {}, "−"), " ", h("kbd", {}, "←"), " ", h("kbd", {}, "→"), ", ", h("kbd", {}, "0"), " for all, ",
        h("kbd", {}, "N"), " ", h("kbd", {}, "P"), " for the next and previous launch of a worker, ", h("kbd", {}, "↑"), " ", h("kbd", {}, "↓"), " for another worker."));
  };

  const PHASES = [
    { key: "solve_ms", name: "solving", color: "--solve" },
    { key: "load_ms", name: "loading", color: "--load" },
    { key: "turn_ms", name: "waiting for a turn", color: "--turn", hatched: true },
    { key: "memory_ms", name: "waiting for memory", color: "--memory", hatched: true },
    { key: "deliver_ms", name: "handing over", color: "--deliver" },
    { key: "idle_ms", name: "idle", color: "--idle", pale: true },
  ];
  const N_BARS_MAX = 32;

  S.sections.workers = ({ report }) => {
    const { workers } = report;
    if (workers.length === 0) return null;
    const phases_ms = (worker) => sum(PHASES, ({ key }) => worker[key]);
    const total_ms = sum(workers, phases_ms);
    const shares = PHASES.map(({ key, name }) => ({ name, share: sum(workers, (worker) => worker[key]) / (total_ms || 1) }))
      .filter(({ share }) => share >= 0.005)
      .sort((a, b) => b.share - a.share)
      .map(({ name, share }) => `${format.percent(share)} ${name}`);
    // Many workers of one device behave alike, so one bar shows their average.
    let bars = workers.map((worker) => ({ name: `${worker.device} ${worker.worker}`, values: PHASES.map(({ key }) => worker[key]) }));
    let note = null;
    if (bars.length > N_BARS_MAX) {
      const devices = [...new Set(workers.map((worker) => worker.device))];
      bars = devices.map((device) => {
        const own = workers.filter((worker) => worker.device === device);
        return { name: `${device} (${own.length})`, values: PHASES.map(({ key }) => sum(own, (worker) => worker[key]) / own.length) };
      });
      note = S.note(`A bar is the average of a device's workers, whose number stands in brackets.`);
    }
    const table = {
      columns: [
        { name: "worker", value: (worker) => `${worker.device} ${worker.worker}` },
        ...PHASES.map(({ key, name }) => ({ name, key, format: format.ms, numeric: true })),
        { name: "together", value: phases_ms, format: format.ms, numeric: true },
        { name: "there for", key: "wall_ms", format: format.ms, numeric: true, help: "From the worker's first moment to its last" },
      ],
      rows: workers,
    };
    return section("workers", "Time by worker", `All workers together: ${listed(shares)}.`,
      S.chart.stacked({
        title: "Time by phase", desc: "The phases of a worker add up to the time it was there.",
        parts: PHASES, bars, value: { format: format.ms }, table,
      }), note);
  };

  S.sections.places = ({ places }) => {
    if (!places?.length) return null;
    const hasActors = places.some(({ actor }) => actor);
    const nodes = new Set(places.map(({ node }) => node));
    const name = ({ node, actor }) => [node, actor].filter(Boolean).join(", ");
    const nLost = sum(places, ({ n_lost }) => n_lost);
    const rows = [...places].sort((a, b) => b.busy_ms - a.busy_ms);
    const lost = nLost ? ` ${S.counted(nLost, "shard")} had to be begun again.` : "";
    const who = hasActors ? `${S.counted(places.length, "actor")} on ${S.counted(nodes.size, "node")}` : S.counted(nodes.size, "machine");
    return section("places", "Machines", `${who} solved the shards.${lost}`,
      S.chart.bars({
        title: "Busy time", desc: "How long each had a shard in hand.",
        bars: rows.slice(0, N_BARS_MAX).map((place) => ({ name: name(place), value: place.busy_ms, color: "--solve" })),
        value: { label: "busy", format: format.ms },
      }),
      S.table({
        caption: hasActors ? "Nodes and actors" : "Machines",
        columns: [
          { name: "node", key: "node" },
          ...(hasActors ? [{ name: "actor", key: "actor" }] : []),
          { name: "shards", key: "n_shards", format: format.count, numeric: true },
          { name: "problems", key: "n_problems", format: format.count, numeric: true },
          { name: "not solved", key: "n_unsolved", format: format.count, numeric: true },
          { name: "busy", key: "busy_ms", format: format.ms, numeric: true, help: "How long it had a shard in hand" },
          { name: "setbacks", key: "n_setbacks", format: format.count, numeric: true, help: "Launches that were split, tried again or moved" },
          { name: "lost", key: "n_lost", format: format.count, numeric: true, help: "Shards that it began and did not finish" },
        ],
        rows, pageSize: 12,
      }));
  };

  /** n_done at any time, interpolated between samples. */
  const doneAt = (samples) => {
    let at = 0;
    return (ms) => {
      while (at > 0 && samples[at].at_ms > ms) at -= 1;
      while (at + 2 < samples.length && samples[at + 1].at_ms <= ms) at += 1;
      const [a, b] = [samples[at], samples[at + 1]];
      const share = b.at_ms > a.at_ms ? Math.max(0, Math.min(1, (ms - a.at_ms) / (b.at_ms - a.at_ms))) : 1;
      return a.n_done + share * (b.n_done - a.n_done);
    };
  };
  const TOO_SHORT = 6;

  S.sections.throughput = ({ report }) => {
    const { samples } = report;
    if (samples.length < TOO_SHORT) return null;
    // Samples are frequent and outcomes arrive in batches, so the rate is averaged over stretches.
    const [first, last] = [samples[0].at_ms, samples[samples.length - 1].at_ms];
    const nDone = samples[samples.length - 1].n_done - samples[0].n_done;
    const nStretches = Math.max(2, Math.min(60, samples.length >> 1, Math.max(8, nDone / 3)) | 0);
    const done = doneAt(samples);
    const stretch_ms = (last - first) / nStretches;
    const points = Array.from({ length: nStretches }, (_, k) => {
      const from = first + k * stretch_ms;
      return [from + stretch_ms / 2, ((done(from + stretch_ms) - done(from)) / stretch_ms) * 1e3];
    });
    const x = { label: "time", format: format.ms, min: 0, max: last };
    const over = (key) => samples.map((sample) => [sample.at_ms, sample[key]]);
    return section("throughput", "Throughput", null,
      S.chart.line({
        title: "Problems done in a second", desc: `The mean over stretches of ${format.ms(stretch_ms)}.`,
        series: [{ name: "done", points, color: "--c1", area: true }], x, y: { label: "a second", format: format.number },
      }),
      h("div", { class: "pair" },
        S.chart.line({ title: "Waiting", desc: "Problems that no worker has taken yet.", height: 170, series: [{ name: "waiting", points: over("n_waiting"), color: "--c2", area: true }], x, y: { format: format.count, whole: true } }),
        S.chart.line({ title: "In hand", desc: "Problems that workers have in hand.", height: 170, series: [{ name: "in hand", points: over("n_in_flight"), color: "--c3", area: true }], x, y: { format: format.count, whole: true } })));
  };

  S.sections.memory = ({ report }) => {
    const { memory, samples } = report;
    const share = memory.budget_bytes > 0 ? memory.peak_bytes / memory.budget_bytes : 0;
    // Drawn to the scale of a much larger budget, the line would lie on the axis.
    const isNear = share > 0.2;
    const chart = samples.length < TOO_SHORT ? null : S.chart.line({
      title: "Memory reserved", desc: isNear ? "Never more than the budget." : `The budget of ${format.bytes(memory.budget_bytes)} is far above the drawing.`,
      series: [{ name: "reserved", points: samples.map((sample) => [sample.at_ms, sample.used_bytes]), color: "--c5", area: true, steps: true }],
      marks: isNear ? [{ y: memory.budget_bytes, name: `budget ${format.bytes(memory.budget_bytes)}` }] : [{ y: memory.peak_bytes, name: `peak ${format.bytes(memory.peak_bytes)}` }],
      x: { label: "time", format: format.ms, min: 0, max: samples[samples.length - 1].at_ms }, y: { format: format.bytes },
    });
    const { pool } = memory;
    return section("memory", "Memory",
      `At most ${format.bytes(memory.peak_bytes)} of ${format.bytes(memory.budget_bytes)} were reserved at once: ${format.percent(share)} of the budget.`,
      chart,
      facts([
        ["reservations granted", figure("memory.n_reservations", memory.n_reservations)],
        ["reservations refused", figure("memory.n_refusals", memory.n_refusals)],
        pool.n_taken > 0 ? ["buffers taken from the pool", figure("memory.pool.n_taken", pool.n_taken)] : null,
        pool.n_taken > 0 ? ["of them used before", [figure("memory.pool.n_reused", pool.n_reused), ` (${format.percent(pool.n_reused / pool.n_taken)})`]] : null,
      ]));
  };

  const lanesName = (power) => (power === 0 ? "1" : `${format.count(2 ** power)}–${format.count(2 ** (power + 1) - 1)}`);

  S.sections.shapes = ({ report }) => {
    const { buckets } = report;
    if (buckets.length === 0) return null;
    const nPowers = Math.max(...buckets.map((bucket) => bucket.n_launches_by_lanes.length));
    const bins = Array.from({ length: nPowers }, (_, power) => ({ name: lanesName(power), n: sum(buckets, (bucket) => bucket.n_launches_by_lanes[power] ?? 0) }));
    const n_lanes = sum(buckets, (bucket) => bucket.n_lanes);
    const n_launches = sum(buckets, (bucket) => bucket.n_launches);
    const all = { volume_real: sum(buckets, (bucket) => bucket.volume_real), volume_launched: sum(buckets, (bucket) => bucket.volume_launched) };
    const byShape = new Map();
    for (const bucket of buckets) byShape.set(bucket.shape, (byShape.get(bucket.shape) ?? 0) + bucket.n_lanes);
    const shapes = [...byShape].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
    const N_SHOWN = 16;
    const shown = shapes.slice(0, N_SHOWN);
    if (shapes.length > N_SHOWN) shown.push({ name: `${shapes.length - N_SHOWN} others`, value: sum(shapes.slice(N_SHOWN), (one) => one.value), color: "--faint" });
    const name = (bucket) => [bucket.class_name, bucket.shape, bucket.device].filter(Boolean).join(", ");
    const padded = buckets.filter((bucket) => waste(bucket) > 0).sort((a, b) => waste(b) - waste(a)).slice(0, 24);
    return section("shapes", "Batches and shapes",
      `${S.counted(n_lanes, "problem")} ran in ${S.counted(n_launches, "launch", "launches")}, ${format.digits(n_lanes / Math.max(1, n_launches), 3)} to a launch on average. ${
        waste(all) > 0 ? `${format.percent(waste(all))} of what was computed on is padding.` : "Nothing was padded: every problem was computed in its own shape."}`,
      h("div", { class: "pair" },
        S.chart.histogram({ title: "Batch sizes", desc: "Launches by the number of problems in them.", bins, x: { label: "problems in a launch" }, y: { label: "launches" } }),
        S.chart.bars({ title: "Shapes", desc: "Problems by shape; extents are rounded up to powers of two where nothing is padded.", bars: shown, value: { label: "problems", format: format.count } })),
      padded.length ? S.chart.bars({
        title: "Padding", desc: "The share of a bucket's computed volume that is padding.",
        bars: padded.map((bucket) => ({ name: name(bucket), value: waste(bucket), help: `${S.counted(bucket.n_lanes, "problem")} in ${S.counted(bucket.n_launches, "launch", "launches")}`, color: "--c4" })),
        value: { label: "padding", format: format.percent, max: 1 },
      }) : null,
      S.table({
        caption: "Buckets: problems of one class and shape on one device",
        columns: [
          { name: "shape", key: "shape", help: "What launches were padded to; or, where nothing is padded, extents rounded up to powers of two" },
          ...(buckets.some((bucket) => bucket.class_name) ? [{ name: "class", key: "class_name" }] : []),
          { name: "device", key: "device" },
          { name: "problems", key: "n_lanes", format: format.count, numeric: true },
          { name: "launches", key: "n_launches", format: format.count, numeric: true },
          { name: "padding", value: waste, format: format.percent, numeric: true, help: "The share of the computed volume that is padding" },
          { name: "solving", key: "solve_ms", format: format.ms, numeric: true, help: "All launches together" },
          { name: "a problem", value: (bucket) => bucket.solve_ms / Math.max(1, bucket.n_lanes), format: format.ms, numeric: true, help: "Solving time divided by problems" },
          { name: "reserved", key: "bytes_max", format: format.bytes, numeric: true, help: "The most that one launch reserved" },
        ],
        rows: buckets, pageSize: 12, sort: { name: "solving", descending: true },
      }));
  };

  S.sections.operations = ({ report }) => {
    const found = new Map();
    for (const bucket of report.buckets) {
      for (const { name, phase, n_calls, ms } of bucket.operations) {
        const one = found.get(`${phase} ${name}`) ?? { name, phase, n_calls: 0, ms: 0 };
        one.n_calls += n_calls;
        one.ms += ms;
        found.set(`${phase} ${name}`, one);
      }
    }
    if (found.size === 0) return null;
    const phase_ms = { load: sum(report.buckets, (bucket) => bucket.load_ms), solve: sum(report.buckets, (bucket) => bucket.solve_ms) };
    const phaseName = { load: "loading", solve: "solving" };
    const rows = [...found.values()].sort((a, b) => b.ms - a.ms);
    return section("operations", "Inside the solver", "What the solver's time went to, as far as the workload says; an operation's time is without the operations inside it.",
      S.chart.bars({
        title: "Time by operation",
        bars: rows.slice(0, 24).map((one) => ({
          name: one.name, value: one.ms, color: one.phase === "load" ? "--load" : "--solve",
          help: `${S.counted(one.n_calls, "call")} while ${phaseName[one.phase] ?? one.phase}, ${format.percent(one.ms / (phase_ms[one.phase] || 1))} of that phase`,
        })),
        value: { label: "time", format: format.ms },
        table: {
          columns: [
            { name: "operation", key: "name" },
            { name: "phase", value: (one) => phaseName[one.phase] ?? one.phase },
            { name: "calls", key: "n_calls", format: format.count, numeric: true },
            { name: "time", key: "ms", format: format.ms, numeric: true },
            { name: "share of the phase", value: (one) => one.ms / (phase_ms[one.phase] || 1), format: format.percent, numeric: true },
            { name: "a call", value: (one) => one.ms / Math.max(1, one.n_calls), format: format.ms, numeric: true },
          ],
          rows,
        },
      }));
  };

  S.sections.routes = ({ report }) => {
    const { routes, devices, n_cpu_only } = report;
    const gpus = devices.filter((device) => device.kind === "gpu");
    if (routes.length === 0) {
      return gpus.length
        ? section("routes", "Routing", "Everything ran on the CPU: no kernel can do these problems on a graphics processor, or they were measured to be slower there.")
        : null;
    }
    const padding = (route) => {
      const extents = route.padded === "scalar" ? [1] : route.padded.split("x").map(Number);
      const volume = extents.reduce((a, b) => a * b, 1) * route.n_problems;
      return volume === 0 || route.packed ? 0 : 1 - route.volume_real / volume;
    };
    const rows = routes.flatMap((route) => route.devices.map((part) => ({ ...part, route })));
    const remark = ({ route, device }) => {
      if (route.choice !== device || route.choice_ms === null) return "";
      if (route.other_ms === null) return `the only one measured: ${format.ms(route.choice_ms)} for all`;
      return `fastest: ${format.ms(route.choice_ms)} for all, ${format.ms(route.other_ms)} on the next best`;
    };
    return section("routes", "Routing", "Problems that several devices can do go where they were measured to be fastest, all threads of a device together.",
      S.table({
        caption: "Decisions and the measured costs behind them",
        columns: [
          { name: "padded to", value: (row) => row.route.padded },
          { name: "problems", value: (row) => row.route.n_problems, format: format.count, numeric: true },
          { name: "padding", value: (row) => padding(row.route), format: format.percent, numeric: true },
          { name: "device", key: "device" },
          { name: "solved there", key: "n_lanes", format: format.count, numeric: true },
          { name: "one takes", key: "lane_ms", format: (ms) => (ms === null ? "not measured" : format.ms(ms)), numeric: true, help: "On the CPU on one thread" },
          { name: "decision", value: remark },
        ],
        rows,
      }),
      n_cpu_only > 0 ? h("p", {}, figure("n_cpu_only", n_cpu_only), " more problems ran on the CPU because no kernel can do them.") : null);
  };

  const causeOf = (cause) => {
    if (typeof cause === "string") return [cause, {}];
    return Object.entries(cause)[0] ?? ["unknown", {}];
  };
  const CAUSES = {
    out_of_memory: ["memory was refused", ({ wanted_bytes }) => `${format.bytes(wanted_bytes)} were asked for and refused`],
    worker_lost: ["a worker was lost", () => "the worker was lost"],
    worker_stuck: ["a solver did not stop in time", ({ problem }) => `the solver of problem ${problem} did not stop when its time was over`],
    threads_refused: ["threads were refused", ({ n_refused }) => `the system refused to start ${n_refused} threads`],
    device_lost: ["a graphics processor was lost", () => "the graphics processor was lost"],
    device_timed_out: ["a graphics processor did not answer", () => "the graphics processor did not answer in time"],
    launch_failed: ["a launch came to nothing", ({ message }) => `the launch came to nothing: ${message}`],
    handed_over: ["kernels could not finish problems", ({ reason }) => `kernels could not finish them: ${reason}`],
  };
  const REMEDIES = {
    split: "the launch was cut in two",
    retried: "it was tried again",
    replaced: "a new worker took over",
    to_cpu: "the CPU took it",
    reopened: "the device was opened again",
    fewer_workers: "the run went on with fewer workers",
    retired: "the device was not used any more",
  };
  S.setbackWords = (setback) => {
    const [kind, values] = causeOf(setback.cause);
    const [short, long] = CAUSES[kind] ?? [kind, () => kind];
    return { short, long: long(values ?? {}), remedy: REMEDIES[setback.remedy] ?? setback.remedy };
  };

  S.sections.setbacks = ({ report }) => {
    const { setbacks, n_setbacks } = report;
    if (n_setbacks === 0) return null;
    const rows = setbacks.map((setback) => ({ ...setback, ...S.setbackWords(setback) }));
    const kinds = new Map();
    for (const row of rows) kinds.set(`${row.short}: ${row.remedy}`, (kinds.get(`${row.short}: ${row.remedy}`) ?? 0) + 1);
    const bars = [...kinds].map(([name, value]) => ({ name, value, color: "--c4" })).sort((a, b) => b.value - a.value);
    const kept = n_setbacks > rows.length ? ` The first ${format.count(rows.length)} are listed.` : "";
    return section("setbacks", "Setbacks",
      `${S.counted(n_setbacks, "launch", "launches")} had to be split, tried again or moved. All of it was mended: no answer is missing or different because of it.${kept}`,
      bars.length > 1 ? S.chart.bars({ title: "Causes and remedies", bars, value: { label: "setbacks", format: format.count } }) : null,
      S.table({
        caption: "Every setback",
        columns: [
          { name: "when", key: "at_ms", format: format.ms, numeric: true },
          { name: "device", key: "device" },
          { name: "what happened", key: "long" },
          { name: "what was done", key: "remedy" },
          { name: "problems", key: "n_problems", format: format.count, numeric: true },
        ],
        rows, pageSize: 12,
      }));
  };

  S.sections.verification = ({ report }) => {
    const { n_checked, n_skipped, mismatches } = report.verification;
    if (n_checked + n_skipped === 0) return null;
    const all = mismatches.length === 0
      ? "All answers agree."
      : `${S.counted(mismatches.length, "answer")} differ.`;
    return section("verification", "Verification", `Problems chosen by the seed were solved again, one by one on the CPU. ${all}`,
      facts([
        ["solved again", figure("verification.n_checked", n_checked)],
        ["not possible", figure("verification.n_skipped", n_skipped)],
        ["different answers", figure("verification.n_mismatches", mismatches.length)],
      ]),
      mismatches.length ? S.table({
        caption: "Answers that differ",
        columns: [
          { name: "problem", key: "problem", format: format.count, numeric: true },
          { name: "what differs", value: ({ difference }) => difference.field },
          { name: "on the CPU", value: ({ difference }) => difference.expected },
          { name: "in the run", value: ({ difference }) => difference.found },
        ],
        rows: mismatches,
      }) : null);
  };

  const KINDS = { failed: "failed", wrong_size: "changed while in use", too_large: "too large", timed_out: "timed out", panicked: "panicked" };

  S.sections.failures = ({ report, failures }) => {
    const n = unsolved(report.counts);
    if (failures === null) {
      return n ? section("failures", "Failures", `There are ${format.count(n)} so far. They are listed once the run is complete.`) : null;
    }
    if (failures.n_rows === 0) return null;
    const { messages, n_rows } = failures;
    const rows = S.rows({ row: failures.row, id: failures.id, kind: failures.kind, message: failures.message.map((at) => messages[at]) });
    const nMore = failures.n_reasons - failures.reasons.length;
    const told = h("ul", { class: "reasons" },
      failures.reasons.map(({ n, kind, id, message }) => h("li", {}, h("strong", {}, format.count(n)), ` ${KINDS[kind] ?? kind}: ${message} `, h("span", { class: "note" }, `(first: ${id})`))),
      nMore > 0 ? h("li", {}, `and ${S.counted(nMore, "more reason")}`) : null);
    const some = n_rows > rows.length ? ` ${format.count(rows.length)} of ${format.count(n_rows)} rows are here; all of them are in failures.parquet.` : "";
    return section("failures", "Failures",
      `${S.counted(n_rows, "problem")} failed without harm to the others.${some}`,
      told,
      S.table({
        caption: "Failures",
        columns: [
          { name: "row", key: "row", format: format.count, numeric: true, help: "The input's number, from 0" },
          { name: "id", key: "id" },
          { name: "kind", value: (row) => KINDS[row.kind] ?? row.kind },
          { name: "message", key: "message" },
        ],
        rows, sort: { column: 0, descending: false }, pageSize: 15,
      }));
  };

  const shown = (value) => (typeof value === "string" ? value : value === null ? "not set" : JSON.stringify(value));

  S.sections.settings = ({ run, report, n_inputs }) => {
    const devices = report.devices.map((device) => device.kind === "cpu"
      ? `CPU, ${S.counted(device.n_threads, "thread")}, ${device.simd}, ${format.bytes(device.memory_available_bytes)} free`
      : device.kind === "host" ? `host ${device.number}${device.retired ? `, given up: ${device.retired}` : ""}`
      : `GPU ${device.number}, ${device.name}, ${device.driver}${device.software ? ", a software device" : ""}${device.retired ? `, given up: ${device.retired}` : ""}`);
    const inputs = run.inputs ?? [];
    const names = Object.keys(run.settings ?? {});
    return section("settings", "Settings and inputs", null,
      facts([
        ["workload", run.workload],
        ["state", { complete: "complete", interrupted: "interrupted, can be resumed", running: "not finished" }[run.state] ?? run.state],
        ["problems", figure("run.n_problems", run.n_problems)],
        run.shard ? ["shard", `${run.shard[0]} of ${run.shard[1]}`] : null,
        ["swathe", run.version],
        run.made ? ["date", run.made.date] : null,
        run.made?.host ? ["host", run.made.host] : null,
        run.made ? ["processor", run.made.cpu] : null,
        ["instructions", run.simd],
        ...devices.map((device, at) => [devices.length > 1 ? `device ${at + 1}` : "device", device]),
      ]),
      names.length ? S.table({
        caption: "Settings that answers depend on",
        columns: [{ name: "setting", key: "name" }, { name: "value", key: "value" }],
        rows: names.map((name) => ({ name: `--${name}`, value: shown(run.settings[name]) })), pageSize: 0, filter: false,
      }) : null,
      inputs.length ? S.table({
        caption: n_inputs > inputs.length ? `Inputs: ${format.count(inputs.length)} of ${format.count(n_inputs)} files; all of them are in run.json` : "Inputs",
        columns: [
          { name: "file", key: "name" },
          { name: "size", key: "n_bytes", format: format.bytes, numeric: true },
          { name: "BLAKE3", key: "blake3", cell: (row) => h("code", { title: row.blake3 }, row.blake3.slice(0, 16)) },
        ],
        rows: inputs, pageSize: 10,
      }) : null);
  };

  /** A line of code with a button that copies it. */
  S.copyable = (text, what) => {
    const button = h("button", { type: "button", "aria-label": `Copy ${what}`, onclick: async () => {
      const selection = getSelection();
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        // Some browsers deny the clipboard to pages from disk; copying a selection still works.
        selection.selectAllChildren(block);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      S.announce(`${what} copied`);
      setTimeout(() => (button.textContent = "Copy"), 1500);
    } }, "Copy");
    const block = h("pre", {}, h("code", {}, text));
    return h("div", { class: "copy" }, block, button);
  };

  S.sections.reproduce = ({ command, result_hash, run }) =>
    section("reproduce", "To reproduce", "The same command on the same inputs gives the same result hash.",
      h("h3", {}, "Command"), S.copyable(command, "the command"),
      result_hash ? [h("h3", {}, "Result hash"), S.copyable(result_hash, "the result hash"),
        S.note("BLAKE3 over the result columns in input order.")] : S.note("There is no result hash yet: the run is not complete."),
      h("h3", {}, "Files"),
      facts([
        run.table ? [`${run.table}.parquet`, "the answers, a row for each, in input order"] : null,
        ["timing.parquet", "where and how long each problem ran"],
        ["failures.parquet", "problems without an answer, and why"],
        ["report.json", "the figures of this page"],
        ["trace.json", "the launches, for ui.perfetto.dev and similar viewers"],
        ["run.json", "settings, inputs and their hashes"],
      ]));
}
