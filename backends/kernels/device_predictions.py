"""Predicts the seconds of a loop on a device: of the fastest of its kernel, its CUDA graphs and its array steps."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.backends.captured_loops import CapturedLoop
from scanopt.backends.kernels.device_loops import DeviceChoice, DeviceLoop, LoopWays
from scanopt.backends.predicted import Known, Prices
from scanopt.extraction.cost import CostModel
from scanopt.extraction.device_rates import DeviceRates
from scanopt.program.ir import Loop
from scanopt.records import dataclass

__all__ = ["DevicePredictions"]


@dataclass(frozen=True)
class DevicePredictions:
    """Predicts the seconds of a program on a device, loops included.

    model: prices of its operators; choice: its kernels and CUDA graphs; rates: of the device.
    """

    model: CostModel
    choice: DeviceChoice
    rates: DeviceRates

    @property
    def prices(self) -> Prices:
        """The prices of all steps of the program."""
        return Prices(self.model, self.loop)

    def loop(self, loop: Loop, n: int, known: Known) -> float:
        """Predict the seconds of a loop of n steps."""
        step = self.prices.one_step(loop, known)
        ways = next((x for x in self.choice.loops if x.loop is loop), None)
        return min((n * step, *self._ways(ways, step, n, known))) if ways else n * step

    def _ways(self, ways: LoopWays, step: float, n: int, known: Known) -> Iterator[float]:
        """Predict the seconds of a loop by its kernel and by its CUDA graphs.

        step: seconds of one step, each operator launched by itself.
        """
        if isinstance(ways.kernel, DeviceLoop):
            body = ways.kernel.body
            shapes = tuple(known[name].shape for name in body.outer)
            counts = [known[name].value for name in body.counts]
            if not any(None in shape for shape in shapes) and not any(x is None for x in counts):
                found = ways.kernel.seconds(n, shapes, tuple(int(x) for x in counts))  # type: ignore[arg-type]
                yield from [] if found is None else [found]
        if isinstance(ways.graph, CapturedLoop) and n >= ways.graph.fewest:
            steps, copies = ways.graph.steps, len(ways.loop.reads) + len(ways.loop.keeps) + 1
            launch, node = self.rates.launch, self.rates.node
            yield n * (
                max(step - steps.launches * (launch - node), steps.launches * node) + copies * launch / steps.most
            )
