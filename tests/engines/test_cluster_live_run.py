"""Real jobs through the engine over a network: the same output as on the local engine."""

from tests.engines.fakes import HEADER, scheduler
from tests.engines.local_servers import LocalServersLauncher
from tests.engines.test_live_run import NODES, WANTED, counted, wordcount

from sluice.core.events import NodeLost, TaskFinished
from sluice.core.transitions import AttemptState, JobState
from sluice.engines.agent_engine import AgentEngine
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.driver import Driver
from sluice.engines.job_runner import JobRunner
from sluice.engines.local.engine import LocalEngine
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.run_clock import RunClock
from sluice.model.ids import JobId, NodeId
from sluice.store.journal import Journal


class Watched(AgentEngine):
    """Calls `act` once, after so many tasks have finished; remembers the nodes that were lost."""

    def __init__(self, launcher, epoch, clock, *, after, act):
        super().__init__(launcher, epoch, clock)
        self.launcher, self.lost = launcher, []
        self._left, self._act = after, act

    def events(self, timeout_s):
        events = super().events(timeout_s)
        for event in events:
            if isinstance(event, NodeLost):
                self.lost.append(event.node_id)
            if isinstance(event, TaskFinished):
                self._left -= 1
                if self._left == 0:
                    self._act(self)
        return events


def network(folder, journal, clock, *, after=-1, act=None):
    token = new_token()
    launcher = LocalServersLauncher(
        NODES,
        folder / "scratch",
        Access(key=token_key(token), lease_s=10),
        journal.epoch,
        ServerSettings(token=token),
    )
    return Watched(launcher, journal.epoch, clock.now_s, after=after, act=act)


def local(folder, journal, clock):
    return LocalEngine(NODES, folder / "scratch", journal.epoch, clock.now_s)


def run(folder, make_engine, *, pause_s=0.0, make_job=wordcount, **options):
    folder.mkdir()
    source = JobRunner([prepare(make_job(folder, pause_s=pause_s))], folder / "scratch")
    clock = RunClock()
    with Journal.create(folder, HEADER, source.records()) as journal:
        engine = make_engine(folder, journal, clock, **options)
        driver = Driver(
            engine=engine,
            scheduler=scheduler(),
            journal=journal,
            source=source,
            jobs=source.jobs,
            clock=clock,
        )
        return engine, driver.run().result


def parts(folder):
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_words_are_counted_through_the_network_as_they_are_locally(tmp_path):
    _, result = run(tmp_path / "network", network)
    run(tmp_path / "local", local)

    assert result.jobs[JobId("words/1")].state is JobState.DONE
    assert counted(tmp_path / "network") == WANTED
    assert parts(tmp_path / "network") == parts(tmp_path / "local")
    assert not (tmp_path / "network" / "scratch").exists()
    nodes = {attempt.node.node_id for attempt in result.closed}
    assert nodes == {"n0", "n1"}
    for attempt in result.closed:
        assert 0.0 <= attempt.started_at_s <= attempt.finished_at_s


def test_words_are_counted_although_a_node_server_is_killed(tmp_path):
    def kill(engine):
        engine.launcher.servers[NodeId("n0")].kill()

    engine, result = run(tmp_path / "run", network, pause_s=0.3, after=3, act=kill)

    assert engine.lost == ["n0"]
    assert counted(tmp_path / "run") == WANTED
    done = [attempt for attempt in result.closed if attempt.state is AttemptState.DONE]
    assert len(done) >= 10
    assert any(attempt.state is AttemptState.LOST for attempt in result.closed)
