//! Exchanges files with the NumPy of this machine, in both directions.
//!
//! The interpreter is `SWATHE_PYTHON` or the one in the repository's `.venv`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use swathe::array::{Array, Dtype, Elements};
use swathe_formats::npy;
use swathe_formats::npz::{Compression, Npz, NpzWriter};
use swathe_testing::python;

/// Scalars, vectors, matrices and more axes, with extents of zero and one, and larger than one
/// buffer.
const SHAPES: [&str; 10] = ["", "0", "1", "7", "1x1", "3x5", "0x4", "2x3x4x5", "1x9x1", "217x331"];

const DTYPES: [(&str, Dtype); 10] = [
    ("u1", Dtype::U8),
    ("u2", Dtype::U16),
    ("u4", Dtype::U32),
    ("u8", Dtype::U64),
    ("i1", Dtype::I8),
    ("i2", Dtype::I16),
    ("i4", Dtype::I32),
    ("i8", Dtype::I64),
    ("f4", Dtype::F32),
    ("f8", Dtype::F64),
];

#[test]
fn numpy_and_this_reader_agree() {
    let Some(python) = python::with_numpy() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut write = Command::new(&python);
    write.arg(script("write_arrays.py")).arg(folder.path());
    python::run(write.args(SHAPES));

    for shape in SHAPES {
        for (code, dtype) in DTYPES {
            let expected = array(shape, dtype);
            let name = format!("{code}_{shape}");
            for form in ["", ".fortran", ".big", ".v2", ".v3"] {
                let path = folder.path().join(format!("{name}{form}.npy"));
                let read = npy::load(&path).unwrap();
                assert_eq!(read, expected, "{}", path.display());
            }
            let mut written = Vec::new();
            npy::write(&expected, &mut written).unwrap();
            let numpys = fs::read(folder.path().join(format!("{name}.npy"))).unwrap();
            assert_eq!(written, numpys, "{name}");
        }
    }
}

#[test]
fn numpys_archives_are_read_and_ours_by_numpy() {
    let Some(python) = python::with_numpy() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut write = Command::new(&python);
    write.arg(script("write_arrays.py")).arg(folder.path());
    python::run(write.args(SHAPES));

    for (file, compression) in
        [("stored.npz", Compression::Stored), ("deflated.npz", Compression::Deflate)]
    {
        let theirs = folder.path().join(file);
        let ours = folder.path().join(format!("ours-{file}"));
        let npz = Npz::open(&theirs).unwrap();
        let mut writer = NpzWriter::create(&ours, compression).unwrap();
        for shape in SHAPES {
            for (code, dtype) in DTYPES {
                let expected = array(shape, dtype);
                for form in ["", ".fortran"] {
                    let name = format!("{code}_{shape}{form}");
                    assert_eq!(npz.read(&name).unwrap(), expected, "{name}");
                    writer.add(&name, &expected).unwrap();
                }
            }
        }
        writer.finish().unwrap().commit().unwrap();
        let n_members = SHAPES.len() * DTYPES.len() * 2;
        assert_eq!(npz.members().len(), n_members);
        let mut compare = Command::new(&python);
        compare.arg(script("compare_archives.py"));
        compare.args([&theirs, &ours]).arg(n_members.to_string());
        python::run(&mut compare);
    }
}

/// The array that the script makes for this shape and dtype.
fn array(shape: &str, dtype: Dtype) -> Array {
    let shape: Vec<usize> =
        shape.split('x').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
    let values = (0..shape.iter().product::<usize>()).map(|i| (i * 37 + 11) % 127);
    let mut elements = Elements::empty(dtype);
    swathe::with_elements!(&mut elements, v => *v = values.map(|x| x as _).collect());
    Array::new(shape, elements).unwrap()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}
