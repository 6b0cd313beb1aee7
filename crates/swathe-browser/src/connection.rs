//! The two pipes to a browser: JSON messages that end with a NUL byte.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::BrowserError;
use crate::journal::Journal;

/// How much of the browser's stderr an error quotes.
const LAST_WORDS_BYTES: u64 = 2000;

/// The connection to one browser. A reader thread stores incoming messages in the state. Callers
/// that wait check the state whenever it has changed.
#[derive(Debug)]
pub(crate) struct Connection {
    to_browser: Mutex<ChildStdin>,
    shared: Arc<Shared>,
    /// The file that receives the browser's stderr.
    log: File,
    next_id: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Pending calls, each with its answer once that has arrived.
    answers: HashMap<u64, Option<Value>>,
    /// The journal of each page, by session.
    journals: HashMap<String, Journal>,
    is_closed: bool,
}

impl Connection {
    pub(crate) fn new(
        to_browser: ChildStdin,
        from_browser: impl Read + Send + 'static,
        log: File,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let heard = Arc::clone(&shared);
        // The reader thread ends with the browser, when the last writer of the pipe is gone.
        thread::spawn(move || heard.listen(from_browser));
        Self { to_browser: Mutex::new(to_browser), shared, log, next_id: AtomicU64::new(1) }
    }

    /// Sends a command to the browser, or to a page by its session, and waits for the answer.
    pub(crate) fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, BrowserError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.shared.lock().answers.insert(id, None);
        let sent = lock(&self.to_browser).write_all(&bytes);
        let what = format!("the answer to {method}");
        let answer = match sent {
            Ok(()) => self.wait(session, &what, limit, |state| {
                state.answers.get_mut(&id).and_then(Option::take)
            }),
            Err(_) => Err(self.gone(&what)),
        };
        self.shared.lock().answers.remove(&id);
        let mut answer = answer?;
        if let Some(message) = answer["error"]["message"].as_str() {
            return Err(BrowserError::Refused {
                method: method.to_owned(),
                message: message.to_owned(),
            });
        }
        Ok(answer["result"].take())
    }

    /// Waits until the journal of a page meets a condition.
    pub(crate) fn wait_for_journal(
        &self,
        session: &str,
        what: &str,
        limit: Duration,
        is_there: impl Fn(&Journal) -> bool,
    ) -> Result<(), BrowserError> {
        self.wait(Some(session), what, limit, |state| {
            is_there(state.journals.get(session)?).then_some(())
        })
    }

    /// Reads the journal of a page as it is now.
    pub(crate) fn read_journal<T>(&self, session: &str, read: impl FnOnce(&Journal) -> T) -> T {
        read(self.shared.lock().journals.entry(session.to_owned()).or_default())
    }

    /// Waits until the browser and the shell around it have closed their pipe.
    pub(crate) fn wait_for_end(&self, limit: Duration) {
        // A time-out and a closed pipe both end this wait.
        let _ = self.wait::<()>(None, "the end", limit, |_| None);
    }

    fn wait<T>(
        &self,
        session: Option<&str>,
        what: &str,
        limit: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, BrowserError> {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            if state.is_closed {
                return Err(self.gone(what));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let journal = session.and_then(|session| state.journals.get(session));
                return Err(BrowserError::TookTooLong {
                    waited_for: what.to_owned(),
                    limit,
                    troubles: journal.map_or_else(Vec::new, |journal| journal.troubles.clone()),
                });
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn gone(&self, waited_for: &str) -> BrowserError {
        BrowserError::Gone {
            waited_for: waited_for.to_owned(),
            last_words: self.last_words().unwrap_or_else(|error| error.to_string()),
        }
    }

    /// The end of the browser's stderr. The browser shares the file's position, but has exited by
    /// now.
    fn last_words(&self) -> std::io::Result<String> {
        let mut log = &self.log;
        let n_bytes = log.seek(SeekFrom::End(0))?;
        let start = n_bytes.saturating_sub(LAST_WORDS_BYTES);
        log.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }
}

impl Shared {
    fn listen(&self, from_browser: impl Read) {
        let mut from_browser = BufReader::new(from_browser);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = from_browser.read_until(0, &mut bytes);
            if read.is_err() || bytes.pop() != Some(0) {
                break;
            }
            // A message that is not JSON breaks the protocol, so the connection counts as closed.
            let Ok(message) = serde_json::from_slice(&bytes) else {
                break;
            };
            self.lock().hear(message);
            self.changed.notify_all();
        }
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn hear(&mut self, message: Value) {
        if let Some(id) = message["id"].as_u64() {
            // An answer that arrives after its call has timed out is dropped.
            if let Some(answer) = self.answers.get_mut(&id) {
                *answer = Some(message);
            }
        } else if let (Some(session), Some(method)) =
            (message["sessionId"].as_str(), message["method"].as_str())
        {
            let journal = self.journals.entry(session.to_owned()).or_default();
            journal.note(method, &message["params"]);
        }
    }
}

/// Ignores poisoning: the guarded data is consistent after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
