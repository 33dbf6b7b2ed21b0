"""Tests the choice of a precision, on machines that are made up."""

import pytest
import tensorflow as tf

import tfreps
from tfreps import choose_precision
from tfreps._src.layers.ops.cpu_instructions import BFLOAT16_INSTRUCTIONS
from tfreps._src.models import precision
from tfreps._src.models.precision import OF_CPUS, POLICIES, bfloat16_is_slow
from tfreps.training.options.encoder_options import ENCODERS


@pytest.fixture
def machine(monkeypatch):
    """Returns a function that sets the bfloat16 instructions of the CPU and the GPUs."""

    def be(instructions=None, *capabilities):
        details = [{"compute_capability": each} if each else {} for each in capabilities]
        gpus = list(range(len(details)))
        monkeypatch.setattr(precision, "bfloat16_instructions", lambda: instructions)
        monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: gpus)
        monkeypatch.setattr(tf.config.experimental, "get_device_details", details.__getitem__)

    return be


def test_a_cpu_without_bfloat16(machine):
    machine(None)
    for kind in precision.OF_AVX512:
        choice = choose_precision(kind, batch_size=128, hidden_dim=1024)
        assert choice == ("float32", "this CPU has no native bfloat16 instructions")
    assert choice.policy == "float32" and bfloat16_is_slow()


def test_a_cpu_with_bfloat16(machine):
    machine("AVX512_BF16")
    choice = tfreps.choose_precision("elmo", batch_size=128, hidden_dim=1024)
    assert choice == ("bfloat16", "this CPU has AVX512_BF16 instructions")
    assert choice.policy == "mixed_bfloat16" and not bfloat16_is_slow()
    assert choose_precision("bert", batch_size=32).name == "bfloat16"


@pytest.mark.parametrize("kind", precision.OF_AVX512)
@pytest.mark.parametrize("instructions", OF_CPUS)
def test_only_what_was_measured_to_be_faster(machine, instructions, kind):
    machine(instructions)
    table = OF_CPUS[instructions]
    slower = "float32", "bfloat16 is not known to be faster for this model and batch size"
    assert choose_precision(kind, batch_size=1, hidden_dim=4096) == slower
    for rows, width in table[kind]:
        assert choose_precision(kind, rows, width).name == "bfloat16"
    if table[kind]:
        least_rows, least_width = (min(numbers) for numbers in zip(*table[kind], strict=True))
        assert choose_precision(kind, least_rows - 1, 4096) == slower
        assert choose_precision(kind, 4096, least_width - 1) == slower
        assert choose_precision(kind, least_rows).name == "bfloat16"
    else:
        assert choose_precision(kind, batch_size=4096, hidden_dim=4096) == slower


@pytest.mark.parametrize(
    "capabilities, plain, with_float16",
    [
        ([(9, 0)], "bfloat16", "bfloat16"),
        ([(8, 0)], "bfloat16", "bfloat16"),
        ([(7, 5)], "float32", "float16"),
        ([(7, 0)], "float32", "float16"),
        ([(6, 1)], "float32", "float32"),
        ([(9, 0), (7, 5)], "float32", "float16"),
        ([None], "float32", "float32"),
    ],
)
def test_gpus(machine, capabilities, plain, with_float16):
    machine("AVX512_BF16", *capabilities)
    assert choose_precision("linear", batch_size=1).name == plain
    choice = choose_precision("elmo", batch_size=1, float16=True)
    assert choice.name == with_float16
    lowest = "{}.{}".format(*min(each or (0, 0) for each in capabilities))
    assert choice.reason == f"the compute capability of the GPU is {lowest}"
    assert not bfloat16_is_slow()


def test_unknown_kinds():
    with pytest.raises(ValueError, match="`kind` must be one of elmo, bert, .*; got 'gpt'"):
        choose_precision("gpt", batch_size=1)


def test_every_kind_that_programs_train_is_known():
    for table in OF_CPUS.values():
        assert set(table) == {"elmo", "bert", *ENCODERS}
    assert set(OF_CPUS) == {name.upper() for name in BFLOAT16_INSTRUCTIONS}
    assert set(POLICIES) == {"float32", *precision.OF_GPUS}
