"""A real Chromium for the pages of the kit: found, or installed once, never skipped."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

from tests.npm import installed

_INSTALL_SECONDS = 900  # a slow mirror; usually it takes one minute
_APT = ("apt-get", "-o", "DPkg::Lock::Timeout=600", "-qq")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_AXE_RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


def chromium() -> Path:
    """Find Debian's Chromium, or install it. Raises RuntimeError, in one sentence, when neither works."""
    found = shutil.which("chromium")
    if found is not None:
        return Path(found)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise RuntimeError("These tests need Chromium: install the package `chromium`, or run them as root on Debian.")
    for command in ((*_APT, "update"), (*_APT, "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu")):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"Chromium is missing, and `{' '.join(command)}` failed: {done.stderr[-500:]}")
    return Path("/usr/bin/chromium")


def launch_flags() -> list[str]:
    """Flags under which the browser itself talks to nobody."""
    return list(_FLAGS)


@dataclass
class Seen:
    """A page that is open, and everything it did that it should not have."""

    page: Page
    console: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    dialogs: list[str] = field(default_factory=list[str])

    def on_console(self, message: ConsoleMessage) -> None:
        self.console.append(message.text)

    def on_error(self, error: Exception) -> None:
        self.console.append(str(error))

    def on_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def on_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return cast("int", self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def shown(self) -> int:
        """Number of checks that the list shows."""
        return sum(each.is_visible() for each in self.page.locator(".check").all())

    def open_everything(self) -> None:
        """Open every fold of the page."""
        self.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")

    def inaccessible(self) -> list[str]:
        """What axe-core has against the page: rule, and the first places."""
        self.page.evaluate(_axe())
        found = cast("list[dict[str, object]]", self.page.evaluate(_AXE_RUN))
        return [f"{each['id']}: {str(each['nodes'])[:600]}" for each in found]


@contextmanager
def opened(
    browser: Browser, file: Path, *, width: int = 1280, dark: bool = False, script: bool = True
) -> Generator[Seen]:
    """Open a file in a fresh profile, and watch it."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
    )
    try:
        seen = Seen(context.new_page())
        seen.page.on("console", seen.on_console)
        seen.page.on("pageerror", seen.on_error)
        seen.page.on("request", seen.on_request)
        seen.page.on("dialog", seen.on_dialog)
        seen.page.goto(file.as_uri())
        yield seen
    finally:
        context.close()


def _axe() -> str:
    package = installed(Path(__file__).parent / "judges")
    return (package / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
