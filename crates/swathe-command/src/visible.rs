//! Makes untrusted text safe to print.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with control characters and marks of writing direction escaped (`\u{1b}`), so that an
/// input cannot control the terminal. Line feeds and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_hidden(character) {
            true => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
            }
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t');
    is_control || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first `n_characters_max` characters of a text, followed by the number of characters left
/// out.
pub fn shortened(text: &str, n_characters_max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(n_characters_max) {
        Some((end, _)) => {
            let n_more = text[end..].chars().count();
            Cow::Owned(format!("{}… ({n_more} more characters)", &text[..end]))
        }
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelt_out() {
        assert_eq!(visible("naïve\tß\n"), "naïve\tß\n");
        assert_eq!(visible("a\x1b]0;b\x07\r\x7f"), "a\\u{1b}]0;b\\u{7}\\u{d}\\u{7f}");
        assert_eq!(visible("\u{9b}2J \u{202e}"), "\\u{9b}2J \\u{202e}");
    }

    #[test]
    fn only_long_texts_are_shortened() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß!", 3), "äöü… (2 more characters)");
    }
}
