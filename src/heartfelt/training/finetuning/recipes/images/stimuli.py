"""What heartfelt's drafters see in an image, as inputs: the expressions of its faces, and the objects it shows.

Computed once per file and cached by content. Faces: the four largest, each with the probabilities of seven expressions, its
share of the image and its score. Objects: the probabilities of ImageNet's 1,000 classes by EfficientNet-Lite 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from heartfelt.media.images.image import decode_image
from heartfelt.predictors.measures.pictures.faces import LEAST_FACE
from heartfelt.predictors.networks.images.efficientnet import DIMENSIONS, softmax
from heartfelt.predictors.networks.images.expressions import recognise_expressions
from heartfelt.predictors.networks.images.faces import detect_faces
from heartfelt.predictors.trained.embeddings import Embedding, EmbeddingBlock, Features, PictureEmbedding
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.weights import MODELS
from heartfelt.training.finetuning.recipes.images.architectures import FACE_COLUMNS, FACES, OBJECT_CLASSES

_Row = npt.NDArray[np.float32]


class FaceExpressions(Embedding):
    """The largest faces of an image: expressions, share of the image, score; a face that is not there is zeros."""

    name = "face-expressions"
    about = "MTCNN's faces and fer's expressions"
    media = "image"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (EmbeddingBlock("faces", FACES * FACE_COLUMNS),)

    @property
    def identity(self) -> str:
        """Both networks' and the version of this reading."""
        return f"face-expressions 1; {MODELS['mtcnn'].identity}; {MODELS['fer'].identity}"

    def of(self, path: Path | str, text: str | None = None) -> Features:
        del text
        image = decode_image(path)
        faces = detect_faces(image, least=LEAST_FACE)[:FACES]
        rows = np.zeros((FACES, FACE_COLUMNS), np.float32)
        shares = recognise_expressions(image, faces)
        for index, (face, expressions) in enumerate(zip(faces, shares, strict=True)):
            rows[index] = [*expressions, min(face.area / (image.width * image.height), 1.0), face.score]
        return Features(rows.reshape(1, -1), np.zeros(1), 0.0)


class StimulusInputs(NamedTuple):
    """The inputs of one image; masks are 0 for what is missing."""

    faces: _Row
    """``(4, 9)``."""
    face_mask: _Row
    objects: _Row
    """``(1000,)``."""
    objects_known: _Row


def embedding_of(path: Path, cache: FeatureCache) -> _Row:
    """The 1,280 numbers of EfficientNet-Lite 2."""
    out: _Row = cache.of(PictureEmbedding(), path)[0].rows[0, :DIMENSIONS]
    return out


def stimulus_inputs(path: Path, used: tuple[str, ...], cache: FeatureCache) -> StimulusInputs:
    """Faces and objects of an image; what is not ``used`` counts as missing."""
    faces = np.zeros((FACES, FACE_COLUMNS), np.float32)
    if "faces" in used:
        faces = cache.of(FaceExpressions(), path)[0].rows[0].reshape(FACES, FACE_COLUMNS)
    objects = np.zeros(OBJECT_CLASSES, np.float32)
    if "objects" in used:
        objects = softmax(cache.of(PictureEmbedding(), path)[0].rows[:, DIMENSIONS:])[0].astype(np.float32)
    objects_known: _Row = np.asarray("objects" in used, np.float32)
    mask = (faces[:, -1] > 0).astype(np.float32)
    return StimulusInputs(faces, mask, objects, objects_known)
