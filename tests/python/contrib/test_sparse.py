"""Matrices in compressed rows."""

import numpy as np
import pytest
from tessera import te
from tessera.contrib import sparse


def test_a_matrix_is_its_entries_their_columns_and_where_rows_begin():
    dense = np.array([[0, 5, 0], [0, 0, 0], [7, 0, 8]], "float32")
    array = sparse.array(dense)
    assert array.data.numpy().tolist() == [5, 7, 8] and array.indices.numpy().tolist() == [1, 0, 2]
    assert array.indptr.numpy().tolist() == [0, 1, 1, 3] and array.stype == "csr" and array.dtype == "float32"
    np.testing.assert_array_equal(array.numpy(), dense)
    again = sparse.array((array.data, array.indices, array.indptr), shape=(3, 3))
    np.testing.assert_array_equal(again.asnumpy(), dense)


def test_placeholders_are_three_tensors():
    a = sparse.placeholder((4, 5), nonzeros=te.var("n"), dtype="float32", name="A")
    assert (a.stype, a.data.op.name, a.indices.dtype, int(a.indptr.shape[0])) == ("csr", "A_data", "int32", 5)


def test_what_is_not_csr_is_told():
    with pytest.raises(NotImplementedError, match="sparse matrices are csr, not coo"):
        sparse.array(np.eye(2), stype="coo")
    with pytest.raises(ValueError, match="needs a shape"):
        sparse.array((np.ones(1), np.zeros(1), np.array([0, 1])))
