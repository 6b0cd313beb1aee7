//! The mailbox: passes messages to the thread that called `run`.
//!
//! Workers that deliver outcomes wait while too many are undelivered, which is the back-pressure of
//! a slow `done`. All other messages (setbacks, workers that start and end, the watchdog's
//! decisions) are posted without waiting: a caller that stalls must not keep the watchdog from
//! enforcing limits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock;

pub(super) struct Mailbox<M> {
    state: Mutex<State<M>>,
    /// Signalled when a message arrives.
    arrived: Condvar,
    /// Signalled when a message is taken or the mailbox closes.
    taken: Condvar,
    n_messages_max: usize,
}

struct State<M> {
    messages: VecDeque<M>,
    is_closed: bool,
    /// The receiver waits for a message.
    is_waited_for: bool,
}

impl<M> Mailbox<M> {
    pub(super) fn new(n_messages_max: usize) -> Mailbox<M> {
        Mailbox {
            state: Mutex::new(State {
                messages: VecDeque::new(),
                is_closed: false,
                is_waited_for: false,
            }),
            arrived: Condvar::new(),
            taken: Condvar::new(),
            n_messages_max,
        }
    }

    /// Adds a message once there is room. A closed mailbox drops it.
    pub(super) fn send(&self, message: M) {
        let mut state = lock(&self.state);
        while state.messages.len() >= self.n_messages_max && !state.is_closed {
            let wait = self.taken.wait(state);
            state = wait.unwrap_or_else(PoisonError::into_inner);
        }
        self.add(state, message);
    }

    /// Adds a message at once, however many there are.
    pub(super) fn post(&self, message: M) {
        let state = lock(&self.state);
        self.add(state, message);
    }

    fn add(&self, mut state: std::sync::MutexGuard<'_, State<M>>, message: M) {
        if state.is_closed {
            // Dropped without the lock: a message may hold a solution with a destructor of its own.
            drop(state);
            drop(message);
            return;
        }
        state.messages.push_back(message);
        self.arrived.notify_one();
    }

    /// The next message; `None` if there is none within this time.
    pub(super) fn receive(&self, patience: Duration) -> Option<M> {
        let mut state = lock(&self.state);
        if state.messages.is_empty() {
            state.is_waited_for = true;
            let wait = self.arrived.wait_timeout(state, patience);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            state.is_waited_for = false;
        }
        let message = state.messages.pop_front()?;
        self.taken.notify_one();
        Some(message)
    }

    /// Whether the receiver waits and there is nothing for it.
    pub(super) fn is_idle(&self) -> bool {
        let state = lock(&self.state);
        state.is_waited_for && state.messages.is_empty()
    }

    /// Closes the mailbox because the receiver is gone: senders that wait return.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        let messages = std::mem::take(&mut state.messages);
        self.taken.notify_all();
        drop(state);
        drop(messages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_pass_a_full_mailbox_and_senders_wait() {
        let mailbox = Mailbox::new(2);
        mailbox.send(1);
        mailbox.send(2);
        mailbox.post(3);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| mailbox.send(4));
            let received: Vec<_> =
                (0..4).map(|_| mailbox.receive(Duration::from_secs(60))).collect();
            assert_eq!(received, [Some(1), Some(2), Some(3), Some(4)]);
            sender.join().unwrap();
        });
        assert_eq!(mailbox.receive(Duration::ZERO), None);
    }

    #[test]
    fn closing_lets_senders_go() {
        let mailbox = Mailbox::new(1);
        mailbox.send(1);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| mailbox.send(2));
            mailbox.close();
            sender.join().unwrap();
        });
        mailbox.post(3);
        assert_eq!(mailbox.receive(Duration::ZERO), None);
    }
}
