"""An LSTM that learns to write, from a text that comes with Python: the documents' model, trained by its gradient.

    python examples/text_lstm.py

prints how the loss falls, writes what the network makes up, and saves the curve as build/text_lstm.svg.
"""

import time
from pathlib import Path
from pydoc_data import topics

import numpy as np

import scanopt
import scanopt.tensor as T

HIDDEN, LENGTH, BATCH, UPDATES = 128, 50, 32, 1000
PICTURE = Path("build") / "text_lstm.svg"
TOPICS = ("types", "specialnames", "formatstrings", "class", "function", "with", "try", "import", "exprlists", "calls")


def text():
    """Chapters of Python's own reference, as one string of few different characters."""
    whole = "\n".join(topics.topics[name] for name in TOPICS if name in topics.topics)
    return "".join(c if c.isascii() and (c.isprintable() or c == "\n") else " " for c in whole)


class Writer:
    """The network: weights as shared variables, and the functions that train it and let it write."""

    def __init__(self, alphabet, hidden=HIDDEN, seed=0):
        self.alphabet, self.hidden = alphabet, hidden
        rng = np.random.default_rng(seed)
        size = len(alphabet)
        shapes = {f"{kind}_{gate}": (rows, hidden) for kind, rows in (("W", size), ("U", hidden)) for gate in "icfo"}
        shapes |= {f"b_{gate}": (hidden,) for gate in "icfo"} | {"V": (hidden, size), "d": (size,)}
        self.weights = {name: self._shared(name, shape, rng) for name, shape in shapes.items()}
        self.weights["b_f"].set_value(np.ones(hidden))  # remember, to begin with
        self.train = self._train()
        self.next = self._next()

    @staticmethod
    def _shared(name, shape, rng):
        scale = 0.0 if len(shape) == 1 else 1 / np.sqrt(shape[0])
        return scanopt.shared(scale * rng.standard_normal(shape), name)

    def step(self, x, h, c):
        """One step of the documents' LSTM, on a row for each text; x: the characters, as integers."""
        w = self.weights
        i, f, o = (T.nnet.sigmoid(w[f"W_{k}"][x] + T.dot(h, w[f"U_{k}"]) + w[f"b_{k}"]) for k in "ifo")
        candidate = T.tanh(w["W_c"][x] + T.dot(h, w["U_c"]) + w["b_c"])
        c = i * candidate + f * c
        return [o * T.tanh(c), c]

    def _train(self):
        """train(characters, rate): one update by Adam; gives the loss before it, in nats for each character."""
        characters, rate = T.lmatrix("characters"), T.dscalar("rate")
        start = T.zeros((characters.shape[1], self.hidden), dtype="float64")
        (states, _), _ = scanopt.scan(self.step, characters[:-1], [start, start], name="lstm")
        scores = T.dot(states, self.weights["V"]) + self.weights["d"]
        logs = T.nnet.logsoftmax(scores.reshape((-1, len(self.alphabet)), ndim=2))
        right = characters[1:].flatten()
        loss = -logs[T.arange(right.shape[0]), right].mean()
        gradients = scanopt.grad(loss, list(self.weights.values()))
        updates = adam(list(self.weights.values()), gradients, rate)
        return scanopt.function([characters, rate], loss, updates=updates, name="train")

    def _next(self):
        """next(characters, h, c): the probabilities of what comes next, and the new state."""
        x, h, c = T.lvector("x"), T.dmatrix("h"), T.dmatrix("c")
        h1, c1 = self.step(x, h, c)
        return scanopt.function([x, h, c], [T.nnet.softmax(T.dot(h1, self.weights["V"]) + self.weights["d"]), h1, c1])

    def encode(self, written):
        """A text as integers."""
        place = {c: i for i, c in enumerate(self.alphabet)}
        return np.array([place[c] for c in written])

    def write(self, length, start="The ", seed=0, sharp=1.5):
        """A text that begins with `start`; sharp: above 1 for safer characters."""
        rng = np.random.default_rng(seed)
        h = c = np.zeros((1, self.hidden))
        written = list(start)
        for i in range(length + len(start) - 1):
            chances, h, c = self.next(self.encode(written[i : i + 1]), h, c)
            if i >= len(start) - 1:
                chances = chances[0] ** sharp
                written.append(self.alphabet[rng.choice(len(self.alphabet), p=chances / chances.sum())])
        return "".join(written)

    def fit(self, written, updates, length=LENGTH, batch=BATCH, rate=4e-3, seed=0, report=None):
        """Train on random pieces of a text; the loss of each update."""
        rng, data = np.random.default_rng(seed), self.encode(written)
        losses = []
        for update in range(1, updates + 1):
            starts = rng.integers(0, len(data) - length, batch)
            piece = data[starts + np.arange(length + 1)[:, None]]
            losses.append(float(self.train(piece, rate * min(1, 3 * (1 - (update - 1) / updates)))))
            if report:
                report(update, losses)
        return losses


