"""Running topi computations."""

import pytest
import tessera
from tessera import te


@pytest.fixture
def run():
    """run(output, arguments, arrays): compiles the default schedule and gives the result as a NumPy array."""

    def compile_and_run(output, arguments, arrays):
        function = tessera.build(te.create_schedule(output.op), [*arguments, output], "llvm")
        result = tessera.nd.empty([int(extent) for extent in output.shape], output.dtype)
        function(*(tessera.nd.array(a) for a in arrays), result)
        return result.numpy()

    return compile_and_run
