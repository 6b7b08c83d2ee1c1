"""Countries and the region each is in, after the United Nations' standard M49; by name, common short name or ISO 3166 code."""

from __future__ import annotations

from functools import cache

_REGIONS = {
    "Northern Africa": "DZ Algeria, EG Egypt, LY Libya, MA Morocco, SD Sudan, TN Tunisia, EH Western Sahara",
    "Sub-Saharan Africa": (
        "AO Angola, BJ Benin, BW Botswana, BF Burkina Faso, BI Burundi, CV Cabo Verde, CV Cape Verde, CM Cameroon,"
        "CF Central African Republic, TD Chad, KM Comoros, CG Congo, CD Democratic Republic of the Congo, DJ Djibouti,"
        "GQ Equatorial Guinea, ER Eritrea, SZ Eswatini, SZ Swaziland, ET Ethiopia, GA Gabon, GM Gambia, GH Ghana, GN Guinea,"
        "GW Guinea-Bissau, CI Ivory Coast, CI Côte d'Ivoire, KE Kenya, LS Lesotho, LR Liberia, MG Madagascar, MW Malawi, ML Mali,"
        "MR Mauritania, MU Mauritius, MZ Mozambique, NA Namibia, NE Niger, NG Nigeria, RW Rwanda, ST Sao Tome and Principe,"
        "SN Senegal, SC Seychelles, SL Sierra Leone, SO Somalia, ZA South Africa, SS South Sudan, TZ Tanzania, TG Togo,"
        "UG Uganda, ZM Zambia, ZW Zimbabwe, RE Réunion"
    ),
    "Northern America": "US United States, US United States of America, US USA, US America, CA Canada, BM Bermuda, GL Greenland",
    "Latin America and the Caribbean": (
        "AG Antigua and Barbuda, AR Argentina, BS Bahamas, BB Barbados, BZ Belize, BO Bolivia, BR Brazil, CL Chile, CO Colombia,"
        "CR Costa Rica, CU Cuba, DM Dominica, DO Dominican Republic, EC Ecuador, SV El Salvador, GD Grenada, GT Guatemala,"
        "GY Guyana, HT Haiti, HN Honduras, JM Jamaica, MX Mexico, NI Nicaragua, PA Panama, PY Paraguay, PE Peru, PR Puerto Rico,"
        "KN Saint Kitts and Nevis, LC Saint Lucia, VC Saint Vincent and the Grenadines, SR Suriname, TT Trinidad and Tobago,"
        "UY Uruguay, VE Venezuela"
    ),
    "Central Asia": "KZ Kazakhstan, KG Kyrgyzstan, TJ Tajikistan, TM Turkmenistan, UZ Uzbekistan",
    "Eastern Asia": (
        "CN China, HK Hong Kong, MO Macao, JP Japan, KR South Korea, KR Republic of Korea, KR Korea, KP North Korea, MN Mongolia,"
        "TW Taiwan"
    ),
    "South-eastern Asia": (
        "BN Brunei, KH Cambodia, ID Indonesia, LA Laos, MY Malaysia, MM Myanmar, PH Philippines, SG Singapore, TH Thailand,"
        "TL Timor-Leste, VN Vietnam, VN Viet Nam"
    ),
    "Southern Asia": (
        "AF Afghanistan, BD Bangladesh, BT Bhutan, IN India, IR Iran, MV Maldives, NP Nepal, PK Pakistan, LK Sri Lanka"
    ),
    "Western Asia": (
        "AM Armenia, AZ Azerbaijan, BH Bahrain, CY Cyprus, GE Georgia, IQ Iraq, IL Israel, JO Jordan, KW Kuwait, LB Lebanon,"
        "OM Oman, PS Palestine, QA Qatar, SA Saudi Arabia, SY Syria, TR Turkey, TR Türkiye, AE United Arab Emirates, YE Yemen"
    ),
    "Eastern Europe": (
        "BY Belarus, BG Bulgaria, CZ Czechia, CZ Czech Republic, HU Hungary, PL Poland, MD Moldova, RO Romania, RU Russia,"
        "RU Russian Federation, SK Slovakia, UA Ukraine"
    ),
    "Northern Europe": (
        "DK Denmark, EE Estonia, FI Finland, FO Faroe Islands, IS Iceland, IE Ireland, LV Latvia, LT Lithuania, NO Norway,"
        "SE Sweden, GB United Kingdom, GB UK, GB Great Britain, GB England, GB Scotland, GB Wales, GB Northern Ireland"
    ),
    "Southern Europe": (
        "AL Albania, AD Andorra, BA Bosnia and Herzegovina, HR Croatia, GI Gibraltar, GR Greece, VA Holy See, IT Italy, XK Kosovo,"
        "MT Malta, ME Montenegro, MK North Macedonia, PT Portugal, SM San Marino, RS Serbia, SI Slovenia, ES Spain"
    ),
    "Western Europe": (
        "AT Austria, BE Belgium, FR France, DE Germany, LI Liechtenstein, LU Luxembourg, MC Monaco, NL Netherlands,"
        "NL The Netherlands, CH Switzerland"
    ),
    "Oceania": (
        "AU Australia, FJ Fiji, KI Kiribati, MH Marshall Islands, FM Micronesia, NR Nauru, NZ New Zealand, PW Palau,"
        "PG Papua New Guinea, WS Samoa, SB Solomon Islands, TO Tonga, TV Tuvalu, VU Vanuatu"
    ),
}
_OF_COUNTRIES = ("country", "nation", "residence", "land", "国", "국")
_CONTINENTS = {
    "Africa": ("Northern Africa", "Sub-Saharan Africa"),
    "Americas": ("Northern America", "Latin America and the Caribbean"),
    "Asia": ("Central Asia", "Eastern Asia", "South-eastern Asia", "Southern Asia", "Western Asia"),
    "Europe": ("Eastern Europe", "Northern Europe", "Southern Europe", "Western Europe"),
    "Oceania": ("Oceania",),
}


@cache
def _by_name() -> dict[str, tuple[str, str]]:
    names: dict[str, tuple[str, str]] = {}
    for region, countries in _REGIONS.items():
        for entry in countries.split(","):
            code, _, name = entry.strip().partition(" ")
            names |= {code.casefold(): (region, code), name.casefold(): (region, code)}
    return names


def are_countries(column: str) -> bool:
    """Whether a column says by its name that it holds countries."""
    return any(word in column.casefold() for word in _OF_COUNTRIES)


def region_of(country: str) -> str | None:
    """The region of a country, by its name or two-letter code; None where it is not known."""
    return _by_name().get(country.strip().casefold(), (None, None))[0]


def code_of(country: str) -> str | None:
    """The two-letter code of a country, by its name or code; None where it is not known."""
    return _by_name().get(country.strip().casefold(), (None, None))[1]


def continent_of(country: str) -> str | None:
    """The continent of a country, or of a region."""
    region = region_of(country) or country
    return next((name for name, regions in _CONTINENTS.items() if region in regions), None)
