//! Run folders to watch: real ones, and real ones with a live file that the test writes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use swathe::{Counts, Sample};
use swathe_run::store::live_file::{Live, ProcessMark, Stage};
use tempfile::TempDir;

use crate::program::{Random, many_floats, save};
use crate::watching::swathe;

/// A run of sixty problems in small batches: delayed launches make it as long as needed.
pub(crate) const LINE: &str = "array map sqrt in.npz --batch-size 1 --threads 2 --out run";

/// A folder with sixty arrays and no run yet.
pub(crate) fn with_inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    folder
}

/// A folder with a finished run in `run`; one of its problems failed.
pub(crate) fn with_finished_run() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    let left: Vec<_> = (0..8).map(|k| (format!("i{k}"), random.floats(&[3, 4]))).collect();
    let mut right: Vec<_> = (0..8).map(|k| (format!("i{k}"), random.floats(&[4, 2]))).collect();
    right[3].1 = random.floats(&[5, 2]);
    save(folder.path(), "left.npz", &left);
    save(folder.path(), "right.npz", &right);
    let line = "array matmul left.npz --with right.npz --out run";
    swathe(folder.path(), line).expect(1);
    folder
}

/// A folder with an unfinished run, whose live file this process writes.
pub(crate) struct Unfinished {
    folder: TempDir,
    live: Arc<Mutex<Live>>,
    is_over: Arc<AtomicBool>,
}

impl Unfinished {
    /// A run whose process writes every half second, as real runs do.
    pub(crate) fn beating() -> Unfinished {
        let unfinished = Unfinished::silent();
        let (run, live) = (unfinished.run(), Arc::clone(&unfinished.live));
        let is_over = Arc::clone(&unfinished.is_over);
        std::thread::spawn(move || {
            loop {
                let mut live = live.lock().unwrap();
                // Checked under the lock, while no other thread can write.
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                beat(&run, &mut live);
                drop(live);
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        unfinished
    }

    /// A run whose live file is written only when a test changes it.
    pub(crate) fn silent() -> Unfinished {
        let folder = with_finished_run();
        let run = folder.path().join("run");
        for name in ["report.json", "report.html"] {
            std::fs::remove_file(run.join(name)).unwrap();
        }
        let mut json = crate::program::json(&run.join("run.json"));
        json["state"] = "running".into();
        std::fs::write(run.join("run.json"), json.to_string()).unwrap();
        let unfinished =
            Unfinished { folder, live: Arc::new(Mutex::new(live())), is_over: Arc::default() };
        unfinished.change(|_| {});
        unfinished
    }

    /// From now on the live file is written only when a test changes it.
    pub(crate) fn fall_silent(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Waits for a write in progress.
        drop(self.live.lock());
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Changes the live file, and returns its new content.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Live)) -> Live {
        let mut live = self.live.lock().unwrap();
        change(&mut live);
        beat(&self.run(), &mut live);
        live.clone()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.fall_silent();
    }
}

/// Writes a live file as runs do. Skipped if the folder was moved away.
fn beat(run: &Path, live: &mut Live) {
    live.beat += 1;
    live.written_unix_ms = unix_ms();
    let temporary = run.join(".live.json.tmp");
    if std::fs::write(&temporary, serde_json::to_vec(live).unwrap()).is_ok() {
        let _ = std::fs::rename(temporary, run.join("live.json"));
    }
}

/// Twenty of a hundred problems done in ten seconds.
fn live() -> Live {
    Live {
        format: Live::FORMAT,
        process: ProcessMark::of_this(),
        beat: 0,
        written_unix_ms: unix_ms(),
        started_unix_ms: unix_ms() - 10_000,
        stage: Stage::Solving,
        workload: "array".to_owned(),
        command: "swathe array matmul left.npz --with right.npz --out run".to_owned(),
        before: Counts::default(),
        counts: Counts { n_problems: 100, n_solved: 19, n_failed: 1, ..Counts::default() },
        elapsed_ms: 10_000.0,
        last_outcome_ms: 9_900.0,
        budget_bytes: 1 << 30,
        samples: (0..=20u32)
            .map(|k| Sample {
                at_ms: f64::from(k) * 500.0,
                n_done: u64::from(k),
                used_bytes: u64::from(k % 5) << 20,
                n_in_flight: 2,
                n_waiting: 98 - u64::from(k),
                ..Sample::default()
            })
            .collect(),
        workers: Vec::new(),
        problem_ids: Vec::new(),
        n_setbacks: 0,
        setbacks: Vec::new(),
        n_launches: 20,
        launches: Vec::new(),
        n_mismatches: 0,
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}
