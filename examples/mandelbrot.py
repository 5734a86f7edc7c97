"""The Mandelbrot set: for each point c of the plane, how many steps of z*z + c it takes to get away.

All points make their steps at once, on matrices of complex numbers; those that are away stay where they are. The loop
ends early when the last of them has left, if it does.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import heat_map


def step(z, count, c):
    """One step of all points that are still near."""
    near = np.abs(z) <= 2
    return [np.where(near, z * z + c, z), count + near], scanopt.until(~np.any(near))


def numpy_loop(c, n):
    """The same point by point, as a plain loop over Python's complex numbers."""
    counts = np.zeros(c.shape, int)
    for place, number in np.ndenumerate(c):
        z, number = 0j, complex(number)
        while counts[place] < n and abs(z) <= 2:
            z = z * z + number
            counts[place] += 1
    return counts


c, n = T.zmatrix("c"), T.iscalar("n")
(_, counts), _ = scanopt.scan(
    step, outputs_info=[T.zeros_like(c), T.zeros_like(c, dtype="int64")], non_sequences=c, n_steps=n
)
mandelbrot = scanopt.function([c, n], counts[-1], name="mandelbrot")


def plane(x, y, width, pixels):
    """The complex numbers of a picture around x + iy."""
    across = np.linspace(-width / 2, width / 2, pixels)
    return (x + across) + 1j * (y + across[: 3 * pixels // 4] - across[3 * pixels // 8])[::-1, None]


def main():
    coarse = plane(-0.6, 0.0, 3.0, 80)
    np.testing.assert_array_equal(mandelbrot(coarse, 50), numpy_loop(coarse, 50))

    fine = plane(-0.6, 0.0, 3.0, 480)
    steps = mandelbrot(fine, 100)
    area = (steps == 100).mean() * np.ptp(fine.real) * np.ptp(fine.imag)
    print(f"{steps.size} points, {np.mean(steps == 100):.1%} of them still near after 100 steps")
    print(f"area of the set about {area:.3f} (with ever more steps and points 1.507)")
    print(f"{heat_map('mandelbrot', np.log(steps))} written")


if __name__ == "__main__":
    main()
