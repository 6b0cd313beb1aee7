"use strict";
// The page of the workload `array`: registers S.pages.array(data) -> Element, data being what
// `array_page::data` made.
{
  const S = (window.swathe ??= {});
}
