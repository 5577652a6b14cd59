"""Words for where something stands: countries and parts of the world, in both languages."""

from __future__ import annotations

PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "Europe": (
        ("Europe", "ヨーロッパ", "欧州"),
        "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK MT"
        " NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
    ),
    "European Union": (
        ("European Union", "EU", "欧州連合"),
        "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK",
    ),
    "North America": (("North America", "北米", "北アメリカ"), "BM CA GL MX PM US"),
    "South America": (
        ("South America", "南米", "南アメリカ"),
        "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
    ),
    "Asia": (
        ("Asia", "アジア"),
        "AE AF AM AZ BD BH BN BT CN CY GE HK ID IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM PH PK"
        " PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE",
    ),
    "Middle East": (
        ("Middle East", "中東"),
        "AE BH IL IQ IR JO KW LB OM PS QA SA SY TR YE",
    ),
    "Oceania": (("Oceania", "オセアニア"), "AU FJ NC NZ PF PG"),
    "Africa": (
        ("Africa", "アフリカ"),
        "AO BF BI BJ BW CD CG CI CM CV DJ DZ EG ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA NE NG RE"
        " RW SC SD SL SN SO SS ST SZ TD TG TN TZ UG ZA ZM ZW",
    ),
}  # fmt: skip
"""Names of a part of the world, and its countries by ISO 3166-1: parts as the United Nations' M49 groups them (North
America with Mexico, the Middle East beside Asia), members of the European Union as of 2020."""

COUNTRIES: dict[str, tuple[str, ...]] = {
    "AE": ("United Arab Emirates", "アラブ首長国連邦"),
    "AT": ("Austria", "オーストリア"),
    "AU": ("Australia", "オーストラリア"),
    "BE": ("Belgium", "ベルギー"),
    "BR": ("Brazil", "ブラジル"),
    "CA": ("Canada", "カナダ"),
    "CH": ("Switzerland", "スイス"),
    "CL": ("Chile", "チリ"),
    "CN": ("China", "中国"),
    "CZ": ("Czechia", "チェコ"),
    "DE": ("Germany", "ドイツ"),
    "DK": ("Denmark", "デンマーク"),
    "ES": ("Spain", "スペイン"),
    "FI": ("Finland", "フィンランド"),
    "FR": ("France", "フランス"),
    "GB": ("United Kingdom", "UK", "イギリス", "英国"),
    "HK": ("Hong Kong", "香港"),
    "ID": ("Indonesia", "インドネシア"),
    "IE": ("Ireland", "アイルランド"),
    "IL": ("Israel", "イスラエル"),
    "IN": ("India", "インド"),
    "IS": ("Iceland", "アイスランド"),
    "IT": ("Italy", "イタリア"),
    "JP": ("Japan", "日本"),
    "KR": ("South Korea", "Korea", "韓国"),
    "MX": ("Mexico", "メキシコ"),
    "MY": ("Malaysia", "マレーシア"),
    "NL": ("Netherlands", "オランダ"),
    "NO": ("Norway", "ノルウェー"),
    "NZ": ("New Zealand", "ニュージーランド"),
    "PL": ("Poland", "ポーランド"),
    "PT": ("Portugal", "ポルトガル"),
    "QA": ("Qatar", "カタール"),
    "SE": ("Sweden", "スウェーデン"),
    "SG": ("Singapore", "シンガポール"),
    "TH": ("Thailand", "タイ"),
    "TW": ("Taiwan", "台湾"),
    "US": ("United States", "USA", "アメリカ", "米国"),
    "ZA": ("South Africa", "南アフリカ"),
}


def words_for(country: str) -> tuple[str, ...]:
    """What a filter may call a country: its code, its names, the parts of the world it belongs to.

    >>> words_for("DE")
    ('DE', 'Germany', 'ドイツ', 'Europe', 'ヨーロッパ', '欧州', 'European Union', 'EU', '欧州連合')
    >>> words_for("")
    ()
    """
    if not country:
        return ()
    parts = [name for names, members in PARTS.values() if country in members.split() for name in names]
    return (country, *COUNTRIES.get(country, ()), *parts)
