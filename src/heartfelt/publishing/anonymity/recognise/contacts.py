"""Where somebody can be written to: e-mail, web addresses, names in messengers and networks, addresses of machines."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from heartfelt.publishing.anonymity.recognise.rule import AFTER, BEFORE, HAN, HANGUL, KANA, rule, shown, word_set, words

_NOT_CJK = rf"(?![{HAN}{HANGUL}{KANA}])"
"""Words of these scripts are not parted by spaces: what follows a name in one does not belong to it."""
_TOP = words(
    "com org net edu gov io me uk de fr kr jp cn ru it es nl ch tv gg at se no dk fi pl br in ac eu ca au nz us info biz app dev be"
    " cz pt gr ie hk tw sg mx ar za tr ua hu ro il id th vn"
)
_SAID_TOP = words("com org net edu de uk fr kr jp cn ru io ch eu ca au info es nl se dk fi pl br ac")
_LOCAL = rf"(?<![^\W{HAN}{HANGUL}{KANA}])(?<![.+%-])(?:{_NOT_CJK}[\w.+%-]){{1,64}}"
_LABEL = rf"(?:{_NOT_CJK}[\w-]){{1,63}}"
_LABELS = rf"{_LABEL}(?:\s?\.\s?{_LABEL}){{0,5}}?"
_SAID_DOT = r"\s+(?:dot|punkt|punto)\s+"
_WEB_TOP = "com|org|net|edu|gov|io|me|co\\.uk|de|fr|kr|jp|cn|ru|it|es|nl|ch|tv|gg"
_LATIN_SERVICES = words(
    "insta instagram ig snap snapchat telegram discord whatsapp tiktok twitter wechat weixin kakao kakaotalk katalk skype"
    " facebook fb threads mastodon bluesky steam twitch soundcloud signal viber zalo vk"
)
_CJK_SERVICES = words(
    "微信 微信号 威信 薇信 扣扣 微博 抖音 小红书 企鹅 카톡 카카오톡 카카오 인스타 인스타그램 텔레그램 디스코드 라인 페이스북"
    " 페북 트위터 위챗 ライン"
    " インスタ ツイッター"
)
_FILLER = (
    r"(?:\s*(?:\b(?:id|handle|name|user ?name|user|account|acc|nick|konto|benutzername)\b|아이디|계정|이름|号码|号|账号|帳號|"
    r"是|はです|は|은|는|이|가|"
    r"[:=,-]|\b(?:is|ist|as|als|under|unter|bin ich|heiße ich|i am|i'm|me at|mich)\b))"
)
_ID = r"(?P<who>@?[A-Za-z0-9_][A-Za-z0-9_.#-]{2,39}(?<![.-]))"
_ORDINARY = word_set(
    "the this that and but for with full not very too also like music song songs sound sounds style filter story stories"
    " reel reels live post posts video videos server group chat call app apps account page photo photos image notification"
    " notifications feed broken down better great good bad nice cool fun boring algorithm ads advert bot channel dance"
    " message messages ringtone was are has had can user users worthy ready famous vibe vibes aesthetic und oder der die das"
    " ist ein eine von mit wie auf nicht here there where what when who how why all any some only just again now then always"
    " never old new free post-rock"
)


def _is_address(match: re.Match[str]) -> bool:
    for kind in (IPv4Address, IPv6Address):
        try:
            kind(match[0])
        except AddressValueError:
            continue
        return True
    return False


def _is_not_ordinary(match: re.Match[str]) -> bool:
    return shown(match).casefold() not in _ORDINARY


def _looks_made_up(match: re.Match[str]) -> bool:
    """Whether a word is one that a person chose for an account: with digits, signs or a long run of letters."""
    text = shown(match)
    if not _is_not_ordinary(match):
        return False
    return bool(re.search(r"[\d_@#]|\w\.\w", text)) and not re.fullmatch(r"[\d.,:-]+", text)


CONTACTS = (
    rule("e-mail", rf"{_LOCAL}\s?@\s?{_LABELS}\s?\.\s?[^\W\d{HAN}{HANGUL}{KANA}]{{2,}}"),
    rule("e-mail", rf"(?i){_LOCAL}\s?@\s?{_LABEL}(?:{_SAID_DOT}{_LABEL}){{0,5}}{_SAID_DOT}(?:{_SAID_TOP})\b"),
    rule(
        "e-mail",
        rf"(?i){_LOCAL}(?:{_SAID_DOT}{_LOCAL}){{0,3}}\s+(?:at|ät)\s+{_LABEL}"
        rf"(?:(?:{_SAID_DOT}|\.){_LABEL}){{0,5}}(?:{_SAID_DOT}(?:{_SAID_TOP})|\.(?:{_TOP}))\b",
    ),
    rule("web address", r"(?i)\b(?:https?://|www\.)[^\s<>\"'\u3001\u3002]+"),
    rule(
        "web address",
        rf"(?i)(?<![A-Za-z0-9.-])(?:[a-z0-9-]{{1,63}}\.){{1,6}}(?:{_WEB_TOP})(?:/[^\s<>\"']*)?(?![A-Za-z0-9_-])",
    ),
    rule("IP address", r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)", _is_address),
    rule("IP address", r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}(?![\w:])", _is_address),
    rule("handle", r"(?<![A-Za-z0-9_@/.])@[A-Za-z_][A-Za-z0-9_.]{2,29}(?<!\.)"),
    rule("handle", rf"{BEFORE}[A-Za-z0-9_.]{{2,32}}#\d{{4}}{AFTER}"),
    # a messenger, words that lead on to a name in it, and the name
    rule("handle", rf"(?i)\bmy\s+(?:{_LATIN_SERVICES})\b{_FILLER}{{1,3}}\s*{_ID}", _is_not_ordinary),
    rule(
        "handle",
        rf"(?i)\b(?:{_LATIN_SERVICES}|line)\b-?{_FILLER}{{0,2}}\s*(?:\bid|handle|name|user|[:=])\s*(?:\b(?:is|ist)\b\s*)?{_ID}",
        _is_not_ordinary,
    ),
    rule("handle", rf"(?i)\b(?:{_LATIN_SERVICES})\b{_FILLER}{{0,3}}\s+-?\s*{_ID}", _looks_made_up),
    rule("handle", rf"(?i)\b(?:{_LATIN_SERVICES})\s+-\s+{_ID}", _is_not_ordinary),
    rule(
        "handle",
        r"(?i)\b(?:add|find|follow|dm|message|text|reach|contact|folgt?|folge|adde|findet|schreibt?)\s+(?:me|mir|mich)\s+(?:on|"
        r"at|via|auf|bei|über)\s+"
        rf"(?:{_LATIN_SERVICES}|line)\b{_FILLER}{{0,3}}\s*{_ID}",
        _is_not_ordinary,
    ),
    rule(
        "handle",
        rf"(?i)\b(?:on|auf|bei|in)\s+(?:{_LATIN_SERVICES})\s+(?:bin ich|heiße ich|i am|i'm|as|als|under)\s+{_ID}",
        _is_not_ordinary,
    ),
    rule("handle", rf"(?i)(?:{_CJK_SERVICES}){_FILLER}{{0,3}}\s*{_ID}", _is_not_ordinary),
    rule(
        "handle",
        rf"(?i){BEFORE}(?:vx|v信|wx|weixin|wechat|kakao|katalk)(?=[\s:=号{HAN}{HANGUL}]){_FILLER}{{0,3}}\s*{_ID}",
        _is_not_ordinary,
    ),
    rule("handle", rf"(?i){BEFORE}(?:qq|扣扣|企鹅)号?码?{_FILLER}{{0,3}}\s*(?P<who>\d{{5,12}}){AFTER}"),
)
