from django.urls import URLPattern, URLResolver, path, register_converter

from reports import account_views, export_views, share_views, views


class SlugConverter:
    """The address of a plan."""

    regex = "[a-z0-9]{12}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(SlugConverter, "plan")

app_name = "reports"

urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/delete/", account_views.delete_account, name="delete_account"),
    path("plans/", views.plans, name="plans"),
    path("plans/new/", views.save, name="save"),
    path("plans/draft/export.<str:fmt>", export_views.draft_export, name="draft_export"),
    path("plans/<plan:slug>/", views.plan, name="plan"),
    path("plans/<plan:slug>/edit/", views.edit, name="edit"),
    path("plans/<plan:slug>/add/", views.add, name="add"),
    path("plans/<plan:slug>/history/", views.history, name="history"),
    path("plans/<plan:slug>/archive/", views.archive, name="archive"),
    path("plans/<plan:slug>/restore/", views.restore, name="restore"),
    path("plans/<plan:slug>/export.<str:fmt>", export_views.newest_export, name="newest_export"),
    path("plans/<plan:slug>/v/<int:number>/", views.version, name="version"),
    path("plans/<plan:slug>/v/<int:number>/export.<str:fmt>", export_views.export, name="export"),
    path("plans/<plan:slug>/links/", views.links, name="share"),
    path("plans/<plan:slug>/links/<int:pk>/revoke/", views.revoke, name="revoke"),
    path("s/<str:token>/", share_views.shared, name="shared"),
    path("s/<str:token>/export.<str:fmt>", export_views.shared_export, name="shared_export"),
]
