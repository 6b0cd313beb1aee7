"use strict";
// The page of a run that is still going on: registers S.live(root), called by page.js where the
// page holds no data of its own.
{
  const S = (window.swathe ??= {});
}
