"""``chat-lora`` on tiny models of the real classes: trained, interrupted and continued, written, read again, benched, exported."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.files import whole_folder
from heartfelt.media.images.image import decode_image
from heartfelt.predictors import cases, predictor_from
from heartfelt.predictors.hosted.chat_form import SYSTEM, message, read_form
from heartfelt.scoring.bench import bench
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning import FineTuned, FineTuneOptions, fine_tune, gather_data, recipe_named, settings_of
from heartfelt.training.finetuning.recipes.chat.conversations import chat_questions, labelled_answers
from heartfelt.training.finetuning.running import data_hash
from tests.predictors.file_answers import answered_everywhere
from tests.training.alone import code_without_heartfelt, run_alone
from tests.training.finetuning.painted import painted
from tests.training.finetuning.studies import tones
from tests.training.finetuning.tiny_chat import TEMPLATE, write_tiny_llama, write_tiny_llava, write_tiny_qwen_audio

pytestmark = pytest.mark.slow
ASKED = ("emotion", "arousal")


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return painted(tmp_path_factory.mktemp("painted"), 5, side=16)


def options_of(model: Path, **more: object) -> FineTuneOptions:
    small = {"epochs": 2, "batch": 8, "learning_rate": 0.01, "checkpoint_every": 1, "rank": 4, "patience": 2}
    return FineTuneOptions(recipe="chat-lora", settings={**small, "model": str(model), **more}, policy="none")


@pytest.fixture(scope="module")
def trained(llava: Path, pictures: Snapshot) -> FineTuned:
    return fine_tune([pictures], options_of(llava, questions=",".join(ASKED)))


@pytest.fixture(scope="module")
def folder(trained: FineTuned, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "model"
    with whole_folder(out) as made:
        trained.write(made)
    return out


class Interrupted(Exception):
    """Stands for a process that was ended."""


def test_interrupted_it_continues_to_the_same_adapters_and_the_base_stays(
    llava: Path, pictures: Snapshot, tmp_path: Path
) -> None:
    from transformers import LlavaForConditionalGeneration

    def stop(doing: str, done: int, total: int) -> None:
        if doing == "training" and done == 2 < total:
            raise Interrupted

    options = options_of(llava, questions="arousal")
    plain = fine_tune([pictures], options)
    with pytest.raises(Interrupted):
        fine_tune([pictures], options, checkpoints=tmp_path, progress=stop)
    again = fine_tune([pictures], options, checkpoints=tmp_path, resume=True)
    ours, theirs = plain.task.module.state_dict(), again.task.module.state_dict()
    assert set(ours) == set(theirs)
    assert all(bool((ours[key] == theirs[key]).all()) for key in ours)
    # Two matrices for each of four layers of the language part; the vision part has layers of these names too.
    assert len(ours) == 2 * 4
    assert all("language_model" in key and "lora_" in key for key in ours)
    assert all(bool(value.any()) for key, value in ours.items() if "lora_B" in key)
    base = LlavaForConditionalGeneration.from_pretrained(llava).state_dict()
    now = _base_weights(again.task.module.model)
    assert set(now) == set(base)
    assert all(bool((now[key] == base[key]).all()) for key in base)


def _base_weights(model: Any) -> dict[str, Any]:
    """The weights of the base model by its own names."""
    own = model.get_base_model().state_dict()
    return {key.replace(".base_layer", ""): value for key, value in own.items() if "lora_" not in key}


def test_prompts_carry_no_loss_and_losses_are_those_of_the_answers(trained: FineTuned) -> None:
    """SOURCE: cross-entropy in numpy over the tokens of the answers, from the model's plain logits."""
    import torch

    task: Any = trained.task
    examples = trained.data.examples[:2]
    samples = [task.sample(each, training=True, generator=np.random.default_rng(0)) for each in examples]
    batch = task.collate(samples)
    assert batch["input_ids"].shape[0] == 2 * len(ASKED)
    tokenizer = task.conversations.tokenizer
    labels = labelled_answers(task.config.questions, trained.data.targets)[:2].reshape(-1)
    spans = []
    for at, question in enumerate(task.config.questions * 2):
        ids = batch["input_ids"][at][batch["attention_mask"][at].bool()]
        answer = f"{question.answers[labels[at]]}</s>"
        size = len(tokenizer(answer, add_special_tokens=False)["input_ids"])
        assert tokenizer.decode(ids).endswith(f"<assistant>\n{answer}")
        carried = batch["labels"][at]
        assert carried[carried != -100].tolist() == ids[-size:].tolist()
        first = len(ids) - size
        places = batch["positions"][carried != -100]
        assert places.tolist() == list(range(first - 1, len(ids) - 1))
        spans.append((first, len(ids)))
    media = {key: batch[key] for key in ("input_ids", "attention_mask", "pixel_values")}
    with torch.no_grad():
        logits = task.module.model(**media).logits.double().numpy()
        made = task.module(**batch)["loss"].reshape(-1).numpy()
    for at, (first, last) in enumerate(spans):
        rows, tokens = logits[at, first - 1 : last - 1], batch["input_ids"][at, first:last].numpy()
        by_hand = np.log(np.exp(rows).sum(axis=1)) - rows[np.arange(last - first), tokens]
        assert made[at] == pytest.approx(by_hand.mean(), abs=1e-5)


