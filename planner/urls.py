from django.urls import URLPattern, URLResolver, path

from planner import views

app_name = "planner"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.start, name="start"),
    path("workbench/", views.workbench, name="workbench"),
    path("components/", views.components, name="components"),
]
