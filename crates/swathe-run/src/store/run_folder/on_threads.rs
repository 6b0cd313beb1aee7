//! A parallel loop over numbered jobs.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs every job once, on at most `n_threads` threads, and returns the results in job order. After
/// a job fails, no further job is started. `name` is the name of the spawned threads.
///
/// # Errors
/// If a job fails; the error is that of the failed job with the lowest number.
pub fn on_threads<T: Send, E: Send>(
    name: &str,
    n_threads: usize,
    n_jobs: usize,
    job: &(dyn Fn(usize) -> Result<T, E> + Sync),
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= n_jobs {
                return done;
            }
            let made = job(number);
            if made.is_err() {
                // All jobs with lower numbers have been started, so the lowest failing job is
                // always found.
                next.store(n_jobs, Ordering::Relaxed);
            }
            done.push((number, made));
        }
    };
    let mut done = thread::scope(|scope| {
        // If a thread cannot be spawned, the calling thread does the remaining jobs.
        let others: Vec<_> = (1..n_threads.min(n_jobs))
            .filter_map(|_| {
                let thread = thread::Builder::new().name(name.to_owned());
                thread.spawn_scoped(scope, work).ok()
            })
            .collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::on_threads;

    #[test]
    fn jobs_are_done_once_and_in_order_whatever_the_threads() {
        for n_threads in [0, 1, 2, 7] {
            let made = on_threads("test", n_threads, 50, &|number| Ok::<_, ()>(number * 2));
            assert_eq!(made, Ok((0..50).map(|number| number * 2).collect()));
            let failed = on_threads("test", n_threads, 50, &|number| {
                if number % 20 == 13 { Err(number) } else { Ok(()) }
            });
            assert_eq!(failed, Err(13), "{n_threads}");
        }
        assert_eq!(on_threads("test", 3, 0, &|_| Err::<(), _>(())), Ok(Vec::new()));
    }
}
