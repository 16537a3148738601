"""The HTML of the kit: templates that escape everything, and a policy under which only our own lines may act."""

import base64
import hashlib
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_PACKAGE: Final = "conformance.reports"
_FOLDER: Final = "templates"


def html_page(template: str, *, style: str = "", script: str | None = None, **values: object) -> str:
    """Fill a template into one file that needs no network.

    `style` is added to the common style sheet; `script` names a file of ours. Both are allowed by their hash, and
    nothing else is: no image, no font, no connection, no form, no other script, even if some text broke out.
    """
    css = _asset("page.css") + style
    code = None if script is None else _asset(script)
    allowed = "'none'" if code is None else f"'{_hash(code)}'"
    policy = [
        "default-src 'none'",
        f"style-src '{_hash(css)}'",
        f"script-src {allowed}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    environment = Environment(
        loader=PackageLoader(_PACKAGE, _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        policy="; ".join(policy),
        css=Markup(css),  # noqa: S704 our own file
        script=None if code is None else Markup(code),  # noqa: S704 our own file
        **values,
    )


def _asset(name: str) -> str:
    return files(_PACKAGE).joinpath(_FOLDER, name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
