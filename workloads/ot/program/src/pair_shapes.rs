//! The shapes that pairs were solved in, from the table of a run.

use std::path::Path;

use arrow::datatypes::UInt32Type;
use swathe::Shape;

use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, number_column};

/// The shape of every solved pair of a run, in the order of its rows: the crop, after pooling.
///
/// # Errors
/// If the table of pairs cannot be read.
pub fn pair_shapes(run: &Path) -> Result<Vec<Shape>, FolderError> {
    const NAMES: [&str; 3] = ["crop_h", "crop_w", "pool"];
    let mut shapes = Vec::new();
    TableReader::of_run(run, "pairs")?.columns(&NAMES).for_each(|batch| {
        let column = |name: &str| number_column::<UInt32Type>(batch, name);
        let [h_px, w_px, pool] = [column(NAMES[0])?, column(NAMES[1])?, column(NAMES[2])?];
        for at in 0..batch.num_rows() {
            let pool = pool.value(at).max(1);
            let pooled = [h_px.value(at), w_px.value(at)].map(|px| px.div_ceil(pool));
            shapes.push(Shape::new(&pooled));
        }
        Ok(())
    })?;
    Ok(shapes)
}
