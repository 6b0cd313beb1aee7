//! Advice as text: what cost time, and what to do about it.

use swathe::{DeviceId, SetbackCause};
use swathe_run::explain::advice::{Advice, Finding, Turns};
use swathe_run::explain::quantity::{bytes, count, percent, time};

/// Two texts: what cost time, and a remedy.
pub(super) fn advice_text(advice: &Advice, turns: &Turns) -> (String, String) {
    match &advice.finding {
        Finding::Loading {
            load_ms,
            n_prefetch,
            operation,
        } => {
            let most = operation.as_deref().map_or(String::new(), |operation| {
                format!(", most of it on {operation}")
            });
            (
                format!(
                    "threads waited while problems were loaded (workers spent {} on it{most})",
                    time(*load_ms)
                ),
                format!(
                    "load more ahead: --prefetch {} (it was {n_prefetch}); or put the inputs on a faster disk",
                    (2 * n_prefetch).max(turns.n_turns * 2)
                ),
            )
        }
        Finding::Memory {
            memory_ms,
            budget_bytes,
            room_bytes,
        } => (
            format!(
                "workers waited {} for memory, of which there were {}",
                time(*memory_ms),
                bytes(*budget_bytes)
            ),
            match room_bytes {
                Some(room) => format!("give it more: --memory {}MiB", room >> 20),
                None => "this machine has no more: load less ahead (--prefetch), or use smaller batches (--batch-size-max)".to_owned(),
            },
        ),
        Finding::Delivery { deliver_ms } => (
            format!(
                "workers waited {} until their answers were taken: writing is slower than solving",
                time(*deliver_ms)
            ),
            "write to a faster disk, or write less".to_owned(),
        ),
        Finding::TinyLaunches {
            n_launches,
            launch_ms,
            n_lanes_mean,
            batch_size,
        } => (
            format!(
                "{} launches of {n_lanes_mean:.1} problems took {} each: handing them over took longer",
                count(*n_launches),
                time(*launch_ms)
            ),
            format!("make batches larger: --batch-size auto, or {batch_size}"),
        ),
        Finding::Tail { tail_ms, last } => {
            let (which, remedy) = match last {
                Some(last) if last.n_lanes == 1 => (
                    format!(" for one problem of {} that took {}", last.shape, time(last.solve_ms)),
                    "one problem cannot be shared out; its row in timing.parquet has the most milliseconds, and --time-limit ends such",
                ),
                Some(last) => (
                    format!(
                        " for a launch of {} problems of {} that took {}",
                        count(last.n_lanes as u64),
                        last.shape,
                        time(last.solve_ms)
                    ),
                    "make batches smaller: --batch-size auto, or a lower --batch-size-max",
                ),
                None => (
                    String::new(),
                    "few problems were left and they were long; --time-limit ends such",
                ),
            };
            (
                format!("threads had nothing left to do in the last {}, waiting{which}", time(*tail_ms)),
                remedy.to_owned(),
            )
        }
        Finding::Padding {
            device,
            class_name,
            shape,
            waste,
            waste_total,
            better,
        } => (
            format!(
                "padding is {} of what {device} computed in bucket {shape} {class_name}, {} of all that was padded",
                percent(*waste),
                percent(*waste_total)
            ),
            match better {
                Some(better) => {
                    let shapes: Vec<String> = better.shapes.iter().map(ToString::to_string).collect();
                    format!(
                        "these shapes waste {}: --buckets {}",
                        percent(better.waste),
                        shapes.join(",")
                    )
                }
                None => "give shapes closer to your problems': --buckets".to_owned(),
            },
        ),
        Finding::SlowDevice {
            device,
            shape,
            lane_ms,
            cpu_lane_ms,
        } => (
            format!(
                "{device} took {} for a problem of {shape}, all threads of the cpu together take {}",
                time(*lane_ms),
                time(*cpu_lane_ms)
            ),
            "let the cpu do it: --device cpu, or --device auto".to_owned(),
        ),
        Finding::Setbacks {
            n_setbacks,
            n_launches,
            n_problems,
            cause,
            device,
        } => (
            format!(
                "{} setbacks in {} launches: {} problems were taken again (mostly {})",
                count(*n_setbacks),
                count(*n_launches),
                count(*n_problems),
                cause_text(cause, *device)
            ),
            remedy(cause, *device).to_owned(),
        ),
        Finding::Verification { n_checked } => (
            format!("{} problems were solved again to check them", count(*n_checked)),
            "that is what --verify is for; a lower number checks less".to_owned(),
        ),
    }
}

fn cause_text(cause: &SetbackCause, device: DeviceId) -> String {
    match cause {
        SetbackCause::OutOfMemory { .. } => format!("memory refused on {device}"),
        SetbackCause::WorkerLost => "lost workers".to_owned(),
        SetbackCause::WorkerStuck { .. } => "solvers that did not stop".to_owned(),
        SetbackCause::ThreadsRefused { .. } => "threads refused by the system".to_owned(),
        SetbackCause::DeviceLost => format!("{device} lost"),
        SetbackCause::DeviceTimedOut => format!("{device} not answering in time"),
        SetbackCause::LaunchFailed { message } => {
            format!("launches failing on {device}: {message}")
        }
        SetbackCause::HandedOver { reason } => format!("{device} handing over: {reason}"),
    }
}

fn remedy(cause: &SetbackCause, device: DeviceId) -> &'static str {
    match (cause, device) {
        (SetbackCause::OutOfMemory { .. }, DeviceId::Cpu) => {
            "give it more memory (--memory) or smaller batches (--batch-size-max)"
        }
        (SetbackCause::OutOfMemory { .. }, DeviceId::Gpu(_) | DeviceId::Host(_)) => {
            "use smaller batches: --batch-size-max"
        }
        (SetbackCause::WorkerLost | SetbackCause::WorkerStuck { .. }, _) => {
            "failures.parquet names the problems; a lower --time-limit gives up sooner"
        }
        (SetbackCause::ThreadsRefused { .. }, _) => {
            "ask for fewer threads (--threads, --prefetch), or raise the limit (ulimit -u, ulimit -v)"
        }
        (SetbackCause::HandedOver { .. }, _) => "such problems are the cpu's: --device cpu",
        (
            SetbackCause::DeviceLost
            | SetbackCause::DeviceTimedOut
            | SetbackCause::LaunchFailed { .. },
            _,
        ) => "leave the device out (--device cpu), or see what its driver says",
    }
}
