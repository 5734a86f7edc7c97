"""One compilation: the plan, the compiled function, its calls, its report and explanation."""
