"""Where each part of the product lives."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from accounts import languages
from accounts.views import admin_login
from mitsumori import views
from mitsumori.api import api

# One way in and out for everybody: the admin has no pages of its own for that.
admin.site.login = admin_login  # type: ignore[method-assign]

urlpatterns = [
    path("", include("planner.urls")),
    path("catalog/", include("catalog.urls")),
    path("", include("reports.urls")),
    path("accounts/", include("accounts.urls")),
    path("api/v1/", api.urls),
    path("language/", languages.choose, name="set_language"),
    path("healthz", views.healthz, name="healthz"),
    path("metrics", views.metrics, name="metrics"),
    path("admin/logout/", RedirectView.as_view(pattern_name="account_logout")),
    path("admin/", admin.site.urls),
]

handler400 = "mitsumori.views.bad_request"
handler403 = "mitsumori.views.permission_denied"
handler404 = "mitsumori.views.page_not_found"
handler429 = "mitsumori.views.too_many_requests"  # allauth looks for it
handler500 = "mitsumori.views.server_error"
