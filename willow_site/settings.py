"""Django's settings, built from the checked configuration.

Code that needs a setting of Willow reads `settings.WILLOW`, never the environment.
"""

import os
import socket
import sys
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import global_settings

from console.assets import favicon
from console.theme import PRIMARY_COLORS
from willow_site.configuration import Configuration, load_configuration
from willow_site.database_url import database_options
from willow_site.project_folder import PROJECT_FOLDER
from willow_site.setting_declaration import ConfigurationError

try:
    WILLOW: Configuration = load_configuration(os.environ)
except ConfigurationError as error:
    # Whoever starts Willow needs the sentence, not a traceback.
    print(error, file=sys.stderr)
    raise SystemExit(2) from None

SECRET_KEY = WILLOW.secret_key
DEBUG = WILLOW.debug
ALLOWED_HOSTS = list(WILLOW.allowed_hosts)

INSTALLED_APPS = [
    "unfold",  # before the admin, whose pages it draws
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "queues",
    "clients",
    "delivery",
    "console",
    "willow_site",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "willow_site.content_security.ContentSecurity",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "api.cors.BrowserOrigins",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.second_factor.SecondFactor",
    "willow_site.recognition.CallersAreKnown",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "console.middleware.ConsolePages",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "willow_site.urls"
ASGI_APPLICATION = "willow_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT_FOLDER / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


def _database(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    options = database_options(parts)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.removeprefix("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or ""),
        # For the console and REST, whose threads keep them; messages have connections of their own.
        "CONN_MAX_AGE": 600,  # seconds
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }


DATABASES = {"default": _database(WILLOW.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"


# A Redis that is cut off without a word is given up; hints that get lost meanwhile are made up for by polling.
REDIS_GIVEN_UP = {
    "socket_connect_timeout": 5,  # seconds
    "socket_timeout": 5,  # seconds
    "socket_keepalive": True,
    "socket_keepalive_options": {
        getattr(socket, option): value
        for option, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, option)  # not every system has all of them
    },
}


def _channel_layer(redis_url: str | None) -> dict[str, Any]:
    if redis_url is None:
        # The default capacity of 100 drops wake-ups of a busy process.
        return {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 100_000}}
    # Five times as fast as the list based layer, and it knows no capacity over which it drops messages.
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": redis_url, **REDIS_GIVEN_UP}]},
    }


CHANNEL_LAYERS = {"default": _channel_layer(WILLOW.redis_url)}

PASSWORD_HASHERS = ["willow_site.passwords.HashedBeside", *global_settings.PASSWORD_HASHERS[1:]]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
OIDC_BACKEND = "console.oidc.ProviderBackend"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first: it refuses who is locked out
    "django.contrib.auth.backends.ModelBackend",
    *([OIDC_BACKEND] if WILLOW.oidc_issuer else []),
]

AXES_FAILURE_LIMIT = WILLOW.lockout_failures
AXES_COOLOFF_TIME = timedelta(minutes=WILLOW.lockout_minutes)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # or a stranger could lock an account for its owner
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "console.lockout.caller"
AXES_LOCKOUT_CALLABLE = "console.lockout.locked_out"
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

OTP_TOTP_ISSUER = "Willow"

OIDC_RP_CLIENT_ID = WILLOW.oidc_client_id
OIDC_RP_CLIENT_SECRET = WILLOW.oidc_client_secret
OIDC_RP_SIGN_ALGO = "RS256"
OIDC_RP_SCOPES = "openid email profile"
OIDC_USE_PKCE = True
OIDC_CREATE_USER = WILLOW.oidc_create
OIDC_TIMEOUT = 10  # seconds
OIDC_AUTHENTICATE_CLASS = "console.oidc.AskProvider"
LOGIN_REDIRECT_URL = "/admin/"
LOGIN_REDIRECT_URL_FAILURE = "/admin/login/"

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Willow",
    "SITE_HEADER": "Willow",
    "SITE_SUBHEADER": WILLOW.node_name,
    "SITE_URL": None,
    "SITE_SYMBOL": "potted_plant",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": favicon}],
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "8px",
    "STYLES": ["console.assets.stylesheet", "console.assets.message_stylesheet"],
    "SCRIPTS": [
        "console.assets.script",
        "console.assets.keyboard_script",
        "console.assets.choices_script",
        "console.assets.local_times_script",
    ],
    "ACCOUNT": {"navigation": [{"title": "Second factor", "link": "/console/second-factor/"}]},
    "SIDEBAR": {"navigation": "console.navigation.sidebar"},
    "COLORS": {"primary": PRIMARY_COLORS},
}

# What browsers are told about encryption, where they reach the console by HTTPS only.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = WILLOW.https
SECURE_HSTS_SECONDS = 31_536_000 if WILLOW.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = False  # Willow does not know what else runs under its name
SECURE_HSTS_PRELOAD = False
SECURE_SSL_REDIRECT = False  # nothing is served in plain text on the port of TLS, and probes come without
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]  # those three, as said above

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
FORMAT_MODULE_PATH = "willow_site.formats"

# The server refuses what is larger than a form, or than a message where messages come in (willow_site/server/).
DATA_UPLOAD_MAX_MEMORY_SIZE = WILLOW.max_frame_bytes

STATIC_URL = "static/"
STATIC_ROOT = WILLOW.home / "static"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "clients.rest.KeyAuthentication",  # first: its scheme is what a 401 asks for
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["clients.rest.MayComeIn"],
    "EXCEPTION_HANDLER": "api.http_errors.error_response",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Willow",
    "DESCRIPTION": "Status and operation of a Willow message broker.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,  # what is sent is refused where it has unknown fields, what is answered has more
    "POSTPROCESSING_HOOKS": ["api.schema.complete"],
    "SWAGGER_UI_DIST": "SIDECAR",  # no page loads anything from elsewhere
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "redis_outages": {"()": "willow_site.log_filters.RedisOutages"},
        "without_traceback": {"()": "willow_site.log_filters.WithoutTraceback"},
        "few_refusals": {"()": "willow_site.log_filters.FewRefusals"},
    },
    "formatters": {
        "line": {"()": "willow_site.log_format.LineFormatter"},
        "json": {"()": "willow_site.log_format.JsonFormatter", "node": WILLOW.node_name},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": WILLOW.log_format, "filters": ["few_refusals"]},
    },
    "root": {"handlers": ["stderr"], "level": WILLOW.log_level.upper()},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # Daphne logs each frame and Twisted each endpoint: only of use when debugging the server itself.
        "daphne": {"level": "WARNING"},
        "twisted": {"level": "WARNING"},
        # Anybody can send a wrong Host header: a line is enough.
        "django.security.DisallowedHost": {"filters": ["without_traceback"]},
        # It reports a Redis that is gone in full, every second: we say it once, and when it is back.
        "channels_redis.pubsub": {"filters": ["redis_outages"]},
    },
}
