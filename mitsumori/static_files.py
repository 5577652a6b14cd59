"""Static files under names that carry their content's hash, so that browsers may keep them for ever."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    def stored_name(self, name: str) -> str:
        """The hashed name; a file that was not collected keeps its plain one instead of breaking the page."""
        try:
            return str(super().stored_name(name))
        except ValueError:
            return name
