"""An epidemic in a boarding school, fitted by the SEIR model: three rates from fourteen counts of boys in bed.

The model is a loop of small steps; Gauss and Newton's method needs the derivative of each day by each rate, which is a
Jacobian through the loop.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

# Influenza in a school of 763 boys, each day from 22 January 1978 (British Medical Journal, 4 March 1978).
IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4], float)
BOYS, STEPS = 763.0, 20  # steps for each day
START = (BOYS - 2 * IN_BED[0], IN_BED[0], IN_BED[0])  # as many exposed as ill


def step(susceptible, exposed, ill, infect, fall_ill, recover):
    """A twentieth of a day."""
    infected = infect * susceptible * ill / BOYS / STEPS
    falling_ill, well = fall_ill * exposed / STEPS, recover * ill / STEPS
    return [susceptible - infected, exposed + infected - falling_ill, ill + falling_ill - well]


def numpy_loop(logs):
    """How many are ill each day, by a plain loop."""
    state, days = START, []
    for i in range(STEPS * (len(IN_BED) - 1) + 1):
        if i % STEPS == 0:
            days.append(state[2])
        state = step(*state, *np.exp(logs))
    return np.array(days)


logs = T.dvector("logs")
(_, _, ill), _ = scanopt.scan(
    step, outputs_info=list(START), non_sequences=[np.exp(logs[k]) for k in range(3)], n_steps=STEPS * (len(IN_BED) - 1)
)
days = np.concatenate([IN_BED[:1], ill[STEPS - 1 :: STEPS]])
model = scanopt.function([logs], [days, T.jacobian(days, logs)], name="model")


def main():
    found = np.log([3.0, 1.0, 0.5])
    days, slopes = model(found)
    np.testing.assert_allclose(days, numpy_loop(found), rtol=1e-9)
    for k in range(3):
        nudge = 1e-6 * np.eye(3)[k]
        difference = (numpy_loop(found + nudge) - numpy_loop(found - nudge)) / 2e-6
        np.testing.assert_allclose(slopes[:, k], difference, rtol=1e-5, atol=1e-5)

    first, damping = days, 1e4  # as Levenberg and Marquardt have it: shorter steps where they do not help
    for _ in range(60):
        away = IN_BED - days
        change = np.linalg.solve(slopes.T @ slopes + damping * np.eye(3), slopes.T @ away)
        new_days, new_slopes = model(found + change)
        if np.sum((IN_BED - new_days) ** 2) < np.sum(away**2):
            found, days, slopes, damping = found + change, new_days, new_slopes, damping / 3
        else:
            damping *= 3
    infect, fall_ill, recover = np.exp(found)
    errors = [np.std(curve - IN_BED) for curve in (first, days)]
    print(f"error from {errors[0]:.0f} to {errors[1]:.1f} boys; each infects {infect / recover:.1f}")
    print(f"{24 / fall_ill:.0f} hours until they are ill, {1 / recover:.1f} days in bed")

    t = np.arange(len(IN_BED))
    chart = Chart("Influenza in a school", "days", "boys in bed")
    chart.dots(t, IN_BED, "counted").line(t, first, "first guess", dashed=True).line(t, days, "fitted")
    print(f"{chart.save('seir')} written")


if __name__ == "__main__":
    main()
