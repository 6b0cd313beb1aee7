//! Program keys: a user's own ranking of programs.

use std::collections::HashMap;
use std::path::Path;

use swathe_command::cli_error::CliError;
use swathe_formats::csv::CsvReader;

/// Reads the key of each program from a CSV file.
pub(crate) fn read_keys(path: &Path) -> Result<HashMap<String, f64>, CliError> {
    let wrong = |what: String| {
        CliError::usage(format!("--rank-by {}: {what}", path.display()))
            .hint("give a CSV file with the columns program and key, one line for each program")
    };
    let table = CsvReader::open(path).map_err(|error| wrong(error.to_string()))?;
    let column = |name: &str| {
        let found = table.column(name);
        found.ok_or_else(|| wrong(format!("there is no column {name}")))
    };
    let (program, key) = (column("program")?, column("key")?);
    let mut keys = HashMap::new();
    for record in table {
        let mut record = record.map_err(|error| wrong(error.to_string()))?;
        let line = record.line;
        let text = &record.fields[key];
        let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
        let number =
            number.ok_or_else(|| wrong(format!("line {line}: the key '{text}' is no number")))?;
        let name = std::mem::take(&mut record.fields[program]);
        if keys.contains_key(&name) {
            return Err(wrong(format!("line {line}: {name} has a key already")));
        }
        keys.insert(name, number);
    }
    Ok(keys)
}
