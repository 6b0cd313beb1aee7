"use strict";
// The sections that every report has: S.sections.<name>(data) -> Element, or null where there is
// nothing to tell. `data` is what PageData::json made.
{
  const S = (window.swathe ??= {});
  const { h } = S;

  S.sections.tiles = ({ report }) => {
    const tile = (what, value) => h("li", {}, h("span", { class: "value" }, value), h("span", { class: "what" }, what));
    return h("ul", { class: "tiles" },
      tile("solved", S.figure("counts.n_solved", report.counts.n_solved)),
      tile("in all", S.figure("wall_ms", report.wall_ms, S.format.ms)));
  };
}
