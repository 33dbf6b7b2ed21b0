"""Tests that build_optimizer creates the variables once, also with loss scaling."""

import keras
import pytest

from tfreps.optimizers import FusedAdam, build_optimizer


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_variables_are_made_once(policy):
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    model.compile(FusedAdam())
    build_optimizer(model)
    paths = [variable.path for variable in model.optimizer.variables]
    build_optimizer(model)
    assert [variable.path for variable in model.optimizer.variables] == paths
    assert len([path for path in paths if "momentum" in path]) == 2
