from .loop.replica_loop import ReplicaLoop as ReplicaLoop
