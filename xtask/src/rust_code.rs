//! Rust source with everything but the code blanked, so that rules can look for words.

/// The text with comments, string and character literals turned to spaces. Lines stay where
/// they are.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_or_comment_end(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(
                chars[at..end]
                    .iter()
                    .map(|&c| if c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        }
    }
    code
}

/// The same with items under `#[cfg(test)]` blanked too; `code` comes from [`code_only`].
pub(crate) fn without_test_items(code: &str) -> String {
    let mut bytes = code.as_bytes().to_vec();
    for mark in ["#[cfg(test)]", "#[cfg(all(test"] {
        for (start, _) in code.match_indices(mark) {
            let end = item_end(&bytes, start + mark.len());
            // Blanked byte by byte: a character that takes several becomes several spaces.
            for byte in &mut bytes[start..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
    }
    String::from_utf8(bytes).expect("whole items were replaced by ASCII")
}

/// Where the words stand that call one of these macros: (line from 1, macro's name).
pub(crate) fn macro_calls<'a>(code: &str, names: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut calls = Vec::new();
    for (i, line) in code.lines().enumerate() {
        for &name in names {
            let is_called = line.match_indices(name).any(|(at, _)| {
                !line[..at].ends_with(is_word) && line[at + name.len()..].starts_with('!')
            });
            if is_called {
                calls.push((i + 1, name));
            }
        }
    }
    calls
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where the literal or comment that begins at `at` ends; `at` itself when none does.
fn literal_or_comment_end(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => position(chars, at, |c| c == '\n'),
        '/' if next == Some('*') => block_comment_end(chars, at),
        '"' => quoted_end(chars, at, '"'),
        '\'' if next == Some('\\') => quoted_end(chars, at, '\''),
        // Otherwise a quote begins a lifetime, unless it is closed after one character.
        '\'' if chars.get(at + 2) == Some(&'\'') => at + 3,
        'r' => raw_string_end(chars, at),
        _ => at,
    }
}

fn position(chars: &[char], from: usize, is_it: impl Fn(char) -> bool) -> usize {
    chars[from..]
        .iter()
        .position(|&c| is_it(c))
        .map_or(chars.len(), |n| from + n)
}

/// Block comments nest.
fn block_comment_end(chars: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn quoted_end(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of `r"…"` or `r#"…"#`, also after `b` or `c`; `from` when it is a name.
fn raw_string_end(chars: &[char], from: usize) -> usize {
    let before: String = chars[from.saturating_sub(2)..from].iter().collect();
    let is_name = match before.chars().next_back() {
        Some('b' | 'c') => before.len() == 2 && before.starts_with(is_word),
        Some(c) => is_word(c),
        None => false,
    };
    let quote = position(chars, from + 1, |c| c != '#');
    if is_name || chars.get(quote) != Some(&'"') {
        return from;
    }
    let n_hashes = quote - from - 1;
    let mut at = quote + 1;
    while at < chars.len() {
        let tail = &chars[at + 1..];
        if chars[at] == '"' && tail.len() >= n_hashes && tail[..n_hashes].iter().all(|&c| c == '#')
        {
            return at + 1 + n_hashes;
        }
        at += 1;
    }
    at
}

/// Where the item after an attribute ends: at its `;`, or the brace that closes its body.
fn item_end(code: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `dbg!` is still seen after blanking.
    fn sees(text: &str) -> bool {
        let code = code_only(text);
        assert_eq!(code.lines().count(), text.lines().count(), "{text}");
        !macro_calls(&code, &["dbg"]).is_empty()
    }

    #[test]
    fn code_is_seen() {
        for text in [
            "dbg!(x)",
            "std::dbg!(x)",
            "fn f<'a>(x: &'a str) { dbg!(x) } // it's",
            "let q = '\"'; dbg!(q); let r = '\"';",
            "let q = '\\''; dbg!(q)",
            "/* a /* b */ c */ dbg!(1)",
            "let a = r\"\\\"; dbg!(a)",
            "let a = r#type; dbg!(\"#\")",
            "let a = \"\\\\\"; dbg!(a)",
            "let var\"x\"; dbg!(1)",
        ] {
            assert!(sees(text), "{text}");
        }
    }

    #[test]
    fn words_that_are_not_code_are_not_seen() {
        for text in [
            "// dbg!(x)",
            "/// ```\n/// dbg!(x);\n/// ```",
            "/* a /* b */ dbg!(1) */",
            "let a = \"dbg!(1)\";",
            "let a = \"\\\" dbg!(1)\";",
            "let a = r#\"\" dbg!(1)\"#;",
            "let a = br\"dbg!(1)\";",
            "my_dbg!(1)",
            "dbg(1)",
        ] {
            assert!(!sees(text), "{text}");
        }
    }

    #[test]
    fn test_items_are_blanked_and_only_they() {
        let text = "a!();\n#[cfg(test)]\nmod tests {\n  fn f() { b!(\"}é\") }\n}\nc!();\n\
                    #[cfg(test)]\nuse d!;\ne!();\n";
        let code = without_test_items(&code_only(text));
        let calls = macro_calls(&code, &["a", "b", "c", "d", "e"]);
        assert_eq!(calls, [(1, "a"), (6, "c"), (9, "e")]);
    }
}
