"""Postal addresses as they are written in English, German, French, Italian, Spanish, Russian, Chinese, Korean and Japanese."""

from __future__ import annotations

import re

from heartfelt.publishing.anonymity.recognise.rule import AFTER, BEFORE, HAN, HANGUL, rule, words

_CAPITAL = "A-ZÀ-ÖØ-Þ"
_CAPITALISED = rf"[{_CAPITAL}][\w'’.-]*"
_STATES = words(
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN"
    " TX UT VT VA WA WV WI WY DC PR GU VI AS MP FM PW MH AA AE AP"
)
_ROADS = words(
    "street st road rd avenue ave lane ln drive boulevard blvd court terrace close crescent mews highway hwy parkway pkwy turnpike"
)
_OTHER_ROADS = words(
    "Dr Ct Cir Circle Square Way Place Pl Trail Path Row Walk Alley Loop Plaza Park Parks Hill Hills Ridge Ridges View Views Grove"
    " Groves Garden Gardens Green Greens Heights Haven Hollow Island Islands Isle Junction Junctions Key Keys Knoll Knolls"
    " Lake Lakes"
    " Landing Lodge Manor Manors Meadow Meadows Mill Mills Mission Mount Mountain Mountains Oval Orchard Overpass Pass Passage Pike"
    " Pine Pines Plain Plains Point Points Port Ports Prairie Ranch Rapid Rapids Rest River Route Run Shoal Shoals Shore Shores"
    " Skyway Spring Springs Spur Spurs Squares Station Stravenue Stream Streets Roads Summit Throughway Trace Track Trafficway"
    " Trailer Tunnel Union Unions Valley Valleys Via Viaduct Village Villages Ville Vista Walks Wall Ways Well Wells Bend Bluff"
    " Branch Bridge Brook Brooks Burg Bypass Camp Canyon Cape Causeway Center Centers Circles Cliff Cliffs Club Common Corner"
    " Corners Course Courts Cove Coves Creek Crest Crossing Crossroad Curve Dale Dam Divide Drives Estate Estates Expressway"
    " Extension Fall Falls Ferry Field Fields Flat Flats Ford Fords Forest Forge Forges Fork Forks Fort Freeway Gateway Glen Glens"
    " Harbor Harbors Inlet Light Lights Loaf Lock Locks Lane Mall Motorway Neck Parkways Underpass Trail Islands"
)
_UNIT = r"(?:\s*,?\s*(?i:apt|apartment|suite|unit|flat|room|studio|floor|#)\.?\s*#?\w{1,5})"
_POSTCODE = r"[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}"
_TOWN = rf"(?:,?\s+(?:{_CAPITALISED}\s?){{1,3}}(?:,\s*|\s+)(?:(?:{_STATES})\s+\d{{5}}(?:-\d{{4}})?|{_POSTCODE}){AFTER})"
_LIVES = (
    r"(?i:\b(?:live[sd]?|living|address|mail|send|sent|house|home|stay|based|door)\b[^.\n]{0,25}?(?:\bat|\bto|\bon|\bis|:|"
    r"in)\s+)"
)
_ARTICLES = r"(?!(?i:der|die|das|dem|den|ein|eine|einen|kein|kein[er]|auf|im|vom|zum|mein|dein|sein|ihr|unser)\b)"
_GERMAN_ROADS = (
    r"straße|strasse|str\.|str(?=\s\d)|weg|gasse|platz|allee|ring|damm|ufer|steig|pfad|"
    r"chaussee|stieg|promenade|graben|wall"
)
_NOT_TOWNS = words(
    "Hz Hertz Euro Dollar Menschen Leute Mal Jahre Schritte Zuschauer Fans Sekunden Minuten Stunden Meter Kilometer Punkte Stück"
    " Tage Ratings Views Likes Followers People Songs Clips Bilder Töne Noten Takte Wörter Words Steps Samples Maniacs Years Miles"
    " Times Points Pixel Pixels Hits Remix Won Yen Yuan Franken Kronen Pfund Teilnehmer Personen Stimmen Lieder Zeichen"
)
_TOWNS_OF_FOUR_DIGITS = words(
    "Wien Graz Linz Salzburg Innsbruck Klagenfurt Zürich Bern Basel Genf Genève Lausanne Luzern Winterthur Bruxelles Brussel"
    " Antwerpen Gent København Aarhus Oslo Bergen Sydney Melbourne Brisbane Perth Adelaide Auckland Wellington Budapest"
)
_CHINESE_PROVINCES = words(
    "北京 天津 上海 重庆 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川 贵州 云南 陕西"
    " 甘肃 青海 台湾 内蒙古 广西 西藏 宁夏 新疆"
    " 香港 澳门 廣東 臺灣 廣西"
)
_CHINESE_END = rf"[{HAN}A-Za-z0-9-]{{1,14}}(?:路|街|道|巷|弄|胡同|里|村|镇|乡|小区|大厦|广场|号|座|室|楼|栋|幢|单元)"
_CHINESE_MORE = r"(?:[A-Za-z0-9-]{1,6}(?:号楼|号|座|室|楼|栋|幢|单元|层|弄))*(?:\s?\d{6}(?!\d))?"
_KOREAN_PROVINCES = words(
    "서울특별시 서울시 서울 부산광역시 부산시 부산 대구광역시 대구 인천광역시 인천 광주광역시 광주 대전광역시 대전 울산광역시 울산"
    " 세종특별자치시 세종시 경기도 경기 강원도 강원특별자치도 충청북도 충북 충청남도 충남 전라북도 전북특별자치도 전북"
    " 전라남도 전남 경상북도 경북 경상남도 경남"
    " 제주특별자치도 제주도 제주"
)
_KOREAN_ROAD = (
    rf"[{HANGUL}\d]{{1,10}}(?:로|길|가|동|읍|면|리)(?:\s?[{HANGUL}\d]{{0,6}}(?:번길|"
    r"길))?(?:\s?(?:지하\s?)?\d{1,4}(?:-\d{1,4})?)?"
    rf"(?:\s?\d{{1,4}}동)?(?:\s?\d{{1,4}}호)?(?:\s?\([{HANGUL}\d\s]+\))?"
)


