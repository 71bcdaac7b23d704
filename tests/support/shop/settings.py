"""A Django project that uses Willow, for the tests of `willow_django`. It runs in processes of its own."""

import json
import os
from typing import Any

SECRET_KEY = "of a project that only tests see"
USE_TZ = True
INSTALLED_APPS = ["willow_django", "tests.support.shop"]
DATABASES: dict[str, Any] = json.loads(os.environ["SHOP_DATABASES"])
WILLOW: dict[str, Any] = json.loads(os.environ["SHOP_WILLOW"])
TASKS = {
    "default": {
        "BACKEND": "willow_django.tasks.WillowBackend",
        "QUEUES": ["default", "emails"],
        "OPTIONS": {
            "PREFIX": os.environ["SHOP_PREFIX"],
            "CONTEXT": ["tests.support.shop.jobs.request_id"],
            "LOST_ATTEMPTS": 1,
            **json.loads(os.environ.get("SHOP_TASK_OPTIONS", "{}")),
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
