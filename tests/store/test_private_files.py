"""Private files in folders that others may write to: links and files of others are left alone."""

import os
import stat
from pathlib import Path

import pytest
from tests.skips import skip

from sluice.engines.ray import agent_actor
from sluice.model.errors import InvalidInput
from sluice.store.home import check_state_folder
from sluice.store.private import make_private, make_private_file, open_private_file


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_text("keep\n")
    path.chmod(0o644)
    return path


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_WRONLY | os.O_TRUNC], ids=["lock", "draft"])
def test_what_a_link_leads_to_is_not_touched(victim, tmp_path, link, flags):
    link(victim, tmp_path / "lock")

    with pytest.raises(OSError, match=r"symbolic links|another file"):
        open_private_file(tmp_path / "lock", flags)
    assert mode_of(victim) == 0o644
    assert victim.read_text() == "keep\n"


def test_a_file_of_another_user_is_not_touched(victim, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: victim.stat().st_uid + 1)

    with pytest.raises(PermissionError, match="another user's"):
        open_private_file(victim, os.O_RDWR | os.O_TRUNC)
    assert (mode_of(victim), victim.read_text()) == (0o644, "keep\n")


def test_an_own_file_that_was_open_to_others_is_made_private(victim):
    os.close(open_private_file(victim, os.O_RDWR))

    assert mode_of(victim) == 0o600


def test_a_database_behind_a_dangling_link_is_private(tmp_path):
    (tmp_path / "profiles.db").symlink_to(tmp_path / "elsewhere.db")
    make_private_file(tmp_path / "profiles.db")

    assert mode_of(tmp_path / "elsewhere.db") == 0o600


@pytest.fixture
def planted(tmp_path):
    """Make a link as another user would, in a folder that all may write to."""
    if os.geteuid() != 0:
        skip("only root gives a link to another user")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)

    def plant(name, target):
        link = folder / name
        link.symlink_to(target)
        os.chown(link, 12345, 12345, follow_symlinks=False)
        return link

    return plant


def test_a_link_of_another_user_makes_no_database_elsewhere(planted, tmp_path):
    link = planted("s.db", tmp_path / "elsewhere.db")

    with pytest.raises(PermissionError, match="a link that another user made"):
        make_private_file(link)
    assert not (tmp_path / "elsewhere.db").exists()


@pytest.mark.parametrize("name", ["profiles.db", "runs"])
def test_a_link_of_another_user_in_the_state_folder_is_refused(planted, tmp_path, name):
    victim = tmp_path / "victim"
    victim.mkdir() if name == "runs" else victim.touch()
    victim.chmod(0o755)
    link = planted(name, victim)

    with pytest.raises(InvalidInput, match="a link that another user made"):
        check_state_folder(link.parent)
    assert stat.S_IMODE(victim.stat().st_mode) == 0o755


def test_folders_that_only_bear_the_name_of_a_node_are_left(victim, tmp_path, monkeypatch):
    monkeypatch.setattr(agent_actor.tempfile, "gettempdir", lambda: str(tmp_path))
    foreign, own = tmp_path / "other", tmp_path / f"{agent_actor.PREFIX}own"
    for folder in (foreign, own):
        folder.mkdir(mode=0o700)
        (folder / "kept").write_text("data\n")
    (foreign / "lock").write_text("")
    (own / "lock").write_text("")
    (tmp_path / f"{agent_actor.PREFIX}trap").symlink_to(foreign)
    agent_actor.remove_left_folders()

    assert (foreign / "kept").exists()
    assert not own.exists()


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o777, 0o601])
def test_rights_of_others_are_taken_away_and_those_of_the_owner_kept(victim, mode):
    victim.chmod(mode)
    make_private(victim)

    assert mode & 0o700 == victim.stat().st_mode & 0o777


def test_what_is_private_or_missing_is_left_as_it_is(victim, tmp_path, monkeypatch):
    """It may be on a disk that is mounted to be read only."""
    victim.chmod(0o600)
    monkeypatch.setattr(Path, "chmod", None)

    make_private(victim)
    make_private(tmp_path / "missing")
