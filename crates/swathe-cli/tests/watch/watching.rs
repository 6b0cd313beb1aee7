//! `swathe watch` as a process, and runs to watch.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{LIMIT, get};
use crate::program::{Ended, command};

/// A running `swathe watch`, which is killed when dropped.
pub(crate) struct Watch {
    pub(crate) child: Child,
    /// The address that it printed.
    pub(crate) url: String,
    /// The address of the server on this machine.
    pub(crate) server: SocketAddr,
    said: Arc<Mutex<String>>,
}

impl Watch {
    /// Starts `swathe watch` with the arguments of `line`, in a folder.
    #[track_caller]
    pub(crate) fn start(folder: &Path, line: &str) -> Watch {
        let mut child = command(folder, &format!("watch {line}")).spawn().unwrap();
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(n @ 1..) = stderr.read(&mut bytes) {
                *heard.lock().unwrap() += &String::from_utf8_lossy(&bytes[..n]);
            }
        });
        let Ok(url) = lines.recv_timeout(LIMIT) else {
            let _ = child.kill();
            let status = child.wait();
            panic!("no address; {status:?}: {}", said.lock().unwrap());
        };
        let rest = url.strip_prefix("http://").unwrap();
        let port = rest.split('/').next().unwrap().rsplit(':').next().unwrap();
        Watch {
            server: SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap())),
            child,
            url,
            said,
        }
    }

    /// The stderr output so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn data(&self) -> Value {
        get(self.server, "/data.json").expect(200).json()
    }

    /// Polls the data until a condition holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        wait_for(what, || {
            last = self.data();
            holds(&last)
        });
        last
    }

    #[track_caller]
    pub(crate) fn until_state(&self, state: &str) -> Value {
        self.until(state, |view| view["state"] == state)
    }

    /// Interrupts the process as Ctrl-C does, and returns its exit status.
    #[track_caller]
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        signal(&self.child, libc::SIGINT);
        ended(&mut self.child)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running run, which is killed when dropped.
pub(crate) struct Run(pub(crate) Child);

impl Run {
    /// Starts a run whose launches are delayed by `launch_ms`, and waits until its live file
    /// exists.
    #[track_caller]
    pub(crate) fn start(folder: &Path, line: &str, launch_ms: u64) -> Run {
        let faults = format!("slow%100={launch_ms}ms:seed=1");
        let mut command = command(folder, line);
        let run = Run(command.env("SWATHE_FAULTS", faults).spawn().unwrap());
        let out = line.split_once("--out ").unwrap().1;
        let live = folder.join(out.split(' ').next().unwrap()).join("live.json");
        wait_for("a live file", || live.exists());
        run
    }

    /// Kills the process without warning.
    pub(crate) fn kill(&mut self) {
        signal(&self.0, libc::SIGKILL);
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        ended(&mut self.0)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: the child has not been waited for, so its process id is not reused.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// The exit status, after the process has ended by itself.
#[track_caller]
fn ended(child: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_for("its end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.and_then(|status| status.code())
}

#[track_caller]
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < 2 * LIMIT, "{what} did not come to be");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A command that ends by itself.
pub(crate) fn swathe(folder: &Path, line: &str) -> Ended {
    crate::program::swathe(folder, line)
}
