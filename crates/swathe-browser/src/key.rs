//! Keys: their names and the parameters of `Input.dispatchKeyEvent`.

use serde_json::{Value, json};

use crate::error::BrowserError;

/// Keys that are not characters: name (which is also the code), Windows key code, and the text that
/// is entered.
const NAMED: &[(&str, u32, &str)] = &[
    ("Backspace", 8, ""),
    ("Tab", 9, ""),
    ("Enter", 13, "\r"),
    ("Escape", 27, ""),
    ("PageUp", 33, ""),
    ("PageDown", 34, ""),
    ("End", 35, ""),
    ("Home", 36, ""),
    ("ArrowLeft", 37, ""),
    ("ArrowUp", 38, ""),
    ("ArrowRight", 39, ""),
    ("ArrowDown", 40, ""),
    ("Delete", 46, ""),
];

/// The protocol's bits for modifier keys.
const MODIFIERS: &[(&str, u32)] = &[("Alt+", 1), ("Control+", 2), ("Meta+", 4), ("Shift+", 8)];
const SHIFT: u32 = 8;

/// The parameters of the two events of a key press, down and up.
pub(crate) fn events(pressed: &str) -> Result<[Value; 2], BrowserError> {
    let unknown = || BrowserError::UnknownKey { key: pressed.to_owned() };
    let mut name = pressed;
    let mut modifiers = 0;
    while let Some((rest, bit)) =
        MODIFIERS.iter().find_map(|(prefix, bit)| Some((name.strip_prefix(prefix)?, bit)))
    {
        name = rest;
        modifiers |= bit;
    }
    let key = match NAMED.iter().find(|(named, ..)| *named == name) {
        Some(&(name, windows, text)) => {
            Key { key: name.to_owned(), code: name.to_owned(), windows, text: text.to_owned() }
        }
        None if name == "Space" => Key::of_character(' '),
        None => {
            let mut characters = name.chars();
            let (Some(character), None) = (characters.next(), characters.next()) else {
                return Err(unknown());
            };
            if character.is_uppercase() {
                modifiers |= SHIFT;
            }
            Key::of_character(character)
        }
    };
    // With Control or Alt held, a key is a command and enters no text.
    let enters = modifiers & !SHIFT == 0 && !key.text.is_empty();
    let mut down = key.event(if enters { "keyDown" } else { "rawKeyDown" }, modifiers);
    if enters {
        down["text"] = json!(key.text);
    }
    Ok([down, key.event("keyUp", modifiers)])
}

struct Key {
    key: String,
    /// The position of the key on the keyboard.
    code: String,
    windows: u32,
    text: String,
}

impl Key {
    fn of_character(character: char) -> Self {
        let (code, windows) = match character.to_ascii_uppercase() {
            upper @ 'A'..='Z' => (format!("Key{upper}"), upper.into()),
            digit @ '0'..='9' => (format!("Digit{digit}"), digit.into()),
            ' ' => ("Space".to_owned(), 32),
            // The position of other characters differs between keyboards; pages use `key`.
            _ => (String::new(), 0),
        };
        Self { key: character.to_string(), code, windows, text: character.to_string() }
    }

    fn event(&self, kind: &str, modifiers: u32) -> Value {
        json!({
            "type": kind,
            "key": self.key,
            "code": self.code,
            "windowsVirtualKeyCode": self.windows,
            "modifiers": modifiers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of the down event: type, key, code, modifiers, text.
    fn down(pressed: &str) -> (String, String, String, u64, Option<String>) {
        let [down, up] = events(pressed).unwrap();
        assert_eq!(up["type"], "keyUp");
        let text = |field: &str| down[field].as_str().map(str::to_owned);
        let always = |field: &str| text(field).unwrap();
        let modifiers = down["modifiers"].as_u64().unwrap();
        (always("type"), always("key"), always("code"), modifiers, text("text"))
    }

    #[test]
    fn names_characters_and_held_keys_are_understood() {
        let expect = |kind: &str, key: &str, code: &str, modifiers, text: Option<&str>| {
            let text = text.map(str::to_owned);
            (kind.to_owned(), key.to_owned(), code.to_owned(), modifiers, text)
        };
        for (pressed, expected) in [
            ("Tab", expect("rawKeyDown", "Tab", "Tab", 0, None)),
            ("Shift+Tab", expect("rawKeyDown", "Tab", "Tab", 8, None)),
            ("Enter", expect("keyDown", "Enter", "Enter", 0, Some("\r"))),
            ("j", expect("keyDown", "j", "KeyJ", 0, Some("j"))),
            ("J", expect("keyDown", "J", "KeyJ", 8, Some("J"))),
            ("Control+a", expect("rawKeyDown", "a", "KeyA", 2, None)),
            ("+", expect("keyDown", "+", "", 0, Some("+"))),
            ("Space", expect("keyDown", " ", "Space", 0, Some(" "))),
        ] {
            assert_eq!(down(pressed), expected, "{pressed}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        for pressed in ["", "tab", "Shift+", "ab"] {
            let error = events(pressed).unwrap_err().to_string();
            assert!(error.contains(&format!("no key `{pressed}`")), "{error}");
        }
    }
}
