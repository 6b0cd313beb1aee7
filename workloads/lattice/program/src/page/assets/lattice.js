"use strict";
// The page of the workload `lattice`: registers S.pages.lattice(data) -> Element. `data` comes from
// `page::data`: the answers, and how long they took.
{
  const S = (window.swathe ??= {});
  const { h } = S;

  S.pages.lattice = (data) => {
    if (data.absent) {
      return S.section("lattice", "Questions", null,
        S.note(`There is no ${data.absent} in the run folder: a run that was interrupted has its tables when it is finished with --resume.`));
    }
    const rows = S.rows(data.queries);
    const has = (name) => data.queries[name] !== undefined;
    const yes = (x) => (x === true ? "yes" : x === false ? "no" : "–");
    const answers = [
      { name: "from", key: "from_vertex", format: S.format.count, numeric: true },
      { name: "to", key: "to_vertex", format: S.format.count, numeric: true },
      { name: "path", key: "found", format: yes, help: "whether there is one" },
      { name: "length", key: "length", format: S.format.count, numeric: true, help: "edges of a shortest path" },
      { name: "connected", key: "connected", format: yes },
      { name: "diameter", key: "diameter", format: S.format.count, numeric: true, help: "the greatest distance between two free vertices" },
      { name: "edges", value: (row) => Number(row.n_edges), cell: (row) => row.n_edges, key: "n_edges", numeric: true },
      { name: "farthest", key: "eccentricity", format: S.format.count, numeric: true, help: "the distance of the farthest vertex that can be reached" },
      { name: "out of reach", key: "n_unreachable", format: S.format.count, numeric: true, help: "free vertices that cannot be reached" },
    ];
    return S.section("lattice", "Questions", summary(data, rows), mazes(data.mazes ?? []),
      data.sizes.length ? S.chart.bars({
        title: "Time by the number of vertices", desc: "The median of the questions about lattices of a size, blocked vertices included.",
        bars: data.sizes.map((size) => ({
          name: `${S.format.number(10 ** size.power)} to ${S.format.number(10 ** (size.power + 1))}`, value: size.ms_median,
          help: `${S.counted(size.n, "question")}, the slowest ${S.format.ms(size.ms_max)}, ${S.format.ms(size.ms)} in all`,
        })),
        value: { label: "median time", format: S.format.ms },
      }) : null,
      h("div", {}, S.table({
        caption: rows.length < data.n
          ? `${S.format.count(rows.length)} of ${S.counted(data.n, "question")}: the slowest, and others evenly spaced; all of them are in queries.parquet` : "All questions",
        columns: [
          { name: "question", key: "id" },
          { name: "asked", key: "op" },
          { name: "sizes", key: "sizes", help: "vertices along each axis" },
          { name: "vertices", key: "n_vertices", format: S.format.number, numeric: true },
          { name: "blocked", key: "n_blocked", format: S.format.count, numeric: true },
          ...answers.filter((column) => has(column.key)),
          { name: "time", key: "ms", format: S.format.ms, numeric: true },
        ],
        rows,
      })));
  };

  /** Planes with what is blocked and a shortest path: the first axis downwards, the second to the right. */
  const mazes = (all) => all.length === 0 ? null : h("div", { class: "mazes" }, all.map((maze) => {
    const [height, width] = maze.sizes.split("x").map(Number);
    const place = (vertex) => [vertex % width, Math.floor(vertex / width)];
    const middle = (vertex) => place(vertex).map((at) => at + 0.5).join(",");
    const end = (vertex, name) => S.svg("circle", { class: `maze-${name}`, cx: place(vertex)[0] + 0.5, cy: place(vertex)[1] + 0.5, r: 0.3 });
    const length = maze.path ? `${S.counted(maze.path.length - 1, "step")}` : "no path";
    return h("figure", {}, h("figcaption", {}, h("strong", {}, maze.id), h("span", {}, ` ${maze.sizes}, ${length}`)),
      S.svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${maze.id}: ${S.counted(maze.blocked.length, "blocked vertex", "blocked vertices")}, ${length}` },
        S.svg("rect", { class: "maze-free", width, height }),
        S.svg("path", { class: "maze-wall", d: maze.blocked.map((vertex) => `M${place(vertex).join(" ")}h1v1h-1z`).join("") }),
        maze.path ? [S.svg("polyline", { class: "maze-path", points: maze.path.map(middle).join(" ") }), end(maze.path[0], "from"), end(maze.path[maze.path.length - 1], "to")] : null));
  }));

  const summary = (data, rows) => {
    if (rows.length < data.n || data.queries.found === undefined) return `${S.counted(data.n, "question")} answered.`;
    const nFound = rows.filter((row) => row.found).length;
    return `${S.counted(data.n, "question")} answered: ${S.format.count(nFound)} with a path, ${S.format.count(data.n - nFound)} without.`;
  };
}
