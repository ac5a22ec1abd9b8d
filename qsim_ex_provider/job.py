"""A job: circuits that run in the background; those that differ in numbers alone are one task."""

from __future__ import annotations

import concurrent.futures
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from qiskit.providers import JobError, JobStatus, JobTimeoutError, JobV1
from qiskit.providers.jobstatus import JOB_FINAL_STATES
from qiskit.result import Result

from qsim_ex import BatchResult, JobCheckpoint, Options, Simulator, uninterrupted
from qsim_ex.errors import Cancelled, OptionError, QsimExError
from qsim_ex.frameworks import BindingGroup, Save, followed, shown
from qsim_ex_provider.one_thread import OneThread

NAMED = 3
"""How many circuits of a task are named where it fails."""

QUICK = 0.05
"""The seconds that a task may take, by what its structure took before, if whoever waits for it may do it himself."""

_took: WeakKeyDictionary[object, float] = WeakKeyDictionary()
"""The seconds that the last binding of each structure took."""


class CancelFlag(threading.Event):
    """Set when a job is cancelled; the engine looks at it between steps.

    An event cannot go to another process, so what arrives there is a flag that is never set: tasks that have begun
    in another process run to their end, those that have not are never begun.
    """

    def __reduce__(self) -> tuple[type[CancelFlag], tuple[()]]:
        return CancelFlag, ()


@dataclass(frozen=True)
class JobTask:
    """A group of bindings, and all that a worker, in this process or elsewhere, needs to run them together.

    circuits: of the job, in increasing order: those that the bindings belong to, by their numbers and names.
    shots: where nothing is measured, the number of trajectories of which means and lists are saved. seeds: one for each
    binding.
    """

    circuits: tuple[tuple[int, str], ...]
    group: BindingGroup
    options: Options
    shots: int
    seeds: tuple[int, ...]
    cancel: CancelFlag

    def __call__(self) -> BatchResult:
        """Run the circuits; raises `Cancelled` and whatever the engine raises."""
        if self.cancel.is_set():
            raise Cancelled("the job was cancelled before this circuit began.")
        began = time.perf_counter()
        simulator, structure = Simulator(self.options), self.group.template.structure
        asked: dict[str, object] = {"cancel": self.cancel}
        if structure.measures:  # the run of a circuit that does not is a success without counts
            asked["shots"] = self.shots
        elif any(isinstance(one, Save) and one.how != "single" for one in structure.instructions):
            asked["trajectories"] = self.shots
        found = self.group.run(simulator, self.seeds, **asked)
        _took[structure] = (time.perf_counter() - began) / len(self.seeds)
        return found

    @property
    def quick(self) -> bool:
        """Whether the task is known to be short, and nobody watches it."""
        asks = self.options.progress or None, self.options.watch, self.options.checkpoint
        return asks == (None, None, None) and len(self.seeds) * _took.get(self.group.template.structure, 1.0) < QUICK

    def describe(self) -> str:
        """Return a sentence that names the circuits of this task."""
        named = [f"circuit {number} of the job, {name!r}" for number, name in self.circuits]
        if len(named) == 1:
            return f"This was {named[0]}."
        more = f"; and {len(named) - NAMED} more" if len(named) > NAMED else ""
        return f"These were run together: {'; '.join(named[:NAMED])}{more}."


_SLICE = 0.1
"""The seconds for which Ctrl-C is held back at most, while a job is waited for."""


def _waited(futures: Sequence[concurrent.futures.Future[BatchResult]], timeout: float | None) -> bool:
    """Wait for futures, at most `timeout` seconds; return whether any has not ended."""
    if all(future.done() for future in futures):
        return False
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        left = max(0.0, end - time.monotonic())
        with uninterrupted():
            waiting = concurrent.futures.wait(futures, min(left, _SLICE)).not_done
        if not waiting or left <= _SLICE:
            return bool(waiting)


