"""The packages, the one way imports may point (lazy imports included), and what may pass between packages."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

import pytest

import heartfelt
from heartfelt.moved import MOVED, RENAMED

ROOT = Path(heartfelt.__file__).parent
TOP = Path(__file__).parents[1]
BASE = {
    "errors",
    "failures",
    "logs",
    "extras",
    "registry",
    "tables",
    "streams",
    "files",
    "journal",
    "progress",
    "clock",
    "serialization",
    "wording",
    "templates",
    "representation",
    "arguments",
    "options",
    "moved",
}
ORDER = (
    "base",
    "stats",
    "media",
    "study",
    "snapshot",
    "formats",
    "simulate",
    "collect",
    "screening",
    "labels",
    "analysis",
    "planning",
    "predictors",
    "stimuli",
    "scoring",
    "training",
    "datasets",
    "report",
    "publishing",
    "web",
    "api",
    "cli",
)
NEVER = {package: {"collect", "web"} for package in ORDER[ORDER.index("screening") : ORDER.index("web")]}
# A plan runs the assignment of a running study, in memory.
NEVER["planning"] = {"web"}
# The only module that may import upwards: snapshot.analyze() and the like, for notebooks.
SHORTCUTS = "snapshot/shortcuts.py"
# Where any exception is taken: the one module for parts of a larger work, a command, a request, a job of a thread or of another
# process (raised again, or answered, where its result is waited for), one prediction or stimulus of a foreign model, a plug-in,
# and calls of libraries whose errors have no common family.
EDGES = {
    "failures.py",
    "cli/__init__.py",
    "web/challenge/challenge.py",
    "web/security/direct.py",
    "web/security/guard.py",
    "web/study/background.py",
    "collect/writing/writer.py",
    "predictors/execution/work.py",
    "predictors/execution/engines.py",
    "predictors/execution/ray.py",
    "web/predictor_server.py",
    "stimuli/generation/work.py",
    "registry.py",
    "training/finetuning/recipes/chat/model.py",
    "training/finetuning/folder.py",
    "predictors/weights/network.py",
}
BANNED_MODULES = {"utils", "helpers", "manager", "misc", "common"}
DIALECT = {
    "found", "one", "said", "told", "laid", "kept", "beside", "weather", "hands", "prints", "rooms", "books",
    "Room", "Books", "Told", "Said", "Kept",
}  # fmt: skip
HEAVY = {
    "torch",
    "transformers",
    "diffusers",
    "ray",
    "numba",
    "matplotlib",
    "statsmodels",
    "pandas",
    "fastapi",
    "soundfile",
}
# What a class offers to the serialiser is plain data by design.
HOOKS = {"to_json", "from_json"}
# Data whose keys are somebody else's: a rater's answers as sent, a line of a JSON file, options of a format, a policy
# as plain data, a stored reference, the facts a trained model's folder holds.
OPEN = {
    "collect/messages/commands.py",
    "collect/simulation.py",
    "formats/tables/json_files.py",
    "formats/format.py",
    "predictors/weights/store.py",
    "predictors/trained/domain.py",
    "predictors/trained/model.py",
    "screening/panel.py",
    "screening/policy.py",
}
UNTYPED = ("dict[str, Any]", "Mapping[str, Any]", "dict[Any, Any]")


def modules() -> list[str]:
    """Every module of heartfelt: its path below the package."""
    paths = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
    return [path.relative_to(ROOT).as_posix() for path in paths]


@cache
def trees() -> dict[str, ast.Module]:
    """Every module parsed, which takes seconds; tests that need it are slow."""
    return {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in modules()}


def dotted(path: str) -> str:
    return ".".join(["heartfelt", *Path(path).with_suffix("").parts]).removesuffix(".__init__")


def package(name: str) -> str:
    first = name.split(".")[1]
    return "base" if first in BASE else "cli" if first == "__main__" else first


def imported(tree: ast.Module, *, types_too: bool = True) -> Iterator[tuple[int, str, str]]:
    """Every heartfelt module and name a file imports, at the top or inside a function, with its line."""
    skipped: set[int] = set()
    if not types_too:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                skipped |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("heartfelt."):
                    yield node.lineno, alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write imports in full"
            module = node.module or ""
            for alias in node.names:
                if module == "heartfelt" and not alias.name.startswith("__"):
                    yield node.lineno, f"heartfelt.{alias.name}", ""
                elif module.startswith("heartfelt."):
                    yield node.lineno, module, alias.name


@pytest.mark.slow
def test_imports_point_one_way() -> None:
    wrong = []
    for path, tree in trees().items():
        here = package(dotted(path))
        assert here in ORDER, f"{here} has no place in the order of packages"
        for line, target, _ in imported(tree):
            there = package(target)
            if path == SHORTCUTS:
                continue
            if there not in ORDER or ORDER.index(there) > ORDER.index(here):
                wrong.append(f"{path}:{line}: {here} may not import {there}")
            if there in NEVER.get(here, set()):
                wrong.append(f"{path}:{line}: {here} never imports {there}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_no_module_imports_itself_through_others() -> None:
    known = {dotted(path) for path in trees()}
    graph: dict[str, set[str]] = {}
    for path, tree in trees().items():
        if path == SHORTCUTS:
            continue
        targets = {
            f"{module}.{name}" if f"{module}.{name}" in known else module
            for _, module, name in imported(tree, types_too=False)
        }
        graph[dotted(path)] = targets & known - {dotted(path)}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, "a cycle: " + " -> ".join([*trail[trail.index(module) :], module])
        if module not in done:
            for target in sorted(graph.get(module, ())):
                visit(target, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def connected(graph: Mapping[str, Set[str]]) -> list[set[str]]:
    """The groups of two or more nodes that reach one another (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    groups: list[set[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        waiting.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in waiting:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            at = waiting.index(node)
            if len(waiting) - at > 1:
                groups.append(set(waiting[at:]))
            del waiting[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return groups


def test_groups_that_reach_one_another() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, connected(graph))) == [["a", "b", "c"], ["d", "e"]]
    assert connected({"a": {"b", "c"}, "b": {"c"}}) == []


@cache
def imports_between_modules() -> dict[str, set[str]]:
    """Every module, and the modules it imports: at the top, inside functions and for types alone."""
    names = {dotted(path) for path in trees()}
    graph: dict[str, set[str]] = {}
    for path, tree in trees().items():
        if path != SHORTCUTS:
            targets = {f"{m}.{name}" if f"{m}.{name}" in names else m for _, m, name in imported(tree)}
            graph[dotted(path)] = targets & names - {dotted(path)}
    return graph


CIRCULAR_PARTS: set[tuple[str, frozenset[str]]] = set()
CIRCULAR_TYPES: set[frozenset[str]] = set()
SHADOWED: set[str] = set()


@pytest.mark.slow
def test_parts_of_a_package_import_one_way() -> None:
    """Of a folder's modules and sub-folders none imports another that imports it back, types included."""
    folders = {dotted(path) for path in trees() if path.endswith("__init__.py")}
    between: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, targets in imports_between_modules().items():
        for target in targets:
            source, used = module.split("."), target.split(".")
            shared = next((at for at, pair in enumerate(zip(source, used, strict=False)) if pair[0] != pair[1]), None)
            if shared is not None and shared > 1:
                between[".".join(source[:shared])][source[shared]].add(used[shared])
    circular = {
        (folder, frozenset(group))
        for folder, graph in between.items()
        for group in connected(graph)
        if any(f"{folder}.{name}" in folders for name in group)
    }
    assert circular == CIRCULAR_PARTS


@pytest.mark.slow
def test_no_cycle_is_closed_by_types_alone() -> None:
    circular = {frozenset(name.rsplit(".", 1)[-1] for name in group) for group in connected(imports_between_modules())}
    assert circular == CIRCULAR_TYPES


@pytest.mark.slow
def test_no_module_is_hidden_by_what_its_package_exports() -> None:
    """``heartfelt.analysis.analyze`` cannot be both a module and a function."""
    hidden = set()
    for path in sorted(ROOT.rglob("__init__.py*")):
        if path.suffix not in {".py", ".pyi"} or path.parent == ROOT:
            continue
        folder = ".".join(["heartfelt", *path.parent.relative_to(ROOT).parts])
        stems = {part.stem for part in path.parent.iterdir() if part.suffix == ".py" or part.is_dir()}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and (node.level or node.module != folder):
                hidden |= {f"{folder}.{alias.name}" for alias in node.names if (alias.asname or alias.name) in stems}
    assert hidden == SHADOWED


def test_no_module_is_called_by_a_word_that_says_nothing() -> None:
    for path in modules():
        assert not (BANNED_MODULES | DIALECT) & set(Path(path).with_suffix("").parts), path


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name


@pytest.mark.slow
def test_names_are_those_people_in_the_field_would_search_for() -> None:
    wrong = [
        f"{path}:{line}: {name}"
        for path, tree in trees().items()
        for line, name in names_in(tree)
        if name in DIALECT and (path, name) != ("media/probe.py", "found")  # a column of stimuli.parquet
    ]
    assert not wrong, f"{len(wrong)} names of a private dialect:\n" + "\n".join(wrong[:40])


# Comments and plain strings of a script; what is left are names, numbers and the text of template strings.
NOT_CODE = re.compile(r"""//.*|/\*[\s\S]*?\*/|"[^"\n]*"|'[^'\n]*'""")
NAMES_OF = {
    ".js": (re.compile(r"[\w$]+(?=\s*(?:=>|[=.,;:()\[\]?+]|of\b))"), NOT_CODE),
    ".html": (re.compile(r"(?<=[{%] )\w+|(?<=for )\w+(?= in)|(?<= in )\w+|(?<=[\"' ])[\w-]+(?=[\w -]*\"[ >])"), None),
    ".css": (re.compile(r"(?<=[.#])[A-Za-z][\w-]*"), re.compile(r"/\*[\s\S]*?\*/")),
}


@pytest.mark.parametrize("suffix", NAMES_OF)
def test_names_on_the_pages_are_plain_too(suffix: str) -> None:
    """Variables of scripts and templates, classes and ids of pages and style sheets. (In Python a room has an echo.)"""
    pattern, skipped = NAMES_OF[suffix]
    wrong = []
    for path in sorted(ROOT.rglob(f"*{suffix}")):
        text = path.read_text(encoding="utf-8")
        code = text if skipped is None else skipped.sub("", text)
        wrong += [f"{path.name}: {name}" for name in pattern.findall(code) if name in DIALECT | {"room"}]
    assert not wrong, "\n".join(wrong)


def test_modules_finish_a_thought() -> None:
    """Long enough to be worth opening, short enough to be read: one-line packages and huge modules are neither."""
    sizes = {
        path: len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in modules()
        if not path.endswith("__init__.py")
    }
    assert not {path: size for path, size in sizes.items() if size > 560}
    small = [path for path, size in sizes.items() if size < 40 and "migrations/" not in path]
    assert len(small) <= 0.05 * len(sizes), f"{len(small)} modules under 40 lines: {small}"


@pytest.mark.slow
def test_sums_over_columns_have_an_order() -> None:
    # Polars adds and averages columns in the order its threads finish: the last digit would differ from run to run.
    found = [
        f"{path.relative_to(TOP)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"sum_horizontal", "mean_horizontal"}
    ]
    assert not found, "use heartfelt.tables.row_sum:\n" + "\n".join(found)


@pytest.mark.slow
def test_joins_of_tables_keep_an_order() -> None:
    # Without maintain_order Polars may return the rows in the order its threads finish.
    found = [
        f"{path.relative_to(TOP)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"
        for named in [{word.arg: getattr(word.value, "value", None) for word in node.keywords}]
        if named.keys() & {"on", "left_on", "how"} and "maintain_order" not in named and named.get("how") != "cross"
    ]
    assert not found, "name maintain_order:\n" + "\n".join(found)


@pytest.mark.slow
def test_results_that_leave_a_package_are_typed() -> None:
    """No function or class that another package imports has a ``dict[str, Any]`` in its signature or its fields."""
    exported: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for _, module, name in imported(tree):
            if name and package(module) != package(dotted(path)):
                exported[module].add(name)
    wrong = []
    for path, tree in trees().items():
        for node in tree.body:
            if path not in OPEN and getattr(node, "name", None) in exported.get(dotted(path), set()):
                wrong += [f"{path}:{line}: {text}" for line, text in annotated(node) if untyped(text)]
    assert not wrong, f"{len(wrong)} untyped results:\n" + "\n".join(wrong[:40])


def annotated(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.returns is not None:
            yield node.lineno, ast.unparse(node.returns)
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            if argument.annotation is not None:
                yield node.lineno, ast.unparse(argument.annotation)
    elif isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.AnnAssign):
                yield part.lineno, ast.unparse(part.annotation)
            elif isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and part.name not in HOOKS:
                yield from annotated(part)


def untyped(annotation: str) -> bool:
    return any(text in annotation for text in UNTYPED)


@pytest.mark.slow
def test_heavy_libraries_are_imported_late() -> None:
    wrong = []
    for path, tree in trees().items():
        if Path(path).name.startswith("_kernels"):
            continue
        # FastAPI reads the annotations of a route where its module is loaded; nothing loads the web package before it is wanted.
        heavy = HEAVY - ({"fastapi"} if path.startswith("web/") else set())
        heavy -= {"matplotlib"} if path.startswith("report/drawing/") else set()
        # Networks are classes of PyTorch; a recipe imports them when it builds or loads one.
        is_network = path.startswith("training/finetuning/") and "networks" in path
        heavy -= {"torch"} if is_network else set()
        for node in tree.body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [f"{path}:{node.lineno}: {name}" for name in names if name.split(".")[0] in heavy]
    assert not wrong, "import these where they are needed:\n" + "\n".join(wrong)


@pytest.mark.parametrize("statement", ["import heartfelt", "from heartfelt import stats"])
def test_importing_heartfelt_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys; {statement}; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & (HEAVY | {"pyarrow", "pydantic"})


SUPPRESSION = re.compile(
    r"# *(?:type: *ignore(?:\[[\w, -]+\])?|noqa(?:: *[A-Z]+\d+(?:, *[A-Z]+\d+)*)?|pragma: *no cover)"
)
SKIPS = {"skip", "skipif", "xfail"}


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes any exception and does not always raise again."""
    kinds = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else set()
    broad = handler.type is None or bool(kinds & {"Exception", "BaseException"})
    return broad and not isinstance(handler.body[-1], ast.Raise)


@pytest.mark.slow
def test_only_the_outermost_edges_take_any_exception() -> None:
    broad = {
        path
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ExceptHandler) and swallows(node))
        or (isinstance(node, ast.Call) and ast.unparse(node) in {"suppress(Exception)", "suppress(BaseException)"})
    }
    assert broad == EDGES


def lacks_reason(line: str) -> bool:
    """Whether a line silences a checker without a word on why."""
    first = SUPPRESSION.search(line)
    return first is not None and not re.search(r"[a-z]{2}", SUPPRESSION.sub("", line[first.start() :]))


def skips_without_reason(tree: ast.Module) -> Iterator[int]:
    """The lines on which a test is marked to be skipped or to fail without ``reason``."""
    explained = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(word.arg == "reason" and getattr(word.value, "value", True) for word in node.keywords)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SKIPS and id(node) not in explained:
            owner = node.value
            if isinstance(owner, ast.Attribute) and owner.attr == "mark":
                yield node.lineno


@pytest.mark.slow
def test_what_silences_a_check_says_why() -> None:
    wrong = []
    for path in sorted(path for top in ("src", "tests", "benchmarks") for path in (TOP / top).rglob("*.py*")):
        if path.suffix not in {".py", ".pyi"}:
            continue
        text = path.read_text(encoding="utf-8")
        lines = [at for at, line in enumerate(text.splitlines(), 1) if "#" in line and lacks_reason(line)]
        if any(f"mark.{word}" in text for word in SKIPS):
            lines += skips_without_reason(ast.parse(text))
        wrong += [f"{path.relative_to(TOP)}:{line}" for line in lines]
    assert not wrong, "state the reason on the line:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("comment", "lacking"),
    [
        ("type: ignore[arg-type]", True),
        ("type: ignore", True),
        ("noqa: BLE001, E731", True),
        ("noqa", True),
        ("pragma: no cover", True),
        ("type: ignore[misc]  # noqa: E731", True),
        ("type: ignore[arg-type]  # wrong on purpose", False),
        ("type: ignore[misc]  # noqa: E731  # bound now", False),
        ("noqa: BLE001 - the outermost edge", False),
        ("pragma: no cover - only on Windows", False),
        ("an ordinary comment", False),
    ],
)
def test_a_reason_is_more_than_the_name_of_the_check(comment: str, lacking: bool) -> None:
    assert lacks_reason(f"x = f(1)  # {comment}") == lacking


@pytest.mark.parametrize(
    ("mark", "lacking"),
    [
        ("pytest.mark.skip", True),
        ("pytest.mark.skip()", True),
        ('pytest.mark.skip(reason="")', True),
        ('pytest.mark.skipif(True, reason="no clock")', False),
        ("pytest.mark.xfail(strict=True)", True),
        ("pytest.mark.slow", False),
    ],
)
def test_a_skipped_test_has_a_reason(mark: str, lacking: bool) -> None:
    assert bool(list(skips_without_reason(ast.parse(f"@{mark}\ndef test_x(): ...")))) == lacking


def test_packages_can_be_imported_under_their_former_names() -> None:
    for former, present in MOVED.items():
        with pytest.warns(DeprecationWarning, match=re.escape(f"{former} is now {present}")):
            module = importlib.import_module(former)
        new = importlib.import_module(present)
        for name in getattr(new, "__all__", ()):
            assert getattr(module, name) is getattr(new, name), f"{former}.{name}"
        sys.modules.pop(former)


def test_classes_can_be_imported_under_their_former_names() -> None:
    for package_name, renamed in RENAMED.items():
        module = importlib.import_module(package_name)
        for former, present in renamed.items():
            with pytest.warns(DeprecationWarning, match=f"{former} is now {present}"):
                assert getattr(module, former) is getattr(module, present), f"{package_name}.{former}"
