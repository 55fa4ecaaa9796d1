# The types of the public names, which `__init__.py` imports only when they are asked for.

from sluice.api.calibrate import calibrate as calibrate
from sluice.api.capacity import capacity as capacity
from sluice.api.diagnosis import explain as explain
from sluice.api.explain import story as story
from sluice.api.explain import why as why
from sluice.api.fairness import fairness as fairness
from sluice.api.order import order as order
from sluice.api.plan import plan as plan
from sluice.api.pools import least_servers as least_servers
from sluice.api.pools import offline_optimum as offline_optimum
from sluice.api.pools import pair_costs as pair_costs
from sluice.api.pools import pool_grid as pool_grid
from sluice.api.pools import pools as pools
from sluice.api.pools import vm_choice as vm_choice
from sluice.api.predict import predict as predict
from sluice.api.profile_run import profile_run as profile_run
from sluice.api.profiles import forget as forget
from sluice.api.profiles import import_logs as import_logs
from sluice.api.profiles import merge_profiles as merge_profiles
from sluice.api.profiles import profiles as profiles
from sluice.api.profiles import rename_profile as rename_profile
from sluice.api.run import run as run
from sluice.api.runs import clean_runs as clean_runs
from sluice.api.runs import runs as runs
from sluice.api.runs import show_run as show_run
from sluice.api.share import share as share
from sluice.api.simulate import compare as compare
from sluice.api.simulate import simulate as simulate
from sluice.api.size import size as size
from sluice.api.sources import load_workload as load_workload
from sluice.api.sources import parse_workload as parse_workload
from sluice.api.whatif import whatif as whatif
from sluice.api.workload import schema as schema
from sluice.api.workload import validate as validate
from sluice.engines.interruption import RunInterrupted as RunInterrupted
from sluice.ingest.logs.formats import read_log as read_log
from sluice.ingest.logs.replay import workload_from_logs as workload_from_logs
from sluice.model.errors import EngineUnavailable as EngineUnavailable
from sluice.model.errors import Infeasible as Infeasible
from sluice.model.errors import InvalidInput as InvalidInput
from sluice.model.errors import SluiceError as SluiceError
from sluice.model.errors import StoreCorrupt as StoreCorrupt
from sluice.model.workload import Workload as Workload
from sluice.reporting.exports.workload_text import write_workload as write_workload
from sluice.reporting.extras import MissingExtra as MissingExtra
from sluice.reporting.run.result import RunResult as RunResult
from sluice.reproductions.runner import reproduce as reproduce
from sluice.store.database import StoreUnavailable as StoreUnavailable

__version__: str
_HOMES: dict[str, str]
