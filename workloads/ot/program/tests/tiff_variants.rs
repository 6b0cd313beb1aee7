//! Frames and stacks that tifffile, Pillow and NumPy write are read as tifffile reads them.

use std::path::Path;
use std::process::Command;

use swathe_ot_program::frame::{AxisChoice, Background, FrameError, FrameFiles, FrameRef};
use swathe_testing::python;

/// Runs a script that writes files into a folder, and returns the fields of the lines it prints.
fn written(script: &str, folder: &Path) -> Option<Vec<Vec<String>>> {
    let python = python::with("numpy, tifffile, imagecodecs, PIL")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let output = Command::new(python).arg(script).arg(folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let fields = |line: &str| line.split('\t').map(str::to_owned).collect();
    Some(lines.lines().map(fields).collect())
}

fn given<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text != "-")
}

/// Pixels of an array of f64, with its shape.
fn array(path: &Path) -> (Vec<usize>, Vec<f64>) {
    let array = swathe_formats::npy::load(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let swathe::array::Elements::F64(values) = array.elements() else {
        panic!("{path:?} is not of f64");
    };
    (array.shape().to_vec(), values.to_vec())
}

#[test]
fn files_of_every_kind_are_read_as_tifffile_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some(lines) = written("tiff_variants.py", folder.path()) else {
        return;
    };
    let mut faults = Vec::new();
    for line in &lines {
        let [name, page, channel, um, kind] = line.as_slice() else {
            panic!("{line:?}");
        };
        let files = FrameFiles::new(
            AxisChoice { channel: given(channel), ..AxisChoice::default() },
            Background::None,
        );
        let frame = FrameRef { path: folder.path().join(name), part: given(page), label: None };
        let read = files.read(&frame, None);
        if kind != "-" {
            match read {
                Err(error) if error.kind() == kind => {}
                other => faults.push(format!("{line:?}: {:?}", other.map(|_| "was read"))),
            }
            continue;
        }
        let (shape, pixels) = array(&folder.path().join(format!("{name}.{page}.{channel}.npy")));
        match read {
            Err(error) => faults.push(format!("{line:?}: {error}")),
            Ok(frame) => {
                let header = files.header(&FrameRef {
                    path: folder.path().join(name),
                    part: given(page),
                    label: None,
                });
                assert_eq!(header.unwrap().shape, frame.shape, "{line:?}");
                if [frame.shape.h_px, frame.shape.w_px] != shape[..] {
                    faults.push(format!("{line:?}: {} is not {shape:?}", frame.shape));
                } else {
                    // Decoders of JPEG round differently; everything else is exact.
                    let allowed = if name.contains("jpeg") { 1.0 } else { 0.0 };
                    let density = frame.whole().density;
                    let differences = density.iter().zip(&pixels).map(|(a, b)| (a - b).abs());
                    let largest = differences.fold(0.0, f64::max);
                    if largest > allowed {
                        faults.push(format!("{line:?}: pixels differ by up to {largest}"));
                    }
                }
                let expected: Option<Vec<f64>> =
                    (um != "-").then(|| um.split(',').map(|n| n.parse().unwrap()).collect());
                let close = match (&expected, frame.um_per_px) {
                    (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 1e-6),
                    (None, None) => true,
                    _ => false,
                };
                if !close {
                    faults.push(format!("{line:?}: pixels of {:?} µm", frame.um_per_px));
                }
            }
        }
    }
    assert!(lines.len() > 130, "{} frames", lines.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn stacks_are_series_along_time_or_refused_with_their_axes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(lines) = written("stacks.py", folder.path()) else {
        return;
    };
    let mut faults = Vec::new();
    for line in &lines {
        let [name, channel, z_slice, time_axis, told, number] = line.as_slice() else {
            panic!("{line:?}");
        };
        let files = FrameFiles::new(
            AxisChoice {
                channel: given(channel),
                z_slice: given(z_slice),
                time_axis: given(time_axis),
            },
            Background::None,
        );
        let path = folder.path().join(name);
        let read = files.series(&path).and_then(|mut parts| {
            parts.sort_by(|a, b| swathe_ot_program::pair_input::natural_order(a, b));
            let frames = parts.into_iter().map(|part| {
                let frame = FrameRef { path: path.clone(), part: Some(part), label: None };
                Ok::<_, FrameError>(files.read(&frame, None)?.whole().density)
            });
            frames.collect::<Result<Vec<Vec<f64>>, _>>()
        });
        match read {
            Ok(frames) if told == "=" => {
                let (shape, pixels) = array(&folder.path().join(format!("{name}.{number}.npy")));
                if frames.len() != shape[0] || frames.concat() != pixels {
                    faults.push(format!("{line:?}: {} frames that differ", frames.len()));
                }
            }
            Ok(frames) => faults.push(format!("{line:?}: {} frames were read", frames.len())),
            Err(error) if told != "=" && error.to_string().contains(told) => {}
            Err(error) => faults.push(format!("{line:?}: {error}")),
        }
    }
    assert!(lines.len() > 50, "{} cases", lines.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
