"""Recommend modules to import: a DeepFM whose embeddings are tables on parameter servers.

The data are real: source files of installed packages. A file "clicks" at the modules that it imports; the
model says whether it imports a candidate, of what else it imports and where it lies. Names are hashed to
ids of 63 bits, so no vocabulary is made before: servers make a row for each id when it is first trained.

    epl-launch --servers 2 --workers 2 examples/recommender.py [--mode async] [--epochs 6] [--export FOLDER]
    python examples/recommender.py              # alone: one worker, whose server is in its process
"""

import argparse
import hashlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl

PACKAGES = ["jax", "numpy", "optax", "scipy", "sklearn"]
BATCH = 128  # of all workers: half of the samples are imports, half are none
BESIDE, FOLDERS, DIM = 8, 4, 16
NONE = -1  # the id of no name
IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)(?=\s+import\b|\s+as\b|\s*,|\s*$)", re.MULTILINE)
BINS = 4096  # of scores, for AUC

Batch = tuple[np.ndarray[Any, Any], ...]


class Source(NamedTuple):
    """A source file: the folders that it lies in, as modules, and what it imports."""

    folders: list[str]
    imports: list[str]


ASKED = [
    Source(["sklearn", "sklearn.linear_model"], ["numpy", "scipy"]),
    Source(["jax", "jax._src"], ["functools", "typing"]),
]


def read_source(path: Path, root: Path) -> Source:
    """Reads a file below the folder of all packages."""
    folders = path.relative_to(root).parts[:-1]
    text = path.read_text(encoding="utf-8", errors="replace")
    imports = set()
    for name in IMPORT.findall(text):
        above = len(name) - len(name.lstrip("."))  # "..base" is of the folder above
        own = folders[: len(folders) + 1 - above] if above else ()
        imports.add(".".join([*own, name[above:]] if name[above:] else own))
    return Source([".".join(folders[: i + 1]) for i in range(len(folders))], sorted(imports - {""}))


def read_sources() -> list[Source]:
    """All source files of the packages that import enough to tell something, in an order of their own."""
    sources = []
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            sys.exit(f"error: expected the package {package} to read its source files, found none")
        folder = Path(spec.origin).parent
        sources += [read_source(path, folder.parent) for path in sorted(folder.rglob("*.py"))]
    sources = [source for source in sources if len(source.imports) > 2]
    np.random.default_rng(0).shuffle(sources)
    return sources


