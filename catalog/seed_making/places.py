"""Names of places in Japanese, and of regions that the table names in no language.

A place is written as Japanese atlases do; a region without a town gets its part of the country, as the
providers' own Japanese pages name it.
"""

from __future__ import annotations

from collections.abc import Mapping

from catalog.seed_making.tables import Row

CITIES_JA = {
    "Abu Dhabi": "アブダビ", "Berlin": "ベルリン", "Beijing": "北京", "Boydton": "ボイドトン",
    "Busan": "釜山", "Canberra": "キャンベラ", "Cape Town": "ケープタウン", "Cardiff": "カーディフ",
    "Cheyenne": "シャイアン", "Chicago": "シカゴ", "Council Bluffs": "カウンシルブラフス",
    "Doha": "ドーハ", "Dubai": "ドバイ", "Dublin": "ダブリン", "Frankfurt": "フランクフルト",
    "Gävle and Sandviken": "イェヴレとサンドビーケン", "Geneva": "ジュネーブ", "Jakarta": "ジャカルタ",
    "Jamnagar": "ジャムナガル", "Johannesburg": "ヨハネスブルグ", "Kansas City": "カンザスシティ",
    "Kuala Lumpur": "クアラルンプール", "London": "ロンドン", "Madrid": "マドリード",
    "Marseille": "マルセイユ", "Melbourne": "メルボルン", "Milan": "ミラノ", "Mumbai": "ムンバイ",
    "Nagpur": "ナーグプル", "Oslo": "オスロ", "Auckland": "オークランド", "Paris": "パリ",
    "Phoenix": "フェニックス", "Quebec City": "ケベックシティ", "Rio de Janeiro": "リオデジャネイロ",
    "San Antonio": "サンアントニオ", "Santiago": "サンティアゴ", "Seoul": "ソウル",
    "Singapore": "シンガポール", "Sydney": "シドニー", "Toronto": "トロント", "Vienna": "ウィーン",
    "Warsaw": "ワルシャワ", "Zürich": "チューリッヒ", "Virginia": "バージニア",
    "Washington DC": "ワシントンD.C.", "Illinois": "イリノイ", "Texas": "テキサス",
    "North Texas": "テキサス北部", "Central Texas": "テキサス中部", "California": "カリフォルニア",
    "Arizona": "アリゾナ", "Utah": "ユタ",
}  # fmt: skip

REGIONS_JA = {
    ("aws", "us-east-1"): "バージニア北部",
    ("aws", "us-gov-east-1"): "GovCloud（米国東部）",
    ("aws", "us-gov-west-1"): "GovCloud（米国西部）",
    ("azure", "brazilsouth"): "ブラジル南部",
    ("azure", "centralindia"): "インド中部",
    ("azure", "centralus"): "米国中部",
    ("azure", "eastasia"): "東アジア（香港）",
    ("azure", "israelcentral"): "イスラエル中部",
    ("azure", "mexicocentral"): "メキシコ中部",
    ("azure", "norwaywest"): "ノルウェー西部",
    ("azure", "southindia"): "インド南部",
    ("azure", "swedensouth"): "スウェーデン南部",
    ("azure", "westeurope"): "西ヨーロッパ（オランダ）",
    ("azure", "westindia"): "インド西部",
    ("azure", "westus"): "米国西部",
    ("azure", "westus2"): "米国西部 2",
    ("hyperstack", "CANADA-1"): "カナダ",
    ("hyperstack", "NORWAY-1"): "ノルウェー",
    ("hyperstack", "US-1"): "米国",
    ("lambda", "asia-south-1"): "インド",
    ("lambda", "australia-east-1"): "オーストラリア東部",
    ("lambda", "europe-central-1"): "ドイツ",
    ("lambda", "europe-south-1"): "南ヨーロッパ",
    ("lambda", "me-west-1"): "イスラエル",
    ("nebius", "eu-north1"): "フィンランド",
    ("verda", "FIN-01"): "フィンランド",
    ("verda", "FIN-02"): "フィンランド",
    ("verda", "FIN-03"): "フィンランド",
}

REGIONS_EN = {
    ("aws", "us-gov-east-1"): "GovCloud (US-East)",
    ("aws", "us-gov-west-1"): "GovCloud (US-West)",
    ("azure", "swedensouth"): "Sweden South (SE)",
    ("hyperstack", "CANADA-1"): "Canada (CA)",
    ("hyperstack", "NORWAY-1"): "Norway (NO)",
    ("hyperstack", "US-1"): "United States (US)",
    ("lambda", "asia-south-1"): "India (IN)",
    ("lambda", "australia-east-1"): "Australia East (AU)",
    ("lambda", "europe-central-1"): "Germany (DE)",
    ("lambda", "europe-south-1"): "Europe South",
    ("lambda", "me-west-1"): "Israel (IL)",
    ("nebius", "eu-north1"): "Finland (FI)",
    ("verda", "FIN-01"): "Finland (FI)",
    ("verda", "FIN-02"): "Finland (FI)",
    ("verda", "FIN-03"): "Finland (FI)",
}
"""From the region's own code and country, where the table has neither town nor name."""

WRONG = {
    ("aws", "us-east-1"): {"name": "Northern Virginia (US)"},
    ("azure", "brazilsoutheast"): {"name": "Brazil Southeast (BR)", "country": "BR"},
    ("azure", "mexicocentral"): {"name": "Mexico Central (MX)", "country": "MX"},
}
"""What the table of regions has wrong: a misspelt state, and two countries that the region's own name contradicts."""


def named(row: Row) -> Mapping[str, str]:
    """What is known better of a region than its row says; names that the row has stand."""
    key = row["provider_id"], row["region"]
    japanese = row["name_ja"] or REGIONS_JA.get(key, "") or CITIES_JA.get(row["city"], "")
    english = row["name"] or REGIONS_EN.get(key, "") or row["city"]
    return {"name_ja": japanese, "name": english} | WRONG.get(key, {})
