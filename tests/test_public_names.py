"""The public names of the package."""

import subprocess
import sys

import pytest

import aeron_core


@pytest.mark.parametrize("name", aeron_core.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(aeron_core, name) is not None
    assert name in dir(aeron_core)


def test_an_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = aeron_core.nothing


@pytest.mark.system
def test_importing_the_package_imports_neither_numpy_nor_pydantic():
    code = "import sys, aeron_core; print({'numpy', 'pydantic', 'asyncio'} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "set()"


@pytest.mark.system
def test_connecting_does_not_import_numpy():
    code = "import sys, aeron_core; aeron_core.connect; print('numpy' in sys.modules)"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "False"
