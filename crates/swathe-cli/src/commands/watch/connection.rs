//! Connections: their number is bounded, and each is closed when it times out.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

/// Beyond this number the oldest connection is closed: a process may have about a thousand files
/// open.
const N_CONNECTIONS_MAX: usize = 256;
/// A request must arrive completely within this time, even if its bytes trickle in steadily.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);
/// The client must receive the response within this time. Each connection carries one response; the
/// next request opens another connection.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
/// A connection without traffic for this long is closed.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// Accepts connections, and closes the oldest when there are too many.
pub(crate) struct BoundedListener {
    listener: TcpListener,
    open: Arc<Mutex<Open>>,
}

/// The open connections, keyed by a growing number, so that the first entry is the oldest.
#[derive(Default)]
struct Open {
    n_accepted: u64,
    /// Connections whose request has not arrived completely, each with the sender that closes it.
    asking: BTreeMap<u64, oneshot::Sender<()>>,
    /// Connections that receive a response, each with the sender that closes it.
    answered: BTreeMap<u64, oneshot::Sender<()>>,
}

/// A connection that fails with a timeout when it is idle or takes too long, or when a newer
/// connection needs its place.
pub(crate) struct Connection {
    stream: TcpStream,
    number: u64,
    open: Arc<Mutex<Open>>,
    is_answered: bool,
    is_over: bool,
    idle: Pin<Box<Sleep>>,
    end: Pin<Box<Sleep>>,
    closed: oneshot::Receiver<()>,
}

impl BoundedListener {
    pub(crate) fn new(listener: TcpListener) -> BoundedListener {
        BoundedListener { listener, open: Arc::default() }
    }
}

impl Listener for BoundedListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // Responses are small and urgent; Nagle's algorithm would delay them. If the option cannot
        // be set, the page is only a little later.
        let _ = stream.set_nodelay(true);
        let (close, closed) = oneshot::channel();
        let connection = Connection {
            stream,
            number: lock(&self.open).enter(close),
            open: Arc::clone(&self.open),
            is_answered: false,
            is_over: false,
            idle: Box::pin(sleep(IDLE_MAX)),
            end: Box::pin(sleep(REQUEST_TIME_MAX)),
            closed,
        };
        (connection, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Open {
    /// Registers a connection and returns its number. If there are too many, closes the oldest one
    /// that still waits for its request, or else the oldest one that receives a response.
    fn enter(&mut self, close: oneshot::Sender<()>) -> u64 {
        if self.asking.len() + self.answered.len() >= N_CONNECTIONS_MAX {
            let oldest = self.asking.pop_first().or_else(|| self.answered.pop_first());
            if let Some((_, close)) = oldest {
                // The connection may have ended in the meantime.
                let _ = close.send(());
            }
        }
        self.n_accepted += 1;
        self.asking.insert(self.n_accepted, close);
        self.n_accepted
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Passes on the result of a read or write. Fails with a timeout if the connection is idle, is
    /// out of time, or was closed to make room.
    fn unless_over<T>(
        &mut self,
        attempt: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        // A oneshot receiver must not be polled again after it is ready.
        self.is_over = self.is_over
            || Pin::new(&mut self.closed).poll(context).is_ready()
            || self.end.as_mut().poll(context).is_ready();
        if attempt.is_ready() && !self.is_over {
            self.idle.as_mut().reset(Instant::now() + IDLE_MAX);
            return attempt;
        }
        if self.is_over || self.idle.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }

    /// Called at the first byte of the response: the request has arrived completely.
    fn begin_answer(&mut self) {
        if self.is_answered {
            return;
        }
        self.is_answered = true;
        self.end.as_mut().reset(Instant::now() + ANSWER_TIME_MAX);
        let mut open = lock(&self.open);
        if let Some(close) = open.asking.remove(&self.number) {
            open.answered.insert(self.number, close);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.asking.remove(&self.number);
        open.answered.remove(&self.number);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.unless_over(attempt, context)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.begin_answer();
        let attempt = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_over(attempt, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.begin_answer();
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.unless_over(attempt, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
