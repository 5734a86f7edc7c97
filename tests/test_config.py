"""Flags, modes and profiles."""

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import Mode, config
from scanopt import tensor as T
from scanopt.calculus.law import standard_laws
from scanopt.config import FLAGS, Config
from scanopt.loops.profile import ScanProfile, profile_summary, reset_profiles, scan_profile
from scanopt.modes import CHEAP, MODES, as_mode


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:

    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


# ---- flags ----


def test_defaults_of_the_documents() -> None:
    fresh = Config()
    assert fresh.floatX == "float64"
    assert fresh.allow_gc is True
    assert as_mode(fresh.mode) == Mode()


@pytest.mark.parametrize("name", ["allow_gc", "allow_output_prealloc"])
def test_both_spellings_are_one_flag(name: str) -> None:
    fresh = Config()
    before = getattr(fresh.scan, name)
    assert getattr(fresh, f"scan__{name}") is before
    setattr(fresh.scan, name, not before)
    assert getattr(fresh, f"scan__{name}") is not before
    setattr(fresh, f"scan__{name}", before)
    assert getattr(fresh.scan, name) is before
    with fresh.change_flags({f"scan.{name}": not before}):
        assert getattr(fresh.scan, name) is not before
    with fresh.change_flags(**{f"scan__{name}": not before}):
        assert getattr(fresh.scan, name) is not before
    assert getattr(fresh.scan, name) is before


def test_change_flags() -> None:
    with config.change_flags(floatX="float32"):
        assert T.vector().dtype == "float32"
        with config.change_flags(floatX="float64"):
            assert T.vector().dtype == "float64"
        assert T.vector().dtype == "float32"
    assert T.vector().dtype == "float64"

    @config.change_flags(floatX="float32")
    def decorated() -> str:
        return T.vector().dtype

    assert [decorated(), decorated(), config.floatX] == ["float32", "float32", "float64"]


def test_floatx_is_a_name_of_a_dtype_and_that_of_bare_floats() -> None:
    i, draws = T.lvector("i"), T.shared_randomstreams.RandomStreams(1)
    for floatx in ("float64", "float32"):
        with config.change_flags(floatX=floatx):
            made = [
                T.cast(i, "floatX"), i.astype("floatX"), i.sum(dtype="floatX"), T.cumsum(i, dtype="floatX"),
                T.TensorType("floatX", (False,))("x"), T.tensor("floatX", (None,)), T.tensor3("x", dtype="floatX"),
                T.constant(1, dtype="floatX"), T.arange(3, dtype="floatX"), T.zeros(3, dtype="floatX"),
                T.eye(2, dtype="floatX"), T.linspace(0, 1, 3, dtype="floatX"), T.full(2, 0.1), T.constant(0.1),
                draws.binomial(size=(2,), n=1, p=0.5, dtype="floatX"), draws.uniform(size=(2,), dtype="floatX"),
            ]  # fmt: skip
        assert [x.dtype for x in made] == [floatx] * len(made)
    with config.change_flags(floatX="float16"):
        assert T.constant(1e30).dtype == "float64"
        assert T.cast(0.1, "float64").eval() == 0.1


