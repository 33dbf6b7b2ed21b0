"""LocalHub: a server on loopback that responds like the Hugging Face Hub and a file server."""

import base64
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse


class LocalHub(http.server.ThreadingHTTPServer):
    """Server of repositories and of plain files.

    Attributes:
        repositories: dict from `owner/name` to a dict from a revision to a dict from a path to
            bytes. Each state of a repository is also reachable by its commit.
        files: dict from a path below /files/ to bytes.
        asked: list of str, `"METHOD /path"` of every request.
        statuses: dict from a path to an HTTP status with which requests for it are answered.
        cuts: dict from a path to a list of numbers of bytes, after each of which one answer is cut.
        delays: dict from a path to the seconds before an answer.
        no_ranges: set of paths whose server ignores `Range`.
        headers: list of dict, the headers of every request, with names in lower case.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories, self.files, self.asked, self.headers = {}, {}, [], []
        self.statuses, self.cuts, self.delays, self.no_ranges = {}, {}, {}, set()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def add(self, name, files, revision="main"):
        """Adds a state of a repository and returns its commit."""
        digest = hashlib.sha1(name.encode())
        for path in sorted(files):
            digest.update(path.encode() + files[path])
        states = self.repositories.setdefault(name, {})
        states[revision] = states[digest.hexdigest()] = dict(files)
        return digest.hexdigest()

    def commit_of(self, name, revision):
        states = self.repositories[name]
        same = (key for key, files in states.items() if files == states[revision])
        return next(key for key in same if re.fullmatch("[0-9a-f]{40}", key))

    def downloads(self):
        """Returns the paths of all requests with GET for the content of a file."""
        return [a.split()[1] for a in self.asked if re.match(r"GET /(files/|\S+/resolve/)", a)]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(body=True)

    def do_HEAD(self):
        self.answer(body=False)

    def do_POST(self):
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.note()
        if path in self.server.statuses:
            return self.say(self.server.statuses[path], b"{}")
        if path == "/api/validate-yaml":
            return self.json({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self.create(json.loads(content))
        if match := re.fullmatch(r"/api/models/(.+?)/preupload/(.+)", path):
            names = [file["path"] for file in json.loads(content)["files"]]
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            return self.json({"files": [{"path": name, **modes} for name in names]})
        if match := re.fullmatch(r"/api/models/(.+?)/commit/(.+)", path):
            return self.commit(match[1], match[2], content)
        return self.say(404, b"{}")

    def create(self, wanted):
        owner = wanted.get("organization") or "me"
        name = f"{owner}/{wanted['name']}"
        if name in self.server.repositories:
            return self.say(409, json.dumps({"url": f"{self.server.url}/{name}"}).encode())
        self.server.add(name, {".gitattributes": b""})
        return self.json({"url": f"{self.server.url}/{name}", "name": name, "id": name})

    def commit(self, name, revision, content):
        files = dict(self.server.repositories[name][revision])
        for line in content.decode().splitlines():
            entry = json.loads(line)
            if entry["key"] == "file":
                files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
        commit = self.server.add(name, files, revision)
        url = f"{self.server.url}/{name}/commit/{commit}"
        return self.json({"success": True, "commitOid": commit, "commitUrl": url})

    def answer(self, body):
        path = self.note()
        if path in self.server.statuses:
            return self.say(self.server.statuses[path], b"{}", body=body)
        if path.startswith("/redirect/"):
            to = "/files/" + path.removeprefix("/redirect/")
            return self.say(302, b"", {"location": self.server.url + to}, body)
        if path.startswith("/files/"):
            content = self.server.files.get(path.removeprefix("/files/"))
            return self.file(path, content, {}, body)
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+))?", path):
            return self.describe(match[1], match[2], match[3] or "main")
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.resolve(path, *match.groups(), body)
        return self.say(404, b"{}", body=body)

    def describe(self, name, what, revision):
        files = self.files_of(name, revision)
        if files is None:
            return None
        if what == "tree":
            rows = [
                {"type": "file", "path": path, "size": len(data), "oid": etag(data)}
                for path, data in files.items()
            ]
            return self.json(rows)
        siblings = [{"rfilename": path} for path in files]
        commit = self.server.commit_of(name, revision)
        return self.json({"id": name, "modelId": name, "sha": commit, "siblings": siblings})

    def resolve(self, path, name, revision, file, body):
        files = self.files_of(name, revision)
        if files is not None:
            commit = {"x-repo-commit": self.server.commit_of(name, revision)}
            self.file(path, files.get(file), commit, body)

    def files_of(self, name, revision):
        """Returns the files of a repository, or answers that there is none."""
        states = self.server.repositories.get(name)
        if states is None or revision not in states:
            code = "RepoNotFound" if states is None else "RevisionNotFound"
            status = 401 if states is None else 404  # the Hub hides private repositories
            return self.say(status, b"{}", {"x-error-code": code})
        return states[revision]

    def file(self, path, content, headers, body):
        if content is None:
            return self.say(404, b"", {"x-error-code": "EntryNotFound"}, body)
        headers = {**headers, "etag": f'"{etag(content)}"', "accept-ranges": "bytes"}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if match is None or path in self.server.no_ranges:
            return self.say(200, content, headers, body, path)
        start, end = int(match[1]), int(match[2] or len(content) - 1)
        headers["content-range"] = f"bytes {start}-{end}/{len(content)}"
        return self.say(206, content[start : end + 1], headers, body, path)

    def json(self, value):
        return self.say(200, json.dumps(value).encode(), {"content-type": "application/json"})

    def say(self, status, content, headers=None, body=True, path=None):
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        cuts = self.server.cuts.get(path) if body else None
        if cuts:
            self.wfile.write(content[: cuts.pop(0)])
            self.close_connection = True
            self.connection.shutdown(2)
        elif body:
            self.wfile.write(content)

    def note(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        time.sleep(self.server.delays.get(path, 0))
        self.server.headers.append({key.lower(): text for key, text in self.headers.items()})
        return path

    def log_message(self, *args):
        pass


def etag(content):
    return hashlib.sha1(content).hexdigest()
