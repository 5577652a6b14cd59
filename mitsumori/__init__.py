"""Wiring of the project: settings, addresses, servers, jobs."""

from mitsumori.celery import app as celery_app

__version__ = "0.1.0"
__all__ = ["celery_app"]
