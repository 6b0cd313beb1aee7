//! The machine's limits: the best rates of multiplication and copying on one thread, with which the
//! page compares the rates of a run.
//!
//! The limits are measured once and stored in the user's cache folder, beside the measured costs. A
//! run copies them into its folder as `limits.json`, so that its page can be rendered again on any
//! machine.

use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use swathe::Cpu;
use swathe_array::matmul::{ProductShape, Scratch, matmul_into};
use swathe_array::{Float, Simd};

use swathe_run::store::run_folder::{FolderError, write_file};

/// What one thread of a machine can do at best; each figure is the best of several trials. Run
/// folders of earlier versions hold only the figures for the run's operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The rate of products of two 256 × 256 matrices of `f32`.
    pub product_f32_gflops: Option<f64>,
    /// The same for `f64`.
    pub product_f64_gflops: Option<f64>,
    /// The rate of copies between two small buffers in the first-level cache, in bytes read and
    /// written.
    pub cache_copy_gb_s: Option<f64>,
    /// The length of each of these buffers.
    pub cache_copy_bytes: u64,
    /// The rate of copies between two long buffers, in bytes read and written.
    pub memory_copy_gb_s: Option<f64>,
    /// The length of each of these buffers.
    pub memory_copy_bytes: u64,
    /// The largest cache of the first processor, if the system reports it.
    pub cache_bytes: Option<u64>,
}

/// Limits in the cache folder, with the version and processor for which they are valid.
#[derive(Serialize, Deserialize)]
struct KnownLimits {
    version: String,
    simd: String,
    n_threads: usize,
    limits: Limits,
}

impl Limits {
    /// The file's name in a run folder and in the cache folder.
    pub const NAME: &'static str = "limits.json";

    /// The number of rows and columns of the matrices.
    pub const SIDE: usize = 256;

    /// Measures the limits, which takes a fraction of a second.
    pub fn measure() -> Limits {
        let cache_bytes = largest_cache();
        let memory_copy_bytes = memory_copy_bytes(cache_bytes);
        Limits {
            product_f32_gflops: Some(product::<f32>()),
            product_f64_gflops: Some(product::<f64>()),
            cache_copy_gb_s: Some(copy(CACHE_COPY_BYTES, TRIALS_TIME)),
            cache_copy_bytes: CACHE_COPY_BYTES as u64,
            memory_copy_gb_s: Some(copy(memory_copy_bytes as usize, 2 * TRIALS_TIME)),
            memory_copy_bytes,
            cache_bytes,
        }
    }

    /// The limits measured on this machine; `None` if there are none, or if another version
    /// measured them or they are of another processor.
    pub fn known() -> Option<Limits> {
        let text = std::fs::read_to_string(cache_path()?).ok()?;
        let known: KnownLimits = serde_json::from_str(&text).ok()?;
        let cpu = Cpu::detect();
        let applies = known.version == env!("CARGO_PKG_VERSION")
            && known.simd == cpu.simd
            && known.n_threads == cpu.n_threads;
        applies.then_some(known.limits)
    }

    /// Stores the limits for later runs. If that fails, pages are rendered without limits.
    pub fn keep(&self) {
        let Some(path) = cache_path() else { return };
        let cpu = Cpu::detect();
        let known = KnownLimits {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            simd: cpu.simd,
            n_threads: cpu.n_threads,
            limits: self.clone(),
        };
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = write_file(&path, json_text(&known).as_bytes());
    }

    /// Writes the limits into a run folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, run: &Path) -> Result<(), FolderError> {
        write_file(&run.join(Self::NAME), json_text(self).as_bytes())
    }

    /// Reads the limits from a run folder; `None` if it has none.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn read(run: &Path) -> Result<Option<Limits>, FolderError> {
        let path = run.join(Self::NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FolderError::Read { path, source }),
        };
        let limits = serde_json::from_str(&text)
            .map_err(|error| FolderError::Damaged { path, reason: error.to_string() })?;
        Ok(Some(limits))
    }
}

fn json_text(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The path in the user's cache folder, beside the measured costs; `None` if there is no such
/// folder.
fn cache_path() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("swathe").join(Limits::NAME))
}

