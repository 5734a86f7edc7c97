"""One compilation and what it gives: plan, compiled function, its calls, report and explanation."""
