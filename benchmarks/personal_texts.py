"""Comments as raters type them, with and without personal data: the fixtures that measure the search for personal data.

    python -m benchmarks.personal_texts OUT          (needs faker, which the project itself does not)

The sentences below were written before the patterns of ``publishing/anonymity/recognise``; Faker fills in people, places,
numbers and addresses that nobody wrote rules from. Sentences in even places make ``development.csv``, with which patterns may be
tuned; those in odd places make ``held_out.csv``, which is only for measuring. ``held_out.csv`` is filled with another seed.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SEEDS = {"development": 2601, "held_out": 2602}
FILLS = {"development": 2, "held_out": 3}
LOCALES = {"en": ("en_US", "en_GB"), "de": ("de_DE",), "zh": ("zh_CN",), "ko": ("ko_KR",)}
SENTENCES: dict[tuple[str, str], tuple[str, ...]] = {
    ("en", "e-mail"): (
        "please send the results to {x} when you are done",
        "{x} <- my mail in case the bonus is missing",
        "The second clip did not play, contact me under {x}",
        "great study! more of these please, {x}.",
    ),
    ("de", "e-mail"): (
        "Bitte die Ergebnisse an {x} schicken",
        "Der Ton fehlte bei Clip 3, meine Adresse: {x}",
        "Wer mehr wissen will: {x}, danke!",
        "schöne Musik. {x}",
    ),
    ("zh", "e-mail"): ("请把结果发到{x}，谢谢", "我的邮箱是{x}", "有问题联系{x}", "第二段没有声音，邮箱：{x}。"),
    ("ko", "e-mail"): (
        "결과를 {x} 로 보내 주세요",
        "제 메일은 {x}입니다",
        "소리가 안 나와요 {x} 연락 주세요",
        "문의: {x}",
    ),
    ("en", "phone number"): (
        "if the payment fails just ring {x}",
        "text me on {x} about the next part",
        "you can reach my office under {x} in the mornings",
        "sounds like my ringtone, {x} lol",
    ),
    ("de", "phone number"): (
        "Rückfragen unter {x}",
        "ruft mich gern an: {x}",
        "Meine Nummer ({x}) haben Sie ja",
        "klingt wie mein Handy, {x}, haha",
    ),
    ("zh", "phone number"): ("我的电话是{x}", "打给我{x}就行", "手机{x}，随时联系", "声音太小了，请回电{x}"),
    ("ko", "phone number"): (
        "제 번호는 {x}입니다",
        "{x} 로 전화 주세요",
        "연락처 {x} 입니다 감사합니다",
        "문자 주세요 {x}",
    ),
    ("en", "handle"): (
        "add me on instagram {x}",
        "my telegram is {x}, let's talk about the music",
        "find me on Discord as {x}",
        "snapchat: {x}",
    ),
    ("de", "handle"): (
        "folgt mir auf Instagram, {x}",
        "mein Telegram-Name ist {x}",
        "bei Discord bin ich {x}",
        "Insta {x} falls jemand Fragen hat",
    ),
    ("zh", "handle"): ("加我微信{x}", "我的QQ是{q}", "微信号：{x}，可以聊聊", "vx {x}"),
    ("ko", "handle"): (
        "카톡 아이디 {x} 추가해 주세요",
        "제 인스타는 {x} 입니다",
        "카카오톡 ID: {x}",
        "텔레그램 {x} 로 연락 주세요",
    ),
    ("en", "participant id"): (
        "my prolific id is {x}",
        "{x} did not get the code",
        "I already took part as {x} last week",
        "submission for {x}: page froze",
    ),
    ("de", "participant id"): (
        "Meine Prolific-ID lautet {x}",
        "{x}, habe schon einmal mitgemacht",
        "Bezahlung für {x} fehlt",
        "ID {x} hat keinen Code bekommen",
    ),
    ("zh", "participant id"): ("我的Prolific编号是{x}", "{x}没有收到代码", "编号{x}，页面卡住了", "上周我用{x}参加过"),
    ("ko", "participant id"): (
        "제 프롤리픽 아이디는 {x} 입니다",
        "{x} 코드를 못 받았어요",
        "{x} 로 이미 참여했어요",
        "아이디 {x} 페이지가 멈췄어요",
    ),
    ("en", "postal address"): (
        "you can mail the gift card to {x}",
        "I live at {x} and it is just as noisy here",
        "reminds me of the street parties near {x}",
        "My address: {x}. Thanks",
    ),
    ("de", "postal address"): (
        "Den Gutschein bitte an {x} schicken",
        "Ich wohne in der {x}, da ist es genauso laut",
        "bei uns ({x}) läuft das im Radio",
        "Meine Anschrift: {x}",
    ),
    ("zh", "postal address"): ("礼品请寄到{x}", "我住在{x}，楼下也很吵", "地址：{x}", "让我想起我家{x}附近的公园"),
    ("ko", "postal address"): (
        "상품은 {x} 로 보내 주세요",
        "저는 {x}에 살아요",
        "주소: {x}",
        "우리 집 {x} 근처 공원이 생각나요",
    ),
    ("en", "date of birth"): (
        "I was born on {x} so this was my childhood",
        "DOB {x}",
        "born {x}, these songs are my youth",
        "my birthday is {x}, play me something happier",
    ),
    ("de", "date of birth"): (
        "Ich bin am {x} geboren",
        "geb. {x}, also eher andere Musik gewohnt",
        "Mein Geburtsdatum ist der {x}",
        "geboren am {x} in einem kleinen Ort",
    ),
    ("zh", "date of birth"): ("我出生于{x}", "生日：{x}", "我的出生日期是{x}", "我是{x}出生的，听这种歌长大"),
    ("ko", "date of birth"): (
        "저는 {x}에 태어났습니다",
        "생년월일 {x}",
        "제 생일은 {x}이에요",
        "{x}생이라 이런 노래를 들으며 자랐어요",
    ),
    ("en", "id number"): (
        "passport number {p}",
        "my SSN is {s} if payroll needs it",
        "for the tax form: {s}",
        "Passport: {p}, needed for the payment?",
    ),
    ("de", "id number"): (
        "Reisepass {p}",
        "meine Steuer-ID ist {s}",
        "Steuernummer für die Vergütung: {s}",
        "Passnummer {p}, falls nötig",
    ),
    ("zh", "id number"): ("身份证号{s}", "护照号码是{p}", "我的护照{p}", "需要身份证吗？{s}"),
    ("ko", "id number"): ("주민등록번호 {s}", "여권번호는 {p} 입니다", "여권 {p}", "사례비 때문에 주민번호 드려요 {s}"),
    ("en", "account"): ("pay me to {c}", "bank transfer please {i}", "my card is {c}", "the account is {i}, thanks"),
    ("de", "account"): (
        "Bitte auf {i} überweisen",
        "Meine Kreditkarte {c} wurde belastet",
        "IBAN: {i}",
        "Karte {c} geht auch",
    ),
    ("zh", "account"): ("请打到卡号{c}", "我的信用卡{c}", "银行卡：{c}谢谢", "可以转到{c}吗"),
    ("ko", "account"): ("카드 번호 {c}", "제 카드는 {c} 입니다", "{c} 로 환불해 주세요", "신용카드 {c} 결제됐어요"),
    ("en", "name"): (
        "My name is {x} and I liked the third one",
        "my friend {x} said the same about the second clip",
        "hi this is {x}, the sound cut out twice",
        "it was recorded by {x}, who lives next door to me",
        "I took the test together with {x} from work",
        "thanks, {x}",
        "Dr {x} told me about this study",
        "reminds me of my teacher {x}",
        "{x} here. Too loud for me.",
        "I did this with my wife {x} on Sunday",
        "ask {f}, she sat next to me",
        "my brother {f} would love this",
    ),
    ("de", "name"): (
        "Ich heiße {x} und fand das dritte gut",
        "mein Nachbar {x} hört so etwas jeden Tag",
        "Hier ist {x}, der Ton war weg",
        "meine Lehrerin {x} hat so gespielt",
        "Viele Grüße, {x}",
        "Ich habe das mit {x} zusammen gehört",
        "Frau {l} aus dem Büro hat mir die Studie gezeigt",
        "mein Nachbar Herr {l} spielt genauso",
        "{x} war auch dabei und fand es zu laut",
        "mein Bruder {f} würde das lieben",
        "Dr. {l} hat mir davon erzählt",
        "erinnert mich an meine Tante {f}",
    ),
    ("zh", "name"): (
        "我叫{x}，第三段最好听",
        "我朋友{x}也这么说",
        "我是{x}，刚才没有声音",
        "让我想起我的老师{x}",
        "我和同学{x}一起听的",
        "邻居{x}每天都放这种音乐",
        "{x}老师告诉我这个研究的",
        "我的名字是{x}",
        "我老婆{x}觉得太吵",
        "我同事{x}推荐我来的",
        "问问{x}吧，她坐我旁边",
        "谢谢，{x}",
    ),
    ("ko", "name"): (
        "제 이름은 {x}입니다 세 번째가 좋았어요",
        "제 친구 {x}도 그렇게 말했어요",
        "저는 {x}라고 합니다",
        "우리 선생님 {x} 씨가 생각나요",
        "{x} 씨가 이 연구를 알려 줬어요",
        "옆집 {x} 씨가 매일 듣는 음악이에요",
        "친구 {x}랑 같이 들었어요",
        "{x} 올림",
        "제 남편 {x}이 싫어할 음악",
        "{x} 님이 추천해 주셨어요",
        "회사 동료 {x}와 같이 했어요",
        "{x}에게 물어보세요",
    ),
}
HARMLESS: dict[str, tuple[str, ...]] = {
    "en": (
        "Sounds like {composer} on a bad day",
        "around {n} bpm, then it slows down to {n2}",
        "a {year} remix of something from {city}",
        "{composer}'s {nth} symphony came to mind",
        "I would give it {mark} out of 10",
        "The Piano is lovely, the Strings less so",
        "from {t} to {t2} I felt tense",
        "My mother used to sing like this on Sunday mornings in {month}",
        "It reminds me of {city} in the {decade}s",
        "Too loud. Very Loud. I turned it down to {n}%",
        "My friend said it is boring, my teacher would agree",
        "Is this a {brand} advert? Feels like Christmas",
        "I am {age} years old and I never heard such a thing",
        "88 keys, 4/4, {n} bars, what more do you want",
        "Not sure. Maybe happy, maybe sad. Who knows",
        "opus {n} number {mark}, I think",
        "clip {mark} was better than clip {mark2}",
        "The guitar solo at {t} is pure Rock 'n' Roll",
        "Great. Thanks for the study, it took {n} minutes",
        "Like a walk along the river in {city}",
        "my dog hates it, my cat loves it",
        "I gave {mark}, {mark2}, {mark} and {mark2} because I was unsure",
        "Ave Maria sung by Robots, really",
        "The Lion King meets Star Wars",
        "recorded with {n} kHz? sounds like {n2} kbps",
        "I grew up with this kind of music, Happy Birthday and all that",
        "call it what you want, it is still noise",
        "Street musicians in {city} play better",
        "Mr. Nobody would like it",
        "Version 2.{mark}.{mark2} of the same song",
        "$5.99 in a shop for {n} of these",
        "Sun, sea, sand. Summer {year}.",
        "The Moonlight Sonata in C sharp minor, No. {mark}",
        "Am I the only one who hears a train at {t}?",
        "between {year} and {year2} everything sounded like that",
        "the singer is great, and the drummer too",
    ),
    "de": (
        "Klingt wie {composer} an einem schlechten Tag",
        "etwa {n} bpm, dann langsamer",
        "Die Stimme ist schön, der Bass zu laut",
        "Erinnert mich an {city} in den {decade}ern",
        "Ich gebe {mark} von 10 Punkten",
        "von {t} bis {t2} war ich angespannt",
        "Mein Nachbar hört so etwas auch, meine Mutter nicht",
        "Wie ein Spaziergang am Rhein im {month_de}",
        "Ich bin {age} Jahre alt und habe so etwas nie gehört",
        "Das Klavier gefällt mir, die Geigen weniger",
        "Weihnachten und Ostern zugleich",
        "Die {nth_de} Sinfonie von {composer}",
        "Traurig. Sehr traurig. Vielleicht auch nur müde",
        "Ein Remix aus {year}, oder?",
        "Danke für die Studie, hat {n} Minuten gedauert",
        "Die Zauberflöte ist das nicht",
        "Clip {mark} war besser als Clip {mark2}",
        "Im Wald, auf der Wiese, am See: Ruhe",
        "Zu viel Hall, zu wenig Schlagzeug",
        "zwischen {year} und {year2} klang alles so",
        "Frau mit Hut, Mann mit Hund, Kind mit Ball",
        "Der Herr der Ringe lässt grüßen",
        "Am Montag hätte ich anders geurteilt",
        "Opus {n} Nr. {mark}",
        "Straße bei Nacht, {n} Autos",
        "Tatort-Musik am Sonntagabend um 20:15",
    ),
    "zh": (
        "听起来像{composer_zh}",
        "大概{n}拍，然后变慢",
        "第{mark}段比第{mark2}段好",
        "让我想起{city_zh}的夏天",
        "我给{mark}分",
        "很高兴，也有点难过",
        "我的朋友也说不好听",
        "从{t}到{t2}很紧张",
        "我今年{age}岁，没听过这种音乐",
        "钢琴很好，小提琴一般",
        "像{year}年的老歌",
        "我是学生，喜欢安静的音乐",
        "老师说这是古典音乐",
        "声音太大了，调到{n}%",
        "黄河、长江、高山、流水",
        "我和同学一起听的",
        "谢谢，很有意思",
        "周末在家听比较好",
        "有点像{brand_zh}的广告",
        "像在公园的路上散步",
        "花了{n}分钟做完",
        "高音部分不错，低音不清楚",
        "这张图的颜色很美，白云和大海",
        "我妈妈也喜欢这首歌",
        "春节的时候常听这种曲子",
        "我叫它安静的音乐",
    ),
    "ko": (
        "{composer_ko} 같은 느낌이에요",
        "약 {n} bpm 정도, 그 다음에 느려져요",
        "{mark}번 클립이 {mark2}번보다 좋았어요",
        "{city_ko}의 여름이 생각나요",
        "10점 만점에 {mark}점",
        "기쁘기도 하고 슬프기도 해요",
        "제 친구도 별로라고 했어요",
        "{t}부터 {t2}까지 긴장됐어요",
        "저는 {age}살인데 이런 음악은 처음이에요",
        "피아노는 좋은데 바이올린은 별로",
        "{year}년 노래 같아요",
        "저는 학생이고 조용한 음악을 좋아해요",
        "선생님이 클래식이라고 하셨어요",
        "소리가 너무 커요 {n}%로 줄였어요",
        "강과 산, 바다가 보여요",
        "친구랑 같이 들었어요",
        "감사합니다 재미있었어요",
        "주말에 집에서 듣기 좋아요",
        "{brand_ko} 광고 같아요",
        "공원 길을 걷는 것 같아요",
        "{n}분 걸렸어요",
        "이 그림의 색이 예뻐요, 하얀 구름과 바다",
        "엄마도 이 노래를 좋아해요",
        "명절에 자주 듣던 곡이에요",
        "이름은 모르지만 유명한 노래예요",
        "고음은 좋고 저음은 흐려요",
    ),
}
WORDS: dict[str, tuple[str, ...]] = {
    "composer": (
        *("Mozart", "Beethoven", "Philip Glass", "Miles Davis", "Bach", "Johann Sebastian Bach"),
        *("Taylor Swift", "Hans Zimmer"),
    ),
    "city": ("Berlin", "New York", "Paris", "Buenos Aires", "London", "Vienna", "Los Angeles"),
    "month": ("May", "April", "June", "December"),
    "month_de": ("Mai", "April", "August", "Dezember"),
    "brand": ("Coca-Cola", "Apple", "Mercedes", "Nike"),
    "composer_zh": ("莫扎特", "贝多芬", "周杰伦的歌", "久石让", "电影配乐"),
    "city_zh": ("北京", "上海", "广州", "成都"),
    "brand_zh": ("苹果", "可口可乐", "华为"),
    "composer_ko": ("모차르트", "베토벤", "아이유 노래", "히사이시 조"),
    "city_ko": ("서울", "부산", "제주도", "대전"),
    "brand_ko": ("삼성", "애플", "코카콜라"),
    "nth": ("5th", "9th", "Third", "41st"),
    "nth_de": ("5.", "9.", "Dritte"),
}  # fmt: skip


def main() -> int:
    """Write both fixtures."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for place, (name, seed) in enumerate(SEEDS.items()):
        rows = [*_personal(place, seed, FILLS[name]), *_harmless(place, seed)]
        with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("language", "kind", "secret", "text"))
            writer.writerows(rows)
        print(name, sum(bool(row[1]) for row in rows), "personal,", sum(not row[1] for row in rows), "harmless")
    return 0


