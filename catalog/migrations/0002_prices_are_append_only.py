"""Let the database itself refuse to rewrite a price."""

from django.db import migrations

FORBIDDEN = "a price is never changed; add a new observation"


def forbid(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(
            "CREATE TRIGGER catalog_price_append_only BEFORE UPDATE ON catalog_price "
            f"BEGIN SELECT RAISE(ABORT, '{FORBIDDEN}'); END"
        )
    elif schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "CREATE FUNCTION catalog_price_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{FORBIDDEN}' USING ERRCODE = 'check_violation'; END $$"
        )
        schema_editor.execute(
            "CREATE TRIGGER catalog_price_append_only BEFORE UPDATE ON catalog_price "
            "FOR EACH ROW EXECUTE FUNCTION catalog_price_append_only()"
        )


def allow(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS catalog_price_append_only")
    elif schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER IF EXISTS catalog_price_append_only ON catalog_price")
        schema_editor.execute("DROP FUNCTION IF EXISTS catalog_price_append_only()")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]
    operations = [migrations.RunPython(forbid, allow)]
