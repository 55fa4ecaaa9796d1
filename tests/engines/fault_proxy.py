"""A bad network between a driver and a node server: it cuts, delays, repeats and garbles frames."""

import contextlib
import random
import socket
import struct
import threading
import time
from collections import Counter

LENGTH = struct.Struct("!I")
KINDS = ("cut", "drop", "repeat", "swap", "flip", "garbage", "delay")


class FaultProxy:
    """Passes connections on to `target`. Each frame suffers one of the faults with `probability`.

    faults: how many of each kind have happened. `is_cut`: no connection passes while it is set.
    """

    def __init__(self, target, *, probability=0.0, seed=1, kinds=KINDS):
        self.probability = probability
        self.faults: Counter[str] = Counter()
        self.is_cut = False
        self.connections = 0
        self._target = target
        self._kinds = kinds
        self._random = random.Random(seed)
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self._run(self._accept)

    def cut(self):
        """Break every connection; new ones are broken as well until `heal`."""
        self.is_cut = True
        self._close_all()

    def heal(self):
        """Let new connections pass again."""
        self.is_cut = False

    def close(self):
        """End all threads."""
        self.is_cut = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._close_all()
        for thread in self._threads:
            thread.join(10)

    def _run(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _close_all(self):
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                driver, _ = self._listener.accept()
            except OSError:
                return
            try:
                node = socket.create_connection(self._target)
            except OSError:
                driver.close()
                continue
            self.connections += 1
            self._open |= {driver, node}
            if self.is_cut:
                self._close_all()
            ends = [driver, node]
            self._run(self._pump, driver, node, ends)
            self._run(self._pump, node, driver, ends)

    def _pump(self, source, target, ends):
        try:
            held = b""
            while True:
                frame = self._frame(source)
                fault = ""
                if self._random.random() < self.probability:
                    fault = self._random.choice(self._kinds)
                    self.faults[fault] += 1
                if fault == "cut":
                    return
                if fault == "delay":
                    time.sleep(0.02)
                if fault == "swap" and not held:
                    held = frame
                    continue
                sent = self._suffered(frame, fault)
                target.sendall(sent + held)
                held = b""
        except (OSError, EOFError):
            pass
        finally:
            for end in ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            source.close()
            self._open.discard(source)

    def _suffered(self, frame, fault):
        if fault == "drop":
            return b""
        if fault == "repeat":
            return frame * 2
        if fault == "flip":
            position = self._random.randrange(LENGTH.size, len(frame))
            changed = bytes([frame[position] ^ (1 << self._random.randrange(8))])
            return frame[:position] + changed + frame[position + 1 :]
        if fault == "garbage":
            return self._random.randbytes(self._random.randrange(1, 50)) + frame
        return frame

    def _frame(self, source):
        head = self._bytes(source, LENGTH.size)
        return head + self._bytes(source, *LENGTH.unpack(head))

    def _bytes(self, source, count):
        data = bytearray()
        while len(data) < count:
            chunk = source.recv(count - len(data))
            if not chunk:
                raise EOFError
            data += chunk
        return bytes(data)
