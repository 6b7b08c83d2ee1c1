"""Numbers and dates that stand for one person: phones, cards, accounts, ids of people and of participants, days of birth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from heartfelt.publishing.anonymity.recognise.checksums import (
    digits_of,
    is_card,
    is_chinese_id,
    is_german_tax_id,
    is_iban,
    is_korean_id,
)
from heartfelt.publishing.anonymity.recognise.rule import AFTER, BEFORE, Finding, rule, shown, words


def _has_digit(match: re.Match[str]) -> bool:
    return any(letter.isdigit() for letter in shown(match))


def _has_four_digits(match: re.Match[str]) -> bool:
    return len(digits_of(shown(match))) >= 4


# --- days of birth ----------------------------------------------------------------------------------------------------

_MONTH = (
    r"(?:jan(?:uary|uar)?|jänner|feb(?:ruary|ruar)?|mar(?:ch)?|märz|mrz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?|dez(?:ember)?|janvier|février|mars|avril|juin|"
    r"juillet|août|"
    r"septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_NTH = (
    r"(?:(?:twenty-|thirty-)?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|(?:thir|"
    r"four|fif|six|"
    r"seven|eigh|nine)teenth|twentieth|thirtieth|[a-zäöü]{3,20}(?:ten|sten))"
)
_SAID_YEAR = (
    r"(?:nineteen|twenty|two thousand)(?:[ -](?:and )?[a-z]+){1,3}|neunzehnhundert[a-zäöü]+|zweitausend[a-zäöü]*"
)
_YEAR = rf"(?:(?:19|20)\d\d|['’]?\d\d|{_SAID_YEAR})"
_DAY = rf"(?:(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th|\.)?|(?:the\s+)?{_NTH})"
_HAN_NUMBER = "[\\d〇零一二三四五六七八九十]"
_DATE = (
    rf"(?:(?:19|20)\d\d[-/. ]+\d{{1,2}}[-/. ]+\d{{1,2}}(?!\d)|\d{{1,2}}[-/. ]+\d{{1,2}}[-/. ]+(?:(?:19|20)\d\d|\d\d)(?!\d)|"
    rf"{_DAY}\s*(?:of\s+|de\s+)?{_MONTH}\.?,?\s*(?:de\s+)?{_YEAR}?|{_MONTH}\.?\s+{_DAY}(?:,?\s*{_YEAR})?|"
    rf"{_HAN_NUMBER}{{2,4}}\s*[年년]\s*{_HAN_NUMBER}{{1,3}}\s*[月월]\s*{_HAN_NUMBER}{{1,3}}\s*[日号일]?|(?:19|20)\d{{6}}(?!\d)|"
    r"(?<!\d)\d{6}(?!\d))"
)
_BORN = (
    r"(?:\bborn\b|\bd\.?o\.?b\b\.?|\bdate of birth\b|\bbirth ?da(?:y|te)\b|\bb-?day\b|\bgeb\b\.?|\bgeboren\w*|\bgeburts(?:tag|"
    r"datum)\w*|"
    r"\bn[ée]e? le\b|\bnacid[oa]\b|\bnat[oa] il\b|生日|出生日期|出生|生于|生於|誕生日|생년월일|생일|출생)"
)
_BETWEEN_BIRTH = (
    r"[\s:：,=.?-]*(?:(?:it's|it is|mine is|is|was|ist|war|on|am|der|den|the|in|is on|是|为|は|은|는|on the)"
    r"[\s:]*){0,3}"
)
_BORN_AFTER = r"\s*(?:geboren|born|出生|生まれ|生的|에\s*태어|출생|에\s*출생|생(?=이|입|으로|인|[\s.,]|$)|일생)"

# --- phones -----------------------------------------------------------------------------------------------------------

REGIONS = ("CN", "KR", "JP", "DE", "AT", "CH", "US", "GB", "FR", "IT", "ES", "NL", "IN")
"""Countries whose way to write a number is always tried."""
_CANDIDATE = re.compile(
    r"(?<![A-Za-z0-9.,+〒])(?<!〒\s)(?:\+|00)?\(?\d(?:[\d\s()./–-]{5,22})\d(?P<extension>\s?(?:x|ext\.?|dw)\s?\d{1,6})?"
    r"(?![A-Za-z0-9%]|[.,]\d)"
)
_PHONE_WORD = re.compile(
    r"(?i)(?:\b(?:tel|phone|mobile|cell|call|ring|text|sms|fax|whatsapp|number|telefon|handy|nummer|mobil|anrufen|ruf|rückfragen)\b"
    r"[\w\s.:()-]{0,15}|(?:电话|電話|手机|手機|号码|联系|回电|致电|번호|전화|연락처|문자|핸드폰|휴대폰|携帯)[^\d+]{0,8})$"
)
_DATE_LIKE = re.compile(
    r"(?:19|20)\d\d[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]\d{1,2}[-/. ](?:19|20)\d\d"
    r"|(?:19|20)\d\d\s?[-–—/]\s?(?:19|20)\d\d"
)


def phones(text: str, regions: Sequence[str] = ()) -> Iterator[Finding]:
    """Phone numbers, as written anywhere, and as written in the countries that raters named."""
    if sum(letter.isdigit() for letter in text) < 7:
        return
    for match in _CANDIDATE.finditer(text):
        number = match[0].strip()
        start = match.start() + match[0].index(number)
        introduced = _PHONE_WORD.search(text, max(0, start - 40), start) is not None
        if _is_phone(number, regions, introduced=introduced):
            yield Finding("phone number", start, start + len(number))


def _is_phone(text: str, regions: Sequence[str], *, introduced: bool) -> bool:
    """Seven to fifteen digits in the groups people write; not dates, years, marks, times or sequences."""
    main = re.sub(r"\s?(?:x|ext\.?|dw)\s?\d{1,6}$", "", text)
    digits, groups = digits_of(main), re.findall(r"\d+", main)
    if not 7 <= len(digits) <= 16 or len(set(digits)) < 3 or _DATE_LIKE.fullmatch(main.strip("()")):
        return False
    if (len(groups) > 4 and max(map(len, groups)) == 1) or (
        len(groups) > 1 and all(int(group) % 100 == 0 for group in groups)
    ):
        return False
    if main.startswith(("+", "00")) or "(" in main or re.fullmatch(r"0\d(?:[ .-]\d\d){4}", main):
        return True
    return _has_usual_groups(main, digits, groups) or _is_valid_somewhere(main, regions, groups, introduced=introduced)


def _has_usual_groups(text: str, digits: str, groups: Sequence[str]) -> bool:
    if len(groups) == 1:
        return text[0] == "0" or len(digits) in (10, 11)
    if (len(groups[0]) == 1 and len(digits) < 10) or re.fullmatch(r"\d+[.,]\d+", text):
        return False
    if set(groups[1:]) <= {"000", "00"}:
        return False
    if len(digits) < 10 and digits[0] != "0":  # a range, unless it is written as a local number of North America
        return re.fullmatch(r"[2-9]\d{2}-\d{4}", text) is not None
    return max(map(len, groups)) >= 3 and min(map(len, groups[1:])) >= 2 and len(groups) <= 6


def _is_valid_somewhere(text: str, regions: Sequence[str], groups: Sequence[str], *, introduced: bool) -> bool:
    """Whether a country's numbering plan has the number: any country's after a word for it, else a rater's own."""
    import phonenumbers

    values = [int(group) for group in groups]
    if not introduced and (len(groups) == 1 or values == sorted(values) or max(map(len, groups)) < 2):
        return False
    for region in dict.fromkeys((*regions, *(REGIONS if introduced else ()))):
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(text, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


# --- the rules --------------------------------------------------------------------------------------------------------

_CARD = words("card karte kreditkarte kontonummer credit debit visa mastercard amex")
_PASS = (
    r"(?i:\bpassport|\breisepass|\bpersonalausweis|\bausweis|\bpass(?:nummer|-?nr|\s+(?:no|number|nr))|\bdriver'?s? licen[cs]e|"
    r"\bführerschein)"
)
_STATE_ID = (
    r"(?i:\bssn|\bsocial security|\bnational insurance|\bni(?:no|\s+number)|\btax(?:\s+(?:id|form|number|payer))?\b|\btin\b|"
    r"\bsteuer-?\s?(?:id|nummer|"
    r"identifikationsnummer|nr)|\bnational id|\bid card|\bpersonnummer|\bbsn|\baadhaar|\bdni\b|\bnie\b)"
)
_CJK_ID = "(?:身份证|身分證|护照|護照|주민(?:등록)?\\s?번호|여권|운전면허|マイナンバー|パスポート|社保)"
_GAP = r"[\s:#=.-]*(?:(?i:number|no\.?|nr\.?|nummer|is|ist|lautet|for|für|die|the|my|meine)\s*:?\s*){0,3}"
_CJK_GAP = r"(?:号码|號碼|号|號|번호)?\s*(?:是|为|吗|は|은|는|이)?[\s:：?？,，は]{0,3}"
_IDENTITY = r"(?P<who>(?:[A-Za-z]{1,4}[ -]?)?\d(?:[ /-]?[A-Za-z0-9]){4,17})"

NUMBERS = (
    rule("IBAN", rf"(?i){BEFORE}[A-Z]{{2}}\d{{2}}[A-Z0-9]{{11,30}}{AFTER}", lambda m: is_iban(m[0])),
    rule(
        "IBAN",
        rf"{BEFORE}[A-Za-z]{{2}}\d{{2}}(?:[ -][A-Za-z0-9]{{4}}){{2,7}}(?:[ -][A-Za-z0-9]{{1,3}})?{AFTER}",
        lambda m: is_iban(m[0]),
    ),
    rule(
        "IBAN",
        r"(?i)\b(?:iban|konto(?:nummer)?|bank account|account (?:no|number))\b[\s:.]*(?:is|ist|"
        r"lautet)?[\s:]*(?P<who>[A-Z]{0,2}\d(?:[ -]?[A-Z0-9]){7,30})",
        _has_four_digits,
    ),
    rule("card number", r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]*\d)", lambda m: is_card(m[0])),
    rule("card number", rf"(?i)(?:\b(?:{_CARD})\b|卡号?|카드)[^\d\n]{{0,12}}(?P<who>\d(?:[ -]?\d){{11,18}})(?!\d)"),
    rule("participant id", rf"{BEFORE}(?:[0-9a-fA-F]{{24}}|[0-9a-fA-F]{{32}}){AFTER}", _has_digit),
    rule("participant id", rf"{BEFORE}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{AFTER}"),
    rule("participant id", rf"{BEFORE}A[0-9A-Z]{{11,13}}{AFTER}", _has_digit),
    rule(
        "participant id",
        r"(?i)\b(?:worker|mturk|prolific|participant|sona|subject)\b[\s-]*(?:id|code|number|name)?[\s:=]*(?:is|was|ist|"
        rf"lautet)?[\s:]*(?P<who>[A-Za-z0-9]{{8,32}}){AFTER}",
        _has_four_digits,
    ),
    rule("id number", rf"(?<!\d)[1-9]\d{{16}}[0-9Xx]{AFTER}", lambda m: is_chinese_id(m[0])),
    rule("id number", r"(?<!\d)\d{6}\s?-\s?[1-8]\d{6}(?!\d)", lambda m: is_korean_id(m[0])),
    rule("id number", r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"),
    rule("id number", rf"{BEFORE}[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]{AFTER}"),
    rule("id number", r"(?<![\d.,])\d{2} ?\d{3} ?\d{3} ?\d{3}(?![\d.,])", lambda m: is_german_tax_id(m[0])),
    rule("id number", rf"{BEFORE}[A-Z]\d{{8}}{AFTER}"),
    rule("id number", rf"{_PASS}\w*{_GAP}(?P<who>[A-Za-z0-9]{{6,12}}){AFTER}", _has_four_digits),
    rule("id number", rf"{_STATE_ID}\w*[^\d\n]{{0,25}}?\b{_IDENTITY}", _has_four_digits),
    rule("id number", rf"{_CJK_ID}{_CJK_GAP}{_IDENTITY}", _has_four_digits),
)
BIRTHDAYS = (
    rule("date of birth", rf"(?i){_BORN}{_BETWEEN_BIRTH}(?P<who>{_DATE})"),
    rule("date of birth", rf"(?i)(?P<who>{_DATE}){_BORN_AFTER}"),
)
