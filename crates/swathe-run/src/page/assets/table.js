"use strict";
// Tables that can be sorted, filtered and paged, by mouse and by keyboard.
//
//   S.table({
//     caption: "…",            what it shows; screen readers read it, shown above the table
//     columns: [{
//       name: "solve time",    the heading
//       key: "solve_ms",       the row's property; or value: (row) => …
//       format: S.format.ms,   how a value is shown; by default as text
//       numeric: true,         right-aligned, and sorted from the largest first
//       help: "…",             a tip on the heading
//       cell: (row) => Node,   instead of text; sorting and filtering still use the value
//       filter: false,         not searched
//     }],
//     rows: [row, …],          objects; see S.rows for columns
//     pageSize: 25,            rows on a page; 0 for all
//     sort: { column: 2, descending: true },  or { name: "solve time" }; by default unsorted
//     filter: true,            whether there is a search box; by default from 8 rows on
//     onRow: (row) => …,       makes rows choosable: click, or Enter on a focused row
//   }) -> Element
//
// The element has `table`: { rows (all), shown (after filter and sort), filter(text), sort(column,
// descending), page(number), choose(row) } for scripts. Keys: in the table ↑ ↓ move between rows
// (or scroll), Page Up and Page Down turn pages, Home and End go to the first and last page.
{
  const S = (window.swathe ??= {});
  const PAGE_SIZE = 25;

  S.table = (options) => {
    const { columns, rows, onRow } = options;
    const pageSize = options.pageSize ?? PAGE_SIZE;
    const value = (column, row) => (column.value ? column.value(row) : row[column.key]);
    const shownText = (column, row) => {
      const found = value(column, row);
      if (column.format) return column.format(found);
      return found === null || found === undefined ? "–" : String(found);
    };
    const state = { shown: rows, sort: null, descending: false, page: 0, words: [], chosen: null };

    const heads = columns.map((column, at) => {
      const button = S.h("button", { type: "button", onclick: () => sortBy(at), "data-tip": column.help }, column.name);
      return S.h("th", { scope: "col", class: column.numeric ? "numeric" : null }, button);
    });
    const body = S.h("tbody");
    const count = S.h("span", { class: "table-count" });
    const search = S.h("input", {
      type: "search", placeholder: "filter", "aria-label": `Filter: ${options.caption ?? "table"}`,
      autocomplete: "off", spellcheck: "false",
      oninput: (event) => filterBy(event.target.value),
    });
    const turn = (label, text, to) =>
      S.h("button", { type: "button", "aria-label": label, onclick: () => goTo(to()) }, text);
    const pages = () => (pageSize ? Math.max(1, Math.ceil(state.shown.length / pageSize)) : 1);
    const first = turn("First page", "«", () => 0);
    const back = turn("Page before", "‹", () => state.page - 1);
    const on = turn("Next page", "›", () => state.page + 1);
    const last = turn("Last page", "»", () => pages() - 1);
    const pager = S.h("span", { class: "pager" }, first, back, on, last);
    const hasSearch = options.filter ?? rows.length >= 8;
    const table = S.h("table", { onkeydown: onKey, tabindex: onRow ? null : "0" },
      options.caption ? S.h("caption", {}, options.caption) : null,
      S.h("thead", {}, S.h("tr", {}, heads)), body);
    const element = S.h("div", { class: "table" },
      S.h("div", { class: "table-scroll" }, table),
      S.h("p", { class: "note only-print" }, `${options.caption ?? "The table"}: ${S.counted(rows.length, "row")}, too many to print.`),
      S.h("div", { class: "table-bar" }, hasSearch ? search : null, count, pager));

    function sortBy(at, descending) {
      const same = state.sort === at;
      state.descending = descending ?? (same ? !state.descending : Boolean(columns[at].numeric));
      state.sort = at;
      heads.forEach((head, which) => {
        if (which !== at) head.removeAttribute("aria-sort");
        else head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      });
      arrange();
    }

    function filterBy(text) {
      if (search.value !== text) search.value = text;
      state.words = text.toLowerCase().split(/\s+/).filter(Boolean);
      arrange();
    }

    // The searched text of a row is built and cached at the first search.
    const searched = new Map();
    const textOf = (row) => {
      let text = searched.get(row);
      if (text === undefined) {
        const parts = columns.filter((column) => column.filter !== false);
        text = parts.map((column) => `${value(column, row) ?? ""} ${shownText(column, row)}`).join("\n").toLowerCase();
        searched.set(row, text);
      }
      return text;
    };

    function arrange() {
      const { words } = state;
      let shown = rows;
      if (words.length) shown = shown.filter((row) => words.every((word) => textOf(row).includes(word)));
      if (state.sort !== null) {
        const column = columns[state.sort];
        const sign = state.descending ? -1 : 1;
        const keyed = shown.map((row) => [value(column, row), row]);
        // Absent values come last in either sort direction.
        const absent = (x) => x === null || x === undefined || Number.isNaN(x);
        keyed.sort(([a], [b]) => {
          if (absent(a) || absent(b)) return absent(a) - absent(b);
          if (typeof a === "number" && typeof b === "number") return sign * (a - b);
          return sign * String(a).localeCompare(String(b), "en", { numeric: true });
        });
        shown = keyed.map(([, row]) => row);
      }
      state.shown = shown;
      state.page = 0;
      draw();
    }

    // In print there is no paging: either all rows are printed, or a line with their number.
    const N_ROWS_PRINTED = 60;
    function print(isPrinted) {
      const isWhole = state.shown.length <= Math.max(N_ROWS_PRINTED, pageSize);
      element.classList.toggle("unprinted", isPrinted && !isWhole);
      if (isWhole && pages() > 1) draw(isPrinted);
    }

    function goTo(page, focusRow) {
      state.page = Math.max(0, Math.min(page, pages() - 1));
      draw();
      if (focusRow !== undefined && onRow) body.rows[Math.min(focusRow, body.rows.length - 1)]?.focus();
    }

    function draw(isWhole) {
      const from = isWhole ? 0 : state.page * pageSize;
      const seen = pageSize && !isWhole ? state.shown.slice(from, from + pageSize) : state.shown;
      body.replaceChildren(...seen.map((row) => {
        const cells = columns.map((column, at) => {
          const content = column.cell ? column.cell(row) : shownText(column, row);
          return S.h(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: column.numeric ? "numeric" : null }, content);
        });
        const attributes = onRow
          ? { tabindex: "0", class: "choosable", "aria-selected": String(row === state.chosen), onclick: () => choose(row) }
          : {};
        return S.h("tr", attributes, cells);
      }));
      if (seen.length === 0) {
        const text = rows.length ? "No row matches the filter." : "There are no rows.";
        body.append(S.h("tr", {}, S.h("td", { colspan: columns.length, class: "none" }, text)));
      }
      const n = state.shown.length;
      const of = n === rows.length ? S.counted(n, "row") : `${S.format.count(n)} of ${S.counted(rows.length, "row")}`;
      const range = pages() > 1 ? `${S.format.count(from + 1)}–${S.format.count(from + seen.length)} of ` : "";
      count.textContent = range + of;
      pager.hidden = pages() === 1;
      first.disabled = back.disabled = state.page === 0;
      on.disabled = last.disabled = state.page === pages() - 1;
      element.querySelector(".table-bar").hidden = !hasSearch && pages() === 1;
    }

    function choose(row) {
      state.chosen = row;
      draw();
      onRow?.(row);
    }

    function onKey(event) {
      if (event.target.closest("thead, a, button, input, select")) return;
      const at = [...body.rows].indexOf(event.target.closest("tr"));
      const moves = { ArrowDown: at + 1, ArrowUp: at - 1 };
      if (event.key in moves && onRow) {
        const to = moves[event.key];
        if (to >= body.rows.length) goTo(state.page + 1, state.page === pages() - 1 ? at : 0);
        else if (to < 0 && state.page > 0) goTo(state.page - 1, pageSize - 1);
        else body.rows[Math.max(0, to)]?.focus();
      } else if (event.key === "PageDown") goTo(state.page + 1, Math.max(at, 0));
      else if (event.key === "PageUp") goTo(state.page - 1, Math.max(at, 0));
      else if (event.key === "Home") goTo(0, 0);
      else if (event.key === "End") goTo(pages() - 1, pageSize);
      else if (event.key === "Enter" && onRow && at >= 0) {
        choose(state.shown[state.page * pageSize + at]);
        body.rows[at]?.focus();
      } else return;
      event.preventDefault();
    }

    element.table = {
      rows,
      get shown() { return state.shown; },
      filter: filterBy,
      sort: sortBy,
      page: goTo,
      print,
      choose,
    };
    const sort = options.sort;
    if (sort) {
      const at = sort.column ?? columns.findIndex((column) => column.name === sort.name);
      sortBy(at, sort.descending);
    } else draw();
    return element;
  };
}
