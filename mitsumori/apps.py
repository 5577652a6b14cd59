from django.apps import AppConfig


class MitsumoriConfig(AppConfig):
    name = "mitsumori"
