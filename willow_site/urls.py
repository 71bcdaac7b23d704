"""Every HTTP address of Willow; docs/protocol.md lists them for clients."""

from django.contrib import admin
from django.urls import path

urlpatterns = [
    path("admin/", admin.site.urls),
]
