"""Every HTTP address of Willow; docs/protocol.md lists them for clients."""

from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from api.status import QueueStatusApi

console = RedirectView.as_view(pattern_name="console:overview")

urlpatterns = [
    path("", console),
    path("favicon.ico", RedirectView.as_view(url=static("console/favicon.svg"))),
    path("status/<path:queue_name>", QueueStatusApi.as_view()),
    path("api/", include("api.urls")),
    path("console/", include("console.urls")),
    *([path("oidc/", include("mozilla_django_oidc.urls"))] if settings.WILLOW.oidc_issuer else []),
    path("admin/", console),  # where logging in leads
    path("admin/", admin.site.urls),
]
