"""Pages that are written from the table of weights, the classes and the files of the checkout."""

import pytest

from tests.docs.pages import extension
from tfreps import models, presets

file_pages = extension("file_pages")
name_pages = extension("name_pages")


def test_every_published_model_has_a_row():
    rows = "\n".join(name_pages.published_weights()).split("   * - ")[2:]
    assert [row.split("``")[1] for row in rows] == [
        preset.name for preset in presets.list_presets()
    ]
    cells = [line[7:] for line in rows[0].splitlines()[1:]]
    assert cells[1:] == ["13.6 million", "54.4 MB", "none stated (allennlp issue 1462)"]


def test_inherited_methods_are_linked():
    (line, _) = name_pages.inherited(models.TextCNN)
    assert "`keras.Model <https://keras.io/api/models/model/>`__" in line
    assert "`predict_on_batch <https://keras.io/api/models/model_training_apis/>`__" in line
    assert "`fit <" not in line  # tfreps defines and describes it
    assert "predict" not in "".join(name_pages.inherited(presets.Preset))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("see `docs/howto/resume.md`.", "see [](../../howto/resume.md)."),
        ("in `training/RESULTS.md`", "in [](results.md)"),
        ("[code](tfreps/models.py)", "`tfreps/models.py`"),
        ("[Keras](https://keras.io)", "[Keras](https://keras.io)"),
    ],
)
def test_links_of_files_lead_to_pages(text, expected):
    assert file_pages.on_site(text) == expected
