"""The layout of the project holds: import layers, light imports, small files, no leftovers."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from scanopt import features

ROOT = Path(__file__).parents[1]

# Where each package lies, and the engine's layers from the bottom up: a module imports from its own layer or below.
HOMES = {"scanopt.rewrites": ROOT / "rewrites", "scanopt.backends": ROOT / "backends", "scanopt": ROOT / "scanopt"}
LAYERS = [
    {"scanopt.records", "scanopt.installation"},
    {"scanopt.forks", "scanopt.features", "scanopt.libraries", "scanopt.absent", "scanopt.cached_files"},
    {"scanopt.displayed", "scanopt.modes", "scanopt.extensions", "scanopt.memory", "scanopt.pauses"},
    {"scanopt.config"},
    {"scanopt.progress"},
    {"scanopt.array"},
    {"scanopt.loops"},
    {"scanopt.tree"},
    {"scanopt.scan_module", "scanopt.graph"},
    {"scanopt.gradient", "scanopt.scan"},
    {"scanopt.namespaces"},
    {"scanopt.importing"},
    {"scanopt.tensor"},  # a facade over array, loops and gradient
    {"scanopt.interpreter"},
    {"scanopt.lax"},
    {"scanopt.calculus"},
    {"scanopt.facts"},
    {"scanopt.analysis"},
    {"scanopt.egraph"},
    {"scanopt.extraction"},
    {"scanopt.program"},
    {"scanopt.rewrites", "scanopt.backends"},
    {"scanopt.compilation"},
    {"scanopt.transforms"},
    {"scanopt.bridges"},
    {"scanopt.scale"},
    {"scanopt.view"},
    {"scanopt.printing"},
    {"scanopt.lab"},
    {"scanopt.history"},
    {"scanopt"},
    {"scanopt.cli_arguments"},
    {"scanopt.cli_files"},
    {"scanopt.cli_programs"},
    {"scanopt.cli"},
    {"scanopt.__main__"},
]
RULESETS = "scanopt.rewrites"  # found by looking through the package

# Modules that import others by names they find at run time: tables of plug-ins, and packages of rules that are looked
# through.  Nothing else does, so that all other imports are plain.
BY_NAME = {
    "scanopt": "public names, imported when first used",
    "scanopt.tensor": "the same of its own",
    "scanopt.namespaces": "names of modules of other libraries",
    "scanopt.features": "what higher layers provide to lower ones",
    "scanopt.libraries": "libraries that only some functions need",
    "scanopt.extensions": "modules of other distributions",
    "scanopt.array.device": "the modules of a device's library",
    "scanopt.backends": "the executors",
    "scanopt.backends.kernels.numpy_loops": "where NumPy keeps a ufunc",
    "scanopt.calculus.law": "the rulesets",
    "scanopt.bridges.rules": "rules for operators of other libraries",
    "scanopt.lab.targets": "modules that a user names",
}

LINES_OF_FILE = 400
LINES_OF_FUNCTION = 60
STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)

# Public classes that share a name.
SAME_NAME = {"Op": ["scanopt.array.op", "scanopt.calculus.term"]}  # the sort of laws is called as what it stands for


class Import(NamedTuple):
    """`module` imports `target`, at its top or inside a function."""

    module: str
    target: str
    line: int


def module_name(path: Path) -> str:
    for package, home in HOMES.items():
        if path.is_relative_to(home):
            parts = path.relative_to(home).with_suffix("").parts
            return ".".join([package, *parts]).removesuffix(".__init__")
    raise AssertionError(f"{path} is in no package")


MODULES = {module_name(path): path for home in HOMES.values() for path in sorted(home.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """What each module says; read when a test asks, not when tests are collected."""
    return {name: ast.parse(path.read_text(encoding="utf-8"), str(path)) for name, path in MODULES.items()}


@cache
def statements() -> dict[str, list[ast.AST]]:
    """The statements of each module, at any depth."""
    return {name: [*statements_in(tree)] for name, tree in trees().items()}


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements in it, at any depth.  No statement is in an expression, so those are passed over."""
    todo = [node]
    while todo:
        yield (here := todo.pop())
        todo.extend(x for x in ast.iter_child_nodes(here) if isinstance(x, STATEMENTS))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Millions of nodes are not kept until the end, to be looked through for garbage."""
    yield
    for kept in (trees, statements, imports):
        kept.cache_clear()


def is_typing_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in (
        getattr(node.test, "id", ""), getattr(node.test, "attr", "")
    )  # fmt: skip


def targets(module: str, node: ast.AST) -> list[str]:
    """The modules that one statement imports."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=source, names=names, level=level):
            assert level == 0, f"{module}:{node.lineno}: relative import"
            return [f"{source}.{a.name}" if f"{source}.{a.name}" in MODULES else str(source) for a in names]
    return []


def imports_of(module: str) -> list[Import]:
    all_ = statements()[module]
    typing = {id(x) for node in all_ if is_typing_only(node) for y in node.body for x in statements_in(y)}
    return [Import(module, x, node.lineno) for node in all_ if id(node) not in typing for x in targets(module, node)]


@cache
def imports() -> list[Import]:
    return [found for module in MODULES for found in imports_of(module)]


def layer(module: str) -> int:
    """The number of its layer; the longest name decides, so scanopt.rewrites.merge is not `scanopt`."""
    matching = [(i, name) for i, names in enumerate(LAYERS) for name in names if f"{module}.".startswith(f"{name}.")]
    i, name = max(matching, key=lambda found: len(found[1]))
    assert name != "scanopt" or module == "scanopt", f"{module} has no layer: add it to LAYERS in {__file__}"
    return i


