//! Changes settings in `swathe.toml` and leaves everything else in the file as it is.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use swathe_formats::atomic_file::AtomicFile;
use swathe_formats::regular_file;

use crate::cli_error::{CliError, Code};

/// Sets values in a section of a settings file, which is created if it does not exist. Values are
/// written as they stand, so text needs its quotes. Other settings, comments and their order stay.
///
/// # Errors
/// If the file cannot be read or written, is not TOML, or has the section in a form in which single
/// lines cannot be changed; the file is left as it is then.
pub fn set_values(path: &Path, section: &str, values: &[(&str, String)]) -> Result<(), CliError> {
    let text = match regular_file::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(CliError::usage(format!("cannot read {}: {error}", path.display())));
        }
    };
    let lines: Vec<String> =
        values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let by_hand = || format!("write under [{section}] yourself: {}", lines.join(", "));
    let before: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let error = error.to_string();
        CliError::usage(format!("{} is not TOML: {}", path.display(), error.trim_end()))
    })?;
    let changed = with_lines(&text, section, values, &lines);
    if changed.parse().ok() != wanted(before, section, &lines) {
        return Err(CliError::usage(format!(
            "{} has [{section}] in a form that cannot be changed line by line",
            path.display()
        ))
        .hint(by_hand()));
    }
    let write = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(changed.as_bytes())?;
        file.commit()
    };
    write().map_err(|error: std::io::Error| {
        CliError::new(Code::Output, format!("cannot write {}: {error}", path.display()))
            .hint(by_hand())
    })
}

/// The text with one line for each value in its section: in the place of an earlier line of the same
/// name, or below the section's head.
fn with_lines(text: &str, section: &str, values: &[(&str, String)], lines: &[String]) -> String {
    let head_name = |line: &str| {
        let line = line.trim_start().strip_prefix('[')?;
        Some(line.split_once(']')?.0.trim().to_owned())
    };
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_head = |line: &String| head_name(line).as_deref() == Some(section);
    let head = all.iter().position(is_head).unwrap_or_else(|| {
        if all.last().is_some_and(|line| !line.trim().is_empty()) {
            all.push(String::new());
        }
        all.push(format!("[{section}]"));
        all.len() - 1
    });
    for ((name, _), line) in values.iter().zip(lines).rev() {
        let inside = all[head + 1..].iter();
        let n_inside = inside.take_while(|line| head_name(line).is_none()).count();
        let is_name = |old: &String| {
            let key = old.split_once('=').map(|(key, _)| key.trim());
            key.is_some_and(|key| key.trim_matches(['"', '\'']) == *name)
        };
        match all[head + 1..head + 1 + n_inside].iter().position(is_name) {
            Some(at) => all[head + 1 + at].clone_from(line),
            None => all.insert(head + 1, line.clone()),
        }
    }
    let mut text = all.join("\n");
    text.push('\n');
    text
}

/// The settings that the changed file must have.
fn wanted(mut table: toml::Table, section: &str, lines: &[String]) -> Option<toml::Table> {
    let new = table.entry(section).or_insert_with(|| toml::Table::new().into());
    let values: toml::Table = lines.join("\n").parse().ok()?;
    new.as_table_mut()?.extend(values);
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(before: Option<&str>) -> Result<String, CliError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("swathe.toml");
        if let Some(text) = before {
            std::fs::write(&path, text).unwrap();
        }
        let values = [("width", "3e-4".to_owned()), ("price", "10".to_owned())];
        set_values(&path, "own", &values)?;
        Ok(std::fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn values_are_set_and_the_rest_stays() {
        let new = "[own]\nwidth = 3e-4\nprice = 10\n";
        for (before, after) in [
            (None, new.to_owned()),
            (Some(""), new.to_owned()),
            (
                Some("memory = \"1GiB\" # enough"),
                format!("memory = \"1GiB\" # enough\n\n{new}"),
            ),
            (
                Some("# mine\n[own]\ncolour = \"red\"\nwidth = 1.0\n\n[other]\nthreads = 2\n"),
                "# mine\n[own]\nprice = 10\ncolour = \"red\"\nwidth = 3e-4\n\n[other]\nthreads = 2\n"
                    .to_owned(),
            ),
            (
                Some("[other]\nwidth = 5\n[ own ]\n\"price\" = \"1,2\"\n"),
                "[other]\nwidth = 5\n[ own ]\nwidth = 3e-4\nprice = 10\n".to_owned(),
            ),
        ] {
            assert_eq!(set(before).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn forms_that_lines_cannot_change_are_refused() {
        for before in [
            "own = { width = 1.0 }\n",
            "own.width = 1.0\n",
            "[own]\ncolour = '''\nwidth = 1\n'''\n",
            "not toml",
        ] {
            let error = set(Some(before)).unwrap_err();
            assert!(format!("{error:?}").contains("swathe.toml"), "{before}");
        }
    }
}
