"""threadpoolctl sees and limits gred's threads, whichever of the two is imported first."""

import sys
import types

import pytest
from processes import printed

import gred

LIMITED = """
    [before] = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "gred"]
    assert before["filepath"] == gred._core.__file__
    assert before["version"] == gred.__version__
    all_threads = gred.threads()
    assert before["num_threads"] == all_threads
    with threadpoolctl.threadpool_limits(1):
        print(gred.threads())
    assert gred.threads() == all_threads
    with threadpoolctl.threadpool_limits({"gred": 1}):
        print(gred.threads())
    with threadpoolctl.threadpool_limits({"openmp": 1}):
        assert gred.threads() == all_threads
    """


@pytest.mark.parametrize(
    "imports",
    [
        "import threadpoolctl, gred",
        "import gred, threadpoolctl; gred.register_threadpoolctl()",
        "import threadpoolctl, gred; gred.register_threadpoolctl(); gred.register_threadpoolctl()",
    ],
)
def test_threadpoolctl_limits_the_threads_of_gred(imports):
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    assert printed(imports, LIMITED) == "1\n1\n"


def test_a_threadpoolctl_without_registration_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", types.ModuleType("threadpoolctl"))
    with pytest.raises(ImportError, match=r"threadpoolctl 3\.2 or later"):
        gred.register_threadpoolctl()
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(ImportError, match="threadpoolctl"):
        gred.register_threadpoolctl()
