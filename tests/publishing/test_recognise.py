"""The patterns by hand: what makes a number a card, a phone or an id, a word a name, and a stretch of text an address."""

from __future__ import annotations

from heartfelt.publishing.anonymity.recognise.checksums import (
    has_luhn_digit,
    is_card,
    is_chinese_id,
    is_day,
    is_german_tax_id,
    is_iban,
    is_korean_id,
)
from heartfelt.publishing.anonymity.recognise.normalised import normalise
from heartfelt.publishing.anonymity.recognise.personal_data import personal_data, redacted
from tests.cases import check_all


def kinds(text: str, *regions: str) -> set[str]:
    return {each.kind for each in personal_data(text, regions=regions)}


def clean(text: str, *regions: str) -> str:
    return redacted(text, personal_data(text, regions=regions))


def test_a_normalised_text_leads_back_to_the_whole_original() -> None:
    text = "ａ\u200bｂ(dot)c [at]d\u3000e"
    plain = normalise(text)
    assert plain.text == "ab.c@d e"
    assert len(plain.spans) == len(plain.text)
    assert text[slice(*plain.original(0, 2))] == "ａ\u200bｂ"
    assert text[slice(*plain.original(2, 3))] == "(dot)"
    assert text[slice(*plain.original(3, 6))] == "c [at]d"
    assert text[slice(*plain.original(6, 8))] == "\u3000e"
    assert normalise("ﬁ").spans == ((0, 1), (0, 1))
    assert normalise("e\u0301").text == "é"
    assert normalise("e\u0301").spans == ((0, 2),)
    assert normalise("\u1100\u1161\u11a8x").text == "각x"
    assert normalise("a\tb\u00a0c\nd").text == "a b c\nd"
    assert normalise("a\u2028b").text == "a b"
    assert normalise("(at) home").text == "(at) home", "nothing before it that it could belong to"
    assert normalise("").text == ""


@check_all(
    ("number", "is_one"),
    [
        ("4222222222222", True),  # 13 digits
        ("378282246310005", True),  # 15
        ("36227206271667", True),  # 14
        ("4111111111111111", True),
        ("6304000000000000018", True),
        ("4000000000000000006", True),  # 19
        ("422222222222", False),  # 12
        ("40000000000000000002", False),  # 20
        ("4111111111111112", False),
        ("0000000000000000", False),
        ("1111111111111117", False),
        ("6666666666666", False),
    ],
)
def test_cards_have_thirteen_to_nineteen_digits_and_a_check_digit(number: str, is_one: bool) -> None:
    assert is_card(number) is is_one
    assert ("card number" in kinds(f"charged {number} twice")) is is_one


def test_check_digits() -> None:
    assert has_luhn_digit("79927398713")
    assert not any(has_luhn_digit(f"7992739871{digit}") for digit in "012456789")
    assert is_iban("DE89 3704 0044 0532 0130 00")
    assert is_iban("NO9386011117947")
    assert not is_iban("DE89370400440532013001")
    assert not is_iban("NO93860111179")
    assert is_chinese_id("11010519491231002X")
    assert is_chinese_id("11010519491231002x")
    assert is_chinese_id("350427198707162846")
    assert is_iban("DE75111111111111111111111111111111"), "34 characters, the most"
    assert not is_iban("DE111111111111111111111111111111111")
    assert not is_chinese_id("110105194912310021")
    assert not is_chinese_id("11010519491331002X")
    assert is_german_tax_id("86095742719")
    assert is_german_tax_id("65929970489")
    assert not is_german_tax_id("86095742718")
    assert not is_german_tax_id("06095742719")
    assert not is_german_tax_id("12345678903"), "ten different digits"
    assert is_korean_id("880503-1234567")
    assert is_korean_id("020503-3234567")
    assert not is_korean_id("881303-1234567")
    assert not is_korean_id("880503-9234567")
    assert [is_day(text) for text in ("19000101", "18991231", "20240229", "20230229", "21001231", "21010101")] == [
        True, False, True, False, True, False,
    ]  # fmt: skip


@check_all(
    "text",
    [
        "13800138000",  # eleven digits
        "0102010201",
        "(44) 123 4567",
        "0123 45 67 89 01 23",
        "打给13800138000吧",
        "9876543210",  # ten
        "030 123456",
        "0301234567",
        "+49 30 1234",
        "0049 30 123456",
        "(030) 1234567",
        "555-123-4567x89",
        "555-123-4567 ext. 89",
        "06 12 34 56 78",
        "tel 4421 7788",
        "555-0199",
        "1-800-555-0199",
    ],
)
def test_phone_numbers(text: str) -> None:
    assert kinds(text) == {"phone number"}
    assert not any(letter.isdigit() for letter in clean(text)), clean(text)


