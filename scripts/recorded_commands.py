"""The steps that ``record_outputs.py`` runs, by study: what a command reads was written by the steps before it.

A text is a command line without ``heartfelt``. In braces stand ``{data}`` ($HEARTFELT_DATA), ``{fake}`` (a server that answers like
hosted models), ``{port}`` (of the server that is running) and ``{token}`` (the last one that a command showed).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that a researcher would write."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Program:
    """Python that a researcher would run in a notebook."""

    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Get:
    """A page; with ``walk``, an OpenAPI description, whose pages without parameters are all asked for."""

    path: str
    walk: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Post:
    """Something sent to a server: a text, or a file."""

    path: str
    body: str = ""
    file: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Serve:
    """A command that serves, and what is asked of it before it is stopped."""

    command: str
    during: tuple[Get | Post | str, ...]


Step: TypeAlias = str | File | Program | Serve

TOKEN = {"authorization": "Bearer {token}"}
PAGE = {"accept": "text/html"}

STUDY = """heartfelt: 1
name: small
media: audio
languages: [en]
systems: [{id: Sinewood}, {id: Chipling}]
intents:
  - {id: happy, reference: {valence: 8.5, arousal: 6.1}}
  - {id: sad, reference: {valence: 2.1, arousal: 3.5}}
prompts:
  - {id: plain, text: "{intent} music, instrumental"}
stimuli: {manifest: stimuli.csv, media: media}
scales:
  valence: {type: points, points: 9, anchors: {1: very unpleasant, 9: very pleasant}, pictures: sam-valence}
  clear: {type: yes-no}
questions:
  - {id: valence, text: "How pleasant is the emotion?", scale: valence, emotion: perceived, axis: valence}
  - {id: clear, text: "Is the emotion clear?", scale: clear}
design: {ratings_per_item: 4, stimuli_per_rater: 4}
consent: {text: I am 18 or older and take part of my own free will.}
demographics:
  - {id: age, text: Your age, type: number, at_least: 18}
"""
MAKE = """per_cell: 2
seconds: 2
systems:
  Sinewood: {generator: synth-music}
  Chipling: {generator: synth-music}
"""
PUBLICATION = """title: A recorded study
authors: ["Researcher, Your"]
licence: CC-BY-4.0
media_licence: CC0-1.0
contact: you@example.org
purpose: To compare recordings.
"""
CANDIDATES = "word,valence,arousal\n" + "".join(
    f"{word},{valence},{arousal}\n"
    for word, valence, arousal in (
        ("happy", 8.47, 6.05), ("excited", 8.11, 6.43), ("angry", 2.53, 6.2), ("scared", 2.8, 6.1), ("sad", 2.1, 3.49),
        ("dull", 3.4, 1.67), ("calm", 6.89, 1.67), ("relaxed", 7.25, 2.49), ("plain", 5.1, 4.4),
    )
)  # fmt: skip
PROMPTS = "prompt,text,mood\n" + "".join(
    f"p{number},{text},{mood}\n"
    for number, (text, mood) in enumerate(
        (("a happy song", "joy"), ("a sad song", "grief"), ("a happy song", "joy"), ("slow piano in the rain", "calm"))
    )
)
GUESSES = """
import polars as pl
from pathlib import Path
items = pl.read_parquet("published/benchmark/items.parquet").select("stimulus", "question").unique(maintain_order=True)
value = pl.int_range(pl.len()) * 7 % 9 + 1
items.with_columns(value=value).write_csv("guesses.csv")
"""
HIDDEN_GUESSES = GUESSES.replace('"published/', '"held-out-private/').replace("guesses.csv", "hidden.csv")

CHALLENGE_KEY = """
import sqlite3
with sqlite3.connect("held-out-private/challenge.sqlite") as ledger:
    ledger.execute("update challenge set value = ? where name = 'key'", ("0123456789abcdef" * 4,))
