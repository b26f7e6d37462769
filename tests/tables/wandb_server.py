"""A stand-in for the server of W&B: answers what the client asks, and keeps what it is sent."""

import contextlib
import gzip
import http.server
import json
import re
import threading

import wandb

ME = {"id": "1", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}}
ONE_PAGE = {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}


class Server(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked = []

    def sent(self, operation):
        """The variables of every call of that operation, in order."""
        return [variables for name, variables in self.asked if name == operation]


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path != "/graphql":
            return self.answer({})
        content = json.loads(body)
        variables = content.get("variables") or {}
        operation = re.search(r"\b(?:query|mutation)\s+(\w+)", content["query"])[1]
        self.server.asked.append((operation, variables))
        view = {"id": "view1", "name": variables.get("name"), "spec": variables.get("spec")}
        view |= {"displayName": variables.get("displayName"), "description": "", "type": "runs"}
        view |= {"project": {"name": variables.get("projectName"), "entityName": "me"}}
        project = {
            "id": "p",
            "name": "mine",
            "internalId": "UHJvamVjdEludGVybmFsSWQ6MQ==",
            "entityName": "me",
            "entity": {"name": "me"},
        }
        data = {
            "viewer": ME,
            "serverInfo": {"cliVersionInfo": {}, "latestLocalVersionInfo": None, "features": []},
            "models": ONE_PAGE, "entity": None, "project": project,
            "upsertModel": {"model": project, "project": project, "inserted": True},
            "upsertView": {"view": view, "inserted": True},
            "upsertSweep": {"sweep": {"name": "sweep1", "project": project},
                            "configValidationWarnings": []},
        }  # fmt: skip
        self.answer({"data": data})

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def stand_in(monkeypatch):
    """The client of this process talks to it, with a key."""
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):  # its process may have ended
            wandb.teardown()  # it keeps the address for all that follows
        server.shutdown()
        server.server_close()
