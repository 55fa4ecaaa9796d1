"""A server on this machine that plays a store; it serves in a thread until it is closed."""

import http.server
import threading


class StoreServer(http.server.ThreadingHTTPServer):
    """address: of the server, as HOST:PORT."""

    daemon_threads = True

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self.shutdown()
        self._thread.join()
        self.server_close()
