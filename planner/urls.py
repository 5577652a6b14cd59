from django.urls import URLPattern, URLResolver, path, register_converter

from planner import (
    compare_views,
    evidence_views,
    explore_views,
    hosting_page,
    inverse_views,
    layout_views,
    methods_page,
    model_views,
    support_page,
    views,
)


class OfferConverter:
    """The number of an offer; below zero for a private one."""

    regex = "-?[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(OfferConverter, "offer")

app_name = "planner"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.start, name="start"),
    path("workbench/", views.workbench, name="workbench"),
    path("workbench/candidate/<offer:offer_id>/", views.candidate, name="candidate"),
    path("workbench/candidate/<offer:offer_id>/layouts/", layout_views.other_layouts, name="layouts"),
    path("workbench/compare/", compare_views.side_by_side_page, name="side_by_side"),
    path("workbench/variants/", compare_views.variants, name="variants"),
    path("workbench/variants.csv", compare_views.variants_csv, name="variants_csv"),
    path("workbench/chart/", explore_views.chart, name="chart"),
    path("workbench/chart.csv", explore_views.chart_csv, name="chart_csv"),
    path("workbench/explore/<slug:subject>/", explore_views.explore, name="explore"),
    path("workbench/explore/<slug:subject>.csv", explore_views.explore_csv, name="explore_csv"),
    path("workbench/models/", views.models, name="models"),
    path("workbench/model/", model_views.model, name="model"),
    path("accelerators/<str:name>/support/", support_page.accelerator_support, name="accelerator_support"),
    path("hosting/", hosting_page.hosting_models, name="hosting"),
    path("reach/", inverse_views.inverse, name="inverse"),
    path("evidence/", evidence_views.page, name="evidence"),
    path("methods/<slug:subject>/", methods_page.methods, name="methods"),
    path("components/", views.components, name="components"),
]
