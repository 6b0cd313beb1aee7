"use strict";
// Puts the page together: headline, the workload's own part, the sections every report has, the
// contents beside them, and the switch between light and dark.
{
  const S = (window.swathe ??= {});
  const { h } = S;
  const ORDER = ["figures", "timeline", "workers", "throughput", "memory", "shapes", "operations", "routes", "setbacks",
    "verification", "failures", "settings", "reproduce"];

  const start = () => {
    document.getElementById("top").append(h("div", { class: "tools" }, themeButton()));
    const main = document.getElementById("main");
    const embedded = document.getElementById("data");
    if (!embedded) return S.live?.(main);
    S.data = JSON.parse(embedded.textContent);
    S.report(main, S.data);
  };

  /** Fills an element with the report on some data. */
  S.report = (main, data) => {
    const own = S.pages[data.report.workload];
    const parts = [
      S.sections.tiles(data),
      own && data.workload_page !== null ? own(data.workload_page, data) : null,
      ...ORDER.map((name) => S.sections[name]?.(data)),
    ].filter(Boolean);
    const body = h("div", {}, parts);
    main.replaceChildren(h("div", { class: "layout" }, contents(body), body));
  };

  /** Links to every section, the one that is read marked. */
  const contents = (body) => {
    const sections = [...body.querySelectorAll("section[id]")];
    const links = new Map(sections.map((section) => [section, h("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)]));
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

  // On paper everything is open, and afterwards as it was.
  let opened = [];
  const open = () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) {
      details.open = true;
      // Its own event would come after the printing.
      details.fill?.();
    }
  };
  const close = () => {
    opened.forEach((details) => (details.open = false));
    opened = [];
  };
  addEventListener("beforeprint", open);
  addEventListener("afterprint", close);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? open() : close()));

  start();
}
