//! The `swathe` program: sets the allocator and calls the library.

mod allocator;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    swathe_cli::main()
}
