# The types of the public names, which `__init__.py` imports only when they are asked for.

from sluice.engines.interruption import RunInterrupted as RunInterrupted
from sluice.ingest.logs.formats import read_log as read_log
from sluice.ingest.logs.replay import workload_from_logs as workload_from_logs
from sluice.ingest.workload import load_workload as load_workload
from sluice.ingest.workload import parse_workload as parse_workload
from sluice.model.errors import EngineUnavailable as EngineUnavailable
from sluice.model.errors import Infeasible as Infeasible
from sluice.model.errors import InvalidInput as InvalidInput
from sluice.model.errors import SluiceError as SluiceError
from sluice.model.errors import StoreCorrupt as StoreCorrupt
from sluice.model.workload import Workload as Workload
from sluice.reporting.exports.workload_file import write_workload as write_workload
from sluice.reporting.extras import MissingExtra as MissingExtra
from sluice.reporting.result import RunResult as RunResult
from sluice.store.database import StoreUnavailable as StoreUnavailable
from sluice.verbs.calibration import calibrate as calibrate
from sluice.verbs.capacity import capacity as capacity
from sluice.verbs.history import forget as forget
from sluice.verbs.history import import_logs as import_logs
from sluice.verbs.history import profiles as profiles
from sluice.verbs.ordering import order as order
from sluice.verbs.pareto import plan as plan
from sluice.verbs.reproduction import reproduce as reproduce
from sluice.verbs.running import compare as compare
from sluice.verbs.running import run as run
from sluice.verbs.running import schema as schema
from sluice.verbs.running import simulate as simulate
from sluice.verbs.running import story as story
from sluice.verbs.running import validate as validate
from sluice.verbs.running import why as why
from sluice.verbs.sandbox import profile_run as profile_run

__version__: str
_HOMES: dict[str, str]
