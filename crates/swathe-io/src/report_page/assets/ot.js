"use strict";
// The page of the workload `ot`: registers S.pages.ot(data) -> Element, data being what
// `ot_page::data` made.
{
  const S = (window.swathe ??= {});
}
