"""Where the state folder is, and how it and its files become private."""

import logging

import pytest

from sluice.model.errors import InvalidInput
from sluice.store.database import StoreUnavailable
from sluice.store.home import check_state_folder, make_state_folder, state_folder


def mode(path):
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"SLUICE_HOME": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s"),
        ({"SLUICE_HOME": "~/s", "HOME": "/h"}, "/h/s"),
        ({"SLUICE_HOME": "", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/sluice"),
        ({"XDG_STATE_HOME": "x", "HOME": "/h"}, "/h/.local/state/sluice"),
        ({"HOME": "/h"}, "/h/.local/state/sluice"),
    ],
)
def test_the_state_folder_is_that_of_sluice_or_of_the_xdg_rules(environ, folder):
    assert str(state_folder(environ)) == folder


def test_an_account_without_a_home_folder_must_name_one(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match="no home folder"):
        state_folder({})

    monkeypatch.chdir(tmp_path)
    assert state_folder({"SLUICE_HOME": "~/s"}) == tmp_path / "~" / "s"


def test_a_new_folder_is_private(tmp_path):
    folder = tmp_path / "state"
    check_state_folder(folder)  # nothing is made by looking
    assert not folder.exists()
    make_state_folder(folder)

    assert mode(folder) == 0o700


@pytest.mark.parametrize("name", ["runs", "service", "advice.json", "profiles.db-wal", "fits.db"])
def test_a_folder_of_state_alone_is_made_private_with_a_message(tmp_path, caplog, name):
    (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    with caplog.at_level(logging.WARNING):
        check_state_folder(tmp_path)

    assert mode(tmp_path) == 0o700
    assert "was open to other users (mode 0755). It is private now (mode 0700)" in caplog.text


def test_a_private_folder_stays_as_it_is_without_a_message(tmp_path, caplog):
    tmp_path.chmod(0o500)
    check_state_folder(tmp_path)
    tmp_path.chmod(0o700)

    assert caplog.text == ""


def test_in_a_folder_with_other_uses_only_the_state_becomes_private(tmp_path):
    (tmp_path / "thesis.tex").touch(0o644)
    (tmp_path / "runs").mkdir()
    for name in ("profiles.db", "fits.db-wal"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    for folder in (tmp_path, tmp_path / "runs"):
        folder.chmod(0o755)
    check_state_folder(tmp_path)

    modes = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert modes == {"thesis.tex": 0o644, "runs": 0o700, "profiles.db": 0o600,
                     "fits.db-wal": 0o600}  # fmt: skip
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("shared", [0o775, 0o757, 0o720])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path, shared):
    tmp_path.chmod(shared)

    with pytest.raises(InvalidInput, match=rf"may write to it \(mode 0{shared:o}\)"):
        check_state_folder(tmp_path)


def test_a_folder_with_the_sticky_bit_is_a_folder_with_other_uses(tmp_path):
    tmp_path.chmod(0o1777)
    check_state_folder(tmp_path)

    assert mode(tmp_path) == 0o1777


def test_a_database_that_others_may_write_to_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    (tmp_path / "profiles.db").touch()
    (tmp_path / "profiles.db").chmod(0o666)

    with pytest.raises(InvalidInput, match="mode 0666"):
        check_state_folder(tmp_path)


@pytest.mark.parametrize("is_link", [True, False])
def test_what_is_not_a_folder_cannot_hold_state(tmp_path, is_link):
    path = tmp_path / "state"
    if is_link:
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.touch()

    with pytest.raises(StoreUnavailable):
        check_state_folder(path)
