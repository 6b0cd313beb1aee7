//! Launches: the problems of a range are solved together on a device.

use super::slot::{Answered, Current, Slot};
use super::worker::{Bench, send_range, wait};
use super::{Done, Driver, ProblemOf, SolutionOf, WorkloadOf, guarded, lock, ms, panic_message};
use crate::coordinator::{Answers, Event, LaunchError, Launched};
use crate::fault::{Fault, FaultPoint};
use crate::report::Phase;
use crate::{Device, Finish, GpuError, Lane, Outcome, Planned, Shape, Size, Workload};

/// Launches the loaded problems once. Answers stay in the slot until they are finished. `None` if
/// the worker was abandoned meanwhile.
pub(super) fn launch<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    number: usize,
    bench: &mut Bench<'_, F>,
) -> Option<Event> {
    let start = bench.clock.enter(Phase::Solve);
    let device = &driver.devices[number];
    let (lanes, padded) = {
        let mut work = slot.end()?;
        if slot.stop.is_cancelled() {
            work.loaded.clear();
        }
        let lanes: Vec<(Planned, ProblemOf<F>)> = work.loaded.drain(..).collect();
        if let Some(launch) = &mut work.launch {
            launch.solve_start_ms = ms(start - driver.started);
        }
        work.launched = lanes.iter().map(|(planned, _)| *planned).collect();
        work.begin(slot, Current::Other, start);
        // Devices get launches alone.
        (lanes, work.padded.unwrap_or(Size::of(Shape::default())))
    };
    // A problem with an injected fault goes to the CPU, where the fault affects that problem alone.
    let faults = driver.settings.memory.faults();
    let struck = |planned: &Planned| faults.strike(FaultPoint::Item, Some(planned.index)).is_some();
    let (aside, lanes): (Vec<_>, Vec<_>) =
        lanes.into_iter().partition(|(planned, _)| struck(planned));
    let mut handed = Vec::new();
    if !aside.is_empty() {
        let problems = aside.into_iter().map(|(planned, _)| planned).collect();
        handed.push(("a fault on purpose is to strike it".to_owned(), problems));
    }
    let n_compiled = device.n_compiled();
    let answers = call(driver, slot, device, padded, &lanes);
    let took = start.elapsed();
    let mut work = slot.end()?;
    let n_attempts = work.n_attempts;
    work.launched.clear();
    let mut failed = Vec::new();
    let result = match answers {
        Err(error) => {
            drop(work);
            // Dropped before the device is reopened.
            failed = lanes.into_iter().map(|(planned, _)| planned).collect();
            Err(if slot.stop.is_cancelled() { LaunchError::Cancelled } else { error })
        }
        Ok(answers) => {
            let n_lanes = answers.len();
            let lane_took = took / n_lanes.max(1) as u32;
            let (mut to_cpu, mut reason, mut n_done) = (Vec::new(), None, 0);
            for ((planned, problem), answer) in lanes.into_iter().zip(answers) {
                match answer {
                    Lane::Done(Ok(solution)) => {
                        n_done += 1;
                        work.answered.push_back(Answered {
                            planned,
                            problem,
                            solution,
                            device: slot.device,
                            took: lane_took,
                            n_attempts,
                            to_check: driver.is_verified(planned.index, &planned.size),
                            held: None,
                        });
                    }
                    Lane::Done(Err(failure)) => {
                        n_done += 1;
                        work.done.push(Done {
                            index: planned.index,
                            outcome: Outcome::Failed(failure.into()),
                            device: slot.device,
                            took: lane_took,
                            n_attempts,
                        });
                    }
                    Lane::ToCpu(why) => {
                        to_cpu.push(planned);
                        reason.get_or_insert(why);
                    }
                }
            }
            let n_answered = work.answered.len();
            drop(work);
            lock(&driver.routes).count_done(number, &padded, n_done);
            handed.extend(reason.map(|reason| (reason, to_cpu)));
            // A launch that compiled kernels says nothing about the time of the next one.
            let took = (device.n_compiled() == n_compiled).then_some(took);
            Ok(Answers { n_answered, n_lanes, took })
        }
    };
    let mut work = slot.work();
    for (_, problems) in &handed {
        work.leave(problems);
    }
    work.leave(&failed);
    let has_answers = !work.answered.is_empty();
    let refused = if has_answers { std::mem::take(&mut work.refused) } else { Vec::new() };
    work.leave(&refused);
    drop(work);
    let (n_done, refused) = match has_answers {
        true => (0, refused),
        false => send_range(driver, slot, &mut bench.clock),
    };
    let worker = slot.worker;
    Some(Event::Launched(Box::new(Launched { worker, result, failed, handed, refused, n_done })))
}

type Lanes<F> = Vec<Lane<SolutionOf<F>, <WorkloadOf<F> as Workload>::Failure>>;

fn call<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    device: &Device,
    padded: Size,
    lanes: &[(Planned, ProblemOf<F>)],
) -> Result<Lanes<F>, LaunchError> {
    if lanes.is_empty() {
        return Ok(Vec::new());
    }
    let problems: Vec<&ProblemOf<F>> = lanes.iter().map(|(_, problem)| problem).collect();
    let launched = guarded(|| {
        // A graphics processor injects its faults in its own calls.
        if let Device::Host(_) = device {
            strike_host(driver, slot)?;
        }
        driver.workload().launch(device, padded.shape, &problems, &slot.stop)
    });
    match launched {
        Ok(Ok(answers)) if answers.len() == lanes.len() => Ok(answers),
        Ok(Ok(answers)) => {
            Err(LaunchError::Code(format!("{} answers to {} problems", answers.len(), lanes.len())))
        }
        Ok(Err(error)) => Err(match error {
            GpuError::OutOfMemory { wanted_bytes, .. }
            | GpuError::TooLarge { wanted_bytes, .. } => LaunchError::OutOfMemory { wanted_bytes },
            GpuError::Lost => LaunchError::Lost,
            GpuError::TimedOut { .. } | GpuError::Stopped => LaunchError::TimedOut,
            GpuError::Unsupported { .. } | GpuError::Kernel { .. } => {
                LaunchError::Code(error.to_string())
            }
        }),
        Err(panic) => Err(LaunchError::Code(panic_message(panic))),
    }
}

/// Injects the fault, if any, that is due in a launch on the host.
fn strike_host<F: Finish>(driver: &Driver<F>, slot: &Slot<F>) -> Result<(), GpuError> {
    match driver.settings.memory.faults().strike(FaultPoint::Launch, None) {
        None => Ok(()),
        Some(Fault::Slow(delay)) => {
            wait(delay, slot);
            Ok(())
        }
        Some(Fault::OutOfMemory) => Err(GpuError::OutOfMemory { wanted_bytes: 0, free_bytes: 0 }),
        Some(Fault::Lost) => Err(GpuError::Lost),
        Some(Fault::Panic) => panic!("a panic on purpose"),
    }
}
