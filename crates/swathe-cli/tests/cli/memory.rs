//! The memory that a run uses, as the run counts it and as the system measures it.

use std::path::Path;
use std::time::Duration;

use swathe::array::Array;

use crate::program::{Ended, Random, command, failures, json, save};

/// Runs a command and returns the peak memory of the process, in bytes.
fn peak_bytes(folder: &Path, line: &str) -> (Ended, u64) {
    let mut child = command(folder, line).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        peak_bytes = peak_bytes.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    (Ended::of(child.wait_with_output().unwrap()), peak_bytes)
}

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

#[test]
fn a_file_is_made_within_the_memory() {
    for (cap_mib, flags) in [(64, ""), (256, "--batch-size 3")] {
        let folder = tempfile::tempdir().unwrap();
        // Counts its operand and its result.
        skewed(folder.path(), cap_mib, cap_mib / 4);
        let line = format!("array map square in.npz --memory {cap_mib}MiB {flags} --out out.npz");
        let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
        let ended = ended.expect(1);
        assert!(ended.stderr.contains("failed: giant: it needs"), "{}", ended.stderr);
        let peak_mib = peak_bytes >> 20;
        assert!(peak_mib > cap_mib as u64 / 2, "{peak_mib} MiB in the process");
        assert!(peak_mib <= cap_mib as u64 + 64, "{peak_mib} MiB in the process");
    }
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

/// One item takes so long that hundreds of results arrive early: they must not accumulate in
/// memory.
#[test]
fn early_results_wait_within_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let ones =
        |shape: &[usize]| Array::new(shape.to_vec(), vec![1.0f32; shape.iter().product()]).unwrap();
    let operands = |first: &[usize], others: &[usize]| -> Vec<(String, Array)> {
        let shapes = std::iter::once(first).chain((0..600).map(|_| others));
        let named = shapes.enumerate().map(|(k, shape)| (format!("p{k}"), ones(shape)));
        named.collect()
    };
    // One mebibyte each, compressed to almost nothing.
    save(folder.path(), "left.npz", &operands(&[2048, 2048], &[512, 1]));
    save(folder.path(), "right.npz", &operands(&[2048, 2048], &[1, 512]));
    let line = "array matmul left.npz --with right.npz --memory 128MiB --threads 2 --device cpu --out out.npz";
    let (ended, peak_bytes) = peak_bytes(folder.path(), line);
    ended.expect(0);
    let peak_mib = peak_bytes >> 20;
    assert!(peak_mib <= 128 + 64, "{peak_mib} MiB in the process");
    let out = swathe_formats::npz::Npz::open(&folder.path().join("out.npz")).unwrap();
    let names = out.names();
    assert_eq!((names.len(), &names[0], &names[600]), (601, "p0", "p600"));
    assert_eq!(out.read("p600").unwrap(), ones(&[512, 512]));
}

/// Every array command, into a folder and into a file. Lists of bytes have the greatest overhead.
#[test]
fn every_verb_on_arrays_stays_within_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(8);
    let tile = random.bytes(1 << 20);
    let bytes: Vec<(String, Array)> = (0..100).map(|k| (format!("b{k}"), tile.clone())).collect();
    save(folder.path(), "bytes.npz", &bytes);
    let floats = random.floats(&[512, 512]);
    let floats: Vec<(String, Array)> =
        (0..100).map(|k| (format!("f{k}"), floats.clone())).collect();
    save(folder.path(), "floats.npz", &floats);
    for (name, line) in [
        ("xor", "xor bytes.npz --key-seed 1"),
        ("keyed", "xor bytes.npz --with bytes.npz"),
        ("matmul", "matmul floats.npz --with floats.npz"),
        ("map", "map exp floats.npz"),
    ] {
        for out in [name.to_owned(), format!("{name}.npz")] {
            let line = format!("array {line} --memory 64MiB --out {out}");
            let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
            ended.expect(0);
            let peak_mib = peak_bytes >> 20;
            assert!(peak_mib <= 64 + 64, "{line}: {peak_mib} MiB in the process");
        }
    }
    // Reading the results again stays within the memory too.
    let line = "array xor xor --memory 64MiB --out again.npz";
    let (ended, peak_bytes) = peak_bytes(folder.path(), line);
    ended.expect(0);
    let peak_mib = peak_bytes >> 20;
    assert!(peak_mib <= 64 + 64, "{line}: {peak_mib} MiB in the process");
}

