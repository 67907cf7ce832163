"""What a user installs: a wheel, built from a copy of the sources and installed where choral is not, without a network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

HOME = Path(__file__).parent.parent
PATIENCE = 120
"""Seconds that another process may take for anything, on a busy machine."""


def run(*command, cwd):
    """A command without what this process was told about paths."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built as `pip wheel .` does, with the setuptools that is here."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    shutil.copytree(HOME / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(HOME / name, source)
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", place, source, cwd=place)
    [built] = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel):
    """The folder of programs of an environment with the wheel, which borrows the packages of this one but not its choral."""
    place = wheel.parent / "environment"
    venv.create(place, with_pip=False)
    programs = place / "bin"
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    run(sys.executable, "-m", "pip", "--python", programs / "python", "install", *options, wheel, cwd=place)
    [packages] = place.glob("lib/python*/site-packages")
    # A folder that is named in a .pth is searched, but its own .pth files, and so an editable choral, are not read.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return programs


def test_the_wheel_holds_every_file_of_the_package(wheel):
    here = HOME / "src"
    sources = {
        str(path.relative_to(here))
        for path in (here / "choral").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {path.rpartition(".")[2] for path in sources} >= {"py", "css", "html", "js", "json", "svg", "typed"}
    assert sources == {name for name in packed if name.startswith("choral/")}


def test_all_stands_for_every_extra(wheel):
    extras = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    others = sorted(set(extras) - {"all"})
    [named] = extras["all"]
    assert sorted(named.removeprefix("choral[").removesuffix("]").split(",")) == others
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    assert {line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")} == set(
        extras
    )


def test_it_is_the_installed_one_that_runs(installed, tmp_path):
    where = run(installed / "python", "-c", "import choral; print(choral.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_demo_and_verify(installed, tmp_path):
    shown = run(installed / "choral", "demo", "-o", "clinic.choral", cwd=tmp_path)
    assert "VERIFIED" in shown
    assert "VERIFIED" in run(installed / "choral", "verify", "clinic.choral", cwd=tmp_path)


def test_the_first_page_of_the_studio(installed, tmp_path):
    """The page, and everything that it loads."""
    command = [str(installed / "choral"), "studio", "--json", "--no-browser"]
    visit = build_opener(HTTPCookieProcessor()).open
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as studio:
        try:
            url = json.loads(studio.stdout.readline())["url"]
            page = visit(url, timeout=PATIENCE).read().decode()
            home = url.partition("/?")[0]
            loaded = [part.partition('"')[0] for part in page.replace("href=", "src=").split('src="')[1:]]
            assets = [path for path in loaded if path.startswith("/static/")]
            assert {path.rpartition(".")[2] for path in assets} >= {"css", "js"}
            assert all(visit(home + path, timeout=PATIENCE).read() for path in assets)
        finally:
            studio.send_signal(signal.SIGINT)
        out, err = studio.communicate(timeout=PATIENCE)
    assert (studio.returncode, out, err) == (0, "", "")
