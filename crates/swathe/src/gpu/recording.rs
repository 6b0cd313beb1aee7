//! Recordings: launches that are submitted to the device together.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::buffer::Purpose;
use super::kernel::{Access, Ready};
use super::open::Open;
use super::{Gpu, GpuBuffer, GpuError, Kernel};
use crate::{FaultPoint, Stop};

/// Launches that run one after the other, in one submission.
///
/// A submission costs more than small kernels take, so a workload records all the launches of a
/// batch, or of many iterations of it, before it runs them.
pub struct Recording<'a> {
    gpu: &'a Gpu,
    open: Arc<Open>,
    launches: Vec<Launch>,
    parameters: Vec<u8>,
}

struct Launch {
    ready: Arc<Ready>,
    /// The buffers, each with the bytes that the kernel can access: those that were requested.
    buffers: Vec<(wgpu::Buffer, u64)>,
    parameters_at: u64,
    grid: (u32, u32),
}

impl<'a> Recording<'a> {
    pub(super) fn new(gpu: &'a Gpu) -> Recording<'a> {
        Recording { gpu, open: gpu.open(), launches: Vec::new(), parameters: Vec::new() }
    }

    /// How many launches are recorded.
    pub fn n_launches(&self) -> usize {
        self.launches.len()
    }

    /// Records a launch of so many workgroups.
    ///
    /// # Errors
    /// If the kernel does not compile on this device, or a buffer or the grid is too large for it.
    ///
    /// # Panics
    /// If there are not as many buffers as the kernel has bindings, or more parameters than
    /// [`Kernel::PARAMETERS_BYTES_MAX`]: both are errors in the calling code.
    pub fn launch(
        &mut self,
        kernel: &Kernel,
        parameters: &[u32],
        buffers: &[&GpuBuffer],
        n_workgroups: u64,
    ) -> Result<(), GpuError> {
        assert_eq!(buffers.len(), kernel.bindings.len(), "{}", kernel.name);
        assert!(size_of_val(parameters) <= Kernel::PARAMETERS_BYTES_MAX, "{}", kernel.name);
        if n_workgroups == 0 {
            return Ok(());
        }
        let limit_bytes = self.gpu.info().binding_bytes_max;
        if let Some(buffer) = buffers.iter().find(|buffer| buffer.bytes() > limit_bytes) {
            return Err(GpuError::TooLarge { wanted_bytes: buffer.bytes(), limit_bytes });
        }
        let grid = fold(n_workgroups).ok_or_else(|| GpuError::Unsupported {
            what: format!("{n_workgroups} workgroups of {}", kernel.name),
        })?;
        let parameters_at = self.parameters.len() as u64;
        self.parameters.extend_from_slice(bytemuck::cast_slice(parameters));
        let slot = parameters_at as usize + Kernel::PARAMETERS_BYTES_MAX;
        self.parameters.resize(slot, 0);
        self.launches.push(Launch {
            ready: self.open.ready(kernel)?,
            buffers: buffers
                .iter()
                .map(|buffer| (buffer.raw.clone(), buffer.bytes().max(4).next_multiple_of(4)))
                .collect(),
            parameters_at,
            grid,
        });
        debug_assert!(
            kernel
                .bindings
                .iter()
                .zip(buffers)
                .filter(|(access, _)| **access == Access::Write)
                .all(|(_, buffer)| buffers.iter().filter(|other| other.raw == buffer.raw).count()
                    == 1),
            "{} writes to a buffer that it also has under another binding",
            kernel.name
        );
        Ok(())
    }

    /// Submits everything recorded and waits until it is done.
    ///
    /// # Errors
    /// If the device was lost, refuses the work or times out, or if a stop is requested.
    pub fn run(self, stop: &Stop) -> Result<(), GpuError> {
        let Recording { gpu, open, launches, parameters } = self;
        let delay = gpu.strike(FaultPoint::Launch, 0, &open)?;
        if launches.is_empty() {
            return open.check();
        }
        let held = gpu.take_buffer(parameters.len() as u64, Purpose::Uniform)?;
        let submission = open.guarded(0, || {
            open.queue.write_buffer(&held.raw, 0, &parameters);
            let mut encoder = open.device.create_command_encoder(&Default::default());
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for launch in &launches {
                let group = launch.bind(&open.device, &held.raw);
                pass.set_pipeline(&launch.ready.pipeline);
                pass.set_bind_group(0, &group, &[]);
                let (x, y) = launch.grid;
                pass.dispatch_workgroups(x, y, 1);
            }
            drop(pass);
            open.queue.submit([encoder.finish()])
        })?;
        let counters = &gpu.0.counters;
        counters.n_submissions.fetch_add(1, Ordering::Relaxed);
        counters.n_dispatches.fetch_add(launches.len() as u64, Ordering::Relaxed);
        gpu.wait(&open, submission, delay, stop, &|| true)
    }
}

impl Launch {
    fn bind(&self, device: &wgpu::Device, parameters: &wgpu::Buffer) -> wgpu::BindGroup {
        let parameters = wgpu::BufferBinding {
            buffer: parameters,
            offset: self.parameters_at,
            size: std::num::NonZeroU64::new(Kernel::PARAMETERS_BYTES_MAX as u64),
        };
        let mut entries = vec![wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(parameters),
        }];
        for (number, (buffer, bytes)) in self.buffers.iter().enumerate() {
            let seen =
                wgpu::BufferBinding { buffer, offset: 0, size: std::num::NonZeroU64::new(*bytes) };
            entries.push(wgpu::BindGroupEntry {
                binding: number as u32 + 1,
                resource: wgpu::BindingResource::Buffer(seen),
            });
        }
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.ready.layout,
            entries: &entries,
        })
    }
}

/// Folds workgroups into rows, because a grid is at most 65,535 workgroups wide.
fn fold(n_workgroups: u64) -> Option<(u32, u32)> {
    const WIDTH_MAX: u64 = 65_535;
    let n_rows = n_workgroups.div_ceil(WIDTH_MAX);
    if n_rows > WIDTH_MAX {
        return None;
    }
    let width = n_workgroups.div_ceil(n_rows.max(1));
    Some((width as u32, n_rows as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_folded() {
        assert_eq!(fold(1), Some((1, 1)));
        assert_eq!(fold(65_535), Some((65_535, 1)));
        assert_eq!(fold(65_536), Some((32_768, 2)));
        assert_eq!(fold(65_535 * 65_535), Some((65_535, 65_535)));
        assert_eq!(fold(65_535 * 65_535 + 1), None);
        for n in [3, 65_537, 1_000_000, 123_456_789] {
            let (x, y) = fold(n).unwrap();
            let n_all = u64::from(x) * u64::from(y);
            assert!(n_all >= n && n_all < n + u64::from(y));
        }
    }
}