@check_all(
    "text",
    [
        "123456789",  # nine digits
        "123456789012",  # twelve
        "1111111111",
        "(14-05-2020)",
        "012 34 56 78 90 12 34",
        "1212121212",
        "ratings 7 8 7 9 6 8 7 8",
        "100 200 300 400",
        "12 000 000",
        "2020-05-14",
        "14.05.2020",
        "1985 - 1995",
        "3.14159265",
        "44 55 66 77",
        "1234 5678",
        "BWV 1007-1012",
        "123-45-678",
        "20 30 40 50",
        "12345678 Hz",
        "x1380013800a",
        "1,234,567,890",
        "100 1 100",
    ],
)
def test_numbers_that_are_no_phone_numbers(text: str) -> None:
    assert not kinds(text), clean(text)


def test_a_raters_own_country_and_a_word_for_it_tell_a_number() -> None:
    assert not kinds("32 12 34 56 and so on")
    assert not kinds("44 32 12 56 and so on")
    assert kinds("44 32 12 56 and so on", "DK") == {"phone number"}
    assert not kinds("44 32 12 56 and so on", "US")
    assert not kinds("20 30 40 50 and so on", "DK"), "numbers that rise"
    assert kinds("mein Handy: 1701234567", "DE") == {"phone number"}
    assert kinds("电话 6552 9988") == {"phone number"}


@check_all(
    ("text", "left"),
    [
        ("born 3 May 1988.", "born [date of birth]."),
        ("DOB: 05/03/1988", "DOB: [date of birth]"),
        ("my birthday is May 3rd, 1988", "my birthday is [date of birth]"),
        ("Geburtsdatum: 03.05.88", "Geburtsdatum: [date of birth]"),
        ("ich bin am 3. Mai 1988 geboren", "ich bin am [date of birth] geboren"),
        ("am dritten Mai 1988 geboren", "am [date of birth] geboren"),
        ("生日是1988年5月3日", "生日是[date of birth]"),
        ("一九八八年五月三日出生", "[date of birth]出生"),
        ("생일은 88년 5월 3일", "생일은 [date of birth]"),
        ("1988.05.03에 태어났어요", "[date of birth]에 태어났어요"),
        ("born in 1988", "born in 1988"),
        ("on 3 May 1988 it rained", "on 3 May 1988 it rained"),
        ("SSN 123-45-6789", "SSN [id number]"),
        ("SSN AB-123456", "SSN [id number]"),
        ("my NI number is QQ 12 34 56 C", "my NI number is [id number]"),
        ("AB 12 34 56 C", "[id number]"),
        ("Reisepass: C01X00T47", "Reisepass: [id number]"),
        ("86095742719", "[id number]"),
        ("M12345678", "[id number]"),
        ("M1234567", "M1234567"),
        ("card 4111 1111 1111 1112", "card [card number]"),
        ("5f3e9a7b2c1d4e6f8a9b0c1d", "[participant id]"),
        ("5f3e9a7b2c1d4e6f8a9b0c1", "5f3e9a7b2c1d4e6f8a9b0c1"),
        ("ABCDEFABCDEFABCDEFABCDEF", "ABCDEFABCDEFABCDEFABCDEF"),
        ("A1B2C3D4E5F6", "[participant id]"),
        ("A1B2C3D4E5F", "A1B2C3D4E5F"),
        ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "[participant id]"),
    ],
)
def test_dates_and_ids(text: str, left: str) -> None:
    assert clean(text) == left


@check_all(
    ("text", "left"),
    [
        ("a@b.com. Thanks", "[e-mail]. Thanks"),
        ("邮箱wang@qq.com谢谢", "邮箱[e-mail]谢谢"),
        ("jane dot doe at example dot com!", "[e-mail]!"),
        ("jane at gmail.com", "[e-mail]"),
        ("look at the dot in the middle", "look at the dot in the middle"),
        ("see example(dot)org now", "see [web address] now"),
        ("follow @lena_k.", "follow [handle]."),
        ("@ 0:30 it starts", "@ 0:30 it starts"),
        ("lena#1234", "[handle]"),
        ("my telegram is lenak", "my telegram is [handle]"),
        ("my instagram is full of it", "my instagram is full of it"),
        ("instagram reels and discord servers", "instagram reels and discord servers"),
        ("instagram lena_k", "instagram [handle]"),
        ("instagram 12.34", "instagram 12.34"),
        ("a@b.com and c@d.com", "[e-mail] and [e-mail]"),
        ("wechat: lenak", "wechat: [handle]"),
        ("微信lena88", "微信[handle]"),
        ("QQ 1234", "QQ 1234"),
        ("QQ 12345", "QQ [handle]"),
        ("QQ音乐很好", "QQ音乐很好"),
        ("카톡 lenak 추가", "카톡 [handle] 추가"),
        ("on Discord as lenak", "on Discord as [handle]"),
    ],
)
def test_contacts(text: str, left: str) -> None:
    assert clean(text) == left


