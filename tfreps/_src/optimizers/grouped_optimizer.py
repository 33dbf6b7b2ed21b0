"""GroupedOptimizer: a separate optimizer for each part of a model."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.optimizers.summed_gradients import Gradient

# Options of Keras's optimizers that `apply` does not use.
OF_MEMBERS = "learning_rate", "clipnorm", "clipvalue", "weight_decay", "use_ema", "ema_momentum"
OF_MEMBERS += "ema_overwrite_frequency", "loss_scale_factor", "gradient_accumulation_steps"


@keras.saving.register_keras_serializable(package="tfreps")
class GroupedOptimizer(keras.optimizers.Optimizer):
    """Optimizer that uses one optimizer per group of variables, and a default one for the rest.

    For example, a biLM can be fine-tuned at a lower learning rate than a new head. Scaling the
    gradients of the biLM instead would have almost no effect with Adam.

    Args:
        default: Keras optimizer for all variables that are in no group. Its learning rate is also
            the `learning_rate` of the `GroupedOptimizer`. Keras's `LearningRateScheduler` changes
            this rate and the rates of all groups, except in Keras 3.12 (the last version for Python
            3.10), where it changes only this rate.
        groups: dict from the name of a group to its Keras optimizer. A group that is not in
            `members` contains the variables whose paths contain a match for its name, which is a
            regular expression. A variable that several groups match belongs to the first of them.
        members: dict from the name of a group to a list of its variables or their paths, such as
            `{"biLM": elmo.bilm.trainable_variables}`. If `None` (the default), all groups are
            matched by their names.
        name: str. Name of the optimizer. Defaults to `"grouped"`.
        **kwargs: Further arguments of `keras.optimizers.Optimizer`. Only `global_clipnorm`, the
            bound on the global norm of all gradients, is supported. Pass all other options, such as
            `learning_rate`, `clipnorm` and `weight_decay`, to the individual optimizers, which
            apply them only to their own variables.

    Raises:
        ValueError: If an option is not supported, or `members` has a group that is not in `groups`.
            When the optimizer is built, also if a group has no variables or if `members` has a path
            that no variable has.

    Example:
    >>> sgd = keras.optimizers.SGD
    >>> optimizer = GroupedOptimizer(sgd(1.0), {"bilm": sgd(0.1)})
    >>> a, b = keras.Variable(1.0, name="bilm"), keras.Variable(1.0, name="head")
    >>> optimizer.apply([tf.constant(1.0), tf.constant(1.0)], [a, b])
    >>> round(float(a), 4), round(float(b), 4)
    (0.9, 0.0)
    """

    def __init__(
        self,
        default: keras.optimizers.Optimizer,
        groups: Mapping[str, keras.optimizers.Optimizer],
        members: Mapping[str, Sequence[keras.Variable | str]] | None = None,
        name: str = "grouped",
        **kwargs: Any,
    ) -> None:
        for option in OF_MEMBERS:
            if kwargs.get(option):
                raise ValueError(
                    f"`{option}` must be passed to `default` and the optimizers in `groups`, "
                    f"because `GroupedOptimizer` does not support it; got {kwargs[option]!r}."
                )
        super().__init__(**{**kwargs, "learning_rate": 0.0, "name": name})
        self.default = default
        self.groups: dict[str, keras.optimizers.Optimizer] = dict(groups)
        self.members: dict[str, list[str]] = {
            group: [getattr(variable, "path", variable) for variable in variables]
            for group, variables in (members or {}).items()
        }
        unknown = sorted(set(self.members) - set(self.groups))
        if unknown:
            raise ValueError(
                f"`members` must list variables of the `groups` {', '.join(self.groups)}; got "
                f"{unknown[0]!r}. Add a group of this name, or remove it from `members`."
            )
        self.optimizers: list[keras.optimizers.Optimizer] = [*self.groups.values(), default]

    def build(self, variables: Sequence[keras.Variable]) -> None:
        if self.built:
            return
        split = self._split(variables)
        known = [variable.path for variable in variables]
        paths = ", ".join(known)
        # The last list of `split` belongs to the default optimizer.
        for part, members in zip(self.groups, split, strict=False):
            unknown = [path for path in self.members.get(part, ()) if path not in known]
            if unknown or not members:
                if part in self.members:
                    wanted = ", ".join(unknown or self.members[part]) or "none"
                    raise ValueError(
                        f"The `members` of the group {part!r} must be trainable variables of the "
                        f"model that no earlier group contains; got {wanted}, but the model has "
                        f"{paths}."
                    )
                raise ValueError(
                    f"The group {part!r} of `groups` matches no variable outside earlier groups; "
                    f"the model has {paths}. The name must be a regular expression that matches at "
                    "least one variable that no earlier group contains."
                )
        super().build(variables)
        for optimizer, members in zip(self.optimizers, split, strict=True):
            optimizer.build([variables[i] for i in members])

    @property
    def variables(self) -> list[keras.Variable]:
        own = [self.iterations] if self.built else []
        return own + [v for optimizer in self.optimizers for v in optimizer.variables]

    @property
    def learning_rate(self) -> Any:
        return self.default.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.default.learning_rate = value

    def apply(
        self,
        grads: Sequence[Gradient],
        trainable_variables: Sequence[keras.Variable] | None = None,
    ) -> None:
        variables = list(trainable_variables or self._trainable_variables)
        self.build(variables)
        if self.global_clipnorm is not None:
            grads, _ = tf.clip_by_global_norm(list(grads), self.global_clipnorm)
        for optimizer, members in zip(self.optimizers, self._split(variables), strict=True):
            if members:
                optimizer.apply([grads[i] for i in members], [variables[i] for i in members])
        self.iterations.assign_add(1)

    def get_config(self) -> dict[str, Any]:
        serialize = keras.saving.serialize_keras_object
        groups = {name: serialize(optimizer) for name, optimizer in self.groups.items()}
        config = {"name": self.name, "default": serialize(self.default), "groups": groups}
        return {**config, "members": self.members, "global_clipnorm": self.global_clipnorm}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> "GroupedOptimizer":
        load = keras.saving.deserialize_keras_object
        groups = {name: load(optimizer) for name, optimizer in config["groups"].items()}
        return cls(**{**config, "default": load(config["default"]), "groups": groups})

    def _split(self, variables: Sequence[keras.Variable]) -> list[list[int]]:
        """Assigns the variables to the groups.

        Returns a list of lists of indices of `variables`: one list for each group, and the last one
        for the variables in no group, which the default optimizer updates.
        """
        members = [[] for _ in self.optimizers]
        for i, variable in enumerate(variables):
            fits = (n for n, part in enumerate(self.groups) if self._is_in(part, variable))
            members[next(fits, -1)].append(i)
        return members

    def _is_in(self, part: str, variable: keras.Variable) -> bool:
        if part in self.members:
            return variable.path in self.members[part]
        return re.search(part, variable.path) is not None