"""
"""The key decides which hidden labels score the running board; otherwise it is drawn at random."""

DEMO: list[Step] = [
    "--version",
    "schema",
    "recipes",
    "recipes mushra",
    "formats",
    "formats long",
    "formats wide --example wide-example",
    "study instruments",
    "study instruments gold-msi",
    "new mushra arena --per-cell 1 --seed 3",
    "models list --json",
    "models predictors --json",
    "models show musicnn-msd --json",
    "models verify musicnn-msd",
    "models pull nothing-of-this-name",
    "models pull dnsmos --from arena",
    File(path="words.csv", text=CANDIDATES),
    "intents --norms words.csv --per-quadrant 2 --seed 3 --to intents.yaml",
    "intents --norms words.csv --per-quadrant 1 --margin 0.5 --json",
    File(path="prompts.csv", text=PROMPTS),
    File(path="aspects.yaml", text="emotion: [happy, sad]\nplace: [rain]\n"),
    "prompts prompts.csv --aspects aspects.yaml --systems A,B --per-system 2 --seed 3 --to to-make.csv",
    "prompts prompts.csv --json",
    "words prompts.csv --field text --out words --window 5 --draws 3",
    "check arena --pages",
    File(path="small/study.yaml", text=STUDY),
    File(path="small/make.yaml", text=MAKE),
    "make small --dry-run",
    "make small --system Sinewood --limit 2",
    "make small --json",
    "check small",
    "prepare small --seconds 1 --between 0..1 --fade 0.1 --channels mono --format .flac --out prepared --json",
    "plan small --ratings 4,8 --effect 0.5 --studies 20",  # refused: the effect does not fit a question of yes or no
    "simulate-collection small --raters 6 --seed 1 --json",
    "simulate-collection small --raters 6 --seed 1 --dropout 0.3",
    Serve(
        command="preview small --port {port}",
        during=(Get(path="/"), Get(path="/rate"), Get(path="/rate/step"), Get(path="/study")),
    ),
    "demo demo --seed 1",
    "study participants demo/study --out participants.csv",
    "study participants demo/study --json",
    "study reminders demo/study --out reminders.csv --all --url https://example.org",
    "study adjudicators demo/images/study --json",
    "study adjudicators demo/images/study --add Senior --url https://example.org",
    "study token demo/study --name recording --days 3",
    Serve(
        command="serve demo/study --port {port}",  # no rater page: a visitor would be a rater with an id drawn at random
        during=(
            Get(path="/study"),
            Get(path="/study/login"),
            Get(path="/api/v1/docs"),
            Get(path="/api/v1/openapi.json", walk=True, headers=TOKEN),
            Get(path="/api/v1/export/long", headers=TOKEN),
            Get(path="/api/v1/study", headers={"authorization": "Bearer wrong"}),
            "snapshot demo/study while-serving",
        ),
    ),
    "study erase demo/study --rater nobody --yes",
    "snapshot demo/study frozen",
    "backup demo/study copy",
    "restore copy restored",
    "show frozen",
    "show restored",
    "export long frozen tables",
    "import long tables/ratings.csv again --map rater=rater --map stimulus=stimulus --map value=value --map scale=1-9",
    "show again",
    "analyze frozen --out report --seed 2 --by device --policy strict --future-raters careless --smallest-effect 1",
    "bench frozen --model human --model intent --model system-mean --out benches/first --seed 2 --slice intent"
    " --resamples 500",
    "bench frozen --model measure:loudness --out benches/first --seed 2 --slice intent --resamples 500",
    "bench frozen --model intent --model constant --split all --out benches/refused",
    "view benches/first answers",
    "leaderboard benches/first --out leaderboard --title Recorded",
    "conveyance frozen --out conveyed",
    "predict demo/study/media/prepared/Brassline --out predicted --json",
    "predict small/media --model measure:loudness",
    "distances frozen --out far --embedding music --reference system=Brassline --metric fad,kad --seed 1",
    "train frozen --recipe va-audio --heads ridge --seed 1 --out model",
    "evaluate frozen --recipe va-audio --heads ridge --out evaluated",
    "experiment ablate frozen --recipe va-audio --set heads=ridge --seeds 0 --dry-run --out ablation",
    "experiment learning-curve frozen --recipe va-audio --set heads=ridge --seeds 0 --folds 3 --over stimuli --amounts 50,100"
    " --out curve",
    "predict small/media --model model",
    "publish small --details",
    File(path="publication.yaml", text=PUBLICATION),
    "publish frozen published --details publication.yaml --key demo/published-private/key --layout csv --layout webdataset"
    " --no-figures --times week --k 3",
    "publish frozen held-out --details publication.yaml --key demo/published-private/key --hold-out test --no-analysis",
    "deposit published hub:somebody/something --dry-run",
    "deposit published zenodo:sandbox --dry-run",
    "deposit published nowhere:else",
    Program(title="guesses", text=GUESSES),
    "score published/benchmark guesses.csv --out scores --name guesser --resamples 500",
    "score published/benchmark guesses.csv --verify scores/manifest.json",
    Program(title="hidden guesses", text=HIDDEN_GUESSES),
    "site benches site --release published --title Recorded --copy-media",
    "challenge team held-out-private Lab --add member",
    Program(title="challenge key", text=CHALLENGE_KEY),
    Serve(
        command="serve-benchmark held-out-private --port {port} --per-day 3",
        during=(
            Get(path="/", headers=PAGE),
            Get(path="/leaderboard.json"),
            Post(path="/submissions?name=mine&wait=60", file="hidden.csv", headers=TOKEN),
            Post(path="/submissions?name=bad&wait=60", body="stimulus,value\nx,1\n", headers=TOKEN),
            Get(path="/submissions", headers=TOKEN),
            Get(path="/mine", headers=PAGE),
            Get(path="/", headers=PAGE),
            "challenge submissions http://127.0.0.1:{port} --token {token} --json",
        ),
    ),
    "challenge team held-out-private",
    "challenge team held-out-private Lab --remove member",
    "challenge close held-out-private --out closed",
    Serve(
        command="serve-predictor sham --port {port} --wait 0",
        during=(
            Get(path="/"),
            Post(path="/", body='{"text": "joy", "audio_stem": "clip"}', headers={"content-type": "application/json"}),
            Post(path="/", body="{}", headers={"content-type": "application/json"}),
        ),
    ),
    "study quota demo/study 30",
    "study erase demo/study --rater r0ad4d7033ad00a50 --yes",
    "study participants demo/study",
]

KEY = File(path="key", text="0123456789abcdef" * 4 + "\n")
"""Of pseudonyms, which is otherwise drawn at random."""
SUBSET = """
import os, shutil
from pathlib import Path
import polars as pl
data, target = Path(os.environ["HEARTFELT_DATA"], "aimoclips"), Path("aimoclips")
target.mkdir()
shutil.copy(data / "emotion_intents_metadata.csv", target)
clips = pl.read_csv(data / "clips_metadata.csv").filter(pl.col("file_index") <= 2)
clips.write_csv(target / "clips_metadata.csv")
ratings = pl.read_csv(data / "ratings_metadata.csv")
ratings = ratings.join(clips.select("audio_file"), on="audio_file", how="semi", maintain_order="left")
ratings.write_csv(target / "ratings_metadata.csv")
for path in sorted((data / "music_clips").glob("*/*")):
    if int(path.stem.split("_")[2]) <= 2:
        (target / "music_clips" / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target / "music_clips" / path.parent.name)
