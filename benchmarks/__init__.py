"""Willow measured against the PostgreSQL beneath it: `python -m benchmarks` or `./willow bench`."""

import importlib.util
import os
import secrets
import sys

from willow_site.project_folder import PROJECT_FOLDER

# The client is a package of its own; in a checkout it is used without being installed.
sys.path.insert(0, str(PROJECT_FOLDER / "sdk"))

# The broker's statements take names from its models, and models need Django to be set up, with settings that nothing
# here uses: brokers get settings of their own. Workers of the peers import only their own module, and have no Django.
if importlib.util.find_spec("django") is not None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "willow_site.settings")
    os.environ.setdefault("DATABASE_URL", "postgresql://nobody@127.0.0.1/nothing")
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(36))
    django.setup()