def package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def where(found: Import) -> str:
    return f"{MODULES[found.module].relative_to(ROOT)}:{found.line} imports {found.target}"


def points_downward(found: Import) -> bool:
    here, there = package(found.module), package(found.target)
    if here == RULESETS and found.target == "scanopt":
        return True  # laws are written like those outside of the repository
    if there == RULESETS:
        return here == there
    facade = found.target == "scanopt" and layer(found.module) >= layer("scanopt")
    return here == there or facade or layer(found.target) < layer(found.module)


def test_imports_point_downward() -> None:
    wrong = [
        where(found) for found in imports() if f"{found.target}.".startswith("scanopt.") and not points_downward(found)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_cycles() -> None:
    """Among all imports, also those inside functions."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in imports():
        if found.target in MODULES and found.target != found.module:
            graph[found.module].add(found.target)
    TopologicalSorter(graph).prepare()


def calls_by_name(module: str) -> list[ast.Call]:
    """The calls that import a module by a string."""
    names = ("import_module", "__import__")
    if not any(name in MODULES[module].read_text(encoding="utf-8") for name in names):
        return []
    calls = (node for node in ast.walk(trees()[module]) if isinstance(node, ast.Call))
    return [x for x in calls if (getattr(x.func, "attr", None) or getattr(x.func, "id", None)) in names]


def test_imports_are_plain() -> None:
    """A name that is fixed is imported by a statement, where readers and type checkers see it."""
    calls = {module: found for module in MODULES if (found := calls_by_name(module))}
    assert calls.keys() == BY_NAME.keys()
    fixed = [f"{m}:{x.lineno}" for m, found in calls.items() for x in found if isinstance(x.args[0], ast.Constant)]
    assert not fixed


def test_features_are_there() -> None:
    for name in features.FEATURES:
        assert getattr(features, name) is not None, name
    with pytest.raises(AttributeError, match=r"'scanopt\.features' has no attribute 'nonesuch'"):
        features.nonesuch  # type: ignore[attr-defined]  # noqa: B018


def test_only_the_e_graph_knows_egglog() -> None:
    users = {found.module for found in imports() if found.target.split(".")[0] == "egglog"}
    assert {package(module) for module in users} <= {"scanopt.egraph"}


LIGHT = ["scanopt", "scanopt.tensor", "scanopt.loops", "scanopt.program", "scanopt.compilation.function"]


@pytest.mark.parametrize("name", LIGHT)
def test_import_needs_numpy_alone(name: str) -> None:
    code = (
        f"import sys; before = set(sys.modules); import {name}\n"
        "print(*{m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"scanopt", "numpy"}


def test_public_names_outlive_modules_of_the_same_name() -> None:
    """Importing its module must not hide the function scanopt.function."""
    code = (
        "import scanopt.compilation.function, scanopt.interpreter as i\n"
        "assert callable(scanopt.function) and callable(i.interpret)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_packages_are_installed() -> None:
    """The explicit list of packages in pyproject.toml names each directory with modules, and no other."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert set(settings["packages"]) == {module_name(path.parent / "__init__.py") for path in MODULES.values()}
    assert all((path.parent / "__init__.py").is_file() for path in MODULES.values())


def test_modules_are_small_and_say_what_they_are() -> None:
    for module, path in MODULES.items():
        tree = trees()[module]
        assert ast.get_docstring(tree), f"{path} has no docstring"
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_OF_FILE, path
        assert path.stem not in ("utils", "util", "helpers", "misc", "common"), f"{path}: name it by what it is about"
        for node in statements()[module]:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno is not None
                length = node.end_lineno - node.lineno + 1
                assert length <= LINES_OF_FUNCTION, f"{path}:{node.lineno} {node.name}: {length} lines"


def test_one_public_name_is_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for module, all_ in statements().items():
        for node in all_:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module)
    assert {name: found for name, found in homes.items() if len(found) > 1} == SAME_NAME


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How deep blocks lie in one another; `elif` and functions inside do not count."""
    found = [depth]
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, STATEMENTS) or isinstance(inner, ast.FunctionDef | ast.ClassDef):
            continue
        elif_ = isinstance(node, ast.If) and isinstance(inner, ast.If) and node.orelse == [inner]
        found.append(nesting(inner, depth + (isinstance(inner, BLOCKS) and not elif_)))
    return max(found)


def test_blocks_are_not_deep() -> None:
    functions = ((m, x) for m, all_ in statements().items() for x in all_ if isinstance(x, ast.FunctionDef))
    assert [(module, x.name) for module, x in functions if nesting(x) > 4] == []


def texts() -> list[Path]:
    """All files of the project, by a walk (an unpacked sdist has no git; in a linked worktree .git is a file)."""
    folders = ["scanopt", "rewrites", "backends", "tests", "docs", "examples", "benchmarks", ".ci"]
    files = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file()]
    files += [p for p in ROOT.glob("*") if p.is_file() and p.name != ".git"]
    return [p for p in files if p.suffix in {".py", ".md", ".toml", ".csv", ".in", ".js", ".css", ".html", ".svg", ""}]


LEFTOVERS = re.compile(
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|/(work|tmp|root|farm)" r"/|/opt/py" r"pi|--(extra-)?index" r"-url"
)


def test_no_leftovers() -> None:
    """No notes to self, no path of somebody's machine, no address of somebody's package index."""
    found = [
        f"{path.relative_to(ROOT)}:{i} {line.strip()}"
        for path in texts()
        if path.name != "report.html"
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if LEFTOVERS.search(line)
    ]
    assert not found, "\n".join(found)
