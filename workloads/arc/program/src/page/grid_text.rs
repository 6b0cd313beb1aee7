//! Grids as short texts: pages hold hundreds of them.

/// A grid of colours from the JSON of its rows: its width, a colon, then its cells row by row as
/// runs, each a colour and, if it is longer than one cell, a letter for its length (`b` is 2, `z`
/// is 26). None if these are not rows of one length with cells from 0 to 9.
///
/// `[[0,0,0],[5,0,0]]` becomes `3:0c50b`.
pub(super) fn short(json: &str) -> Option<String> {
    let rows = json.strip_prefix("[[")?.strip_suffix("]]")?;
    let mut runs = Runs::default();
    let mut width = None;
    for row in rows.split("],[") {
        let row = row.as_bytes();
        // One digit and a comma for each cell but the last.
        let n_cells = row.len().div_ceil(2);
        if row.len().is_multiple_of(2) || *width.get_or_insert(n_cells) != n_cells {
            return None;
        }
        for (k, &byte) in row.iter().enumerate() {
            match byte {
                b'0'..=b'9' if k.is_multiple_of(2) => runs.push(byte),
                b',' if !k.is_multiple_of(2) => {}
                _ => return None,
            }
        }
    }
    Some(format!("{}:{}", width?, runs.finish()))
}

#[derive(Default)]
struct Runs {
    text: String,
    last: Option<(u8, u8)>,
}

impl Runs {
    const LENGTH_MAX: u8 = 26;

    fn push(&mut self, color: u8) {
        match &mut self.last {
            Some((last, n)) if *last == color && *n < Self::LENGTH_MAX => *n += 1,
            _ => {
                self.flush();
                self.last = Some((color, 1));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((color, n)) = self.last.take() {
            self.text.push(char::from(color));
            if n > 1 {
                self.text.push(char::from(b'a' + n - 1));
            }
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn runs_of_colours() {
        let cases = [
            ("[[0,0,0],[5,0,0]]", Some("3:0c50b")),
            ("[[7]]", Some("1:7")),
            ("[[1],[2]]", Some("1:12")),
            ("[[1,2],[3]]", None),
            ("[[10]]", None),
            ("[[-1]]", None),
            ("[[1,]]", None),
            ("[[]]", None),
            ("[]", None),
            ("[[1],[2]", None),
            ("[[\"1\"]]", None),
        ];
        for (json, text) in cases {
            assert_eq!(short(json).as_deref(), text, "{json}");
        }
    }

    #[test]
    fn long_runs_are_cut() {
        let row = vec!["3"; 30].join(",");
        let json = format!("[[{row}],[{row}]]");
        assert_eq!(short(&json).as_deref(), Some("30:3z3z3h"));
    }
}
