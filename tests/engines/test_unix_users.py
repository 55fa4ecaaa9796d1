"""Steps with the rights of another user, and whose tasks run as whom."""

import os
import threading
from dataclasses import replace

import pytest
from tests.engines.fakes import job
from tests.skips import skip

from sluice.engines import unix_users
from sluice.engines.local.customer_folders import CustomerFolders
from sluice.engines.unix_users import CustomerUsers, UnixUser, acting_as, acting_user
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.ids import JobId, NodeId

NODE = NodeId("node-1")


@pytest.fixture
def root():
    """Skips where this process may not change its user."""
    if os.geteuid() != 0:
        skip("only root may act as another user")


def users_of(words="acme=nobody, globex=daemon"):
    found = CustomerUsers.of_words(words, "")
    assert found is not None
    return found


def job_of(customer):
    return replace(job("a"), customer=customer)


def test_each_customer_has_a_user_and_no_words_mean_none():
    found = users_of()

    assert {"acme": "nobody", "globex": "daemon"} == {
        customer: user.name for customer, user in found.users.items()
    }
    assert "daemon" == found.of(job_of("globex")).name
    assert CustomerUsers.of_words(" ", "") is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("acme", "names no customer and user"),
        ("=nobody", "names no customer and user"),
        ("acme=no-such-user", "has no user 'no-such-user'"),
        ("acme=root", "may read the files of all others"),
        ("acme=nobody, globex=nobody", "'acme' and 'globex' are both user 'nobody'"),
    ],
)
def test_other_words_are_refused(words, says):
    with pytest.raises(InvalidInput, match=says):
        users_of(words)


@pytest.mark.parametrize(
    ("customer", "says"), [(None, "has no customer"), ("initech", "is of 'initech'")]
)
def test_a_job_of_no_listed_customer_is_refused(customer, says):
    with pytest.raises(InvalidInput, match=says):
        users_of().of(job_of(customer))


def test_a_plain_user_may_not_keep_customers_apart(monkeypatch):
    monkeypatch.setattr(unix_users.os, "geteuid", lambda: 1000)

    with pytest.raises(EngineUnavailable, match="only root may start tasks as other users"):
        users_of().check_allowed()


@pytest.mark.usefixtures("root")
def test_a_python_that_the_user_cannot_run_is_refused_with_its_reason(tmp_path):
    nothing = replace(UnixUser.named("nobody"), python=str(tmp_path / "python"))

    with pytest.raises(EngineUnavailable, match="cannot run Sluice's Python"):
        CustomerUsers(users={"acme": nothing}).check_allowed()


@pytest.mark.usefixtures("root")
def test_a_step_of_a_user_has_no_rights_of_root_and_other_threads_keep_theirs(tmp_path):
    tmp_path.chmod(0o777)
    secret = tmp_path / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)
    seen, acts = [], threading.Event()

    def read():
        acts.wait(20)
        seen.append(secret.read_text())

    thread = threading.Thread(target=read)
    thread.start()
    user = UnixUser.named("nobody")

    with acting_as(user):
        with pytest.raises(PermissionError):
            secret.read_text()
        acts.set()
        thread.join()
        assert user == acting_user()

    assert ["of root"] == seen
    assert "of root" == secret.read_text()
    assert acting_user() is None


@pytest.mark.usefixtures("root")
def test_what_a_step_makes_belongs_to_its_user(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.chdir(tmp_path)
    user = UnixUser.named("nobody")

    with acting_as(user):
        os.mkdir("made")  # noqa: PTH102  # from here: the folders above are private

    assert (user.uid, user.gid) == (
        (tmp_path / "made").stat().st_uid,
        (tmp_path / "made").stat().st_gid,
    )


# --- folders --------------------------------------------------------------------------------------


@pytest.fixture
def folders(tmp_path, monkeypatch, root):
    """The folders of a run, in a temporary folder of the test."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (tmp_path / "scratch").mkdir()
    made = CustomerFolders(tmp_path / "scratch", users_of())
    made.open()
    return made


def test_a_folder_is_for_its_user_only_and_those_above_are_not_theirs(folders):
    folder = folders.folder(NODE, "acme")

    assert users_of().users["acme"].uid == folder.stat().st_uid == (folder / "tmp").stat().st_uid
    assert 0o700 == folder.stat().st_mode & 0o777
    for above in (folder.parent, folder.parent.parent):
        assert (0, 0o711) == (above.stat().st_uid, above.stat().st_mode & 0o777)


def test_a_folder_goes_with_the_last_job_of_its_customer_there(folders):
    left = []
    folders.on_left = lambda node_id, customer: left.append((node_id, customer))
    kept = {customer: folders.folder(NODE, customer) for customer in ("acme", "globex")}
    for one, customer in (("a", "acme"), ("b", "acme"), ("c", "globex")):
        folders.began(NODE, customer, JobId(one))

    folders.job_over(JobId("a"))
    assert ([], True) == (left, kept["acme"].exists())
    folders.job_over(JobId("b"))

    assert [(NODE, "acme")] == left
    assert (False, True) == (kept["acme"].exists(), kept["globex"].exists())


def test_a_run_that_can_be_resumed_keeps_its_folders_and_others_are_removed(folders, tmp_path):
    kept = folders.folder(NODE, "acme")
    again = CustomerFolders(tmp_path / "scratch", users_of())

    again.open()
    assert kept.exists()
    (tmp_path / "scratch").rmdir()
    other = CustomerFolders(tmp_path / "other", users_of())
    other.open()

    assert not kept.exists()
    other.clear()
    assert [] == list(tmp_path.glob("sluice-customers-*"))


def test_the_folder_of_another_user_is_not_used(folders, tmp_path):
    folders.clear()
    (tmp_path / "elsewhere").mkdir()
    folders._base.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(EngineUnavailable, match="is another user's"):
        folders.open()
