"""Kernels of random loops and products made of tiles, under the sanitizers of addresses and of undefined behaviour."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import warnings
from random_kernels import RandomLoop
from scanopt.backends import executor
from scanopt.backends.kernels import compilers

plain = tuple(x for x in compilers.FLAGS if x != "-O3")
compilers.FLAGS = (*plain, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
warnings.simplefilter("ignore")
ran = 0
for seed in range(100, 110):
    made = RandomLoop(seed)
    program = made.program()
    try:
        f = executor("c").compile(program)
        f(made.values)
    except (ValueError, IndexError):
        continue
    ran += "1 of 1 kernels" in str(f.kernels)
print(ran)
"""


def library(name: str) -> str:
    gcc = shutil.which("gcc")
    if gcc is None:
        return ""
    found = subprocess.run(
        [gcc, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return found if os.path.isabs(found) else ""


TILES = """
import numpy as np
from scanopt.backends.kernels import compilers, tiles

plain = tuple(x for x in compilers.FLAGS if x != "-O3")
compilers.FLAGS = (*plain, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
assert tiles.ready(seconds=120), tiles.trouble()
rng = np.random.default_rng(0)
ran = 0
for dtype in ("float32", "float64"):
    item = np.dtype(dtype).itemsize
    for i in range(40):
        m, k, n = (int(x) for x in rng.integers(1, 70, 3))
        m, n = (1 if i % 4 == 0 else m), (1 if i % 4 == 1 else n)
        right = [(n * item, item), (item, k * item), (2 * n * item, 2 * item)][rng.integers(3) if m > 1 < n else 0]
        lies = min(m, n) > 1 and right[1] == item and i % 3 == 0
        product = tiles.TiledProduct(dtype, (m, k, n), (k * item, item), right, False, as_it_lies=lies)
        trial = tiles.ProductTrial(product)
        trial.b[...] = rng.normal(size=(k, n))
        trial.a[...] = rng.normal(size=(m, k))
        trial.tiled()
        np.testing.assert_allclose(trial.other, trial.a @ trial.b, atol=1e-3 if dtype == "float32" else 1e-9)
        ran += 1
print(ran)
"""


@pytest.mark.share(2)
@pytest.mark.parametrize(("script", "least"), [(SCRIPT, 4), (TILES, 80)], ids=["loops", "tiles"])
@pytest.mark.skipif(not library("libasan.so") or not library("libubsan.so"), reason="needs gcc's sanitizers")
def test_no_sanitizer_complains(script: str, least: int, tmp_path: Path) -> None:
    tests = Path(__file__).parent
    env = {
        **os.environ,
        "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0",
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(tests), *filter(None, sys.path)]),
    }
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert "runtime error" not in done.stderr
    assert int(done.stdout) >= least
