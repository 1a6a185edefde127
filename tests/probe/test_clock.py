"""Limits count what a program used of the processor, not how long it waited for its turn."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from warplint.probe.worker import clock, isolate

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what others used is read in /proc")


def _burn(seconds: float) -> float:
    while time.process_time() < seconds:
        pass
    return time.process_time()


def test_who_waits_uses_nothing(tmp_path: Path) -> None:
    begun = clock.now()
    outcome = isolate.run(lambda stage: time.sleep(1.0), tmp_path, 0.3)
    assert outcome.ended == "returned"
    assert clock.now() - begun < 0.9


def test_who_uses_too_much_ends(tmp_path: Path) -> None:
    begun = clock.now()
    outcome = isolate.run(lambda stage: _burn(60.0), tmp_path, 0.3)
    assert outcome.ended == "timeout"
    assert 0.25 <= clock.now() - begun < 30.0


def test_who_sleeps_for_ever_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock.Limit, "IDLE", 0.5)
    assert isolate.run(lambda stage: time.sleep(600.0), tmp_path, 50.0).ended == "stuck"


def test_who_uses_little_for_ever_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock.Limit, "LEAST", 0.5)
    monkeypatch.setattr(clock.Limit, "TIMES", 0.0)

    def now_and_then(stage: isolate.Stage) -> None:
        while True:
            time.sleep(0.01)

    assert isolate.run(now_and_then, tmp_path, 50.0).ended == "stuck"


def test_a_servant_has_its_time_for_each_request(tmp_path: Path) -> None:
    def work(stage: isolate.Stage, request: Any) -> float:
        return _burn(time.process_time() + request)

    servant = isolate.Servant(work, tmp_path)
    assert [servant.ask(0.4, 1.0).ended for _ in range(4)] == ["returned"] * 4
    assert servant.ask(60.0, 0.5).ended == "timeout"
    assert servant.ask(0.1, 30.0).ended == "returned"
    servant.close()


def test_a_program_has_used_what_its_children_use(tmp_path: Path) -> None:
    def work(stage: isolate.Stage) -> list[float]:
        child = isolate.Child(lambda stage: (_burn(0.5), time.sleep(60.0)), tmp_path, 60.0)
        begun = clock.now()
        while (clock.used(child.pid) or 0.0) < 0.4:
            time.sleep(0.05)
        running = clock.now() - begun
        child.limit.take()
        child.finish()
        ended = clock.now() - begun
        clock.SPENT["compiling"] += 0.4
        return [begun, running, ended, clock.now() - begun]

    program = isolate.Child(work, tmp_path, 60.0, leader=True)  # others have no children
    while not program.poll(0.05):
        pass
    begun, running, ended, without = program.finish().result
    assert begun < 0.4  # it does not count what its parent used
    assert running >= 0.2  # but what its child uses, while it runs
    assert ended >= 0.3  # and when it has ended
    assert without == pytest.approx(ended - 0.4, abs=0.1)
