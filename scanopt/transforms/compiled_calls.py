"""Queries of a function that compiles for each kind of arguments, answered by one of its compiled functions."""

from __future__ import annotations

from typing import Any

from scanopt.compilation.compiled_function import Function
from scanopt.compilation.explanation import Explanation
from scanopt.program.ir import Program

__all__ = ["CompiledCalls"]


class CompiledCalls:
    """Methods that query the compiled function for arguments like those given (default: those of the last call)."""

    def compiled(self, *args: Any, **kwargs: Any) -> Function:
        """The compiled function for arguments like these."""
        raise NotImplementedError

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program that runs."""
        return self.compiled(*args, **kwargs).program

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The source text that runs."""
        return self.compiled(*args, **kwargs).source

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """The laws that made the program, in order, with the cost before and after each."""
        return self.compiled(*args, **kwargs).explain()

    def report(self, *args: Any, **kwargs: Any) -> Any:
        """The report of the optimization."""
        return self.compiled(*args, **kwargs).report

    def why_not(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What kept the laws of this name from doing more."""
        return self.compiled(*args, **kwargs).why_not(name)
