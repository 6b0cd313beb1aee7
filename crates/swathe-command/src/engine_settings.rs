//! The settings of the engine, each declared once.

use clap::Args;
use swathe::{BatchSize, Budget, Cpu, Faults, GpuSearch, Gpus, Settings};

use crate::cli_error::CliError;
use crate::gpus::{DeviceChoice, Opened};
use crate::progress::ProgressStyle;
use crate::setting_value::{Auto, Buckets, ByteSize, Seconds, WrongValue, at_least_one, whole};

/// How problems are run, whatever they are. A field is a flag, a key of `swathe.toml`, a `SWATHE_*`
/// variable and a keyword of Python; its comment is the help. `run.json` has the texts that were
/// given, because no answer depends on them.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(next_help_heading = "How to run")]
pub struct EngineSettings {
    /// Where to run: auto (whatever was measured to be fastest), cpu, gpu, or some of several GPUs: gpu:0,2
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub device: DeviceChoice,
    /// Memory to use of each graphics processor, such as 8GiB
    #[arg(long, value_name = "SIZE", hide = true)]
    pub gpu_memory: Option<ByteSize>,
    /// Problems solved at once; 0 means all cores
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole::<usize>)]
    pub threads: usize,
    /// Problems in a batch: auto or a number
    #[arg(long, value_name = "N", default_value = "auto", value_parser = batch_size)]
    pub batch_size: Auto<usize>,
    /// Problems in a batch at most
    #[arg(long, value_name = "N", default_value = "4096", value_parser = batch_size_max)]
    pub batch_size_max: usize,
    /// Shapes that problems are padded to for GPU launches: auto, exact, or a list such as 128x256,256x512
    #[arg(long, value_name = "SHAPES", default_value = "auto", hide_default_value = true)]
    pub buckets: Buckets,
    /// Memory to use, such as 512MiB or 4GB [default: 80 % of what is available]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// Share of --memory to leave unused, such as 0.2
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub memory_margin: f64,
    /// Time one problem may take, such as 300s, 500ms or 2m
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub time_limit: Seconds,
    /// Batches loaded ahead of those being solved [default: one for each thread, 0 where problems are in memory already]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub prefetch: Option<usize>,
    /// Solve N problems again, chosen by the seed, and compare
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole::<usize>)]
    pub verify: usize,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole::<u64>)]
    pub seed: u64,
    /// How to show progress: auto, bar, plain, json or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub progress: ProgressStyle,
}

impl EngineSettings {
    /// The engine's own form of them, without devices. `n_prefetch` is the default of `prefetch`; it
    /// is one for each thread where it is `None`.
    pub fn engine(&self, n_prefetch: Option<usize>, faults: Faults) -> Settings {
        let cpu = Cpu::detect();
        let n_threads = match self.threads {
            0 => cpu.n_threads,
            n => n,
        };
        let memory_bytes = self.memory.map_or_else(|| cpu.memory_default_bytes(), |size| size.0);
        let memory_bytes = (memory_bytes as f64 * (1.0 - self.memory_margin)) as u64;
        Settings {
            n_threads,
            n_prefetch: self.prefetch.or(n_prefetch).unwrap_or(n_threads),
            batch_size: match self.batch_size {
                Auto::Auto => BatchSize::Auto,
                Auto::Is(n) => BatchSize::Fixed(n),
            },
            batch_size_max: self.batch_size_max,
            padding: self.buckets.0.clone(),
            memory: Budget::with_faults(memory_bytes, faults),
            time_limit: self.time_limit.0,
            n_verify: self.verify,
            seed: self.seed,
            ..Settings::default()
        }
    }

    /// Opens the devices of a run.
    ///
    /// # Errors
    /// As those of [`DeviceChoice::open`].
    pub fn open_devices(
        &self,
        name: &str,
        has_kernels: bool,
        faults: &Faults,
        find: impl FnOnce(&GpuSearch) -> Gpus,
    ) -> Result<Opened, CliError> {
        let mut opened = self.device.open(name, has_kernels, faults, find)?;
        if let Some(ByteSize(bytes)) = self.gpu_memory {
            opened.gpus = opened.gpus.iter().map(|gpu| gpu.with_memory(bytes)).collect();
        }
        Ok(opened)
    }
}

fn batch_size(text: &str) -> Result<Auto<usize>, WrongValue> {
    Auto::read(text, |text| at_least_one(text, "a batch size", "write auto, or 1 or more"))
}

fn batch_size_max(text: &str) -> Result<usize, WrongValue> {
    at_least_one(text, "a batch size", "write 1 or more")
}

fn share(text: &str) -> Result<f64, WrongValue> {
    let share = text.trim().parse().ok().filter(|share| (0.0..1.0).contains(share));
    let hint = "write a number from 0 to 0.99, such as 0.2";
    share.ok_or_else(|| WrongValue::not("a share of the memory", hint))
}