def test_answers_are_those_of_the_adapter_read_by_peft(
    trained: FineTuned, folder: Path, llava: Path, pictures: Snapshot
) -> None:
    """SOURCE: PEFT's own loading and the base model's own processor; probabilities over the letters that answers part at."""
    import torch
    from peft import PeftModel
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "config.json",
        "model.json",
        "training_stimuli.json",
    }
    model = PeftModel.from_pretrained(LlavaForConditionalGeneration.from_pretrained(llava), folder).eval()
    processor = AutoProcessor.from_pretrained(llava)
    tested = sorted(trained.data.examples[at].stimulus for at in trained.data.parts.tested)
    asked = [case for case in cases(pictures, ASKED) if case.stimulus in tested]
    with predictor_from(f"trained:{folder}") as predictor:
        answers = predictor.predict(asked)
    for case, given in zip(asked, answers, strict=True):
        for ask, answer in zip(case.asks, given, strict=True):
            mine = (pl.col("stimulus") == case.stimulus) & (pl.col("question") == ask.question)
            assert answer.value == pytest.approx(trained.predictions.filter(mine)["value"][0], abs=1e-4)
    case, given = asked[0], answers[0]
    for ask, answer in zip(case.asks, given, strict=True):
        words = message(case, (ask,), (), reasons=False)[-1]["text"]
        parts = [{"type": "image"}, {"type": "text", "text": words}]
        text = processor.apply_chat_template(
            [{"role": "system", "content": SYSTEM}, {"role": "user", "content": parts}], add_generation_prompt=True
        )
        numbers = ask.question == "arousal"
        text += '{"q1": {"answer": ' + ("" if numbers else '"')
        inputs = processor(
            text=text, images=decode_image(case.media_file.path), add_special_tokens=False, return_tensors="pt"
        )
        starts = "123456789" if numbers else ("awe", "contentment", "fear", "sadness")
        tokens = [processor.tokenizer(each, add_special_tokens=False)["input_ids"][0] for each in starts]
        assert len(set(tokens)) == len(starts)
        with torch.no_grad():
            shares = torch.softmax(model(**inputs).logits[0, -1, tokens], dim=0).numpy()
        if numbers:
            assert answer.value == pytest.approx(float(shares @ np.arange(1, 10)), abs=1e-4)
        else:
            assert list((answer.shares or {}).values()) == pytest.approx(shares.tolist(), abs=1e-5)
    (folder.parent / "base").symlink_to(llava)
    assert run_alone(code_without_heartfelt("PeftModel"), folder.parent).strip() == "4"
    benched = bench(pictures, [f"trained:{folder}"])
    flagged = set(benched.predictions.filter(pl.col("flag") == "trained on")["stimulus"])
    assert flagged == {example.stimulus for example in trained.data.examples} - set(tested)
    assert "PeftModel.from_pretrained" in (folder / "README.md").read_text()
    media = [case.media_file.path for case in asked[:1]] + [folder / "config.json"]
    table = answered_everywhere(media, folder, ASKED)
    assert table["value"].to_list()[:2] == pytest.approx([answer.value for answer in answers[0]], abs=1e-4)
    assert table["ok"].to_list() == [True, True, False, False]


