"use strict";
// A task with its grids: input, expected, what a program made of it, and where that is wrong.
//
//   S.taskView(views, run) -> { element, look(task, program) }; run: the folder, for commands
//   views: { n_tasks, tasks: [{ name, samples: [{ is_test, index, input, expected }],
//            programs: [{ name, outputs, scores }] }] }, the best programs first. An output is true
//   if it is as expected, a grid's text, null, or { error | not_kept | text | large | rows |
//   left_out }.
{
  const S = (window.swathe ??= {});
  const { h } = S;

  S.taskView = (views, run) => {
    const byName = new Map(views.tasks.map((task) => [task.name, task]));
    const names = [...byName.keys()];
    const body = h("div", { class: "task-body" });
    const title = h("h3", { tabindex: "-1", class: "task-title" });
    const choice = h("select", { "aria-label": "Task", onchange: () => show(choice.value) }, names.map((name) => h("option", { value: name }, name)));
    const chosen = h("div", { class: "task-programs no-print", role: "group", "aria-label": "Program" });
    const turn = (label, text, by) => h("button", { type: "button", "aria-label": label, onclick: () => {
      const to = names.indexOf(choice.value) + by;
      if (names[to] !== undefined) show(names[to]);
    } }, text);
    let numbers = false;
    let current = null;
    const digits = h("label", {}, h("input", { type: "checkbox", id: "task-numbers", onchange: (event) => {
      numbers = event.target.checked;
      if (current) draw();
    } }), " numbers in cells");
    const note = S.note("");

    const show = (name, program) => {
      const task = byName.get(name);
      if (!task) {
        current = null;
        title.textContent = name;
        chosen.replaceChildren();
        body.replaceChildren(S.note("The grids of this task are not on the page. To see it:"), S.copyable(command(run, name, program), "the command"));
        return;
      }
      choice.value = name;
      current = { task, program: task.programs.find((one) => one.name === program) ?? task.programs[0], asked: program };
      draw();
    };

    const draw = () => {
      const { task, program, asked } = current;
      title.textContent = program ? `${task.name}, ${program.name}` : task.name;
      chosen.replaceChildren(...task.programs.map((one, at) => h("button", {
        type: "button", "aria-pressed": String(one === program), "data-program": one.name,
        onclick: () => { current = { task, program: one }; draw(); chosen.querySelector("[aria-pressed=true]")?.focus(); },
      }, at === 0 ? `${one.name} (best)` : one.name)));
      const parts = [];
      if (asked && program && asked !== program.name) {
        parts.push(S.note(`The outputs of ${asked} are not on the page, which has those of the best programs. To see them:`), S.copyable(command(run, task.name, asked), "the command"));
      }
      if (!program) parts.push(S.note("No program ran on this task."));
      task.samples.forEach((sample, at) => parts.push(row(sample, program?.outputs[at], program?.scores[at], numbers)));
      body.replaceChildren(...parts);
    };

    const missing = names.length < views.n_tasks
      ? S.note(`The page has the grids of ${S.format.count(names.length)} of ${S.counted(views.n_tasks, "task")}, evenly spaced. For any task and program: `, h("code", {}, `swathe arc show ${run} TASK --program NAME`))
      : S.note("The page has outputs of the best programs only. For any other: ", h("code", {}, `swathe arc show ${run} TASK --program NAME`));
    const element = S.section("task", "A task, cell by cell", null,
      h("div", { class: "task-bar no-print" }, turn("Task before", "‹", -1), choice, turn("Next task", "›", 1), digits),
      title, chosen, body, note, missing);
    if (names.length) show(names[0]);
    else body.replaceChildren(S.note("There are no tasks."));
    return {
      element,
      look: (name, program) => {
        show(name, program);
        title.focus({ preventScroll: true });
        element.scrollIntoView({ block: "start", behavior: "instant" });
        S.announce(`Task ${title.textContent}`);
      },
    };
  };

  const command = (run, task, program) => {
    const word = (text) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
    return `swathe arc show ${word(run)} ${word(task)}${program ? ` --program ${word(program)}` : ""}`;
  };

  /** One sample: four panels beside each other. */
  const row = (sample, output, score, numbers) => {
    const label = `${sample.is_test ? "test" : "demonstration"} ${sample.index}`;
    const expected = sample.expected === null ? null : S.grid.read(sample.expected);
    const rows = output === true ? expected : typeof output === "string" ? S.grid.read(output) : (output?.rows ?? null);
    const isWrong = rows && expected ? S.grid.wrong(rows, expected) : null;
    const nWrong = isWrong ? isWrong.flat().filter(Boolean).length : null;
    const isRight = output === true;
    const panel = (caption, content) => h("figure", { class: "panel", "data-panel": caption }, h("figcaption", {}, caption), content);
    const grid = (caption, cells, options) => S.grid.draw(cells, { label: `${label}, ${caption}`, numbers, ...options });
    const words = (text) => h("p", { class: "panel-words" }, text);
    // Cells are equally large in all panels of a sample.
    const side = Math.max(8, ...[S.grid.read(sample.input), expected, rows].filter(Boolean).flatMap((cells) => [cells[0]?.length ?? 0]));
    return h("div", { class: "sample", style: { "--side": String(side) }, "data-sample": `${sample.is_test ? "test" : "train"} ${sample.index}` },
      h("h4", {}, label, verdict(isRight, expected, output, score, nWrong)),
      h("div", { class: "panels" },
        panel("input", grid("input", S.grid.read(sample.input))),
        panel("expected", expected ? grid("expected", expected) : words("not known")),
        panel("output", rows ? grid("output", rows) : words(told(output))),
        panel("difference", difference(isRight, expected, rows, isWrong, nWrong, grid, words))));
  };

  const verdict = (isRight, expected, output, score, nWrong) => {
    if (isRight) return h("span", { class: "verdict right" }, " ✓ right");
    if (output === undefined) return null;
    if (!expected) return h("span", { class: "verdict" }, " the answer is not known");
    const share = typeof score === "number" && score > 0 ? `, ${S.format.percent(score)} of cells right` : "";
    return h("span", { class: "verdict wrong" }, ` ✗ wrong${nWrong === null ? "" : `: ${S.counted(nWrong, "cell")}`}${share}`);
  };

  const told = (output) => {
    if (output === undefined) return "no program ran";
    if (output === null) return "the sample failed";
    if (output.left_out) return "not on the page; swathe arc show has it";
    if (output.error) return output.error;
    if (output.not_kept !== undefined) return `${S.format.bytes(output.not_kept)}, not kept`;
    if (output.large) return `a grid of ${output.large[0]} × ${output.large[1]}`;
    return output.text;
  };

  const size = (rows) => `${rows.length} × ${rows[0]?.length ?? 0}`;
  const difference = (isRight, expected, rows, isWrong, nWrong, grid, words) => {
    if (isRight) return words("none");
    if (!expected || !rows) return words("–");
    if (!isWrong) return words(`the shape: ${size(rows)}, not ${size(expected)}`);
    return [grid("difference", rows, { wrong: isWrong, faint: true }),
      h("p", { class: "panel-words" }, `${S.counted(nWrong, "cell")} wrong, framed`)];
  };
}
