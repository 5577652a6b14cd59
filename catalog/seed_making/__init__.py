"""Makes the shipped seeds from research tables; used by `manage.py make_catalog_seeds` only."""
