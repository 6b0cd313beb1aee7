//! The rules of the coordinator. Tests switch them off one by one, to show what each is needed for:
//! `tests/scenarios.rs` has the table of rules and the scenarios that fail without them.

/// A rule of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The rest of a stuck worker's range is solved by others.
    RequeueRest,
    /// A stuck or lost worker is replaced.
    ReplaceWorker,
    /// The turn of a stuck worker goes to another.
    FreeTurn,
    /// Answers of a stuck worker are finished by another.
    FinishLeftAnswers,
    /// Finishing does not wait for the memory that a range waits for.
    FinishBeforeMemory,
    /// Lanes that a launch leaves to the CPU are queued.
    QueueHandedOver,
    /// Launches of a class that no device accepts move to the CPU.
    MoveLaunches,
    /// The CPU takes from lots that no device accepts.
    TakeLots,
    /// A waiting worker of a retired device gives its problems back.
    GiveBack,
    /// A device that is lost again and again is retired.
    RetireLost,
    /// A class whose launches fail is left to the CPU.
    BanClass,
    /// A launch that never ends retires its device, and the CPU takes its problems.
    AbandonLaunch,
    /// A size that never comes ends with its worker; the rest of the window is planned again.
    ReplanRest,
    /// After memory was released, the range that waits asks again.
    RetryMemory,
    /// Memory that is released between a request and its answer is not overlooked.
    NoteRelease,
    /// While a range waits for memory, none of another kind overtakes it.
    KeepOrder,
    /// What needs stranded memory is refused, instead of retried.
    RefuseStranded,
    /// A range whose memory is refused is halved.
    SplitRefused,
    /// What is always refused is given up at last.
    GiveUp,
    /// Nothing new is begun while the caller does not take outcomes.
    BackPressure,
    /// No more windows are planned than are needed.
    PlanAhead,
    /// Too many stuck workers end the run.
    EndStarved,
    /// A run that waits for memory which others keep ends.
    EndMemoryHeld,
    /// A run without a thread ends.
    EndNoThread,
    /// A cancelled run does not wait for solvers that do not stop.
    LeaveBehind,
    /// A device without a thread is retired.
    RetireWithoutThread,
    /// At most `n_threads` workers solve at once, and one launch runs on a device.
    LimitTurns,
    /// Finished outcomes do not wait for a slow problem of their range.
    Flush,
}
