"use strict";
// The page section of `words`: data is what `KIND.page` returned.
{
  const S = (window.swathe ??= {});
  S.pages.words = (data) =>
    S.section("words", "Words", null, S.note(`${S.format.count(data.n_words)} words in all files.`));
}