/// Half of the smallest first-level cache in use, so that source and target fit in it together.
const CACHE_COPY_BYTES: usize = 8 << 10;
/// How long each limit is measured, in CPU time of the thread.
const TRIALS_TIME: Duration = Duration::from_millis(60);

/// Longer than the largest cache, so that source and target together are twice that size, but short
/// enough to be copied quickly.
fn memory_copy_bytes(cache_bytes: Option<u64>) -> u64 {
    cache_bytes.unwrap_or(0).clamp(32 << 20, 64 << 20)
}

/// Repeats a trial until the time is over, at least once, and returns the duration of the shortest.
///
/// Durations are in CPU time of the thread, because a trial that waited for a busy processor would
/// not measure the machine.
fn best_of(time: Duration, mut trial: impl FnMut()) -> Duration {
    let begin = thread_time();
    let mut best = Duration::MAX;
    let mut start = begin;
    loop {
        trial();
        let now = thread_time();
        best = best.min(now.saturating_sub(start));
        if now.saturating_sub(begin) >= time {
            return best.max(Duration::from_nanos(1));
        }
        start = now;
    }
}

/// The CPU time of this thread; if the system does not report it, the wall-clock time.
fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes one timespec, which is a local variable.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } == 0 {
            return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

/// Billions of operations per second; a product of n × n matrices is 2 n³ operations.
fn product<T: Float + From<f32> + Default>() -> f64 {
    const N: usize = Limits::SIDE * Limits::SIDE;
    let shape = ProductShape { n_rows: Limits::SIDE, n_inner: Limits::SIDE, n_cols: Limits::SIDE };
    // Small whole numbers, because some processors multiply subnormal numbers slowly.
    let operand: Vec<T> = (0..N).map(|k| T::from((k % 7) as f32 - 3.0)).collect();
    let mut out = vec![T::default(); N];
    let (mut scratch, simd) = (Scratch::new(), Simd::detect());
    let took = best_of(TRIALS_TIME, || {
        let done = matmul_into(
            black_box(&operand),
            black_box(&operand),
            &mut out,
            shape,
            &mut scratch,
            simd,
        );
        black_box((&mut out, done.is_ok()));
    });
    2.0 * (Limits::SIDE as f64).powi(3) / took.as_secs_f64() / 1e9
}

/// Billions of bytes per second, read and written, when copying a buffer of `n_bytes`.
fn copy(n_bytes: usize, time: Duration) -> f64 {
    // Not zeros, because the system maps all pages of zeros to the same physical page.
    let source = vec![1u8; n_bytes];
    let mut target = vec![2u8; n_bytes];
    let n_copies = (CACHE_TRIAL_BYTES / n_bytes).max(1);
    let took = best_of(time, || {
        for _ in 0..n_copies {
            target.copy_from_slice(black_box(&source));
            black_box(&mut target);
        }
    });
    2.0 * (n_copies * n_bytes) as f64 / took.as_secs_f64() / 1e9
}

/// Short copies are repeated until a trial is long enough for the clock's resolution.
const CACHE_TRIAL_BYTES: usize = 2 << 20;

/// The largest cache of the first processor, as Linux reports it.
fn largest_cache() -> Option<u64> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = caches.flatten().filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("size")).ok()?;
        let n_kib: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
        Some(n_kib << 10)
    });
    sizes.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_measured() {
        let limits = Limits::measure();
        for rate in [
            limits.product_f32_gflops,
            limits.product_f64_gflops,
            limits.cache_copy_gb_s,
            limits.memory_copy_gb_s,
        ] {
            assert!(rate.is_some_and(|rate| rate > 0.0), "{limits:?}");
        }
        assert!(limits.memory_copy_bytes > limits.cache_copy_bytes);
    }

    #[test]
    fn limits_are_the_same_when_read_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Limits::read(folder.path()).unwrap(), None);
        let limits = Limits {
            product_f32_gflops: Some(101.25),
            cache_copy_bytes: 8192,
            ..Limits::default()
        };
        limits.write(folder.path()).unwrap();
        assert_eq!(Limits::read(folder.path()).unwrap(), Some(limits));
        std::fs::write(folder.path().join(Limits::NAME), "{").unwrap();
        assert!(Limits::read(folder.path()).is_err());
    }
}
