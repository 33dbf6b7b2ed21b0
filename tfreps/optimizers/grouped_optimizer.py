"""GroupedOptimizer: an optimizer of its own for each part of a model."""

import re

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="tfreps")
class GroupedOptimizer(keras.optimizers.Optimizer):
    """Uses one optimizer for the variables of a part of a model, and another for the rest.

    For a fine-tuned biLM under a new head: small steps for the one, ordinary steps for the
    other. (Scaling the gradient instead does nothing under Adam or Adagrad.)

    Args:
        default: Keras optimizer for every variable that no group names. Its learning rate
            is the one that is logged. Keras's `LearningRateScheduler` changes it and the rates of
            all groups; that of Keras 3.12, the last for Python 3.10, changes it alone.
        groups: dict from a regular expression to the Keras optimizer of the variables in whose
            paths it is found. The first that fits is taken. `"token_encoder/|bilstm/"` is the
            whole of a biLM.
        global_clipnorm: float or None. All gradients together are made no longer than this; an
            optimizer's own clip is of its variables alone.

    Raises:
        ValueError: when it is built, for a group in which there is no variable.

    Example:
    >>> sgd = keras.optimizers.SGD
    >>> optimizer = GroupedOptimizer(sgd(1.0), {"bilm": sgd(0.1)})
    >>> a, b = keras.Variable(1.0, name="bilm"), keras.Variable(1.0, name="head")
    >>> optimizer.apply([tf.constant(1.0), tf.constant(1.0)], [a, b])
    >>> round(float(a), 4), round(float(b), 4)
    (0.9, 0.0)
    """

    def __init__(self, default, groups, name="grouped", **kwargs):
        kwargs.pop("learning_rate", None)
        super().__init__(learning_rate=0.0, name=name, **kwargs)
        self.default = default
        self.groups = dict(groups)
        self.optimizers = [*self.groups.values(), default]

    def build(self, variables):
        if self.built:
            return
        split = self._split(variables)
        for part, members in zip(self.groups, split, strict=False):  # the default comes last
            if not members:
                raise ValueError(
                    f"No variable's path has a part like {part!r}; the paths are "
                    f"{', '.join(variable.path for variable in variables)}."
                )
        super().build(variables)
        for optimizer, members in zip(self.optimizers, split, strict=True):
            optimizer.build([variables[i] for i in members])

    @property
    def variables(self):
        own = [self.iterations] if self.built else []
        return own + [v for optimizer in self.optimizers for v in optimizer.variables]

    @property
    def learning_rate(self):
        return self.default.learning_rate

    @learning_rate.setter
    def learning_rate(self, value):
        self.default.learning_rate = value

    def apply(self, grads, trainable_variables=None):
        variables = list(trainable_variables or self._trainable_variables)
        self.build(variables)
        if self.global_clipnorm is not None:
            grads, _ = tf.clip_by_global_norm(list(grads), self.global_clipnorm)
        for optimizer, members in zip(self.optimizers, self._split(variables), strict=True):
            if members:
                optimizer.apply([grads[i] for i in members], [variables[i] for i in members])
        self.iterations.assign_add(1)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        groups = {name: serialize(optimizer) for name, optimizer in self.groups.items()}
        config = {"name": self.name, "default": serialize(self.default), "groups": groups}
        return {**config, "global_clipnorm": self.global_clipnorm}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        load = keras.saving.deserialize_keras_object
        groups = {name: load(optimizer) for name, optimizer in config["groups"].items()}
        return cls(**{**config, "default": load(config["default"]), "groups": groups})

    def _split(self, variables):
        """Positions of the variables of each group, those of the rest last."""
        members = [[] for _ in self.optimizers]
        for i, variable in enumerate(variables):
            fits = (n for n, part in enumerate(self.groups) if re.search(part, variable.path))
            members[next(fits, -1)].append(i)
        return members
