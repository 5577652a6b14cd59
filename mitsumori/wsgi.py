"""The WSGI application that gunicorn serves."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mitsumori.settings")

application = get_wsgi_application()
# Every page's modules: read before the workers are forked, once for all of them, not by the first reader of each.
get_resolver().url_patterns  # noqa: B018
