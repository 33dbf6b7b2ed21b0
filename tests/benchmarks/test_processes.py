import os
import subprocess
import sys

import pytest

from benchmarks.processes import processes_of, resident_mb


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_processes_of_processes_are_found():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        while len(found := processes_of(process.pid)) < 2:
            assert process.poll() is None
        assert found[0] == process.pid and os.getpid() not in found
        assert 1 < resident_mb(process.pid) < 10_000
        process.communicate(b"\n")
    assert resident_mb(found[1]) == 0
