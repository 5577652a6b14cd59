"""Static files under names that carry their content's hash, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    # A file that was not collected is served under its plain name instead of breaking the page.
    manifest_strict = False
