"""Says where two .npz files differ: in names, dtypes, shapes or values."""

import sys

import numpy as np

with np.load(sys.argv[1]) as a, np.load(sys.argv[2]) as b:
    assert a.files == b.files, (a.files, b.files)
    for name in a.files:
        x, y = a[name], b[name]
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        assert np.array_equal(x, y), name
    assert len(a.files) == int(sys.argv[3]), len(a.files)
