from gpusched.local.build_progress import BuildProgress, duration


def test_tells_at_most_every_five_seconds_and_the_end_always():
    said: list[str] = []
    now = [100.0]
    progress = BuildProgress("kwok 0.8.0", said.append, clock=lambda: now[0])

    def at(seconds: float) -> None:
        now[0] = 100 + seconds

    progress.downloads([])
    at(3)
    progress.downloads(["go: downloading a v1"])
    at(5)
    progress.downloads(["go: downloading a v1", "go: downloading b v2", "fmt"])
    progress.total = 900
    at(12)
    progress.compiled([])
    at(70)
    progress.compiled(["fmt", "go: warning", "# note", "io"])
    at(71)
    progress.finished()

    assert said == [
        "kwok 0.8.0: reading modules (0 s)",
        "kwok 0.8.0: 2 modules downloaded (5 s)",
        "kwok 0.8.0: packages are in Go's cache, linking (12 s)",
        "kwok 0.8.0: 2 packages compiled, 900 at most (1 min 10 s)",
        "kwok 0.8.0: built (1 min 11 s)",
    ]


def test_durations():
    assert [duration(seconds) for seconds in (0, 59.4, 59.6, 185)] == ["0 s", "59 s", "1 min 0 s", "3 min 5 s"]
