"""ReadParts: reads parts of files and yields batches of records for a model.

Beam's workers run this file without an installation of tfreps.
"""

import apache_beam as beam

from tfreps.distribute.beam.record_checks import as_rejected
from tfreps.distribute.beam.record_schemas import misfit

DAMAGED = "is damaged, truncated, or not a file of this format"


class ReadParts(beam.DoFn):
    """Reads parts of files, and rejects records that the model cannot read.

    The batches of a part depend only on the part, so that the answers do not depend on the number
    of workers.

    Args:
        form: `RecordFormat` of the files.
        check: `RecordCheck`.
        keep: list of str or None. Fields of the records to keep in addition to the text. If `None`,
            all fields are kept.
        schema: `pyarrow.Schema` or None. If given, a record that does not fit it is rejected.
        batch_size: int. Maximum number of records in a batch.
    """

    def __init__(self, form, check, keep, schema, batch_size):
        self.form = form
        self.check = check
        self.keep = None if keep is None else {*keep, check.field}
        self.schema = schema
        self.batch_size = batch_size

    def process(self, part):
        """Yields lists of records, and rejections with the tag `rejected`."""
        path, start, stop = part
        batch = []
        for item in items(path, start, stop, self.form):
            try:
                for record in self.form.records(item):
                    if self.keep is not None:
                        record = {name: v for name, v in record.items() if name in self.keep}
                    reason = self._reason(record)
                    if reason is not None:
                        yield as_rejected(reason, record, path)
                        continue
                    batch.append(record)
                    if len(batch) == self.batch_size:
                        yield batch
                        batch = []
            except ValueError as error:
                yield as_rejected(str(error), item, path)
        if batch:
            yield batch

    def _reason(self, record):
        reason = self.check.reason(record)
        if reason is None and self.schema is not None:
            reason = misfit(record, self.schema)
        return reason


def items(path, start, stop, form):
    """Yields the items of a part of a file.

    Raises:
        ValueError: If the file is damaged or cannot be read. The message names the file.
    """
    found = form.raw_items(path, start, stop)
    while True:
        try:
            item = next(found)
        except StopIteration:
            return
        except Exception as error:
            raise damaged(path, error) from error
        yield item


def damaged(path, error):
    """Returns a ValueError about a file that cannot be read."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return ValueError(f"{path} {DAMAGED} ({reason}).")
