"""The shop's settings. What is Willow's is at the end."""

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SHOP_DATA", FOLDER / "data"))

SECRET_KEY = "an example, which keeps no secrets"
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
TIME_ZONE = "UTC"  # as in the console, which shows the same from the other side
INSTALLED_APPS = ["shop", "willow_django"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA / "shop.sqlite3",
        # Several processes write: wait for each other instead of failing.
        "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
    }
}
EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = DATA / "emails"

WILLOW = {"URL": os.environ.get("SHOP_WILLOW_URL", "ws://127.0.0.1:8080/connect/")}
TASKS = {
    "default": {
        "BACKEND": "willow_django.tasks.WillowBackend",
        "QUEUES": ["default", "emails"],
        "OPTIONS": {"PREFIX": "shop.tasks."},
    }
}