#[test]
fn lattices_stay_within_the_memory() {
    use std::fmt::Write as _;

    let folder = tempfile::tempdir().unwrap();
    let mut table = "size,from,to,blocked\n".to_owned();
    for k in 0..40 {
        // Eight million vertices, with some in the middle blocked.
        writeln!(table, "200x200x200,0,7999999,{} 20100", 4_020_000 + k).unwrap();
    }
    std::fs::write(folder.path().join("q.csv"), table).unwrap();
    for verb in [
        "path q.csv --out path",
        "layers q.csv --out layers",
        "analyze q.csv --out analyze",
        "analyze q.csv --json",
    ] {
        let line = format!("lattice {verb} --memory 64MiB");
        let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
        ended.expect(0);
        let peak_mib = peak_bytes >> 20;
        assert!(peak_mib <= 64 + 64, "{line}: {peak_mib} MiB in the process");
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

/// Hundreds of thousands of tiny items: what is known of each must not add up to more than the
/// budget and its margin. A million of them took 430 MiB before their index was counted.
#[test]
fn many_items_stay_within_the_memory() {
    use std::fmt::Write as _;

    use swathe::array::Dtype;
    use swathe_formats::list_column::ListColumnWriter;

    const N_ITEMS: u64 = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lists.parquet");
    let mut writer = ListColumnWriter::create(&path, "values", Dtype::F32).unwrap();
    let array = Array::new(vec![4], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
    for row in 0..N_ITEMS {
        let name = format!("item_{row:07}");
        writer.push(row, &name, Some(&array)).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
    let mut table = "id,size,from,to\n".to_owned();
    for row in 0..N_ITEMS {
        writeln!(table, "query_{row:07},10x10,{},{}", row % 100, row % 97).unwrap();
    }
    std::fs::write(folder.path().join("q.csv"), table).unwrap();
    for line in [
        "array map square lists.parquet --out items",
        "array map square lists.parquet --out items.npz",
        "lattice path q.csv --out paths",
    ] {
        let line = format!("{line} --device cpu --memory 64MiB");
        let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
        ended.expect(0);
        let peak_mib = peak_bytes >> 20;
        assert!(peak_mib <= 64 + 64, "{line}: {peak_mib} MiB in the process");
    }
    // An index that does not fit at all is refused, with what would do.
    let line = "array map square lists.parquet --out none --device cpu --memory 4MiB";
    let ended = peak_bytes(folder.path(), line).0.expect(2);
    assert!(
        ended.stderr.contains("the names and sizes of 300000 items")
            && ended.stderr.contains("hint: give --memory"),
        "{}",
        ended.stderr
    );
}

/// Tasks by the thousand, and a grid far too large for a task.
#[test]
fn tasks_stay_within_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let row = format!("[{}1]", "1,".repeat(2999));
    let grid = format!("[{}{row}]", format!("{row},").repeat(2999));
    let large = format!(r#"{{"train": [{{"input": {grid}, "output": {grid}}}], "test": []}}"#);
    std::fs::write(folder.path().join("large.json"), large).unwrap();
    let grid = |k: usize| -> String {
        let row: String = (0..30).map(|at| format!("{},", (at * k) % 10)).collect();
        format!(
            "[{}[{}]]",
            format!("[{}],", row.trim_end_matches(',')).repeat(29),
            row.trim_end_matches(',')
        )
    };
    let tasks: Vec<String> = (0..1500)
        .map(|k| {
            let sample = format!(r#"{{"input": {}, "output": {}}}"#, grid(k), grid(k + 1));
            format!(r#""t{k}": {{"train": [{sample}, {sample}], "test": [{sample}]}}"#)
        })
        .collect();
    std::fs::write(folder.path().join("tasks.json"), format!("{{{}}}", tasks.join(","))).unwrap();
    let program = "def solve_a(I):\n    O = vmirror(I)\n    return O\n";
    std::fs::write(folder.path().join("p.py"), program).unwrap();
    for (tasks, code) in [("large.json", 1), ("tasks.json", 0)] {
        let line = format!("arc --programs p.py --tasks {tasks} --memory 96MiB --out {tasks}.run");
        let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
        ended.expect(code);
        let peak_mib = peak_bytes >> 20;
        assert!(peak_mib <= 96 + 64, "{line}: {peak_mib} MiB in the process");
    }
}

/// Each call builds about 120 MiB of sets. Four at a time would take twice the memory.
#[test]
fn calls_that_build_much_stay_within_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |k: usize| format!(r#"{{"input": [[{k}]], "output": [[{k}]]}}"#);
    let samples: Vec<String> = (0..10).map(sample).collect();
    let task = format!(r#"{{"train": [{}], "test": []}}"#, samples.join(","));
    std::fs::write(folder.path().join("task.json"), task).unwrap();
    let set = |k: usize| format!("    x{k} = asindices(canvas(first(first(I)), (2000, 200{k})))\n");
    let sets: String = (0..6).map(set).collect();
    let program = format!("def much(I):\n{sets}    return size(x5)\n");
    std::fs::write(folder.path().join("p.py"), program).unwrap();
    let line = "arc --programs p.py --tasks task.json --threads 4 --memory 256MiB --out run";
    let (ended, peak_bytes) = peak_bytes(folder.path(), line);
    let ended = ended.expect(0);
    assert!(!ended.stderr.contains("ended in an error"), "{}", ended.stderr);
    let peak_mib = peak_bytes >> 20;
    assert!((100..=256 + 64).contains(&peak_mib), "{peak_mib} MiB in the process");
}

#[test]
fn programs_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let task = r#"{"train": [{"input": [[1]], "output": [[1]]}], "test": []}"#;
    std::fs::write(folder.path().join("task.json"), task).unwrap();
    let program = |k: usize| format!("def p{k}(I):\n    return canvas({k}, UNITY)\n");
    let programs: String = (0..4000).map(program).collect();
    std::fs::write(folder.path().join("p.py"), programs).unwrap();
    let line = "arc --programs p.py --tasks task.json --memory 1MiB --out run";
    let ended = Ended::of(command(folder.path(), line).output().unwrap()).expect(2);
    assert!(ended.stderr.contains("4000 programs alone take"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: give --memory"), "{}", ended.stderr);
    assert!(!folder.path().join("run").exists());
}

/// 598 bytes that pyarrow wrote: one list of 200 million zeros.
#[test]
fn a_long_row_of_equal_values_is_refused_and_not_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let file = "../swathe-formats/tests/list_column_files/zeros.parquet";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::copy(file, folder.path().join("zeros.parquet")).unwrap();
    for line in ["map sqrt zeros.parquet", "xor zeros.parquet --with zeros.parquet"] {
        let line = format!("array {line} --memory 64MiB --out run");
        let (ended, peak_bytes) = peak_bytes(folder.path(), &line);
        let ended = ended.expect(2);
        let told = "row 0 has 200000000 elements, which take 1526 MiB to decode, and there are 64";
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
        assert!(ended.stderr.contains("hint: give --memory 3052MiB or more"), "{}", ended.stderr);
        assert!(peak_bytes >> 20 <= 64, "{} MiB in the process", peak_bytes >> 20);
    }
    let line = "ot zeros.parquet --memory 64MiB --out run";
    let (ended, peak_bytes) = peak_bytes(folder.path(), line);
    let ended = ended.expect(2);
    let told = "zeros.parquet takes 763 MiB or more, and there are 64 MiB\nhint: give --memory";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(peak_bytes >> 20 <= 64, "{} MiB in the process", peak_bytes >> 20);
}
