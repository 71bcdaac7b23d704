"""Every HTTP address of Willow; docs/protocol.md lists them for clients."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from api.status import QueueStatusApi
from console.screens.overview import overview

urlpatterns = [
    path("status/<path:queue_name>", QueueStatusApi.as_view()),
    path("api/", include("api.urls")),
    path("console/", include("console.urls")),
    *([path("oidc/", include("mozilla_django_oidc.urls"))] if settings.WILLOW.oidc_issuer else []),
    path("admin/", overview),  # where logging in leads
    path("admin/", admin.site.urls),
]
