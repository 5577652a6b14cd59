"""Addresses of the catalog."""

from django.urls import URLPattern, URLResolver, path

from catalog import views

app_name = "catalog"

urlpatterns: list[URLPattern | URLResolver] = [
    path("accelerators/", views.accelerators, name="accelerators"),
    path("accelerators/<str:name>/", views.accelerator, name="accelerator"),
    path("offers/", views.offers, name="offers"),
    path("offers/<int:pk>/", views.offer, name="offer"),
    path("sources/", views.sources, name="sources"),
    path("sources/<slug:name>/", views.source, name="source"),
    path("sources/<slug:name>/refresh/", views.refresh, name="refresh"),
    path("runs/<int:pk>/decide/", views.decide, name="decide"),
]
