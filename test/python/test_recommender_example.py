"""The example of a recommender: as processes, alone, and what it makes of source files."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.metrics import roc_auc_score

from server_runs import alone, run, said

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "recommender.py")


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """Its names."""
    return runpy.run_path(EXAMPLE)


def quality(done: subprocess.CompletedProcess[str]) -> float:
    """The AUC of the last epoch."""
    assert done.returncode == 0, said(done)
    return float(re.findall(r"AUC of other files ([\d.]+)", done.stdout)[-1])


def test_two_workers_train_what_two_servers_hold(example: dict[str, Any], tmp_path: Path) -> None:
    done = run(2, 2, "--epochs", "1", "--export", str(tmp_path), program=EXAMPLE)
    assert quality(done) > 0.75, said(done)
    assert len(re.findall(r"a file of \S+ that imports .*: \w+", done.stdout)) == 2, said(done)
    found = re.search(r"(\d+) candidates have a row, exported as (\d+) files", done.stdout)
    assert found is not None, said(done)
    files = [load_file(file) for file in tmp_path.iterdir()]
    assert len(files) == int(found[2])
    ids = np.concatenate([file["ids"] for file in files])
    assert len(set(ids)) == len(ids) == int(found[1])
    assert {example["id_of"](name) for name in ("numpy", "scipy.sparse", "jax._src")} <= set(ids)
    assert sum(len(file["value"]) for file in files) == len(ids)


@pytest.mark.parametrize("mode", ["half_async", "async"] if os.environ.get("EPL_NIGHTLY") else ["async"])
def test_workers_do_not_wait_for_one_another(mode: str) -> None:
    assert quality(run(2, 2, "--epochs", "1", "--mode", mode, program=EXAMPLE)) > 0.75


def test_it_trains_alone() -> None:
    assert quality(alone("--epochs", "1", program=EXAMPLE)) > 0.75


def test_auc_is_that_of_sklearn(example: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 1000).astype(np.float32)
    scores = np.clip(y / 4 + random.random(1000) * 0.7, 0, 1)
    np.testing.assert_allclose(example["auc"](scores, y), roc_auc_score(y, scores), rtol=1e-3)


def test_imports_are_modules(example: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "c.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import numpy as np\nfrom . import d\nfrom .e import f\n    from ..g.h import i\nfrom .. import j\n"
    )
    found = example["read_source"](file, tmp_path)
    assert found.folders == ["a", "a.b"]
    assert found.imports == ["a", "a.b", "a.b.e", "a.g.h", "numpy"]


def test_half_of_the_samples_are_no_imports(example: dict[str, Any]) -> None:
    sources = [example["Source"](["a"], ["x", "y", "z"]), example["Source"](["a", "a.b"], ["x", "v", "w"])]
    beside, folders, candidate, y = example["samples_of"](sources, 0)
    names = {example["id_of"](name): name for name in "xyzvw"}
    for row in range(len(y)):
        own = sources[0 if row < 6 else 1].imports
        seen = {names[each] for each in beside[row] if each != example["NONE"]}
        assert (names[candidate[row]] in own) == (y[row] == 1)
        assert seen == set(own) - {names[candidate[row]]} or (y[row] == 0 and seen < set(own))
    assert y.mean() == 0.5
    assert (folders[:6, 1] == example["NONE"]).all()