def test_flags_come_back_after_an_error_and_wrong_ones_change_nothing() -> None:
    with pytest.raises(ZeroDivisionError), config.change_flags(floatX="float32", allow_gc=False):
        _ = 1 / 0
    assert (config.floatX, config.allow_gc) == ("float64", True)
    with pytest.raises(ValueError, match=r"config\.allow_gc: expected True or False, found 1"):
        config.change_flags(floatX="float32", allow_gc=1).__enter__()
    with pytest.raises(AttributeError, match="flotX"):
        config.change_flags(floatX="float32", flotX="float32").__enter__()
    assert config.floatX == "float64"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("floatx", "did you mean 'floatX'?"),
        ("allow_cg", "did you mean 'allow_gc'"),
        ("scan_allow_gc", "'scan.allow_gc'"),
        ("colour", "there are floatX, mode, allow_gc"),
        ("cast_policy", "take the dtype of the arrays beside them"),
        ("on_opt_error", "leave the line out"),
        ("profile_memory", "profile=True"),
    ],
)
def test_unknown_flags_name_those_near(name: str, hint: str) -> None:
    for attempt in (lambda: getattr(config, name), lambda: setattr(config, name, True)):
        with pytest.raises(AttributeError, match=f"no flag '{name}'") as error:
            attempt()
        assert hint in str(error.value)
    with pytest.raises(AttributeError, match=r"no flag 'scan\.allow_cg'; did you mean 'scan\.allow_gc'"):
        config.scan.allow_cg = True
    with pytest.raises(AttributeError, match="no flag 'scan'"):
        config.scan = True
    assert not hasattr(config, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("floatX", "int8"),
        ("floatX", 3),
        ("floatX", "float12"),
        ("allow_gc", None),
        ("scan__allow_gc", 0),
        ("mode", "f"),
    ],
)
def test_wrong_values(name: str, value: Any) -> None:
    shown = name.replace("__", r"\.")
    with pytest.raises(ValueError, match=rf"config\.{shown}: .*found {value!r}"):
        setattr(config, name, value)


def test_either_import_gives_the_same_settings() -> None:
    code = (
        "import sys, scanopt, scanopt.tensor as T; scanopt.config; module = sys.modules['scanopt.config']\n"
        "module.floatX = 'float32'; scanopt.config.scan.allow_gc = False\n"
        "assert T.vector().dtype == 'float32' and module.scan__allow_gc is False\n"
        "import scanopt.config as settings; assert settings.scan.allow_gc is False and settings.floatX == 'float32'\n"
        "try: settings.flotX = 1\nexcept AttributeError as error: print(error)"
    )
    done = python(code)
    assert "did you mean 'floatX'" in done.stdout, done.stderr


def test_flags_of_the_environment() -> None:
    code = "import scanopt; print(scanopt.config.floatX, scanopt.config.scan.allow_gc, scanopt.config.mode)"
    done = python(code, SCANOPT_FLAGS=" floatX=float32, scan.allow_gc=False,mode=FAST_COMPILE,")
    assert done.stdout.split() == ["float32", "False", "FAST_COMPILE"], done.stderr
    for flags, text in [
        ("floatx=float32", "config has no flag 'floatx'; did you mean 'floatX'?"),
        ("scan__allow_gc=maybe", "config.scan.allow_gc: expected True or False, found 'maybe'"),
        ("floatX", "must be name=value,name=value, found 'floatX'"),
    ]:
        assert f"SCANOPT_FLAGS{'' if 'must' in text else ':'} {text}" in python(code, SCANOPT_FLAGS=flags).stderr


def test_settings_print_themselves() -> None:
    text = str(Config())
    with config.change_flags(compilation_cache=True):  # which tests turn off
        assert str(scanopt.config) == text
    assert "scan.allow_output_prealloc = True" in text
    assert len(text.splitlines()) == len(FLAGS)
    assert set(dir(config)) >= {*FLAGS, "scan", "change_flags"}
    assert set(dir(config.scan)) == {"allow_gc", "allow_output_prealloc"}


# ---- modes ----


def allowed(mode: Mode) -> set[str]:
    return {x.name for x in standard_laws() if mode.allows(x.ruleset, x.name)}


def test_named_modes() -> None:
    every = {x.name for x in standard_laws()}
    assert allowed(as_mode("optimized")) == allowed(as_mode("FAST_RUN")) == allowed(as_mode(None)) == every
    assert set() < allowed(as_mode("FAST_COMPILE")) < every
    assert {x.ruleset for x in standard_laws()} >= CHEAP
    assert not allowed(as_mode("unoptimized"))
    assert [as_mode(name).optimizes for name in MODES] == [True, True, True, False]
    assert as_mode(mode := Mode("FAST_RUN")) is mode


