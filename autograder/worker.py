"""One worker: confined, then serving requests about the student's package until its socket closes.

Runs in the confined process only. ``serve`` is entered in a fork of the zygote and never returns.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from . import wire
from .confine import Cell, Confinement, confine, prepare_filter
from .feedback.server import Server, no_debugger
from .feedback.values import flatten


@dataclass(frozen=True)
class Post:
    """Where a worker works.

    Attributes:
        folder: it holds the package, and is put on the import path.
        package: name of the student's package, or of the reference's.
        alias: the package's name inside this process.
        scratch: the worker's current folder, the only one it can write to.
        trusted: run the reference: no confinement.
        given: where the zygote has imported the package's given files from; empty when it has not.
    """

    folder: str
    package: str
    alias: str
    scratch: str
    trusted: bool
    given: str = ""


def serve(sock: socket.socket, post: Post, cell: Cell, parent: int) -> NoReturn:
    """What a fresh fork does, in this order. Leaves through ``os._exit``: exit handlers belong to the zygote."""
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        _close_all_but(sock.fileno())
        os.chdir(post.scratch)
        os.environ["HOME"] = os.environ["TMPDIR"] = post.scratch
        random.seed(0)  # after a fork Python draws a new seed for this one
        confinement = Confinement() if post.trusted else confine(cell, parent)
        sys.dont_write_bytecode = True
        sys.breakpointhook = no_debugger  # pdb would read the end of its input, and what then differs between releases
        if "torch" not in sys.modules:
            sys.meta_path.insert(0, NoTorch())
        sys.path[0] = post.folder  # in the place of the engine's parent: what lies there is none of theirs
        if post.package in sys.modules:  # its given files are there already; what is still to be imported lies here
            sys.modules[post.package].__path__ = [os.path.join(post.folder, post.package)]
        gc.enable()
        _answer_requests(sock, post, confinement)
        code = 0
    finally:
        os._exit(code)


def prepare() -> None:
    """What a worker inherits: done once, before the fork, since it is the same for all.

    Signals are as in a new program. Every generator that students may use starts alike: the same submission gets
    the same score each time.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
    prepare_filter()
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the generator that students may use
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)


class NoTorch:
    """Parts that are about numpy are done without torch. A clear word, no boundary: who wants to gets around it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError("torch is not allowed in this part", name=name)


def _answer_requests(sock: socket.socket, post: Post, confinement: Confinement) -> None:
    if post.alias != post.package:
        from pathlib import Path

        from .feedback.loading import load_as

        load_as(Path(post.folder), post.package, post.alias)
    given = os.path.join(post.given, post.package) if post.given else ""
    server = Server(post.alias, os.path.join(post.folder, post.package), given=given)
    wire.send(sock, 0, "ready", flatten(vars(confinement), server._refer))
    while True:
        try:
            number, request, arguments = wire.receive(sock)
        except wire.Gone:
            return
        status, reply = server.answer(request, arguments)
        try:
            wire.send(sock, number, status, reply)
        except wire.Gone:
            return


def _close_all_but(kept: int) -> None:
    """Sockets of the zygote and of other workers must not be found here."""
    os.closerange(3, kept)
    os.closerange(kept + 1, min(os.sysconf("SC_OPEN_MAX"), 65536))
