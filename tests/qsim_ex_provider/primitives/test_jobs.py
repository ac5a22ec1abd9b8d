"""Jobs of the primitives run in the background, or where their result is asked for, and once in any case."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from qiskit.providers import JobError, JobStatus

from qsim_ex_provider.primitives.jobs import Job


def submitted(work: object, *given: object) -> Job:
    """Return a job that has been submitted."""
    job = Job(work, *given)
    job._submit()
    return job


def test_a_job_runs_in_the_background() -> None:
    """A job whose result nobody asks for is done all the same."""
    job = submitted(lambda: 7)
    for _ in range(500):
        if job.done():
            break
        time.sleep(0.01)
    assert job.status() is JobStatus.DONE
    assert job.result() == 7


def test_long_jobs_keep_no_other_job_from_running() -> None:
    """A job is done though many others before it are not."""
    end = threading.Event()
    long = [submitted(end.wait) for _ in range(40)]
    try:
        test_a_job_runs_in_the_background()
    finally:
        end.set()
    assert all(job.result() for job in long)


def test_a_job_that_nobody_began_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its work begins a job is queued."""
    monkeypatch.setattr("qsim_ex_provider.primitives.jobs.background", lambda: SimpleNamespace(submit=lambda _: None))
    job = submitted(lambda: 7)
    assert job.status() is JobStatus.QUEUED
    assert job.result() == 7
    assert job.status() is JobStatus.DONE


@pytest.mark.parametrize("waits", [0.0, 0.05])
def test_a_job_runs_once(waits: float) -> None:
    """However threads meet, the work is done once, and everybody has its result."""
    begun: list[int] = []

    def work() -> int:
        begun.append(threading.get_ident())
        time.sleep(0.02)
        return len(begun)

    job = submitted(work)
    time.sleep(waits)
    found: list[int] = []
    askers = [threading.Thread(target=lambda: found.append(job.result())) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert found == [1] * 4
    assert len(begun) == 1


def test_errors_reach_whoever_asks() -> None:
    """The error that stopped a job is raised by each call of `result`, and its status says so."""

    def fails() -> None:
        raise ValueError("no such thing")

    job = submitted(fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such thing"):
            job.result()
    assert job.status() is JobStatus.ERROR
    with pytest.raises(JobError, match="submitted before"):
        job._submit()
    with pytest.raises(JobError):
        Job(fails).result()


def test_a_copy_has_the_result() -> None:
    """A pickled job has the result of the work."""
    copied = pickle.loads(pickle.dumps(submitted(int, 3)))
    assert copied.result() == 3
    assert copied.status() is JobStatus.DONE


def test_jobs_end_before_their_process() -> None:
    """Jobs that were submitted last, and whose results nobody asks for, are done before the process ends."""
    code = """
from qsim_ex_provider.primitives.jobs import Job
for number in range(3):
    Job(print, number)._submit()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["0", "1", "2"]