def test_including_and_excluding() -> None:
    law = next(x for x in standard_laws() if x.ruleset == "merge")
    mode = Mode("FAST_COMPILE").including("merge", "push_out_seq")
    assert allowed(mode) == allowed(Mode("FAST_COMPILE")) | {
        x.name for x in standard_laws() if x.ruleset in ("merge", "push_out_seq")
    }
    assert not mode.excluding(law.name).allows("merge", law.name)
    assert Mode().excluding("merge").including(law.name).allows("merge", law.name)
    assert mode.excluding("merge").including("merge") == mode
    assert Mode(excluding=["merge"]) == Mode().excluding("merge")
    assert len({Mode(), Mode("optimized"), Mode("FAST_RUN")}) == 2
    mode.check({x.name for x in standard_laws()} | {x.ruleset for x in standard_laws()})
    with pytest.raises(ValueError, match="mode names 'push_out_sec', but there is no such law or ruleset; near: push"):
        Mode().excluding("push_out_sec").check({x.ruleset for x in standard_laws()})


def test_wrong_modes() -> None:
    with pytest.raises(ValueError, match="found 'fast_run'; did you mean 'FAST_RUN'"):
        as_mode("fast_run")
    with pytest.raises(ValueError, match="no law can be included"):
        Mode("unoptimized").including("merge")
    with pytest.raises(TypeError, match=r"excluding must be a list of names.*found 'merge'"):
        Mode(excluding="merge")
    with pytest.raises(TypeError, match=r"must be a name or a scanopt\.Mode, found 3"):
        as_mode(3)  # type: ignore[arg-type]


# ---- profiles ----


@pytest.fixture
def no_profiles() -> Any:
    reset_profiles()
    yield
    reset_profiles()


def test_profiles_add_up(no_profiles: None) -> None:
    profile = scan_profile("rnn")

    def work() -> None:
        for _ in range(500):
            profile.record(steps=3, in_step=0.25, total=0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (profile.calls, profile.steps, profile.in_step, profile.overhead) == (2000, 6000, 500.0, 500.0)
    scan_profile("slow").record(calls=2, total=2000.0)
    assert [line.split()[0] for line in profile_summary().splitlines()] == ["scan", "slow", "rnn"]


def test_nothing_to_show(no_profiles: None) -> None:
    scan_profile("never ran")
    assert profile_summary() == ""
    assert ScanProfile("t").row()[:3] == ["t", "0", "0"]


def test_table_at_the_end() -> None:
    code = "from scanopt.loops.profile import *; scan_profile('rnn').record(steps=7, in_step=0.5, total=1.0)"
    assert [line.split()[:3] for line in python(code).stderr.splitlines()] == [
        ["scan", "calls", "steps"],
        ["rnn", "1", "7"],
    ]
    assert python(f"{code}; print(profile_summary())").stderr == ""


def test_names_are_public() -> None:
    assert scanopt.profile_summary is profile_summary
    assert scanopt.Mode is Mode
    assert np.dtype(config.floatX) == np.float64


def test_mode_of_a_loop_leaves_laws_out_of_its_function() -> None:
    x = T.dvector("x")
    step = lambda v, s: T.tanh(s + T.exp(v))  # noqa: E731
    for mode, pushed in ((None, True), ("unoptimized", False), (scanopt.Mode().excluding("push_out_seq"), False)):
        f = scanopt.function([x], scanopt.scan(step, x, 0.0, mode=mode)[0])
        assert ("operator_of_sequences" in f.laws) == pushed


def test_a_step_of_updates_alone_has_no_outputs() -> None:
    a = scanopt.shared(1, "a")
    assert scanopt.scan(lambda: {a: a + 1}, n_steps=10)[0] is None
    assert scanopt.scan(lambda: {a: a + 1}, n_steps=10, return_list=True)[0] == []