def _is_postal_code(match: re.Match[str]) -> bool:
    """Whether five digits are in the range of postal codes, and not a round number of something."""
    code = match["code"]
    return not code.endswith("00") and "01000" < code < "99999"


ADDRESSES = (
    rule(
        "postal address",
        rf"{BEFORE}(?:(?i:flat|apt|apartment|unit|studio|suite)\s*\w{{1,5}},?\s+)?\d{{1,5}}[A-Za-z]?,?\s+(?:{_CAPITALISED}\s+)"
        r"{1,4}"
        rf"(?i:{_ROADS})\b\.?{_UNIT}?{_TOWN}?",
    ),
    rule(
        "postal address",
        rf"{_LIVES}(?P<who>\d{{1,5}}[a-z]?,?\s+(?:[\w'’.-]+\s+){{1,3}}(?i:{_ROADS}|{_OTHER_ROADS})\b\.?{_UNIT}?{_TOWN}?)",
    ),
    rule(
        "postal address",
        r"(?i)(?<![\d:.,])\b\d{2,5}[a-z]?\s+(?!\w+ing\b)[a-z'’-]{3,}\s+(?:street|road|avenue|lane|drive|"
        rf"boulevard)\b(?={_UNIT}|\s*[,.!]|$)",
    ),
    rule(
        "postal address",
        rf"{BEFORE}\d{{1,5}}\s+(?:{_CAPITALISED}\s+){{1,3}}(?:{_OTHER_ROADS})\b(?:{_UNIT}{_TOWN}?|{_TOWN})",
    ),
    # the code of a town, with what is before it: a house, a street, a box
    rule(
        "postal address",
        rf"(?:{BEFORE}(?:[A-Z]{{3,4}}\s|PSC\s)?\w[\w'’. -]{{2,40}}(?:,\s*[\w'’."
        rf" -]{{2,30}}){{0,3}},\s*)?(?:{_CAPITALISED}\s){{0,3}}(?<!\w)(?:{_STATES})\s+\d{{5}}(?:-\d{{4}})?(?!\d)",
    ),
    rule(
        "postal address",
        rf"(?:(?i:flat|studio|unit|apt|apartment)?\s?\w{{1,6}},?\s+)?(?:\d{{1,5}}[A-Za-z]?\s+)?(?:{_CAPITALISED},?\s+){{0,8}}"
        rf"{BEFORE}{_POSTCODE}{AFTER}",
    ),
    rule("postal address", r"(?i)\b(?:p\.?\s?o\.?\s?box|postfach)\s+\d[\d ]{1,8}\d?"),
    rule("postal address", r"(?i)\bzip(?:\s?code)?\s*(?:is|:)?\s*\d{5}(?!\d)"),
    rule(
        "postal address",
        rf"(?:{_CAPITALISED}(?:\s[\w.-]+){{0,3}}\s\d{{1,4}}\s?[a-z]?,?\s+)?{BEFORE}(?:D-|"
        rf"DE-)?(?P<code>\d{{5}})\s+(?!(?:{_NOT_TOWNS})\b)"
        r"[A-ZÄÖÜ][a-zäöüß]{2,}(?:-[A-ZÄÖÜ][a-zäöüß]+)*(?:\s(?:am|an der|bei|im|a\.)\s[A-ZÄÖÜ][a-zäöüß.]+|"
        r"\s\([A-ZÄÖÜ][\wäöüß]+\))?",
        _is_postal_code,
    ),
    rule("postal address", rf"{BEFORE}(?:(?:A|AT|CH)-)?[1-9]\d{{3}}\s+(?:{_TOWNS_OF_FOUR_DIGITS})\b"),
    rule(
        "postal address",
        rf"\b{_ARTICLES}(?:[{_CAPITAL}][\w'’.-]{{2,}}(?:{_GERMAN_ROADS})|[{_CAPITAL}][\w'’.-]+[\s-](?:Straße|Strasse|Str\.|Weg|"
        r"Gasse|Platz|Allee|Ring|Damm|Ufer))"
        r",?\s+\d{1,4}\s?(?:[a-z]\b)?(?:,?\s+\d{4,5}\s+[A-ZÄÖÜ][\wäöüß-]+)?",
    ),
    rule(
        "postal address",
        rf"(?i)\b{_ARTICLES}[\w-]{{3,40}}(?:straße|strasse|str\.|gasse|allee|platz)\s+\d{{1,4}}\s?(?:[a-z]\b)?",
    ),
    rule(
        "postal address",
        r"(?i)\b(?:rue|avenue|via|viale|calle|avenida|plaza|rua|ul\.|ulica|улица|ул\.)\s+(?:[\w'’.-]+\s+){0,3}[\w'’.-]+,?\s+\d{"
        r"1,4}\s?[a-z]?\b",
    ),
    rule(
        "postal address",
        r"(?i)\b\d{1,4},?\s+(?:rue|avenue|boulevard|place|chemin)\s+(?:de\s+|du\s+|des\s+|la\s+)*[\w'’-]+",
    ),
)
EASTERN_ADDRESSES = (
    rule(
        "postal address",
        rf"(?:{_CHINESE_PROVINCES})(?:省|市|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区)?[{HAN}]{{0,6}}?(?:市|区|县|"
        rf"旗|盟){_CHINESE_END}{_CHINESE_MORE}",
    ),
    rule(
        "postal address",
        rf"(?:住在?|寄到|送到|地址是?[:：]?|家在|位于)\s*(?P<who>[{HAN}A-Za-z0-9-]{{2,12}}(?:市|区|县|路|街|道|村|"
        rf"镇){_CHINESE_END}?{_CHINESE_MORE})",
    ),
    rule(
        "postal address", rf"[{HAN}]{{2,6}}(?:路|街|大道|巷|弄|胡同)\s?\d{{1,5}}(?:号|弄|巷)(?:院|楼)?{_CHINESE_MORE}"
    ),
    rule("postal address", rf"(?:{_KOREAN_PROVINCES})\s?(?:[{HANGUL}]{{1,5}}(?:시|군|구)\s?){{1,2}}{_KOREAN_ROAD}"),
    rule(
        "postal address",
        rf"[{HANGUL}]{{2,5}}(?:시|구|군)\s[{HANGUL}\d]{{1,8}}(?:로|길|동|읍|면)\s?\d{{1,4}}(?:-\d{{1,4}})?(?:\s?\d{{1,4}}호)?",
    ),
    rule("postal address", rf"(?:[{HANGUL}]{{2,10}}(?:아파트|빌라|오피스텔|맨션)\s?)?\d{{1,4}}동\s?\d{{1,4}}호"),
    rule("postal address", rf"〒?\s?\d{{3}}-\d{{4}}\s*[{HAN}]{{2,4}}[都道府県]|〒\s?\d{{3}}-\d{{4}}"),
    rule(
        "postal address",
        rf"(?:東京都|北海道|(?:京都|大阪)府|[{HAN}]{{2,3}}県)[{HAN}ヶケノ]{{1,8}}[市区町村郡][{HAN}\u3040-\u30ff\d丁目番地号-]"
        r"{1,20}",
    ),
)
