"""What is shipped: the sdist builds the wheel, the wheel holds what it must, and it answers far from the checkout.

Built without isolation, so without the network: the build tools come with the ``dev`` extra. ``make check`` runs it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from qengine import __version__

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
READY = "ready/sm90.bin"
SHIPPED_TEXTS = ("grammar", "catalog", "kernels/include", "kernels/cuda")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command away from this environment's path settings and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "QENGINE"))}
    kept["SOURCE_DATE_EPOCH"] = "1764288000"  # which files in a wheel get as their time
    kept["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), kept["PATH"]])  # the environment's cmake and ninja
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files of the project, as git names them; new ones that aren't committed yet too."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=CHECKOUT)
    return [name for name in listed.split("\0") if name and (CHECKOUT / name).is_file()]


def test_nothing_lies_at_the_top_by_mistake(tracked: list[str]) -> None:
    known = (
        ".ci", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
        "catalog", "docs", "examples", "grammar", "kernels", "pyproject.toml", "qengine", "tests",
    )  # fmt: skip
    assert {name.partition("/")[0] for name in tracked} == set(known)


@pytest.fixture(scope="module")
def source(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's files, with binaries for a GPU as ``qengine warmup --package`` makes them."""
    source = tmp_path_factory.mktemp("source")
    (source / "build" / READY).parent.mkdir(parents=True)
    (source / "build" / READY).write_bytes(b"binaries")
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, source / name)
    return source


@pytest.fixture(scope="module")
def distributions(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that was built from it."""
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, source, cwd=target)
    return target


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; it borrows the dependencies of this one."""
    place = tmp_path_factory.mktemp("elsewhere")
    run(sys.executable, "-m", "venv", "--without-pip", place / "venv", cwd=place)
    python = place / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=place)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "venv" / "bin"


def test_one_tree_is_built_twice_at_the_same_time(source: Path, tmp_path: Path) -> None:
    unoptimised = "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O0"  # it is built sooner
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-C", unoptimised)
    targets = [tmp_path / "one", tmp_path / "other"]
    with ThreadPoolExecutor(len(targets)) as pool:
        list(pool.map(lambda target: run(*pip, "--wheel-dir", target, source, cwd=tmp_path), targets))
    one, other = ([each.read_bytes() for each in target.glob("*.whl")] for target in targets)
    assert len(one) == 1 and one == other, "built again, a wheel has the same bytes"
    assert [path.name for path in (source / "build").iterdir()] == ["ready"]


def test_the_sdist_holds_every_file(distributions: Path, tracked: list[str]) -> None:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert [name for name in tracked if name not in held] == []


def test_one_wheel_serves_every_python(wheel: Path) -> None:
    assert wheel.name.startswith(f"qengine_graph-{__version__}-py3-none-")


def test_the_wheel_installs_nothing_beside_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert tops == {"qengine", f"qengine_graph-{__version__}.dist-info"}


def test_the_wheel_holds_the_package_and_its_texts(wheel: Path, tracked: list[str], source: Path) -> None:
    expected = {f"qengine/_data/{READY}": source / "build" / READY}
    expected |= {name: CHECKOUT / name for name in tracked if name.startswith("qengine/")}
    for name in tracked:
        if name.startswith(tuple(f"{folder}/" for folder in SHIPPED_TEXTS)):
            expected[f"qengine/_data/{name}"] = CHECKOUT / name
        if re.fullmatch(r"examples/world/([^/]*\.csv|graph\.toml|README\.md)", name):
            expected[f"qengine/_data/{name}"] = CHECKOUT / name
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("qengine/")}
        assert held - {"qengine/_native/libqengine_host.so"} == expected.keys()
        assert [name for name, path in expected.items() if archive.read(name) != path.read_bytes()] == []