def _personal(place: int, seed: int, fills: int) -> Iterator[tuple[str, str, str, str]]:
    chance = random.Random(seed)
    fakes = {locale: _fake(locale, seed) for locales in LOCALES.values() for locale in locales}
    written: set[str] = set()
    for (language, kind), sentences in SENTENCES.items():
        for sentence in sentences[place::2]:
            for _ in range(fills):
                fake = fakes[chance.choice(LOCALES[language])]
                slot = sentence.partition("{")[2][0]
                secret = _secret(kind, slot, language, fake, chance)
                text = sentence.replace("{" + slot + "}", secret)
                if text not in written:
                    written.add(text)
                    yield language, kind, secret, text


def _fake(locale: str, seed: int) -> Any:
    fake = import_module("faker").Faker(locale)
    fake.seed_instance(seed)
    return fake


def _secret(kind: str, slot: str, language: str, fake: Any, chance: random.Random) -> str:
    if kind == "name":
        text = {"x": lambda: f"{fake.first_name()} {fake.last_name()}", "f": fake.first_name, "l": fake.last_name}
        return str(fake.name()) if language in {"zh", "ko"} else str(text[slot]())
    makers: dict[str, Callable[[], str]] = {
        "e-mail": lambda: _disguised(fake.email(), chance),
        "phone number": fake.phone_number,
        "handle": lambda: str(chance.randint(10**8, 10**10)) if slot == "q" else fake.user_name(),
        "participant id": lambda: _participant(chance),
        "postal address": lambda: _address(language, fake),
        "date of birth": lambda: _date(language, fake.date_of_birth(minimum_age=18, maximum_age=80), chance),
        "id number": lambda: _passport(language, chance) if slot == "p" else _national(language, fake, chance),
        "account": lambda: fake.iban() if slot == "i" else fake.credit_card_number(),
    }  # fmt: skip
    return " ".join(str(makers[kind]()).split())


