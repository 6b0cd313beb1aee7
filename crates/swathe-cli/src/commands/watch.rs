//! `swathe watch`: serves a live page of a run to browsers on this machine, or to users with the
//! token.

mod access;
mod columns;
mod connection;
mod metrics;
mod rate;
mod reader;
mod routes;
mod run_file;
mod token;
mod view;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use swathe_run::store::run_folder::{FolderError, RunJson, committed};

use crate::flags::WatchFlags;
use access::Access;
use connection::BoundedListener;
use routes::Served;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::status;
use token::{Token, TokenError};

pub(crate) fn watch(flags: &WatchFlags) -> Result<Code, CliError> {
    let token = chosen_token(flags.token.as_deref())?;
    check_run(&flags.run)?;
    let (listener, at) = listen(&flags.bind, flags.port)?;
    let token = match token {
        None if !at.ip().is_loopback() => Some(random_token()?),
        token => token,
    };
    let access = Access::new(&flags.bind, at, token);
    let url = access.url(&flags.bind, at);
    let snapshots = reader::start(&flags.run, |view| status!("{}", reader::state_line(view)));
    let snapshots = snapshots.map_err(system_fault)?;
    status!("watching {}; Ctrl-C ends the watching, not the run", flags.run.display());
    swathe_command::stdout::line(url)?;
    serve(listener, Served::new(flags.run.clone(), access, snapshots)).map_err(system_fault)?;
    Ok(Code::Solved)
}

/// The token from the flag or the environment variable, if one is given.
fn chosen_token(flag: Option<&str>) -> Result<Option<Token>, CliError> {
    const VARIABLE: &str = "SWATHE_WATCH_TOKEN";
    let (name, text) = match (flag, std::env::var(VARIABLE)) {
        (Some(text), _) => ("--token", text.to_owned()),
        (None, Ok(text)) => (VARIABLE, text),
        (None, Err(_)) => return Ok(None),
    };
    // Even an invalid token is a secret, so messages do not contain it.
    let token = Token::parse(&text).map_err(|error| match error {
        TokenError::TooShort { n_characters } => {
            CliError::usage(format!("{name} has {n_characters} characters, which could be guessed"))
                .hint(format!(
                    "take {} or more, or leave it out and get a random one",
                    Token::N_CHARACTERS_MIN
                ))
        }
        TokenError::Character { found } => CliError::usage(format!(
            "{name} has a {found:?} in it, which cannot stand in an address"
        ))
        .hint("take letters, digits and -._~ only"),
    })?;
    Ok(Some(token))
}

fn random_token() -> Result<Token, CliError> {
    Token::random().map_err(|error| {
        CliError::usage(format!("cannot generate a token: {error}"))
            .hint("give one with --token or SWATHE_WATCH_TOKEN")
    })
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

fn listen(bind: &str, port: u16) -> Result<(TcpListener, SocketAddr), CliError> {
    // Users write IPv6 addresses with and without brackets.
    let bare = bind.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) => (bind, port)
            .to_socket_addrs()
            .map_err(|error| {
                CliError::usage(format!("--bind is '{bind}', which is no address: {error}"))
                    .hint("write an address of this machine, such as 127.0.0.1 or 0.0.0.0")
            })?
            .collect(),
    };
    let bound = TcpListener::bind(addresses.as_slice());
    let listener = bound.map_err(|error| listen_fault(&error, bind, port))?;
    let at = listener.local_addr().map_err(system_fault)?;
    listener.set_nonblocking(true).map_err(system_fault)?;
    Ok((listener, at))
}

fn listen_fault(error: &io::Error, bind: &str, port: u16) -> CliError {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            CliError::usage(format!("port {port} of {bind} is taken by another program"))
                .hint("choose another --port, or 0 for one that is free")
        }
        io::ErrorKind::PermissionDenied => {
            CliError::usage(format!("port {port} of {bind} may not be used: {error}"))
                .hint("choose a --port above 1023, or 0 for one that is free")
        }
        _ => CliError::usage(format!("cannot serve at {bind}, port {port}: {error}"))
            .hint("--bind takes an address of this machine, such as 127.0.0.1 or 0.0.0.0"),
    }
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