def test_an_installed_wheel_answers(installed: Path, tmp_path: Path) -> None:
    world = shutil.copytree(CHECKOUT / "examples" / "world", tmp_path / "world")
    query = "MATCH (a)-[:borders]-(b)-[:borders]-(c)-[:borders]-(a) RETURN count(*) / 6 AS triangles"
    assert run(installed / "qengine", world, "-c", query, "--format", "csv", cwd=tmp_path) == "triangles\n175\n"
    assert run(installed / "qengine", "--demo", "-c", query, "--format", "csv", cwd=tmp_path) == "triangles\n175\n"
    where = run(installed / "python", "-c", "import qengine; print(qengine.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_a_strangers_first_minutes_are_those_of_the_quick_start(installed: Path, tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "pages" / "quick-start.md").read_text(encoding="utf-8")
    script = tmp_path / "quick_start.py"
    snippets = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    script.write_text("\n".join([_WITHOUT_EXTRAS, *snippets]), encoding="utf-8")
    out = run(installed / "python", "-X", "utf8", script, cwd=tmp_path)
    assert "Mary 1831" in out and "Ada Mary Charles" in out and "Date('1852-11-27')" in out
    assert (tmp_path / "people.svg").read_text(encoding="utf-8").startswith("<svg")


_WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "networkx", "IPython", "matplotlib", "cupy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""The environment borrows these from the tests'; a stranger hasn't got them."""

_OWN_FILES = """
import warnings
from pathlib import Path
import qengine

Path("kunden.csv").write_bytes(
    '\\ufeffNr.;Name (voll);Umsatz;seit;\\r\\n'.encode()
    + '1;"Müller; Anna";"1.234,50";2020-01-31;\\r\\n2;"O""Brien";;n/a;\\r\\n'.encode()
)
Path("kauf.csv").write_text("wer;was\\n1;2\\n1;9\\n")
try:
    qengine.Graph.from_csv(nodes={"Kunde": "kunden.csv"}, id="Nr.")
except qengine.StorageError as error:
    print(error)
how = {"nodes": {"Kunde": "kunden.csv"}, "relationships": {"KENNT": "kauf.csv"}, "delimiter": ";", "id": "Nr."}
try:
    qengine.Graph.from_csv(**how, start="wer", end="was")
except qengine.StorageError as error:
    print(error)
Path("kauf.csv").write_text("wer;was\\n1;2\\n")
with warnings.catch_warnings(record=True, action="always") as told:
    graph = qengine.Graph.from_csv(**how, start="wer", end="was", null="n/a")
print(*(each.message for each in told), sep="\\n")
print(graph.schema)
print(graph.query("MATCH (k:Kunde) RETURN k.`Name (voll)` AS name, k.seit AS since ORDER BY name").fetchall())
print(graph.query("MATCH (k:Kunde) RETURN toFloat(replace(replace(k.Umsatz, '.', ''), ',', '.')) AS x").fetchall())
print(graph.query("MATCH (a)-[:KENNT]->(b) RETURN a.`Nr.`, b.`Nr.`").fetchall())
Path("bild.svg").write_text(graph.query("MATCH p = ()-[:KENNT]->() RETURN p").to_svg(), encoding="utf-8")
"""


def test_a_stranger_loads_an_export_of_her_own(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(_WITHOUT_EXTRAS + _OWN_FILES, encoding="utf-8")
    out = run(installed / "python", "-X", "utf8", script, cwd=tmp_path)
    for told in (
        "kunden.csv: semicolons separate its columns, not commas",
        "delimiter=';'",
        "kauf.csv, column was: row 1 has the key 9, which is no node's",
        "column Umsatz: it stays text, because '1.234,50' has a decimal comma",
        "(:Kunde {Nr.: INTEGER, Name (voll): STRING, Umsatz: STRING, seit: DATE})  2",
        "[Row(name='Müller; Anna', since=Date('2020-01-31')), Row(name='O\"Brien', since=None)]",
        "[Row(x=1234.5), Row(x=None)]",
        "[Row(a.`Nr.`=1, b.`Nr.`=2)]",
    ):
        assert told in out
    assert (tmp_path / "bild.svg").read_text(encoding="utf-8").startswith("<svg")


def test_few_packages_come_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode()
        assert [each for each in archive.namelist() if each.endswith("licenses/LICENSE")]
    needed = set(re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", text, re.MULTILINE))
    assert needed - {"numpy", "pyarrow"} == {"lark", "prompt_toolkit", "tzdata", "wcwidth"}
