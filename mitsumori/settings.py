"""All settings, read once from the environment.

Without any variable this runs a development machine unprepared: SQLite and a file-system broker below the
data folder, and a secret made once and kept there. `MITSUMORI_MODE=production` refuses to start half set up.
Every variable may carry the prefix `MITSUMORI_`; those that platforms set (`PORT`, `DATABASE_URL` …) may not.
"""

from __future__ import annotations

import os
import secrets
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from pydantic import AliasChoices, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from mitsumori.logs import logging_settings

BASE_DIR = Path(__file__).resolve().parent.parent


def _named(name: str) -> Any:
    return AliasChoices(f"MITSUMORI_{name}", name)


class Environment(BaseSettings):
    """The variables that the product reads; source addresses (`AZURE_BASE_URL` …) are read further below."""

    model_config = SettingsConfigDict(env_prefix="MITSUMORI_", extra="ignore", env_ignore_empty=True)

    mode: Literal["development", "production", "test"] = "development"
    debug: bool = False
    data_dir: Path = BASE_DIR / "var"
    measurements: Path = BASE_DIR.parent / "shared"
    secret_key: str = Field("", validation_alias=_named("SECRET_KEY"))
    allowed_hosts: str = Field("", validation_alias=_named("ALLOWED_HOSTS"))
    csrf_trusted_origins: str = Field("", validation_alias=_named("CSRF_TRUSTED_ORIGINS"))
    https: bool | None = Field(None, validation_alias=_named("HTTPS"))
    trusted_proxy_count: int = Field(0, ge=0, le=10)
    address: str = Field("", max_length=200, pattern=r"^(https?://[^\s/]+)?/?$")
    host: str = Field("127.0.0.1", validation_alias=_named("HOST"))
    port: int = Field(8000, ge=1, le=65535, validation_alias=_named("PORT"))
    database_url: str = Field("", validation_alias=_named("DATABASE_URL"))
    redis_url: str = Field(
        "", validation_alias=AliasChoices("MITSUMORI_REDIS_URL", "REDIS_URL", "CELERY_BROKER_URL")
    )
    email_url: str = Field("", validation_alias=_named("EMAIL_URL"))
    email_from: str = Field("mitsumori@localhost", validation_alias=_named("EMAIL_FROM"))
    metrics_token: str = Field("", validation_alias=_named("METRICS_TOKEN"))
    sign_up_open: bool = True
    signup: Literal["open", "closed"] = "open"
    single_user: bool = False
    hub_enabled: bool = True
    hub_endpoint: str = Field(
        "https://huggingface.co", validation_alias=AliasChoices("MITSUMORI_HUB_ENDPOINT", "HF_ENDPOINT")
    )
    log_format: Literal["console", "json"] | None = None
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] | None = None


try:
    ENVIRONMENT = Environment()
except ValidationError as error:
    lines = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    raise ImproperlyConfigured(f"The environment does not make sense: {lines}") from None

MODE = ENVIRONMENT.mode
PRODUCTION = MODE == "production"
TESTING = MODE == "test"
DEBUG = ENVIRONMENT.debug and not PRODUCTION
HTTPS = PRODUCTION if ENVIRONMENT.https is None else ENVIRONMENT.https


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


# --- Files -------------------------------------------------------------------------------------------------
DATA_DIR = ENVIRONMENT.data_dir.resolve()
DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
MEASUREMENTS_DIR = ENVIRONMENT.measurements


