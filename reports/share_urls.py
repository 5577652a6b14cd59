from django.urls import URLPattern, URLResolver

app_name = "share"

urlpatterns: list[URLPattern | URLResolver] = []
