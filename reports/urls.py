from django.urls import URLPattern, URLResolver, path, register_converter

from reports import (
    account_views,
    checklist_views,
    export_views,
    import_views,
    note_views,
    price_views,
    rfq_views,
    search_views,
    share_views,
    version_views,
    views,
)


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
    path("search/", search_views.results, name="search"),
    path("plans/", views.plans, name="plans"),
    path("plans/new/", views.save, name="save"),
    path("plans/draft/export.<str:fmt>", export_views.draft_export, name="draft_export"),
    path("plans/<plan:slug>/", views.plan, name="plan"),
    path("plans/<plan:slug>/edit/", views.edit, name="edit"),
    path("plans/<plan:slug>/add/", views.add, name="add"),
    path("plans/<plan:slug>/history/", views.history, name="history"),
    path("plans/<plan:slug>/compare/", version_views.compare, name="compare"),
    path("plans/<plan:slug>/reprice/", version_views.reprice, name="reprice"),
    path("plans/<plan:slug>/checklist/", checklist_views.checklist, name="checklist"),
    path("plans/<plan:slug>/workloads/", version_views.workloads, name="workloads"),
    path("plans/<plan:slug>/v/<int:number>/request/", rfq_views.request_page, name="request"),
    path("plans/<plan:slug>/v/<int:number>/request/answers.csv", rfq_views.answer_sheet, name="answer_sheet"),
    path("plans/<plan:slug>/v/<int:number>/copy/", version_views.copy, name="copy"),
    path("plans/<plan:slug>/discussion/", note_views.discussion, name="discussion"),
    path("plans/<plan:slug>/tags/", note_views.tag, name="tag"),
    path("plans/<plan:slug>/comments/", note_views.comment, name="comment"),
    path("plans/<plan:slug>/comments/<int:pk>/withdraw/", note_views.withdraw, name="withdraw"),
    path("plans/<plan:slug>/decisions/", note_views.decide, name="decide"),
    path("plans/<plan:slug>/prices/", price_views.alerts, name="prices"),
    path("plans/<plan:slug>/prices/mail/", price_views.follow, name="follow_prices"),
    path("plans/<plan:slug>/archive/", views.archive, name="archive"),
    path("plans/<plan:slug>/restore/", views.restore, name="restore"),
    path("plans/<plan:slug>/export.<str:fmt>", export_views.newest_export, name="newest_export"),
    path("plans/<plan:slug>/v/<int:number>/", views.version, name="version"),
    path("plans/<plan:slug>/v/<int:number>/export.<str:fmt>", export_views.export, name="export"),
    path("plans/<plan:slug>/links/", views.links, name="share"),
    path("plans/<plan:slug>/links/<int:pk>/revoke/", views.revoke, name="revoke"),
    path("plans/import/", import_views.import_plan, name="import"),
    path("plans/fork/", share_views.fork, name="fork"),
    path("s/<str:token>/unlock/", share_views.unlock, name="unlock"),
    path("s/<str:token>/", share_views.shared, name="shared"),
    path("s/<str:token>/export.<str:fmt>", export_views.shared_export, name="shared_export"),
]
