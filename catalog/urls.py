"""Addresses of the catalog."""

from django.urls import URLPattern, URLResolver, path

from catalog import provider_views, quote_views, upload_views, views

app_name = "catalog"

urlpatterns: list[URLPattern | URLResolver] = [
    path("accelerators/", views.accelerators, name="accelerators"),
    path("accelerators/compare/", views.side_by_side, name="side_by_side"),
    path("accelerators/<str:name>/", views.accelerator, name="accelerator"),
    path("offers/", views.offers, name="offers"),
    path("offers/<int:pk>/", views.offer, name="offer"),
    path("providers/", provider_views.providers, name="providers"),
    path("providers/<slug:slug>/", provider_views.provider, name="provider"),
    path("price-files/", upload_views.price_files, name="price_file_upload"),
    path("price-files/<int:pk>/", upload_views.price_file, name="price_file"),
    path("price-files/<int:pk>/decide/", upload_views.decide_price_file, name="decide_price_file"),
    path("quotes/", quote_views.quotes, name="quotes"),
    path("quotes/new/", quote_views.new_quote, name="new_quote"),
    path("quotes/upload/", quote_views.upload_quotes, name="upload_quotes"),
    path("quotes/upload/<int:pk>/", quote_views.map_quotes, name="map_quotes"),
    path("quotes/<int:pk>/", quote_views.quote, name="quote"),
    path("quotes/<int:pk>/withdraw/", quote_views.withdraw_quote, name="withdraw_quote"),
    path("review/", views.review, name="review"),
    path("sources/", views.sources, name="sources"),
    path("sources/<slug:name>/", views.source, name="source"),
    path("sources/<slug:name>/refresh/", views.refresh, name="refresh"),
    path("runs/<int:pk>/decide/", views.decide, name="decide"),
    path("kept-back/<int:pk>/take/", views.take_kept_back, name="take_kept_back"),
]
