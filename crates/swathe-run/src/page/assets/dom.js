"use strict";
// Elements, text and numbers. Every other script builds on this one, so it comes first.
//
//   S.h(tag, attributes, ...children)      an HTML element
//   S.svg(tag, attributes, ...children)    an SVG element
//   S.format.count(n)      12,345
//   S.format.number(x)     four significant digits: 0.01235, 12,350, 1.2e-9
//   S.format.digits(x, n)  likewise with n significant digits
//   S.format.aligned(x)    three significant digits, trailing zeros kept: 0.00150, 12.0, 8.30e-6
//   S.format.ms(ms)        a time in the unit that suits it: 350 µs, 12.3 ms, 4.56 s, 2 min 5 s
//   S.format.bytes(n)      1.5 MiB
//   S.format.rate(x)       250/s
//   S.format.percent(x)    of a share from 0 to 1: 12.3 %
//   S.counted(n, "row")    "1 row", "2 rows"; a third argument is an irregular plural
//   S.figure(name, value, format)  a <span> with the figure's name in data-figure and its raw
//                          value in data-value, so that a test can compare it with report.json
//   S.ownFigure(name, value, format)  the same for a workload's own figures, in data-own-figure:
//                          they come from its tables, not from report.json
//   S.rows(columns)        rows (objects) of {name: [values]}, the form in which tables are embedded
//   S.section(id, title, intro, ...children)  a part of the page, listed in the contents
//   S.details(summary, make)  a <details> whose content is made when it is first opened (or printed)
//   S.note(...children)    a paragraph in small faint type
//   S.announce(text)       announces a text to screen readers
//
// An element with the attribute `data-tip` shows that text on hover and on focus. Untrusted text
// is inserted as a child or an attribute, never as markup: no script sets innerHTML.
{
  const S = (window.swathe ??= {});
  S.pages ??= {};
  S.sections ??= {};

  const build = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
      else if (name === "style") Object.entries(value).forEach(([key, to]) => element.style.setProperty(key, to));
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  };

  /** An element. Function attributes (`onclick`) become listeners; `style` is an object. */
  S.h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
  S.svg = (tag, attributes, ...children) =>
    build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  const NONE = "–";
  const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
  // Cached for each number of digits: creating a format takes far longer than using it.
  const formats = new Map();
  const grouped = (x, nDigits) => {
    if (!formats.has(nDigits)) formats.set(nDigits, new Intl.NumberFormat("en-US", { maximumSignificantDigits: nDigits }));
    return formats.get(nDigits).format(x);
  };

  // Rounded to `nDigits` significant digits, with commas between thousands and no trailing zeros.
  const significant = (x, nDigits) => grouped(Number(x.toPrecision(nDigits)), nDigits);

  S.format = {
    count: (n) => (isNumber(n) ? grouped(Math.round(n), 21) : NONE),
    number: (x) => S.format.digits(x, 4),
    digits: (x, nDigits) => {
      if (!isNumber(x)) return NONE;
      const size = Math.abs(x);
      if (x !== 0 && (size < 1e-4 || size >= 1e12)) return Number(x.toPrecision(nDigits)).toExponential();
      return significant(x, nDigits);
    },
    aligned: (x) => {
      if (!isNumber(x)) return NONE;
      const size = Math.abs(x);
      if (x !== 0 && (size < 1e-4 || size >= 1e12)) return x.toExponential(2);
      return size >= 999.5 ? grouped(Math.round(x), 21) : x === 0 ? "0" : x.toPrecision(3);
    },
    ms: (ms) => {
      if (!isNumber(ms)) return NONE;
      const size = Math.abs(ms);
      if (size === 0) return "0 ms";
      if (size < 0.9995) return `${significant(ms * 1e3, 3)} µs`;
      if (size < 999.5) return `${significant(ms, 3)} ms`;
      if (size < 119950) return `${significant(ms / 1e3, 3)} s`;
      const s = Math.round(ms / 1e3);
      if (s < 7200) return `${Math.floor(s / 60)} min ${s % 60} s`;
      const min = Math.round(s / 60);
      return `${grouped(Math.floor(min / 60), 21)} h ${min % 60} min`;
    },
    bytes: (n) => {
      if (!isNumber(n)) return NONE;
      const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
      let unit = 0;
      let size = n;
      while (Math.abs(size) >= 1023.5 && unit < units.length - 1) {
        size /= 1024;
        unit += 1;
      }
      return `${significant(size, Math.abs(size) >= 1000 ? 4 : 3)} ${units[unit]}`;
    },
    rate: (x) => (isNumber(x) ? `${x >= 1000 ? S.format.count(x) : significant(x, 3)}/s` : NONE),
    percent: (share) => {
      if (!isNumber(share)) return NONE;
      const percent = share * 100;
      return `${percent !== 0 && Math.abs(percent) < 0.05 ? "< 0.1" : Number(percent.toFixed(1))} %`;
    },
  };

  S.counted = (n, one, many = `${one}s`) => `${S.format.count(n)} ${n === 1 ? one : many}`;

  S.figure = (name, value, format = S.format.count) =>
    S.h("span", { "data-figure": name, "data-value": value }, format(value));

  S.ownFigure = (name, value, format = S.format.count) =>
    S.h("span", { "data-own-figure": name, "data-value": value }, format(value));

  S.rows = (columns) => {
    const names = Object.keys(columns);
    const n = names.length === 0 ? 0 : columns[names[0]].length;
    return Array.from({ length: n }, (_, at) => {
      const row = { at };
      for (const name of names) row[name] = columns[name][at];
      return row;
    });
  };

  S.section = (id, title, intro, ...children) =>
    S.h("section", { id, "aria-labelledby": `${id}-title` },
      S.h("h2", { id: `${id}-title` }, title), intro ? S.h("p", { class: "intro" }, intro) : null, ...children);

  S.details = (summary, make) => {
    const details = S.h("details", {}, S.h("summary", {}, summary));
    details.fill = () => {
      details.fill = () => {};
      details.append(make());
    };
    details.addEventListener("toggle", () => details.open && details.fill());
    return details;
  };

  S.note = (...children) => S.h("p", { class: "note" }, ...children);

  let live;
  S.announce = (text) => {
    live ??= document.body.appendChild(S.h("div", { class: "unseen", role: "status", "aria-live": "polite" }));
    live.textContent = text;
  };

  // One tip for the whole page, moved to the element under the pointer or with the focus.
  const tip = S.h("div", { class: "tip", role: "tooltip", hidden: true });
  const show = (text, x, y) => {
    if (!tip.isConnected) document.body.append(tip);
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(4, Math.min(x + 14, document.documentElement.clientWidth - width - 4));
    const top = y + 18 + height > window.innerHeight ? y - height - 10 : y + 18;
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  };
  const hide = () => (tip.hidden = true);
  S.tip = { show, hide };
  const tipped = (event) => (event.target instanceof Element ? event.target.closest("[data-tip]") : null);
  document.addEventListener("pointermove", (event) => {
    const target = tipped(event);
    if (target) show(target.getAttribute("data-tip"), event.clientX, event.clientY);
    else if (!event.target.closest?.("[data-tips]")) hide();
  });
  document.addEventListener("focusin", (event) => {
    const target = tipped(event);
    if (!target || !target.matches(":focus-visible")) return hide();
    const box = target.getBoundingClientRect();
    show(target.getAttribute("data-tip"), box.left, box.bottom - 12);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}