def test_probabilities_of_answers_are_those_of_drawing_among_them_token_by_token() -> None:
    """SOURCE: every answer followed token by token through a table of random logits."""
    import torch

    from heartfelt.training.finetuning.recipes.chat.decisions import Decisions

    answers = [tuple(map(ord, f"<{word}>")) for word in ("1", "10", "105", "2", "25", "3")]
    decisions = Decisions.of(answers)
    starts = {answer[:at] for answer in answers for at in range(len(answer))}
    draw = np.random.default_rng(4)
    table = {start: draw.normal(0, 2, 128) for start in sorted(starts)}
    expected = []
    for answer in answers:
        share = 1.0
        for at, token in enumerate(answer):
            allowed = sorted({other[at] for other in answers if other[:at] == answer[:at]})
            odds = np.exp(table[answer[:at]][allowed])
            share *= odds[allowed.index(token)] / odds.sum()
        expected.append(share)
    width = max(len(place.tokens) for place in decisions.places)
    logits = np.zeros((1, len(decisions.places), width))
    for at, place in enumerate(decisions.places):
        row = answers[decisions.rows[place.row]]
        logits[0, at, : len(place.tokens)] = table[row[: place.at]][list(place.tokens)]
    assert sum(expected) == pytest.approx(1.0)
    assert decisions.probabilities(torch.from_numpy(logits))[0].numpy() == pytest.approx(expected, abs=1e-6)
    assert len(Decisions.of([tuple(map(ord, f"<{digit}>")) for digit in range(10)]).rows) == 1


def test_a_model_that_hears_is_asked_as_the_chat_predictor_asks(tmp_path: Path) -> None:
    study = tones(tmp_path / "tones", 30)
    model = write_tiny_qwen_audio(tmp_path / "model")
    result = fine_tune([study], options_of(model, epochs=1, questions="impression,alignment"))
    task: Any = result.task
    for case in cases(study, ["impression", "alignment"])[:4]:
        for ask, question in zip(case.asks, task.config.questions, strict=True):
            assert question.asked(case.prompt) == message(case, (ask,), (), reasons=False)[-1]["text"]
    assert "Shown to raters with this question: a low tone" in task.config.questions[1].asked("a low tone")
    with whole_folder(tmp_path / "out") as made:
        result.write(made)
    (example,) = (result.data.examples[int(at)] for at in result.data.parts.tested[:1])
    (case,) = (case for case in cases(study, ["impression", "alignment"]) if case.stimulus == example.stimulus)
    with predictor_from(f"trained:{tmp_path / 'out'}") as predictor:
        (answers,) = predictor.predict([case])
    mine = result.predictions.filter(pl.col("stimulus") == case.stimulus)
    expected = dict(mine.select("question", "value").iter_rows())
    assert {ask.question for ask in case.asks} == set(expected)
    for ask, answer in zip(case.asks, answers, strict=True):
        assert answer.value == pytest.approx(expected[ask.question], abs=1e-4)


