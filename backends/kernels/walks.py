"""Traversal of the statements and expressions of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from scanopt.backends.kernels.ir import (
    Cast,
    Declare,
    Do,
    Expr,
    For,
    Helper,
    If,
    Inner,
    Let,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
)  # fmt: skip

__all__ = [
    "changed",
    "dependencies",
    "expressions",
    "inside",
    "loads",
    "made_in",
    "variables",
    "with_loads",
    "with_values",
    "with_variables",
]


def inside(statements: Iterable[Stmt]) -> Iterator[Stmt]:
    """All statements, including nested ones."""
    for x in statements:
        yield x
        match x:
            case For(body=inner) | Steps(body=inner):
                yield from inside(inner)
            case If(then=then, otherwise=otherwise):
                yield from inside((*then, *otherwise))
            case _:
                pass


def made_in(statements: Iterable[Stmt]) -> set[str]:
    """The variables that statements define or set, including nested ones."""
    making = (Let, Set, Declare, Point, For, Steps)
    return {x.var if isinstance(x, For | Steps) else x.name for x in inside(statements) if isinstance(x, making)}


def expressions(x: Stmt) -> Iterator[Expr]:
    """The expressions of a statement itself, not of statements nested in it."""
    match x:
        case Let(value=value) | Set(value=value):
            yield value
        case Point(index=index):
            yield index
        case Store(index=index, value=value):
            yield from (index, value)
        case For(count=count):
            yield count
        case Steps(count=count, until=until):
            yield from (count, *([] if until is None else [until]))
        case If(test=test):
            yield test
        case Inner(dims=dims, strides=strides):
            yield from (*dims, *strides)
        case Helper(numbers=numbers):
            yield from numbers
        case _:
            pass


def loads(x: Expr) -> Iterator[Load]:
    """All memory reads of an expression."""
    match x:
        case Load(index=index):
            yield x
            yield from loads(index)
        case Do(args=args):
            for a in args:
                yield from loads(a)
        case Cast(arg=arg):
            yield from loads(arg)
        case _:
            pass


def variables(x: Expr) -> Iterator[str]:
    """The names of all scalar variables of an expression."""
    match x:
        case Var(name=name):
            yield name
        case Load(index=index):
            yield from variables(index)
        case Do(args=args):
            for a in args:
                yield from variables(a)
        case Cast(arg=arg):
            yield from variables(arg)
        case _:
            pass


def dependencies(x: Expr, made: Mapping[str, Expr]) -> set[str]:
    """The variables that an expression depends on.  made: what variables are defined as."""
    found, todo = set[str](), [*variables(x)]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += variables(made[name]) if name in made else ()
    return found


def with_loads(x: Stmt, change: Callable[[Load], Expr]) -> Stmt:
    """A statement on scalars with its memory reads changed, also in nested statements."""
    match x:
        case Let(value=value) | Set(value=value):
            return replace(x, value=changed(value, change))
        case Store(index=index, value=value):
            return replace(x, index=changed(index, change), value=changed(value, change))
        case If(test=test, then=then, otherwise=otherwise):
            parts = (tuple(with_loads(s, change) for s in body) for body in (then, otherwise))
            return If(changed(test, change), *parts)
        case _:
            return x


def changed(x: Expr, change: Callable[[Load], Expr]) -> Expr:
    """An expression with its memory reads changed."""
    match x:
        case Load(index=index):
            return change(replace(x, index=changed(index, change)))
        case Do(args=args):
            return replace(x, args=tuple(changed(a, change) for a in args))
        case Cast(arg=arg):
            return replace(x, arg=changed(arg, change))
        case _:
            return x


def with_values(x: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """A statement with each of its expressions changed, also in nested statements."""

    def body(statements: Iterable[Stmt]) -> tuple[Stmt, ...]:
        return tuple(with_values(s, change) for s in statements)

    match x:
        case Let(value=value) | Set(value=value):
            return replace(x, value=change(value))
        case Point(index=index):
            return replace(x, index=change(index))
        case Store(index=index, value=value):
            return replace(x, index=change(index), value=change(value))
        case For(count=count):
            return replace(x, count=change(count), body=body(x.body))
        case Steps(count=count, until=until):
            return replace(x, count=change(count), body=body(x.body), until=None if until is None else change(until))
        case If(test=test, then=then, otherwise=otherwise):
            return If(change(test), body(then), body(otherwise))
        case Inner(dims=dims, strides=strides):
            return replace(x, dims=tuple(map(change, dims)), strides=tuple(map(change, strides)))
        case Helper(numbers=numbers):
            return replace(x, numbers=tuple(map(change, numbers)))
        case _:
            return x


def with_variables(x: Expr, values: Mapping[str, Expr]) -> Expr:
    """An expression with some of its variables replaced."""
    match x:
        case Var(name=name):
            return values.get(name, x)
        case Load(index=index):
            return replace(x, index=with_variables(index, values))
        case Do(args=args):
            return replace(x, args=tuple(with_variables(a, values) for a in args))
        case Cast(arg=arg):
            return replace(x, arg=with_variables(arg, values))
        case _:
            return x
