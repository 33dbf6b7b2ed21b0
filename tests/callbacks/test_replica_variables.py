import keras
import numpy as np

from tfreps._src.callbacks.replica_variables import assign_to_replicas


def test_variables_of_one_device_get_the_arrays():
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    arrays = [np.array([[1.0], [2.0]]), np.array([3.0])]
    assign_to_replicas(model, model.variables, arrays)
    np.testing.assert_array_equal(model.get_weights()[0], arrays[0])
    np.testing.assert_array_equal(model.get_weights()[1], arrays[1])