def id_of(name: str) -> int:
    """63 bits of a hash, which all processes make alike."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


def padded(names: list[str], size: int) -> list[int]:
    """The ids of the last names, as many as a batch has room for."""
    ids = [id_of(name) for name in names[-size:]]
    return ids + [NONE] * (size - len(ids))


def samples_of(sources: list[Source], seed: int) -> Batch:
    """Each import of each file, and for each one that the file has not, drawn as often as files import it.

    Returns:
      The ids of other imports, of folders, and of the candidate; and whether the file imports that.
    """
    random = np.random.default_rng(seed)
    popular = [name for source in sources for name in source.imports]
    rows = []
    for source in sources:
        folders = padded(source.folders, FOLDERS)
        for name in source.imports:
            others = [each for each in source.imports if each != name]
            beside = [str(each) for each in random.permutation(others)]
            rows.append((padded(beside, BESIDE), folders, id_of(name), 1.0))
            while (other := popular[random.integers(len(popular))]) in source.imports:
                pass
            rows.append((padded(beside, BESIDE), folders, id_of(other), 0.0))
    beside, folders, candidate, y = zip(*rows, strict=True)
    return np.array(beside), np.array(folders), np.array(candidate), np.array(y, np.float32)


def batches(samples: Batch, size: int, count: int, seed: int) -> Iterator[Batch]:
    """So many shuffled batches of an epoch."""
    order = np.random.default_rng(seed).permutation(len(samples[0]))
    for i in range(count):
        rows = order[i * size : (i + 1) * size]
        yield tuple(array[rows] for array in samples)


class Tables(NamedTuple):
    """Embeddings by id."""

    beside: epl.Table
    folder: epl.Table
    candidate: epl.Table


def make_tables() -> Tables:
    """Their rows are trained by Adam, each by itself."""

    def table(name: str, seed: int) -> epl.Table:
        return epl.Table(
            name, dim=DIM, optimizer=optax.adam(0.01), init=epl.normal(0.1), seed=seed, padding=NONE
        )

    return Tables(*(table(name, seed) for seed, name in enumerate(Tables._fields)))


optimizer = optax.adam(2e-3)


def init_params() -> Any:
    """The parameters of the deep part."""
    keys = jax.random.split(jax.random.key(0), 2)
    return {
        "w1": jax.random.normal(keys[0], (3 * DIM, 64)) / np.sqrt(3 * DIM),
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(keys[1], (64, 1)) / 8,
    }


def model(params: Any, tables: Tables, beside: Any, folders: Any, candidate: Any) -> jax.Array:
    """Logits: products of two embeddings (the factorization machine), and a perceptron on all of them."""
    context = tables.beside.lookup(beside).mean(1)
    place = tables.folder.lookup(folders).mean(1)
    chosen = tables.candidate.lookup(candidate)
    products = chosen * context + chosen * place + context * place
    hidden = jax.nn.relu(jnp.concatenate([context, place, chosen], axis=1) @ params["w1"] + params["b1"])
    return products.sum(1) + (hidden @ params["w2"])[:, 0]


def train_step(
    params: Any, opt_state: Any, tables: Tables, beside: Any, folders: Any, candidate: Any, y: Any
) -> Any:
    """One step of one worker."""

    def loss_fn(params: Any, tables: Tables) -> jax.Array:
        with epl.replicate():
            logits = model(params, tables, beside, folders, candidate)
            return optax.sigmoid_binary_cross_entropy(logits, y).mean()

    loss, (grads, rows) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, tables)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    tables = Tables(*(table.update(of) for table, of in zip(tables, rows, strict=True)))
    return optax.apply_updates(params, updates), opt_state, tables, loss


def scores(params: Any, tables: Tables, beside: Any, folders: Any, candidate: Any) -> jax.Array:
    """How likely a file imports the candidate; reads rows and makes none."""
    with epl.replicate():
        return jax.nn.sigmoid(model(params, tables, beside, folders, candidate))


def auc(found: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    """How often a sample that is an import has a higher score than one that is none, over all workers."""
    counts = [np.histogram(found[y == value], bins=BINS, range=(0, 1))[0] for value in (1, 0)]
    positives, negatives = (epl.workers.sum(count) for count in counts)
    below = np.cumsum(negatives) - negatives / 2  # half of those in the same bin
    return float((positives * below).sum() / (positives.sum() * negatives.sum()))


def say(text: str) -> None:
    """Prints what all workers know: one of them does."""
    if epl.workers.number == 0:
        print(text, flush=True)


def recommend(evaluate: Any, params: Any, tables: Tables, known: list[str], source: Source) -> None:
    """Says what a file that lies there, and imports that, would import most likely."""
    beside, folders = padded(source.imports, BESIDE), padded(source.folders, FOLDERS)
    ids = np.array([id_of(name) for name in known])
    given = np.tile(beside, (len(ids), 1)), np.tile(folders, (len(ids), 1))
    found = np.asarray(evaluate(params, tables, *given, ids))
    best = [known[i] for i in np.argsort(-found) if known[i] not in source.imports][:4]
    imports = " and ".join(source.imports)
    print(f"a file of {source.folders[-1]} that imports {imports}: {', '.join(best)}", flush=True)


class Data(NamedTuple):
    """What a worker trains on and tests with, and the modules that are often imported."""

    trained: Batch
    tested: Batch
    known: list[str]


def load_data(number: int, workers: int) -> Data:
    """The samples of a worker, which has every so many-th file; those to test with are of other files."""
    sources = read_sources()
    tested, trained = sources[: len(sources) // 5], sources[len(sources) // 5 :]
    imports = Counter(name for source in trained for name in source.imports)
    known = [name for name, times in imports.items() if times >= 10]
    say(f"{len(sources)} files, {len(trained)} of them to train on, which import {len(imports)} modules")
    return Data(
        samples_of(trained[number::workers], number),
        samples_of(tested[number::workers], workers + number),
        known,
    )


def steps_of_epoch(samples: Batch, size: int) -> int:
    """How many batches each worker has: as many as the one with the fewest samples."""
    counts = np.zeros(epl.workers.count, int)
    counts[epl.workers.number] = len(samples[0]) // size
    return int(epl.workers.sum(counts).min())


def train(devices: str, mode: Any, epochs: int, export: str) -> float:
    """Trains, says how good it is, and has the servers write the table of candidates; the last AUC."""
    epl.init(devices)  # of each worker
    servers, size = epl.ParameterServer(mode=mode), BATCH // epl.workers.count
    ids, state = ("beside", "folders", "candidate"), ("params", "opt_state", "tables")
    step = epl.parallelize(train_step, state=state, batch=(*ids, "y"), strategy=servers)
    evaluate = epl.parallelize(scores, batch=ids, strategy=servers)
    data = load_data(epl.workers.number, epl.workers.count)
    count = steps_of_epoch(data.trained, size)
    params, tables = init_params(), make_tables()
    opt_state = optimizer.init(params)
    begin, quality = time.perf_counter(), 0.0
    for epoch in range(epochs):
        total = 0.0
        for batch in batches(data.trained, size, count, seed=epoch):
            params, opt_state, tables, loss = step(params, opt_state, tables, *batch)
            total += float(loss)
        quality = auc(np.asarray(evaluate(params, tables, *data.tested[:3])), data.tested[3])
        mean, seconds = epl.workers.mean(total / count), time.perf_counter() - begin
        say(f"epoch {epoch + 1}: loss {mean:.4f}, AUC of other files {quality:.4f}, {seconds:.1f} s")
    rows = tables.candidate.export(export)
    say(f"{rows} candidates have a row, exported as {len(list(Path(export).iterdir()))} files")
    if epl.workers.number == 0:
        for source in ASKED:
            recommend(evaluate, params, tables, data.known, source)
    return quality


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--mode", default="sync", choices=["sync", "half_async", "async"], help="see epl.ParameterServer"
    )
    parser.add_argument("--devices", default="cpu:1", help="the devices of each worker (default cpu:1)")
    parser.add_argument("--epochs", type=int, default=6, help="times over the files (default 6)")
    parser.add_argument("--export", help="a folder for the rows of candidates (default: one that is removed)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(args.export or folder).mkdir(parents=True, exist_ok=True)
        quality = train(args.devices, args.mode, args.epochs, args.export or folder)
    if args.epochs >= 6 and quality < 0.85:
        sys.exit(f"error: expected an AUC of 0.85, found {quality:.4f}")


if __name__ == "__main__":
    main()
