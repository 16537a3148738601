"""Commands: what is allowed is not held against a provider, and the checks' own texts and scripts are what they say."""

import random
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.payloads import (
    DIGEST,
    NASTY_TEXTS,
    SHOW_ARGUMENTS,
    base64_text,
    digest_of,
    named_variables,
    numbered_lines,
    print_in_single_bytes,
    print_numbered_lines,
    print_wide_text,
    random_texts,
    show_variables,
    shown_input,
    shown_texts,
    wide_text,
)
from conformance.suites.execute import script_of_size

from .host.live import live_provider

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
"""Texts that can be an argument or the value of a variable."""


def run(script: str, *words: str, variables: dict[str, str] | None = None, stdin: str = "") -> str:
    command = ["/bin/sh", "-c", script, "sh", *words]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **(variables or {})}
    return subprocess.run(
        command, env=environment, input=stdin.encode(), capture_output=True, check=True
    ).stdout.decode()


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8))
def test_what_a_shell_shows_of_arguments_and_variables_is_what_it_was_given(texts: list[str]) -> None:
    variables = dict(named_variables(texts))

    assert shown_texts(run(SHOW_ARGUMENTS, *texts)) == texts
    assert shown_texts(run(show_variables(list(variables)), variables=variables)) == texts


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_what_a_shell_shows_of_its_input_is_what_it_was_given(text: str) -> None:
    assert shown_input(run("base64", stdin=text)) == text


def test_a_variable_that_is_missing_does_not_look_like_an_empty_one() -> None:
    assert shown_texts(run(show_variables(["KIT_0", "KIT_1"]), variables={"KIT_1": ""})) == ["(unset)", ""]


@pytest.mark.parametrize("stdout", ["", "not base64!\n", "\u00e4"])
def test_what_is_no_base64_is_shown_as_it_came(stdout: str) -> None:
    assert shown_input(stdout) == stdout


def test_the_table_of_nasty_texts_has_no_text_twice() -> None:
    assert len(set(NASTY_TEXTS)) == len(NASTY_TEXTS)


def test_random_texts_can_be_repeated_and_are_never_empty() -> None:
    first, again, other = (random_texts(random.Random(seed), 50) for seed in (1, 1, 2))  # noqa: S311 - not for secrets

    assert first == again != other
    assert all(first)


def test_scripts_print_the_texts_that_are_expected_of_them() -> None:
    assert run(print_numbered_lines(5000, "mark")) == numbered_lines(5000, "mark")
    assert run(print_wide_text(1001)) == wide_text(1001)
    assert run(print_in_single_bytes("a\0\u20ac\U0001f600\n", ":")) == "a\0\u20ac\U0001f600\n"
    assert run(DIGEST, stdin="text").split()[0] == digest_of("text")


def test_texts_have_the_size_that_was_asked_for() -> None:
    assert len(base64_text(random.Random(1), 4096)) == 4096  # noqa: S311 - not for secrets
    assert len(numbered_lines(4_300_000).encode()) >= 4_300_000


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [40_960, 131_071])
async def test_a_script_of_a_size_has_that_size_and_knows_its_digest(size: int) -> None:
    async with live_provider() as provider:
        script, digest = script_of_size(provider, size)

    assert len(script.encode()) == size
    assert run(script).split()[0] == digest
