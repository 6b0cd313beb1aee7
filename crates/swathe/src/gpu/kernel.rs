//! Kernels: WGSL source and how it is called.

/// A compute kernel in WGSL.
///
/// Its first binding, `@group(0) @binding(0) var<uniform>`, holds the launch's parameters; storage
/// buffers follow from binding 1. Large grids are folded: the number of a workgroup is
/// `id.x + id.y * n.x`. A grid may have more workgroups than were requested, so kernels compare the
/// number with a count among their parameters.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// A unique name: `array.matmul`.
    pub name: &'static str,
    /// The source, in pieces that kernels may share.
    pub wgsl: &'static [&'static str],
    /// The entry point.
    pub entry: &'static str,
    /// How it uses its storage buffers.
    pub bindings: &'static [Access],
}

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    Write,
}

impl Kernel {
    /// The maximum size of a launch's parameters.
    pub const PARAMETERS_BYTES_MAX: usize = 256;

    /// The whole source.
    pub fn text(&self) -> String {
        self.wgsl.concat()
    }

    /// Parses and validates the source without any device, for tests.
    ///
    /// # Errors
    /// If the source is invalid; the message names line and column.
    pub fn validate(&self) -> Result<(), String> {
        use wgpu::naga::front::wgsl;
        use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
        let text = self.text();
        let module = wgsl::parse_str(&text).map_err(|error| error.emit_to_string(&text))?;
        Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .map_err(|error| error.emit_to_string(&text))?;
        match module.entry_points.iter().any(|entry| entry.name == self.entry) {
            true => Ok(()),
            false => Err(format!("there is no function {} in it", self.entry)),
        }
    }
}

/// A kernel that a device has compiled.
pub(super) struct Ready {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

impl Ready {
    pub(super) fn new(device: &wgpu::Device, kernel: &Kernel) -> Ready {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(kernel.name),
            source: wgpu::ShaderSource::Wgsl(kernel.text().into()),
        });
        let buffer = |binding: usize, ty: wgpu::BufferBindingType| wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let mut entries = vec![buffer(0, wgpu::BufferBindingType::Uniform)];
        for (number, access) in kernel.bindings.iter().enumerate() {
            let read_only = *access == Access::Read;
            let ty = wgpu::BufferBindingType::Storage { read_only };
            entries.push(buffer(number + 1, ty));
        }
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(kernel.name),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(kernel.name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(kernel.entry),
            compilation_options: Default::default(),
            cache: None,
        });
        Ready { pipeline, layout }
    }
}
