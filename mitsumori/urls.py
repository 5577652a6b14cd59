"""Where each part of the product lives."""

from django.contrib import admin
from django.urls import include, path
from django.views.i18n import set_language

from mitsumori.api import api

urlpatterns = [
    path("", include("planner.urls")),
    path("catalog/", include("catalog.urls")),
    path("plans/", include("reports.urls")),
    path("s/", include("reports.share_urls")),
    path("api/v1/", api.urls),
    path("accounts/", include("accounts.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("language/", set_language, name="set_language"),
    path("admin/", admin.site.urls),
]
