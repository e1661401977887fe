"""A bar gives an estimate even if its steps are far apart."""

from __future__ import annotations

import pytest

from babelscope.util import progress as bars


def test_steps_a_minute_apart_give_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    bar = bars._bars()
    monkeypatch.setattr(bar, "get_time", lambda: now[0])
    task = bar.add_task("work", total=100, of_bytes=False)
    bar.advance(task, 0)
    now[0] = 60.0
    bar.advance(task, 10)
    assert bar.tasks[0].time_remaining == 540
