"""What `manage.py check` says about the setting WILLOW."""

from typing import Any

from django.core.checks import Error, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from willow_client import WillowError
from willow_client.opening import check_url

from willow_django.conf import willow_settings


@register()
def check_willow(**kwargs: Any) -> list[Error]:
    try:
        settings = willow_settings()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="willow.E001")]
    for url in (settings.url,) if isinstance(settings.url, str) else settings.url:
        try:
            check_url(url)
        except WillowError as error:
            return [Error(f'WILLOW["URL"] is wrong: {error.message}', id="willow.E003")]
    if settings.outbox == "shared" and connections[settings.database].vendor != "postgresql":
        problem = f'WILLOW["OUTBOX"] is "shared", but the database {settings.database!r} is no PostgreSQL.'
        return [Error(problem, hint='Use "own".', id="willow.E002")]
    return []
