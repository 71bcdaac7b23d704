"""A Django project of its own, which knows nothing of the broker's settings: its tables are beside Willow's."""

import json
import os

from psycopg.conninfo import conninfo_to_dict

_address = json.loads(os.environ["BENCH_ADDRESS"])
_database = conninfo_to_dict(_address["database"])

SECRET_KEY = "of a project that only benchmarks see"
USE_TZ = True
INSTALLED_APPS = ["willow_django"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database["dbname"],
        "USER": _database.get("user", ""),
        "PASSWORD": _database.get("password", ""),
        "HOST": _database.get("host", ""),
        "PORT": str(_database.get("port", "")),
    }
}
WILLOW = {"URL": _address["broker"], "OUTBOX": "shared"}
TASKS = {"default": {"BACKEND": "willow_django.tasks.WillowBackend", "QUEUES": ["default"]}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
