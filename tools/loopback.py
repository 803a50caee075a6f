"""An HTTP server of this machine's loopback address, in the background until a block ends."""

from __future__ import annotations

import http.server
import threading
from types import TracebackType
from typing import Self

POLL_S = 0.05  # how long the end of a block may wait for the server to see it


class Loopback:
    """What the servers of the site, of a model's folder and of the tests have in common.

    Args:
        handler: answers the requests.
        facts: attributes of the handler's class: what it serves.
        port: 0 takes any free one.
        server: the class of the server.

    Attributes:
        origin: "http://127.0.0.1:PORT".

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler],
                 facts: dict[str, object], port: int = 0,
                 server: type[http.server.ThreadingHTTPServer]
                 = http.server.ThreadingHTTPServer) -> None:
        # Else a body waits until its head is acknowledged: 40 ms each.
        facts = {"disable_nagle_algorithm": True, **facts}
        self.http = server(("127.0.0.1", port), type("Handler", (handler,), facts))
        self.origin = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(POLL_S,),
                                       daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
