"""A file that is written is whole, or what was there before."""

import stat

import pytest

from sluice.model.errors import InvalidInput
from sluice.store.whole_file import whole_file


def test_it_takes_the_place_of_the_old_one_with_its_mode(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with whole_file(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_fault_leaves_what_was_there(tmp_path, exists):
    path = tmp_path / "a.txt"
    if exists:
        path.write_text("old")

    def write():
        with whole_file(path) as draft:
            draft.write_text("par")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write()
    assert [one.name for one in tmp_path.iterdir()] == (["a.txt"] if exists else [])
    assert not exists or path.read_text() == "old"


def test_a_link_keeps_pointing_at_the_file(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with whole_file(link) as draft:
        draft.write_text("new")

    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_in_place():
    with whole_file("/dev/null") as place:
        assert str(place) == "/dev/null"


@pytest.mark.parametrize("name", ["no/a.txt", "folder", "x" * 300, "a\0b"])
def test_a_path_at_fault_is_a_mistake_of_the_user(tmp_path, name):
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}/{name}"

    def write():
        with whole_file(path) as place:
            place.write_text("x")

    with pytest.raises(InvalidInput, match="it cannot be written") as caught:
        write()
    assert caught.value.where == path


def test_a_full_disk_is_a_fault_of_the_machine_and_names_the_file():
    def write():
        with whole_file("/dev/full") as place:
            place.write_text("x")

    with pytest.raises(OSError, match="No space left") as caught:
        write()
    assert caught.value.filename == "/dev/full"
