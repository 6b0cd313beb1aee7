//! Aligns cells in columns, for text tables in a terminal.

/// Formats rows of cells; every column is as wide as its widest cell. Columns whose head begins
/// with `>` are aligned to the right. If all heads are empty, no head line is printed.
pub(super) fn columns<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let is_right = heads.map(|head| head.starts_with('>'));
    let heads = heads.map(|head| head.trim_start_matches('>').to_owned());
    let has_heads = heads.iter().any(|head| !head.is_empty());
    let lines: Vec<[String; N]> = has_heads
        .then_some(heads)
        .into_iter()
        .chain(rows.iter().cloned())
        .map(|line| line.map(|cell| plain(&cell)))
        .collect();
    let widths: [usize; N] = std::array::from_fn(|at| {
        let widths = lines.iter().map(|line| line[at].chars().count());
        widths.max().unwrap_or(0)
    });
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::from("  ");
        for (at, cell) in line.iter().enumerate() {
            let gap = " ".repeat(widths[at] - cell.chars().count());
            match is_right[at] {
                true => shown += &format!("{gap}{cell}  "),
                false => shown += &format!("{cell}{gap}  "),
            }
        }
        text += shown.trim_end();
        text.push('\n');
    }
    text
}

/// Replaces control characters: text from inputs must not move the cursor or change colours.
pub(super) fn plain(text: &str) -> String {
    let shown = |character: char| match character.is_control() {
        true => '\u{fffd}',
        false => character,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn cells_stand_below_each_other() {
        let rows =
            [["a".to_owned(), "1".to_owned()], ["ε\u{1b}[1m".to_owned(), "1,000".to_owned()]];
        assert_eq!(
            columns(["name", ">n"], &rows),
            "  name       n\n  a          1\n  ε\u{fffd}[1m  1,000\n"
        );
        assert_eq!(columns(["", ">"], &rows[..1]), "  a  1\n");
    }
}
