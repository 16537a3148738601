"""`http.fetch` reaches public addresses over HTTP, and nothing else."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from conformance.host import fetch as module
from conformance.host.fetch import fetch


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Location", "/elsewhere")
        self.send_header("X-Asked", self.headers.get("X-Ask", ""))
        self.end_headers()
        self.wfile.write("höre".encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(418)
        self.end_headers()
        self.wfile.write(body[::-1])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


def allow(_: str) -> None:
    """Whatever the host is."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on this machine, with the ban on private addresses lifted."""
    monkeypatch.setattr(module, "_refuse_private", allow)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "url", [None, 5, "", "/path", "file:///etc/hostname", "ftp://example.org/", "http:///path", "javascript:1"]
)
def test_only_http_addresses_are_fetched(url: object) -> None:
    with pytest.raises(ValueError, match=r"string|http"):
        fetch(url, None)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "[::1]", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "[fd00::1]"],  # noqa: S104 - to be refused
)
def test_private_addresses_are_refused(host: str) -> None:
    with pytest.raises(ValueError, match="private"):
        fetch(f"http://{host}/", None)


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: object) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", ("93.184.215.14", 0)), (socket.AF_INET, 1, 6, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ValueError, match="private"):
        fetch("http://sandbox.example/", None)


def test_the_answer_has_status_headers_and_text(site: str) -> None:
    answer: Any = fetch(f"{site}/", {"headers": {"X-Ask": "yes"}})

    assert (answer["status"], answer["statusText"], answer["body"]) == (200, "OK", "höre")
    assert answer["headers"]["x-asked"] == "yes"


def test_method_and_body_are_sent_and_an_error_status_is_an_answer(site: str) -> None:
    answer: Any = fetch(f"{site}/", {"method": "POST", "body": "abc"})

    assert (answer["status"], answer["body"]) == (418, "cba")


def test_a_redirect_is_handed_to_the_worker_and_not_followed(site: str) -> None:
    answer: Any = fetch(f"{site}/away", None)

    assert (answer["status"], answer["headers"]["location"]) == (302, "/elsewhere")
