"use strict";
// The page of the workload `arc`: registers S.pages.arc(data) -> Element, data being what
// `arc_page::data` made.
{
  const S = (window.swathe ??= {});
}
