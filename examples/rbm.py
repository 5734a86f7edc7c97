"""A small restricted Boltzmann machine, trained on digits of 8 x 8 pixels by the documents' Gibbs chain.

    pip install "scanopt[examples]"
    python examples/rbm.py

prints how the error of reconstruction falls, and writes build/rbm.png: digits of the data above, samples of the
chain below, which start from noise.
"""

import sys
import time
import zlib
from pathlib import Path

import numpy as np

import scanopt
import scanopt.tensor as T

HIDDEN = 96
CHAIN = 5  # steps of the chain for each update: CD-5
SCHEDULE = ((40, 0.05), (20, 0.01))  # epochs and their rate
BATCH = 20
HELD_OUT = 297
CHAINS, CHAIN_STEPS, SHOWN = 500, 1000, 40
PICTURE = Path("build") / "rbm.png"


class RBM:
    """The machine: weights as shared variables, and the functions that train it and sample from it."""

    def __init__(self, visible, hidden, chain=CHAIN, seed=1234):
        rng = np.random.default_rng(seed)
        self.W = scanopt.shared(0.05 * rng.standard_normal((visible, hidden)), "W")
        self.bvis = scanopt.shared(np.zeros(visible), "bvis")
        self.bhid = scanopt.shared(np.zeros(hidden), "bhid")
        self.trng = T.shared_randomstreams.RandomStreams(seed)
        self.train = self._train(chain)
        self.sample = self._sample()
        v = T.matrix("v")
        self.error = scanopt.function([v], T.mean((v - self.mean_field(v)) ** 2), name="error")
        self.smooth = scanopt.function([v], self.mean_field(v), name="smooth")

    def one_step(self, vsample, W, bvis, bhid):
        """One step of the chain, as in the documents; each row of a matrix is a chain of its own."""
        hmean = T.nnet.sigmoid(scanopt.dot(vsample, W) + bhid)
        hsample = self.trng.binomial(size=hmean.shape, n=1, p=hmean)
        vmean = T.nnet.sigmoid(scanopt.dot(hsample, W.T) + bvis)
        return self.trng.binomial(size=vsample.shape, n=1, p=vmean, dtype=scanopt.config.floatX)

    def gibbs(self, start, n_steps):
        """The samples of a chain, and the updates of its random streams."""
        return scanopt.scan(
            fn=self.one_step,
            outputs_info=start,
            non_sequences=[self.W, self.bvis, self.bhid],
            n_steps=n_steps,
            strict=True,
        )

    def hidden_mean(self, v):
        return T.nnet.sigmoid(scanopt.dot(v, self.W) + self.bhid)

    def mean_field(self, v):
        """v, reconstructed through the means of the hidden units: no random number is drawn."""
        return T.nnet.sigmoid(scanopt.dot(self.hidden_mean(v), self.W.T) + self.bvis)

    def _train(self, chain):
        """train(batch, rate): one update by contrastive divergence; gives the error before it."""
        data, rate = T.matrix("data"), T.scalar("rate")
        samples, updates = self.gibbs(data, chain)
        model = samples[-1]
        in_data, in_model = self.hidden_mean(data), self.hidden_mean(model)
        step = rate / data.shape[0]
        # dot(v.T, h) is the sum of the outer products of the rows of v and h.
        updates[self.W] = self.W + step * (T.dot(data.T, in_data) - T.dot(model.T, in_model))
        updates[self.bvis] = self.bvis + step * T.sum(data - model, axis=0)
        updates[self.bhid] = self.bhid + step * T.sum(in_data - in_model, axis=0)
        error = T.mean((data - self.mean_field(data)) ** 2)
        return scanopt.function([data, rate], error, updates=updates, allow_input_downcast=True, name="train")

    def _sample(self):
        """sample(start, n_steps): where the chains are after n_steps."""
        start, n_steps = T.matrix("start"), T.iscalar("n_steps")
        samples, updates = self.gibbs(start, n_steps)
        return scanopt.function([start, n_steps], samples[-1], updates=updates, name="sample")

    def fit(self, data, epochs, rate, batch=BATCH, seed=0, report=None):
        """Train on the rows of data in random order; the error after each epoch."""
        rng = np.random.default_rng(seed)
        errors = []
        for epoch in range(1, epochs + 1):
            order = rng.permutation(len(data))
            for i in range(0, len(data), batch):
                self.train(data[order[i : i + batch]], rate)
            errors.append(float(self.error(data)))
            if report:
                report(epoch, errors[-1])
        return errors


def png(pixels):
    """The bytes of a PNG file with these gray values, 0 black to 255 white."""
    height, width = pixels.shape

    def chunk(kind, body):
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 0, 0, 0, 0])  # 8 bits, gray
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels, np.uint8))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def tiled(images, columns, side=8, scale=4, gap=4):
    """Images, given as rows of values from 0 to 1, next to and below each other on white; ink is dark."""
    cell = side * scale + gap
    canvas = np.full((-(-len(images) // columns) * cell + gap, columns * cell + gap), 255.0)
    for i, image in enumerate(images):
        y, x = (gap + cell * place for place in divmod(i, columns))
        ink = np.kron(image.reshape(side, side), np.ones((scale, scale)))
        canvas[y : y + side * scale, x : x + side * scale] = 255 * (1 - ink)
    return canvas.round().astype(np.uint8)


def picture(data, samples, columns=20):
    """Some of the data above, samples below, a gray line between."""
    above, below = tiled(data, columns), tiled(samples, columns)
    line = np.full((2, above.shape[1]), 128, np.uint8)
    return png(np.concatenate([above, line, below]))


def digits():
    """The digits as rows of 64 pixels, 0 or 1, in random order, and which digits they are."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit('This example needs the digits that come with scikit-learn: pip install "scanopt[examples]"')
    bundle = load_digits()
    order = np.random.default_rng(0).permutation(len(bundle.data))
    return (bundle.data[order] >= 8).astype(scanopt.config.floatX), bundle.target[order]


def train(rbm, training, held_out):
    """Train as SCHEDULE says, and print how the errors fall."""
    print(f"epoch   error  held out\n{0:5} {float(rbm.error(training)):7.4f} {float(rbm.error(held_out)):9.4f}")
    done = 0
    for epochs, rate in SCHEDULE:

        def report(epoch, error, before=done):
            if (shown := before + epoch) <= 3 or shown % 10 == 0:
                print(f"{shown:5} {error:7.4f} {float(rbm.error(held_out)):9.4f}")

        rbm.fit(training, epochs, rate, seed=done, report=report)
        done += epochs


def main():
    data, labels = digits()
    started = time.perf_counter()
    rbm = RBM(data.shape[1], HIDDEN)
    print(f"compiled in {time.perf_counter() - started:.1f} s")
    train(rbm, data[HELD_OUT:], data[:HELD_OUT])
    noise = np.random.default_rng(1).integers(0, 2, (CHAINS, data.shape[1])).astype(data.dtype)
    samples = rbm.sample(noise, CHAIN_STEPS)
    distances = np.abs(samples[:, None] - data).sum(axis=2)
    nearest = np.bincount(labels[distances.argmin(axis=1)], minlength=10)
    print(f"{CHAINS} chains of {CHAIN_STEPS} steps: ink {samples.mean():.3f}, in the data {data.mean():.3f}")
    print(f"pixels away from the nearest digit {distances.min(axis=1).mean():.1f}; it is a 0, 1, ... 9:", *nearest)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(picture(data[:SHOWN], rbm.smooth(samples[:SHOWN])))
    print(f"{PICTURE} written, {time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
