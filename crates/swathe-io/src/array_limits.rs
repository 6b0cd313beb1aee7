//! The machine's limits: what one thread here can multiply and move at best, measured right after a
//! run, so that its rates have something to be compared with.
//!
//! They stand in `limits.json` of the run folder: whoever makes the page again shows the same.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use swathe::Budget;
use swathe_array::matmul::{ProductShape, SCRATCH_BYTES_MAX, Scratch, matmul_into};
use swathe_array::{Float, Operation, Simd};

use crate::run_folder::{FolderError, write_file};

/// What one thread of a machine can do. Each is the best of several trials; nothing is known of
/// what was not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Products of two 256 × 256 matrices of `f32` by the kernel that the run used.
    pub product_f32_gflops: Option<f64>,
    /// The same of `f64`.
    pub product_f64_gflops: Option<f64>,
    /// Copies between two small buffers that stay in the first cache; bytes read and written.
    pub cache_copy_gb_s: Option<f64>,
    /// The length of each of these.
    pub cache_copy_bytes: u64,
    /// Copies between two long buffers; bytes read and written.
    pub memory_copy_gb_s: Option<f64>,
    /// The length of each of these.
    pub memory_copy_bytes: u64,
    /// The largest cache of the first processor, where the system tells.
    pub cache_bytes: Option<u64>,
    /// The processor's time all this took.
    pub took_ms: f64,
}

impl Limits {
    /// What they are called in a run folder.
    pub const NAME: &'static str = "limits.json";

    /// Rows and columns of the products.
    pub const SIDE: usize = 256;

    /// Measures what matters to an operation, in some 20 milliseconds. The memory is reserved from
    /// the run's budget; where that has no room for buffers longer than the caches, the memory's
    /// rate is left unknown.
    pub fn measure(operation: &Operation, memory: &Budget) -> Limits {
        let begin = thread_time();
        let mut limits = Limits {
            cache_copy_bytes: CACHE_COPY_BYTES as u64,
            cache_bytes: largest_cache(),
            ..Limits::default()
        };
        if *operation == Operation::Matmul {
            limits.product_f32_gflops = product::<f32>(memory);
            limits.product_f64_gflops = product::<f64>(memory);
        } else {
            limits.cache_copy_gb_s = copy(CACHE_COPY_BYTES, CACHE_TIME, memory);
            limits.memory_copy_bytes = memory_copy_bytes(limits.cache_bytes);
            limits.memory_copy_gb_s = copy(limits.memory_copy_bytes as usize, MEMORY_TIME, memory);
        }
        limits.took_ms = thread_time().saturating_sub(begin).as_secs_f64() * 1e3;
        limits
    }

    /// Writes them into a run folder.
    pub fn write(&self, run: &Path) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        write_file(&run.join(Self::NAME), text.as_bytes())
    }

    /// Those of a run folder, if they were measured.
    pub fn read(run: &Path) -> Result<Option<Limits>, FolderError> {
        let path = run.join(Self::NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FolderError::Read { path, source }),
        };
        let limits = serde_json::from_str(&text).map_err(|error| FolderError::Damaged {
            path,
            reason: error.to_string(),
        })?;
        Ok(Some(limits))
    }
}

/// Half of the smallest first cache in use, so that source and target lie in it together.
const CACHE_COPY_BYTES: usize = 8 << 10;
const CACHE_TIME: Duration = Duration::from_millis(2);
const MEMORY_TIME: Duration = Duration::from_millis(12);
const PRODUCT_TIME: Duration = Duration::from_millis(4);

/// Longer than the largest cache, so that source and target together are twice that; but not so
/// long that copying takes longer than it is worth.
fn memory_copy_bytes(cache_bytes: Option<u64>) -> u64 {
    cache_bytes.unwrap_or(0).clamp(32 << 20, 64 << 20)
}

/// Tries something until its time is over, and once at least; the shortest trial.
///
/// It is the thread's own time, not the clock's: where others want the processor too, a trial that
/// had to wait would say nothing of the machine.
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

