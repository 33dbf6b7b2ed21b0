"""Optimisers: bilm-tf's Adagrad, Adam in one kernel, and one optimiser for each part of a model."""

import re

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="tfreps")
class TF1Adagrad(keras.optimizers.Optimizer):
    """Adagrad as TensorFlow 1 had it, in TensorFlow's fused kernels.

        accumulator += gradient ** 2
        weight -= learning_rate * gradient / sqrt(accumulator)

    Keras's own Adagrad adds an epsilon, starts its accumulators at 0.1 and makes five passes
    over memory where this makes one. Rows of a sparse gradient that are not named are not
    touched; its indices must be distinct, as those of `SampledSoftmax` are.

    Args:
        learning_rate: float, or a Keras schedule. Default 0.2, as in bilm-tf.
        initial_accumulator_value: float, positive. Default 1.0, as in bilm-tf.

    Reference: Duchi, Hazan and Singer, 2011, "Adaptive Subgradient Methods for Online
    Learning and Stochastic Optimization"; `tf.compat.v1.train.AdagradOptimizer`.

    Example:
    >>> weight = keras.Variable([1.0])
    >>> TF1Adagrad(learning_rate=0.2).apply([tf.constant([3.0])], [weight])
    >>> weight.numpy().round(4)        # 1 - 0.2 * 3 / sqrt(1 + 9)
    array([0.8103], dtype=float32)
    """

    def __init__(self, learning_rate=0.2, initial_accumulator_value=1.0, name="adagrad", **kwargs):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        if initial_accumulator_value <= 0:
            raise ValueError(
                f"`initial_accumulator_value` must be positive; got {initial_accumulator_value}."
            )
        self.initial_accumulator_value = initial_accumulator_value

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        initial = keras.initializers.Constant(self.initial_accumulator_value)
        self.accumulators = [
            self.add_variable_from_reference(v, name="accumulator", initializer=initial)
            for v in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        accumulator = self.accumulators[self._get_variable_index(variable)].value
        common = {
            "var": variable.handle,
            "accum": accumulator.handle,
            "lr": tf.cast(learning_rate, variable.dtype),
            "epsilon": tf.zeros([], variable.dtype),
        }
        if isinstance(gradient, tf.IndexedSlices):
            values = tf.cast(gradient.values, variable.dtype)
            tf.raw_ops.ResourceSparseApplyAdagradV2(**common, grad=values, indices=gradient.indices)
        else:
            gradient = tf.cast(gradient, variable.dtype)
            tf.raw_ops.ResourceApplyAdagradV2(**common, grad=gradient)

    def get_config(self):
        value = self.initial_accumulator_value
        return {**super().get_config(), "initial_accumulator_value": value}


@keras.saving.register_keras_serializable(package="tfreps")
class FusedAdam(keras.optimizers.Adam):
    """Keras's Adam, its update computed by TensorFlow's one kernel for it.

        m += (1 - beta_1) * (gradient - m)
        v += (1 - beta_2) * (gradient ** 2 - v)
        rate = learning_rate * sqrt(1 - beta_2 ** t) / (1 - beta_1 ** t)
        weight -= rate * m / (sqrt(v) + epsilon)

    The same numbers up to rounding, in one pass over memory where Keras makes eleven, and the
    gradient of a table of vectors is made dense once and not five times. With `weight_decay` it is
    AdamW. As with Keras's, weights of 16 bits stay where they are, for 0.999 is 1 in bfloat16: keep
    them in float32 (`mixed_bfloat16`).

    Args:
        **kwargs: those of `keras.optimizers.Adam`, but for `amsgrad`.

    Raises:
        ValueError: for `amsgrad`, which the kernel does not know.

    Reference: Kingma and Ba, 2015, "Adam: A Method for Stochastic Optimization", end of section 2;
    `tf.raw_ops.ResourceApplyAdam`.

    Example:
    >>> weight = keras.Variable([1.0])
    >>> FusedAdam(learning_rate=0.1).apply([tf.constant([3.0])], [weight])
    >>> weight.numpy().round(4)        # the first step has the length of the learning rate
    array([0.9], dtype=float32)
    """

    def __init__(self, learning_rate=1e-3, amsgrad=False, name="adam", **kwargs):
        if amsgrad:
            raise ValueError("`amsgrad` is not for FusedAdam: take keras.optimizers.Adam.")
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)

    def update_step(self, gradient, variable, learning_rate):
        number, dtype = self._get_variable_index(variable), variable.dtype
        step = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[number].value.handle,
            v=self._velocities[number].value.handle,
            beta1_power=tf.pow(tf.cast(self.beta_1, dtype), step),
            beta2_power=tf.pow(tf.cast(self.beta_2, dtype), step),
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.cast(self.beta_1, dtype),
            beta2=tf.cast(self.beta_2, dtype),
            epsilon=tf.cast(self.epsilon, dtype),
            grad=tf.cast(tf.convert_to_tensor(gradient), dtype),
        )


@keras.saving.register_keras_serializable(package="tfreps")
class GroupedOptimizer(keras.optimizers.Optimizer):
    """One optimiser for the variables of a part of a model, another for the rest.

    For a fine-tuned biLM under a new head: small steps for the one, ordinary steps for the
    other. (Scaling the gradient instead does nothing under Adam or Adagrad.)

    Args:
        default: Keras optimiser for every variable that no group names. Its learning rate
            is the one that is logged. Keras's `LearningRateScheduler` changes it and the rates of
            all groups; that of Keras 3.12, the last for Python 3.10, changes it alone.
        groups: dict from a regular expression to the Keras optimiser of the variables in whose
            paths it is found. The first that fits is taken. `"token_encoder/|bilstm/"` is the
            whole of a biLM.
        global_clipnorm: float or None. All gradients together are made no longer than this; an
            optimiser's own clip is of its variables alone.

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
            fits = [n for n, part in enumerate(self.groups) if re.search(part, variable.path)]
            members[fits[0] if fits else -1].append(i)
        return members


def build_optimizer(model: keras.Model) -> None:
    """Makes the variables of a compiled model's optimiser, unless it has them already.

    Keras's wrapper for float16, `LossScaleOptimizer`, would make some of its variables twice. An
    optimiser without variables is built by the first step of `fit`, which then traces the step
    twice.

    Args:
        model: a compiled Keras model.

    Example:
    >>> model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    >>> model.compile(FusedAdam())
    >>> build_optimizer(model)
    >>> len(model.optimizer.variables)  # steps, rate, and two moments of two weights
    6
    """
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