def adam(weights, gradients, rate, b1=0.9, b2=0.99, tiny=1e-8):
    """The updates of Adam (Kingma and Ba 2015), as pairs."""
    count = scanopt.shared(np.float64(0.0), "count")
    n = count + 1
    updates = [(count, n)]
    for w, g in zip(weights, gradients, strict=True):
        m, v = (scanopt.shared(np.zeros(w.get_value().shape), f"{kind}_{w.name}") for kind in "mv")
        m_now, v_now = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        change = rate * (m_now / (1 - b1**n)) / (T.sqrt(v_now / (1 - b2**n)) + tiny)
        updates += [(m, m_now), (v, v_now), (w, w - change)]
    return updates


def curve(losses, width=640, height=320, margin=40):
    """The losses as an SVG picture: every update in gray, the mean of 25 in black."""
    low, high = 0.0, max(losses)
    mean = np.convolve(losses, np.ones(25) / 25, "valid") if len(losses) >= 25 else np.array(losses)
    middle = (len(losses) - len(mean)) / 2

    def points(values, first):
        x = margin + (width - 2 * margin) * (first + np.arange(len(values))) / max(len(losses) - 1, 1)
        y = height - margin - (height - 2 * margin) * (np.asarray(values) - low) / (high - low)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"',
        ' font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<path d="M{margin} {margin}V{height - margin}H{width - margin}" fill="none" stroke="#444"/>',
    ]
    for value in np.linspace(low, high, 5):
        y = height - margin - (height - 2 * margin) * (value - low) / (high - low)
        lines.append(f'<text x="{margin - 6}" y="{y + 4:.0f}" text-anchor="end">{value:.1f}</text>')
    lines += [
        f'<polyline points="{points(losses, 0)}" fill="none" stroke="#bbb"/>',
        f'<polyline points="{points(mean, middle)}" fill="none" stroke="black" stroke-width="2"/>',
        f'<text x="{width - margin}" y="{height - 12}" text-anchor="end">{len(losses)} updates</text>',
        f'<text x="{margin}" y="{margin - 14}">loss, nats for each character</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main():
    written = text()
    alphabet = "".join(sorted(set(written)))
    started = time.perf_counter()
    writer = Writer(alphabet)
    print(f"{len(written)} characters, {len(alphabet)} different; compiled in {time.perf_counter() - started:.1f} s")
    print("update    loss")

    def report(update, losses):
        if update == 1 or update % 100 == 0:
            print(f"{update:6} {np.mean(losses[-25:]):7.3f}", flush=True)

    losses = writer.fit(written, UPDATES, report=report)
    print(f"\nchance alone: {np.log(len(alphabet)):.3f}; it writes:\n\n{writer.write(300)}\n")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(curve(losses), encoding="utf-8")
    print(f"{PICTURE} written, {time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