class QsimExJob(JobV1):
    """Circuits that run in the background.

    assemble: makes the result of the job from those of its tasks, when it is asked for. kept: the job's checkpoint,
    whose files stay until then: the result of a process that ends too early is in them. noise_model: that of the run.
    Copying or pickling a job waits until it has ended, as for the jobs of Qiskit's primitives; the copy has its result,
    or the error that stopped it. A forked child has the results of jobs that had ended, and raises `JobError` for
    others.
    """

    def __init__(
        self,
        backend: object,
        job_id: str,
        tasks: Sequence[JobTask],
        executor: concurrent.futures.Executor,
        assemble: Callable[[Sequence[BatchResult]], Result],
        kept: JobCheckpoint | None = None,
        noise_model: object = None,
    ) -> None:
        super().__init__(backend, job_id)
        self._noise_model = noise_model
        self._tasks = tasks
        self._executor = executor
        self._assemble = assemble
        self._kept = kept
        self._futures: list[concurrent.futures.Future[BatchResult]] | None = None
        self._result: Result | None = None
        self._process = os.getpid()
        self._helps: OneThread | None = None  # the thread whose quick work may be done by who waits for the result

    def __repr__(self) -> str:
        used = self._tasks[0].options if self._tasks else Options()
        about = {
            "circuits": sum(len(task.circuits) for task in self._tasks),
            "status": "not submitted" if self._futures is None else self.status().value,
            **{name: getattr(used, name) for name in ("device", "precision", "method")},
            "noise_model": self._noise_model,
        }
        return shown("QsimExJob", self.job_id(), **{name: (value, None) for name, value in about.items()})

    def __getstate__(self) -> dict[str, Any]:
        concurrent.futures.wait(self._submitted())
        stopped = [_what_stopped(future) for future in self._submitted()]
        if not any(stopped):
            self.result()
        return {**self.__dict__, "_futures": stopped, "_executor": None, "_helps": None, "_assemble": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ended = [_ended(error) for error in state["_futures"]]
        self.__dict__.update(state, _futures=ended, _process=os.getpid())

    def submit(self) -> None:
        """Hand the tasks to the executor; `QsimExBackend.run` has done so already."""
        if self._futures is not None:
            raise JobError("the job was submitted before; run the circuits again for another.")
        thread = self._executor if isinstance(self._executor, OneThread) and self._executor.may_be_helped else None
        if thread is None or not all(task.quick for task in self._tasks):
            self._futures = self._begun()
        else:
            self._helps = thread
            self._futures = [thread.submit_quick(task) for task in self._tasks]
        if len(self._tasks) > 1:
            sizes = [len(task.circuits) for task in self._tasks]
            followed(self._futures, sizes, self._tasks[0].options.progress, "circuits")

    def _begun(self) -> list[concurrent.futures.Future[BatchResult]]:
        """Return the futures of all tasks; raises `OptionError` if the user's executor takes none."""
        try:
            return [self._executor.submit(task) for task in self._tasks]
        except RuntimeError as error:
            if isinstance(self._executor, OneThread):
                raise
            raise OptionError(
                f"expected executor=… to be one that takes work, got one that does not: {error}. Pass a new one."
            ) from error

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result, at most `timeout` seconds.

        Raises the error of the first circuit that failed, `Cancelled` if the job was cancelled, `JobTimeoutError` if
        the time is up (the job goes on). An interrupt (Ctrl-C) cancels the job.
        """
        if self._result is None:
            try:
                if self._helps is not None and timeout is None:
                    self._helps.take_over(self._submitted(), self.cancel)
                waiting = _waited(self._submitted(), timeout)
            except KeyboardInterrupt:
                self.cancel()
                raise
            if waiting:
                raise JobTimeoutError(f"job {self.job_id()} has not ended within {timeout} s; it goes on.")
            self._result = self._assemble([self._outcome(k) for k in range(len(self._tasks))])
            if self._kept is not None:
                self._kept.end()
        return self._result

    def wait_for_final_state(
        self, timeout: float | None = None, wait: float = 5, callback: Callable[..., object] | None = None
    ) -> None:
        """Wait until the job has ended, at most `timeout` seconds.

        callback: called before every `wait` seconds with the job's number, its status and the job. Raises
        `JobTimeoutError` if the time is up (the job goes on).
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        while (status := self.status()) not in JOB_FINAL_STATES:
            if time.monotonic() >= end:
                raise JobTimeoutError(f"job {self.job_id()} has not ended within {timeout} s; it goes on.")
            if callback is not None:
                callback(self.job_id(), status, self)
            _waited(self._submitted(), min(wait, end - time.monotonic()))

    def cancel(self) -> bool:
        """Begin no more circuits and stop the running one between two steps; return whether any had not ended."""
        open_futures = [future for future in self._submitted() if not future.done()]
        for task in self._tasks:
            task.cancel.set()
        for future in open_futures:
            future.cancel()
        return bool(open_futures)

    def status(self) -> JobStatus:
        """Return how far the job is."""
        futures = self._submitted()
        if all(future.done() for future in futures):
            stopped = [True if future.cancelled() else future.exception() for future in futures]
            if any(reason is True or isinstance(reason, Cancelled) for reason in stopped):
                return JobStatus.CANCELLED
            return JobStatus.ERROR if any(stopped) else JobStatus.DONE
        begun = any(future.running() or future.done() for future in futures)
        return JobStatus.RUNNING if begun else JobStatus.QUEUED

    def _submitted(self) -> list[concurrent.futures.Future[BatchResult]]:
        if self._futures is None:
            raise JobError("the job was not submitted.")
        if self._process != os.getpid() and not all(future.done() for future in self._futures):
            raise JobError("this job runs in the process that this one was forked from; run its circuits again here.")
        return self._futures

    def _outcome(self, number: int) -> BatchResult:
        try:
            return self._submitted()[number].result()
        except concurrent.futures.CancelledError:
            raise Cancelled(f"job {self.job_id()} was cancelled.") from None
        except QsimExError as error:
            if sum(len(task.circuits) for task in self._tasks) > 1:
                error.add_note(self._tasks[number].describe())
            raise


def _what_stopped(future: concurrent.futures.Future[BatchResult]) -> BaseException | None:
    """Return the error with which a future that is done has ended."""
    return concurrent.futures.CancelledError() if future.cancelled() else future.exception()


def _ended(error: BaseException | None) -> concurrent.futures.Future[Any]:
    """Return a future that is done; the job has the result that it had."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    if error is None:
        future.set_result(None)
    elif isinstance(error, concurrent.futures.CancelledError):
        future.cancel()
        future.set_running_or_notify_cancel()  # who waits for it is told so
    else:
        future.set_exception(error)
    return future
