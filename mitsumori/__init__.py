"""Wiring of the project: settings, addresses, servers, jobs."""

from mitsumori.celery import app as celery_app

__all__ = ["celery_app"]
