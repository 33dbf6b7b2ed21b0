from tfreps.models.stored import model_files
from tfreps.runs import model_files as module


def test_the_module():
    assert model_files() is module
