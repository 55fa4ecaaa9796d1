"""A server on loopback that answers each connection with the same bytes, of whatever kind."""

import contextlib
import socket
import threading

# Bytes that no client of HTTP can read, by their source.
NOT_HTTP = {
    "a port with TLS": b"\x15\x03\x03\x00\x02\x02\x50",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "a status that is none": b"HTTP/1.1 abc OK\r\n\r\n{}",
    "chunks that are none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
    "an error in such chunks": b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
    "nothing": b"",
}


@contextlib.contextmanager
def raw_served(said):
    """Yields its address without a scheme."""

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # it was closed
                return
            with connection, contextlib.suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
