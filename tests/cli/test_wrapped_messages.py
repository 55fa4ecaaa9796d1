"""Messages in a terminal are broken between words, as tables and answers are."""

import io

from sluice.cli import answers

NOTE = "note: " + ", ".join(f"policy-{n}" for n in range(30))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def said_in_a_terminal(monkeypatch, message):
    """The lines in a terminal of 80 columns. pytest has its own stderr for each part of a test."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    answers.talk(message)
    return terminal.getvalue().splitlines()


def test_a_long_message_is_broken_between_words(monkeypatch):
    lines = said_in_a_terminal(monkeypatch, NOTE)

    assert max(map(len, lines)) <= 80
    assert NOTE.split() == " ".join(lines).split()


def test_a_command_to_copy_and_a_long_word_stay_whole(monkeypatch):
    command = "To see why: sluice why --file=" + "f" * 90 + " -- job"
    word = "p" * 90

    assert [command, word] == said_in_a_terminal(monkeypatch, f"{command}\n{word}")


def test_a_message_in_a_pipe_is_one_line(capsys):
    answers.talk(NOTE)

    assert f"{NOTE}\n" == capsys.readouterr().err
