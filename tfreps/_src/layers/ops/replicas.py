"""Replicas of `tf.distribute`: their number, sums over them, and the rows of each replica.

A replica computes its own rows of a global batch. All functions here also work without a strategy,
as if there were one replica.
"""

import tensorflow as tf

SEEDS_APART = 1_000_003  # difference between the random seeds of one replica and the next


def num_replicas():
    """Returns the number of replicas that run this code, an int; 1 outside of `strategy.run`."""
    context = tf.distribute.get_replica_context()
    return 1 if context is None else context.num_replicas_in_sync


def replica_number():
    """Returns the number of this replica, counted from 0, as an int32 scalar or an int."""
    context = tf.distribute.get_replica_context()
    return 0 if context is None else context.replica_id_in_sync_group


def sum_over_replicas(values):
    """Sums a tensor, or each item of a list of tensors and `tf.IndexedSlices`, over all replicas.

    All replicas must call this function. A sum of `tf.IndexedSlices` can contain a row more than
    once.
    """
    if num_replicas() == 1:
        return values
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)


def own_rows(size, replica=None, replicas=None):
    """Returns the range `(first, end)` of the rows of a global batch that a replica computes.

        first = floor(r * size / N),    end = floor((r + 1) * size / N)

    `end` is exclusive. `r` is `replica`, by default the number of the current replica, and `N` is
    `replicas`, by default the number of all replicas.
    """
    replica = replica_number() if replica is None else replica
    replicas = num_replicas() if replicas is None else replicas
    return replica * size // replicas, (replica + 1) * size // replicas
