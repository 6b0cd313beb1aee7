//! `swathe watch`: serves a live page of a run to browsers on this machine.

mod access;
mod columns;
mod connection;
mod metrics;
mod rate;
mod reader;
mod routes;
mod run_file;
mod view;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use swathe_run::store::run_folder::{FolderError, RunJson, committed};

use crate::flags::WatchFlags;
use connection::BoundedListener;
use routes::Served;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::status;

/// Only this machine is served: others come by an ssh tunnel, which knows who they are.
const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

pub(crate) fn watch(flags: &WatchFlags) -> Result<Code, CliError> {
    check_run(&flags.run)?;
    let listener = listen(flags.port)?;
    let port = listener.local_addr().map_err(system_fault)?.port();
    let snapshots = reader::start(&flags.run, |view| status!("{}", reader::state_line(view)));
    let snapshots = snapshots.map_err(system_fault)?;
    status!("watching {}; Ctrl-C ends the watching, not the run", flags.run.display());
    swathe_command::stdout::line(format_args!("http://{HOST}:{port}/"))?;
    serve(listener, Served::new(flags.run.clone(), port, snapshots)).map_err(system_fault)?;
    Ok(Code::Solved)
}

/// Fails unless the folder holds a run that can be watched.
fn check_run(run: &Path) -> Result<(), CliError> {
    if !run.exists() {
        return Err(CliError::usage(format!("there is no folder {}", run.display()))
            .hint("give the folder that was given to --out; it is there once the run has begun"));
    }
    if !run.is_dir() {
        let complaint = format!("{} is a file, not a run folder", run.display());
        return Err(CliError::usage(complaint).hint("watch the folder that was given to --out"));
    }
    match RunJson::read(run) {
        // Without counts of what is committed, a damaged run can still be watched.
        Ok(run_json) => match committed(run, run_json.run_id.as_deref()) {
            Err(error @ (FolderError::Foreign { .. } | FolderError::Read { .. })) => {
                Err(error.into())
            }
            _ => Ok(()),
        },
        Err(error @ FolderError::NoRun { .. }) => match shards(run).as_slice() {
            [] => Err(error.into()),
            shards => {
                Err(CliError::usage(format!("{} has no run of its own, but shards", run.display()))
                    .hint(format!("watch one of them: {}", shards.join(", "))))
            }
        },
        Err(error) => Err(error.into()),
    }
}

/// The names of some of the shards in a folder.
fn shards(run: &Path) -> Vec<String> {
    const N_NAMED_MAX: usize = 4;
    let entries = std::fs::read_dir(run.join("shards")).into_iter();
    let mut shards: Vec<String> = entries
        .flat_map(Iterator::flatten)
        .map(|entry| entry.path().display().to_string())
        .collect();
    shards.sort();
    shards.truncate(N_NAMED_MAX);
    shards
}

fn listen(port: u16) -> Result<TcpListener, CliError> {
    let listener = TcpListener::bind((HOST, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            CliError::usage(format!("port {port} of {HOST} is taken by another program"))
                .hint("choose another --port, or 0 for one that is free")
        }
        _ => CliError::usage(format!("port {port} of {HOST} may not be used: {error}"))
            .hint("choose a --port above 1023, or 0 for one that is free"),
    })?;
    listener.set_nonblocking(true).map_err(system_fault)?;
    Ok(listener)
}

fn system_fault(error: io::Error) -> CliError {
    CliError::usage(format!("the system does not let us serve: {error}"))
        .hint("check the limits on threads and open files (ulimit -u, ulimit -n)")
}

/// Serves requests until Ctrl-C.
fn serve(listener: TcpListener, served: Served) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let listener = BoundedListener::new(tokio::net::TcpListener::from_std(listener)?);
        tokio::spawn(axum::serve(listener, routes::router(served)).into_future());
        interrupted().await;
        Ok(())
    });
    // Does not wait for a request that still reads a report from a slow disk.
    runtime.shutdown_background();
    served
}

async fn interrupted() {
    let stop = interrupt::stop();
    while !stop.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
