//! The memory that a run uses, as the run counts it and as the system measures it.

use std::path::Path;

use swathe::array::Array;

use crate::cases::resident::peak_bytes;
use crate::program::{Random, failures, json, save};

/// Many small arrays, one that takes about half the memory, and one that cannot fit.
fn skewed(folder: &Path, cap_mib: usize, large_mib: usize) {
    let mut random = Random(6);
    let mut items: Vec<(String, Array)> =
        (0..200).map(|k| (format!("small{k}"), random.floats(&[20_000]))).collect();
    // Repeated content, because random content would take longer to make than the test.
    let tile: Vec<f32> = (0..1 << 16).map(|_| random.below(1 << 20) as f32).collect();
    let large = |mib: usize| {
        let n = mib << 18;
        let data: Vec<f32> = tile.iter().cycle().take(n).copied().collect();
        Array::new(vec![n], data).unwrap()
    };
    items.insert(77, ("large".to_owned(), large(large_mib)));
    items.insert(133, ("giant".to_owned(), large(cap_mib)));
    save(folder, "in.npz", &items);
}

/// Returns the peak memory of the process, in MiB.
fn into_folder(cap_mib: usize, flags: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    // Counts its operand, its result, and the three copies of the result that storing takes.
    skewed(folder.path(), cap_mib, cap_mib / 10);
    let line = format!("array map square in.npz --memory {cap_mib}MiB {flags} --out run");
    let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
    ended.expect(1);
    let run = folder.path().join("run");
    let failures = failures(&run);
    assert_eq!(failures.len(), 1, "{failures:?}");
    let (row, id, kind, _) = &failures[0];
    assert_eq!((*row, id.as_str(), kind.as_str()), (133, "giant", "too_large"));
    let report = json(&run.join("report.json"));
    let counted_mib = report["report"]["memory"]["peak_bytes"].as_u64().unwrap() >> 20;
    assert!(counted_mib <= cap_mib as u64, "{counted_mib} MiB counted");
    assert!(counted_mib >= cap_mib as u64 / 3, "{counted_mib} MiB counted");
    let resident = report["report"]["memory"]["resident_peak_bytes"].as_u64().unwrap();
    // The merge, which is no part of the report's time, may take more.
    assert!(resident <= peak_bytes + (1 << 20), "{resident} of {peak_bytes} resident");
    assert!(resident >= peak_bytes / 2, "{resident} of {peak_bytes} resident");
    peak_bytes >> 20
}

#[test]
fn a_run_folder_is_made_within_the_memory() {
    for (cap_mib, flags) in [(64, ""), (256, "--batch-size 3")] {
        let peak_mib = into_folder(cap_mib, flags);
        assert!(peak_mib <= cap_mib as u64 + 64, "{peak_mib} MiB in the process");
    }
}

/// A thousand small pairs in large frames, including their maps.
#[test]
fn pairs_are_solved_within_the_memory() {
    use swathe_ot::{Shape, synth};

    let folder = tempfile::tempdir().unwrap();
    let mut table = "pair_id,src,tgt\n".to_owned();
    let frames: Vec<(String, Array)> = (0..200)
        .map(|k| {
            let shape = Shape::new(60 + k % 40, 90 + k % 70);
            let small = synth::embryo_pair(shape, k as u64, synth::Change::default()).source;
            // A frame of 512 × 512 with the embryo in one corner.
            let mut pixels = vec![0u8; 512 * 512];
            for (at, v) in small.density.iter().enumerate() {
                pixels[(at / shape.w_px) * 512 + at % shape.w_px] = *v as u8;
            }
            (format!("f{k}"), Array::new(vec![512, 512], pixels).unwrap())
        })
        .collect();
    save(folder.path(), "frames.npz", &frames);
    for k in 0..1000 {
        table += &format!("p{k},frames.npz:f{},frames.npz:f{}\n", k % 200, (k * 7 + 1) % 200);
    }
    std::fs::write(folder.path().join("pairs.csv"), table).unwrap();
    let line = "ot pairs.csv --memory 256MiB --threads 2 --tolerance 1e-2 --out run";
    let (ended, peak_bytes) = peak_bytes(folder.path(), line);
    let ended = ended.expect(0);
    assert!(ended.stderr.contains("1000 solved"), "{}", ended.stderr);
    let peak_mib = peak_bytes >> 20;
    assert!(peak_mib <= 256 + 64, "{peak_mib} MiB in the process");
    let report = json(&folder.path().join("run/report.json"));
    assert_eq!(report["figures"]["frames read"], 200, "every frame once");
}

/// A PNG file with ancillary chunks that are small in the file and large when inflated.
#[test]
fn chunks_that_are_not_pixels_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, chunks: &[(png::chunk::ChunkType, &[u8])]| {
        let file = std::fs::File::create(folder.path().join(name)).unwrap();
        let mut encoder = png::Encoder::new(file, 16, 16);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        for (kind, contents) in chunks {
            writer.write_chunk(*kind, contents).unwrap();
        }
        let pixels: Vec<u8> = (0..=255).collect();
        writer.write_image_data(&pixels).unwrap();
    };
    let mut inflated = b"p\0\0".to_vec();
    let zeros = vec![0u8; 1 << 20];
    let mut deflate = flate2::write::ZlibEncoder::new(&mut inflated, flate2::Compression::best());
    for _ in 0..400 {
        std::io::Write::write_all(&mut deflate, &zeros).unwrap();
    }
    deflate.finish().unwrap();
    write("plain.png", &[]);
    write("profile.png", &[(png::chunk::iCCP, &inflated)]);
    write("text.png", &[(png::chunk::zTXt, &inflated)]);
    let table = "pair_id,src,tgt\na,profile.png,plain.png\nb,plain.png,text.png\n";
    std::fs::write(folder.path().join("pairs.csv"), table).unwrap();
    let (ended, peak_bytes) = peak_bytes(folder.path(), "ot pairs.csv --memory 128MiB --out run");
    ended.expect(0);
    assert!(peak_bytes >> 20 <= 128 + 64, "{} MiB", peak_bytes >> 20);
}
