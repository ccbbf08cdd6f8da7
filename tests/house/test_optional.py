"""Modules that need an extra say which one is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT_TORCH = """
import sys
class Blocked:  # as if it were not installed
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
"""


@pytest.mark.thorough
def test_the_loss_for_torch_says_what_to_install():
    code = f"""{WITHOUT_TORCH}
try:
    import covshift.torch
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "covshift.torch needs torch, which is not installed. Install it with: pip install torch, "
        'or install covshift with its extra "torch"'
    )


@pytest.mark.thorough
def test_the_torch_module_is_an_attribute_of_the_package():
    code = """
import sys, types
import covshift
print("sklearn" in sys.modules)
covshift.corrections, covshift.operators  # what else asks for PyTorch has its answer
stub = types.ModuleType("torch")
stub.nn = types.SimpleNamespace(Module=object)
stub.autograd = types.SimpleNamespace(Function=object)
sys.modules["torch"] = stub
print(covshift.torch.VLoss.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "VLoss"]


@pytest.mark.thorough
def test_as_an_attribute_it_says_what_to_install_as_well():
    code = f"""{WITHOUT_TORCH}
import covshift
try:
    covshift.torch
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith('or install covshift with its extra "torch"')


@pytest.mark.thorough
def test_the_objectives_need_no_engine():
    code = """
import sys
sys.modules["xgboost"] = sys.modules["lightgbm"] = None
from covshift.objectives import xgboost_objective
print(xgboost_objective([[0.0], [1.0]])([0.0, 1.0], [0.0, 0.0])[0].shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2,)"
