"""A Django project whose tasks Willow runs. The address is that of the broker and that of the project's database."""

from urllib.parse import urlsplit

from benchmarks.peers.workers.waits import ADDRESS

BROKER, _, DATABASE = ADDRESS.partition(" ")
_where = urlsplit(DATABASE)

SECRET_KEY = "of a project that is only measured"
USE_TZ = True
INSTALLED_APPS = ["willow_django"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _where.path[1:],
        "USER": _where.username,
        "PASSWORD": _where.password,
        "HOST": _where.hostname,
        "PORT": _where.port,
    }
}
WILLOW = {"URL": BROKER}
TASKS = {"default": {"BACKEND": "willow_django.tasks.WillowBackend"}}
