"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# The same examples on every run and machine, and no failure for being slow: CI has two cores and two workers.
settings.register_profile("scanopt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("scanopt")