/// The time this thread has spent on a processor; where the system does not tell, the time of day.
fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call writes one timespec, and that is ours.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } == 0 {
            return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

/// Billions of operations a second, a product of n × n matrices being 2 n³ of them.
fn product<T: Float + From<f32> + Default>(memory: &Budget) -> Option<f64> {
    const N: usize = Limits::SIDE * Limits::SIDE;
    let n_bytes = 2 * N * size_of::<T>() + SCRATCH_BYTES_MAX;
    let _held = memory.try_reserve(n_bytes as u64).ok()?;
    let shape = ProductShape {
        n_rows: Limits::SIDE,
        n_inner: Limits::SIDE,
        n_cols: Limits::SIDE,
    };
    // Small whole numbers: no product of subnormal numbers, which some processors are slow at.
    let operand: Vec<T> = (0..N).map(|k| T::from((k % 7) as f32 - 3.0)).collect();
    let mut out = vec![T::default(); N];
    let (mut scratch, simd) = (Scratch::new(), Simd::detect());
    let took = best_of(PRODUCT_TIME, || {
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
    Some(2.0 * (Limits::SIDE as f64).powi(3) / took.as_secs_f64() / 1e9)
}

/// Billions of bytes a second, read and written, of copying a buffer of so many bytes.
fn copy(n_bytes: usize, time: Duration, memory: &Budget) -> Option<f64> {
    let _held = memory.try_reserve(2 * n_bytes as u64).ok()?;
    // Zeros would not do: the system lends one page for all of them.
    let source = vec![1u8; n_bytes];
    let mut target = vec![2u8; n_bytes];
    let n_copies = (CACHE_TRIAL_BYTES / n_bytes).max(1);
    let took = best_of(time, || {
        for _ in 0..n_copies {
            target.copy_from_slice(black_box(&source));
            black_box(&mut target);
        }
    });
    Some(2.0 * (n_copies * n_bytes) as f64 / took.as_secs_f64() / 1e9)
}

/// Short copies are repeated until a trial is long enough for the clock.
const CACHE_TRIAL_BYTES: usize = 2 << 20;

/// The largest cache of the first processor, as Linux tells it.
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
    fn what_matters_to_an_operation_is_measured() {
        let memory = Budget::new(1 << 30);
        let product = Limits::measure(&Operation::Matmul, &memory);
        assert!(product.product_f32_gflops.is_some_and(|rate| rate > 0.0));
        assert!(product.product_f64_gflops.is_some_and(|rate| rate > 0.0));
        assert_eq!(product.memory_copy_gb_s, None);
        let map = Limits::measure(&Operation::Map(swathe_array::MapKind::Sqrt), &memory);
        assert!(map.memory_copy_gb_s.is_some_and(|rate| rate > 0.0));
        assert!(map.cache_copy_gb_s.is_some_and(|rate| rate > 0.0));
        assert_eq!(map.product_f32_gflops, None);
        assert_eq!(memory.used_bytes(), 0, "everything is given back");
    }

    #[test]
    fn a_budget_without_room_leaves_the_memory_unmeasured() {
        let memory = Budget::new(1 << 20);
        let map = Limits::measure(&Operation::Map(swathe_array::MapKind::Sqrt), &memory);
        assert_eq!(map.memory_copy_gb_s, None);
        assert!(map.cache_copy_gb_s.is_some());
        assert!(memory.peak_bytes() <= 1 << 20);
    }

    #[test]
    fn limits_are_the_same_when_read_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Limits::read(folder.path()).unwrap(), None);
        let limits = Limits {
            product_f32_gflops: Some(101.25),
            took_ms: 12.5,
            ..Limits::default()
        };
        limits.write(folder.path()).unwrap();
        assert_eq!(Limits::read(folder.path()).unwrap(), Some(limits));
        std::fs::write(folder.path().join(Limits::NAME), "{").unwrap();
        assert!(Limits::read(folder.path()).is_err());
    }
}
