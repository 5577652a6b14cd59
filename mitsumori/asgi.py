"""The ASGI application, for those who prefer such a server."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mitsumori.settings")

application = get_asgi_application()
