"use strict";
// The zoomable timeline of launches: S.timeline({ launches, workers, wall_ms, class_names }).
{
  const S = (window.swathe ??= {});
}
