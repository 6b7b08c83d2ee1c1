"""Names of people: where somebody introduces themselves or another person, and common names in the middle of a sentence.

A name is told from a word by what stands around it, by lists of very common names, and by capital letters. Names that no list has
and nothing introduces are not found; ``heartfelt.publishing.anonymity.entities`` asks a model for those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from heartfelt.publishing.anonymity.recognise.common_names import (
    AMBIGUOUS,
    CHINESE_FAMILY,
    CHINESE_GIVEN,
    FAMILY,
    GIVEN_NAMES,
    JAPANESE_FAMILY,
    KOREAN_FAMILY,
    KOREAN_GIVEN,
    NOT_CHINESE_NAMES,
    NOT_KOREAN_NAMES,
    PUBLIC,
    WORDS_TOO,
    WORKS,
)
from heartfelt.publishing.anonymity.recognise.rule import HAN, HANGUL, Finding, rule, shown, word_set, words

_CAPITAL = "A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁΑ-Ω"
_BETWEEN = "van|von|de|del|della|di|da|dos|bin|al|el|la|le|ter|der|den|zu"
_WORD = rf"[{_CAPITAL}][\w'’-]+"
_NAME = rf"{_WORD}(?:\s+(?:(?:{_BETWEEN})\s+)*{_WORD}){{0,3}}"
_FULL = rf"{_WORD}(?:\s+(?:(?:{_BETWEEN})\s+)*{_WORD}){{1,3}}"
_INTRODUCED = (
    r"\b(?i:my (?:full |first |last |real )?name(?:'s|’s|:| is)|name:|the name's|call me|people call me|they call me|signed,?|"
    r"(?:kind |best |warm )?regards,?|yours sincerely,?|ich heiße|ich heisse|mein name ist|je m['’]appelle|mon nom est|"
    r"me llamo|mi nombre es|mi chiamo|il mio nome è|meu nome é|me chamo|chamo-me|mijn naam is|ik heet|jag heter|mitt namn är|"
    r"jeg heter|jeg hedder|mit navn er|nimeni on|nazywam się|mam na imię|меня зовут|моё имя|мое имя|benim adım|adım)\s+"
)
_THIS_IS = r"(?:\b(?i:this is|it's|hier ist|hier spricht|hier schreibt|c'est)\s+)"
_I_AM = r"\b(?:I am|I['’]m|i am|i['’]m|[Ii]ch bin|[Jj]e suis|[Ss]oy|[Ss]ono|[Ss]ou|[Ii]k ben|[Jj]ag är|Я)\s+"
_THEN = r"(?=\s*(?:[,.!;]|$|(?:and|from|und|aus|et|de|y|e|here|speaking)\b))"
_GREETING = (
    r"(?i:thanks|thank you|thx|cheers|best|regards|yours|love|greetings|bye|danke|grüße|gruß|lg|mfg|vg|viele grüße|liebe grüße|"
    r"merci|gracias|grazie|谢谢|감사합니다)"
)
_RELATION = words(
    "friend friends wife husband brother sister mother father mom mum dad son daughter uncle aunt cousin neighbour neighbor"
    " teacher boss"
    " colleague roommate flatmate boyfriend girlfriend partner grandma grandpa grandmother grandfather nephew niece doctor"
    " professor"
    " kid child baby boy girl"
    " coworker supervisor classmate bandmate tutor coach fiancé fiancée ex Freund Freundin Frau Mann Bruder Schwester Mutter"
    " Vater Mama"
    " Papa Sohn Tochter Onkel Tante Cousin Cousine Nachbar Nachbarin Lehrer Lehrerin Chef Chefin Kollege Kollegin Mitbewohner"
    " Mitbewohnerin Partner Partnerin Oma Opa Neffe Nichte Arzt Ärztin Professorin Betreuer Mitschüler Schwager Schwägerin Enkel"
)
_POSSESSIVE = (
    r"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Mm]ein(?:e[mnrs]?)?|[Uu]nser(?:e[mnrs]?)?|[Dd]ein(?:e[mnrs]?)?|"
    r"[Ss]ein(?:e[mnrs]?)?|[Ii]hr(?:e[mnrs]?)?|[Dd]er|[Dd]ie)"
)
_TITLE = (
    r"(?:Mr|Mrs|Ms|Miss|Mister|Dr|Prof|Professor|Doctor|Herrn?|Frau|Fräulein|Madame|Monsieur|Señora?|Signora?|Sr|Sra|"
    r"Mme)\b\.?\s+(?:(?:Dr|Prof)\.?\s+)*"
)
_NOT_NAMES = word_set(
    "I It The This That A An And But So Very Not Sad Happy Angry Calm Tired Bored Afraid Relaxed Excited Neutral German French"
    " Spanish"
    " English American British Italian Korean Chinese Japanese Indian Christian Catholic Muslim Jewish Buddhist Hindu None"
    " Sorry Sure Still"
    " Just Really Too Also Here Now Music Male Female My Me We You He She They Nobody Who Bean Dre Right Strangelove Robot"
    " Robots Everyone Anyone"
    " Someone Great Good Nice Cool Thanks Thank Bye Hello Hi Yes No Ok Okay Bad Mixed Art Rock Pop Jazz Classical Christmas"
    " Easter Halloween"
    " Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September"
    " October November"
    " December Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag Weihnachten Ostern Musik Klavier Gitarre Deutsche"
    " Deutscher Student"
    " Studentin Bro Man Dude Guys Team All Alle Ihr Euch Ihnen Sie Ich Wir Es Er Das Die Der Ein Eine Google YouTube Spotify"
    " Holle Mahlzeit Elise"
    " Best Regards Love God Jesus Gott Mit Und Oder Aber Wie Was Wer Wo Hut Merci Musikerin Musiker Lehrer Lehrerin Piano"
    " Prolific Internet"
)
_NOT_BEFORE = word_set(
    "Saint St St. San Santa Santo Sankt King Queen Prince Princess König Königin Lake Ave Für Mount Port Fort Pope Papst Hotel"
    " Café Lord Lady"
    " Les Don Sweet Frère New East West North South Puerto Costa Sir Captain Super Uncle Onkel Big Little Like Happy The"
)
_NOT_AFTER = word_set(
    "Street Road Avenue Lane Station Bridge Island Park City Lake Hall Airport Church Symphony Sonata Suite Concerto"
    " University Stadium"
)


def _is_name(match: re.Match[str]) -> bool:
    parts = shown(match).split()
    return parts[0] not in _NOT_NAMES and shown(match) not in PUBLIC


def _is_given(match: re.Match[str]) -> bool:
    return all(part.title() in GIVEN_NAMES or part.title() in FAMILY for part in shown(match).split()[:1])


def _is_person(match: re.Match[str]) -> bool:
    return _is_name(match) and shown(match).split()[-1] not in _NOT_NAMES


# --- Chinese, Korean and Japanese -------------------------------------------------------------------------------------

_CHINESE_PARTICLES = (
    "的了吗呢吧啊是也都在和跟与说很就不有会要把给对让从到想觉推告每一上下们这那个我你他她它，。！、来去做看听喜"
)
_CHINESE = rf"(?:欧阳|司马|上官|诸葛|[{CHINESE_FAMILY}])[{HAN}](?:[^\W{_CHINESE_PARTICLES}\dA-Za-z_])?"
_CHINESE_RELATION = words(
    "朋友 同学 老师 同事 邻居 老婆 老公 妻子 丈夫 爸爸 妈妈 哥哥 姐姐 弟弟 妹妹 儿子 女儿 室友 女友 男友 女朋友 男朋友 老板"
    " 医生 教授 导师 阿姨 叔叔 表哥 表姐 舅舅 姑姑 经理 师傅 问问 请问 认识 联系 找"
)
_CHINESE_TITLE = words("老师 先生 女士 小姐 同学 医生 教授 阿姨 叔叔 师傅 经理 大夫")
_CHINESE_VERB = "说|告诉|推荐|觉得|认为|喜欢|唱|弹|介绍|问我|陪我"
_KOREAN = rf"(?:남궁|황보|선우|제갈|[{KOREAN_FAMILY}])[{KOREAN_GIVEN}]{{2}}"
_KOREAN_RELATION = words(
    "친구 선생님 동료 남편 아내 옆집 형 누나 언니 오빠 동생 엄마 아빠 아들 딸 이웃 교수님 사장님 선배 후배 삼촌 이모 고모"
    " 할머니 할아버지 여자친구 남자친구 직장동료 룸메이트 조카 사촌"
)
_KOREAN_PARTICLE = (
    "이|가|은|는|도|을|를|와|과|랑|이랑|하고|에게|한테|께|의|씨|님|라고|이라고|입니다|이에요|예요|올림|드림|아|야"
)
_BOUNDARY = rf"(?<![{HANGUL}A-Za-z0-9])"


def _is_chinese(match: re.Match[str]) -> bool:
    return not {shown(match), shown(match)[:2]} & NOT_CHINESE_NAMES and not re.match(
        r"[大小]?(?:[的了吗])", shown(match)[1:]
    )


def _is_usual_chinese(match: re.Match[str]) -> bool:
    return _is_chinese(match) and shown(match)[1:] not in NOT_CHINESE_NAMES


def _is_korean(match: re.Match[str]) -> bool:
    return shown(match) not in NOT_KOREAN_NAMES


def _is_korean_alone(match: re.Match[str]) -> bool:
    """Not a verb: many are three syllables and ``하는`` or ``해`` at the end."""
    return _is_korean(match) and shown(match)[-1] not in "하해한되된"


NAMES = (
    rule("name", rf"{_INTRODUCED}(?P<who>{_NAME})", _is_name),
    rule("name", rf"{_INTRODUCED}(?P<who>[^\W\d_]{{2,}}(?:\s+[^\W\d_]{{2,}})?)", _is_given),
    rule("name", rf"{_I_AM}(?P<who>{_NAME}){_THEN}", _is_name),
    rule("name", rf"{_I_AM}(?P<who>[a-z]{{2,}}){_THEN}", lambda m: _is_given(m) and shown(m).title() not in AMBIGUOUS),
    rule(
        "name",
        rf"{_THIS_IS}(?P<who>{_NAME})(?=\s*(?:[,.!;]|$|(?:here|speaking|und|and|from|aus)\b))",
        lambda m: _is_person(m) and (_is_given(m) or " " in shown(m)),
    ),
    rule("name", rf"(?:^|[.!?\n]\s{{0,3}})(?P<who>{_NAME})\s+here\b", _is_person),
    rule("name", rf"{_GREETING}\s*[,!.\n-]\s*(?:(?i:your|ihr|dein|euer)\s+)?(?P<who>{_NAME})\s*[.!]?\s*$", _is_person),
    rule(
        "name",
        rf"(?i:\bname\b)[^.!?\n]{{0,35}}?(?P<who>{_FULL})(?=\s*[.,!;?)]|\s*$|\s+(?:and|und|but|aber)\b)",
        _is_person,
    ),
    rule("name", rf"\b{_TITLE}(?P<who>{_NAME})", _is_person),
    rule(
        "name",
        rf"\b{_POSSESSIVE}\s+(?:[a-zäöüß]+\s+)?(?:{_RELATION})(?:\s*,|\s+(?:called|named|namens))?\s+(?!(?:Herrn?|Frau|Dr|Prof|"
        rf"Mr|Mrs|Ms)\b)(?P<who>{_NAME})",
        _is_person,
    ),
    rule(
        "name",
        r"\b(?:together with|recorded by|sung by|introduced by|recommended by|zusammen mit|ask|asked|told|"
        rf"mit)\s+(?P<who>{_FULL})",
        _is_person,
    ),
    rule(
        "name",
        rf"\b(?:ask|asked|tell|told|met|know|frag|fragt)\s+(?P<who>{_NAME})(?=,?\s+(?:she|he|who|they|sie|er|about)\b)",
        _is_person,
    ),
)
EASTERN_NAMES = (
    rule(
        "name",
        rf"(?:我叫|我的名字是|我名叫|名字叫|姓名[:：]?|我姓|叫做)\s*(?P<who>{_CHINESE}|[A-Za-z]{{2,20}})",
        _is_chinese,
    ),
    rule("name", rf"(?:^|[，。！,.!\s])(?:我是|这是|本人)\s*(?P<who>{_CHINESE})(?=[，。！,.!\s]|$)", _is_chinese),
    rule("name", rf"(?:{_CHINESE_RELATION})(?:叫)?(?P<who>{_CHINESE})", _is_usual_chinese),
    rule("name", rf"(?P<who>{_CHINESE})(?=(?:{_CHINESE_TITLE}|{_CHINESE_VERB}))", _is_usual_chinese),
    rule("name", rf"(?:谢谢|此致|敬上)[，,。！!\s]*(?P<who>{_CHINESE})\s*[。.!]?\s*$", _is_usual_chinese),
    rule(
        "name", rf"(?P<who>[{CHINESE_FAMILY}][{CHINESE_GIVEN}]{{2}})(?=[{_CHINESE_PARTICLES}]|$|\W)", _is_usual_chinese
    ),
    rule(
        "name",
        rf"(?:제|내|저의)\s?이름은\s*(?P<who>[{HANGUL}]{{2,4}}?|[A-Za-z]{{2,20}})(?=\s|입니다|이에요|예요|이고|라고|이라고|"
        r"[.,!]|$)",
    ),
    rule("name", rf"(?:저는|나는|전)\s*(?P<who>[{HANGUL}]{{2,4}}?)(?:이)?라고\s*(?:합니다|해요|불)"),
    rule("name", rf"(?:저는|나는)\s*(?P<who>{_KOREAN})(?=입니다|이에요|예요|이고|\s|$)", _is_korean),
    rule(
        "name",
        rf"{_BOUNDARY}(?P<who>[{KOREAN_FAMILY}][{HANGUL}]{{1,2}})\s?(?:씨|님|군|양)(?=[이가은는도을를와과랑의께에한\s.,!]|$)",
        lambda m: (
            _is_korean(m) and m["who"] not in {"선생", "손님", "고객", "주인", "하나", "부모", "기사", "원장", "사장"}
        ),
    ),
    rule(
        "name",
        rf"(?:{_KOREAN_RELATION})인?\s+(?P<who>[{KOREAN_FAMILY}][{KOREAN_GIVEN}]{{1,2}})(?=(?:{_KOREAN_PARTICLE})|\s|[.,!]|$)",
        lambda m: _is_korean(m) and len(m["who"]) == 3,
    ),
    rule(
        "name",
        rf"{_BOUNDARY}(?P<who>{_KOREAN})(?=(?:{_KOREAN_PARTICLE})(?:[\s.,!]|$)|\s?(?:씨|님|올림|드림))",
        _is_korean_alone,
    ),
    rule("name", rf"(?:私の名前は|名前は)\s*(?P<who>[\u3040-\u30ff{HAN}A-Za-z]{{2,6}})"),
    rule(
        "name",
        rf"(?P<who>(?:{words(JAPANESE_FAMILY)})[{HAN}]{{0,2}})(?=さん|様|くん|君|ちゃん|先生|です|と申します|といいます)",
    ),
)


_NAME_PATTERN = re.compile(_NAME)
_WORKS = re.compile(rf"\b(?:{'|'.join(map(re.escape, WORKS))})\b")
_PARTS = re.compile(rf"{_WORD}|\b(?:{_BETWEEN})\b")


def listed_names(text: str) -> Iterator[Finding]:
    """Common given names with what follows, and common family names after a capital; not those of artists and figures."""
    works = [match.span() for match in _WORKS.finditer(text)]
    for match in _NAME_PATTERN.finditer(text):
        if any(start < match.end() and match.start() < stop for start, stop in works):
            continue
        parts = [_without_genitive(part[0]) for part in _PARTS.finditer(match[0])]
        public = {
            first + step
            for first in range(len(parts))
            for length in range(2, len(parts) - first + 1)
            if " ".join(parts[first : first + length]) in PUBLIC
            for step in range(length)
        }
        spans = [part.span() for part in _PARTS.finditer(match[0])]
        for first in range(len(parts)):
            if first not in public and (length := _length(parts, first, match.start())):
                last = first + length - 1
                stop = spans[last][1] if length > 1 else spans[first][0] + len(parts[first])
                yield Finding("name", match.start() + spans[first][0], match.start() + stop)
                break


def _without_genitive(word: str) -> str:
    """Without an English genitive, and ``Robert`` for ``ROBERT``."""
    word = re.sub(r"['’]s?$", "", word)
    return word.title() if word.isupper() and len(word) > 3 else word


def _length(parts: list[str], first: int, start: int) -> int:
    """How many words from a place on are a person's name; none if it is not the beginning of one."""
    word, following = parts[first], parts[first + 1 :]
    if (first and parts[first - 1] in _NOT_BEFORE) or (following and following[0] in _NOT_AFTER) or word in _NOT_NAMES:
        return 0
    is_given = word in GIVEN_NAMES or ("-" in word and word.split("-")[0] in GIVEN_NAMES)
    family = [part for part in following if part not in _NOT_NAMES]
    if is_given and family and (word not in WORDS_TOO or family[0] in FAMILY):
        return 1 + len(following)
    if is_given and word not in AMBIGUOUS:
        return 1
    ends = len(following) == 1 and following[0] in FAMILY and following[0] not in _NOT_NAMES
    return 2 if ends and len(word) > 2 and start + first > 0 else 0
