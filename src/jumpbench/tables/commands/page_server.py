"""The server of the page of all tables, which follows the runs: ``jumpbench report --serve``."""

import http.server
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.commands.report_page import page_file, stamp, write_page


class _Follow(http.server.BaseHTTPRequestHandler):
    """``/`` is the page as the tables stand now, ``/changed`` the stamp of the tables."""

    shown = ""

    def do_GET(self) -> None:
        # A page of another site may call a name of its own 127.0.0.1, and so read this one.
        name = (self.headers.get("Host") or "").lower().split(":")[0]
        if name not in ("127.0.0.1", "localhost"):
            return self.send_error(403, "this page is for 127.0.0.1 and localhost alone")
        try:
            now = stamp()
            if self.path == "/changed":
                return self._answer(now.encode(), "text/plain")
            if self.path not in ("/", "/index.html"):
                return self.send_error(404)
            if now != _Follow.shown or not page_file().is_file():
                write_page(now)
                _Follow.shown = now
            return self._answer(page_file().read_bytes(), "text/html; charset=utf-8")
        except (UserError, OSError) as error:
            return self._answer(f"{error}\n".encode(), "text/plain; charset=utf-8", 503)

    def _answer(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a page that asks every two seconds is no news."""


def server(port: int = 8765) -> http.server.ThreadingHTTPServer:
    """A server of the page for this machine alone; ``port`` 0 takes a free one.

    Raises:
        UserError: the port is taken.
    """
    try:
        return http.server.ThreadingHTTPServer(("127.0.0.1", port), _Follow)
    except (OSError, OverflowError) as error:
        raise UserError(f"port={port}: {error}; give another one, or port=0") from None