@check_all(
    ("text", "left"),
    [
        ("in 50667 Köln wohnen", "in [postal address] wohnen"),
        ("D-50667 Köln", "[postal address]"),
        ("44100 Hertz", "44100 Hertz"),
        ("12300 Fanclub", "12300 Fanclub"),
        ("00123 Abend", "00123 Abend"),
        ("10000 Menschen", "10000 Menschen"),
        ("12345 Songs", "12345 Songs"),
        ("1010 Wien", "[postal address]"),
        ("2019 Remix", "2019 Remix"),
        ("Auf dem Weg 3 Leute", "Auf dem Weg 3 Leute"),
        ("2 people walking down the street", "2 people walking down the street"),
        ("3 men on a Road", "3 men on a Road"),
        ("12 Baker Street, London", "[postal address], London"),
        ("send it to 12 elm street", "send it to [postal address]"),
        ("Austin, TX 78701", "[postal address]"),
        ("PO Box 123", "[postal address]"),
        ("SW1A 2AA", "[postal address]"),
        ("C4 E4 G4 chords", "C4 E4 G4 chords"),
        ("在中山路的公园", "在中山路的公园"),
        ("中山路12号", "[postal address]"),
        ("我住在上海市浦东新区张杨路", "我住在[postal address]"),
        ("北京市的夏天", "北京市的夏天"),
        ("클립으로 3", "클립으로 3"),
        ("101동 1203호", "[postal address]"),
        ("〒150-0041", "[postal address]"),
    ],
)
def test_addresses(text: str, left: str) -> None:
    assert clean(text) == left


@check_all(
    ("text", "left"),
    [
        ("my name is robert", "my name is [name]"),
        ("i'm robert, hi", "i'm [name], hi"),
        ("my name is miller", "my name is [name]"),
        ("this is Mark.", "this is [name]."),
        ("Robert likes Peter and the Wolf", "[name] likes Peter and the Wolf"),
        ("Zyx Miller sang", "Zyx Miller sang"),
        ("음악이 표현하는 감정", "음악이 표현하는 감정"),
        ("원장 님이 좋아해요", "원장 님이 좋아해요"),
        ("i'm sad, hi", "i'm sad, hi"),
        ("I'm Mark, hi", "I'm [name], hi"),
        ("with Robert", "with [name]"),
        ("Robert's voice", "[name]'s voice"),
        ("Mark my words", "Mark my words"),
        ("Mark Miller sang", "[name] sang"),
        ("Hans-Peter war da", "[name] war da"),
        ("like Philip Glass", "like Philip Glass"),
        ("like Miles Davis and Robert", "like Miles Davis and [name]"),
        ("Ave Maria", "Ave Maria"),
        ("Saint Peter and Robert", "Saint Peter and [name]"),
        ("Herr Krause", "Herr [name]"),
        ("Dr. No", "Dr. No"),
        ("Mr. Nobody", "Mr. Nobody"),
        ("Der Herr der Ringe", "Der Herr der Ringe"),
        ("my sister Zyx sang", "my sister [name] sang"),
        ("my sister sang", "my sister sang"),
        ("I LOVE ROBERT MILLER", "I LOVE [name]"),
        ("I LOVE MARK", "I LOVE MARK"),
        ("Victoria Station", "Victoria Station"),
        ("thanks, Zyx", "thanks, [name]"),
        ("Zyx here.", "[name] here."),
        ("it was Zyx Miller there", "it was [name] there"),
        ("我朋友高兴地说", "我朋友高兴地说"),
        ("我朋友张伟也说", "我朋友[name]也说"),
        ("听周杰伦的歌", "听周杰伦的歌"),
        ("김민준 씨", "[name] 씨"),
        ("이미지가 좋아요", "이미지가 좋아요"),
        ("田中さん", "[name]さん"),
    ],
)  # fmt: skip
def test_names(text: str, left: str) -> None:
    assert clean(text) == left
