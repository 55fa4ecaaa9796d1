"""Compiled kernels are loaded in the background, and nothing is left running."""

import subprocess

from sluice.bootstrap.planners import kernel_loader
from sluice.bootstrap.planners.kernel_loader import BackgroundLoader
from sluice.planning.ordering.compilation import plain_kernels
from sluice.planning.ordering.search_context import KernelUse


class Compiler:
    """Takes the place of the process that compiles. It never ends by itself."""

    def __init__(self, *_, **__):
        self.is_killed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        assert self.is_killed

    def poll(self):
        return 1 if self.is_killed else None

    def kill(self):
        self.is_killed = True


def test_a_compiler_that_never_ends_is_killed_with_the_search(monkeypatch):
    monkeypatch.setattr(kernel_loader, "compiled_kernels", plain_kernels)  # never cached
    monkeypatch.setattr(subprocess, "Popen", Compiler)
    reported: list[str] = []
    with BackgroundLoader() as loader:
        loader.request(KernelUse.PROOF, reported.append)
        assert loader.loaded(wait_s=0.01) is None

    assert ["compiling the search in the background, once"] == reported


def test_what_was_compiled_too_late_is_not_loaded(monkeypatch):
    monkeypatch.setattr(kernel_loader, "compiled_kernels", plain_kernels)
    monkeypatch.setattr(kernel_loader, "are_kept", lambda *_: True)
    with BackgroundLoader(seconds=0.5) as loader:
        loader.request(KernelUse.PROOF, lambda _: None)
        assert loader.loaded(wait_s=30) is None
    with BackgroundLoader(seconds=60) as loader:
        loader.request(KernelUse.PROOF, lambda _: None)
        assert loader.loaded(wait_s=30) is plain_kernels()


def test_without_numba_nothing_is_loaded(monkeypatch):
    monkeypatch.setattr(kernel_loader, "compiled_kernels", lambda: None)
    with BackgroundLoader() as loader:
        loader.request(KernelUse.ANNEALING, lambda _: None)
        assert loader.loaded(wait_s=30) is None
