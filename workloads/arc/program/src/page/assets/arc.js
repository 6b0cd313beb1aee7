"use strict";
// The page of the workload `arc`: registers S.pages.arc(data) -> Element. `page::data` makes the
// data: how calls ended, which program solves which task, the tasks to show, and where the time
// went if the run was profiled.
{
  const S = (window.swathe ??= {});
  const { h } = S;
  const N_ERRORS_SHOWN = 12;
  const N_PROFILE_SHOWN = 15;

  S.pages.arc = (data) => {
    if (data.absent) {
      return S.section("arc", "Tasks and programs", null,
        S.note(`There is no ${data.absent} in the run folder: a run that was interrupted has its tables when it is finished with --resume.`));
    }
    const view = S.taskView(data.views, data.run);
    const look = (task, program) => view.look(task, program);
    return h("div", { class: "arc" },
      summary(data),
      data.matrix ? matrix(data.matrix, look) : null,
      tasks(data, look),
      view.element,
      programs(data),
      profile(data.profile));
  };

  const tile = (what, value, more) =>
    h("li", {}, h("span", { class: "value" }, value), h("span", { class: "what" }, what), more ? h("span", { class: "more" }, more) : null);

  const summary = ({ calls, tasks: t, programs: p, is_own: isOwn }) => {
    const bars = calls.outcomes.map(([name, n]) => ({ name, value: n, help: OUTCOMES[name], color: name === "ok" ? "--c1" : "--c4" }));
    const errors = [...calls.errors].sort((a, b) => b[1] - a[1]);
    return S.section("arc", "Tasks and programs",
      isOwn ? "Every program ran on the task of its own name alone." : "Every program ran on every sample of every task.",
      h("ul", { class: "tiles" },
        t.n_tested ? tile(`of ${S.counted(t.n, "task")} solved`, S.ownFigure("arc.tasks_solved", t.n_solved), "the best program is right on demonstrations and tests") : null,
        tile(`of ${S.counted(t.n, "task")} fit their demonstrations`, S.ownFigure("arc.tasks_fit", t.n_fit), "some program is right on all of them"),
        tile(`of ${S.counted(p.n, "program")} fit a task`, S.ownFigure("arc.programs_solving", p.n_solving)),
        tile("calls", S.ownFigure("arc.calls", calls.n)),
        tile("gave the expected output", S.ownFigure("arc.calls_right", calls.n_right), `of ${S.format.count(calls.n_known)} where it is known`)),
      h("div", { class: "pair" },
        S.chart.bars({ title: "How calls ended", desc: "A call is one program on one sample.", bars, value: { label: "calls", format: S.format.count } }),
        errors.length ? S.chart.bars({
          title: "Errors", desc: errors.length > N_ERRORS_SHOWN ? `The ${N_ERRORS_SHOWN} most frequent kinds; all are in the table.` : "What calls without an output ended with.",
          bars: errors.slice(0, N_ERRORS_SHOWN).map(([name, value]) => ({ name, value, color: "--c4" })),
          value: { label: "calls", format: S.format.count },
          table: {
            columns: [{ name: "kind", value: (row) => row[0] }, { name: "calls", value: (row) => row[1], format: S.format.count, numeric: true }],
            rows: errors,
          },
        }) : null));
  };
  const OUTCOMES = {
    ok: "an output, right or wrong", error: "ended with an exception", timeout: "used up its work", memory: "would have used up its memory",
  };

  const matrix = (data, look) =>
    S.section("matrix", "Which program solves which task",
      "A row for each task, a column for each program. Point at a cell, or move with the arrow keys; click, or press Enter, to look at the task.",
      S.matrix(data, look));

  const tasks = ({ tasks: t }, look) => {
    const rows = S.rows(columnsOf(t));
    return S.section("tasks", "Tasks", "Choose one to look at what the best programs make of it.",
      S.table({
        caption: `All tasks${kept(rows.length, t.n, "tasks.parquet")}`,
        columns: [
          { name: "task", key: "name" },
          { name: "programs that fit", key: "n_solved_by", format: S.format.count, numeric: true, help: "programs that get all demonstrations right" },
          { name: "best program", key: "best", help: "by demonstrations solved, mean score, fewer statements, name" },
          { name: "its score", key: "best_score", format: score, numeric: true, help: "mean over the demonstrations" },
          { name: "tests right", key: "n_tests_right", value: (row) => row.n_tests_right, cell: (row) => `${row.n_tests_right ?? "–"} of ${row.n_tests}`, numeric: true, help: "of the best program; a dash where the answers are not known" },
          { name: "time", key: "ms", format: S.format.ms, numeric: true, help: "all programs on all samples of the task, on one thread" },
        ],
        rows,
        onRow: (row) => look(row.name),
      }));
  };
  const score = (x) => (typeof x === "number" ? x.toFixed(3) : "–");

  // The data has columns and counts side by side.
  const columnsOf = (data) => Object.fromEntries(Object.entries(data).filter(([, values]) => Array.isArray(values)));
  const kept = (n, all, file) => (n < all ? `: ${S.format.count(n)} of ${S.format.count(all)}; all of them are in ${file}` : "");

  const programs = ({ programs: p, profile: times }) => {
    const rows = S.rows(columnsOf(p));
    const ms = new Map(times?.program ? times.program.name.map((name, at) => [name, times.program.ms[at]]) : []);
    return S.section("programs", "Programs", null,
      S.table({
        caption: `All programs${kept(rows.length, p.n, "results.parquet")}`,
        columns: [
          { name: "program", key: "name" },
          { name: "tasks it fits", key: "n_solved", format: S.format.count, numeric: true, help: "all demonstrations right" },
          { name: "mean score", key: "mean_score", format: score, numeric: true, help: "over the demonstrations of all tasks it ran on" },
          { name: "ran on", key: "n_tasks", format: (n) => S.counted(n, "task"), numeric: true },
          { name: "no output", key: "n_no_output", format: S.format.count, numeric: true, help: "calls that ended in an error or at a limit" },
          { name: "statements", key: "n_statements", format: S.format.count, numeric: true },
          ...(ms.size ? [{ name: "time", value: (row) => ms.get(row.name), format: S.format.ms, numeric: true, help: "a statement that several programs share counts for the first of them" }] : []),
        ],
        rows,
        sort: { name: "tasks it fits", descending: true },
      }));
  };

  const profile = (times) => {
    if (!times) return null;
    const part = (kind, title, desc) => {
      if (!times[kind]) return null;
      const rows = S.rows(times[kind]);
      return S.chart.bars({
        title, desc: rows.length > N_PROFILE_SHOWN ? `${desc} The slowest ${N_PROFILE_SHOWN} of ${S.format.count(rows.length)}; all are in the table.` : desc,
        bars: rows.slice(0, N_PROFILE_SHOWN).map((row) => ({
          name: row.name, value: row.ms, help: `${S.counted(row.calls, "call")}, ${S.format.percent(row.share)} of the time`,
        })),
        value: { label: "time", format: S.format.ms },
        table: {
          columns: [
            { name: kind, key: "name" },
            { name: "calls", key: "calls", format: S.format.count, numeric: true },
            { name: "time", key: "ms", format: S.format.ms, numeric: true },
            { name: "share", key: "share", format: S.format.percent, numeric: true },
          ],
          rows,
        },
      });
    };
    return S.section("profile", "Where the time went",
      "Wall time inside statements, all threads together, as --profile measured it. Taking it makes statements slower: compare shares rather than times.",
      part("primitive", "By primitive", "What statements call."),
      part("program", "By program", "A statement that several programs share is evaluated once and counts for the first of them."));
  };
}
