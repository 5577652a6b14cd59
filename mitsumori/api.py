"""The JSON API: one NinjaAPI; each app brings its router."""

from ninja import NinjaAPI

from catalog.api import router as catalog_router
from planner.api import router as planner_router
from reports.api import router as reports_router

api = NinjaAPI(title="Mitsumori", version="1", docs_url=None, urls_namespace="api")
api.add_router("", catalog_router)
api.add_router("", planner_router)
api.add_router("", reports_router)
