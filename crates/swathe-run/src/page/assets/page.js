"use strict";
// Assembles the page: headline, the workload's own part, the sections every report has, the
// table of contents, and the switch between light and dark.
{
  const S = (window.swathe ??= {});
  const { h } = S;
  /** Sections on how the run went. They come after the results, in a closed <details>. */
  const FOLDED = ["places", "timeline", "workers", "throughput", "memory", "shapes", "operations", "routes", "setbacks", "verification"];

  const start = () => {
    document.getElementById("top").append(h("div", { class: "tools" }, themeButton()));
    const main = document.getElementById("main");
    const embedded = document.getElementById("data");
    if (!embedded) return S.live?.(main);
    S.data = JSON.parse(embedded.textContent);
    S.report(main, S.data);
  };

  /** Fills `main` with the report made from `data`. */
  S.report = (main, data) => {
    const own = S.pages[data.report.workload];
    const made = (name) => S.sections[name]?.(data);
    const parts = [
      S.sections.warnings(data),
      own && data.workload_page !== null ? own(data.workload_page, data) : null,
      made("failures"),
      made("figures"),
      made("tiles"),
      h("details", { class: "fold", id: "run" }, h("summary", {}, "How the run went: time, memory, batches, devices"), FOLDED.map(made)),
      made("settings"),
      made("reproduce"),
    ].filter(Boolean);
    const body = h("div", {}, parts);
    main.replaceChildren(h("div", { class: "layout" }, contents(body), body));
    reveal();
  };

  /** Opens the folded part that contains the target of the address's hash. */
  const reveal = () => {
    const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const fold = target?.closest("details.fold");
    if (!fold || fold.open) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  /** Links to every section, with the visible one marked. */
  const contents = (body) => {
    const sections = [...body.querySelectorAll("section[id]")];
    const link = (section) => h("a", { href: `#${section.id}`, class: section.closest("details.fold") ? "inner" : null, onclick: () => {
      const fold = section.closest("details.fold");
      if (fold) fold.open = true;
    } }, section.querySelector("h2").textContent);
    const links = new Map(sections.map((section) => [section, link(section)]));
    const seen = new Set();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.isIntersecting ? seen.add(entry.target) : seen.delete(entry.target);
      const current = sections.find((section) => seen.has(section));
      for (const [section, link] of links) {
        if (section === current) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }, { rootMargin: "-10% 0px -55% 0px" });
    sections.forEach((section) => observer.observe(section));
    return h("nav", { class: "contents", "aria-label": "Contents" }, h("ol", {}, [...links.values()].map((link) => h("li", {}, link))));
  };

  const themeButton = () => {
    const root = document.documentElement;
    const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const button = h("button", { type: "button", id: "theme", onclick: () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      show();
    } });
    const show = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`);
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    show();
    return button;
  };

  // Only open parts are printed. A table is printed whole or not at all.
  const print = (isPrinted) => {
    for (const element of document.querySelectorAll(".table")) element.table.print(isPrinted);
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));

  start();
}
