"""A command line that is shown can be pasted, whatever is in it."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.reporting.shell_words import shell_words


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    st.sampled_from(["ascii", "utf-8", "latin-1"]),
)
def test_what_is_shown_fits_the_terminal_and_has_no_control_letters(word, encoding):
    shown = shell_words("sluice", word, encoding=encoding)

    assert shown.encode(encoding).decode(encoding) == shown
    assert "\x1b" not in shown
    assert "\n" not in shown


@pytest.mark.skipif(
    shutil.which("bash") is None,
    reason="there is no bash here; .ci/run needs one, and runs this test",
)
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_shell_reads_each_word_as_it_is(encoding):
    words = ["caf\u00e9 1", "it's \u6f22", "\x1b[31mred\n", "a\\b\u00e9'", "", "plain"]
    line = shell_words(*words, encoding=encoding)
    read = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)

    assert [*words, ""] == read.stdout.decode().split("\0")
