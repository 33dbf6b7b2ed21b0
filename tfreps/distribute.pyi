from ._src.distribute.beam.annotate import Annotate as Annotate
from ._src.fitting.replica_loop import ReplicaLoop as ReplicaLoop
