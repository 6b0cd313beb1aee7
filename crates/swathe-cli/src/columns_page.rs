//! `docs/reference/columns.md`: every column of every table, from the declarations.

use std::fmt::Write as _;
use std::path::Path;

use arrow::datatypes::DataType;
use swathe_run::store::record::{Column, TableReference};
use swathe_run::store::{run_folder, value_rows};

use crate::workloads::PROGRAMS;

const HEAD: &str = "\
# Columns

The tables of a run folder, and their columns. `cargo xtask docs --reference` makes this page from the declarations.

A table has units and meanings in its schema, as the metadata `unit` and `description` of its fields. *null*: some rows may \
have no value. *hash*: the column's place among those that `values_hash` in `run.json` covers. *page*: the run's page shows it.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for program in PROGRAMS {
        section(&mut page, &format!("`swathe {}`", program.kind.name), &(program.kind.tables)());
    }
    section(&mut page, "Functions of your own", &[value_rows::reference()]);
    section(&mut page, "Every run", &run_folder::reference());
    page
}

fn section(page: &mut String, title: &str, tables: &[TableReference]) {
    let _ = write!(page, "\n## {title}\n");
    for table in tables {
        let _ = write!(
            page,
            "\n### `{}.parquet`\n\n{}.\n\n\
             | column | type | unit | null | hash | page | meaning |\n|---|---|---|---|---|---|---|\n",
            table.name, table.about
        );
        table.columns.iter().for_each(|column| row(page, column));
    }
}

fn row(page: &mut String, column: &Column) {
    let mark = |is: bool| if is { "✓" } else { "" };
    let place = column.value_place.map_or(String::new(), |place| place.to_string());
    let _ = writeln!(
        page,
        "| `{}` | {} | {} | {} | {place} | {} | {} |",
        column.name,
        type_name(&column.data_type),
        column.unit,
        mark(column.is_nullable),
        mark(column.is_on_page),
        column.meaning.replace('|', "\\|").replace('<', "\\<")
    );
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => "text".to_owned(),
        DataType::Dictionary(_, words) => format!("{}, dictionary-encoded", type_name(words)),
        DataType::List(element) | DataType::LargeList(element) => {
            format!("list of {}", type_name(element.data_type()))
        }
        DataType::LargeBinary => "bytes".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        number => number.to_string().to_lowercase(),
    }
}

/// With the variable `SWATHE_WRITE_REFERENCE` the test writes the page instead of comparing it.
#[test]
fn the_page_of_columns_says_what_is_declared() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/columns.md");
    if std::env::var_os("SWATHE_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let declared = page();
    let mut lines = declared.lines().zip(written.lines().chain(std::iter::repeat("")));
    let differs = lines.find(|(declared, written)| declared != written);
    assert!(
        written == declared,
        "docs/reference/columns.md is not what is declared: run `cargo xtask docs --reference`; the first line that differs: {differs:?}"
    );
}

/// Columns of one kind of table have different names, and different places in the hash.
#[test]
fn names_and_places_are_unique() {
    let tables = PROGRAMS.iter().flat_map(|program| (program.kind.tables)());
    for table in tables.chain([value_rows::reference()]).chain(run_folder::reference()) {
        let mut names: Vec<&String> = table.columns.iter().map(|column| &column.name).collect();
        let mut places: Vec<usize> =
            table.columns.iter().filter_map(|column| column.value_place).collect();
        let n = (names.len(), places.len());
        names.sort();
        names.dedup();
        places.sort_unstable();
        places.dedup();
        assert_eq!((names.len(), places.len()), n, "{}", table.name);
        for column in &table.columns {
            assert!(!column.meaning.is_empty(), "{}: {}", table.name, column.name);
        }
    }
}
