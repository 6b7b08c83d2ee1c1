"""Write the graphs that heartfelt fills with published weights: ``python -m scripts.weights ARCHIVES [MODEL ...]``.

ARCHIVES is a folder with the packages that ``catalogue.toml`` names (``pip download --no-deps musicnn==0.1.0``). Each graph is
filled, checked by ONNX, and compared with the model's stored reference before it is written.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import onnx
from scripts.weights.networks import skeleton

from heartfelt.predictors.weights import MODELS, Model
from heartfelt.predictors.weights.filling import GRAPHS, converted, filled
from heartfelt.predictors.weights.store import archive_of, difference_from_reference, read_members


def main(archives: Path, *names: str) -> None:
    for name in names or MODELS:
        model = MODELS[name]
        archive = archive_of(model, archives, archives)
        members = read_members(model, archive)
        with zipfile.ZipFile(archive) as file:
            for stored in model.built_files:
                graph = skeleton(model, stored, file)
                onnx.checker.check_model(filled(graph, members[model.files[stored]]), full_check=True)
                (GRAPHS / f"{name}.{stored}").write_bytes(graph)
        difference = difference_from_reference(model, Model(name, model.identity, converted(model, members)))
        print(f"{name}: differs from its reference by {difference:.1g} of its size")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
