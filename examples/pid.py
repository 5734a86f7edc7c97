"""A PID controller keeps a tank warm, and its three gains are tuned by the gradient of the error.

The heater acts ten seconds late, which is a tap ten steps back in the loop, and gives between 0 and 100 % of its power.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

DELAY, LOSS, POWER, ROOM = 10, 0.02, 0.03, 15.0  # seconds; parts of the warmth lost, and degrees gained, each second


def step(target, late, temperature, summed, last, gains):
    """One second: what the controller does, and what becomes of the tank; late: the heating that acts now."""
    error = target - temperature
    wanted = gains[0] * error + gains[1] * summed + gains[2] * (error - last)
    heating = np.clip(wanted, 0.0, 100.0)
    summed = np.where(wanted == heating, summed + error, summed)  # no sum of errors while there is nothing to turn
    return [heating, temperature - LOSS * (temperature - ROOM) + POWER * late, summed, error]


def numpy_loop(targets, gains):
    """The same tank, as a plain loop."""
    heatings, temperatures = [0.0] * DELAY, [ROOM]
    summed = last = 0.0
    for target in targets:
        results = step(target, heatings[-DELAY], temperatures[-1], summed, last, gains)
        heatings.append(results[0])
        temperatures.append(results[1])
        summed, last = results[2:]
    return np.array(heatings[DELAY:]), np.array(temperatures[1:])


targets, gains, rate = T.dvector("targets"), T.dvector("gains"), T.dscalar("rate")
start = [dict(initial=np.zeros(DELAY), taps=[-DELAY]), np.float64(ROOM), np.float64(0), np.float64(0)]
(heatings, temperatures, _, _), _ = scanopt.scan(step, targets, start, gains)
pid = scanopt.function([targets, gains], [heatings, temperatures], name="pid")

loss = np.mean(np.abs(temperatures - targets)) + 0.02 * np.mean(np.abs(np.diff(heatings)))
tune = scanopt.function([targets, gains], [loss, T.grad(loss, gains)], name="tune")


def main():
    wanted = np.repeat([40.0, 55.0, 30.0], 200)
    first = np.array([3.0, 0.03, 0.0])
    found, losses, scale = first, [], np.array([1.0, 0.01, 10.0])
    for i in range(80):
        value, slope = tune(wanted, found)
        losses.append(float(value))
        found = found - 0.1 / (1 + i / 10) * scale * np.sign(slope)

    before, after = pid(wanted, first), pid(wanted, found)
    for computed, expected in zip(
        (*before, *after), (*numpy_loop(wanted, first), *numpy_loop(wanted, found)), strict=True
    ):
        np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-9)
    for k in range(3):
        nudge = 1e-6 * np.eye(3)[k]
        difference = (tune(wanted, first + nudge)[0] - tune(wanted, first - nudge)[0]) / 2e-6
        np.testing.assert_allclose(tune(wanted, first)[1][k], difference, rtol=1e-4)

    print(f"gains {first} tuned to {found.round(3)}")
    first_error, last_error = (np.abs(run[1] - wanted).mean() for run in (before, after))
    print(f"mean error {first_error:.2f} degrees before, {last_error:.2f} after")

    t = np.arange(len(wanted))
    chart = Chart("A PID controller, before and after its gains were tuned", "seconds", "degrees")
    chart.line(t, wanted, "wanted", steps=True).line(t, before[1], "before", dashed=True).line(t, after[1], "after")
    print(f"{chart.save('pid')} written")


if __name__ == "__main__":
    main()
