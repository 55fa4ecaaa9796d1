"""A file that is written is whole, or what was there before."""

import stat

import pytest

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


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "no" / "a.txt") as place:
        place.write_text("x")
