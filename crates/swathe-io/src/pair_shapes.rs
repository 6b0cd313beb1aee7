//! The shapes that pairs were solved in, as their table tells.

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::UInt32Type;
use swathe::Shape;

use crate::run_folder::FolderError;
use crate::table_reader::open;

/// The shape of every solved pair of a run, in the order of its rows: the crop, after pooling.
pub fn pair_shapes(run: &Path) -> Result<Vec<Shape>, FolderError> {
    const NAMES: [&str; 3] = ["crop_h", "crop_w", "pool"];
    let path = run.join("pairs.parquet");
    let damaged = |reason: String| FolderError::Damaged {
        path: path.clone(),
        reason,
    };
    let table = open(&path, &|name| NAMES.contains(&name))?;
    let mut shapes = Vec::new();
    for batch in table.reader {
        let batch = batch.map_err(|error| damaged(error.to_string()))?;
        let column = |name: &str| {
            let column = batch.column_by_name(name);
            column
                .and_then(|column| column.as_primitive_opt::<UInt32Type>())
                .ok_or_else(|| damaged(format!("it has no column {name} of pixels")))
        };
        let [h_px, w_px, pool] = [column(NAMES[0])?, column(NAMES[1])?, column(NAMES[2])?];
        for at in 0..batch.num_rows() {
            let pool = pool.value(at).max(1);
            let pooled = [h_px.value(at), w_px.value(at)].map(|px| px.div_ceil(pool));
            shapes.push(Shape::new(&pooled));
        }
    }
    Ok(shapes)
}