"""
FOLDER_MAKE = "per_cell: 2\nseconds: 10\nsystems:\n" + "".join(
    f'  {name}: {{generator: folder, folder: ../aimoclips/music_clips/{name}, pattern: "{{system}}_{{intent}}_{{index}}.opus"}}\n'
    for name in ("AudioLDM2", "MusicGen", "Mustango", "StableAudio", "Suno", "Udio")
)
RECIPE = """
import subprocess, sys
from pathlib import Path
Path("clips").mkdir()
with open("clips/study.yaml", "w") as file:
    subprocess.run([sys.executable, "-m", "heartfelt", "recipes", "aimoclips"], stdout=file, check=True)
"""

AIMOCLIPS: list[Step] = [
    KEY,
    "import aimoclips {data}/aimoclips whole",
    "show whole",
    "export aimoclips whole published-layout",
    Program(title="subset", text=SUBSET),
    "import aimoclips aimoclips clips-snapshot",
    "show clips-snapshot",
    "export long clips-snapshot tables",
    "export arena clips-snapshot arena",  # refused: it has no pairs
    "analyze clips-snapshot --out report --covariate model",  # refused: the column is called system
    "bench clips-snapshot --model intent --model system-mean --model valence-arousal --out benches/clips --resamples 500",
    "conveyance clips-snapshot --out conveyed",
    "evaluate clips-snapshot --recipe va-audio --heads ridge --out evaluated",
    "publish clips-snapshot published --key key --no-media --no-figures --split by=intent --texts search",
    "site benches site --title Clips",
    Program(title="recipe", text=RECIPE),
    File(path="clips/make.yaml", text=FOLDER_MAKE),
    "make clips --limit 2",
    "prepare clips --seconds 9 --between 0..1 --channels stereo --format .flac --out prepared",
    "plan clips --pilot clips-snapshot --ratings 6 --effect 1 --studies 20 --out plan",
]

AVT = (
    "import long {data}/avt_ai_images/ratings.csv images --map rater=user_ID --map stimulus=stimuli_file"
    " --map names=./stimuli/{system}/{prompt}.png --map question=rating_type --map value=rating --map at=timestamp"
    " --map repeat=order --map where=rating_type=range_image_appeal|range_realism|range_prompt_matching"
    " --map rename.range_image_appeal=appeal --map rename.range_realism=realism --map rename.range_prompt_matching=prompt_match"
    " --map scale=1-5 --map media=images --map prompts=prompts.csv --map name=avt-ai-images"
)

IMAGES: list[Step] = [
    KEY,
    AVT,
    "show images",
    "export long images tables",
    "export sheet images sheet",
    "analyze images --out report --seed 1",
    "bench images --model human --model system-mean --model pixels:brightness --model sham --out benches/images --resamples 500",
    "distances images --out far --embedding picture --reference system=own --metric fid,kid",
    "train images --recipe va-image --heads ridge --out model",  # refused where its weights are not stored
    "train images --recipe chat-lora --set model=nobody/nothing --export-only --out conversations",
    "experiment sweep images --recipe va-image --try heads=ridge,kernel --seeds 0 --dry-run --out sweep",
    "publish images published --key key --no-figures --without-demographics --no-analysis --layout huggingface",
    "site benches site",
    "new aigiemo drafted --seed 1",
    "draft drafted --dry-run --with chat:fake@{fake}/v1",
    "draft drafted --field colour --field brightness --replace --json",
    "draft drafted --with chat:fake@{fake}/v1 --replace --no-duplicates --at-once 1",
    "check drafted",
    "words drafted --field caption --out words",
]

PLANNED = STUDY.replace("name: small", "name: planned").replace(
    '  - {id: clear, text: "Is the emotion clear?", scale: clear}\n', ""
)
OPTIONS: list[Step] = [
    KEY,
    Program(title="subset", text=SUBSET),
    "import aimoclips aimoclips clips-snapshot",
    "analyze clips-snapshot --out report --covariate file_index --smallest-effect 0.5 --no-figures --seed 3",
    "bench clips-snapshot --model intent --model constant:5 --out bench --question valence --policy strict --full-coverage 3"
    " --limit 40 --at-once 1 --batch 4 --timeout 30 --no-cache --slice system --resamples 200"
    " --interval-confidence 0.8 --seed 3",
    "bench aimoclips --format aimoclips --map media=none --model system-mean --out second --resamples 200 --as inspect",
    "bench clips-snapshot --model endpoint:{fake}/ --out third --budget 0 --limit 10",
    "distances clips-snapshot --out far --embedding music --reference system=Suno --metric fad,kad --components 4 --seed 1",
    "publish clips-snapshot published --key key --no-analysis --no-figures --private secret --l 2 --k 4 --seconds 1 --times month"
    " --split by=intent --split folds=3 --layout csv",
    "publish clips-snapshot plain --key key --no-analysis --no-figures --no-media --layout published --dry-run",
    "site bench site --no-stimuli --submit-to https://example.org --title Options",
    File(path="planned/study.yaml", text=PLANNED),
    File(path="planned/make.yaml", text=MAKE),
    "make planned --replace --budget 1",
    "plan planned --ratings 4,8 --effect 1 --studies 20 --seed 2 --pay-per-hour 12 --fee 0.3 --out plan --preregister plan.md",
    "plan planned --raters 8 --clips 2,4 --per-rater 4 --expect Chipling=1 --smallest-effect 0.5 --tastes 0.3 --careless 0.1"
    " --dropout 0.1 --seconds 20 --pay-per-rating 0.1 --afford 100 --power 0.7 --policy strict --studies 20 --json",
    "plan planned --pilot clips-snapshot --ratings 6 --studies 20 --json",
    "simulate-collection planned --raters 5 --trials 3 --dropout 0.2 --seed 4",
    "prepare planned --seconds 1 --crop centre --rate 16000 --loudness -20 --peak -2 --content any --format .wav --json",
    "predict planned/media --model sham --question valence --study planned --prompt joy --at-once 1 --batch 2 --timeout 20"
    " --repeats 1 --out answers",
    "evaluate clips-snapshot --recipe va-audio --heads ridge --group intent --seed 2 --out evaluated",
    "experiment sweep clips-snapshot --recipe va-audio --try heads=ridge,kernel --seeds 0 --out sweep",
    "intents --norms words.csv --words words.csv",  # refused: there is no such file
]

NUMBERS = """
import dataclasses, json, os
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
import heartfelt
from heartfelt.errors import HeartfeltError