def _disguised(mail: str, chance: random.Random) -> str:
    name, _, domain = mail.partition("@")
    ways = (
        mail, mail, mail.upper(), f"{name} (at) {domain.replace('.', ' (dot) ')}", f"{name}[at]{domain}", f"{name} @ {domain}",
        f"{name} at {domain.replace('.', ' dot ')}", "".join(chr(ord(c) + 0xFEE0) for c in mail), mail.replace("@", "\u200b@"),
        f"{name}@{domain.replace('.', '(dot)')}", f"{name}＠{domain}", mail.replace(".", "\u3002") if "." in name else mail,
    )  # fmt: skip
    return chance.choice(ways)


def _participant(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return "A" + "".join(chance.choices("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=chance.choice((12, 13))))
    text = f"{chance.getrandbits(96):024x}"
    return chance.choice((text, text.upper(), "".join(chance.choice((c, c.upper())) for c in text)))


def _address(language: str, fake: Any) -> str:
    if language == "zh":
        return f"{fake.province()}{fake.city()}{fake.district()}{fake.street_address()}"
    return str(fake.address()).replace("\n", ", ")


def _date(language: str, day: Any, chance: random.Random) -> str:
    forms = {
        "en": ("%d %B %Y", "%B %d, %Y", "%m/%d/%Y", "%Y-%m-%d", "%d.%m.%y"),
        "de": ("%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d", "%d. {} %Y"),
        "zh": ("%Y年%m月%d日", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
        "ko": ("%Y년 %m월 %d일", "%Y-%m-%d", "%Y.%m.%d", "%y년 %m월 %d일"),
    }[language]
    months = [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ]
    return str(day.strftime(chance.choice(forms).replace("{}", months[day.month - 1])))


def _passport(language: str, chance: random.Random) -> str:
    digits = "".join(chance.choices("0123456789", k=8))
    return {"en": f"{digits}5", "de": f"C{digits[:2]}XK{digits[2:6]}", "zh": f"E{digits}", "ko": f"M{digits}"}[language]


def _national(language: str, fake: Any, chance: random.Random) -> str:
    if language != "de":
        return str(fake.ssn())
    digits = list("1234567890")  # a tax id has one digit twice, and none first
    chance.shuffle(digits)
    digits[9] = digits[chance.randrange(8)]
    if digits[0] == "0":
        digits[0], digits[1] = digits[1], digits[0]
    product = 10
    for digit in digits:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return "".join(digits) + str((11 - product) % 10)


def _harmless(place: int, seed: int) -> Iterator[tuple[str, str, str, str]]:
    chance = random.Random(seed + 100)
    for language, sentences in HARMLESS.items():
        for sentence in sentences[place::2]:
            variants = dict.fromkeys(_filled(sentence, chance) for _ in range(12 if "{" in sentence else 1))
            yield from ((language, "", "", text) for text in variants)


def _filled(sentence: str, chance: random.Random) -> str:
    minutes = [chance.randint(0, 3), chance.randint(4, 9)]
    return sentence.format(
        n=chance.randint(40, 180), n2=chance.choice((44, 64, 90, 128)), mark=chance.randint(1, 9), mark2=chance.randint(1, 9),
        year=chance.randint(1960, 2024), year2=chance.randint(1990, 2026), decade=chance.choice((60, 70, 80, 90)),
        age=chance.randint(18, 80), t=f"{minutes[0]}:{chance.randint(10, 59)}", t2=f"{minutes[1]}:{chance.randint(10, 59)}",
        **{name: chance.choice(words) for name, words in WORDS.items()},
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