def _kept_secret(path: Path) -> str:
    """The secret of a development machine, made at the first start and readable by its owner only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50))
    text = path.read_text(encoding="ascii").strip()
    if not text:
        raise ImproperlyConfigured(f"{path} is empty: remove it, and a new secret is made.")
    return text


# --- What production must say ------------------------------------------------------------------------------
if PRODUCTION:
    missing = [
        name
        for name, value in (
            ("SECRET_KEY", ENVIRONMENT.secret_key),
            ("ALLOWED_HOSTS", ENVIRONMENT.allowed_hosts),
        )
        if not value
    ]
    if missing:
        raise ImproperlyConfigured(
            f"Production needs {' and '.join(missing)} in the environment (see README, “Production”)."
        )
    if len(ENVIRONMENT.secret_key) < 40:
        raise ImproperlyConfigured("SECRET_KEY is too short: production needs at least 40 random characters.")

SECRET_KEY = ENVIRONMENT.secret_key or _kept_secret(DATA_DIR / "secret_key")
ALLOWED_HOSTS = _words(ENVIRONMENT.allowed_hosts) or [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "testserver",
    socket.gethostname().lower(),
    *([ENVIRONMENT.host] if ENVIRONMENT.host not in {"0.0.0.0", "::"} else []),  # noqa: S104  # nosec B104
]
# What papers, tables and mails give as the address of this installation (`mitsumori/addresses.py`).
PUBLIC_ADDRESS = ENVIRONMENT.address.rstrip("/") or (
    f"{'https' if HTTPS else 'http'}://{ALLOWED_HOSTS[0].lstrip('.*')}" if PRODUCTION else ""
)
CSRF_TRUSTED_ORIGINS = _words(ENVIRONMENT.csrf_trusted_origins)

# --- The application ---------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "accounts",
    "catalog",
    "planner",
    "reports",
    "mitsumori",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "axes",
    "csp",
    "django_htmx",
    "django_celery_beat",
    "django_celery_results",
    "django_prometheus",
    "django_structlog",
]
MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    # Outside everything that can answer, so that errors raised below carry the same headers.
    "mitsumori.middleware.ResponseHeaders",
    "mitsumori.compression.PackedPages",
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "mitsumori.middleware.EarlyRejection",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "accounts.single_user.SingleUser",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
if TESTING:  # a page that asks the database once per row fails its test
    INSTALLED_APPS.append("zeal")
    MIDDLEWARE.append("zeal.middleware.zeal_middleware")
    ZEAL_RAISE = True
    ZEAL_SHOW_ALL_CALLERS = True
    ZEAL_ALLOWLIST = [{"model": "sessions.Session"}]  # a log-in looks for a free key twice
ROOT_URLCONF = "mitsumori.urls"
WSGI_APPLICATION = "mitsumori.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "mitsumori.context.product",
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Database ----------------------------------------------------------------------------------------------


def _database(url: str) -> dict[str, Any]:
    if not url:
        return _sqlite(DATA_DIR / "mitsumori.sqlite3")
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(Path(unquote(parts.path)) if parts.path else DATA_DIR / "mitsumori.sqlite3")
    if parts.scheme in {"postgres", "postgresql"}:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.lstrip("/")) or "mitsumori",
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": str(parts.port or ""),
            "OPTIONS": {"connect_timeout": 3, **dict(parse_qsl(parts.query))},
            "CONN_MAX_AGE": 600,
            "CONN_HEALTH_CHECKS": True,
        }
    raise ImproperlyConfigured("DATABASE_URL must begin with postgresql:// or sqlite://.")


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 600,
        # Tests use a file too: a database in memory does not queue writers, so races would look different.
        "TEST": {"NAME": str(path.with_name("test.sqlite3"))},
        "OPTIONS": {
            "timeout": 20,
            # Writers queue at BEGIN instead of failing half way with "database is locked".
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;"
            "PRAGMA cache_size=-32000;PRAGMA mmap_size=268435456;",
        },
    }


DATABASES = {"default": _database(ENVIRONMENT.database_url)}

# --- Jobs --------------------------------------------------------------------------------------------------
# A request must never hang on the broker: publishing is tried once, with one-second sockets, without results.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_TIME_LIMIT = 900
CELERY_TASK_SOFT_TIME_LIMIT = 840
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_RESULT_BACKEND = "django-db"
CELERY_RESULT_EXTENDED = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
# Beside the schedules that the database holds: what must run wherever a beat does.
CELERY_BEAT_SCHEDULE = {
    "look at prices of plans": {"task": "reports.tasks.look_at_prices", "schedule": timedelta(minutes=15)}
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CONNECTION_TIMEOUT = 1.0
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
BROKER_DIR = DATA_DIR / "broker"
if ENVIRONMENT.redis_url:
    CELERY_BROKER_URL = ENVIRONMENT.redis_url
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "socket_timeout": 1.0,
        "socket_connect_timeout": 1.0,
        "retry_on_timeout": False,
        "max_retries": 0,
        "visibility_timeout": 3600,  # longer than any task's time limit
    }
else:
    CELERY_BROKER_URL = "filesystem://localhost//"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR / "queue"),
        "data_folder_out": str(BROKER_DIR / "queue"),
        "control_folder": str(BROKER_DIR / "control"),
        "store_processed": False,
        "polling_interval": 0.1,
    }
    for folder in ("queue", "control"):
        (BROKER_DIR / folder).mkdir(parents=True, exist_ok=True)
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# --- People ------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", **options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {"OPTIONS": {"user_attributes": ("email", "name")}}),
        ("MinimumLengthValidator", {"OPTIONS": {"min_length": 10}}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
SINGLE_USER = ENVIRONMENT.single_user
if SINGLE_USER and PRODUCTION:
    raise ImproperlyConfigured(
        "MITSUMORI_SINGLE_USER lets everybody in without signing in: it is for a machine of one's own, not for "
        "production."
    )
SIGN_UP_OPEN = ENVIRONMENT.sign_up_open and ENVIRONMENT.signup == "open" and not SINGLE_USER
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/plans/"
LOGOUT_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_FORMS = {
    "login": "accounts.forms.LoginForm",
    "signup": "accounts.forms.SignupForm",
    "change_password": "accounts.forms.ChangePasswordForm",
    "reset_password": "accounts.forms.ResetPasswordForm",
    "reset_password_from_key": "accounts.forms.ResetPasswordKeyForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
# Failed log-ins are counted by axes, in the database, so that all server processes count together.
ACCOUNT_RATE_LIMITS: dict[str, Any] = {"login": False, "login_failed": False}
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = ["ip_address"]  # never the name: a stranger cannot lock out its owner
AXES_RESET_ON_SUCCESS = False  # else an attacker clears the count with a log-in of his own
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_NEVER_LOCKOUT_GET = True
AXES_CLIENT_IP_CALLABLE = "accounts.access.client_address"
AXES_USERNAME_CALLABLE = "accounts.access.attempted_email"
AXES_LOCKOUT_CALLABLE = "accounts.views.locked_out"
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["login", "email", "username", "password"]
TRUSTED_PROXY_COUNT = ENVIRONMENT.trusted_proxy_count
if TESTING:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# --- Security ----------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_HSTS_SECONDS = 365 * 24 * 3600  # sent over https only
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^metrics$"]  # probes come from inside, without TLS
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_NAME = "__Host-sessionid" if HTTPS else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if HTTPS else "csrftoken"
LANGUAGE_COOKIE_NAME = "__Host-language" if HTTPS else "language"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
CSRF_FAILURE_VIEW = "mitsumori.views.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500
DATA_UPLOAD_MAX_NUMBER_FILES = 4
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_HANDLERS = ["mitsumori.uploads.BoundedUpload"]
REQUEST_BODY_MAX_BYTES = 2 * 1024 * 1024
REQUEST_FILES_MAX_BYTES = 256 * 1024 * 1024  # read away, not kept, so that the form comes back
REQUEST_TARGET_MAX_BYTES = 8 * 1024
REQUEST_HEADERS_MAX_BYTES = 16 * 1024

# --- Language and time -------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ja", "日本語")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# --- Static files ------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or TESTING
        else "mitsumori.static_files.HashedStaticFiles"
    },
}
MEDIA_ROOT = DATA_DIR / "files"

# --- Mail --------------------------------------------------------------------------------------------------
# EMAIL_URL is smtp://user:password@host:port or smtps://…; without it messages are printed to the log.
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
EMAIL_TIMEOUT = 5
MAIL_IS_SENT = TESTING or bool(ENVIRONMENT.email_url)
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENVIRONMENT.email_from
if ENVIRONMENT.email_url:
    _mail = urlsplit(ENVIRONMENT.email_url)
    if _mail.scheme not in {"smtp", "smtps"}:
        raise ImproperlyConfigured("EMAIL_URL must begin with smtp:// or smtps://.")
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    EMAIL_HOST = _mail.hostname or "localhost"
    EMAIL_PORT = _mail.port or (465 if _mail.scheme == "smtps" else 587)
    EMAIL_HOST_USER = unquote(_mail.username or "")
    EMAIL_HOST_PASSWORD = unquote(_mail.password or "")
    EMAIL_USE_SSL = _mail.scheme == "smtps"
    EMAIL_USE_TLS = _mail.scheme == "smtp" and bool(_mail.username)

# --- Other services ----------------------------------------------------------------------------------------
# AZURE_BASE_URL=http://… points the source "azure" at a stand-in; a source without one keeps its own default.
SOURCE_BASE_URLS = {
    name.removeprefix("MITSUMORI_").removesuffix("_BASE_URL").lower(): value
    for name, value in os.environ.items()
    if name.endswith("_BASE_URL") and value
}
# What a source needs beside its address; a source whose key is not set is not asked.
SOURCE_CREDENTIALS = {
    source: {what: os.environ.get(variable, "") for what, variable in variables.items()}
    for source, variables in {
        "aws": {"regions": "AWS_PRICE_REGIONS"},
        "aws_spot": {
            "access_key_id": "AWS_SPOT_ACCESS_KEY_ID",
            "secret_access_key": "AWS_SPOT_SECRET_ACCESS_KEY",
            "regions": "AWS_PRICE_REGIONS",
        },
        "digitalocean": {"token": "DIGITALOCEAN_TOKEN"},
        "gcp": {"api_key": "GCP_API_KEY"},
        "gpuhunt": {"providers": "GPUHUNT_PROVIDERS"},
        "hyperstack": {"api_key": "HYPERSTACK_API_KEY"},
        "lambda": {"api_key": "LAMBDA_API_KEY"},
        "nebius": {"credentials_file": "NEBIUS_CREDENTIALS_FILE"},
        "verda": {"client_id": "VERDA_CLIENT_ID", "client_secret": "VERDA_CLIENT_SECRET"},
    }.items()
}
HUB_ENABLED = ENVIRONMENT.hub_enabled
HUB_ENDPOINT = ENVIRONMENT.hub_endpoint
METRICS_TOKEN = ENVIRONMENT.metrics_token

# --- Logs and metrics --------------------------------------------------------------------------------------
LOG_FORMAT = ENVIRONMENT.log_format or ("json" if PRODUCTION else "console")
LOG_LEVEL = ENVIRONMENT.log_level or ("WARNING" if TESTING else "INFO")
LOGGING = logging_settings(LOG_FORMAT, LOG_LEVEL)
PROMETHEUS_EXPORT_MIGRATIONS = False