def test_the_export_has_the_same_parts_labels_and_questions(pictures: Snapshot, tmp_path: Path) -> None:
    source, out = tmp_path / "snapshot", tmp_path / "out"
    pictures = _with_a_tie(pictures)
    pictures.write(source)
    words = ["train", str(source), "--recipe", "chat-lora", "--policy", "none", "--export-only", "-o", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    facts = json.loads((out / "export.json").read_text())
    recipe = recipe_named("chat-lora")
    data = gather_data([pictures], recipe, settings_of(recipe, {}), policy="none")
    assert facts["data"] == data_hash(data)
    assert facts["questions"] == ["emotion", "valence", "arousal"]
    asked = chat_questions(data, 0)
    by_name = {each.question: each for each in asked}
    parts = {"train": data.parts.train, "validation": data.parts.validation, **data.parts.test}
    assert set(facts["parts"]) == set(parts)
    ties = 0
    for part, places in parts.items():
        text = (out / facts["parts"][part]["file"]).read_text()
        assert hashlib.sha256(text.encode()).hexdigest() == facts["parts"][part]["sha256"]
        lines = {(row["stimulus"], row["question"]): row for row in map(json.loads, text.splitlines())}
        assert len(lines) == facts["parts"][part]["conversations"]
        for at, target in itertools.product(places, data.targets):
            example = data.examples[at]
            row = lines.pop((example.stimulus, target.question), None)
            votes = target.values[at]
            if row is None:
                assert sorted(votes)[-1] == sorted(votes)[-2]
                ties += 1
                continue
            system, user, assistant = row["messages"]
            assert system == {"role": "system", "content": SYSTEM}
            assert user == {"role": "user", "content": f"<image>\n{by_name[target.question].text}"}
            assert Path(row["images"][0]).read_bytes() == example.path.read_bytes()
            assert row["sha256"] == hashlib.sha256(example.path.read_bytes()).hexdigest() == example.content
            (case,) = (each for each in cases(pictures, [target.question]) if each.stimulus == example.stimulus)
            (read,) = read_form(assistant["content"], case.asks)
            if target.question == "emotion":
                assert read.value == votes.argmax()
            else:
                half = 0.5 if target.question == "arousal" else 0.05
                assert abs(read.value - votes) <= half + 1e-9
        assert not lines
    assert ties == 1
    with pytest.raises(InputError, match="no conversations to export"):
        CliRunner().invoke(
            app, [*words[:3], "image-emotion", *words[4:-1], str(tmp_path / "b")], catch_exceptions=False
        )
    assert not (tmp_path / "b").exists()


def _with_a_tie(pictures: Snapshot) -> Snapshot:
    """The same study, where the three votes on the emotion of an image are for three emotions."""
    tied = (pl.col("stimulus") == "fearb.png") & (pl.col("question") == "emotion")
    votes = pictures.ratings.filter(tied).with_columns(pl.int_range(pl.len()).cast(pl.Float64).alias("value"))
    ratings = pl.concat([pictures.ratings.filter(~tied), votes])
    return Snapshot.build(pictures.study, stimuli=pictures.stimuli, ratings=ratings, source=pictures.source)


def test_bad_input_is_named(folder: Path, llava: Path, pictures: Snapshot, tmp_path: Path) -> None:
    no_place = write_tiny_llava(tmp_path / "blind", template=TEMPLATE.replace("MEDIUM\n", ""))
    wrong: tuple[tuple[Path, dict[str, object], str], ...] = (
        (write_tiny_llama(tmp_path / "text"), {}, "a model of type 'llama', which does not read images"),
        (write_tiny_llava(tmp_path / "bare", template=None), {}, "has no chat template"),
        (no_place, {}, "no place for images"),
        (llava, {"target_modules": "query,key"}, "No linear layer of the language part .* query or key"),
        (llava, {"target_modules": "fc1"}, "No linear layer of the language part .* fc1"),
        (llava, {"questions": "joy"}, "not a question that 'chat-lora' can learn"),
        (tmp_path, {}, "no config.json"),
    )
    for model, more, problem in wrong:
        with pytest.raises(InputError, match=problem):
            fine_tune([pictures], options_of(model, **more))
    unrated = Snapshot.build(
        pictures.study,
        stimuli=pictures.stimuli,
        ratings=pictures.ratings.filter(pl.col("question") != "valence"),
        source=pictures.source,
    )
    with pytest.raises(InputError, match="'valence': 0 stimuli have a label"):
        fine_tune([unrated], options_of(llava, questions="valence,arousal"))
    everywhere = fine_tune(
        [pictures], options_of(llava, epochs=1, everywhere=True, target_modules="fc1", questions="arousal")
    )
    assert all("vision_tower" in key for key in everywhere.task.module.state_dict())
    other = llava.parent / "other"
    llava.rename(other)
    try:
        with pytest.raises(HeartfeltError, match="There is no folder"):
            predictor_from(f"trained:{folder}")
        write_tiny_llava(llava, template=f"{TEMPLATE} ")
        with pytest.raises(HeartfeltError, match="trained"):
            predictor_from(f"trained:{folder}")
    finally:
        import shutil

        shutil.rmtree(llava, ignore_errors=True)
        other.rename(llava)


def test_activations_computed_again_give_the_same_gradients(llava: Path, pictures: Snapshot) -> None:
    """Without and with gradient checkpointing, of one batch; each layer then runs twice."""
    import torch

    recipe = recipe_named("chat-lora")
    gradients, calls = [], []
    for again in (False, True):
        given = {**options_of(llava, questions="arousal").settings, "gradient_checkpointing": again}
        settings = settings_of(recipe, given)
        data = gather_data([pictures], recipe, settings, policy="none")
        torch.manual_seed(1)
        task: Any = recipe.build(data, settings)
        samples = [task.sample(each, training=True, generator=np.random.default_rng(0)) for each in data.examples[:2]]
        count: list[int] = []
        layer = task.module.model.get_base_model().get_decoder().layers[0]
        layer.self_attn.register_forward_hook(lambda *_, count=count: count.append(1))
        task.module.train()
        torch.manual_seed(2)
        task.module(**task.collate(samples))["loss"].sum().backward()
        gradients.append([p.grad.clone() for p in task.module.parameters() if p.grad is not None])
        calls.append(len(count))
    assert calls == [1, 2]
    assert gradients[0]
    for plain, recomputed in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, recomputed)
