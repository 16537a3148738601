"""Options over the file over defaults, and one clear sentence for every value that is wrong."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.errors import UsageFault
from conformance.redact import Redactor
from conformance.settings import DEFAULT_REVISION, Options, Settings, read_settings

FILE = """\
[provider]
driver = "one"
pass-env = ["REGION"]

[config]
image = "base"

[secrets]
apiKey = "MY_KEY"

[run]
profiles = ["core"]
report-dir = "out"
seed = 5

[limits]
initialize = 20
"""
ENVIRONMENT = {"MY_KEY": "hunter22", "REGION": "here"}


def settings(folder: Path, text: str | None = FILE, **options: object) -> Settings:
    """Read settings in a folder that holds a plugin and, unless None, a settings file."""
    plugin = folder / "plugin"
    plugin.mkdir(exist_ok=True)
    if text is not None:
        (plugin / "conformance.toml").write_text(text, encoding="utf-8")
    return read_settings(Options(str(plugin), **options), ENVIRONMENT, folder)  # type: ignore[arg-type]


def test_the_file_beside_the_package_is_read(tmp_path: Path) -> None:
    read = settings(tmp_path)

    assert (read.driver, read.config, read.secrets) == ("one", {"image": "base"}, {"apiKey": "hunter22"})
    assert (read.pass_env, read.profiles, read.seed) == (("REGION",), ("core",), 5)
    assert (read.report_dir, read.limits) == (tmp_path / "out", {"initialize": 20.0})
    assert read.revision == DEFAULT_REVISION


def test_options_win_over_the_file(tmp_path: Path) -> None:
    read = settings(
        tmp_path,
        driver="two",
        config='{"image": "other", "size": 2}',
        profiles=["native-sync"],
        report_dir="there",
        seed=9,
        limits=["initialize=7.5", "probe=3"],
    )

    assert (read.driver, read.config, read.profiles) == ("two", {"image": "other", "size": 2}, ("native-sync",))
    assert (read.report_dir, read.seed) == (tmp_path / "there", 9)
    assert read.limits == {"initialize": 7.5, "probe": 3.0}


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    read = settings(tmp_path, None)

    assert (read.config, dict(read.secrets), read.limits, read.profiles) == ({}, {}, {}, ())
    assert read.report_dir == tmp_path / "conformance-report"


def test_our_own_providers_read_no_file(tmp_path: Path) -> None:
    (tmp_path / "conformance.toml").write_text("nonsense", encoding="utf-8")

    assert read_settings(Options("reference"), {}, tmp_path).config == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[provder]\n", "Did you mean 'provider'?"),
        ('[provider]\ndrivr = "x"\n', "Did you mean 'driver'?"),
        ("[run]\nseed = 'x'\n", "run.seed must be an integer"),
        ("[run]\nprofiles = 'core'\n", "profiles must be a list of strings"),
        ("[run]\nrevision = '2026.842'\n", "Did you mean 2026.824?"),
        ("[limits]\ninitialize = 'long'\n", "limits.initialize must be a number"),
        ("[secrets]\nkey = 5\n", "secrets.key must name an environment variable"),
        ("[secrets]\nkey = 'UNSET'\n", "UNSET, which is not set"),
        ("run = 5\n", "run must be a table"),
        ("[run\n", "cannot be read"),
    ],
)
def test_a_wrong_file_gets_one_clear_sentence(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageFault) as caught:
        settings(tmp_path, text)

    assert told in caught.value.sentence()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"config": "{"}, "not JSON"),
        ({"config": "[]", "file": None}, "no such file"),
        ({"config": "missing.json"}, "no such file"),
        ({"limits": ["initialize"]}, "NAME=NUMBER"),
        ({"limits": ["initialize=soon"]}, "NAME=NUMBER"),
        ({"revision": "1"}, "Known:"),
        ({"file": "nowhere.toml"}, "no such file"),
    ],
)
def test_a_wrong_option_gets_one_clear_sentence(tmp_path: Path, options: dict[str, object], told: str) -> None:
    with pytest.raises(UsageFault) as caught:
        settings(tmp_path, None, **options)

    assert told in caught.value.sentence()


SECRET = 'p/ss w"o\\rd+é=ü'  # noqa: S105 - every character that some encoding changes


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        "p%2Fss%20w%22o%5Crd%2B%C3%A9%3D%C3%BC",
        "cC9zcyB3Im9ccmQrw6k9w7w=",
        'key: "p/ss w\\"o\\\\rd+\\u00e9=\\u00fc"',
    ],
)
def test_a_secret_is_replaced_in_every_form(text: str) -> None:
    cleaned = Redactor({"token": SECRET})(f"before {text} after")

    assert "[redacted:token]" in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


@given(st.text(min_size=4, max_size=30), st.text(max_size=50))
def test_no_secret_survives(secret: str, around: str) -> None:
    assert secret not in Redactor({"s": secret})(around + secret + around).replace("[redacted:s]", "")


@given(st.text(max_size=60))
def test_text_without_secrets_is_left_alone(text: str) -> None:
    assert Redactor({"short": "abc", "long": "\U0001f512never there\U0001f512"})(text) == text


def test_hooks_are_commands_that_no_shell_reads(tmp_path: Path) -> None:
    text = '[hooks]\ninventory = "my-cli list --format \'{name} x\'"\nkill = ["my-cli", "rm", "{id}"]\n'

    assert settings(tmp_path, None).hooks.names == []
    hooks = settings(tmp_path, text, inventory="other list").hooks
    assert (hooks.inventory, hooks.kill) == (("other", "list"), ("my-cli", "rm", "{id}"))
    assert settings(tmp_path, text).hooks.inventory == ("my-cli", "list", "--format", "{name} x")


@pytest.mark.parametrize("value", ["''", '"it\'s"', "[]", "[1]", "5", "{ a = 1 }"])
def test_a_hook_that_is_no_command_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageFault, match="inventory"):
        settings(tmp_path, f"[hooks]\ninventory = {value}\n")
