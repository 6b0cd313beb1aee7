"use strict";
// The page of the workload `array`: registers S.pages.array(data) -> Element. `data` comes from
// `page::data`: how fast items were, by size and shape, and the machine's limits.
{
  const S = (window.swathe ??= {});
  const { h } = S;
  const N_POINTS_MAX = 3000;

  S.pages.array = (data) => {
    if (data.absent) {
      return S.section("array", "Items", null,
        S.note(`There is no ${data.absent} in the run folder: a run that was interrupted has its tables when it is finished with --resume.`));
    }
    const unit = data.is_product ? "GFLOP/s" : "GB/s";
    const rate = (x) => (typeof x === "number" ? `${S.format.number(x, 3)} ${unit}` : "–");
    const work = data.is_product ? flop : S.format.bytes;
    const items = S.rows(data.items);
    const limits = limitsOf(data, items, rate);
    return h("div", {},
      S.section("array", data.is_product ? "Rates of products" : "Rates of items", model(data),
        tiles(data, items, limits, rate),
        limitWords(data, limits, rate),
        scatter(data, items, limits, unit, work),
        bySize(data, rate, work)),
      byShape(data, rate, work),
      table(data, items, rate));
  };

  /** Operations with the unit that suits them. */
  const flop = (n) => {
    if (typeof n !== "number") return "–";
    const units = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"];
    const step = Math.max(0, Math.min(units.length - 1, Math.floor(Math.log10(Math.max(n, 1)) / 3 + 1e-9)));
    return `${S.format.number(n / 1000 ** step, 3)} ${units[step]}`;
  };

  const model = ({ is_product: isProduct, n_operands: n }) => {
    const time = "Time is that of solving one item on one thread: reading inputs and writing results to disk are not in it.";
    if (isProduct) return `A product of m × k by k × n counts as 2·m·k·n operations, whatever is done to get it. ${time}`;
    return n === 2
      ? `An item counts as its bytes three times: both operands are read, the result is written. ${time}`
      : `An item counts as its bytes twice: it is read, and the result is written. A key that is made of a seed, or that is short and repeats, and a single number are not counted. ${time}`;
  };

  /** Lines to compare with, if the machine was calibrated. */
  const limitsOf = ({ limits, is_product: isProduct }, items, rate) => {
    if (!limits) return [];
    const dtypes = new Set(items.map((item) => item.dtype));
    const side = 256;
    const found = isProduct
      ? [
        dtypes.has("float32") && { y: limits.product_f32_gflops, name: `float32 limit`, words: `${side} × ${side} products of float32` },
        dtypes.has("float64") && { y: limits.product_f64_gflops, name: `float64 limit`, words: `${side} × ${side} products of float64` },
      ]
      : [
        { y: limits.memory_copy_gb_s, name: "memory", words: `copies of ${S.format.bytes(limits.memory_copy_bytes)} from memory to memory${limits.cache_bytes ? ` (the largest cache holds ${S.format.bytes(limits.cache_bytes)})` : ""}` },
        { y: limits.cache_copy_gb_s, name: "first cache", words: `copies of ${S.format.bytes(limits.cache_copy_bytes)} inside the first cache` },
      ];
    return found.filter((limit) => limit && typeof limit.y === "number").map((limit) => ({ ...limit, name: `${limit.name}: ${rate(limit.y)}` }));
  };

  const limitWords = ({ limits, is_product: isProduct }, lines, rate) => {
    if (!limits) return S.note("swathe devices --calibrate measures what one thread of this machine can do at best; the charts of later runs show it.");
    if (lines.length === 0) return null;
    const parts = lines.map((line) => `${rate(line.y)} for ${line.words}`);
    const also = isProduct
      ? "Graphics processors may be faster than that."
      : "Small items stay in the caches and can be faster than memory; several threads share the memory.";
    return h("p", { class: "note", id: "array-limits" },
      `What one thread of this machine can do at best, as swathe devices --calibrate measured it, the best of several trials by the time the thread had the processor: ${parts.join("; ")}. ${also}`);
  };

  // Limits are measured in a fraction of a second: if the machine was busy then, an item may exceed
  // them.
  const beside = (rate, limit) =>
    rate > limit ? "more than the limit: the machine was busy when that was measured" : `${S.format.percent(rate / limit)} of the highest limit`;

  const tiles = (data, items, limits, rate) => {
    const best = items.reduce((most, item) => (item.rate > (most?.rate ?? -1) ? item : most), null);
    const top = limits.length ? Math.max(...limits.map((limit) => limit.y)) : null;
    const tile = (what, value, more) =>
      h("li", {}, h("span", { class: "value" }, value), h("span", { class: "what" }, what), more ? h("span", { class: "more" }, more) : null);
    return h("ul", { class: "tiles" },
      tile(S.counted(data.n, "item").replace(/^[\d,]+ /, ""), S.ownFigure("array.items", data.n), data.op),
      tile("all items together, per thread", S.ownFigure("array.rate", data.rate, rate)),
      best ? tile("the fastest item", S.ownFigure("array.rate_max", best.rate, rate), top ? beside(best.rate, top) : best.name) : null,
      data.n_nan > 0 ? tile("elements became NaN", S.ownFigure("array.nan", data.n_nan)) : null);
  };

  const scatter = (data, items, limits, unit, work) => {
    const timed = items.filter((item) => typeof item.rate === "number" && item.rate > 0 && item.work > 0);
    if (timed.length === 0) return null;
    const step = Math.max(1, Math.ceil(timed.length / N_POINTS_MAX));
    const dashed = limits.length ? " Dashed: what one thread can do at best." : "";
    const points = timed.filter((_, at) => at % step === 0).map((item) => ({
      x: item.work, y: item.rate, name: `${item.name}, ${item.shape} ${item.dtype}, ${S.format.ms(item.ms)}`, group: `${item.dtype} on ${item.device}`,
    }));
    return S.chart.scatter({
      title: `${unit} by work`,
      desc: step > 1 ? `One in ${step} items is drawn.${dashed}` : `A mark for each item.${dashed}`,
      points,
      marks: limits,
      x: { label: data.is_product ? "operations of the item" : "bytes the item moves", format: work, log: true },
      y: { label: unit, log: true },
      height: 320,
    });
  };

  const power = (at, work) => `${work(10 ** at)} to ${work(10 ** (at + 1))}`;
  const bySize = ({ sizes }, rate, work) => {
    if (sizes.length < 2) return null;
    const several = new Set(sizes.map((size) => size.dtype)).size > 1;
    return S.chart.bars({
      title: "By the size of items", desc: "The median of the items of a size.",
      bars: sizes.map((size) => ({
        name: `${power(size.power, work)}${several ? ` ${size.dtype}` : ""}`, value: size.rate_median,
        help: `${S.counted(size.n, "item")}, ${S.format.ms(size.ms)} in all, ${rate(size.rate)} together, the fastest ${rate(size.rate_max)}`,
      })),
      value: { label: "median rate", format: rate },
    });
  };

  const byShape = ({ buckets, is_product: isProduct }, rate, work) =>
    S.section("array-shapes", "By shape",
      isProduct ? "Rows × inner × columns, each rounded up to a power of two." : "Extents, each rounded up to a power of two.",
      S.table({
        caption: buckets.rows.length < buckets.n
          ? `The ${S.format.count(buckets.rows.length)} of ${S.counted(buckets.n, "shape")} that took the most time` : "All shapes",
        columns: [
          { name: "up to", key: "shape" },
          { name: "elements", key: "dtype" },
          { name: "device", key: "device" },
          { name: "items", key: "n", format: S.format.count, numeric: true },
          { name: "work", key: "work", format: work, numeric: true },
          { name: "time", key: "ms", format: S.format.ms, numeric: true, help: "of all threads together" },
          { name: "together", key: "rate", format: rate, numeric: true, help: "all work by all time" },
          { name: "median item", key: "rate_median", format: rate, numeric: true },
          { name: "fastest item", key: "rate_max", format: rate, numeric: true },
        ],
        rows: buckets.rows,
        sort: { name: "time", descending: true },
        pageSize: 15,
      }));

  const table = (data, items, rate) =>
    S.section("array-items", "Items", null,
      S.table({
        caption: items.length < data.n
          ? `${S.format.count(items.length)} of ${S.counted(data.n, "item")}: those that made NaN, the slowest, and others evenly spaced; all of them are in items.parquet` : "All items",
        columns: [
          { name: "item", key: "name" },
          { name: data.is_product ? "rows × inner × columns" : "shape", key: "shape" },
          { name: "elements", key: "dtype" },
          { name: "device", key: "device" },
          { name: "time", key: "ms", format: S.format.ms, numeric: true },
          { name: data.is_product ? "GFLOP/s" : "GB/s", key: "rate", format: (x) => S.format.number(x, 4), numeric: true },
          ...(data.n_nan > 0 ? [{ name: "became NaN", key: "n_nan", format: S.format.count, numeric: true, help: "elements that are NaN where no operand was" }] : []),
        ],
        rows: items,
      }));
}
