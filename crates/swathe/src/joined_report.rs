//! The reports of runs that solved parts of one input, joined into one.

use crate::{BucketFigures, Report, Route};

impl Report {
    /// Joins the reports of several processes that solved parts of one input. Times are kept from
    /// the start of each process, as if all had started together: the run took as long as the
    /// longest. Counts and times of workers add up; of memory, the process that used most counts.
    /// `None` if there is no report.
    pub fn join(reports: impl IntoIterator<Item = Report>) -> Option<Report> {
        let mut reports = reports.into_iter();
        let mut whole = reports.next()?;
        for part in reports {
            whole.add(part);
        }
        // The parts' samples count their own problems, so that a sum over time would need all of
        // them at the same moments.
        whole.samples.clear();
        Some(whole)
    }

    fn add(&mut self, part: Report) {
        let n_workers = self.workers.iter().map(|worker| worker.worker + 1).max();
        let n_workers = n_workers.unwrap_or(0);
        self.counts = self.counts + part.counts;
        self.wall_ms = self.wall_ms.max(part.wall_ms);
        for device in part.devices {
            if !self.devices.contains(&device) {
                self.devices.push(device);
            }
        }
        self.workers.extend(part.workers.into_iter().map(|mut worker| {
            worker.worker += n_workers;
            worker
        }));
        self.launches.extend(part.launches.into_iter().map(|mut launch| {
            launch.worker += n_workers;
            launch
        }));
        self.n_launches += part.n_launches;
        self.launches_step = self.launches_step.max(part.launches_step);
        while self.launches.len() > Report::N_LAUNCHES_KEPT {
            let mut number = 0;
            self.launches.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.launches_step *= 2;
        }
        for bucket in part.buckets {
            let is_same = |own: &&mut BucketFigures| {
                own.device == bucket.device
                    && own.class == bucket.class
                    && own.shape == bucket.shape
            };
            match self.buckets.iter_mut().find(is_same) {
                Some(own) => add_bucket(own, bucket),
                None => self.buckets.push(bucket),
            }
        }
        let memory = &mut self.memory;
        if part.memory.peak_bytes > memory.peak_bytes {
            memory.peak_bytes = part.memory.peak_bytes;
            memory.budget_bytes = part.memory.budget_bytes;
        }
        memory.resident_peak_bytes =
            memory.resident_peak_bytes.max(part.memory.resident_peak_bytes);
        memory.n_reservations += part.memory.n_reservations;
        memory.n_refusals += part.memory.n_refusals;
        memory.pool.n_taken += part.memory.pool.n_taken;
        memory.pool.n_reused += part.memory.pool.n_reused;
        self.n_setbacks += part.n_setbacks;
        let n_kept = Report::N_SETBACKS_KEPT.saturating_sub(self.setbacks.len());
        self.setbacks.extend(part.setbacks.into_iter().take(n_kept));
        self.verification.n_checked += part.verification.n_checked;
        self.verification.n_skipped += part.verification.n_skipped;
        self.verification.mismatches.extend(part.verification.mismatches);
        for route in part.routes {
            let is_same = |own: &&mut Route| own.class == route.class && own.padded == route.padded;
            match self.routes.iter_mut().find(is_same) {
                Some(own) => add_route(own, &route),
                None => self.routes.push(route),
            }
        }
        self.n_cpu_only += part.n_cpu_only;
        self.cancelled |= part.cancelled;
        self.ended_by = self.ended_by.or(part.ended_by);
    }
}

fn add_bucket(own: &mut BucketFigures, part: BucketFigures) {
    own.n_launches += part.n_launches;
    own.n_lanes += part.n_lanes;
    let n_sizes = own.n_launches_by_lanes.len().max(part.n_launches_by_lanes.len());
    own.n_launches_by_lanes.resize(n_sizes, 0);
    for (own, part) in own.n_launches_by_lanes.iter_mut().zip(part.n_launches_by_lanes) {
        *own += part;
    }
    own.volume_real += part.volume_real;
    own.volume_launched += part.volume_launched;
    own.bytes_max = own.bytes_max.max(part.bytes_max);
    own.memory_ms += part.memory_ms;
    own.load_ms += part.load_ms;
    own.turn_ms += part.turn_ms;
    own.solve_ms += part.solve_ms;
    for operation in part.operations {
        let mut all = own.operations.iter_mut();
        match all.find(|own| own.name == operation.name && own.phase == operation.phase) {
            Some(own) => {
                own.n_calls += operation.n_calls;
                own.ms += operation.ms;
            }
            None => own.operations.push(operation),
        }
    }
}

fn add_route(own: &mut Route, part: &Route) {
    own.n_problems += part.n_problems;
    own.volume_real += part.volume_real;
    for device in &part.devices {
        let mut all = own.devices.iter_mut();
        match all.find(|own| own.device == device.device) {
            Some(own) => own.n_lanes += device.n_lanes,
            None => own.devices.push(device.clone()),
        }
    }
    // What each side would take for all problems is known to the parts only.
    (own.choice_ms, own.other_ms) = (None, None);
}
