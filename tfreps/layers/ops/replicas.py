"""Replicas of `tf.distribute`: their number, sums over them, and the rows of each replica.

A replica computes its own rows of a global batch. All functions here also work without a strategy,
as if there were one replica.
"""

import tensorflow as tf

SEEDS_APART = 1_000_003  # difference of the random seeds of two replicas


def num_replicas():
    """Returns the number of replicas that run this code, an int; 1 outside of `strategy.run`."""
    context = tf.distribute.get_replica_context()
    return 1 if context is None else context.num_replicas_in_sync


def replica_number():
    """Returns the number of this replica, counted from 0, as an int32 scalar or an int."""
    context = tf.distribute.get_replica_context()
    return 0 if context is None else context.replica_id_in_sync_group


def sum_over_replicas(values):
    """Returns the sums of tensors over all replicas. All replicas must call this function.

    Args:
        values: Tensor, or a list of tensors or `tf.IndexedSlices`. Tensors must have the same
            shape on every replica; slices may have different numbers of rows.

    Returns:
        The sums, in the structure of `values`. A sum of slices can contain a row more than once.
    """
    if num_replicas() == 1:
        return values
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)


def own_rows(size, replica=None, replicas=None):
    """Returns the range of rows of a global batch that a replica computes.

        first_r = floor(r * size / N),    end_r = first_{r+1}

    Args:
        size: int or scalar int tensor. Number of rows in the global batch.
        replica: int or scalar int tensor. Number `r` of the replica, counted from 0. If `None`, the
            current replica is used. Defaults to `None`.
        replicas: int. Number of replicas `N`. If `None`, the result of `num_replicas` is used.
            Defaults to `None`.

    Returns:
        Tuple `(first, end)`. `end` is one more than the index of the last row of the replica.

    Example:
    >>> [own_rows(6, replica, replicas=4) for replica in range(4)]
    [(0, 1), (1, 3), (3, 4), (4, 6)]
    """
    replica = replica_number() if replica is None else replica
    replicas = num_replicas() if replicas is None else replicas
    return replica * size // replicas, (replica + 1) * size // replicas