data, name = Path(os.environ["HEARTFELT_DATA"]), {name!r}

def plain(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "to_json"):
        return plain(value.to_json())
    if dataclasses.is_dataclass(value):
        fields = {{field.name: getattr(value, field.name) for field in dataclasses.fields(value)}}
        return {{key: plain(part) for key, part in fields.items() if type(part).__name__ not in LEFT_OUT}}
    if isinstance(value, Mapping):
        return {{str(key): plain(part) for key, part in value.items()}}
    if isinstance(value, date | Path):
        return str(value)
    rows = getattr(value, "to_dicts", None) or getattr(value, "tolist", None)
    if rows is not None:
        return plain(rows())
    if isinstance(value, Iterable):
        return [plain(part) for part in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return type(value).__name__

LEFT_OUT = {{"Snapshot", "Study", "Policy", "Panel"}}
snapshot = heartfelt.read({source}, {options})
Path(name).mkdir()
snapshot.write(Path(name, "snapshot"))
for action, call in {{
    "screen": lambda: heartfelt.screen(snapshot),
    "label": lambda: heartfelt.label(snapshot),
    "analyze": lambda: heartfelt.analyze(snapshot, resamples=200),
    "bench": lambda: heartfelt.bench(snapshot, ["human", "system-mean", "constant", "sham"]).scores,
}}.items():
    try:
        result = plain(call())
    except HeartfeltError as error:
        result = {{"refused": error.problem, "fix": error.fix}}
    Path(name, action + ".json").write_text(json.dumps(result, ensure_ascii=False))
"""
SOURCES: dict[str, tuple[str, dict[str, str]]] = {
    "agiqa": ("data / 'agiqa' / 'data.csv', 'means'", {}),
    "aimoclips": ("data / 'aimoclips'", {}),
    "avt": (
        "data / 'avt_ai_images' / 'ratings.csv', 'long'",
        dict(word.split("=", 1) for word in AVT.split() if "=" in word),
    ),
    "musav": ("data / 'musav' / 'annotations.arousal.all'", {}),
    "oasis": ("data / 'oasis', 'means'", {"scale": "1-7"}),
    "cems": (
        "data / 'paired' / 'cems.csv'",
        {"first": "school1", "second": "school2", "votes": "win1,win2,tied", "rater": "student"},
    ),
    "citations": ("data / 'paired' / 'citations.csv'", {"first": "j1", "second": "j2", "votes": "win1,win2"}),
    "lizards": (
        "data / 'paired' / 'lizards.csv', 'long'",
        {"first": "winner", "second": "loser", "winner": "winner", "rater": "none"},
    ),
    "sound": (
        "data / 'paired' / 'sound.csv', 'long'",
        {"first": "a", "second": "b", "winner": "winner", "rater": "id", "prompt": "progmat"},
    ),
    "wine": (
        "data / 'paired' / 'wine.csv', 'long'",
        {"rater": "judge", "stimulus": "bottle", "value": "rating", "scale": "1-5"},
    ),
    "sisec08": ("data / 'sisec08' / 'SiSEC08_anonymized.csv'", {}),
    "vcc2018": (
        "data / 'vcc2018' / 'vcc2018_testing_data.csv', 'long'",
        {"rater": "JUDGE", "stimulus": "WAV_PATH", "value": "MOS", "scale": "1-5"},
    ),
    "vgmidi": ("data / 'vgmidi' / 'vgmidi_raw_1.json'", {}),
}
"""How each public data set is read. Of vcc2018, the part for testing: the whole has ten times as many ratings."""
PUBLIC: list[Step] = [
    Program(title=name, text=NUMBERS.format(name=name, source=source, options=f"**{options!r}"))
    for name, (source, options) in SOURCES.items()
]

STUDIES: dict[str, list[Step]] = {
    "demo": DEMO,
    "aimoclips": AIMOCLIPS,
    "images": IMAGES,
    "options": OPTIONS,
    "public": PUBLIC,
}
